"""A test that hangs fails, and says where: its process ends, and xdist goes on with the others in a new one.

tools/run-tests.py gets the outcome of each test, in the file that $TEST_OUTCOMES names. $TEST_SHARE=1/3 chooses every third test.
Workers of xdist take tests in small chunks, long tests first.
"""

import faulthandler
import json
import os
import pathlib
import sys
import zlib

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
    config.addinivalue_line("markers", "long: takes half a minute or more, so it begins first, while there are others to run beside it")
    config.addinivalue_line("markers", "long_file: the tests of a file take minutes together, so they begin before those of other files")


def in_share(item, share):
    """Whether the test is among that share of all tests. A name decides, so each worker chooses the same ones."""
    wanted, whole = map(int, share.split("/"))
    return zlib.crc32(item.nodeid.encode()) % whole < wanted


def pytest_collection_modifyitems(config, items):
    share = os.environ.pop("TEST_SHARE", None)  # no business of what tests start, which may be another pytest
    if share:
        left_out = [item for item in items if not in_share(item, share)]
        items[:] = [item for item in items if in_share(item, share)]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: 0 if item.get_closest_marker("long") else 1 if item.get_closest_marker("long_file") else 2)
    if os.environ.get("ANNALS_TEST_HTTP") == "2":
        for item in items:
            for mark in item.iter_markers("http1"):
                item.add_marker(pytest.mark.skip(reason=f"HTTP/1.1 alone: {mark.args[0]}"))


CHUNK = 3  # tests that a worker gets at once


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """xdist hands out a hundred tests at once, at first: then one worker has all long ones, and at the end the others wait for it."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScheduling  # only where xdist is there to ask

    class FileScheduling(LoadScheduling):
        """A worker stays with a file, whose fixtures it has, while tests of it are left, and then takes the first of a file that nobody has.
        Long tests come before that, one at a time, in their order."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.files, self.n_long = {}, None  # of nodes; of self.collection

        def file_of(self, index):
            return self.collection[index].partition("::")[0]

        def count_long(self):
            """Tests at the beginning whose files come again: the others lie file by file."""
            seen, n = [], len(self.collection)
            while n and (name := self.file_of(n - 1)) not in seen[:-1]:
                if seen[-1:] != [name]:
                    seen.append(name)
                n -= 1
            return n

        def choose(self, node):
            """Where the next tests for it are in self.pending."""
            others = {name for one, name in self.files.items() if one is not node}
            mine, free = self.files.get(node), None
            for at, index in enumerate(self.pending):
                name = self.file_of(index)
                if index < self.n_long or name == mine:
                    return at
                if free is None and name not in others:
                    free = at
            return free or 0

        def _send_tests(self, node, num):
            if self.n_long is None:
                self.n_long = self.count_long()
            at = self.choose(node)
            name = self.file_of(self.pending[at])
            n_most = 1 if self.pending[at] < self.n_long else min(num, CHUNK)
            chosen = [index for index in self.pending[at:at + n_most] if self.file_of(index) == name]
            del self.pending[at:at + len(chosen)]
            self.files[node] = name
            self.node2pending[node].extend(chosen)
            node.send_runtest_some(chosen)

        def check_schedule(self, node, duration=0):
            if node.shutting_down:
                return
            while self.pending and len(self.node2pending[node]) < 2:  # a worker begins a test once it knows the next one
                self._send_tests(node, CHUNK)
            if not self.pending:
                node.shutdown()

        def schedule(self):
            if self.collection is None:
                super().schedule()
            for node in self.nodes:
                self.check_schedule(node)

    return FileScheduling(config, log)


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
