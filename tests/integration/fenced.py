#!/usr/bin/env python3
"""A page of documentation as somebody reads it who types what it says: each fenced block runs, in its order, and prints what stands below it.

    with fenced.Terminal(folder, kubectl) as terminal:
        terminal.follow(fenced.Page(ROOT / "README.md"))

    ANNALS_BIN=/usr/bin/annals tests/integration/fenced.py README.md docs/tutorials/*.md

What a page may have (docs/development/testing.md tells writers):

    ```sh           is typed into one shell, at home. Where no text follows, each of its commands must succeed
    ```text         is what the block before it prints, all of it, output and errors together
    # until Ctrl-C  at the end of a line: it is typed into a terminal of its own, and goes on. Another `annals up` ends the one before
    <!-- typed by FILE -->      before a block that cannot run here: FILE runs it, and names its section
    <!-- from FILE -->          before a block of another language: it stands in FILE, word for word

In what is printed, "..." stands for anything in its line, and a line "..." for any number of lines. Any time stands for any time, any
age for any age, and blanks between columns for any number of them. Lines that begin with a time may come in another order: two things
may happen in one second. A block that only reads is typed again until it prints what it
says: a reader would do that, too, where something takes a moment.
"""

import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import processes
from processes import BIN, ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"<!-- (typed by|from) (\S+) -->\n\Z")
LASTING = re.compile(r"^(.*?)\s+# until Ctrl-C$", re.MULTILINE)
READS = re.compile(r"(kubectl (get|annals (log|diff|history|show|who-uses))|curl(?!.* (-X|-d|--data|-N)))\b")
ADDRESS = "https://127.0.0.1:6443"

# What differs from one time to the next: how it is found, and what stands for it in a pattern.
VARYING = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"),
    (r"\b\d+(?:h\d+)?m\d+s\b|\b\d+s\b", r"(?:\d+h)?(?:\d+m)?\d+s"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", r"[0-9a-f-]{36}"),
    (r"(?<=\S) {2,}", r" {2,}"),
    (r"\.\.\.", r".*"),
]
ANY_VARYING = re.compile("|".join(f"({found})" for found, _ in VARYING))


class Block:
    def __init__(self, page, language, text, line, heading, note):
        self.page, self.language, self.text, self.line, self.heading = page, language, text, line, heading
        self.note, self.file = note or (None, None)

    def __repr__(self):
        return f"{self.page.name}:{self.line}"

    @property
    def only_reads(self):
        commands = [line for line in self.text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
        return all(READS.match(command) for command in commands)


class Page:
    """blocks: all that stand between fences. name: its path in the project."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.text = self.path.read_text(encoding="utf-8")
        self.name = str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else self.path.name
        self.blocks = []
        for match in BLOCK.finditer(self.text):
            before = self.text[:match.start()]
            heading = (re.findall(r"^#+ (.+)$", BLOCK.sub("", before), re.MULTILINE) or [""])[-1]
            note = NOTE.search(before)
            self.blocks.append(Block(self, match[1], match[2], before.count("\n") + 1, heading, note and note.groups()))

    def under(self, heading):
        """The texts of the blocks "sh" under a heading."""
        found = [block.text for block in self.blocks if block.heading == heading and block.language == "sh"]
        assert found, f"{self.name} has no commands under {heading!r}"
        return found

    def answered(self):
        """(block, the text that is to be printed, or None)"""
        followers = [*self.blocks[1:], None]
        for block, next_one in zip(self.blocks, followers):
            if block.language != "text":
                yield block, next_one.text if next_one and next_one.language == "text" else None


def pattern_of(expected):
    """A regular expression for all of an output."""
    lines = []
    for line in expected.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        pattern, at = "", 0
        for match in ANY_VARYING.finditer(line):
            pattern += re.escape(line[at:match.start()]) + VARYING[match.lastindex - 1][1]
            at = match.end()
        lines.append(pattern + re.escape(line[at:].rstrip()) + r" *\n")
    return re.compile("".join(lines))


TIMED = re.compile(r"(?:^\d{4}-\d\d-\d\dT\S+Z .*\n)+", re.MULTILINE)


def in_one_order(text):
    return TIMED.sub(lambda lines: "".join(sorted(lines[0].splitlines(True), key=lambda line: line.split()[1:])), text)


def prints(expected, said):
    return pattern_of(in_one_order(expected)).fullmatch(in_one_order(said if said.endswith("\n") or not said else said + "\n")) is not None


class Mismatch(AssertionError):
    pass


class Terminal:
    """A shell at somebody's home, with annals, its plugin and one kubectl on $PATH."""

    def __init__(self, home, kubectl=None, patience=processes.LONG_PATIENCE):
        self.home, self.patience = pathlib.Path(home), patience
        self.url = ADDRESS
        self.lasting = []  # processes, the server among them
        self.server = None
        self.n_typed = 0
        tools = self.home / "bin"
        tools.mkdir()
        for name, target in {"annals": BIN, "kubectl-annals": BIN, "kubectl": kubectl}.items():
            if target:
                (tools / name).symlink_to(target)
        self.env = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "XDG_DATA_HOME", "NO_COLOR")}
        self.env.update(HOME=str(self.home), PATH=f"{tools}:{os.environ['PATH']}", TERM="dumb")
        self.done_read, done_write = os.pipe()
        self.shell = subprocess.Popen([*processes.LEASH, "bash", "--norc", "--noprofile"], cwd=self.home, env=self.env, stdin=subprocess.PIPE,
                                      pass_fds=[done_write], start_new_session=True, text=True)
        # Whichever command fails, in whatever it stands, says so at the end.
        self._send(f'exec 9>&{done_write}; set -E; trap \'failed+=("$BASH_COMMAND")\' ERR\n')
        os.close(done_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, text):
        self.shell.stdin.write(text)
        self.shell.stdin.flush()

    def close(self):
        for process in reversed(self.lasting):
            process.stop()
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.stdin.close()
        self.shell.wait()
        os.close(self.done_read)

    # ---- typing ----

    def type(self, text):
        """(what was printed, commands that failed)"""
        self.n_typed += 1
        script, output, failed = (self.home / f".typed.{self.n_typed}.{what}" for what in ("sh", "out", "failed"))
        script.write_text(text.replace(ADDRESS, self.url))
        self._send(f"failed=(); source '{script}' </dev/null >'{output}' 2>&1; printf '%s\\n' \"${{failed[@]}}\" >'{failed}'; echo >&9\n")
        if not select.select([self.done_read], [], [], self.patience)[0]:
            raise Mismatch(f"does not end:\n{text}\nIt has printed:\n{output.read_text(errors='replace')}")
        if not os.read(self.done_read, 1):
            raise Mismatch(f"ends the shell:\n{text}\nIt has printed:\n{output.read_text(errors='replace')}")
        return output.read_text(errors="replace").replace(self.url, ADDRESS), failed.read_text().strip()

    def environment(self):
        """Of the shell: what was exported there counts in other terminals, too."""
        self.type(f"env -0 >'{self.home}/.environment'")
        entries = (self.home / ".environment").read_text().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)

    def start(self, command, expected):
        """In a terminal of its own."""
        is_server = re.search(r"\bannals up\b", command)
        if is_server and self.server:
            assert self.server.stop() == 0
        if is_server and "--port" not in command:
            command += " --port=0"
        process = processes.Process(["bash", "-c", "exec " + command.replace(ADDRESS, self.url)], env=self.environment(), cwd=self.home)
        self.lasting.append(process)
        if is_server:
            self.server = process
            ready = process.stdout.wait(r"^annals is ready: (https://\S+)$")
            if not ready:
                raise Mismatch(f"{command} ended:\n{process.stderr.text}")
            self.url = ready[1]
        if expected:
            self._until(lambda: prints(expected, (process.stdout.text + process.stderr.text).replace(self.url, ADDRESS)), lambda: (
                command, expected, process.stdout.text + process.stderr.text))
        if not is_server:
            process.stop()

    # ---- reading ----

    def _until(self, condition, told):
        deadline = time.monotonic() + self.patience
        while not condition():
            if time.monotonic() > deadline:
                raise Mismatch("{}\nis to print:\n{}\nIt printed:\n{}".format(*told()))
            time.sleep(0.1)

    def run_block(self, block, expected):
        said = failed = None

        def is_well():
            nonlocal said, failed
            said, failed = self.type(block.text)
            return prints(expected, said) if expected is not None else not failed

        def told():
            wanted = expected if expected is not None else f"(anything, and succeed; failed: {failed})"
            return f"{block}: {block.text}", wanted, said

        if block.only_reads:
            self._until(is_well, told)
        elif not is_well():
            raise Mismatch("{}\nis to print:\n{}\nIt printed:\n{}".format(*told()))

    def follow(self, page):
        for block, expected in page.answered():
            if block.note == "from":
                assert block.text in (ROOT / block.file).read_text(encoding="utf-8"), f"{block} is not in {block.file}"
            elif block.note == "typed by":
                assert block.heading in (ROOT / block.file).read_text(encoding="utf-8"), f"{block.file} does not name {block.heading!r}, where {block} stands"
            else:
                assert block.language == "sh", f"{block}: nobody runs {block.language or 'a block without a language'}"
                lasting = LASTING.findall(block.text)
                if lasting:
                    assert len(lasting) == len(block.text.splitlines()) == 1, f"{block}: what lasts stands alone in its block"
                    self.start(lasting[0], expected)
                else:
                    self.run_block(block, expected)


def main():
    """Types the pages that are named, each at a home of its own, with the kubectl of $PATH."""
    for name in sys.argv[1:]:
        home = tempfile.mkdtemp(prefix="annals-", dir="/tmp")
        try:
            with Terminal(home, shutil.which("kubectl")) as terminal:
                terminal.follow(Page(pathlib.Path(name).resolve()))
        except Mismatch as told:
            sys.exit(f"{name}: {told}")
        finally:
            shutil.rmtree(home, ignore_errors=True)
        print(f"{name} is true")


if __name__ == "__main__":
    main()
