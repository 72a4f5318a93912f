"""A namespace of a real cluster is deleted, by a user, while annals records it: kube-controller-manager's namespace controller finishes, its garbage
collector takes nothing that was recorded, RBAC lets only those see it who may see all Histories, and restore brings the namespace back."""

import json

import pytest

import processes
from aggregated import NAMESPACES
from test_recorder_aggregated import CONTROLLERS, ROOM, World

V1 = "/apis/annals.dev/v1"
READER = {"rules": [{"apiGroups": ["annals.dev"], "resources": ["histories", "controllerrevisions"], "verbs": ["get", "list", "watch"]}]}


class ArchiveWorld(World):
    controllers = (*CONTROLLERS, "namespace-controller", "garbage-collector-controller")

    def of_room(self, name="settings"):
        """Histories of that ConfigMap, those in archives first."""
        path = f"{V1}/histories?fieldSelector=spec.subject.namespace={ROOM},spec.subject.name={name}"
        found = self.cluster.kube.get(path).json["items"]
        return sorted(found, key=lambda one: one["metadata"]["namespace"] == ROOM)

    def types(self, name="settings"):
        return [[change["type"] for change in one["status"]["changes"]] for one in self.of_room(name)]

    def bind_nora(self):
        self.cluster.bind("nora-reads", ("ClusterRole", "history-reader"), {"kind": "User", "name": "nora"}, namespace=ROOM)
        self.cluster.wait_allowed("nora", verb="list", group="annals.dev", resource="histories", namespace=ROOM)


@pytest.fixture
def world(certificates, folder):
    made = ArchiveWorld(folder, certificates)
    yield made
    everything = [*made.cluster.everything, *made.installed.everything, made.manager]
    made.stop()
    troubles = [trouble for process in everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


def test_a_deleted_namespace_leaves_its_histories(world):
    cluster, kube = world.cluster, world.cluster.kube
    cluster.make("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "history-reader"}, **READER})
    cluster.bind("rita-reads", ("ClusterRole", "history-reader"), {"kind": "User", "name": "rita"})
    cluster.wait_allowed("rita", verb="list", group="annals.dev", resource="histories")
    world.bind_nora()
    nora, rita = cluster.client("nora"), cluster.client("rita")

    world.kubectl("create", "configmap", "settings", "-n", ROOM, "--from-literal=colour=blue", user="alice")
    world.wait_told({("ConfigMap", "settings"): 1})
    world.kubectl("patch", "configmap", "settings", "-n", ROOM, "-p", '{"data":{"colour":"red"}}', user="bob")
    world.kubectl("create", "deployment", "web", "-n", ROOM, "--image=nginx:1.28", user="alice")
    world.wait_told({("ConfigMap", "settings"): 2, ("Deployment", "web"): 1})
    [before] = world.of_room()
    states = {one["metadata"]["name"]: one["data"] for one in nora.get(f"{V1}/namespaces/{ROOM}/controllerrevisions").json["items"]}
    uid = kube.get(f"{NAMESPACES}/{ROOM}").json["metadata"]["uid"]
    archive = f"{ROOM}.{uid}"

    world.kubectl("delete", "namespace", ROOM, "--timeout=120s", user="bob")
    world.wait_told({("ConfigMap", "settings"): 3, ("Deployment", "web"): 2})
    [after] = world.of_room()
    assert after["metadata"]["namespace"] == archive
    assert after["metadata"]["annotations"]["annals.dev/archived-uid"] == before["metadata"]["uid"]
    assert after["status"]["changes"][:2] == before["status"]["changes"]
    for resource in ("histories", "controllerrevisions"):
        assert kube.get(f"{V1}/namespaces/{ROOM}/{resource}").json["items"] == []
    moved = {one["metadata"]["name"]: one["data"] for one in rita.get(f"{V1}/namespaces/{archive}/controllerrevisions").json["items"]}
    assert {name: moved.get(name) for name in states} == states

    # Who sees it.
    for path in (f"{V1}/namespaces/{archive}/histories", f"{V1}/namespaces/{archive}/controllerrevisions", f"{V1}/histories"):
        assert nora.get(path).status == 403, path
        assert rita.get(path).status == 200, path

    # Who did it, and back again.
    log = world.kubectl("annals", "log", "-n", ROOM, user="rita")
    [line] = [line.split() for line in log.splitlines() if f"namespace/{ROOM} " in line and "Deleted" in line]
    assert "bob" in line, log
    world.kubectl("annals", "restore", "--all", "-n", ROOM, "--yes", user="alice")
    restored = json.loads(world.kubectl("get", "configmap", "settings", "-n", ROOM, "-o", "json"))
    assert restored["data"] == {"colour": "red"}
    world.kubectl("get", "deployment", "web", "-n", ROOM)

    # A new namespace of that name, with nora's rights restored: nora reads what is recorded in it, and nothing else.
    cluster.wait_allowed("nora", verb="list", group="annals.dev", resource="histories", namespace=ROOM)
    processes.retry_until(lambda: len(world.of_room()) == 2 and world.types()[1] == ["Created"], "a new History begins")
    mine = nora.get(f"{V1}/namespaces/{ROOM}/histories").json["items"]
    assert before["metadata"]["uid"] not in {one["metadata"]["uid"] for one in mine}
    assert {one["metadata"]["namespace"] for one in mine} == {ROOM}
    assert nora.get(f"{V1}/namespaces/{archive}/histories/{before['metadata']['name']}").status == 403
    # The garbage collector has had its time: all states are still there.
    assert sorted(one["metadata"]["name"] for one in rita.get(f"{V1}/namespaces/{archive}/controllerrevisions").json["items"]) == sorted(moved)
