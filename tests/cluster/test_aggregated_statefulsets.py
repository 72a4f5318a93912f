"""StatefulSets of annals.dev behind a kube-apiserver, which has StatefulSets of its own: neither is taken for the other, and kubectl writes both."""

import json

import pytest

import kube
import processes
from aggregated import ANNALS

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")

RESOURCE = "statefulsets.v1beta1.annals.dev"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def manifest(**spec):
    return {"apiVersion": "annals.dev/v1beta1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {"serviceName": "web", "template": TEMPLATE, **spec}}


class Sets:
    def __init__(self, cluster):
        self.cluster, self.namespace = cluster, cluster.make_namespace()
        self.path = f"/apis/annals.dev/v1beta1/namespaces/{self.namespace}/statefulsets"

    def kubectl(self, *arguments, **more):
        done = self.cluster.kubectl("--namespace", self.namespace, *arguments, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def get(self, sub=""):
        answer = self.cluster.kube.get(f"{self.path}/web{sub}")
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture
def sets(cluster):
    cluster.behind[ANNALS.name].wait_described()
    return Sets(cluster)


def test_sets__are_apart_from_the_clusters_own(sets):
    sets.kubectl("create", "-f", "-", input=json.dumps(manifest(replicas=2)))
    assert "No resources found" in sets.kubectl("get", "sts")
    assert "No resources found" in sets.kubectl("get", "all")
    assert sets.cluster.kube.get(f"/apis/apps/v1/namespaces/{sets.namespace}/statefulsets").json["items"] == []
    assert sets.kubectl("get", RESOURCE, "--no-headers").split()[:2] == ["web", "0/2"]
    created = sets.get()
    assert created["spec"]["selector"] == {"matchLabels": {"app": "web"}} and created["spec"]["templateGeneration"] == 1


def test_sets__are_written_by_kubectl(sets):
    sets.kubectl("apply", "-f", "-", input=json.dumps(manifest()))
    changed = json.loads(json.dumps(manifest(replicas=3, generationPartition=2)))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "j"
    assert "configured" in sets.kubectl("apply", "-f", "-", input=json.dumps(changed))
    assert "unchanged" in sets.kubectl("apply", "-f", "-", input=json.dumps(changed))
    spec = sets.get()["spec"]
    assert (spec["templateGeneration"], spec["generationPartition"], spec["template"]["spec"]["containers"][0]["image"]) == (2, 2, "j")
    sets.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(manifest(replicas=5)))
    sets.kubectl("scale", f"{RESOURCE}/web", "--replicas=4", "--current-replicas=5")
    after = sets.get()
    assert (after["spec"]["replicas"], after["spec"]["templateGeneration"]) == (4, 3)
    assert sets.get("/scale")["kind"] == "Scale"
    refused = sets.cluster.kubectl("--namespace", sets.namespace, "patch", RESOURCE, "web", "--type=merge", "-p", '{"spec":{"serviceName":"x"}}')
    assert refused.returncode and "spec.serviceName: Invalid value: \"x\": field is immutable" in refused.stderr
    assert "generationPartition" in sets.kubectl("explain", "statefulsets.spec", "--api-version=annals.dev/v1beta1")


def test_sets__status_is_the_controllers(sets):
    sets.kubectl("create", "-f", "-", input=json.dumps(manifest(replicas=1)))
    status = {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "currentReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
              "currentRevision": "web-a", "updateRevision": "web-a", "templateGeneration": 1, "targetTemplateGeneration": 1}
    put = sets.cluster.kube.put(f"{sets.path}/web/status", {**sets.get(), "status": status})
    assert put.status == 200, put.body
    del status["updatedReplicas"]  # the update is complete
    assert sets.get()["status"] == status and sets.get()["spec"]["templateGeneration"] == 1
    assert sets.kubectl("get", RESOURCE, "--no-headers").split()[:2] == ["web", "1/1"]
    sets.kubectl("delete", f"{RESOURCE}/web")
    processes.retry_until(lambda: sets.cluster.kube.get(f"{sets.path}/web").status == 404, "the set is gone")


def take_snapshot(sets, owner, image, **spec):
    path = f"/apis/annals.dev/v1/namespaces/{sets.namespace}/snapshots"
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": owner["metadata"]["uid"], "controller": True}
    answer = sets.cluster.kube.post(path, {"spec": {"owner": reference, "data": {"image": image}, "historyLimit": 1, **spec}})
    assert answer.status == 201, answer
    return answer.json["status"], answer.headers.get("Warning")


def test_snapshots__trim_nothing_that_may_run(sets):
    """annals does not see the pods of a cluster: the controller says which revisions live, or all of them stay."""
    owner = sets.cluster.kube.post(f"/api/v1/namespaces/{sets.namespace}/configmaps", {"metadata": {"name": "web"}}).json
    names = [take_snapshot(sets, owner, image)[0]["revision"]["name"] for image in "abc"]
    status, warning = take_snapshot(sets, owner, "d")
    assert "trimmed" not in status and "spec.live" in (warning or ""), (status, warning)
    status, warning = take_snapshot(sets, owner, "e", live=names[:2])
    assert status["trimmed"] == names[2:] and not warning
    status, warning = take_snapshot(sets, owner, "e", live=[])
    assert status["trimmed"] == names[:2] and not warning
