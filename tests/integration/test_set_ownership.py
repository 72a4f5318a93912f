"""Which objects are a StatefulSet's (seed 001): what it takes, what it lets go, and what it never touches."""

import concurrent.futures
import os

import pytest

from objects import APPS, BETA
from processes import retry_until
from sets import CONTROLLERREVISIONS, Room, World, controller_of, is_going, is_ready, reference, room, world

__all__ = ["room", "world"]  # fixtures

one_carrier = pytest.mark.parametrize("world", [CONTROLLERREVISIONS], indirect=True)
HOLD = ["example.com/hold"]
OTHER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "11111111-2222-3333-4444-555555555555", "controller": True}


def make_pod(room, name, *owners, labels=None, node="elsewhere", **metadata):
    """On a node of nobody's by default: nobody but a controller of sets would touch it."""
    meta = {"name": name, "labels": {"app": "web"} if labels is None else labels, "ownerReferences": list(owners), **metadata}
    spec = {"containers": [{"name": "c", "image": "i:1"}], **({"nodeName": node} if node else {})}
    return room.create({"metadata": meta, "spec": spec}, kind="pods")


def orphan(room, name="web"):
    """Deletes the set alone, and waits until what was its is nobody's."""
    pods, revisions = set(room.pods(name)), {r["metadata"]["name"] for r in room.history(name)}
    room.delete("statefulsets", name, policy="Orphan")
    room.until_gone("statefulsets", name)
    assert set(room.pods(name)) == pods
    assert revisions <= set(room.all(room.carrier))
    assert not any(map(controller_of, room.pods(name).values()))


def owned_by(it):
    return lambda thing: controller_of(thing) == it["metadata"]["uid"]


# ---- taking ----


# seeds: R13 R40 H28
@one_carrier
def test_orphans_that_match_are_taken_as_they_are(room):
    """Pods that something without ControllerRefs has made, or that lost theirs: they go on running, and only gain a reference."""
    for i in range(2):
        make_pod(room, f"web-{i}", node=None)
    retry_until(lambda: all(is_ready(pod) for pod in room.pods().values()), "they run")
    before = room.pods()
    it = room.make(replicas=2, updateStrategy={"type": "OnDelete"})
    room.until(lambda: all(owned_by(it)(pod) for pod in room.pods().values()), "they are adopted")
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2, "they count")
    for name, pod in room.pods().items():
        assert pod["metadata"]["uid"] == before[name]["metadata"]["uid"]
        assert pod["metadata"]["ownerReferences"] == [reference(it)]
        assert pod["spec"]["containers"] == before[name]["spec"]["containers"]
    assert room.events(reason="SuccessfulCreate") == []


# seeds: R37 H28
def test_a_family_is_orphaned_and_taken_back_without_a_restart(room):
    before = room.running(replicas=3)
    room.image("i:2")
    before = room.settle()
    pods, history = room.uids(), [r["metadata"]["uid"] for r in room.history()]
    orphan(room)
    room.make(replicas=3, image="i:2")
    after = room.settle()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert room.uids() == pods
    assert set(history) <= {r["metadata"]["uid"] for r in room.history()}
    if room.carrier == CONTROLLERREVISIONS:
        assert after["status"]["updateRevision"] == before["status"]["updateRevision"]
        # The numbers go on, too.
        room.image("i:3")
        room.settle()
        assert [r["revision"] for r in room.history()] == [1, 2, 3]


# seeds: R9 R10 R11 R12
@one_carrier
@pytest.mark.parametrize("owners", [[OTHER], []], ids=["of-another", "unadoptable"])
def test_a_foreign_pod_blocks_its_ordinal_and_nothing_else(room, owners):
    foreign = make_pod(room, "web-1", *owners, labels={"app": "web" if owners else "else"})
    it = room.make(replicas=3, podManagementPolicy="Parallel")
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2, "the others")
    room.pulse()
    assert room.get()["status"]["replicas"] == 2
    assert room.one("pods", "web-1") == foreign
    assert {n for n, pod in room.pods().items() if owned_by(it)(pod)} == {"web-0", "web-2"}
    assert [write for write in room.writes("pods") if write[3] == "web-1" and write[0] != "create"] == []
    room.until(lambda: room.events(reason="FailedCreate"), "an event says so")
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.settle()
    assert owned_by(it)(room.one("pods", "web-1"))


# seeds: R17
@one_carrier
def test_an_orphan_that_is_going_is_not_taken(room):
    make_pod(room, "web-0", finalizers=HOLD)
    room.delete("pods", "web-0", gracePeriodSeconds=0)
    room.make()
    room.pulse()
    assert is_going(room.one("pods", "web-0")) and controller_of(room.one("pods", "web-0")) is None
    room.change("pods", "web-0", {"metadata": {"finalizers": None}})
    room.settle()


# seeds: R36
@one_carrier
def test_only_a_member_s_name_makes_a_member(room):
    """Others that match are not taken; one that is owned all the same is let go."""
    it = room.running(replicas=1)
    others = {name: make_pod(room, name) for name in ("web-01", "webby", "web-1-0", "web-x")}
    make_pod(room, "stray", reference(it))
    room.until(lambda: controller_of(room.one("pods", "stray")) is None, "it is let go")
    room.pulse()
    assert {name: room.one("pods", name) for name in others} == others
    assert not is_going(room.one("pods", "stray")) and room.get()["status"]["replicas"] == 1


# ---- letting go ----


# seeds: R20 R25
@one_carrier
def test_a_pod_that_matches_no_more_is_let_go_and_taken_back(room):
    it = room.running(replicas=2)
    before = room.one("pods", "web-1")
    relabelled = room.change("pods", "web-1", {"metadata": {"labels": {"app": "else"}}})
    room.until(lambda: controller_of(room.one("pods", "web-1")) is None, "it is let go")
    after = room.one("pods", "web-1")
    for thing in (relabelled, after):
        for name in ("ownerReferences", "resourceVersion", "managedFields"):
            thing["metadata"].pop(name, None)
    assert after == relabelled
    room.until(lambda: room.get()["status"]["replicas"] == 1, "it counts no more")
    room.change("pods", "web-1", {"metadata": {"labels": {"app": "web"}}})
    room.settle()
    assert owned_by(it)(room.one("pods", "web-1")) and room.one("pods", "web-1")["metadata"]["uid"] == before["metadata"]["uid"]


# seeds: R15 R21
@one_carrier
def test_a_set_that_goes_takes_nothing_lets_go_of_nothing_and_makes_nothing(room):
    room.running(replicas=2, metadata={"finalizers": HOLD})
    room.delete("statefulsets", "web", policy="Background")
    assert is_going(room.get())
    it = room.get()
    # An orphan that matches, one of its pods that matches no more, and one that is missing.
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.until_gone("pods", "web-1")
    make_pod(room, "web-1")
    room.change("pods", "web-0", {"metadata": {"labels": {"app": "else"}}})
    room.until(lambda: room.get()["status"]["replicas"] == 1, "the status goes on")
    room.pulse()
    assert controller_of(room.one("pods", "web-1")) is None
    assert owned_by(it)(room.one("pods", "web-0"))
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.until_gone("pods", "web-1")
    room.pulse()
    assert set(room.pods()) == {"web-0"}
    room.change("statefulsets", "web", {"metadata": {"finalizers": None}})
    room.until_gone("pods", "web-0")


# ---- going ----


# seeds: R19 R34
@pytest.mark.parametrize("api_version", [APPS, BETA])
def test_dependents_go_with_their_set_unless_told_otherwise(room, api_version):
    for name, policy in (("plain", None), ("back", "Background"), ("fore", "Foreground")):
        room.running(name, api_version=api_version)
        revisions = [r["metadata"]["name"] for r in room.history(name)]
        answer = room.server.delete(room.set_path(name, api_version), policy and {"propagationPolicy": policy})
        assert answer.status == 200, answer
        room.until_gone("statefulsets", name)
        for revision in revisions:
            room.until_gone(room.carrier, revision)
        room.until(lambda name=name: not room.pods(name), "its pods are gone")


# seeds: R19 R5
def test_dependents_that_are_orphaned_stay(room):
    """Other references than the controller's are followed by deletion, too."""
    it = room.running(replicas=2)
    extra = make_pod(room, "extra", reference(it, controller=False), labels={})
    make_pod(room, "mine", reference({"apiVersion": "v1", "kind": "Pod", "metadata": extra["metadata"]}, controller=False), labels={}, node=None)
    pods, history = room.uids(), [r["metadata"]["name"] for r in room.history()]
    orphan(room)
    assert room.uids() == pods and set(history) <= set(room.all(room.carrier))
    assert all("ownerReferences" not in room.one(room.carrier, name)["metadata"] for name in history)
    assert "ownerReferences" not in room.one("pods", "extra")["metadata"]
    room.delete("pods", "extra", gracePeriodSeconds=0)
    room.until_gone("pods", "mine")
    assert room.uids() == pods


# ---- more than one ----


# seeds: R4 R14 R41
@one_carrier
def test_sets_with_one_selector_come_to_rest(room):
    """A user's mistake. What both might take goes to one of them, the other gets over it, and then nothing moves any more.
    ADOPTION_RACES=1000: so many are taken."""
    count = int(os.environ.get("ADOPTION_RACES", "200"))
    for i in range(count):
        room.create({"metadata": {"name": f"old-{i}", "labels": {"app": "both"}}, "revision": i + 1, "data": {}}, kind="controllerrevisions")
    for i in range(2):
        make_pod(room, f"left-{i}", labels={"app": "both"}, node=None)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda name: room.make(name, app="both", replicas=2, revisionHistoryLimit=1000), ["left", "right"]))
    for it in made:
        room.settle(it["metadata"]["name"])
    taken = {name: controller_of(r) for name, r in room.all("controllerrevisions").items() if name.startswith("old-")}
    assert len(taken) == count and set(taken.values()) <= {it["metadata"]["uid"] for it in made}
    for it in made:
        mine = room.pods(it["metadata"]["name"]).values()
        assert len(mine) == 2 and all(map(owned_by(it), mine))
    # There is an event for one of them, or of both, when they came at once; and not again.
    told = room.until(lambda: [e for name in ("left", "right") for e in room.events(name, "SelectorOverlap")], "an event says so")
    assert 1 <= len(told) <= 2 and "match the same pods" in told[0][2]
    assert room.server.stderr.wait(rf"StatefulSet {room.namespace}/(left|right): Its selector and that of StatefulSet (left|right)")
    room.pulse("left")
    room.pulse("right")
    before = room.all("pods"), room.all("controllerrevisions")
    room.pulse("left")
    room.pulse("right")
    assert (room.all("pods"), room.all("controllerrevisions")) == before
    assert room.uids("left").keys() == {"left-0", "left-1"}


# seeds: R39
@one_carrier
def test_only_the_controller_s_reference_says_whose_a_pod_is(room):
    """An annotation of old says otherwise. It is neither trusted nor written."""
    said = {"kubernetes.io/created-by": '{"kind":"SerializedReference","reference":{"kind":"StatefulSet","name":"other"}}'}
    make_pod(room, "web-0", node=None, annotations=said)
    it = room.make(replicas=2)
    room.settle()
    assert all(map(owned_by(it), room.pods().values()))
    assert "kubernetes.io/created-by" not in room.one("pods", "web-1")["metadata"].get("annotations", {})


# ---- without a garbage collector ----


@pytest.fixture(scope="module")
def uncollected():
    found = World(CONTROLLERREVISIONS, "--controllers=*,-garbagecollector")
    yield found
    found.close()


# seeds: R35
def test_a_set_needs_no_garbage_collector(uncollected):
    """Up, an update, a rollback, scaling, taking and letting go; only what a deletion leaves behind stays."""
    room = Room(uncollected.server)
    it = room.running(replicas=2, revisionHistoryLimit=1)
    for image in ("i:2", "i:3", "i:2"):
        room.image(image)
        room.settle()
    room.until(lambda: len(room.history()) == 2, "the history is trimmed")
    for replicas in (3, 1):
        room.spec(replicas=replicas)
        room.settle()
    room.change("pods", "web-0", {"metadata": {"labels": {"app": "else"}}})
    room.until(lambda: controller_of(room.one("pods", "web-0")) is None, "it is let go")
    room.change("pods", "web-0", {"metadata": {"labels": {"app": "web"}}})
    room.settle()
    assert owned_by(it)(room.one("pods", "web-0"))
    room.delete("statefulsets", "web")
    room.until_gone("statefulsets", "web")
    assert owned_by(it)(room.one("pods", "web-0"))
