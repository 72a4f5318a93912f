#!/usr/bin/env python3
"""Do tests notice when a line of the source is wrong?

Makes it wrong, line by line, and runs the tests that are to notice. tests/mutants/*.txt list the
mutants. A paragraph is one:

    abac.c subject_matches
    -	return has_user || has_group;
    +	return true;
    by authz test_access.py::test_policy_file

That is the file by its name, with a folder above it where the name is not unique. Then the function,
where the line is not unique in the file. Then the line as it is, and as it becomes; without the latter
it goes. Then the tests: unit and contract tests by name, integration tests by file and test. Lines are
compared without the blanks around them, so that neither moves nor indentation matter.

Each worker has a copy of the source and a build folder in build-mutants/, which stay for the next run.
All tests must pass before anything is changed. The run ends with one line, N of M noticed. What
survives, no longer applies or does not build is named.
"""

import argparse
import concurrent.futures
import dataclasses
import fcntl
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "tests" / "mutants"
COPIES = ROOT / "build-mutants"
# A mutant may make a test wait for ever: it has four times what it took without, and some time for a machine that is busier now.
TEST_SECONDS = 300
SPARE_SECONDS = 20
# Nor may it take all the memory there is: of address space, in unit tests, which start no processes.
UNIT_BYTES = 8 << 30
BUILD_SECONDS = 3600


@dataclasses.dataclass
class Mutant:
    where: str
    file: str
    function: str
    before: str
    after: str
    tests: list

    def __str__(self):
        place = f"{self.file} {self.function}".rstrip()
        return f"{place}: {self.before} -> {self.after or '(gone)'}"


class Stale(Exception):
    """The source is no longer as the mutant has it."""


# ---- the list ----


def read_paragraph(where, lines):
    file, _, function = lines[0].partition(" ")
    parts = {"-": "", "+": "", "by": ""}
    for line in lines[1:]:
        key = "by" if line.startswith("by ") else line[:1]
        if key not in parts or parts[key]:
            sys.exit(f"{where}: what is this: {line}")
        parts[key] = line[len(key) :].strip()
    if not parts["-"] or not parts["by"] or parts["-"] == parts["+"]:
        sys.exit(f"{where}: a mutant has a line that is, another one that it becomes, and tests")
    return Mutant(where, file, function.strip(), parts["-"], parts["+"], parts["by"].split())


def read_mutants():
    for path in sorted(MUTANTS.glob("*.txt")):
        paragraph, start = [], 0
        for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
            if line.strip() and not line.startswith("#"):
                start = start if paragraph else number
                paragraph.append(line)
            elif paragraph and not line.strip():
                yield read_paragraph(f"{path.name}:{start}", paragraph)
                paragraph = []


# ---- the source ----


def source_files():
    """Those that git knows or would take, of this working tree as it is now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if done.returncode != 0:  # an unpacked release
        return sorted(str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and not p.parts[len(ROOT.parts)].startswith("build"))
    return sorted(name for name in set(done.stdout.decode().split("\0")) if name and (ROOT / name).is_file())


def find_file(mutant, sources):
    folder, name = os.path.split(mutant.file)
    found = [s for s in sources if os.path.basename(s) == name and not s.startswith("tests/")]
    found = [s for s in found if not folder or s.startswith(folder + "/")]
    if len(found) != 1:
        raise Stale(f"{len(found)} files of that name")
    return found[0]


def lines_of_function(lines, name):
    """From its definition to the brace that ends it."""
    begin = re.compile(rf"^\w.*\b{re.escape(name)}\(")
    for i, line in enumerate(lines):
        if begin.match(line) and not line.rstrip().endswith(";"):
            end = next((k for k in range(i, len(lines)) if lines[k].startswith("}")), None)
            body = next((k for k in range(i, len(lines)) if lines[k].startswith("{") or lines[k].endswith(";")), None)
            if end and body and lines[body].startswith("{"):
                return range(body, end)
    raise Stale(f"there is no function {name}")


def check_tests(mutant, sources):
    for test in mutant.tests:
        target = build_target(test)
        path = f"{target}.c" if target else "tests/integration/" + test.split("::")[0]
        if path not in sources:
            raise Stale(f"there is no test {test}")


def apply(mutant, text):
    lines = text.split("\n")
    among = lines_of_function(lines, mutant.function) if mutant.function else range(len(lines))
    found = [i for i in among if lines[i].strip() == mutant.before]
    if len(found) != 1:
        raise Stale(f"the line is there {len(found)} times")
    at = found[0]
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = indent + mutant.after if mutant.after else ""
    return "\n".join(lines)


# ---- a copy, and what is done in it ----


def run(command, cwd, seconds, env=None):
    """(status, output); a status of None: it took too long."""
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return None, out.decode(errors="replace")
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, out.decode(errors="replace")


def build_target(test):
    """The executable of a unit or contract test; None: pytest runs it."""
    if ".py" in test:
        return None
    return f"tests/contract/{test}" if test.startswith("contract_") else f"tests/unit/test_{test}"


class Copy:
    def __init__(self, folder, sources):
        self.folder, self.build = folder, folder / "build"
        self.take(sources)
        if not (self.build / "build.ninja").exists():
            # What a mutant leaves unused is no error. Nothing is measured: what is built quickly is good enough.
            self.must(["meson", "setup", "build", "-Dwerror=false", "-Doptimization=0", "-Ddebug=false"])

    def take(self, sources):
        """What is the same keeps its time, so that it is not compiled again."""
        for name in sources:
            to, text = self.folder / name, (ROOT / name).read_bytes()
            if not to.exists() or to.read_bytes() != text:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(text)
                to.chmod((ROOT / name).stat().st_mode)
        known = set(sources)
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if path.is_file() and name.parts[0] != "build" and "__pycache__" not in name.parts and str(name) not in known:
                path.unlink()

    def must(self, command):
        status, out = run(command, self.folder, BUILD_SECONDS)
        if status != 0:
            sys.exit(f"{' '.join(command)} in {self.folder}:\n{out}")

    def make(self, tests):
        targets = {build_target(t) for t in tests}
        if None in targets:
            targets = (targets - {None}) | {"annals", "kubectl-annals", "kubectl_complete-annals"} | self.process_targets()
        jobs = os.environ.get("NINJA_JOBS", "2")
        return run(["ninja", "-C", str(self.build), "-j", jobs, *sorted(targets)], self.folder, BUILD_SECONDS)

    def process_targets(self):
        """What integration tests start beside annals."""
        _, out = run(["ninja", "-C", str(self.build), "-t", "targets", "all"], self.folder, BUILD_SECONDS)
        pattern = re.compile(r"^(tests/(?:toy|broken|probe)/[^/.:]+): ", re.MULTILINE)
        return set(pattern.findall(out))

    def passes(self, test, seconds=TEST_SECONDS):
        target = build_target(test)
        if target:
            limit = ["prlimit", f"--as={UNIT_BYTES}"] if target.startswith("tests/unit/") else []
            return run([*limit, str(self.build / target)], self.folder, seconds)
        env = dict(os.environ, ANNALS_BIN=str(self.build / "annals"), ANNALS_BUILD=str(self.build))
        return run(["python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/integration/{test}"], self.folder, seconds, env)


def judge(copy, mutant, sources, took):
    """("noticed" or what else, a sentence); took: how long each test takes without a mutant."""
    try:
        path = copy.folder / find_file(mutant, sources)
        whole = path.read_text(encoding="utf-8")
        changed = apply(mutant, whole)
    except Stale as e:
        return "no longer applies", str(e)
    try:
        path.write_text(changed, encoding="utf-8")
        status, out = copy.make(mutant.tests)
        if status != 0:
            return "does not build", out[-1500:]
        for test in mutant.tests:
            status, _ = copy.passes(test, min(TEST_SECONDS, SPARE_SECONDS + 4 * took[test]))
            if status != 0:
                return "noticed", f"by {test}" + (", which did not end" if status is None else "")
        return "survived", ", ".join(mutant.tests)
    finally:
        path.write_text(whole, encoding="utf-8")


def check_all_pass(copy, mutants):
    """How long each test takes."""
    tests = sorted({t for m in mutants for t in m.tests})
    status, out = copy.make(tests)
    if status != 0:
        sys.exit(f"does not build without a mutant:\n{out[-3000:]}")
    took = {}
    for test in tests:
        begun = time.monotonic()
        status, out = copy.passes(test)
        if status != 0:
            sys.exit(f"{test} fails without a mutant, so it notices nothing:\n{out[-3000:]}")
        took[test] = time.monotonic() - begun
    return took


def choose(mutants, args):
    mutants = [m for m in mutants if re.search(args.k, f"{m.where} {m}")]
    return mutants[:: max(1, len(mutants) // args.n)][: args.n] if args.n else mutants


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only mutants whose place and lines match this expression")
    parser.add_argument("-n", type=int, default=0, help="only so many, from all of the list")
    parser.add_argument("-j", type=int, default=2, help="how many at a time, each in a copy of its own")
    parser.add_argument("--list", action="store_true", help="build nothing: say which mutants there are, and whether they apply")
    args = parser.parse_args()

    mutants, sources = choose(list(read_mutants()), args), source_files()
    if not mutants:
        sys.exit("no mutant matches")
    if args.list:
        n_stale = 0
        for m in mutants:
            try:
                check_tests(m, sources)
                apply(m, (ROOT / find_file(m, sources)).read_text(encoding="utf-8"))
                print(f"{m.where}: {m}")
            except Stale as e:
                n_stale += 1
                print(f"{m.where}: {m}: NO LONGER APPLIES: {e}")
        return 1 if n_stale else 0

    COPIES.mkdir(exist_ok=True)
    lock = open(COPIES / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another run is under way in {COPIES}")
    copies = queue.Queue()
    for i in range(min(args.j, max(1, len(mutants)))):
        folder = COPIES / str(i + 1)
        folder.mkdir(parents=True, exist_ok=True)
        copies.put(Copy(folder, sources))
    first = copies.get()
    took = check_all_pass(first, mutants)
    copies.put(first)

    def one(mutant):
        copy = copies.get()
        try:
            return mutant, *judge(copy, mutant, sources, took)
        finally:
            copies.put(copy)

    others = []
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for future in concurrent.futures.as_completed([pool.submit(one, m) for m in mutants]):
            mutant, what, detail = future.result()
            print(f"{what}: {mutant.where}: {mutant}: {detail}", flush=True)
            if what != "noticed":
                others.append(f"{what}: {mutant.where}: {mutant}")
    print("\n" + "\n".join(sorted(others)) if others else "")
    print(f"{len(mutants) - len(others)} of {len(mutants)} noticed")
    return 1 if len(mutants) - len(others) < 0.95 * len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
