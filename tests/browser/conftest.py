"""Fixtures of tests that look at the page with a browser; those of tests/integration serve here, too.

    world      an `annals up --fake-nodes=2` that records everything, of all tests of a worker: .server, .kubeconfig
    room       a namespace of its own there, with ways to make and change what is in it (sets.Room)
    ui         a factory: ui() starts `kubectl annals ui` for that room; ui("--write"), ui(kubeconfig=...)
    look       a factory: look(ui()) opens the page; look(ui(), "#/timeline?kind=ConfigMap", theme="dark")
    chromium   the browser, one of a worker: chromium.open(url)

Whatever goes wrong in a page during a test fails the test: an exception, an error on the console, a violation of the page's
Content-Security-Policy, a request to anywhere but its server. page.expect() names what a test is about.
"""

import importlib.util
import pathlib
import sys
import urllib.parse

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parent.parent / "integration"
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(INTEGRATION)]

spec = importlib.util.spec_from_file_location("integration_fixtures", INTEGRATION / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

import axe  # pylint: disable=wrong-import-position
from chromium import Chromium, find  # pylint: disable=wrong-import-position

folder = fixtures.folder
no_troubles = fixtures.no_troubles
pytest_runtest_makereport = fixtures.pytest_runtest_makereport


@pytest.fixture(scope="session")
def chromium_path():
    path, said = find()
    if not path:
        pytest.skip(f"tests with a browser are left out: {said}")
    return path


@pytest.fixture(scope="session")
def chromium_process(chromium_path):
    browser = Chromium(chromium_path)
    yield browser
    browser.stop()


@pytest.fixture
def chromium(request, chromium_process, no_troubles):
    """Opens pages, which are closed after the test, before what they look at is stopped."""
    opened = []

    class Opener:
        def open(self, url="about:blank", **how):
            opened.append(chromium_process.open("about:blank", **how))
            if url != "about:blank":
                opened[-1].go(url)
            return opened[-1]

    yield Opener()
    report = getattr(request.node, "report_call", None)
    if report and report.failed:
        for page in opened:
            print(f"---- {page.show()}")
    wrong = [said for page in reversed(opened) for said in page.close()]
    wrong += [f"asked for {url}" for page in opened if page.origin for url in page.strange_requests()]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.fixture(scope="session")
def axe_source():
    source, said = axe.find()
    if not source:
        pytest.skip(f"the accessibility checker is left out: {said}")
    return source
