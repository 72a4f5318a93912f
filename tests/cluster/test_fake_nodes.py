"""The fake kubelet at a real kube-apiserver, which validates what kubelets write and knows bindings; beside kube-controller-manager's StatefulSets, which
wait for pods."""

import pytest

import kube
import processes
from processes import BIN, Process, retry_until

PODS, SETS = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/statefulsets"
ORDER = "fake-node.annals.dev/"
CONTAINERS = [{"name": "c", "image": "i"}]

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists() or not kube.KUBE_CONTROLLER_MANAGER.exists(),
                                reason="tests/cluster/build.sh has not been run")


@pytest.fixture
def server(certificates, folder):
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
    apiserver = kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver")
    apiserver.kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", apiserver, certificates)
    return apiserver


def play(server, n_nodes):
    return Process([BIN, "controllers", "--kubeconfig", server.kubeconfig, "--controllers=fake-kubelet", f"--fake-nodes={n_nodes}"])


def make_pod(server, name, **more):
    made = server.post(PODS, {"metadata": {"name": name, **more}, "spec": {"containers": CONTAINERS, "initContainers": [{"name": "once", "image": "i"}]}})
    assert made.status == 201, made


def pod(server, name):
    return server.get(f"{PODS}/{name}").json


def readiness(server, name):
    """None also of a pod that is not there just now."""
    found = server.get(f"{PODS}/{name}")
    status = found.json["status"] if found.status == 200 else {}
    return next((c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"), None)


def await_ready(server, name, value="True"):
    retry_until(lambda: readiness(server, name) == value, f"{name} is ready: {value}")


def order(server, name, what, value):
    assert server.patch(f"{PODS}/{name}", {"metadata": {"annotations": {ORDER + what: value}}}).status == 200


def test_fake_kubelet__at_kubes_apiserver(server):
    ours = play(server, 2)
    for i in range(4):
        make_pod(server, f"p{i}")
    make_pod(server, "held", finalizers=["example.com/mine"])
    for name in ("p0", "p1", "p2", "p3", "held"):
        await_ready(server, name)
    pods = server.get(PODS).json["items"]
    assert {p["spec"]["nodeName"] for p in pods} == {"fake-0", "fake-1"}
    assert len({p["status"]["podIP"] for p in pods}) == 5
    assert {p["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] is not None for p in pods} == {True}

    order(server, "p0", "ready", "false")
    await_ready(server, "p0", "False")
    order(server, "p0", "ready", None)
    await_ready(server, "p0")
    order(server, "p1", "phase", "Failed")
    retry_until(lambda: pod(server, "p1")["status"]["phase"] == "Failed", "it has failed")

    for name in ("p0", "p1", "held"):
        assert server.delete(f"{PODS}/{name}").status == 200
    retry_until(lambda: {p["metadata"]["name"] for p in server.get(PODS).json["items"]} == {"p2", "p3", "held"}, "those that nobody holds are gone")
    await_ready(server, "held", "False")
    retry_until(lambda: pod(server, "held")["metadata"]["deletionGracePeriodSeconds"] == 0, "no grace is left")

    before = {p["metadata"]["name"]: p["metadata"]["resourceVersion"] for p in server.get(PODS).json["items"]}
    assert ours.stop() == 0
    ours = play(server, 2)
    make_pod(server, "new")
    await_ready(server, "new")
    after = {p["metadata"]["name"]: p["metadata"]["resourceVersion"] for p in server.get(PODS).json["items"]}
    assert {name: after[name] for name in before} == before, "a restart changes nothing"
    assert ours.stop() == 0


def test_fake_kubelet__brings_a_statefulset_up_one_by_one(server):
    labels = {"app": "web"}
    theirs = kube.controller_manager(server.kubeconfig, "statefulset-controller")
    ours = play(server, 1)
    made = server.post(SETS, {"metadata": {"name": "web"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": labels}, "serviceName": "web",
        "template": {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}}})
    assert made.status == 201, made
    retry_until(lambda: server.get(f"{SETS}/web").json["status"].get("readyReplicas") == 3, "all are ready")
    assert server.patch(f"{SETS}/web", {"spec": {"template": {"metadata": {"annotations": {ORDER + "ready": "false"}}}}}).status == 200
    await_ready(server, "web-2", "False")
    assert readiness(server, "web-1") == readiness(server, "web-0") == "True", "the update waits for the first that it has replaced"
    ours.stop()
    theirs.stop()
