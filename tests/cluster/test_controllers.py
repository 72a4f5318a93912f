"""Our namespace controller at a real kube-apiserver: it does kube-controller-manager's work, and says the same of it."""

import pytest

import kube
import processes
from processes import BIN, Process, retry_until

KCM = kube.KUBE_CONTROLLER_MANAGER
NAMESPACES = "/api/v1/namespaces"

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists() or not KCM.exists(), reason="tests/cluster/build.sh has not been run")

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
POD = {"metadata": {"labels": {"a": "b"}}, "spec": CONTAINERS}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": POD}
CONTENT = {
    "api/v1/{}/configmaps": {"data": {"a": "b"}},
    "api/v1/{}/secrets": {"stringData": {"a": "b"}},
    "api/v1/{}/serviceaccounts": {},
    "api/v1/{}/services": {"spec": {"ports": [{"port": 80}]}},
    "api/v1/{}/pods": {"spec": CONTAINERS},
    "api/v1/{}/limitranges": {"spec": {"limits": []}},
    "apis/apps/v1/{}/deployments": {"spec": SELECTED},
    "apis/apps/v1/{}/statefulsets": {"spec": {**SELECTED, "serviceName": "x"}},
    "apis/apps/v1/{}/controllerrevisions": {"revision": 1, "data": {"a": "b"}},
    "apis/batch/v1/{}/jobs": {"spec": {"template": {"spec": {**CONTAINERS, "restartPolicy": "Never"}}}},
    "apis/coordination.k8s.io/v1/{}/leases": {"spec": {"holderIdentity": "x"}},
    "apis/networking.k8s.io/v1/{}/networkpolicies": {"spec": {"podSelector": {}}},
    "apis/rbac.authorization.k8s.io/v1/{}/roles": {"rules": []},
}


@pytest.fixture
def server(certificates, folder):
    """A kube-apiserver without any controllers."""
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
    apiserver = kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver")
    apiserver.kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", apiserver, certificates)
    service = {"metadata": {"name": "first"}, "spec": {"ports": [{"port": 80}]}}
    retry_until(lambda: apiserver.post(f"{NAMESPACES}/default/services", service).status == 201, "addresses for Services, of which it hears once it is ready")
    return apiserver


def ours(server, *flags):
    return Process([BIN, "controllers", "--kubeconfig", server.kubeconfig, "--controllers=namespace", *flags])


def theirs(server, *flags):
    return Process([KCM, "--kubeconfig", server.kubeconfig, "--controllers=namespace-controller", "--secure-port=0",
                    "--use-service-account-credentials=false", *(flags or ["--leader-elect=false"])])


def fill(server, namespace):
    assert server.post(NAMESPACES, {"metadata": {"name": namespace}}).status == 201
    for path, content in CONTENT.items():
        made = server.post("/" + path.format(f"namespaces/{namespace}"), {"metadata": {"name": "x"}, **content})
        assert made.status == 201, made
    held = {"metadata": {"name": "held", "finalizers": ["example.com/one"]}}
    for path in ("api/v1/{}/configmaps", "apis/batch/v1/{}/jobs"):
        assert server.post("/" + path.format(f"namespaces/{namespace}"), {**CONTENT[path], **held}).status == 201


def condition(server, namespace, name):
    found = server.get(f"{NAMESPACES}/{namespace}").json.get("status", {}).get("conditions", [])
    return next((c["status"] for c in found if c["type"] == name), None)


def remove(server, namespace):
    """Deletes it; what its status says while finalizers hold it, until they are taken off and it is gone."""
    assert server.delete(f"{NAMESPACES}/{namespace}").status == 200
    retry_until(lambda: condition(server, namespace, "NamespaceFinalizersRemaining") == "True", "the conditions")
    status = server.get(f"{NAMESPACES}/{namespace}").json["status"]
    for kind in ("api/v1/{}/configmaps", "apis/batch/v1/{}/jobs"):
        path = "/" + kind.format(f"namespaces/{namespace}") + "/held"
        assert server.patch(path, {"metadata": {"finalizers": None}}).status == 200
    retry_until(lambda: server.get(f"{NAMESPACES}/{namespace}").status == 404, f"{namespace} is gone", interval=0.1)
    return status


def without_times(status):
    return {**status, "conditions": [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status["conditions"]]}


def test_namespace_controller__empties_as_kubes_does(server):
    for namespace in ("ours", "theirs"):
        fill(server, namespace)
    us = ours(server)
    said = remove(server, "ours")
    for path in CONTENT:
        assert server.get("/" + path.format("namespaces/ours")).json["items"] == []
        assert server.get("/" + path.format("namespaces/theirs")).json["items"] != []
    assert us.stop() == 0
    them = theirs(server)
    assert without_times(said) == without_times(remove(server, "theirs"))
    them.stop()


def test_leader_election__is_kubes(server):
    """One Lease for us and kube-controller-manager: who holds it is left alone by the other; who ends hands it over."""
    lease = f"{NAMESPACES.replace('/api/v1', '/apis/coordination.k8s.io/v1')}/kube-system/leases/kube-controller-manager"

    def times(lease_s, renew_s):
        return [f"--leader-elect-lease-duration={lease_s}s", f"--leader-elect-renew-deadline={renew_s}s", "--leader-elect-retry-period=500ms"]

    flags = ["--leader-elect", "--leader-elect-resource-name=kube-controller-manager", *times(60, 50)]  # so long that none is lost
    us = ours(server, *flags)
    assert us.stderr.wait("elected: starting")
    mine = server.get(lease).json["spec"]
    them = theirs(server, "--leader-elect", *times(8, 7))
    assert them.stderr.wait("Attempting to acquire leader lease")
    assert server.get(lease).json["spec"]["holderIdentity"] == mine["holderIdentity"]

    assert us.stop() == 0
    assert them.stderr.wait("Successfully acquired lease")
    after = server.get(lease).json["spec"]
    assert (after["leaseTransitions"], after["leaseDurationSeconds"]) == (mine["leaseTransitions"] + 1, 8)

    us = ours(server, *flags)
    assert us.stderr.wait("the leader is " + after["holderIdentity"])
    them.kill()
    assert us.stderr.wait("elected: starting")
    assert us.stop() == 0
