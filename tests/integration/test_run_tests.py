"""tools/run-tests.py counts right whatever becomes of a test: it may fail, crash, hang, be spoken of by a sanitizer, or pass when it is run once more."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from processes import PATIENCE, ROOT, retry_until, wait_gone

pytestmark = pytest.mark.long_file

PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    assert False\n"
CRASHES = "import os\n\n\ndef test_crashes():\n    os.abort()\n"
HANGS = "import threading\n\n\ndef test_hangs():\n    threading.Event().wait()\n"
TELLS_AND_HANGS = """import os
import pathlib
import threading


def test_hangs():
    pathlib.Path({path!r}).write_text(str(os.getpid()))
    threading.Event().wait()
"""
REPORTS = """import os


def test_reports():
    path = next(option[9:] for option in os.environ["ASAN_OPTIONS"].split(":") if option.startswith("log_path="))
    with open(path + ".1", "w") as file:
        file.write("ERROR: AddressSanitizer: something")
"""

# Fails in its own way, but only where it has not been before.
ONCE = """import pathlib


def test_fails_once():
    path = pathlib.Path({path!r})
    with open(path, "a") as file:
        file.write("here\\n")
    if path.read_text() == "here\\n":
        {fails}
"""

needs_xdist = pytest.mark.skipif(not importlib.util.find_spec("xdist"), reason="needs xdist")


@pytest.fixture
def suite(folder):
    """run(name=text, ...) runs these files; what was printed."""
    build = folder / "build" / "meson-info"
    build.mkdir(parents=True)
    (build / "intro-buildoptions.json").write_text("[]")
    tests = folder / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tests)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "run-tests.py", folder / "tools")

    def start(workers=2, seconds=60, suite_seconds=600, keyword=(), suites=("tests",), share="", **files):
        for name, text in files.items():
            (tests / f"test_{name}.py").write_text(text)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ANNALS_", "TEST_", "ASAN_"))}
        env |= {"TEST_WORKERS": str(workers), "TEST_SECONDS": str(seconds), "SUITE_SECONDS": str(suite_seconds), "TEST_SHARE": share}
        return subprocess.Popen([folder / "tools" / "run-tests.py", "--build", folder / "build", *keyword, *suites], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(**how):
        with start(**how) as runner:
            output, _ = runner.communicate()
            return subprocess.CompletedProcess(runner.args, runner.returncode, output)

    run.start = start
    return run


def last_line(done):
    return done.stdout.rstrip().rpartition("\n")[2]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_xdist)])
def test_what_passes_and_what_fails(suite, workers):
    done = suite(workers=workers, a=PASSES, b=FAILS, c=PASSES)
    assert (last_line(done), done.returncode) == ("2 passed, 1 failed", 1), done.stdout
    done = suite(workers=workers, keyword=["-k", "passes"])
    assert (last_line(done), done.returncode) == ("2 passed, 0 failed", 0), done.stdout


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_xdist)])
def test_report_of_a_sanitizer_is_shown_and_counts(suite, workers):
    done = suite(workers=workers, a=PASSES, b=REPORTS)
    assert last_line(done) == "2 passed, 1 failed", done.stdout
    assert "ERROR: AddressSanitizer: something" in done.stdout


@needs_xdist
def test_crash_of_a_worker_fails_its_test_alone(suite):
    done = suite(a=PASSES, b=CRASHES, c=PASSES, d=PASSES, e=PASSES)
    assert last_line(done) == "4 passed, 1 failed", done.stdout
    assert "test_b.py::test_crashes" in done.stdout


@needs_xdist
def test_hang_fails_its_test_alone_and_is_shown(suite):
    done = suite(seconds=10, a=PASSES, b=HANGS, c=PASSES, d=PASSES, e=PASSES)
    assert last_line(done) == "4 passed, 1 failed", done.stdout
    assert "test_hangs takes more than 10 s" in done.stdout and "test_b.py" in done.stdout


def test_what_runs_does_not_outlive_it(suite, folder):
    """Not even when it is asked to end."""
    pid_file = folder / "pid"
    runner = suite.start(workers=1, a=TELLS_AND_HANGS.format(path=str(pid_file)))
    with runner:
        pid = int(retry_until(lambda: pid_file.exists() and pid_file.read_text(), "the test runs"))
        runner.terminate()
        runner.communicate(timeout=PATIENCE)
    wait_gone(pid)


def test_suite_that_takes_too_long_is_stopped_and_what_has_run_counts(suite):
    done = suite(workers=1, suite_seconds=15, a=PASSES, b=HANGS)
    n_passed = len(re.findall(r"^\.", done.stdout, re.MULTILINE))  # none, on a machine that has not come to it by then
    assert (last_line(done), done.returncode) == (f"{n_passed} passed, 1 failed", 1), done.stdout
    assert n_passed == 0 or "during:\ntests/test_b.py::test_hangs" in done.stdout, done.stdout
    assert "failed: tests (build)" in done.stdout and "stopped after 15 s" in done.stdout[done.stdout.index("---- tests"):]


@pytest.mark.parametrize("what", [CRASHES, HANGS], ids=["crash", "hang"])
def test_without_xdist_it_fails_the_suite(suite, what):
    done = suite(workers=1, seconds=10, a=PASSES, b=what)
    assert (last_line(done), done.returncode) == ("0 passed, 1 failed", 1), done.stdout


def n_runs(path):
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_xdist)])
def test_what_passes_when_run_once_more_is_named(suite, folder, workers):
    path = folder / "runs"
    done = suite(workers=workers, a=PASSES, b=ONCE.format(path=str(path), fails='raise TimeoutError("no line")'), c=PASSES)
    assert (last_line(done), done.returncode) == ("3 passed, 0 failed", 0), done.stdout
    assert n_runs(path) == 2
    end = done.stdout[done.stdout.rindex("---- "):]
    assert "TimeoutError: no line" in end and "test_b.py::test_fails_once, passed when run once more" in end, done.stdout


def test_what_fails_again_has_failed(suite):
    done = suite(workers=1, a=PASSES, b=FAILS)
    assert (last_line(done), done.returncode) == ("1 passed, 1 failed", 1), done.stdout
    assert "-- once more:" in done.stdout and "unsteady" not in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("failed: ") and "test_b.py::test_fails (build)" in line], done.stdout


def test_crash_of_a_server_is_not_tried_again(suite, folder):
    path = folder / "runs"
    done = suite(workers=1, a=ONCE.format(path=str(path), fails='assert False, "annals up ended by itself with status -11: oh"'))
    assert (last_line(done), n_runs(path)) == ("0 passed, 1 failed", 1), done.stdout


def test_processes_tell_of_crashes_in_words_that_are_known(suite, folder):
    path = folder / "runs"
    crash = ('import sys; sys.path.insert(0, %r); import processes; process = processes.Process(["sh", "-c", "kill -ABRT $$"]); process.popen.wait(60); '
             "assert not process.troubles()") % str(ROOT / "tests" / "integration")
    done = suite(workers=1, a=ONCE.format(path=str(path), fails=crash))
    assert (last_line(done), n_runs(path)) == ("0 passed, 1 failed", 1), done.stdout


@needs_xdist
def test_crash_of_a_worker_is_not_tried_again(suite, folder):
    path = folder / "runs"
    done = suite(a=PASSES, b=ONCE.format(path=str(path), fails="import os; os.abort()"))
    assert (last_line(done), n_runs(path)) == ("1 passed, 1 failed", 1), done.stdout


def test_nothing_is_tried_again_where_a_sanitizer_has_spoken(suite, folder):
    path = folder / "runs"
    done = suite(workers=1, a=ONCE.format(path=str(path), fails="assert False"), b=REPORTS)
    assert (last_line(done), n_runs(path)) == ("1 passed, 2 failed", 1), done.stdout


def test_report_of_a_sanitizer_at_the_second_time_counts(suite, folder):
    path = folder / "runs"
    report = REPORTS.partition("def test_reports():\n")[2].replace("    path =", "    report =").replace("path +", "report +")
    text = ONCE.format(path=str(path), fails="assert False") + "    import os\n" + report
    done = suite(workers=1, a=text)
    assert (last_line(done), n_runs(path), done.returncode) == ("1 passed, 1 failed", 2, 1), done.stdout


def test_where_many_fail_something_is_broken(suite, folder):
    path = folder / "runs"
    test = ONCE.format(path=str(path), fails="assert False")
    done = suite(workers=1, a=PASSES, b=test + test.partition("\n\n\n")[2].replace("_once", "_too") + "".join(f"\n\n\n{FAILS.replace('fails', f'fails_{i}')}" for i in range(10)))
    assert last_line(done) == "2 passed, 11 failed", done.stdout
    assert n_runs(path) == 2 and "nothing is run once more: 11 have failed" in done.stdout, done.stdout


def test_failure_and_trouble_afterwards_are_one(suite):
    text = "import pytest\n\n\n@pytest.fixture\ndef trouble():\n    yield\n    assert False\n\n\ndef test_a(trouble):\n    assert False\n\n\ndef test_b(trouble):\n    pass\n"
    done = suite(workers=1, a=text, b=PASSES)
    assert last_line(done) == "1 passed, 2 failed", done.stdout


def test_file_that_cannot_be_read_fails(suite):
    done = suite(workers=1, a=PASSES, b="import nothing_of_that_name\n")
    assert (last_line(done), done.returncode) == ("0 passed, 1 failed", 1), done.stdout
    assert "-- once more:" not in done.stdout


MESON = """project('annals')
foreach name : ['steady', 'unsteady', 'broken', 'crashing']
	test(name, find_program(name + '.sh'), suite: 'unit')
endforeach
test('other', find_program('broken.sh'), suite: 'house')
"""
MESON_ONCE = "#!/bin/sh\necho here >>{path}\n[ $(wc -l <{path}) -gt 1 ] && exit 0\n{fails}\n"


def test_meson_tests_are_tried_again(suite, folder):
    source = folder / "source"
    source.mkdir()
    (source / "meson.build").write_text(MESON)
    crashed, failed = folder / "crashed", folder / "failed"
    for name, text in {"steady": "#!/bin/sh\n", "broken": "#!/bin/sh\nexit 1\n", "unsteady": MESON_ONCE.format(path=failed, fails="echo the reason; exit 1"),
                       "crashing": MESON_ONCE.format(path=crashed, fails="kill -SEGV $$")}.items():
        (source / f"{name}.sh").write_text(text)
        (source / f"{name}.sh").chmod(0o755)
    shutil.rmtree(folder / "build")
    subprocess.run(["meson", "setup", folder / "build", source], check=True, capture_output=True)
    done = suite(suites=["unit"])
    assert (last_line(done), done.returncode) == ("2 passed, 2 failed", 1), done.stdout
    assert (n_runs(failed), n_runs(crashed)) == (2, 1)
    end = done.stdout[done.stdout.index("---- "):]
    assert "unsteady: annals:unit / unsteady, passed when run once more" in end and "the reason" in end, done.stdout
    assert "failed: annals:unit / broken" in end and "failed: annals:unit / crashing" in end, done.stdout


LEAK = "==1==ERROR: LeakSanitizer: detected memory leaks"
BROKEN_OFF = """#!/bin/sh
echo here >>{path}
[ $(wc -l <{path}) -gt 1 ] && exit 0
log=${{ASAN_OPTIONS##*log_path=}}
echo "{report}" >"${{log%%:*}}.$${behind}"
{says}
exit 1
"""
SAYS_FAILED = "echo '[  FAILED  ] test_a'"


@pytest.mark.parametrize("what, how", {
    "a leak of a test that broke off": (("1 passed, 0 failed", 2), {}),
    "something else than a leak": (("0 passed, 2 failed", 1), {"report": "==1==ERROR: AddressSanitizer: heap-use-after-free"}),
    "a leak of a test that did not break off": (("0 passed, 2 failed", 1), {"says": ":"}),
    "a leak of another process": (("0 passed, 2 failed", 1), {"behind": "1"}),
}.items(), ids=lambda case: case if isinstance(case, str) else "")
def test_leak_of_a_test_that_failed(suite, folder, what, how):
    """Who breaks off in the middle leaves memory behind: that is no finding of its own."""
    (ending, n), more = how
    source, path = folder / "source", folder / "runs"
    source.mkdir()
    (source / "meson.build").write_text("project('annals')\ntest('a', find_program('a.sh'), suite: 'unit')\ntest('b', find_program('a.sh'), suite: 'house')\n")
    (source / "a.sh").write_text(BROKEN_OFF.format(**{"path": path, "report": LEAK, "says": SAYS_FAILED, "behind": "", **more}))
    (source / "a.sh").chmod(0o755)
    shutil.rmtree(folder / "build")
    subprocess.run(["meson", "setup", folder / "build", source], check=True, capture_output=True)
    done = suite(suites=["unit"])
    assert (last_line(done), n_runs(path)) == (ending, n), f"{what}: {done.stdout}"


def run_tests(*arguments, text=""):
    return subprocess.run([ROOT / "tools" / "run-tests.py", *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def test_sum_names_what_failed_and_is_short(folder):
    tally = folder / "tally"
    done = run_tests("--tally", tally, "--failed", "make check", text="".join(f"line {i}\n" for i in range(100)))
    assert last_line(done) == "0 passed, 1 failed" and "line 99" in done.stdout and "line 84\n" not in done.stdout
    assert last_line(run_tests("--sum", tally)) == "0 passed, 1 failed"
    names = [f"tests/somewhere/test_file.py::test_number_{i}" for i in range(30)]
    with open(f"{tally}.tests", "a", encoding="ascii") as file:
        for i, name in enumerate(names):
            file.write(json.dumps({"name": name, "text": f"the reason of {i}\n" + "x" * 3000, "build": "build-thread", "has_passed": i % 2 == 0}) + "\n")
    done = run_tests("--sum", tally)
    assert len(done.stdout) < 7000 and all(f": {name}" in done.stdout for name in names), done.stdout
    assert "line 99" in done.stdout and "the reason of 1\n" in done.stdout
    with open(f"{tally}.tests", "a", encoding="ascii") as file:
        file.writelines(json.dumps({"name": f"test_{i}" * 20, "text": "x" * 3000}) + "\n" for i in range(500))
    done = run_tests("--sum", tally)
    assert len(done.stdout) < 7000 and re.search(r"^and 5\d\d more$", done.stdout, re.MULTILINE), done.stdout


CI_MAKEFILE = """check:
	@echo cc: this does not compile
	@false
sanitized peers:
	@:
check-cluster sanitize-address sanitize-thread:
	@tools/run-tests.py --failed "a test of $@" <Makefile
"""


def test_ci_ends_with_what_failed(folder):
    """Also where a step did not come to any test, and where a process is left behind."""
    for path, text in {"Makefile": CI_MAKEFILE.replace("@false", "@sleep 1000 & echo $$! >left; false"), "tools/install-deps.sh": "#!/bin/sh\n"}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    (folder / "tools" / "install-deps.sh").chmod(0o755)
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    shutil.copy(ROOT / "tools" / "run-tests.py", folder / "tools")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "TEST_", "MAKE", "MFLAGS"))}
    path = folder / "output"
    with open(path, "w", encoding="utf-8") as output:
        try:
            subprocess.run([folder / ".ci" / "run"], env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
        finally:
            os.kill(int((folder / "left").read_text()), signal.SIGKILL)
    lines = path.read_text().splitlines()
    has_go = "failed: a test of check-cluster" in lines
    names = ["make check", *(["a test of check-cluster"] if has_go else []), "a test of sanitize-address", "a test of sanitize-thread"]
    assert lines[-len(names) - 2:] == [*(f"failed: {name}" for name in names), "", f"0 passed, {len(names)} failed"], path.read_text()
    assert "cc: this does not compile" in lines[lines.index("---- make check"):]


NOTES_ITS_NAME = """import pathlib

import pytest


@pytest.fixture(autouse=True)
def noted(request):
    with open({path!r}, "a") as file:
        file.write(request.node.name + "\\n")
{tests}"""


@needs_xdist
def test_long_tests_begin_first_and_all_run_once(suite, folder):
    path = folder / "names"
    short = "".join(f"\n\ndef test_NAME{n}():\n    pass\n" for n in range(20))
    files = {name: NOTES_ITS_NAME.format(path=str(path), tests=short.replace("NAME", name)) for name in "abcd"}
    files["c"] += "\n\n@pytest.mark.long\ndef test_long():\n    pass\n"
    files["d"] = files["d"].replace("\n\n\n@pytest", "\n\npytestmark = pytest.mark.long_file\n\n\n@pytest", 1)
    done = suite(**files)
    assert last_line(done) == "81 passed, 0 failed", done.stdout
    names = path.read_text().splitlines()
    assert len(names) == len(set(names)) == 81
    first = {name: min(names.index(f"test_{name}{n}") for n in range(20)) for name in "abcd"}
    assert names.index("test_long") < min(first["a"], first["b"], first["c"]), names
    assert first["d"] < min(first["a"], first["b"]), names


def test_shares_are_parts_of_the_whole(suite, folder):
    path = folder / "names"
    short = "".join(f"\n\ndef test_a{n}():\n    pass\n" for n in range(40))
    done = suite(workers=1, share="1/3", a=NOTES_ITS_NAME.format(path=str(path), tests=short))
    third = set(path.read_text().splitlines())
    assert last_line(done) == f"{len(third)} passed, 0 failed" and 5 < len(third) < 25, done.stdout
    path.unlink()
    done = suite(workers=1, share="2/3")
    assert third < set(path.read_text().splitlines()) and len(path.read_text().splitlines()) < 40, done.stdout
