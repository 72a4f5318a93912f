"""The StatefulSet controller behind a kube-apiserver: sets and revisions are annals', pods and claims the cluster's. It has the rights that
docs/how-to/run-the-server.md lists, and no others."""

import json

import pytest

import kube
import processes
from aggregated import ANNALS, RBAC, whole_lines
from sets import CONTROLLERREVISIONS, Room, controller_of, is_going, is_ready, number_of

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")

ACCOUNT = "annals-controllers"
RULES = [
    {"apiGroups": ["annals.dev"], "resources": ["statefulsets"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["annals.dev"], "resources": ["statefulsets/status"], "verbs": ["patch"]},
    {"apiGroups": ["annals.dev"], "resources": ["controllerrevisions"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get", "list", "watch", "create", "patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
TYPE = "statefulset.annals.dev/web"


class AggregatedRoom(Room):
    """A namespace of the cluster: what is asked of sets and revisions is asked of annals.dev."""

    def __init__(self, cluster):
        self.cluster, self.server, self.carrier, self.namespace = cluster, cluster.kube, CONTROLLERREVISIONS, cluster.make_namespace()

    def path(self, kind, name="", sub=""):
        group = "apis/annals.dev/v1" if kind == "controllerrevisions" else "apis/annals.dev/v1beta1" if kind == "statefulsets" else "api/v1"
        return "/".join(filter(None, (f"/{group}/namespaces/{self.namespace}/{kind}", name, sub)))

    def set_path(self, name="", api_version=None, sub=""):
        return self.path("statefulsets", name, sub)

    def is_done(self):
        """Of this version the updated pods of a complete update are not shown."""
        it, pods = self.get(), self.pods().values()
        status, replicas = it.get("status", {}), it["spec"]["replicas"]
        return (self.is_observed() and status.get("currentRevision") == status.get("updateRevision") and status.get("currentReplicas") == replicas
                and len(pods) == replicas == status.get("readyReplicas") and all(is_ready(pod) and not is_going(pod) for pod in pods))

    def tend(self):
        """What a kubelet would say of its pods. They have no node: nobody has to stop them."""
        running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        for name, pod in self.pods().items():
            if not is_ready(pod):
                answer = self.server.patch(self.path("pods", name, "status"), running)
                assert answer.status in (200, 404), answer

    def is_done_when_tended(self):
        self.tend()
        return self.is_done()

    def settle(self, name="web"):
        self.until(self.is_done_when_tended, f"{name} settles")
        return self.get(name)

    def plugin(self, *arguments):
        done = processes.run([processes.BIN, "kubectl", *arguments, "-n", self.namespace, "--kubeconfig", self.cluster.kubeconfig])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def room(cluster):
    cluster.behind[ANNALS.name].wait_available()
    return AggregatedRoom(cluster)


@pytest.fixture
def user(room, folder):
    """Runs the controller as a ServiceAccount; its name for kube-apiserver."""
    cluster = room.cluster
    cluster.make(f"/api/v1/namespaces/{room.namespace}/serviceaccounts", {"metadata": {"name": ACCOUNT}})
    role = f"{room.namespace}-controllers"
    cluster.make(f"{RBAC}/clusterroles", {"metadata": {"name": role}, "rules": RULES})
    cluster.bind(role, ("ClusterRole", role), {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": room.namespace})
    name = f"system:serviceaccount:{room.namespace}:{ACCOUNT}"
    cluster.wait_allowed(name, verb="list", resource="pods")
    config = kube.write_kubeconfig(folder / "kubeconfig", cluster.kube, cluster.certificates, {"token": cluster.token(room.namespace, ACCOUNT)})
    processes.Process([processes.BIN, "controllers", "--kubeconfig", config, "--controllers=statefulset"])
    return name


# seeds: D6
def test_sets__roll_out_in_the_cluster_with_their_history_in_annals(room, user):
    claims = [{"metadata": {"name": "www"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]
    made = room.make(api_version="annals.dev/v1beta1", replicas=2, volumeClaimTemplates=claims)
    room.settle()
    assert sorted(room.all("persistentvolumeclaims")) == ["www-web-0", "www-web-1"]
    assert {controller_of(pod) for pod in room.pods().values()} == {made["metadata"]["uid"]}
    container = [{"name": "c", "image": "i:2"}]
    room.patch("web", {"spec": {"template": {"spec": {"containers": container}}}})
    room.settle()
    assert set(room.images().values()) == {"i:2"}
    assert [number_of(r) for r in room.history()] == [1, 2]
    assert room.server.get(f"/apis/apps/v1/namespaces/{room.namespace}/controllerrevisions").json["items"] == []
    assert [line.split()[0] for line in room.plugin("history", TYPE).splitlines()[1:]] == ["1", "2"]
    room.plugin("undo", TYPE)
    room.settle()
    assert set(room.images().values()) == {"i:1"} and [number_of(r) for r in room.history()] == [2, 3]
    room.until(lambda: "SuccessfulCreate" in {reason for _, reason, _ in room.events()}, "events")
    refused = [event for event in whole_lines(room.cluster.audit_log, user) if event["user"]["username"] == user and event.get("responseStatus", {}).get("code") == 403]
    assert not refused, json.dumps(refused[:3])
