"""StatefulSets as apps/v1 has them beyond seed 002: Parallel, minReadySeconds, ordinals, OnDelete, claims and who owns them, and their events. The
same rules are taken one by one in tests/unit/test_set_pass.c."""

import pytest

from processes import retry_until
from sets import CONTROLLERREVISIONS, ORDER, controller_of, is_ready, room, world

__all__ = ["room", "world"]  # fixtures

pytestmark = pytest.mark.parametrize("world", [CONTROLLERREVISIONS], indirect=True)
CLAIMS = [{"metadata": {"name": "www"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]


# seeds: D5
def test_parallel__waits_for_nobody(room):
    room.make(replicas=3, podManagementPolicy="Parallel", annotations={ORDER + "ready": "false"})
    room.until(lambda: len(room.pods()) == 3, "all pods, though none is Ready")
    room.spec(replicas=1)
    room.until(lambda: list(room.pods()) == ["web-0"], "all but one go, though none is Ready")


# seeds: D5
def test_ordered__waits_for_each(room):
    room.make(replicas=3, annotations={ORDER + "ready": "false"})
    for count in (1, 2, 3):
        room.until(lambda: len(room.pods()) == count, f"pod {count}")
        room.pulse()
        assert sorted(room.pods()) == [f"web-{n}" for n in range(count)]
        room.order(f"web-{count - 1}", "ready", None)
    room.settle()


# seeds: D5
def test_start_ordinal__moves_pods_and_labels(room):
    room.running(replicas=2, ordinals={"start": 3})
    assert sorted(room.pods()) == ["web-3", "web-4"]
    labels = room.pods()["web-4"]["metadata"]["labels"]
    assert (labels["apps.kubernetes.io/pod-index"], labels["statefulset.kubernetes.io/pod-name"]) == ("4", "web-4")
    spec = room.pods()["web-4"]["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("web-4", "web")
    kept = room.uids()["web-4"]
    room.spec(ordinals={"start": 4})
    room.until(lambda: sorted(room.pods()) == ["web-4", "web-5"], "the slots move")
    room.settle()
    assert room.uids()["web-4"] == kept


# seeds: D5
def test_on_delete__updates_what_is_deleted(room):
    room.running(replicas=2, updateStrategy={"type": "OnDelete"})
    before = room.uids()
    room.image("i:2")
    room.pulse()
    assert room.uids() == before
    room.delete("pods", "web-0")
    room.until(lambda: room.images() == {"web-0": "i:2", "web-1": "i:1"}, "that one is new")
    room.until(lambda: room.get()["status"].get("updatedReplicas") == 1, "it is counted")


# seeds: D5
def test_min_ready_seconds__count_until_a_pod_is_available(room):
    """A pod that is Ready and not available for long holds the next one back; without the wait it comes."""
    room.make(replicas=2, minReadySeconds=3600)
    room.until(lambda: room.get().get("status", {}).get("readyReplicas") == 1, "the first one is Ready")
    room.spec(revisionHistoryLimit=9)
    room.until(room.is_observed, "it is looked at")
    status = room.get()["status"]
    assert (status["replicas"], status["availableReplicas"]) == (1, 0) and list(room.pods()) == ["web-0"]
    room.spec(minReadySeconds=1)
    room.until(lambda: room.get()["status"].get("availableReplicas") == 2, "both are available, and nothing happened but time")


def owner_kinds(room):
    return {name: [ref["kind"] for ref in claim["metadata"].get("ownerReferences", [])] for name, claim in sorted(room.all("persistentvolumeclaims").items())}


# seeds: D5
def test_claims__are_kept_unless_the_policy_says_otherwise(room):
    room.running(replicas=2, volumeClaimTemplates=CLAIMS)
    assert owner_kinds(room) == {"www-web-0": [], "www-web-1": []}
    volumes = room.pods()["web-1"]["spec"]["volumes"]
    assert [(v["name"], v["persistentVolumeClaim"]["claimName"]) for v in volumes if "persistentVolumeClaim" in v] == [("www", "www-web-1")]
    claims = {name: claim["metadata"]["uid"] for name, claim in room.all("persistentvolumeclaims").items()}
    room.spec(replicas=1)
    room.settle()
    room.spec(replicas=2)
    room.settle()
    assert {name: claim["metadata"]["uid"] for name, claim in room.all("persistentvolumeclaims").items()} == claims
    # Scaled away they go with their pods; the others go with the set.
    room.spec(persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})
    room.until(lambda: owner_kinds(room) == {"www-web-0": ["StatefulSet"], "www-web-1": ["StatefulSet"]}, "the claims are the set's")
    room.spec(replicas=1)
    room.until_gone("persistentvolumeclaims", "www-web-1")
    assert owner_kinds(room) == {"www-web-0": ["StatefulSet"]}
    room.delete("statefulsets", "web")
    room.until_gone("persistentvolumeclaims", "www-web-0")


# seeds: D5
def test_claim_of_another_controller__is_left_to_it(room):
    keeper = room.create({"metadata": {"name": "keeper"}}, kind="configmaps")
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": keeper["metadata"]["uid"], "controller": True}
    room.create({**CLAIMS[0], "metadata": {"name": "www-web-0", "ownerReferences": [other]}}, kind="persistentvolumeclaims")
    room.running(replicas=1, volumeClaimTemplates=CLAIMS, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})
    assert controller_of(room.one("persistentvolumeclaims", "www-web-0")) == keeper["metadata"]["uid"]
    assert owner_kinds(room) == {"www-web-0": ["ConfigMap"]}


# seeds: D5
def test_events__are_upstreams(room):
    room.running(replicas=1, volumeClaimTemplates=CLAIMS)
    room.image("i:2")
    room.settle()
    wanted = {("Normal", "SuccessfulCreate", "Create Claim www-web-0 Pod web-0 in StatefulSet web success"),
              ("Normal", "SuccessfulCreate", "Create Pod web-0 in StatefulSet web successful"),
              ("Normal", "SuccessfulDelete", "Delete Pod web-0 in StatefulSet web successful")}
    retry_until(lambda: wanted <= set(room.events()), "each has its event")
    event = next(iter(room.all("events").values()))
    assert event["source"]["component"] == "statefulset-controller"
    assert (event["involvedObject"]["apiVersion"], event["involvedObject"]["kind"]) == ("apps/v1", "StatefulSet")


# seeds: D5
def test_identity_that_a_client_has_taken__is_given_back(room):
    room.running(replicas=1)
    before = room.uids()
    room.change("pods", "web-0", {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": None}}})
    room.until(lambda: room.pods()["web-0"]["metadata"]["labels"].get("statefulset.kubernetes.io/pod-name") == "web-0", "the label is back")
    assert room.uids() == before and is_ready(room.pods()["web-0"])
