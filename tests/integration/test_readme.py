"""README.md is true: what it tells a newcomer to type is typed here, in its order."""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

import processes
from processes import BIN, ROOT

README = (ROOT / "README.md").read_text()


FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(heading):
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def blocks(heading, language):
    """The fenced blocks under a heading: "sh" is what a reader copies, "text" what is answered."""
    return [text for tag, text in FENCED.findall(section(heading)) if tag == language]


def shell_blocks():
    return [text for tag, text in FENCED.findall(README) if tag == "sh"]


@pytest.fixture
def home(folder):
    """Somebody's home directory, in which annals keeps its files where it does by default."""
    return folder


@pytest.fixture
def shell(home, kubectl_binary):
    """A terminal at home, with one of this machine's kubectls."""
    tools = home / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(kubectl_binary)
    (tools / "annals").symlink_to(BIN)
    (tools / "kubectl-annals").symlink_to(BIN)
    (home / "build").mkdir()
    (home / "build" / "annals").symlink_to(BIN)
    env = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "XDG_DATA_HOME")}
    return {**env, "HOME": str(home), "PATH": f"{tools}:{os.environ['PATH']}", "KUBECONFIG": str(home / ".local/share/annals/kubeconfig")}


def paste(server, shell, text):
    """What a shell at home says to it: both outputs together."""
    text = text.replace("https://127.0.0.1:6443", server.url)
    done = subprocess.run(["bash", "-c", text], cwd=shell["HOME"], env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=processes.PATIENCE)
    return done.returncode, done.stdout


def start(shell, command):
    """`annals up` as a line of README.md says it, but on any free port."""
    home = pathlib.Path(shell["HOME"])
    server = processes.Server([*shlex.split(command, comments=True), "--port=0"], env=shell, cwd=home)
    ready = server.stdout.wait(r"^annals is ready: (https://\S+)$")
    assert ready, server.stderr.text
    data = home / ".local" / "share" / "annals"
    server._attach(ready[1], data / "ca.crt", data / "admin.crt", data / "admin.key")
    return server


@pytest.fixture
def started(shell):
    return start(shell, blocks("Start it", "sh")[-1])


def test_first_tour(started, shell, home):
    setup, doors, watch, certificate, tokens, by_token = blocks("A first tour", "sh")
    (refusal,) = blocks("A first tour", "text")
    status, said = paste(started, shell, setup)
    assert status == 1  # the last command is the one that is refused
    assert "controllerrevision.apps/web-1 created" in said
    assert re.search(r"^web-1 +<none> +1 ", said, re.MULTILINE)
    assert said.endswith(refusal)

    status, said = paste(started, shell, doors)
    assert (status, "apiVersion: annals.dev/v1\n" in said) == (0, True)
    assert "The state: any JSON object." in said
    watching = processes.Process(shlex.split(watch), env=shell)
    assert watching.stdout.wait("^web-1 ")
    watching.kill()

    status, said = paste(started, shell, certificate)
    assert (status, '"name": "web-1"' in said) == (0, True), said

    assert started.stop() == 0
    make_file, again = tokens.splitlines()
    assert paste(started, shell, make_file) == (0, "")
    status, said = paste(start(shell, again), shell, by_token)
    assert (status, '"kind": "NamespaceList"' in said) == (0, True), said


def changes(said):
    """Of a log: what it says of each change, without the times."""
    return sorted(line.split(None, 1)[1].split() for line in said.splitlines() if re.match(r"\d{4}-", line))


def test_who_changed_this(started, shell):
    record, five = blocks("Who changed this?", "sh")
    (answer,) = blocks("Who changed this?", "text")
    status, said = paste(started, shell, record)
    assert status == 0, said
    processes.retry_until(lambda: changes(paste(started, shell, five.splitlines()[0])[1]) == changes(answer), "all of it is recorded", interval=0.2)
    status, said = paste(started, shell, five)
    assert (status, '-  limit: "100"' in said, '+  limit: "1"' in said) == (0, True, True), said
    assert "configmap/shop rolled back to revision 1" in said and "service/shop restored from revision 1" in said
    assert started.get("/api/v1/namespaces/default/configmaps/shop").json["data"] == {"limit": "100"}
    assert started.get("/api/v1/namespaces/default/services/shop").status == 200


def test_histories(started, shell):
    snapshot, difference = blocks("Histories without races", "sh")
    (answer,) = blocks("Histories without races", "text")
    names = []
    for image in ("nginx:1.28", "nginx:1.29"):
        status, said = paste(started, shell, snapshot.replace("nginx:1.28", image))
        assert (status, "Created" in said) == (0, True), said
        if said.startswith("{"):  # the old kubectl prints it as Go does
            assert said.startswith(answer.partition("web-...")[0]), said
        names.append(re.search(r"web-[a-z0-9]+", said)[0])
    status, said = paste(started, shell, difference.replace("OLD", names[0]).replace("NEW", names[1]))
    assert (status, json.loads(said)) == (0, [{"op": "replace", "path": "/image", "value": "nginx:1.29"}])


def test_rollouts(shell):
    start_line, tour = blocks("Rollouts without a cluster", "sh")
    server = start(shell, start_line)
    status, said = paste(server, shell, tour)
    assert status == 0, said
    assert "statefulset.apps/web rolled back" in said
    assert re.findall(r"^([12]) +<none>$", said, re.MULTILINE) == ["1", "2"], said
    assert len(re.findall(r"^controllerrevision.apps/web-", said, re.MULTILINE)) == 2, said


def test_objects_that_stay(started, shell):
    (commands,) = blocks("Objects that stay while they are in use", "sh")
    (refusal,) = blocks("Objects that stay while they are in use", "text")
    status, said = paste(started, shell, commands)
    assert status == 0
    assert "primary" in said and refusal.strip() in said
    processes.retry_until(lambda: started.get("/apis/annals.dev/v1/namespaces/default/providers/colours").status == 404, "the Provider is gone")


def test_other_versions(started, shell):
    (command,) = blocks("Other versions in etcd", "sh")
    status, said = paste(started, shell, command)
    assert status == 0, said


def test_certificates_for_a_cluster(home, shell):
    """The line in the middle; test_deploy.py has the others."""
    (commands,) = blocks("In a cluster", "sh")
    (line,) = [line for line in commands.splitlines() if line.startswith("annals ")]
    done = subprocess.run(["bash", "-c", line.partition("|")[0]], env=shell, capture_output=True, text=True, check=True)
    assert "kind: APIService" in done.stdout
    assert (home / "annals-certs" / "ca.key").exists()


def test_what_can_be_copied_stands_between_fences():
    """A here-document that is indented does not end where it should."""
    assert not re.search(r"^(    |\t)\S", FENCED.sub("", README), re.MULTILINE)
    assert len(FENCED.findall(README)) * 2 == len(re.findall("^```", README, re.MULTILINE))
    for text in shell_blocks():
        subprocess.run(["bash", "-n", "-c", text], check=True)


def test_what_does_not_return_says_so():
    """In its line, or in the text around the block."""
    blocking = re.compile(r"annals up\b|make run\b|--watch\b")
    pieces = FENCED.split(README)  # text, language, block, text ...
    for before, language, block, after in zip(pieces[0::3], pieces[1::3], pieces[2::3], pieces[3::3]):
        for line in filter(blocking.search, block.splitlines() if language == "sh" else []):
            assert "Ctrl-C" in before + line + after, line


def test_targets_of_make_are_there():
    targets = set(re.findall(r"^make ([a-z-]+)", "".join(shell_blocks()), re.MULTILINE)) | set(re.findall(r"`make ([a-z-]+)", README))
    assert {"run", "check", "build"} <= targets
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def flags_in(text):
    """Flags of annals: what stands in backquotes, alone or with its value."""
    return {flag for code in re.findall(r"`([^`]*)`", text) for flag in re.findall(r"(?<![^\s\[])--?([a-z][a-z0-9-]*|v)\b", code)}


COMMANDS = [["up"], ["serve"], ["controllers"], ["certs"], ["fsck"], *(["kubectl", name] for name in ("log", "history", "show", "diff", "undo", "restore", "who-uses", "ui"))]


def test_flags_are_those_of_the_program():
    section = README.partition("\n## Commands\n")[2].partition("\n## ")[0]
    help = "".join(processes.run([BIN, *command, "--help"]).stdout for command in COMMANDS)
    known = set(re.findall(r"^  --?([a-z][a-z0-9-]*)", help, re.MULTILINE))
    assert flags_in(section) == known


def test_troubles_are_said_in_those_words():
    """Each message in the table of troubles is one that the sources, or kubectl, can print."""
    section = README.partition("\n## When something is wrong\n")[2].partition("\n\nMore")[0]
    sources = "".join(path.read_text() for folder in ("cli", "server", "storage") for path in (ROOT / folder).rglob("*.c"))
    plain = re.sub(r"\"\s*\n\s*\"", "", sources)
    for message in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE):
        pieces = [piece.strip() for piece in re.split(r"\.\.\.|\bDIR\b|\bX\b|\bN\b|127\.0\.0\.1|6443|[():;]", message)]
        for piece in filter(lambda piece: len(piece) > 6, pieces):
            assert piece in plain, f"nobody says {piece!r}"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\]\((?!https:)([^)#]+)\)", README))))
def test_links_lead_somewhere(name):
    assert (ROOT / name).exists()


def test_pictures_are_there():
    """Of README and of docs/, in both themes; and each that is there stands somewhere."""
    named = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text()):
            named.add((page.parent / name).resolve())
    assert named == set((ROOT / "docs" / "images").glob("*.png"))
    assert {path.name.replace("light", "dark") for path in named} == {path.name for path in named if "dark" in path.name}
