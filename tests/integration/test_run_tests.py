"""tools/run-tests.py counts right whatever becomes of a test: it may fail, crash, hang, or be spoken of by a sanitizer."""

import importlib.util
import os
import shutil
import subprocess

import pytest

from processes import PATIENCE, ROOT, retry_until, wait_gone

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

    def start(workers=2, seconds=60, keyword=(), **files):
        for name, text in files.items():
            (tests / f"test_{name}.py").write_text(text)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ANNALS_", "TEST_", "ASAN_"))}
        env |= {"TEST_WORKERS": str(workers), "TEST_SECONDS": str(seconds)}
        return subprocess.Popen([ROOT / "tools" / "run-tests.py", "--build", folder / "build", *keyword, tests], env=env, text=True,
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


@pytest.mark.parametrize("what", [CRASHES, HANGS], ids=["crash", "hang"])
def test_without_xdist_it_fails_the_suite(suite, what):
    done = suite(workers=1, seconds=10, a=PASSES, b=what)
    assert (last_line(done), done.returncode) == ("0 passed, 1 failed", 1), done.stdout
