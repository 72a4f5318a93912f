"""Tests that are programs of their own, with the libraries that clients use: one case of pytest each. Their names are read from the
sources, build.sh makes what they need, and all that are chosen run in one process."""

import collections
import pathlib
import re
import tempfile
import xml.etree.ElementTree as xml

import processes

SOURCES = pathlib.Path(__file__).resolve().parent / "clients"
SECONDS = 240  # after which Go ends a run that hangs, and says where

Outcome = collections.namedtuple("Outcome", "verdict text")  # PASS, FAIL or SKIP; what the test printed


class Go:
    """A folder of `clients` with _test.go files."""

    def __init__(self, name):
        self.name, self.binary = name, processes.PEERS / f"{name}.test"

    def names(self):
        sources = (path.read_text(encoding="utf-8") for path in sorted((SOURCES / self.name).glob("*_test.go")))
        return [name for source in sources for name in re.findall(r"^func (Test\w+)\(t \*testing\.T\)", source, re.M)]

    def run(self, names, env):
        """{name: Outcome}; those that did not end for the crash of another are absent, and under None is everything printed."""
        done = finish([self.binary, "-test.v", "-test.parallel=8", f"-test.timeout={SECONDS}s",
                                  f"-test.run=^({'|'.join(names)})$"], env)
        return parse(done)


def finish(arguments, env):
    """What a command prints until it ends."""
    done = processes.Process(arguments, env=env)
    done.is_expected_to_end = True
    done.popen.wait(SECONDS + processes.PATIENCE)
    done.wait()
    return done.stdout.text + done.stderr.text


def parse(output):
    """What `go test -v` prints, by test: lines of tests that run side by side are distinguished by "=== NAME"."""
    texts, verdicts, current = collections.defaultdict(list), {}, None
    for line in output.splitlines():
        named = re.match(r"=== (?:RUN|NAME|CONT|PAUSE) +([Tt]est\w+)", line)
        ended = re.match(r" *--- (PASS|FAIL|SKIP): ([Tt]est\w+)(\S*)", line)
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


class Python:
    """A file of `clients/python`, for a pytest in an interpreter of its own with packages from PyPI."""

    INTERPRETER = processes.PEERS / "python" / "bin" / "python"

    def __init__(self, name):
        self.name, self.path = name, SOURCES / "python" / f"{name}.py"

    def names(self):
        return re.findall(r"^def (test_\w+)\(", self.path.read_text(encoding="utf-8"), re.M)

    def run(self, names, env):
        """As Go's. Without the packages all are skipped."""
        if not self.INTERPRETER.exists():
            reason = "there are no packages from PyPI: tests/cluster/build.sh says why"
            return {name: Outcome("SKIP", reason) for name in names}
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            printed = finish([self.INTERPRETER, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}",
                              *(f"{self.path}::{name}" for name in names)], env)
            cases = xml.parse(report.name).iter("testcase") if report.read(1) else []
            return {**{case.get("name"): outcome_of(case) for case in cases}, None: Outcome("FAIL", printed)}


class Rust:
    """The package in `clients/rust`, which prints what it does as Go's tests do."""

    SOURCE = SOURCES / "rust" / "src" / "main.rs"
    BINARY = processes.PEERS / "kube-rs" / "debug" / "annals-kube-rs"

    def names(self):
        return re.findall(r"^async fn (test_\w+)\(", self.SOURCE.read_text(encoding="utf-8"), re.M)

    def run(self, names, env):
        """As Go's. Without the executable all are skipped."""
        if not self.BINARY.exists():
            reason = "kube-rs has not been built: tests/cluster/build.sh says why"
            return {name: Outcome("SKIP", reason) for name in names}
        return parse(finish([self.BINARY, *names], env))


def outcome_of(case):
    """Of a testcase in JUnit's form."""
    texts = [child.text or child.get("message") for child in case if child.tag in ("failure", "error")]
    return Outcome("FAIL" if texts else "PASS", "\n".join(texts))
