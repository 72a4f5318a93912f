"""That invariants.py sees: with each law and step taken out of the controller (tests/broken/sets.c) it finds what is wrong, and with none it does not."""

import os
import pathlib

import pytest

import invariants
import processes

LAWLESS = pathlib.Path(os.environ.get("ANNALS_BUILD", processes.ROOT / "build")) / "tests" / "broken" / "annals-lawless"
CARRIERS = CONTROLLERREVISIONS, PODTEMPLATES = "controllerrevisions", "podtemplates"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
PODS = "/api/v1/namespaces/default/pods"
REVISIONS = {CONTROLLERREVISIONS: "/apis/apps/v1/namespaces/default/controllerrevisions", PODTEMPLATES: "/api/v1/namespaces/default/podtemplates"}
READY = "fake-node.annals.dev/ready"


class Room:
    """An annals whose controller lacks those laws, and one set in it."""

    def __init__(self, folder, laws, carrier):
        self.carrier = carrier
        self.server = processes.Up(folder / "data", "--fake-nodes=1", f"--statefulset-history={carrier}", binary=LAWLESS,
                                   env={**os.environ, "ANNALS_UNGUARDED": laws})
        self.watched = invariants.Invariants(self.server, "default", carrier, judges_late_adoption=True)

    def make(self, image="i:1", annotations=None, **spec):
        template = {"metadata": {"labels": {"app": "web"}, "annotations": annotations or {}},
                    "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": image}]}}
        made = self.server.post(SETS, {"metadata": {"name": "web"}, "spec": {
            "replicas": 1, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}})
        assert made.status == 201, made
        return made.json

    def spec(self, **spec):
        answer = self.server.patch(SETS + "/web", {"spec": spec}, kind="application/strategic-merge-patch+json")
        assert answer.status == 200, answer

    def image(self, image):
        self.spec(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    def get(self):
        return self.server.get(SETS + "/web").json

    def is_settled(self):
        it = self.get()
        status, replicas = it.get("status", {}), it["spec"]["replicas"]
        return (status.get("observedGeneration") == it["metadata"]["generation"] and status.get("currentRevision") == status.get("updateRevision")
                and all(status.get(name, 0) == replicas for name in ("replicas", "readyReplicas", "updatedReplicas")))

    def settle(self):
        processes.retry_until(self.is_settled, "the set is at rest")

    def observed(self):
        def is_observed():
            it = self.get()
            return it.get("status", {}).get("observedGeneration") == it["metadata"]["generation"]

        processes.retry_until(is_observed, "the set is observed")

    def revisions(self):
        return self.server.get(REVISIONS[self.carrier]).json["items"]

    def roll(self, *images):
        for image in images:
            self.image(image)
            self.settle()


# ---- what shows that a law is missing: each comes to an end whether it is or not ----


def begin(room):
    """Without a label the status never says that all is done."""
    room.make(replicas=1)
    processes.retry_until(lambda: room.server.get(PODS + "/web-0").status == 200, "the pod")


def grow_beside_a_strangers_pod(room):
    """A pod of the right name and labels, which a revision controls; it goes on living."""
    room.make(replicas=2)
    room.settle()
    stranger = next(iter(room.revisions()))
    ref = {"apiVersion": "v1" if room.carrier == PODTEMPLATES else "apps/v1", "kind": "PodTemplate" if room.carrier == PODTEMPLATES else "ControllerRevision",
           "name": stranger["metadata"]["name"], "uid": stranger["metadata"]["uid"], "controller": True}
    made = room.server.post(PODS, {"metadata": {"name": "web-7", "labels": {"app": "web"}, "ownerReferences": [ref]}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert made.status == 201, made
    for limit in range(10):
        room.spec(revisionHistoryLimit=limit + 2)
        room.observed()


def delete_while_it_adopts(room):
    """The controller adopts only when its set has gone (slow-adoption) and has left orphans. It has to begin while the set is there: who hears of the deletion
    first adopts nothing."""
    room.make(replicas=1)
    room.settle()
    assert room.server.patch(PODS + "/web-0", {"metadata": {"ownerReferences": None}}).status == 200
    assert room.server.stderr.wait("slow-adoption begins")
    assert room.server.delete(SETS + "/web", {"propagationPolicy": "Orphan"}).status == 200
    assert room.server.stderr.wait(r"slow-adoption: \d")


def grow_what_never_gets_ready(room):
    room.make(replicas=3, annotations={READY: "false"})
    processes.retry_until(lambda: room.server.get(PODS + "/web-0").status == 200, "the first pod")
    room.spec(revisionHistoryLimit=5)
    room.observed()
    room.spec(revisionHistoryLimit=6)
    room.observed()


def change_the_template_twice_at_once(room):
    """The cache of revisions is slow (slow-revisions): a second change comes before it knows of the first."""
    room.make(replicas=0)
    room.observed()
    for number in range(2):
        for image in ("a", "b"):
            room.image(f"{image}:{number}")
            processes.retry_until(lambda image=image, number=number: f"{image}:{number}" in str(room.revisions()), "its revision")
    room.observed()


def roll_back(room):
    room.make(replicas=1)
    room.settle()
    room.roll("i:2", "i:1")


def roll_often(room):
    room.make(replicas=1, revisionHistoryLimit=2)
    room.settle()
    room.roll("i:2", "i:3", "i:4", "i:5")


def roll_with_a_canary(room):
    """Of two live revisions none may go, however small the limit."""
    room.make(replicas=2, revisionHistoryLimit=0, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    room.settle()
    room.image("i:2")
    processes.retry_until(lambda: room.get()["status"].get("updatedReplicas") == 1 and room.get()["status"].get("readyReplicas") == 2, "the canary")
    for limit in (1, 0):
        room.spec(revisionHistoryLimit=limit)
        room.observed()


CASES = {
    "claims": (grow_beside_a_strangers_pod, CARRIERS, "does not own it", ""),
    "live-read": (delete_while_it_adopts, [CONTROLLERREVISIONS], "adopted by a set that", "slow-adoption"),
    "reference": (begin, [CONTROLLERREVISIONS], "created without its controller", ""),
    "revision-label": (begin, CARRIERS, "created without its revision", ""),
    "own-writes": (change_the_template_twice_at_once, [CONTROLLERREVISIONS], "does not rise above", "slow-revisions"),
    "waiting": (grow_what_never_gets_ready, [CONTROLLERREVISIONS], "before its predecessors were ready", ""),
    "equality": (roll_back, [PODTEMPLATES], "two equal states", ""),
    "limit": (roll_often, CARRIERS, "beyond the limit", ""),
    "one-more": (roll_often, CARRIERS, "were left", ""),
    "liveness": (roll_with_a_canary, [CONTROLLERREVISIONS], "a live revision was deleted", ""),
}


def judged(folder, law, is_kept, carrier):
    play, _, _, beside = CASES[law]
    room = Room(folder, ",".join(filter(None, ["" if is_kept else law, beside])), carrier)
    with room.watched as watched:
        try:
            play(room)
        except (TimeoutError, AssertionError):
            if is_kept:
                raise
        check = watched.judge()
        if law in ("limit", "one-more"):
            check.rest()
        watched.is_judged = True
    return check.violations


@pytest.mark.parametrize("law, carrier", [(law, carrier) for law, case in CASES.items() for carrier in case[1]])
def test_law__is_missed(folder, law, carrier):
    found = judged(folder, law, False, carrier)
    assert any(CASES[law][2] in violation for violation in found), invariants.show(found)


@pytest.mark.parametrize("law", ["claims", "live-read", "own-writes", "waiting", "one-more", "liveness"])
def test_law__is_kept(folder, law):
    """The same scenario with the law in its place: the scenario alone is no violation."""
    found = judged(folder, law, True, CASES[law][1][-1])
    assert not found, invariants.show(found)
