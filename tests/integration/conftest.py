"""Fixtures for tests against real processes (pytest, nothing but the standard library besides).

    ANNALS_BIN=build/annals /usr/bin/python3 -m pytest tests/integration

What a test may ask for:

    annals          a running `annals up`, shared by all tests of the session: .get("/apis/..."), .post(path, body), .patch(...),
                    .watch(path), .kubectl("get", "ns"), .anonymous.get(...), .url, .kubeconfig, .dir, .pid, .etcd_pid.
                    A test must not stop it or hurt its etcd.
    namespace       the name of a namespace of its own in `annals`, deleted afterwards
    up              a factory: up("--port=0") starts an `annals up` that belongs to the test, on a directory of its own;
                    up(dir=...) on a given one; up(etcd=PATH); up(wait=False) does not wait until it is ready
    etcd            a factory: etcd() starts an etcd on Unix sockets, etcd(binary=PATH), etcd(dir=...)
    serve           a factory: serve(etcd().endpoint, "--max-requests-inflight=1") starts an `annals serve --standalone`
    certificates    a CA made by openssl: .client("alice", "/O=dev/CN=alice") is (certificate, key); for `serve`
    kubectl_binary  a path: the test runs once with each kubectl of this machine; $ANNALS_TEST_KUBECTL_OLD names an old one (1.20, say)
    etcd_binary     a path: the test runs once with each etcd of this machine
    folder          an empty directory with a short path (a Unix socket's has at most 107 characters)

What factories start is stopped at the end of the test. A process that crashed, ended by itself, or was reported by a sanitizer fails
the test during which that happened. The classes are in processes.py, which says more.
"""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import processes

# Who starts a run by nohup has its processes ignore SIGHUP.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Tells fixtures how the test went: item.report_call."""
    outcome = yield
    setattr(item, "report_" + call.when, outcome.get_result())


def show_outputs(started):
    for process in started:
        print(f"---- {' '.join(process.arguments)} (pid {process.pid})\n{process.stdout.text}{process.stderr.text[-20000:]}")


def end_all(started):
    """Sentences about those that had to be killed."""
    stuck = []
    for process in reversed(started):
        try:
            process.stop()
        except subprocess.TimeoutExpired:
            process.kill()
            stuck.append(f"{' '.join(process.arguments)} did not stop")
    return stuck


@pytest.fixture(autouse=True)
def no_troubles(request):
    """Everything that runs has to answer for this test; what the test started is ended."""
    before = list(processes.Process.everyone)
    yield
    mine = [process for process in processes.Process.everyone if process not in before and not process.is_shared]
    troubles = end_all(mine)
    troubles += [trouble for process in processes.Process.everyone for trouble in process.troubles()]
    processes.Process.everyone[:] = [process for process in processes.Process.everyone if process not in mine and process.popen.poll() is None]
    report = getattr(request.node, "report_call", None)
    if report and report.failed:
        show_outputs(mine)
    if troubles:
        pytest.fail("\n".join(troubles), pytrace=False)


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_annals():
    shared = processes.Shared(processes.NO_DEFAULT_OBJECTS)
    yield shared
    shared.close()


@pytest.fixture
def annals(shared_annals):
    return shared_annals.get()


names = (f"test-{os.getpid()}-{n}" for n in itertools.count(1))


@pytest.fixture
def namespace(annals):
    name = next(names)
    made = annals.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    assert made.status == 201, made
    yield name
    annals.delete(f"/apis/apps/v1/namespaces/{name}/controllerrevisions")
    annals.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def up(folder):
    def start(*flags, dir=None, **more):
        return processes.Up(dir or folder / "data", *flags, **more)

    return start


@pytest.fixture
def etcd(folder):
    numbers = itertools.count(1)

    def start(dir=None, binary=None, flags=()):
        return processes.Etcd(dir or folder / f"etcd-{next(numbers)}", binary, flags=flags)

    return start


@pytest.fixture(scope="session")
def certificates():
    path = tempfile.mkdtemp(prefix="annals-", dir="/tmp")
    yield processes.Certificates(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def serve(certificates):
    def start(etcd_endpoint, *flags, **more):
        return processes.Serve(etcd_endpoint, certificates, *flags, **more)

    return start


@pytest.fixture
def store(etcd):
    """The etcd of one `annals serve`."""
    return etcd()


@pytest.fixture
def server(serve, store):
    return serve(store.endpoint)


def pytest_generate_tests(metafunc):
    if "etcd_binary" in metafunc.fixturenames:
        binaries = processes.etcd_binaries()
        metafunc.parametrize("etcd_binary", binaries, ids=[path.strip("/").replace("/", "-") for path in binaries])
    if "kubectl_binary" in metafunc.fixturenames:
        missing = pytest.mark.skip(reason="no such kubectl here")
        metafunc.parametrize("kubectl_binary", [pytest.param(path, id=name, marks=() if path else missing) for name, path in processes.kubectls().items()])
