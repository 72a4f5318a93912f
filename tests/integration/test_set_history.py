"""The history of StatefulSets (seed 000), in both carriers where that matters: what is written, what never is, and what is left."""

import json

import pytest

from objects import BETA, JSON_PATCH, STRATEGIC
from processes import BIN, Process, retry_until, write_kubeconfig
from sets import (CONTROLLERREVISIONS, GENERATION, HASH, PODTEMPLATES, Room, World, controller_of, label, number_of, reference, room, statefulset, template,
                  world)

__all__ = ["room", "world"]  # fixtures

one_carrier = pytest.mark.parametrize("world", [CONTROLLERREVISIONS], indirect=True)
OTHER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "other", "uid": "11111111-2222-3333-4444-555555555555", "controller": True}

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


# seeds: H13 H17 H18 H20 H23 H25 H27 H35 H52 R3 R8
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
    beta = room.get(api_version=BETA)["status"]
    assert (beta["templateGeneration"], beta["targetTemplateGeneration"]) == (1, 1)
    assert number_of(revision) == 1 and image_of(revision) == "i:1"
    selector = "app%3Dweb" if room.carrier == CONTROLLERREVISIONS else "created-by-statefulset%3Dweb"
    found = room.server.get(f"{room.path(room.carrier)}?labelSelector={selector}").json["items"]
    assert names(found) == [revision["metadata"]["name"]]
    retry_until(lambda: ("create", room.carrier, None, revision["metadata"]["name"]) in written(room), "it was an ordinary request")


# seeds: H7 H14
def test_what_leaves_the_template_leaves_the_history(room):
    """Scaling through each API version, and the template in other words: nothing is asked for of any revision."""
    room.running(replicas=1)
    before = room.history()
    retry_until(lambda: len(written(room)) == 1, "the one write")
    room.spec(replicas=2)
    room.patch("web", {"spec": {"replicas": 3}}, sub="scale")
    room.spec(api_version=BETA, replicas=2)
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

    room.until(is_back, "it is recreated")
    room.pulse()
    assert room.uids() == pods
    # Without a partition all is of one revision, and then that goes.
    room.spec(updateStrategy={"rollingUpdate": None})
    room.settle()
    pods = room.uids()
    for revision in names(room.history()):
        room.delete(room.carrier, revision)
    room.until(lambda: [image_of(r) for r in room.history()] == ["i:2"], "the one that is current is recreated")
    room.settle()
    assert room.uids() == pods


# seeds: H8
def test_what_is_recorded_is_the_template_alone(room):
    """Claim templates are part of what a set should be, but can never change: no revision needs them."""
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    room.running(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": storage}])
    (revision,) = room.history()
    if room.carrier == CONTROLLERREVISIONS:
        assert revision["data"].keys() == {"spec"} and revision["data"]["spec"].keys() == {"template"}
    assert "1Gi" not in json.dumps(revision)
    refused = room.server.patch(room.set_path("web"), {"spec": {"volumeClaimTemplates": []}})
    assert refused.status == 422, refused
    # Forth and back, and the claims stay.
    room.image("i:2")
    room.settle()
    room.image(image_of(revision))
    room.settle()
    assert len(room.history()) == 2 and room.images() == {"web-0": "i:1"} and list(room.all("persistentvolumeclaims")) == ["data-web-0"]


# ---- whose they are ----


# seeds: H24 H29 H30 R9 R10 R11 U44 U48
def test_revisions_of_others_are_told_of_and_left_alone(room):
    """They have all the labels, but another controller. 40 more are not even similar."""
    labels = {"app": "web", "created-by-statefulset": "web", GENERATION: "7", "controller.kubernetes.io/hash": "x"}
    body = {"data": {"spec": {"template": template("other")}}, "revision": 7} if room.carrier == CONTROLLERREVISIONS else {"template": template("other")}
    foreign = room.create({**body, "metadata": {"name": "foreign", "labels": labels, "ownerReferences": [OTHER]}}, kind=room.carrier)
    for i in range(40):
        theirs = {"name": f"theirs-{i}", "labels": {"app": "theirs"}, "ownerReferences": [OTHER]}
        room.create({**body, "metadata": theirs}, kind=room.carrier)
    room.running(revisionHistoryLimit=0 if room.carrier == CONTROLLERREVISIONS else 2)
    for n in range(2, 6):
        update(room, f"i:{n}")
    room.settle()
    assert all(image_of(r) != "other" for r in room.history())
    assert room.one(room.carrier, "foreign") == foreign
    assert len(room.all(room.carrier)) == 41 + len(room.history())
    room.until(lambda: len(room.history()) == (1 if room.carrier == CONTROLLERREVISIONS else 2), "the history is trimmed")
    # Only what is the set's was ever asked for.
    assert not [write for write in written(room) if write[3] == "foreign" or write[3].startswith("theirs")]
    assert room.server.stderr.wait(rf"{room.namespace}/foreign: another controller has it")
    assert f"{room.namespace}/theirs" not in room.server.stderr.text


# seeds: H55 H54 H53
@one_carrier
def test_a_name_that_another_s_revision_has_is_stepped_over(room):
    """Its data are the same, and still it is not shared."""
    room.running()
    (first,) = room.history()
    room.delete("statefulsets", "web", policy="Background")
    room.until_gone("controllerrevisions", first["metadata"]["name"])
    theirs = {"name": first["metadata"]["name"], "labels": first["metadata"]["labels"], "ownerReferences": [OTHER]}
    foreign = room.create({"metadata": theirs, "revision": 1, "data": first["data"]}, kind="controllerrevisions")
    it = room.running()
    (second,) = room.history()
    assert second["metadata"]["name"] != first["metadata"]["name"] and state_of(second) == state_of(first)
    assert it["status"]["collisionCount"] == 1
    assert {label(pod, HASH) for pod in room.pods().values()} == {second["metadata"]["name"]}
    assert room.one("controllerrevisions", first["metadata"]["name"]) == foreign


# seeds: H28
@one_carrier
def test_numbers_go_on_when_a_history_finds_a_new_owner(room):
    room.running()
    for image in ("i:2", "i:3"):
        update(room, image)
    room.settle()
    room.delete("statefulsets", "web", policy="Orphan")
    room.until_gone("statefulsets", "web")
    for pod in room.pods():
        room.delete("pods", pod, gracePeriodSeconds=0)
    room.make(image="i:4")
    room.settle()
    assert [(r["revision"], image_of(r)) for r in room.history()] == [(n, f"i:{n}") for n in range(1, 5)]


# ---- how many there are ----


# seeds: H6 H19 H31 H32 H34 H52 U51
def test_the_oldest_beyond_the_limit_go(room):
    """ControllerRevisions: so many that are not live. PodTemplates: so many in all. Without pods, which would keep some of them alive for a while."""
    spare = 0 if room.carrier == PODTEMPLATES else 1
    room.running(replicas=0, revisionHistoryLimit=3)
    for n in range(2, 9):
        update(room, f"i:{n}")
        room.settle()
    room.until(lambda: len(room.history()) == 3 + spare, "so many are kept")
    assert [image_of(r) for r in room.history()] == [f"i:{n}" for n in range(6 - spare, 9)]
    for limit, left in ((5, 3 + spare), (2, 2 + spare), (0, 1)):
        room.spec(revisionHistoryLimit=limit)
        room.pulse()
        room.until(lambda left=left: len(room.history()) == left, f"{left} are left with a limit of {limit}")
    assert [image_of(r) for r in room.history()] == ["i:8"]
    # A higher limit deletes nothing.
    room.spec(revisionHistoryLimit=1)
    room.pulse()
    update(room, "i:9")
    room.settle()
    room.until(lambda: len(room.history()) == 1 + spare, "one more")
    assert image_of(room.history()[-1]) == "i:9"


@pytest.fixture(scope="module")
def thrifty():
    found = World(CONTROLLERREVISIONS, "--statefulset-history-limit=1")
    yield found
    found.close()


# seeds: H31
def test_the_operator_s_limit_counts_for_who_asks_for_more(thrifty):
    room = Room(thrifty.server)
    room.running("more", replicas=0, revisionHistoryLimit=5)
    room.running("less", replicas=0, revisionHistoryLimit=0)
    for n in range(2, 5):
        for name in ("more", "less"):
            update(room, f"i:{n}", name)
    for name, left in (("more", ["i:3", "i:4"]), ("less", ["i:4"])):
        room.until(lambda name=name, left=left: [image_of(r) for r in room.history(name)] == left, f"{name} is trimmed")


# seeds: H33
def test_the_history_is_trimmed_though_nothing_else_succeeds(room):
    """A pod of somebody else is in the way of the first one, for 15 updates."""
    room.create({"metadata": {"name": "web-0"}, "spec": template()["spec"]}, kind="pods")
    room.make(revisionHistoryLimit=2)
    for n in range(2, 17):
        update(room, f"i:{n}")
    assert room.get()["status"]["replicas"] == 0
    live = {room.get()["status"]["currentRevision"], room.get()["status"]["updateRevision"]}

    def is_trimmed():
        kept = [r["metadata"]["name"] for r in room.history()]
        return len(kept) <= max(2, len(live)) if room.carrier == PODTEMPLATES else len([name for name in kept if name not in live]) == 2

    room.until(is_trimmed, "the limit")
    assert image_of(room.history()[-1]) == "i:16"
    assert live <= set(names(room.history()))


# seeds: H9 H32 H34 H36
def test_what_a_pod_was_made_from_is_kept(room):
    """Also a revision that is neither the current one nor that of the update."""
    room.running(replicas=2, revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"})
    update(room, "i:2")
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.until(lambda: room.images() == {"web-0": "i:1", "web-1": "i:2"}, "a pod of the second")
    update(room, "i:3")
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2, "both are ready")
    room.pulse()
    status = room.get()["status"]
    second = next(r["metadata"]["name"] for r in room.history() if image_of(r) == "i:2")
    assert second not in (status["currentRevision"], status["updateRevision"])
    assert [image_of(r) for r in room.history()] == ["i:1", "i:2", "i:3"]
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.until(lambda: room.images() == {"web-0": "i:1", "web-1": "i:3"}, "a pod of the third")
    room.until(lambda: [image_of(r) for r in room.history()] == ["i:1", "i:3"], "the second goes")


# seeds: H37 H38
def test_pods_as_owners_say_the_same_as_their_labels(room):
    """A second history beside the set's, which its pods own: the garbage collector takes a state when its last pod is gone. It agrees with the
    controller, which goes by the pods' labels."""
    room.running(replicas=2, revisionHistoryLimit=0)

    def shadow(name):
        pods = [pod for pod in room.pods().values() if label(pod, HASH) == name]
        refs = [{"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods]
        room.create({"metadata": {"name": f"shadow-{name}", "ownerReferences": refs}, "revision": 1, "data": {}}, kind="controllerrevisions")
        return f"shadow-{name}"

    first = shadow(names(room.history())[0])
    room.image("i:2", annotations={"fake-node.annals.dev/ready": "false"})
    room.until(lambda: room.images() == {"web-0": "i:1", "web-1": "i:2"}, "the update stops at a pod that is not ready")
    room.pulse()
    # One pod of the first state is left: it lives, by both measures.
    assert not room.is_gone("controllerrevisions", first)
    assert [image_of(r) for r in room.history()] == ["i:1", "i:2"]
    second = shadow(room.get()["status"]["updateRevision"])
    room.order("web-1", "ready", None)
    room.until(lambda: room.images() == {"web-0": "i:2", "web-1": "i:2"}, "the update goes on")
    room.order("web-0", "ready", None)
    room.settle()
    room.until_gone("controllerrevisions", first)
    room.until(lambda: [image_of(r) for r in room.history()] == ["i:2"], "the first state goes from the set's history, too")
    assert not room.is_gone("controllerrevisions", second)


# seeds: H1 H2
def test_big_states_are_kept_each_in_its_own_object(room):
    """What is kept grows with the history, and no object of it does."""
    env = [{"name": "big", "value": "x" * 300_000}]

    def big(n):
        return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": f"i:{n}", "env": env}]}}

    room.running(template=big(1))
    for n in range(2, 4):
        room.spec(template=big(n))
        room.until(room.is_observed, "it is looked at")
    room.settle()
    sizes = [len(json.dumps(r)) for r in room.history()]
    assert len(sizes) == 3 and max(sizes) - min(sizes) < 1000 and sum(sizes) > 3 * 300_000
    assert len(json.dumps(room.get())) < 400_000


# ---- equal states ----


# seeds: H40 H41 H42
@one_carrier
def test_a_state_that_an_older_build_has_written_is_the_same_state(room):
    """Its revision has nulls, another order of members, and lacks what is a default by now: no pod restarts, and nothing is written."""
    room.running(replicas=2)
    (kept,) = room.history()
    pods = room.uids()
    room.delete("statefulsets", "web", policy="Orphan")
    room.until_gone("statefulsets", "web")
    name = kept["metadata"]["name"]
    room.delete("controllerrevisions", name)
    container = {"resources": {}, "name": "c", "image": "i:1", "ports": None}
    old = {"$patch": "replace", "spec": {"securityContext": {}, "containers": [container]}, "metadata": {"labels": {"app": "web"}, "creationTimestamp": None}}
    meta = {"name": name, "labels": kept["metadata"]["labels"]}
    room.create({"metadata": meta, "revision": 1, "data": {"spec": {"template": old}}}, kind="controllerrevisions")
    room.make(replicas=2)
    it = room.settle()
    assert room.uids() == pods and names(room.history()) == [name]
    assert it["status"]["updateRevision"] == name and room.history()[0]["data"] == {"spec": {"template": old}}


# seeds: H43
@one_carrier
def test_an_equal_state_under_another_name_only_changes_labels(room):
    it = room.running(replicas=2)
    (kept,) = room.history()
    pods = room.uids()
    meta = {"name": "web-same", "labels": kept["metadata"]["labels"], "ownerReferences": [reference(it)]}
    room.create({"metadata": meta, "revision": 9, "data": kept["data"]}, kind="controllerrevisions")
    room.pulse()
    room.until(lambda: {label(pod, HASH) for pod in room.pods().values()} == {"web-same"}, "the pods are relabelled")
    assert room.settle()["status"]["updateRevision"] == "web-same"
    assert room.uids() == pods


@one_carrier
def test_a_revision_without_a_generation_takes_the_label_away(room):
    """kube-controller-manager makes such ones. The pod is of an equal revision, and comes back to this one."""
    it = room.running(replicas=2)
    (kept,) = room.history()
    room.change("statefulsets", "web", {"metadata": {"annotations": {"annals.dev/replace-broken-pods": "true"}}, "spec": {
        "updateStrategy": {"rollingUpdate": {"partition": 2}}, "template": {"spec": {"containers": [{"name": "c", "image": "i:9"}]}}}}, how=STRATEGIC)
    room.until(lambda: len(room.history()) == 2, "the update has a revision")
    room.change("controllerrevisions", kept["metadata"]["name"], {"metadata": {"labels": {GENERATION: None}}})
    meta = {"name": "web-same", "labels": kept["metadata"]["labels"], "ownerReferences": [reference(it)]}
    room.create({"metadata": meta, "revision": 0, "data": kept["data"]}, kind="controllerrevisions")
    assert label(room.one("pods", "web-1"), GENERATION) == "1"
    room.change("pods", "web-1", {"metadata": {"labels": {HASH: "web-same"}}})
    room.until(lambda: label(room.one("pods", "web-1"), HASH) == kept["metadata"]["name"], "the pod has its revision back")
    assert label(room.one("pods", "web-1"), GENERATION) is None


# seeds: H39
@one_carrier
def test_what_others_change_of_a_pod_is_not_fought(room):
    room.running(replicas=2)
    room.change("pods", "web-1", {"metadata": {"labels": {"mesh": "yes"}, "annotations": {"injected": "sidecar"}}})
    room.change("pods", "web-1", {"spec": {"containers": [{"name": "c", "image": "patched:1"}]}}, how=STRATEGIC)
    room.until(lambda: room.one("pods", "web-1")["status"]["containerStatuses"][0]["image"] == "patched:1", "it runs that")
    room.settle()
    before = room.one("pods", "web-1")
    room.pulse()
    after = room.one("pods", "web-1")
    assert after["spec"] == before["spec"]
    assert [after["metadata"][name] for name in ("uid", "labels", "annotations")] == [before["metadata"][name] for name in ("uid", "labels", "annotations")]
    assert not [write for write in room.writes("pods") if write[3] == "web-1" and write[2] is None and write[0] != "create"]


# ---- sets that have no history ----


# seeds: H46 H47 H48 U46 U59
@pytest.mark.parametrize("carrier", [CONTROLLERREVISIONS, PODTEMPLATES])
def test_a_set_of_before_has_no_history_until_it_is_changed(etcd, serve, certificates, folder, carrier):
    """As a build that kept none has stored it, with a pod that it has made."""
    store = etcd()
    room = Room(serve(store.endpoint), carrier)
    room.make(replicas=2)
    key = f"/annals/objects/annals.dev/statefulsets/{room.namespace}/web"
    stored = json.loads(store.ctl("get", key, "--print-value-only"))
    del stored["spec"]["templateGeneration"]
    store.ctl("put", key, json.dumps(stored, separators=(",", ":")))
    retry_until(lambda: "templateGeneration" not in room.get(api_version=BETA)["spec"], "the change is seen")
    config = write_kubeconfig(folder / "kubeconfig", room.server.url, certificates)
    Process([BIN, "controllers", "--kubeconfig", config, "--controllers=statefulset,fake-kubelet", "--fake-nodes=2",
             f"--statefulset-history={carrier}"])
    room.until(lambda: room.get().get("status", {}).get("readyReplicas") == 2, "pods from the template")
    room.delete("pods", "web-0", gracePeriodSeconds=0)
    room.until(lambda: room.get()["status"].get("readyReplicas") == 2 and "web-0" in room.pods(), "one again")
    room.pulse()
    assert room.history() == []
    assert {(label(pod, HASH), label(pod, GENERATION)) for pod in room.pods().values()} == {(None, None)}
    status = room.get(api_version=BETA)["status"]
    assert "templateGeneration" not in status and "targetTemplateGeneration" not in status
    before = room.uids()
    # With the first change the history begins, and pods without a label are of no revision.
    room.image("i:2")
    room.settle()
    assert [image_of(r) for r in room.history()] == ["i:2"]
    assert room.images() == {"web-0": "i:2", "web-1": "i:2"} and not set(before.values()) & set(room.uids().values())
    assert {label(pod, GENERATION) for pod in room.pods().values()} == {"1"}


# ---- kubectl ----


@pytest.fixture
def kubectl(room):
    def run(*arguments, status=0, **more):
        done = room.server.kubectl("--namespace", room.namespace, *arguments, since=(1, 20), **more)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def rows(text):
    return [line.split()[0] for line in text.splitlines() if line[:1].isdigit()]


# seeds: H23 H49 U81
@one_carrier
def test_kubectl_lists_and_shows_revisions(room, kubectl):
    room.running()
    for n in (2, 3):
        room.image(f"i:{n}")
        room.settle()
    assert rows(kubectl("rollout", "history", "statefulset/web")) == ["1", "2", "3"]
    assert "i:2" in kubectl("rollout", "history", "statefulset/web", "--revision=2")
    assert "unable to find the specified revision" in kubectl("rollout", "history", "statefulset/web", "--revision=7", status=1)


# seeds: H50 H15 U80 U87
@one_carrier
def test_kubectl_undoes(room, kubectl):
    room.running(replicas=2)
    first = room.get()["spec"]["template"]
    room.image("i:2")
    room.settle()
    room.image("i:3")
    settled = room.settle()
    assert "i:2" in kubectl("rollout", "undo", "statefulset/web", "--dry-run=client")
    kubectl("rollout", "undo", "statefulset/web", "--dry-run=server")
    assert room.get() == settled
    kubectl("rollout", "undo", "statefulset/web")
    room.settle()
    assert set(room.images().values()) == {"i:2"}
    kubectl("rollout", "undo", "statefulset/web", "--to-revision=1")
    room.settle()
    assert room.get()["spec"]["template"] == first and set(room.images().values()) == {"i:1"}
    assert rows(kubectl("rollout", "history", "statefulset/web")) == ["3", "4", "5"]
    assert "unable to find specified revision 99" in kubectl("rollout", "undo", "statefulset/web", "--to-revision=99", status=1)


# seeds: H51 H15
@one_carrier
def test_kubectl_applies_the_old_manifest_again(room, kubectl):
    def manifest(image):
        return json.dumps(statefulset(image=image))

    for image in ("i:1", "i:2"):
        kubectl("apply", "-f", "-", input=manifest(image))
        room.settle()
    before = {r["metadata"]["uid"] for r in room.history()}
    kubectl("apply", "-f", "-", input=manifest("i:1"))
    room.settle()
    assert {r["metadata"]["uid"] for r in room.history()} == before
    assert rows(kubectl("rollout", "history", "statefulset/web")) == ["2", "3"]
    assert room.images() == {"web-0": "i:1"}
