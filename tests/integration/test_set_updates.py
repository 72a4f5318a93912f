"""Updates of StatefulSets (seed 002), in both carriers of the history: the seed's eight tests by its names, and what they leave out."""

import datetime
import itertools
import json
import signal
import time

import pytest

from objects import BETA
from processes import retry_until
from sets import (BROKEN, CARRIERS, CONTROLLERREVISIONS, GENERATION, HASH, ORDER, PODTEMPLATES, Room, controller_of, is_going, is_ready, label, number_of, room,
                  template, world)

pytestmark = pytest.mark.long_file

__all__ = ["room", "world"]  # fixtures

FIXED = {ORDER + "ready": None}
OPTED_IN = {"annotations": {"annals.dev/replace-broken-pods": "true"}}
numbers = itertools.count(1)


def image_of(pod):
    return pod["spec"]["containers"][0]["image"]


def images(count, **others):
    """{"web-0": ...}: images(3, i1=2, i2=1) is two of i:1, then one of i:2."""
    found = [f"{name[0]}:{name[1:]}" for name, n in others.items() for _ in range(n)]
    assert len(found) == count
    return {f"web-{n}": image for n, image in enumerate(found)}


def rest(room, **expected):
    """Until the pods are of these images and Ready, and the status says so of the set as it is."""
    wanted = images(sum(expected.values()), **expected)

    def rests():
        it, pods = room.get(), room.pods()
        status = it.get("status", {})
        return (status.get("observedGeneration", 0) >= it["metadata"]["generation"] and {n: image_of(pod) for n, pod in pods.items()} == wanted
                and all(is_ready(pod) and not is_going(pod) for pod in pods.values())
                and status.get("readyReplicas", 0) == status.get("replicas", 0) == len(wanted))

    room.until(rests, f"{wanted}")
    room.pulse()
    assert room.images() == wanted
    return room.get()["status"]


def begin(room):
    """The version from which the pods' events are to come."""
    return room.server.get(room.path("pods")).json["metadata"]["resourceVersion"]


def tell(room, since):
    """The events of the set's pods since then, up to now."""
    marker = f"marker-{next(numbers)}"
    room.create({"metadata": {"name": marker, "labels": {"app": "marker"}}, "spec": template()["spec"]}, kind="pods")
    with room.server.watch(f"{room.path('pods')}?watch=true&resourceVersion={since}") as events:
        told = list(itertools.takewhile(lambda event: event["object"]["metadata"]["name"] != marker, events))
    return [(event["type"], event["object"]) for event in told if not event["object"]["metadata"]["name"].startswith("marker-")]


def check_one_at_a_time(before, told, replicas):
    """The seed's guarantees, on every event: a pod is taken away while all others are Running and Ready, and each is made when those before it are."""
    pods, gone = dict(before), []
    for kind, pod in told:
        name = pod["metadata"]["name"]
        others = {n: p for n, p in pods.items() if n != name}
        if kind == "ADDED":
            assert name not in pods
            ordinal = int(name.rpartition("-")[2])
            assert all(is_ready(pods[f"web-{n}"]) and not is_going(pods[f"web-{n}"]) for n in range(ordinal)), (name, list(pods))
        elif is_going(pod) and not is_going(pods[name]):
            assert len(pods) >= replicas and all(is_ready(p) and not is_going(p) for p in others.values()), (name, list(pods))
            gone.append(name)
        pods[name] = pod
        if kind == "DELETED":
            del pods[name]
    return gone


def preconditions(room):
    """Of the deletions of revisions that the audit log has so far, with their names. Its last line may be under way."""
    whole, _, _ = room.audit_log.read_text().rpartition("\n")
    events = map(json.loads, whole.splitlines())
    return [(e["objectRef"]["name"], e["requestObject"]["preconditions"]) for e in events
            if e["verb"] == "delete" and (e["objectRef"].get("namespace"), e["objectRef"]["resource"]) == (room.namespace, room.carrier)]


# ---- the seed's eight ----

CHANGES = {
    "image": {"image": "i:2"},
    "resources": {"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}},
    "environment": {"env": [{"name": "A", "value": "b"}], "envFrom": [{"configMapRef": {"name": "settings"}}]},
    "command": {"command": ["run"], "args": ["--fast"]},
}
SIDECAR = {"name": "logs", "image": "fluent:1"}
VOLUME = {"name": "settings", "configMap": {"name": "settings-2"}}


# seeds: U1 U2 U3 U4 U6 U8 U9 U10 U21 U22 U23 U31 U92
def test_update__respects_identity_deployment_and_scaling_guarantees(room):
    """Each sort of change in its turn, from the highest ordinal to the lowest."""
    room.running(replicas=2)
    changes = [[{"name": "c", **change}] for change in CHANGES.values()] + [[SIDECAR]]
    bodies = [{"template": {"spec": {"containers": change}}} for change in changes] + [{"template": {"spec": {"volumes": [VOLUME]}}}]
    for number, body in enumerate(bodies, 2):
        before, since = room.pods(), begin(room)
        room.patch("web", {"spec": body}, how="application/strategic-merge-patch+json")
        room.settle()
        told = tell(room, since)
        assert check_one_at_a_time(before, told, 2) == ["web-1", "web-0"]
        assert {label(pod, HASH) for _, pod in told} == {r["metadata"]["name"] for r in room.history()[-2:]}
        pods = room.pods()
        assert {label(pod, GENERATION) for pod in pods.values()} == {str(number)}
        wanted = room.get()["spec"]["template"]["spec"]
        for pod in pods.values():
            found = {c["name"]: c for c in pod["spec"]["containers"]}
            assert {name: {**found[name], **c} for name, c in ((c["name"], c) for c in wanted["containers"])} == found
            assert [v for v in pod["spec"].get("volumes", []) if "configMap" in v] == wanted.get("volumes", [])
    beta = room.get(api_version=BETA)["status"]
    assert beta["templateGeneration"] == beta["targetTemplateGeneration"] == len(bodies) + 1


# seeds: U11 U92
@pytest.mark.parametrize("order", [{"ready": "false"}, {"phase": "Pending"}])
def test_update__blocks_on_failure(room, order):
    room.running(replicas=3)
    before = room.uids()
    room.image("i:2", annotations={ORDER + what: value for what, value in order.items()})
    room.until(lambda: room.images() == images(3, i1=2, i2=1), "the first pod of the update")
    for _ in range(2):
        room.pulse()
    status = room.get()["status"]
    assert (status["updatedReplicas"], status["readyReplicas"], status["currentReplicas"]) == (1, 2, 2)
    assert {name: uid for name, uid in room.uids().items() if name != "web-2"} == {name: uid for name, uid in before.items() if name != "web-2"}


# seeds: U12 U87 U89 U92
@pytest.mark.parametrize("api_version", ["apps/v1", BETA])
def test_update__can_be_rolled_back(room, api_version):
    """Also one that never becomes Ready, and nobody deletes a pod by hand; only the pod of the update is replaced."""
    room.running(replicas=3, api_version=api_version, **({} if api_version == BETA else {"metadata": OPTED_IN}))
    before, revisions = room.uids(), room.history()
    room.image("i:2", annotations=BROKEN)
    room.until(lambda: room.images() == images(3, i1=2, i2=1), "the first pod of the update")
    room.image("i:1", annotations=FIXED)
    room.settle()
    after = room.uids()
    assert [name for name in before if before[name] != after[name]] == ["web-2"]
    assert room.images() == images(3, i1=3)
    assert len(room.history()) == 2 and {r["metadata"]["uid"] for r in revisions} < {r["metadata"]["uid"] for r in room.history()}
    # And of one that is complete.
    room.image("i:2")
    room.settle()
    room.image("i:1")
    room.settle()
    assert room.images() == images(3, i1=3) and len(room.history()) == 3


# seeds: U12 U13
def test_update__waits_for_pods_that_were_ready(room):
    """Five pods fail their probes for a moment, and the template changes meanwhile: nobody deletes them."""
    room.running(replicas=5, api_version=BETA)
    before = room.uids()
    last = max(datetime.datetime.fromisoformat(pod["status"]["startTime"]) for pod in room.pods().values())
    retry_until(lambda: time.time() > last.timestamp() + 1, "the next second: times in a status have no smaller unit")
    for name in before:
        room.order(name, "ready", "false")
    room.until(lambda: not any(map(is_ready, room.pods().values())), "pods that are not Ready")
    room.image("i:2")
    room.until(lambda: len(room.history()) == 2, "the update has a revision")
    for _ in range(3):
        room.pulse()
    assert room.uids() == before and not any(map(is_going, room.pods().values()))
    for name in before:
        room.order(name, "ready", None)
    rest(room, i2=5)


# seeds: U13 U90 U91 U92
def test_update__can_be_rolled_forward_by_another_update(room):
    """The target moves, the current revision stays until an update is complete, and the partition holds."""
    room.running(replicas=3, api_version=BETA)
    current = room.get()["status"]["currentRevision"]
    room.spec(api_version=BETA, generationPartition=1)
    room.image("i:2", annotations=BROKEN)
    room.until(lambda: room.images() == images(3, i1=2, i2=1), "the first pod of the update")
    for image in ("i:3", "i:4"):
        room.image(image, annotations=FIXED)
        status = rest(room, i1=1, **{image.replace(":", ""): 2})
        assert status["currentRevision"] == current != status["updateRevision"]
        assert room.get(api_version=BETA)["status"]["templateGeneration"] == 1
    room.spec(api_version=BETA, generationPartition=0)
    room.settle()
    status = room.get(api_version=BETA)["status"]
    assert room.images() == images(3, i4=3)
    assert status["templateGeneration"] == status["targetTemplateGeneration"] == 4 and status["currentRevision"] != current


# seeds: U14 U16 U17 U68 U70 U92 D4
def test_update__has_a_status_that_can_be_retrieved(room):
    """Every status that a watcher sees, at both versions of the API."""
    room.running(replicas=3, api_version=BETA)
    since = room.get(api_version=BETA)["metadata"]["resourceVersion"]
    room.image("i:2")
    end = room.settle()
    seen = []
    with room.server.watch(f"{room.set_path(api_version=BETA)}?watch=true&resourceVersion={since}") as events:
        while not seen or seen[-1]["metadata"]["resourceVersion"] != end["metadata"]["resourceVersion"]:
            seen.append(events.next()["object"])
    targets = {1: "i:1", 2: "i:2"}
    for it in seen:
        status = it["status"]
        assert status["observedGeneration"] <= it["metadata"]["generation"] == 2
        assert status["replicas"] <= 3 and status.get("currentReplicas", 0) + status.get("updatedReplicas", 0) <= 3
        if status["observedGeneration"] == 2 and status["templateGeneration"] == 1:
            assert status["targetTemplateGeneration"] == 2 and status["currentRevision"] != status["updateRevision"]
            assert targets[it["spec"]["templateGeneration"]] == image_of({"spec": it["spec"]["template"]["spec"]})
    counts = [it["status"].get("updatedReplicas", 0) for it in seen if it["status"]["templateGeneration"] == 1]
    assert counts == sorted(counts)
    # In one write: the current revision is the target, the current pods those of the update, and none is an updated one any more.
    last = seen[-1]["status"]
    assert (last["templateGeneration"], last["targetTemplateGeneration"], last["currentReplicas"], "updatedReplicas" in last) == (2, 2, 3, False)
    assert [it["status"]["currentReplicas"] for it in seen if it["status"]["templateGeneration"] == 2] == [3]
    assert end["status"]["updatedReplicas"] == 3 and end["status"]["currentRevision"] == end["status"]["updateRevision"]
    assert not {"templateGeneration", "targetTemplateGeneration"} & set(end["status"])


# seeds: U15 U37 U51 U52 U92
def test_history__has_all_updates_within_the_limit(room):
    room.running(replicas=1, revisionHistoryLimit=2)
    for number in range(2, 7):
        room.image(f"i:{number}")
        room.settle()
    # ControllerRevisions: two beside the live one. PodTemplates: two in all.
    kept = [6, 5, 4] if room.carrier == CONTROLLERREVISIONS else [6, 5]
    room.until(lambda: [number_of(r) for r in room.history()] == kept[::-1], "the oldest go")
    # A revision that goes was read before, and only that version of it is taken away.
    wanted = 6 - len(kept)
    room.until(lambda: len({name for name, _ in preconditions(room)}) == wanted, f"{wanted} deletions in the audit log")
    assert all(set(of) == {"uid", "resourceVersion"} for _, of in preconditions(room))


# seeds: U24 U25 U65 U84 U92
def test_update__can_create_a_canary(room):
    """And any pod that is lost comes back as it was."""
    room.running(replicas=3, api_version=BETA)
    before = room.uids()
    room.spec(api_version=BETA, generationPartition=2)
    room.image("i:2", api_version=BETA)
    status = rest(room, i1=2, i2=1)
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    after = room.uids()
    assert [name for name in before if before[name] != after[name]] == ["web-2"]
    for lost in (["web-0"], ["web-2"], ["web-0", "web-1", "web-2"]):
        before = room.uids()
        for name in lost:
            room.delete("pods", name)
        room.until(lambda: len(set(room.uids().values()) - set(before.values())) == len(lost), f"others in the place of {lost}")
        rest(room, i1=2, i2=1)
    assert room.get()["status"]["currentRevision"] != room.get()["status"]["updateRevision"]


# seeds: U24 U25 U32 U85 U86 U92
def test_update__can_be_performed_in_stages(room):
    room.running(replicas=3, api_version=BETA)
    room.patch("web", {"spec": {"replicas": 4, "generationPartition": 3, "template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}, BETA)
    rest(room, i1=3, i2=1)
    for partition in (2, 1):
        before = room.uids()
        room.spec(api_version=BETA, generationPartition=partition)
        status = rest(room, i1=partition, i2=4 - partition)
        after = room.uids()
        assert [name for name in before if before[name] != after[name]] == [f"web-{partition}"]
        assert status["currentRevision"] != status["updateRevision"]
    room.spec(api_version=BETA, generationPartition=None)
    room.settle()
    assert room.images() == images(4, i2=4)


# ---- beyond ----


# seeds: U5
def test_singleton__is_updated_with_an_outage(room):
    room.running(replicas=1)
    since = begin(room)
    room.image("i:2")
    room.settle()
    assert [kind for kind, _ in tell(room, since) if kind != "MODIFIED"] == ["DELETED", "ADDED"]
    assert room.images() == images(1, i2=1)


# seeds: U7
def test_pod_that_cannot_be_scheduled__blocks_until_somebody_helps(room):
    room.running(replicas=2)
    room.image("i:2", annotations={ORDER + "phase": "Pending"})
    room.until(lambda: room.images() == images(2, i1=1, i2=1), "the first pod of the update")
    room.pulse()
    assert room.images() == images(2, i1=1, i2=1)
    room.order("web-1", "phase", None)
    room.until(lambda: room.images() == images(2, i2=2), "the update goes on")
    room.order("web-0", "phase", None)
    room.settle()


# seeds: U20
def test_controller__looks_at_a_set_when_it_or_a_pod_of_it_changes(room):
    """No clock wakes it: each change alone has to."""
    room.make(replicas=1)  # created
    room.settle()
    room.spec(replicas=2)  # updated
    room.settle()
    room.order("web-1", "ready", "false")  # a pod is updated
    room.until(lambda: room.get()["status"].get("readyReplicas") == 1, "the status says so")
    room.order("web-1", "ready", None)
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2, "the status says so")
    before = room.uids()
    room.delete("pods", "web-0")  # deleted
    room.until(lambda: room.uids().get("web-0", before["web-0"]) != before["web-0"], "it is recreated")
    room.settle()


# seeds: U35
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_pod_that_has_ended__is_made_again_in_its_own_revision(room, phase):
    room.running(replicas=2, updateStrategy={"rollingUpdate": {"partition": 1}})
    room.image("i:2")
    rest(room, i1=1, i2=1)
    for name in ("web-0", "web-1"):
        before = room.uids()
        room.order(name, "phase", phase)
        room.until(lambda: room.uids().get(name, before[name]) != before[name], f"{name} is recreated")
        rest(room, i1=1, i2=1)


# seeds: U91
def test_status_that_somebody_forges__is_corrected_and_moves_no_pod(room):
    room.running(replicas=2, updateStrategy={"rollingUpdate": {"partition": 1}})
    room.image("i:2")
    right = rest(room, i1=1, i2=1)
    before = room.uids()
    room.patch("web", {"status": {"currentReplicas": 0, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1}}, sub="status")
    room.until(lambda: {**room.get()["status"], "observedGeneration": 0} == {**right, "observedGeneration": 0}, "the status is right again")
    room.pulse()
    assert room.uids() == before


# seeds: U30 U66
def test_scaling__in_mid_update_precedes_it(room):
    room.running(replicas=4, updateStrategy={"rollingUpdate": {"partition": 3}})
    room.image("i:2")
    rest(room, i1=3, i2=1)
    since = begin(room)
    room.patch("web", {"spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}})
    rest(room, i1=2, i2=1)
    went = [pod["metadata"]["name"] for kind, pod in tell(room, since) if kind == "DELETED"]
    assert went == ["web-3", "web-2"]
    room.spec(replicas=5)
    rest(room, i1=2, i2=3)


# ---- PodTemplates of the seed ----


@pytest.fixture
def templates(room):
    if room.carrier != PODTEMPLATES:
        pytest.skip("is about PodTemplates")
    return room


# seeds: U19 U36 U38 U39 U40 U41 U42
def test_podtemplate__is_what_the_seed_says(templates):
    made = templates.running()
    templates.image("i:2")
    templates.settle()
    for number, revision in enumerate(templates.history(), 1):
        meta = revision["metadata"]
        assert meta["name"] == f"web-{number}"
        assert meta["labels"] == {"created-by-statefulset": "web", "statefulset-template-revision": str(number)}
        assert controller_of(revision) == made["metadata"]["uid"]
        assert image_of(revision["template"]) == f"i:{number}"
    assert templates.history()[-1]["template"]["spec"] == templates.get()["spec"]["template"]["spec"]


# seeds: U44 U45
def test_podtemplate__that_is_not_the_sets_is_never_deleted(templates):
    templates.running(revisionHistoryLimit=2)
    foreign = {"metadata": {"name": "foreign", "labels": {"created-by-statefulset": "web", GENERATION: "1"},
                            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x", "controller": True}]},
               "template": template("i:foreign")}
    # It is of an owner that does not exist: the collector takes it, unless it has to wait.
    foreign["metadata"]["finalizers"] = ["example.com/keep"]
    templates.create(foreign, kind="podtemplates")
    for number in range(2, 5):
        templates.image(f"i:{number}")
        templates.settle()
    templates.until(lambda: [number_of(r) for r in templates.history()] == [3, 4], "the oldest of its own go")
    assert not templates.is_gone("podtemplates", "foreign")
    templates.until(lambda: {"web-1", "web-2"} <= {name for name, _ in preconditions(templates)}, "both are in the audit log")
    templates.change("podtemplates", "foreign", {"metadata": {"finalizers": None}})


# seeds: U48 U49
def test_podtemplate__that_is_spoilt_is_passed_over(templates):
    """Its label is gone, or is no number: it is left alone, and the rest is the history."""
    templates.running()
    first = templates.history()[0]["metadata"]["name"]
    for number, value in enumerate(("x", "0", "01", "99999999999999999999", None), 1):
        labels = {"created-by-statefulset": "web", **({GENERATION: value} if value else {})}
        templates.create({"metadata": {"name": f"spoilt-{number}", "labels": labels, "ownerReferences": templates.one("podtemplates", first)["metadata"]["ownerReferences"]},
                          "template": template("i:spoilt")}, kind="podtemplates")
    templates.image("i:2")
    templates.settle()
    assert templates.images() == images(1, i2=1)
    assert {f"spoilt-{number}" for number in range(1, 6)} < set(templates.all("podtemplates"))


# ---- what survives ----


@pytest.fixture(params=CARRIERS)
def own(up, request):
    """A server of its own, to be killed and started again: own() is a Room in it, the second time the same one."""
    flags = ("--fake-nodes=2", f"--statefulset-history={request.param}")
    made = []

    def start():
        server = up(*flags)
        if made:
            made[0].server = server
        else:
            made.append(Room(server, request.param))
        return made[0]

    return start


def kill(room):
    """The server and its etcd at once, as when the power fails."""
    room.server.signal(signal.SIGKILL)
    room.server.wait()


# seeds: U58 U43
def test_kill__between_a_revision_and_the_status_makes_no_second_one(own):
    """Wherever it dies after the revision has been written."""
    room = own()
    room.running(replicas=2)
    room.image("i:2")
    retry_until(lambda: len(room.history()) == 2, "the revision of the update")
    kill(room)
    room = own()
    room.settle()
    assert [number_of(r) for r in room.history()] == [1, 2]
    assert room.images() == images(2, i2=2)


# seeds: U69
def test_kill__in_a_canary_brings_the_exact_pods_back(own):
    room = own()
    room.running(replicas=3, api_version=BETA)
    room.spec(api_version=BETA, generationPartition=2)
    room.image("i:2")
    before = rest(room, i1=2, i2=1)
    kill(room)
    room = own()
    uids = room.uids()
    status = rest(room, i1=2, i2=1)
    assert room.uids() == uids
    assert {**status, "observedGeneration": 0} == {**before, "observedGeneration": 0}
    for name in uids:
        room.delete("pods", name)
    room.until(lambda: not set(uids.values()) & set(room.uids().values()), "other pods")
    rest(room, i1=2, i2=1)
