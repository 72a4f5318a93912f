"""The garbage collector of `annals up` and `annals controllers`."""

import itertools
import json
import random
import threading
import time

import pytest

import garbage
import processes
from garbage import HOLD, NAMESPACES, SCENARIOS, Heap, owner
from objects import ANNALS, APPS, revision, revisions
from processes import BIN, Process, retry_until, write_kubeconfig

FAN = 1000


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    up = processes.Up(tmp_path_factory.mktemp("gc") / "data")
    up.is_shared = True
    yield up
    assert up.stop() == 0
    assert not up.troubles()


def make_heap(server, name, other="gc-other"):
    for namespace in (name, other):
        assert server.post(NAMESPACES, {"metadata": {"name": namespace}}).status in (201, 409)
    return Heap(server.client, name, other)


@pytest.fixture
def heap(world, request):
    return make_heap(world, "gc-" + request.node.name.replace("_", "-").replace("[", "-").replace("]", "").lower()[:50])


# seeds: R5 R19
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(heap, scenario):
    scenario(heap)


# ---- many ----


def make_many(heap, top, count, block):
    """Over one connection, which saves most of the time."""
    connection = heap.client.connect()
    for n in range(count):
        body = {"metadata": {"name": f"leaf-{n}", "ownerReferences": [owner(top, block)]}}
        connection.request("POST", heap.path(), json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (201, True)
    connection.close()


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_a_thousand_dependents(heap, policy):
    make_many(heap, heap.make("top"), FAN, block=True)
    heap.delete("top", policy)
    heap.becomes(**({f"leaf-{n}": "" for n in range(FAN)} if policy == "Orphan" else {}))


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_an_owner_is_the_same_through_any_version(world, heap, policy):
    """Every revision is shown by two groups, and named by one or the other."""
    path = revisions(heap.namespace)
    api_versions = [APPS, ANNALS, ANNALS, APPS, APPS]
    above = None
    for n, api_version in enumerate(api_versions):
        owners = [] if n == 0 else [owner(above, block=True, kind="ControllerRevision", apiVersion=api_version)]
        made = world.post(path, revision(f"r{n}", ownerReferences=owners))
        assert made.status == 201, made
        above = made.json["metadata"]
    heap.sentinel()
    assert len(world.get(path).json["items"]) == len(api_versions)
    assert world.delete(f"{path}/r0", {"propagationPolicy": policy}).status == 200
    retry_until(lambda: not world.get(path).json["items"], "the revisions are gone")


DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"


def test_an_owner_that_was_never_here_keeps_its_dependents_and_a_deleted_one_does_not(world, heap):
    """annals keeps Deployments as data: histories come from clusters, and their owners stay there."""
    labels = {"app": "web"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}
    here = world.post(DEPLOYMENTS.format(heap.namespace), {"metadata": {"name": "web"}, "spec": spec})
    assert here.status == 201, here
    path = revisions(heap.namespace)
    for name, uid in (("here", here.json["metadata"]["uid"]), ("elsewhere", "11111111-2222-3333-4444-555555555555")):
        owners = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}]
        assert world.post(path, revision(name, ownerReferences=owners)).status == 201
    heap.sentinel()
    assert world.get(f"{path}/here").status == 200
    assert world.delete(f"{DEPLOYMENTS.format(heap.namespace)}/web", {"propagationPolicy": "Background"}).status == 200
    retry_until(lambda: world.get(f"{path}/here").status == 404, "what the deleted Deployment owned is gone")
    heap.sentinel()
    assert world.get(f"{path}/elsewhere").status == 200


# ---- trouble ----


def controllers(server, certificates, folder):
    config = write_kubeconfig(folder / "kubeconfig", server.url, certificates)
    return Process([BIN, "controllers", "--kubeconfig", config, "--controllers=garbagecollector"])


def leaves(heap):
    return [name for name in heap.state() if name.startswith("leaf-")]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_collector_that_is_killed_at_work_is_replaced(etcd, serve, certificates, folder, policy):
    server = serve(etcd().endpoint)
    heap = make_heap(server, "heap")
    heap.chain("abc")
    make_many(heap, heap.make("top"), FAN // 2, block=True)
    collector = controllers(server, certificates, folder)
    for left in (FAN // 3, FAN // 6):
        if left == FAN // 3:
            heap.delete("top", policy)
        retry_until(lambda wanted=left: len(leaves(heap)) < wanted, "some have gone")
        collector.kill()
        collector = controllers(server, certificates, folder)
    heap.becomes(a="", b="a", c="b")


def test_a_collector_finds_out_what_went_while_nobody_looked(etcd, certificates, folder):
    """The server is killed; behind the collector's back, through another, owners go and history is compacted."""
    store = etcd()
    port = f"--secure-port={processes.free_port()}"
    server = processes.Serve(store.endpoint, certificates, port)
    heap = make_heap(server, "heap")
    heap.chain("abc")
    top = heap.make("top")
    make_many(heap, top, 50, block=False)
    collector = controllers(server, certificates, folder)
    heap.sentinel()
    server.kill()

    other = processes.Serve(store.endpoint, certificates)
    behind = Heap(other.client, heap.namespace, heap.other_namespace)
    behind.delete("top")
    behind.make("late", owner(top))
    behind.make("b-too", owner(behind.client.get(behind.path("b")).json["metadata"]))
    revision_now = json.loads(store.ctl("get", "x", "-w", "json"))["header"]["revision"]
    store.ctl("compaction", str(revision_now))
    assert other.stop() == 0

    again = processes.Serve(store.endpoint, certificates, port)
    assert again.url == server.url
    heap.becomes(a="", b="a", c="b", **{"b-too": "b"})
    assert collector.stop() == 0


# ---- at random ----


class History:
    """All versions of all ConfigMaps of a namespace, as a watch shows them."""

    def __init__(self, heap):
        self.events = []
        version = heap.client.get(heap.path()).json["metadata"]["resourceVersion"]
        self.watch = heap.client.watch(f"{heap.path()}?watch=true&resourceVersion={version}")
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def _follow(self):
        for event in self.watch:
            self.events.append(event)
            if event["object"]["metadata"]["name"] == "the-end":
                return

    def collected(self, deleted_by_users):
        return {event["object"]["metadata"]["uid"] for event in list(self.events) if event["type"] == "DELETED"} - deleted_by_users

    def until_the_end(self, heap):
        heap.make("the-end")
        self.thread.join(processes.PATIENCE)
        assert not self.thread.is_alive()
        return [(event["type"], event["object"]["metadata"]) for event in self.events]


def is_solid(reference, live, ever_waited):
    """An owner that waited for its dependents, and no longer does because somebody deleted it anew by another policy, may have been found waiting
    just before: no precondition of a dependent's deletion can name the owner's state."""
    found = live.get(reference["uid"])
    return bool(found) and found["name"] == reference["name"] and reference["uid"] not in ever_waited


def wrongly_collected(events, deleted_by_users):
    """Whoever was deleted while an owner of its was there, and not by a user."""
    live, ever_waited, found = {}, set(), []
    for kind, meta in events:
        before = live.get(meta["uid"], {})
        starts_to_go = kind == "DELETED" or meta.get("deletionTimestamp")
        if starts_to_go and not before.get("deletionTimestamp") and meta["uid"] not in deleted_by_users:
            found += [meta["name"] for reference in meta.get("ownerReferences", []) if is_solid(reference, live, ever_waited)]
        if meta.get("deletionTimestamp") and "foregroundDeletion" in meta.get("finalizers", []):
            ever_waited.add(meta["uid"])
        if kind == "DELETED":
            live.pop(meta["uid"], None)
        else:
            live[meta["uid"]] = meta
    return found


def test_the_checker_sees_a_wrong_deletion():
    def meta(name, *owners, **other):
        return {"name": name, "uid": f"uid-{name}", "ownerReferences": [{"name": o, "uid": f"uid-{o}"} for o in owners], **other}

    history = [("ADDED", meta("a")), ("ADDED", meta("b", "a")), ("DELETED", meta("b", "a"))]
    assert wrongly_collected(history, set()) == ["b"]
    assert not wrongly_collected(history, {"uid-b"})
    assert not wrongly_collected([*history[:2], ("DELETED", meta("a")), history[2]], set())
    waiting = meta("a", deletionTimestamp="now", finalizers=["foregroundDeletion"])
    assert not wrongly_collected([*history[:2], ("MODIFIED", waiting), history[2]], {"uid-a"})


class User(threading.Thread):
    """Takes some steps, and more until it is enough."""

    def __init__(self, heap, seed, deleted, is_enough, steps=150):
        super().__init__()
        self.heap, self.random, self.deleted, self.steps, self.client = heap, random.Random(seed), deleted, steps, heap.client
        self.is_enough = is_enough
        self.problem = None

    def any_meta(self):
        answer = self.client.get(self.heap.path(f"o{self.random.randrange(40)}"))
        return answer.json["metadata"] if answer.status == 200 else None

    def owners(self, most=2):
        metas = [self.any_meta() for _ in range(self.random.randint(0, most))]
        unique = {meta["uid"]: owner(meta, block=self.random.random() < 0.5) for meta in metas if meta}
        if self.random.random() < 0.1:
            unique["x"] = owner({"name": "o1", "uid": f"00000000-0000-0000-0000-{self.random.randrange(10**6):012}"})
        return list(unique.values())

    def create(self):
        finalizers = [HOLD] if self.random.random() < 0.1 else []
        body = {"metadata": {"name": f"o{self.random.randrange(40)}", "ownerReferences": self.owners(), "finalizers": finalizers}}
        assert self.client.post(self.heap.path(), body).status in (201, 409)

    def remove(self, meta):
        self.deleted.add(meta["uid"])
        policy = self.random.choice(["Background", "Foreground", "Orphan"])
        options = {"propagationPolicy": policy, "preconditions": {"uid": meta["uid"]}}
        assert self.client.delete(self.heap.path(meta["name"]), options).status in (200, 404, 409)

    def adopt(self, meta):
        body = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "ownerReferences": self.owners(3)}}
        assert self.client.patch(self.heap.path(meta["name"]), body).status in (200, 404, 409, 422)

    def release(self, meta):
        if HOLD in meta.get("finalizers", []):
            left = [finalizer for finalizer in meta["finalizers"] if finalizer != HOLD]
            body = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
            assert self.client.patch(self.heap.path(meta["name"]), body).status in (200, 404, 409)

    def run(self):
        try:
            for n in itertools.count():
                if n >= self.steps and self.is_enough():
                    return
                meta = self.any_meta()
                if meta:
                    self.random.choice([self.remove, self.adopt, self.adopt, self.release])(meta)
                else:
                    self.create()
        except BaseException as problem:  # pylint: disable=broad-except
            self.problem = problem


def leftovers(heap):
    """Objects none of whose owners is there."""
    metas = [item["metadata"] for item in heap.client.get(heap.path()).json["items"]]
    live = {meta["uid"]: meta for meta in metas}
    return [meta["name"] for meta in metas if meta.get("ownerReferences") and not meta.get("deletionTimestamp")
            and not any(reference["uid"] in live and live[reference["uid"]]["name"] == reference["name"] for reference in meta["ownerReferences"])]


@pytest.mark.parametrize("seed", range(2))
def test_nobody_with_a_live_owner_is_ever_collected(heap, seed):
    history, deleted, deadline = History(heap), set(), time.monotonic() + processes.PATIENCE

    def is_enough():  # what the collector has removed meanwhile, and a little more: somebody may be about to delete what is gone already
        return len(history.collected(deleted)) > 20 or time.monotonic() > deadline

    users = [User(heap, 10 * seed + n, deleted, is_enough) for n in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not [user.problem for user in users if user.problem]
    retry_until(lambda: not leftovers(heap), "those without owners are gone")
    events = history.until_the_end(heap)
    assert len(history.collected(deleted)) > 10
    assert not wrongly_collected(events, deleted)
