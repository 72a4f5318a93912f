"""The controller against a real API server: `annals`, by the fixture of annals-test-server, or any other."""

import threading
import time

import copier
import kubernetes
import pytest


def eventually(holds, what):
    deadline = time.monotonic() + 60  # far beyond what anything takes here
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


@pytest.fixture
def namespaces(core):
    """Names of two that are the test's own."""
    made = [core.create_namespace({"metadata": {"generateName": "test-"}}).metadata.name for _ in range(2)]
    yield made
    for name in made:
        core.delete_namespace(name)


@pytest.fixture
def controller(core):
    stop = threading.Event()
    thread = threading.Thread(target=copier.run, args=[core, stop])
    thread.start()
    yield
    stop.set()
    thread.join()


def data_of(core, namespace, name):
    try:
        return core.read_namespaced_config_map(name, namespace).data
    except kubernetes.client.ApiException as error:
        assert error.status == 404
        return None


def create(core, namespace, name, data, to=None):
    core.create_namespaced_config_map(namespace, {"metadata": {"name": name, "labels": {copier.TO: to} if to else {}}, "data": data})


def test_copy_follows_its_original(core, namespaces, controller):
    here, there = namespaces
    create(core, here, "settings", {"limit": "100"}, to=there)
    eventually(lambda: data_of(core, there, "settings") == {"limit": "100"}, "it is copied")
    core.patch_namespaced_config_map("settings", here, {"data": {"limit": "1"}})
    eventually(lambda: data_of(core, there, "settings") == {"limit": "1"}, "the copy follows")
    core.delete_namespaced_config_map("settings", here)
    eventually(lambda: data_of(core, there, "settings") is None, "the copy goes, too")


def test_others_are_left_alone(core, namespaces):
    here, there = namespaces
    create(core, there, "taken", {"whose": "mine"})
    create(core, here, "taken", {"whose": "another's"}, to=there)
    create(core, here, "unlabelled", {})
    copier.reconcile(core)
    assert data_of(core, there, "taken") == {"whose": "mine"}
    assert data_of(core, there, "unlabelled") is None
