#!/usr/bin/env python3
"""Runs suites of tests, sums them up, and ends with one line: N passed, N failed.

A suite is one of meson's (house, unit, contract, fuzz: cmocka executables and scripts) or a folder of pytest files. Each crash and
each report of a sanitizer counts as a failure, also where the test that caused it did not notice.
"""

import argparse
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

TIMEOUT_MULTIPLIER = "4"  # a busy machine, and sanitizers, take what time they need; what hangs is stopped all the same
# A suite that hangs must not hang whoever started it.
SUITE_SECONDS = int(os.environ.get("SUITE_SECONDS", "1800"))

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
    for name, options in SANITIZER_OPTIONS.items():
        tool = name.split("_")[0].lower()
        env[name] = ":".join(filter(None, [options, f"log_path={reports / tool}", env.get(name)]))
    return env


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
            os.killpg(process.pid, signal.SIGINT)
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


def run_meson(build, suite, env):
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", TIMEOUT_MULTIPLIER, "--suite", f"annals:{suite}"]
    status = run(command, env)
    tally = Tally()
    if log.exists():
        for line in log.read_text().splitlines():
            tally.add(tally_meson_test(json.loads(line)))
    if status and not tally.failed:  # a test that was not built, say
        tally.failed += 1
    return tally


def python_with_pytest():
    """This interpreter, or Debian's, where python3-pytest puts it."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pytest, yaml"], check=False, capture_output=True).returncode == 0:
            return python
    sys.exit("pytest is missing: tools/install-deps.sh test")


def run_pytest(folder, env, reports):
    if not any((ROOT / folder).rglob("test_*.py")):
        return Tally()
    result = reports / "pytest.xml"
    result.unlink(missing_ok=True)
    command = [python_with_pytest(), "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", f"--junitxml={result}", folder]
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
        if report.suffix != ".xml":
            print(f"\n--- {report.name}\n{report.read_text(errors='replace')}")
            tally.failed += 1
            report.unlink()
    return tally


def run_suite(suite, build, env, reports):
    print(f"\n== {suite}", flush=True)
    tally = run_meson(build, suite, env) if suite in MESON_SUITES else run_pytest(suite, env, reports)
    tally.add(take_reports(reports))
    print(f"{suite}: {tally}", flush=True)
    return tally


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
    parser.add_argument("suites", nargs="*", help=f"{', '.join(MESON_SUITES)}, or a folder of pytest files")
    args = parser.parse_args()

    total = Tally()
    if args.sum:
        total = sum_of(args.sum)
    else:
        with tempfile.TemporaryDirectory(prefix="annals-reports-") as folder:
            reports, build = pathlib.Path(folder), args.build.resolve()
            env = environment(build, reports)
            for suite in args.suites:
                total.add(run_suite(suite, build, env, reports))
        if args.tally:
            append(args.tally, total)
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
