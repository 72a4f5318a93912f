"""A test that hangs fails, and says where: its process ends, and xdist goes on with the others in a new one."""

import faulthandler
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
