#!/usr/bin/env python3
"""Runs suites of tests, sums them up, and ends with one line: N passed, N failed.

A suite is one of meson's (house, unit, contract, fuzz: cmocka executables and scripts), or a folder or a file of pytest's. Each
crash and each report of a sanitizer counts as a failure, also where the test that caused it did not notice.

Tests mostly wait: so several run at once, and of meson's suites that follow one another, the tests of all. Environment:

    SUITE_SECONDS    a suite that takes longer is stopped (1800)
    TEST_SECONDS     a pytest test that takes longer fails, and the others go on (a third of that, and FAULT_SECONDS, SOAK_SECONDS)
    TEST_WORKERS     how many pytest tests run at once (three for each processor, if memory suffices); 1: without xdist
    TEST_MEMORY_MIB  the memory these may count on (what is free)
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
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

CLEAN_UP_SECONDS = 15  # for tests that are asked to end

# Some tests take as long as they are told.
LONGER_SECONDS = sum(int(os.environ.get(name, "0")) for name in ("FAULT_SECONDS", "SOAK_SECONDS"))

# Measured: with so many each, two processors are busy. Unit tests wait for timers and sockets, pytest's tests for processes.
PROCESSES_EACH_CPU = 6
WORKERS_EACH_CPU = 3
BUSY_EACH_CPU = 2  # these work more than they wait, and two sanitizers run side by side
# What a worker has on average with its servers, their etcds and clients; a sanitizer keeps shadows, and a browser has ten processes.
WORKER_MIB, BUSY_WORKER_MIB = 512, 1024
# kube-apiservers, which all tests share, are started once.
SERIAL_SUITES = ["tests/cluster"]
BUSY_SUITES = ["tests/browser"]

# What cmocka prints for each test case.
CMOCKA_OK = re.compile(r"^\[ +OK \] ", re.MULTILINE)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] test_\S+$", re.MULTILINE)


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
        os.killpg(process.pid, signal.SIGKILL)


def run(command, env):
    """The exit status of a suite's runner. One that takes too long is stopped with all it started."""
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            return process.wait(SUITE_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"stopped after {SUITE_SECONDS} s", flush=True)
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
        except KeyboardInterrupt:
            stop(process)
            raise


def tally_meson_test(entry):
    """The cases within one executable, or the executable itself where it tells none."""
    output = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    passed = len(CMOCKA_OK.findall(output))
    if entry["result"] in ("OK", "EXPECTEDFAIL"):
        return Tally(max(passed, 1), 0)
    if entry["result"] == "SKIP":
        return Tally()
    return Tally(passed, max(len(set(CMOCKA_FAILED.findall(output))), 1))


def run_meson(build, suites, env):
    """What each suite came to."""
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", TIMEOUT_MULTIPLIER,
               "--num-processes", str(os.cpu_count() * (BUSY_EACH_CPU if is_sanitized(build) else PROCESSES_EACH_CPU))]
    for suite in suites:
        command += ["--suite", f"annals:{suite}"]
    status = run(command, env)
    tallies = {suite: Tally() for suite in suites}
    if log.exists():
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            tallies[entry["name"].partition(" / ")[0].partition(":")[2]].add(tally_meson_test(entry))
    if status and not any(tally.failed for tally in tallies.values()):  # a test that was not built, say
        tallies[suites[-1]].failed += 1
    return tallies


def python_with(*modules):
    """This interpreter, or Debian's, where its packages put what they have; None where neither has all of these."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {', '.join(modules)}"], check=False, capture_output=True).returncode == 0:
            return python
    return None


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
    if any(suite in SERIAL_SUITES for suite in suites):
        return 1
    is_busy = is_sanitized(build) or any(suite.startswith(busy) for suite in suites for busy in BUSY_SUITES)
    memory = int(os.environ.get("TEST_MEMORY_MIB", 0)) or free_mib()
    each_cpu, each_mib = (BUSY_EACH_CPU, BUSY_WORKER_MIB) if is_busy else (WORKERS_EACH_CPU, WORKER_MIB)
    return max(1, min(each_cpu * os.cpu_count(), memory // each_mib))


def run_pytest(suites, keyword, build, env, reports):
    if not any((ROOT / suite).is_file() or any((ROOT / suite).rglob("test_*.py")) for suite in suites):
        return Tally()
    result = reports / "pytest.xml"
    result.unlink(missing_ok=True)
    n_workers = count_workers(suites, build)
    python = python_with("pytest", "yaml", "xdist") if n_workers > 1 else None
    if n_workers > 1 and not python:
        print("one test after the other: xdist is missing (tools/install-deps.sh test)", flush=True)
    options = ["-n", str(n_workers), "--dist", "load"] if python else []
    python = python or python_with("pytest", "yaml") or sys.exit("pytest is missing: tools/install-deps.sh test")
    command = [python, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", f"--rootdir={ROOT}", f"--junitxml={result}", *options, *(["-k", keyword] if keyword else []), *suites]
    status = run(command, env)
    if not result.exists():
        return Tally(0, 1)
    suite = xml.parse(result).getroot().find("testsuite")
    count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    result.unlink()
    return Tally(count["tests"] - failed - count["skipped"], failed or int(status not in (0, 5)))


def take_reports(reports):
    """Shows what sanitizers wrote, once."""
    tally = Tally()
    for report in sorted(reports.glob("*.*")):
        if report.suffix == ".xml":
            continue
        text = report.read_text(errors="replace")
        if text and not (report.name.startswith("hang.") and "Timeout (" not in text):  # rather ended from outside
            print(f"\n--- {report.name}\n{text}")
        tally.failed += not report.name.startswith("hang.")  # of which the test has failed
        report.unlink()
    return tally


def run_suites(suites, args, env, reports):
    """Of the same kind. What they came to."""
    print(f"\n== {' '.join(suites)}", flush=True)
    if suites[0] in MESON_SUITES:
        tallies = run_meson(args.build, suites, env)
    else:
        tallies = {" ".join(suites): run_pytest(suites, args.keyword, args.build, env, reports)}
    tallies[list(tallies)[-1]].add(take_reports(reports))
    total = Tally()
    for name, tally in tallies.items():
        print(f"{name}: {tally}", flush=True)
        total.add(tally)
    return total


def kind_of(suite):
    """Suites of the same kind run together: meson's, files of one folder's tests; a folder is by itself."""
    return "meson" if suite in MESON_SUITES else suite.rpartition("/")[0] if suite.endswith(".py") else suite


def append(path, tally):
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{tally.passed} {tally.failed}\n")


def sum_of(path):
    total = Tally()
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        total.add(Tally(*map(int, line.split())))
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a meson build folder, built")
    parser.add_argument("--tally", default=os.environ.get("ANNALS_TALLY"), help="a file to which this run's sum is appended")
    parser.add_argument("--sum", help="run nothing: print the sum of what was appended to this file")
    parser.add_argument("-k", dest="keyword", help="of pytest's tests those whose names match")
    parser.add_argument("suites", nargs="*", help=f"{', '.join(MESON_SUITES)}, or a folder or a file of pytest's")
    args = parser.parse_args()

    # What runs must not outlive us; and whoever started us in the background had us, and all that we start, ignore SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    total = Tally()
    if args.sum:
        total = sum_of(args.sum)
    else:
        with tempfile.TemporaryDirectory(prefix="annals-reports-") as folder:
            reports, args.build = pathlib.Path(folder), args.build.resolve()
            env = environment(args.build, reports)
            for _, suites in itertools.groupby(args.suites, kind_of):
                total.add(run_suites(list(suites), args, env, reports))
        if args.tally:
            append(args.tally, total)
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
