"""PersistentVolumeClaims are kept while pods use them, and go when none does any more."""

import pytest

from processes import retry_until

CLAIMS, PODS = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/namespaces/default/pods"


@pytest.fixture
def server(up):
    return up()


def make_claim(server, name="c"):
    made = server.post(CLAIMS, {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    assert made.status == 201, made
    assert made.json["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def make_pod(server, name, claim, **spec):
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    made = server.post(PODS, {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec}})
    assert made.status == 201, made


def is_gone(server, path):
    return server.get(path).status == 404


def delete(server, path, options=None):
    assert server.request("DELETE", path, options).status in (200, 202)


def test_unused_claim_goes(server):
    make_claim(server)
    make_pod(server, "waiting", "c")  # has no node: it will never start
    delete(server, f"{CLAIMS}/c")
    retry_until(lambda: is_gone(server, f"{CLAIMS}/c"), "the claim is gone")


def test_claim_of_a_running_pod_stays_until_the_pod_goes(server):
    make_claim(server)
    make_claim(server, "other")
    make_pod(server, "p", "c", nodeName="n")
    delete(server, f"{CLAIMS}/c")
    delete(server, f"{CLAIMS}/other")
    retry_until(lambda: is_gone(server, f"{CLAIMS}/other"), "what nobody uses is gone")
    kept = server.get(f"{CLAIMS}/c")
    assert kept.status == 200 and kept.json["metadata"]["deletionTimestamp"]

    delete(server, f"{PODS}/p", {"gracePeriodSeconds": 0})
    retry_until(lambda: is_gone(server, f"{CLAIMS}/c"), "the claim is gone with the pod")


def test_finalizers_of_others_are_kept(server):
    make_claim(server)
    assert server.patch(f"{CLAIMS}/c", {"metadata": {"finalizers": ["example.com/mine", "kubernetes.io/pvc-protection"]}}).status == 200
    delete(server, f"{CLAIMS}/c")
    retry_until(lambda: server.get(f"{CLAIMS}/c").json["metadata"].get("finalizers") == ["example.com/mine"], "only its own is left")


def test_namespace_with_a_claim_goes(server):
    assert server.post("/api/v1/namespaces", {"metadata": {"name": "x"}}).status == 201
    made = server.post(CLAIMS.replace("default", "x"), {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    assert made.status == 201, made
    delete(server, "/api/v1/namespaces/x")
    retry_until(lambda: is_gone(server, "/api/v1/namespaces/x"), "the namespace is gone")
