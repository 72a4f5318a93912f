"""Tests in Go, one case of pytest each: their names are read from the sources, build.sh compiles them, and all that are chosen run in
one process, side by side."""

import collections
import pathlib
import re

import processes

SOURCES = pathlib.Path(__file__).resolve().parent / "clients"
SECONDS = 240  # after which Go ends a run that hangs, and says where

Outcome = collections.namedtuple("Outcome", "verdict text")  # PASS, FAIL or SKIP; what the test printed


class Suite:
    """A folder of `clients` with _test.go files."""

    def __init__(self, name):
        self.name, self.binary = name, processes.PEERS / f"{name}.test"

    def names(self):
        sources = (path.read_text(encoding="utf-8") for path in sorted((SOURCES / self.name).glob("*_test.go")))
        return [name for source in sources for name in re.findall(r"^func (Test\w+)\(t \*testing\.T\)", source, re.M)]

    def run(self, names, env):
        """{name: Outcome}; those that did not end for the crash of another are absent, and under None is everything printed."""
        done = processes.Process([self.binary, "-test.v", "-test.parallel=8", f"-test.timeout={SECONDS}s",
                                  f"-test.run=^({'|'.join(names)})$"], env=env)
        done.is_expected_to_end = True
        done.popen.wait(SECONDS + processes.PATIENCE)
        done.wait()
        return parse(done.stdout.text + done.stderr.text)


def parse(output):
    """What `go test -v` prints, by test: lines of tests that run side by side are told apart by "=== NAME"."""
    texts, verdicts, current = collections.defaultdict(list), {}, None
    for line in output.splitlines():
        named = re.match(r"=== (?:RUN|NAME|CONT|PAUSE) +(Test\w+)", line)
        ended = re.match(r" *--- (PASS|FAIL|SKIP): (Test\w+)(\S*)", line)
        if named:
            current = named[1]
        elif ended:
            current = ended[2]
            if not ended[3]:
                verdicts[current] = ended[1]
        if not named:
            texts[current].append(line)
    outcomes = {name: Outcome(verdict, "\n".join(texts[name])) for name, verdict in verdicts.items()}
    return {**outcomes, None: Outcome("FAIL", output)}
