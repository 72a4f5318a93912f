"""docs/tutorials are true: what they tell to type is typed here, in its order. And what types it notices what is wrong."""

import json
import re
import shutil

import pytest

import fenced
import processes
from processes import ROOT, kubectl_since

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_tutorial_prints_what_it_says(folder, path):
    with fenced.Terminal(folder, kubectl_since()) as terminal:
        terminal.follow(fenced.Page(path))


def test_backup_brings_back_what_is_lost(folder):
    page = fenced.Page(ROOT / "docs" / "how-to" / "back-up-and-restore.md")
    if not shutil.which("etcdctl"):
        pytest.skip("needs etcdctl")
    (backup,), (restore,), (check,) = page.under("Back up `annals up`"), page.under("Restore `annals up`"), page.under("What is lost")
    if not shutil.which("etcdutl"):
        restore = restore.replace("etcdutl snapshot", "ETCDCTL_API=3 etcdctl snapshot")
    with fenced.Terminal(folder) as terminal:

        def succeed(text):
            said, failed = terminal.type(text)
            assert not failed, said

        def keys():
            said, failed = terminal.type("cd ~/.local/share/annals; curl -sS --cacert ca.crt --cert admin.crt --key admin.key "
                                         f"{fenced.ADDRESS}/api/v1/namespaces/default/configmaps; cd")
            assert not failed, said
            return [item["metadata"]["name"] for item in json.loads(said)["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]

        def write(method, path, body=""):
            succeed(f"cd ~/.local/share/annals; curl -sSf -o ~/answer --cacert ca.crt --cert admin.crt --key admin.key -X {method} "
                    f"-H 'Content-Type: application/json' -d '{body}' {fenced.ADDRESS}/api/v1/namespaces/default/configmaps{path}; cd")

        terminal.start("annals up", None)
        write("POST", "", '{"metadata": {"name": "kept"}}')
        succeed(backup)
        write("DELETE", "/kept")
        write("POST", "", '{"metadata": {"name": "later"}}')
        assert keys() == ["later"]
        assert terminal.server.stop() == 0
        succeed(restore)
        terminal.server = None
        terminal.start("annals up", None)
        assert keys() == ["kept"]
        succeed(check)


def test_room_is_made_in_the_etcd_of_up(folder):
    if not shutil.which("etcdctl"):
        pytest.skip("needs etcdctl")
    (commands,) = fenced.Page(ROOT / "docs" / "how-to" / "etcd-full.md").under("The etcd of `annals up`")
    with fenced.Terminal(folder) as terminal:
        terminal.start("annals up", None)
        said, failed = terminal.type(commands)
        assert not failed and "compacted revision" in said and "Finished defragmenting" in said, said


# ---- commands that pages name ----


def flags_of_annals():
    """Of each command: its flags, long and short."""
    told = json.loads(processes.run([processes.BIN, "help", "--output=json"], check=True).stdout)
    return {command["name"]: {name for group in command["groups"] for flag in group["flags"] for name in (flag["name"], flag.get("short")) if name}
            | {"help", "h"} for command in told["commands"]}


def commands_in(text):
    """(command, its flags) of annals and its plugin, in a shell's lines."""
    for line in re.split(r"[|;&\n]|\$\(", re.sub(r"\s#.*", "", text.replace("\\\n", " "))):
        words = re.match(r"\s*(?:kubectl )?annals ([a-z-]+)\b(.*)", line)
        if words:
            yield words[1], re.findall(r"\s--?([a-z][a-z0-9-]*|[A-Z])", words[2])


PAGES_WITH_COMMANDS = [path for folder in ("docs", "examples", "clients") if (ROOT / folder).exists() for path in (ROOT / folder).rglob("*.md")]


def test_commands_and_flags_that_pages_name_exist():
    known, found, wrong = flags_of_annals(), 0, []
    for path in [ROOT / "README.md", *PAGES_WITH_COMMANDS]:
        for block in fenced.Page(path).blocks:
            for command, flags in commands_in(block.text if block.language == "sh" else ""):
                found += 1
                if command == "help":
                    continue
                wrong += [f"{block}: annals {command} {flag}" for flag in flags if flag not in known.get(command, ())]
                wrong += [f"{block}: annals {command}"] if command not in known else []
    assert found > 20
    assert wrong == []


def test_unknown_commands_and_flags_are_found():
    assert list(commands_in("kubectl annals undo x/y --dry-run=client -A | cat; annals up --port 0 \\\n --wrong # --no\n")) == [
        ("undo", ["dry-run", "A"]), ("up", ["port", "wrong"])]


# ---- fenced.py itself ----


@pytest.fixture
def write(folder):
    def page(text):
        path = folder / "page.md"
        path.write_text(text.replace("~~~", "```"))
        return fenced.Page(path)

    return page


@pytest.fixture
def terminal(folder):
    with fenced.Terminal(folder, patience=10) as terminal:
        yield terminal


@pytest.mark.parametrize("text, wrong", [
    ("~~~sh\necho one\n~~~\n~~~text\ntwo\n~~~\n", "It printed:\none"),
    ("~~~sh\necho one; echo two\n~~~\n~~~text\none\n~~~\n", "It printed:\none\ntwo"),
    ("~~~sh\nfalse\ntrue\n~~~\n", "failed: false"),
    ("~~~sh\nf() { false; }; f | cat\nls /nowhere | cat; test -d /nowhere\n~~~\n", "failed: test"),
    ("~~~sh\nexit 0\n~~~\n", "ends the shell"),
    ("~~~c\nint x;\n~~~\n", "nobody runs c"),
    ("<!-- from README.md -->\n~~~c\nint x;\n~~~\n", "is not in README.md"),
    ("## A section\n<!-- typed by tools/quick.py -->\n~~~sh\nmake\n~~~\n", "does not name 'A section'"),
    ("~~~sh\nfalse # until Ctrl-C\nfalse\n~~~\n", "stands alone"),
], ids=["other", "more", "fails", "fails-within", "ends", "language", "quoted", "elsewhere", "lasting"])
def test_what_is_wrong_is_told(write, terminal, text, wrong):
    with pytest.raises(AssertionError) as told:
        terminal.follow(write(text))
    assert wrong in str(told.value)


def test_what_is_right_passes(write, terminal):
    terminal.follow(write("""\
~~~sh
export X=1
echo "$X 2026-01-02T03:04:05Z  took 12s,  $PWD"
echo error >&2
seq 5
~~~
~~~text
1 2030-12-31T00:00:00Z    took 1m2s,  /...
error
1
...
5
~~~
~~~sh
test "$X" = 1
~~~
"""))


@pytest.mark.parametrize("expected, said", [
    ("a 2s\n", "a 2x\n"), ("a  b\n", "a b\n"), ("a.b\n", "axb\n"), ("a\n...\n", "b\na\n"), ("1...\n2\n", "1\n3\n2\n"), ("at 2026-01-02T03:04:05Z\n", "at noon\n")])
def test_what_may_differ_is_bounded(expected, said):
    assert fenced.prints(expected, expected)
    assert not fenced.prints(expected, said)
