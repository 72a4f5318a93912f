"""The controller against a real API server: `annals`, by the fixture of annals-test-server."""

import threading
import time

import kubernetes
import pytest

import history


def eventually(get, what):
    deadline = time.monotonic() + 60  # far beyond what anything takes here
    while not (found := get()):
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)
    return found


@pytest.fixture
def client(annals):
    with kubernetes.config.new_client_from_config(annals.kubeconfig) as client:
        yield client


@pytest.fixture
def core(client):
    return kubernetes.client.CoreV1Api(client)


@pytest.fixture
def controller(client):
    stop = threading.Event()
    thread = threading.Thread(target=history.Controller(client).run, args=[stop], kwargs={"seconds": 1})
    thread.start()
    yield
    stop.set()
    thread.join()


def create(core, **annotations):
    metadata = {"name": "settings", "labels": {history.LABEL: ""}, "annotations": annotations}
    core.create_namespaced_config_map("default", {"metadata": metadata, "data": {"level": "1"}})


def change(core, **patch):
    core.patch_namespaced_config_map("settings", "default", patch)


def at_revision(core, number):
    def settings():
        found = core.read_namespaced_config_map("settings", "default")
        return found if (found.metadata.annotations or {}).get(history.REVISION) == number else None

    return eventually(settings, f"revision {number}")


def revisions(client, owner):
    custom = kubernetes.client.CustomObjectsApi(client)
    found = custom.list_namespaced_custom_object("annals.dev", "v1", "default", "controllerrevisions", field_selector=f"controller.uid={owner.metadata.uid}")
    return {item["revision"]: item["data"]["data"]["level"] for item in found["items"]}


def test_keeps_each_state_and_goes_back(client, core, controller):
    create(core)
    at_revision(core, "1")
    change(core, data={"level": "2"})
    assert revisions(client, at_revision(core, "2")) == {1: "1", 2: "2"}
    change(core, metadata={"annotations": {history.ROLL_BACK: "1"}})
    settings = at_revision(core, "3")
    assert settings.data == {"level": "1"} and history.ROLL_BACK not in settings.metadata.annotations
    assert revisions(client, settings) == {2: "2", 3: "1"}, "it is the same revision, which has the highest number now"


def test_keeps_no_more_than_the_limit(client, core, controller):
    create(core)
    at_revision(core, "1")
    for level in range(2, 9):
        change(core, data={"level": str(level)})
        settings = at_revision(core, str(level))
    assert sorted(revisions(client, settings)) == [3, 4, 5, 6, 7, 8]


def test_an_unknown_revision_changes_nothing(core, controller):
    create(core, **{history.ROLL_BACK: "7"})
    settings = at_revision(core, "1")
    assert settings.data == {"level": "1"} and history.ROLL_BACK not in settings.metadata.annotations
