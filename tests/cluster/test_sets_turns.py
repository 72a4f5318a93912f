"""kube-controller-manager's StatefulSet controller and ours take turns on one set: each goes on from where the other stood, and neither restarts a pod that
the update does not call for, or keeps a state anew."""

import contextlib

import pytest

import kube
from processes import BIN, Process, Up
from sets import CONTROLLERREVISIONS, HASH, Room, is_going, is_ready, label, number_of

pytestmark = pytest.mark.skipif(not kube.KUBE_CONTROLLER_MANAGER.exists(), reason="tests/cluster/build.sh has not been run")


def ours(room):
    return Process([BIN, "controllers", "--kubeconfig", room.server.kubeconfig, "--controllers=statefulset"])


def theirs(room):
    return kube.controller_manager(room.server.kubeconfig, "statefulset-controller")


@contextlib.contextmanager
def running(start, room):
    """One of them, and the other is not."""
    process = start(room)
    yield
    process.stop()


@pytest.fixture
def room(folder):
    return Room(Up(folder / "data", "--fake-nodes=2", "--controllers=*,-statefulset"), CONTROLLERREVISIONS)


def observe(room):
    """Makes the active controller look at the set, and waits until it has."""
    room.patch("web", {"spec": {"revisionHistoryLimit": room.get()["spec"]["revisionHistoryLimit"] + 1}})
    room.until(lambda: room.is_observed(), "the set is looked at")


def rest(room, *images):
    def rests():
        pods = room.pods()
        return (room.is_observed() and list(room.images().values()) == list(images) and all(is_ready(pod) and not is_going(pod) for pod in pods.values())
                and room.get()["status"].get("readyReplicas") == len(images))

    room.until(rests, f"pods of {images}")
    observe(room)
    assert list(room.images().values()) == list(images)


def partition(room, number):
    room.spec(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": number}})


def replaced(before, after):
    return sorted(name for name in before if after.get(name) != before[name])


# seeds: D7 H42
@pytest.mark.parametrize("first, second", [(ours, theirs), (theirs, ours)], ids=["ours-first", "theirs-first"])
def test_controllers__take_turns_in_mid_update(room, first, second):
    with running(first, room):
        room.make(replicas=3, updateStrategy={"rollingUpdate": {"partition": 2}})
        rest(room, "i:1", "i:1", "i:1")
        room.image("i:2")
        rest(room, "i:1", "i:1", "i:2")
        pods, revisions, status = room.uids(), room.history(), room.get()["status"]
    with running(second, room):
        observe(room)
        rest(room, "i:1", "i:1", "i:2")
        assert room.uids() == pods
        assert room.history() == revisions
        assert {**room.get()["status"], "observedGeneration": 0} == {**status, "observedGeneration": 0}
        partition(room, 1)
        rest(room, "i:1", "i:2", "i:2")
        assert replaced(pods, room.uids()) == ["web-1"]
        pods = room.uids()
    with running(first, room):
        observe(room)
        assert room.uids() == pods and room.history() == revisions
        room.delete("pods", "web-0")
        room.until(lambda: room.uids().get("web-0", pods["web-0"]) != pods["web-0"], "web-0 is recreated")
        rest(room, "i:1", "i:2", "i:2")
        pods = room.uids()
    with running(second, room):
        partition(room, 0)
        room.settle()
        assert replaced(pods, room.uids()) == ["web-0"]
        room.image("i:1")
        room.settle()
        pods = room.uids()
    with running(first, room):
        observe(room)
        room.settle()
        # The rollback of the one is that of the other: the old state has the newest number, and is nobody's third.
        assert room.uids() == pods and len(room.history()) == 2
        assert [number_of(r) for r in room.history()] == [2, 3]
        assert {label(pod, HASH) for pod in room.pods().values()} == {room.history()[-1]["metadata"]["name"]}
