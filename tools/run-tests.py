#!/usr/bin/env python3
"""Runs suites of tests, sums them up, and ends with one line: N passed, N failed.

A suite is one of meson's (house, unit, contract, fuzz: cmocka executables and scripts), or a folder or a file of pytest's. Each
crash and each report of a sanitizer counts as a failure, also where the test that caused it did not notice. Behind "http2:" stand
those of pytest's whose own client is to speak HTTP/2: http2:tests/parity. Behind "memory:" stand those whose shared server is to keep its
objects in memory: memory:tests/integration/test_lists.py.

A test that fails is run once more, by itself, when its suite is over: if it passes then, it counts as passed and is named as
unsteady. Not so after a crash, a hang or a report of a sanitizer, nor where many fail. The last lines name every test that failed.

Tests mostly wait: so several run at once, and of meson's suites that follow one another, the tests of all. Environment:

    SUITE_SECONDS    a suite that takes longer is stopped (1800)
    TEST_SECONDS     a pytest test that takes longer fails, and the others go on (a third of that, and FAULT_SECONDS, SOAK_SECONDS)
    TEST_WORKERS     how many pytest tests run at once (three for each processor, if memory suffices; of tests/cluster two); 1: without xdist
    TEST_MEMORY_MIB  the memory these may count on (what is free)
    TEST_SHARE       1/3: every third of pytest's tests, chosen by their names (all)
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Prefixes of suites: what is in their environment then, and its name in the output.
WAYS = {"http2:": ({"ANNALS_TEST_HTTP": "2"}, " over HTTP/2"), "memory:": ({"ANNALS_TEST_STORE": "memory"}, " in memory")}
MESON_SUITES = ["house", "unit", "contract", "fuzz"]

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # gRPC and libmicrohttpd are not instrumented: what they synchronise by themselves would look like races.
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:second_deadlock_stack=1:halt_on_error=0",
}

TIMEOUT_MULTIPLIER = "10"  # a busy machine, and sanitizers, take what time they need; what hangs is stopped all the same
# A suite that hangs must not hang whoever started it.
SUITE_SECONDS = int(os.environ.get("SUITE_SECONDS", "1800"))
STOPPED = f"stopped after {SUITE_SECONDS} s"

CLEAN_UP_SECONDS = 15  # for tests that are asked to end

# Some tests take as long as a variable says.
LONGER_SECONDS = sum(int(os.environ.get(name, "0")) for name in ("FAULT_SECONDS", "SOAK_SECONDS"))

# Measured: with so many each, two processors are busy. Unit tests wait for timers and sockets, pytest's tests for processes.
PROCESSES_EACH_CPU = 6
WORKERS_EACH_CPU = 3
BUSY_EACH_CPU = 2  # these work more than they wait, and two sanitizers run side by side
# What a worker has on average with its servers, their etcds and clients; a sanitizer keeps shadows, and a browser has ten processes.
WORKER_MIB, BUSY_WORKER_MIB = 512, 1024
# Each worker starts kube-apiservers, which all its tests share. So the tests of a file stay together.
CLUSTER_SUITES = ["tests/cluster"]
CLUSTER_WORKERS_MAX, CLUSTER_WORKER_MIB = 2, 3072
BUSY_SUITES = ["tests/browser"]

OUTCOMES = "outcomes.json"  # written by tests/conftest.py
PIDS = "pids.txt"  # of meson's tests: reports of sanitizers are named after them
WRAPPER = shlex.join(["sh", "-c", 'echo "$$ $0" >>"$TEST_PIDS"; exec "$0" "$@"'])

# What cmocka prints for each test case.
CMOCKA_OK = re.compile(r"^\[ +OK \] ", re.MULTILINE)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] (test_\S+)$", re.MULTILINE)

# More than so many of a run do not fail because the machine is busy.
AGAIN_MAX = 10
# What says that a process has ended by a signal (xdist, tests/integration/processes.py, subprocess, cmocka), or that a sanitizer has spoken.
NOT_AGAIN = re.compile(r"worker '\w+' crashed|ended (by itself )?with (status )?-\d|returncode=-\d|died with <Signals|Test failed with exception"
                       r"|Sanitizer|runtime error:|Assertion .* failed")
TSAN_STATUS = 66  # of a program that ends well but for what ThreadSanitizer has found

PYTEST_NONE = 5  # pytest's exit status when no test was chosen

# Of what is said at the end: whoever sees nothing else shall know where to look.
TEXT_LINES, LINE_MAX = 15, 200
END_MAX = 6000


@dataclasses.dataclass
class Failure:
    """Of a test, which may be of a meson suite or of pytest's."""

    name: str
    text: str
    suite: str = ""
    build: str = ""
    again: str = ""  # what it is called by whoever runs it once more; nothing: nobody does
    has_passed: bool = False
    n: int = 1  # what it counts
    leaks: str = ""  # the program of which a leak says no more than that a test in it broke off in the middle

    @property
    def verdict(self):
        return f"unsteady: {self.name}, passed when run once more" if self.has_passed else f"failed: {self.name}"

    @property
    def place(self):
        return f" ({self.build})" if self.build else ""


class Tally:
    def __init__(self, passed=0, failed=0):
        self.passed, self.failed = passed, failed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed"


def environment(build, reports):
    env = dict(os.environ)
    env["ANNALS_BIN"] = str(build / "annals")
    env["ANNALS_BUILD"] = str(build)
    env["TEST_HANGS"] = str(reports)
    env["TEST_OUTCOMES"] = str(reports / OUTCOMES)
    env["TEST_PIDS"] = str(reports / PIDS)
    # pytest rewrites each module that it imports, which takes 10 s of each worker of tests/integration if nobody keeps the result.
    env["PYTHONPYCACHEPREFIX"] = str(build / "pycache")
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env.setdefault("TEST_SECONDS", str(SUITE_SECONDS // 3 + LONGER_SECONDS))
    for name, options in SANITIZER_OPTIONS.items():
        tool = name.split("_")[0].lower()
        env[name] = ":".join(filter(None, [options, f"log_path={reports / tool}", env.get(name)]))
    return env


def stop(process):
    """Ends it with all that it has started: first so that tests can clean up behind themselves."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(CLEAN_UP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(command, env):
    """The exit status of a suite's runner; None: it took too long, and was stopped with all that it had started."""
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            return process.wait(SUITE_SECONDS)
        except subprocess.TimeoutExpired:
            print(STOPPED, flush=True)
            stop(process)  # and says what has become of those that had run
            return None
        except KeyboardInterrupt:
            stop(process)
            raise


def end_of(text, summary=""):
    """Its last lines, after the one that sums it up: a text that is cut keeps its beginning."""
    lines = [line[:LINE_MAX] for line in text.rstrip().splitlines()[-TEXT_LINES:]]
    first = summary.strip().partition("\n")[0][:LINE_MAX]
    if first and not (lines and first in lines[0]):
        lines = [first, "..."] + lines
    return "\n".join(lines)


def tally_meson_test(entry):
    """The cases within one executable, or the executable itself where it tells none."""
    output = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    passed = len(CMOCKA_OK.findall(output))
    if entry["result"] in ("OK", "EXPECTEDFAIL"):
        return Tally(max(passed, 1), 0)
    if entry["result"] == "SKIP":
        return Tally()
    return Tally(passed, max(len(set(CMOCKA_FAILED.findall(output))), 1))


def suite_of(entry):
    """Of a name such as "annals:unit / base"."""
    return entry["name"].partition(" / ")[0].partition(":")[2]


def program_of(entry):
    """What the wrapper has started."""
    command, wrapper = entry.get("command", []), shlex.split(WRAPPER)
    return command[len(wrapper)] if command[:len(wrapper)] == wrapper else ""


def failure_of(entry, n):
    output = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    cases = sorted(set(CMOCKA_FAILED.findall(output)))
    says = f"{entry['result']}, exit status {entry.get('returncode')}"
    may_pass = entry["result"] == "FAIL" and 0 < entry["returncode"] < 128 and entry["returncode"] != TSAN_STATUS and not NOT_AGAIN.search(output)
    return Failure(" ".join([entry["name"], *cases]), end_of(output, says), suite=suite_of(entry), again=entry["name"].partition(" / ")[2] if may_pass else "", n=n,
                   leaks=program_of(entry) if may_pass and cases else "")


def call_meson(build, arguments, env):
    """The exit status, and what the log says of each test."""
    logs = build / "meson-logs"
    for log in logs.glob("testlog*.json"):  # named after the wrapper, too
        log.unlink()
    status = run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", TIMEOUT_MULTIPLIER,
                  "--wrapper", WRAPPER, *arguments], env)
    return status, [json.loads(line) for log in logs.glob("testlog*.json") for line in log.read_text().splitlines()]


def run_meson(build, suites, only, env):
    """What each suite came to, and the failures."""
    arguments = ["--num-processes", str(os.cpu_count() * (BUSY_EACH_CPU if is_sanitized(build) else PROCESSES_EACH_CPU))]
    for suite in suites:
        arguments += ["--suite", f"annals:{suite}"]
    status, entries = call_meson(build, arguments + only, env)
    tallies, failures = {suite: Tally() for suite in suites}, []
    for entry in entries:
        tally = tally_meson_test(entry)
        tallies[suite_of(entry)].add(tally)
        if tally.failed:
            failures.append(failure_of(entry, tally.failed))
    if status is None or (status and not failures):  # a test that was not built, say
        tallies[suites[-1]].failed += 1
        failures.append(Failure(" ".join(suites), STOPPED if status is None else f"meson ended with status {status}", suite=suites[-1]))
    return tallies, failures


def again_by_meson(failure, build, env):
    """Whether it passes."""
    status, entries = call_meson(build, ["--suite", f"annals:{failure.suite}", failure.again], env)
    return status == 0 and bool(entries) and all(entry["result"] in ("OK", "EXPECTEDFAIL") for entry in entries)


@functools.lru_cache
def python_with(*modules):
    """This interpreter, or Debian's, where its packages put what they have; None where neither has all of these."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {', '.join(modules)}"], check=False, capture_output=True).returncode == 0:
            return python
    return None


def are_clusters(suites):
    return any(suite in CLUSTER_SUITES for suite in suites)


def python_for(suites, *modules):
    """One for tests of these. Without hpack those are skipped that make frames of HTTP/2 by themselves."""
    frames = not are_clusters(suites)
    return frames and python_with("pytest", "yaml", "hpack", *modules) or python_with("pytest", "yaml", *modules)


def free_mib():
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def is_sanitized(build):
    """Whether annals has been built with a sanitizer."""
    options = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text(encoding="utf-8"))
    return any(option["name"] == "b_sanitize" and option["value"] not in ("none", []) for option in options)


def count_workers(suites, build):
    if "TEST_WORKERS" in os.environ:
        return int(os.environ["TEST_WORKERS"])
    memory = int(os.environ.get("TEST_MEMORY_MIB", 0)) or free_mib()
    if are_clusters(suites):
        return max(1, min(CLUSTER_WORKERS_MAX, memory // CLUSTER_WORKER_MIB))
    is_busy = is_sanitized(build) or any(suite.startswith(busy) for suite in suites for busy in BUSY_SUITES)
    each_cpu, each_mib = (BUSY_EACH_CPU, BUSY_WORKER_MIB) if is_busy else (WORKERS_EACH_CPU, WORKER_MIB)
    return max(1, min(each_cpu * os.cpu_count(), memory // each_mib))


def call_pytest(python, arguments, env):
    """The exit status, and what tests/conftest.py has noted: None where pytest itself came to no end."""
    noted = pathlib.Path(env["TEST_OUTCOMES"])
    noted.unlink(missing_ok=True)
    status = run([python, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *arguments], env)
    return status, json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else None


def run_pytest(suites, keyword, build, env):
    """What they came to, and the failures."""
    if not any((ROOT / suite).is_file() or any((ROOT / suite).rglob("test_*.py")) for suite in suites):
        return Tally(), []
    n_workers = count_workers(suites, build)
    python = python_for(suites, "xdist") if n_workers > 1 else None
    if n_workers > 1 and not python:
        print("one test after the other: xdist is missing (tools/install-deps.sh test)", flush=True)
    options = ["-n", str(n_workers), "--dist", "loadfile" if are_clusters(suites) else "load"] if python else []
    python = python or python_for(suites) or sys.exit("pytest is missing: tools/install-deps.sh test")
    status, outcomes = call_pytest(python, [*options, *(["-k", keyword] if keyword else []), *suites], env)
    failures = []
    if outcomes:
        for name, reports in outcomes["failed"].items():
            texts = "\n".join(report["text"] for report in reports)
            may_pass = "::" in name and not NOT_AGAIN.search(texts)  # a file that cannot be read is no test
            failures.append(Failure(name, end_of(reports[0]["text"], reports[0]["summary"]), again=name if may_pass else ""))
    if status is None or (not failures and (not outcomes or status not in (0, PYTEST_NONE))):
        during = ["during:", *outcomes["running"]] if outcomes and outcomes["running"] else []
        failures.append(Failure(" ".join(suites), "\n".join([STOPPED if status is None else f"pytest ended with status {status}", *during])))
    for failure in failures:
        failure.suite = " ".join(suites)
    return Tally(outcomes["passed"] if outcomes else 0, len(failures)), failures


def again_by_pytest(failure, env):
    """Whether it passes."""
    status, outcomes = call_pytest(python_for([failure.suite]), [failure.again], env)
    return status == 0 and bool(outcomes) and outcomes["passed"] == 1


def leaking(reports, failures):
    """Names of reports that say nothing but that a test broke off in the middle, at an assertion, and left its memory behind."""
    pids = reports / PIDS
    started = [line.split(" ", 1) for line in pids.read_text(encoding="utf-8").splitlines()] if pids.exists() else []
    broken = {failure.leaks for failure in failures if failure.leaks}
    return {f"asan.{pid}" for pid, program in started if program in broken}


def is_leak(text):
    """And nothing else."""
    return "ERROR: LeakSanitizer: detected memory leaks" in text and "ERROR: AddressSanitizer:" not in text and "runtime error:" not in text


def take_reports(reports, failures=()):
    """Shows what sanitizers wrote, once."""
    found, broken = [], leaking(reports, failures)
    for report in sorted(reports.glob("*.*")):
        if report.name in (OUTCOMES, PIDS):
            continue
        text = report.read_text(errors="replace")
        if text and not (report.name.startswith("hang.") and "Timeout (" not in text):  # rather ended from outside
            print(f"\n--- {report.name}\n{text}")
        if report.name.startswith("hang.") or (report.name in broken and is_leak(text)):
            pass  # of which the test has failed
        else:
            found.append(Failure(f"report {report.name}", end_of(text, next((line for line in text.splitlines() if NOT_AGAIN.search(line)), ""))))
        report.unlink()
    (reports / PIDS).unlink(missing_ok=True)
    return found


def run_again(failures, tallies, args, env):
    """Each of them that may be, one by one."""
    for failure in filter(lambda failure: failure.again, failures):
        print(f"\n-- once more: {failure.name}", flush=True)
        if failure.suite in MESON_SUITES:
            failure.has_passed = again_by_meson(failure, args.build, env)
        else:
            failure.has_passed = again_by_pytest(failure, env)
        if failure.has_passed:
            tallies[failure.suite].add(Tally(failure.n, -failure.n))
            print(f"{failure.verdict}; at first:\n{failure.text}", flush=True)


def run_suites(suites, args, env, reports):
    """Of the same kind. What they came to, and the failures."""
    print(f"\n== {' '.join(suites)}", flush=True)
    way = ""
    for prefix, (variables, told) in WAYS.items():
        if suites[0].startswith(prefix):
            suites, env, way = [suite.removeprefix(prefix) for suite in suites], {**env, **variables}, told
    if suites[0] in MESON_SUITES:
        tallies, failures = run_meson(args.build, suites, args.only.split(), env)
    else:
        tally, failures = run_pytest(suites, args.keyword, args.build, env)
        tallies = {" ".join(suites): tally}
    reported = take_reports(reports, failures)
    n_again = sum(bool(failure.again) for failure in failures)
    if n_again and (reported or n_again > args.again_left):
        print(f"nothing is run once more: {'a sanitizer has spoken' if reported else f'{n_again} have failed'}", flush=True)
    elif n_again:
        args.again_left -= n_again
        run_again(failures, tallies, args, env)
        reported = take_reports(reports)
    for failure in reported:
        failure.suite = list(tallies)[-1]
        tallies[failure.suite].failed += 1
    total = Tally()
    for name, tally in tallies.items():
        print(f"{name}: {tally}", flush=True)
        total.add(tally)
    failures += reported
    for failure in failures:
        failure.build = args.build.name + way
    return total, failures


def kind_of(suite):
    """Suites of the same kind run together: meson's, files of one folder's tests; a folder is by itself."""
    return "meson" if suite in MESON_SUITES else suite.rpartition("/")[0] if suite.endswith(".py") else suite


def append(path, tally, failures):
    """To the file of sums, and to the one beside it, which names tests."""
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{tally.passed} {tally.failed}\n")
    with open(f"{path}.tests", "a", encoding="ascii") as file:
        file.writelines(json.dumps(dataclasses.asdict(failure)) + "\n" for failure in failures)


def sum_of(path):
    """What was appended."""
    total, named = Tally(), pathlib.Path(f"{path}.tests")
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        total.add(Tally(*map(int, line.split())))
    lines = named.read_text(encoding="ascii").splitlines() if named.exists() else []
    return total, [Failure(**json.loads(line)) for line in lines]


def shorten(text, size):
    """To so many characters, of its beginning, which sums it up, and its end."""
    begin = min(LINE_MAX, size // 2)
    return text if len(text) <= size else text[:begin] + "\n...\n" + text[len(text) - (size - begin):]


def show(failures):
    """What failed, at the end of the output, and briefly: more than that may be cut off. Texts first, because names matter more."""
    failures = sorted(failures, key=lambda failure: failure.has_passed)
    names = []
    for failure in failures:
        names.append(f"{failure.verdict}{failure.place}"[:2 * LINE_MAX])
        if sum(len(name) + 1 for name in names) > END_MAX // 2:
            names[-1:] = [f"and {len(failures) - len(names) + 1} more"]
            break
    left = END_MAX - sum(len(name) + 1 for name in names)
    for i, failure in enumerate(failures):
        share = left // (len(failures) - i) - LINE_MAX
        if share < LINE_MAX:
            share = LINE_MAX
        text = f"\n---- {failure.name[:LINE_MAX]}{failure.place}\n{shorten(failure.text, share)}"
        if len(text) > left:
            break
        print(text)
        left -= len(text) + 1
    if names:
        print("\n" + "\n".join(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a meson build folder, built")
    parser.add_argument("--tally", default=os.environ.get("ANNALS_TALLY"), help="a file to which this run's sum is appended")
    parser.add_argument("--sum", help="run nothing: print the sum of what was appended to this file")
    parser.add_argument("--failed", metavar="NAME", help="run nothing: count this as failed, of which standard input tells")
    parser.add_argument("-k", dest="keyword", help="of pytest's tests those whose names match")
    parser.add_argument("--only", default="", metavar="NAMES", help="of meson's tests those of these names")
    parser.add_argument("suites", nargs="*", help=f"{', '.join(MESON_SUITES)}, or a folder or a file of pytest's")
    args = parser.parse_args()

    # What runs must not outlive us; and whoever started us in the background had us, and all that we start, ignore SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    total, failures = Tally(), []
    if args.sum:
        total, failures = sum_of(args.sum)
    elif args.failed:
        failures = [Failure(args.failed, end_of(sys.stdin.read()))]
        total.failed = 1
    else:
        args.again_left = AGAIN_MAX
        with tempfile.TemporaryDirectory(prefix="annals-reports-") as folder:
            reports, args.build = pathlib.Path(folder), args.build.resolve()
            env = environment(args.build, reports)
            for _, suites in itertools.groupby(args.suites, kind_of):
                tally, failed = run_suites(list(suites), args, env, reports)
                total.add(tally)
                failures += failed
    if args.tally and not args.sum:
        append(args.tally, total, failures)
    show(failures)
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
