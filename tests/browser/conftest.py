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
import json
import os
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
import processes  # pylint: disable=wrong-import-position
import sets  # pylint: disable=wrong-import-position
from chromium import Chromium, find  # pylint: disable=wrong-import-position

folder = fixtures.folder
no_troubles = fixtures.no_troubles
up = fixtures.up
etcd = fixtures.etcd
serve = fixtures.serve
certificates = fixtures.certificates
pytest_runtest_makereport = fixtures.pytest_runtest_makereport


@pytest.fixture(scope="session")
def chromium_path():
    path, said = find()
    if not path:
        pytest.skip(f"tests with a browser are left out: {said}")
    return path


@pytest.fixture(scope="session")
def chromium_process(chromium_path):
    try:
        browser = Chromium(chromium_path)
    except AssertionError as e:
        if "No usable sandbox" not in str(e):
            raise
        pytest.skip("tests with a browser are left out: it has no sandbox here (apt-get install chromium-sandbox, or be root)")
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


# ---- what is looked at ----


class World(processes.Shared):
    def __init__(self):
        super().__init__("--fake-nodes=2", processes.NO_DEFAULT_OBJECTS)

    def get(self):
        is_new = self.process is None or self.process.popen.poll() is not None
        server = super().get()
        if is_new:
            record(server, "browser", [{"groups": [""], "resources": ["configmaps"]}, {"groups": ["apps"], "resources": ["statefulsets"]}])
        return server


class Kept(processes.Client):
    """A client with one connection, for those who ask a thousand times. Not for several threads."""

    def __init__(self, client):  # pylint: disable=super-init-not-called
        self.__dict__.update(client.__dict__)
        self.connection = client.connect()

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, None if body is None else json.dumps(body).encode(), self._headers(body, headers))
        response = self.connection.getresponse()
        return processes.Answer(response, response.read())


def record(server, name, resources):
    """Has a Recorder record these, and returns when it does."""
    made = server.post("/apis/annals.dev/v1/recorders", {"metadata": {"name": name}, "spec": {"resources": resources}})
    assert made.status == 201, made

    def is_recording():
        conditions = server.get(f"/apis/annals.dev/v1/recorders/{name}").json.get("status", {}).get("conditions", [])
        return any((it["type"], it["status"]) == ("Recording", "True") for it in conditions)

    processes.retry_until(is_recording, "the Recorder records")


@pytest.fixture(scope="session")
def world():
    found = World()
    yield found
    found.close()


@pytest.fixture
def room(world):
    found = sets.Room(world.get())
    yield found
    found.leave()


class Ui(processes.Process):
    """`kubectl annals ui`, whose link is good for one session."""

    def __init__(self, server, namespace, *flags, kubeconfig=None):
        env = {**os.environ, "KUBECONFIG": str(kubeconfig or server.kubeconfig), "HOME": str(server.dir)}
        super().__init__([processes.BIN, "kubectl", "ui", "--no-browser", "-n", namespace, *flags], env=env)
        self.take_link()

    def take_link(self):
        said = self.stdout.wait(r"(http://\S+)/annals/ui/#token=(\w+)")
        if not said:
            raise AssertionError(f"kubectl annals ui ended with {self.wait()}:\n{self.stderr.text}")
        self.origin, self.token = said[1], said[2]
        self.base = self.origin + "/annals/ui/"
        self.link = f"{self.base}#token={self.token}"


@pytest.fixture
def ui(request):
    def start(*flags, server=None, namespace=None, kubeconfig=None):
        room = None if server and namespace else request.getfixturevalue("room")
        return Ui(server or room.server, namespace or room.namespace, *flags, kubeconfig=kubeconfig)

    return start


@pytest.fixture
def look(chromium, ui):
    """look("#/timeline") of the room; look("#/timeline", ui=ui("--write"), theme="dark")"""

    def open_page(fragment="", of=None, **how):
        of = of or ui()
        page = chromium.open(**how)
        page.origin = of.origin
        page.ui = of
        page.go(of.link + (f"&{fragment.removeprefix('#')}" if fragment else ""))
        return page

    return open_page
