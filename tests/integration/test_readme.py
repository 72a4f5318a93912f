"""README.md is true: what it tells a newcomer to type is typed here, in its order."""

import os
import re
import shlex
import subprocess

import pytest

import processes
from processes import BIN, ROOT

README = (ROOT / "README.md").read_text()


def blocks(heading):
    """The indented blocks under a heading: text a reader would paste."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return ["\n".join(line[4:] for line in block.splitlines())
            for block in re.findall(r"(?:^(?:    .*)?\n)+", section, re.MULTILINE) if block.strip()]


@pytest.fixture
def home(folder):
    """Somebody's home directory, in which annals keeps its files where it does by default."""
    return folder


def paste(server, home, text):
    """What a shell at home says to it: both outputs together."""
    text = text.replace("https://127.0.0.1:6443", server.url)
    env = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "XDG_DATA_HOME")}
    done = subprocess.run(["bash", "-c", text], cwd=home, env={**env, "HOME": str(home), "KUBECONFIG": str(home / ".local/share/annals/kubeconfig")},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=processes.PATIENCE)
    return done.returncode, done.stdout


@pytest.fixture
def started(home):
    (home / "tokens.csv").write_text(re.search(r"with a line `([^`]+)`", README)[1] + "\n")
    env = {**os.environ, "HOME": str(home)}
    env.pop("XDG_DATA_HOME", None)
    server = processes.Server([BIN, "up", "--port=0", "--token-auth-file", "tokens.csv"], env=env, cwd=home)
    ready = server.stdout.wait(r"^annals is ready: (https://\S+)$")
    assert ready, server.stderr.text
    data = home / ".local" / "share" / "annals"
    server._attach(ready[1], data / "ca.crt", data / "admin.crt", data / "admin.key")
    return server


def test_first_tour(started, home):
    tour = blocks("A first tour")
    setup, refusal, doors, certificate, token = tour[:5]
    status, said = paste(started, home, setup)
    assert status == 1  # the last command is the one that is refused
    assert "controllerrevision.apps/web-1 created" in said
    assert re.search(r"^web-1 +<none> +1 ", said, re.MULTILINE)
    assert said.endswith(refusal.strip() + "\n")

    get, watch, explain = doors.strip().splitlines()
    status, said = paste(started, home, get)
    assert (status, "apiVersion: annals.dev/v1\n" in said) == (0, True)
    status, said = paste(started, home, explain)
    assert (status, "FIELD: data" in said) == (0, True)
    watching = processes.Process(shlex.split(watch), env={**os.environ, "HOME": str(home), "KUBECONFIG": str(home / ".local/share/annals/kubeconfig")})
    assert watching.stdout.wait("^web-1 ")
    watching.kill()

    status, said = paste(started, home, certificate)
    assert (status, '"name": "web-1"' in said) == (0, True)
    status, said = paste(started, home, "cd ~/.local/share/annals\n" + token)
    assert (status, '"kind": "NamespaceList"' in said) == (0, True)


def test_objects_that_stay(started, home):
    commands, refusal = blocks("Objects that stay while they are in use")
    status, said = paste(started, home, commands)
    assert status == 0
    assert "primary" in said and refusal.strip() in said
    processes.retry_until(lambda: started.get("/apis/annals.dev/v1/namespaces/default/providers/colours").status == 404, "the Provider is gone")


def flags_in(text):
    """Flags of annals: what stands in backquotes, alone or with its value."""
    return {flag for code in re.findall(r"`([^`]*)`", text) for flag in re.findall(r"(?<![^\s\[])--?([a-z][a-z0-9-]*|v)\b", code)}


COMMANDS = [["up"], ["serve"], ["controllers"], ["certs"], ["fsck"], *(["kubectl", name] for name in ("history", "diff", "undo", "who-uses"))]


def test_flags_are_those_of_the_program():
    section = README.partition("\n## Commands\n")[2].partition("\n## ")[0]
    help = "".join(processes.run([BIN, *command, "--help"]).stdout for command in COMMANDS)
    known = set(re.findall(r"^  --?([a-z][a-z0-9-]*)", help, re.MULTILINE))
    assert flags_in(section) == known


def test_troubles_are_said_in_those_words():
    """Each message in the table of troubles is one that the sources, or kubectl, can print."""
    section = README.partition("\n## When something is wrong\n")[2].partition("\n\nMore")[0]
    sources = "".join(path.read_text() for folder in ("cli", "server", "storage") for path in (ROOT / folder).glob("*.c"))
    plain = re.sub(r"\"\s*\n\s*\"", "", sources)
    for message in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE):
        pieces = [piece.strip() for piece in re.split(r"\.\.\.|\bDIR\b|\bX\b|\bN\b|127\.0\.0\.1|6443|[():;]", message)]
        for piece in filter(lambda piece: len(piece) > 6, pieces):
            assert piece in plain, f"nobody says {piece!r}"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_links_lead_somewhere(name):
    assert (ROOT / name).exists()
