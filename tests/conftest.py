"""A test that hangs fails, and says where: its process ends, and xdist goes on with the others in a new one.

And tools/run-tests.py gets the outcome of each test, in the file that $TEST_OUTCOMES names.
"""

import faulthandler
import json
import os
import pathlib
import sys

import pytest

SECONDS = int(os.environ.get("TEST_SECONDS", "0"))  # for each of setting up, the test itself and tearing down; 0: any number


def open_hangs():
    """Where it is written; $TEST_HANGS names a folder, and tools/run-tests.py shows what is there."""
    folder = os.environ.get("TEST_HANGS")
    if not folder:
        return sys.__stderr__
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return open(pathlib.Path(folder) / f"hang.{name}-{os.getpid()}", "w", encoding="utf-8")  # for as long as the process lives


HANGS = open_hangs() if SECONDS else None


def watch(item):
    if SECONDS:
        HANGS.write(f"{item.nodeid} takes more than {SECONDS} s\n")
        HANGS.flush()
        faulthandler.dump_traceback_later(SECONDS, file=HANGS, exit=True)
    yield
    if SECONDS:
        faulthandler.cancel_dump_traceback_later()
        HANGS.seek(0)
        HANGS.truncate()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from watch(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from watch(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    yield from watch(item)


def pytest_configure(config):
    config.addinivalue_line("markers", "http1(reason): about HTTP/1.1 alone, as the tests' own client speaks it")


def pytest_collection_modifyitems(items):
    if os.environ.get("ANNALS_TEST_HTTP") == "2":
        for item in items:
            for mark in item.iter_markers("http1"):
                item.add_marker(pytest.mark.skip(reason=f"HTTP/1.1 alone: {mark.args[0]}"))


class Outcomes:
    """How many tests have passed, and what is to be said of those that have not; kept by the process that leads the others."""

    def __init__(self, path):
        self.path = path
        self.running = []  # names
        self.passed = set()  # names, of some that fail afterwards, while they are torn down
        self.failed = {}  # names: texts

    def note(self, name, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failed.setdefault(name, []).append({"summary": crash.message if crash else "", "text": report.longreprtext})
        elif getattr(report, "when", "") == "call" and report.passed:
            self.passed.add(name)

    def write(self):
        outcomes = {"passed": len(self.passed - self.failed.keys()), "failed": self.failed, "running": self.running}
        self.path.write_text(json.dumps(outcomes), encoding="utf-8")


def keep_outcomes():
    path = os.environ.pop("TEST_OUTCOMES", None)  # no business of what tests start, which may be another pytest
    return Outcomes(pathlib.Path(path)) if path and "PYTEST_XDIST_WORKER" not in os.environ else None


OUTCOMES = keep_outcomes()


def pytest_runtest_logstart(nodeid):
    if OUTCOMES:
        OUTCOMES.running.append(nodeid)


def pytest_runtest_logfinish(nodeid):
    if OUTCOMES and nodeid in OUTCOMES.running:
        OUTCOMES.running.remove(nodeid)


def pytest_runtest_logreport(report):
    if OUTCOMES:
        OUTCOMES.note(report.nodeid, report)


def pytest_collectreport(report):
    """A file that cannot be read, say; each worker reports it."""
    if OUTCOMES and report.failed and report.nodeid not in OUTCOMES.failed:
        OUTCOMES.note(report.nodeid, report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    if OUTCOMES:
        OUTCOMES.write()
