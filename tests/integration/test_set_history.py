"""The history of StatefulSets (seed 000), in both carriers where that matters: what is written, what never is, and what is left."""

from objects import BETA, JSON_PATCH
from processes import retry_until
from sets import CONTROLLERREVISIONS, GENERATION, HASH, controller_of, label, number_of, room, template, world

__all__ = ["room", "world"]  # fixtures

def state_of(revision):
    return revision["data"]["spec"]["template"] if "data" in revision else revision["template"]


def image_of(revision):
    return state_of(revision)["spec"]["containers"][0]["image"]


def names(revisions):
    return [r["metadata"]["name"] for r in revisions]


def update(room, image, name="web", **more):
    """Another image, as far as the controller has chosen its revision."""
    room.image(image, name, **more)
    room.until(lambda: room.is_observed(name), f"{name} is looked at")


def written(room):
    return [write for write in room.writes(room.carrier)]


# ---- what is written ----


# seeds: H13 H17 H18 H20 H23 H25 H27 H35 H52 R8
def test_a_new_set_has_its_history_before_its_pods(room):
    since = room.server.get(room.path("pods")).json["metadata"]["resourceVersion"]
    room.make(replicas=2)
    it = room.settle()
    added = {}
    for kind, count in ((room.carrier, 1), ("pods", 2)):
        with room.server.watch(f"{room.path(kind)}?watch=true&resourceVersion={since}") as events:
            while sum(k == kind for k, _ in added) < count:
                event = events.next()
                if event["type"] == "ADDED":
                    added[kind, event["object"]["metadata"]["name"]] = event["object"]
    # From the first write on each has its controller.
    assert {controller_of(thing) for thing in added.values()} == {it["metadata"]["uid"]}
    (revision,) = room.history()
    versions = {key: int(thing["metadata"]["resourceVersion"]) for key, thing in added.items()}
    assert min(versions, key=versions.get) == (room.carrier, revision["metadata"]["name"])
    refs = revision["metadata"]["ownerReferences"]
    assert [(ref["kind"], ref["name"], ref["uid"], ref["controller"]) for ref in refs] == [("StatefulSet", "web", it["metadata"]["uid"], True)]
    assert {label(pod, HASH) for pod in room.pods().values()} == {revision["metadata"]["name"]}
    assert {label(pod, GENERATION) for pod in room.pods().values()} == {"1"}
    assert it["status"]["currentRevision"] == it["status"]["updateRevision"] == revision["metadata"]["name"]
    beta = room.get(door=BETA)["status"]
    assert (beta["templateGeneration"], beta["targetTemplateGeneration"]) == (1, 1)
    assert number_of(revision) == 1 and image_of(revision) == "i:1"
    selector = "app%3Dweb" if room.carrier == CONTROLLERREVISIONS else "created-by-statefulset%3Dweb"
    found = room.server.get(f"{room.path(room.carrier)}?labelSelector={selector}").json["items"]
    assert names(found) == [revision["metadata"]["name"]]
    retry_until(lambda: ("create", room.carrier, None, revision["metadata"]["name"]) in written(room), "it was an ordinary request")


# seeds: H7 H14
def test_what_leaves_the_template_leaves_the_history(room):
    """Scaling through each door, and the template in other words: nothing is asked for of any revision."""
    room.running(replicas=1)
    before = room.history()
    retry_until(lambda: len(written(room)) == 1, "the one write")
    room.spec(replicas=2)
    room.patch("web", {"spec": {"replicas": 3}}, sub="scale")
    room.spec(door=BETA, replicas=2)
    room.patch("web", [{"op": "replace", "path": "/spec/replicas", "value": 3}], sub="scale", how=JSON_PATCH)
    spelled_out = {"terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "securityContext": {}, "nodeSelector": None}
    room.spec(template={"metadata": {"creationTimestamp": None, "annotations": {}}, "spec": spelled_out})
    room.patch("web", {"metadata": {"annotations": {"some": "words"}}})
    room.spec(replicas=1)
    room.settle()
    room.pulse()
    assert room.history() == before
    assert len(written(room)) == 1
    assert len(room.uids()) == 1


# seeds: H16 H18 H45 H44
def test_another_state_is_one_more_revision(room):
    room.running(replicas=2)
    born = room.uids()
    first = room.history()
    room.image("i:2")
    room.settle()
    history = room.history()
    assert history[0] == first[0] and [image_of(r) for r in history] == ["i:1", "i:2"]
    assert [number_of(r) for r in history] == [1, 2]
    assert room.images() == {"web-0": "i:2", "web-1": "i:2"}
    # Not one pod was changed in place, and each tells what it was made from.
    assert not set(born.values()) & set(room.uids().values())
    assert {label(pod, HASH) for pod in room.pods().values()} == {history[1]["metadata"]["name"]}


# seeds: H15 H16 H21 U52
def test_an_older_state_is_a_rollback_and_makes_nothing(room):
    room.running()
    for image in ("i:2", "i:3"):
        update(room, image)
    room.settle()
    before = {r["metadata"]["uid"]: image_of(r) for r in room.history()}
    room.image("i:1")
    it = room.settle()
    after = {r["metadata"]["uid"]: image_of(r) for r in room.history()}
    assert after == before
    back = next(r for r in room.history() if image_of(r) == "i:1")
    assert it["status"]["updateRevision"] == back["metadata"]["name"]
    numbers = [number_of(r) for r in room.history()]
    assert len(set(numbers)) == 3
    if room.carrier == CONTROLLERREVISIONS:
        assert back["revision"] == 4 and image_of(room.history()[-1]) == "i:1"
    else:
        assert number_of(back) == 1


# seeds: H12
def test_revisions_may_be_deleted_at_any_time(room):
    """The current one, that of the update, all: they come again with the same state, and no pod is touched."""
    room.running(replicas=2, updateStrategy={"rollingUpdate": {"partition": 1}})
    update(room, "i:2")
    room.until(lambda: room.images() == {"web-0": "i:1", "web-1": "i:2"}, "the canary")
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2, "it is ready")
    pods = room.uids()
    target = room.get()["status"]["updateRevision"]
    old = next(r for r in room.history() if r["metadata"]["name"] == target)
    room.delete(room.carrier, target)

    def is_back():
        found = [r for r in room.history() if image_of(r) == "i:2"]
        return found and found[0]["metadata"]["uid"] != old["metadata"]["uid"]

    room.until(is_back, "it is made again")
    room.pulse()
    assert room.uids() == pods
    # Without a partition all is of one revision, and then that goes.
    room.spec(updateStrategy={"rollingUpdate": None})
    room.settle()
    pods = room.uids()
    for revision in names(room.history()):
        room.delete(room.carrier, revision)
    room.until(lambda: [image_of(r) for r in room.history()] == ["i:2"], "the one that is current is made again")
    room.settle()
    assert room.uids() == pods


# ---- whose they are ----


# seeds: H24 H29 R9 R10 R11 U44
def test_revisions_of_others_are_told_of_and_left_alone(room):
    """They have all the labels, but another controller. 100 more are not even similar."""
    labels = {"app": "web", "created-by-statefulset": "web", GENERATION: "7", "controller.kubernetes.io/hash": "x"}
    other = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "other", "uid": "11111111-2222-3333-4444-555555555555", "controller": True}
    body = {"data": {"spec": {"template": template("other")}}, "revision": 7} if room.carrier == CONTROLLERREVISIONS else {"template": template("other")}
    foreign = room.create({**body, "metadata": {"name": "foreign", "labels": labels, "ownerReferences": [other]}}, kind=room.carrier)
    for i in range(100):
        theirs = {"name": f"theirs-{i}", "labels": {"app": "theirs"}, "ownerReferences": [other]}
        room.create({**body, "metadata": theirs}, kind=room.carrier)
    room.running(revisionHistoryLimit=0 if room.carrier == CONTROLLERREVISIONS else 2)
    for n in range(2, 6):
        update(room, f"i:{n}")
    room.settle()
    assert all(image_of(r) != "other" for r in room.history())
    assert room.one(room.carrier, "foreign") == foreign
    assert len(room.all(room.carrier)) == 101 + len(room.history())
    room.until(lambda: len(room.history()) == (1 if room.carrier == CONTROLLERREVISIONS else 2), "the history is trimmed")
    # Only what is the set's was ever asked for.
    assert not [write for write in written(room) if write[3] == "foreign" or write[3].startswith("theirs")]
