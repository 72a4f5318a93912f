"""Controllers between which and their server requests fail. Each of all requests of a change fails in its turn and in each way (between.py):
whatever it was, nothing is lost, and nothing is done that only an absent object would allow. Then one in seven fails, for as long as the changes take.
So it is with the commands that write: undo, restore, and import from another cluster.

All of it takes a quarter of an hour of processor time: "make check-sweeps". Otherwise only some of the requests fail, in some of the ways."""

import collections
import itertools
import os
import pathlib
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import processes
from between import NO_ANSWER, TROUBLES, Between
from processes import retry_until, write_kubeconfig
from recorded import Recorded
from test_controllers import Controllers

CORE, APPS, V1 = "api/v1", "apis/apps/v1", "apis/annals.dev/v1"
ROOT_CA = "kube-root-ca.crt"
AT_ONCE = 24  # changes
WAYS = [way for way in TROUBLES if way != "403"]  # a right that is missing does not come by itself
SWEEPS_ALL = "SWEEPS_ALL" in os.environ


class Plan:
    """Which requests of which namespace fail. A request that fails is noted."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen, self.ways, self.fired = collections.Counter(), {}, set()
        self.dice, self.share = None, 0

    def __call__(self, method, path):
        found = re.search("/namespaces/([^/]+)", path)
        name = found[1] if found else ""
        with self.lock:
            self.seen[name] += 1
            if self.dice and self.dice.random() < self.share:
                return self.dice.choice(WAYS)
            at, way = self.ways.get(name, (0, None))
            if self.seen[name] != at:
                return None
            self.fired.add(name)
            return way

    def fail(self, name, at, way):
        with self.lock:
            self.ways[name] = (at, way)

    def throw_dice(self, share, seed):
        with self.lock:
            self.dice, self.share = random.Random(seed) if share else None, share


class Room:
    """A namespace."""

    numbers = itertools.count(1)

    def __init__(self, server):
        self.server, self.name = server, f"room-{next(self.numbers)}"

    def enter(self):
        self.send("post", f"/{CORE}/namespaces", {"metadata": {"name": self.name}})

    def send(self, verb, path, *more):
        answer = getattr(self.server, verb)(path, *more)
        assert answer.status in (200, 201, 202), answer
        return answer.json

    def path(self, kind, name="", group=CORE):
        return f"/{group}/namespaces/{self.name}/{kind}" + (f"/{name}" if name else "")

    def make(self, kind, name, group=CORE, metadata=None, **content):
        return self.send("post", self.path(kind, group=group), {"metadata": {"name": name, **(metadata or {})}, **content})

    def change(self, kind, name, patch, group=CORE):
        return self.send("patch", self.path(kind, name, group), patch)

    def delete(self, kind, name, group=CORE, policy="Background"):
        self.send("delete", self.path(kind, name, group), {"propagationPolicy": policy})

    def get(self, kind, name, group=CORE):
        """None: it is not there."""
        answer = self.server.get(self.path(kind, name, group))
        assert answer.status in (200, 404), answer
        return answer.json if answer.status == 200 else None

    def all(self, kind, group=CORE):
        return self.send("get", self.path(kind, group=group))["items"]

    def until(self, condition, what):
        return retry_until(condition, f"{self.name}: {what}", interval=0.05, patience=processes.LONG_PATIENCE)

    def until_gone(self, kind, name, group=CORE):
        self.until(lambda: not self.get(kind, name, group), f"{kind}/{name} is gone")


# ---- one change for each controller, and what must have come of it ----


def changes_of(room, name):
    found = [h for h in room.all("histories", V1) if h["spec"]["subject"]["name"] == name]
    assert len(found) <= 1, found
    return found[0]["status"].get("changes", []) if found and "status" in found[0] else []


def is_recorded(room):
    """Each change, with its paths, as it happens."""

    def await_changes(n):
        room.until(lambda: len(changes_of(room, "web")) >= n, f"{n} changes are recorded")

    room.make("configmaps", "web", data={"a": "1", "b": "1"})
    await_changes(1)
    room.change("configmaps", "web", {"data": {"a": "2"}})
    await_changes(2)
    room.change("configmaps", "web", {"data": {"b": "2"}})
    await_changes(3)
    room.delete("configmaps", "web")
    await_changes(4)
    found = [(change["type"], change.get("paths")) for change in changes_of(room, "web")]
    assert found == [("Created", None), ("Changed", ["/data/a"]), ("Changed", ["/data/b"]), ("Deleted", None)], found
    history, = [h for h in room.all("histories", V1) if h["spec"]["subject"]["name"] == "web"]
    assert history["status"]["revisions"] == 2 and history["status"]["kept"] == "1,3", "one state is kept besides the current one"


def is_emptied(room):
    """A namespace goes, and all that is in it before it."""
    for name in ("a", "b"):
        room.make("configmaps", name, data={"a": "1"})
    room.make("secrets", "s", metadata={"finalizers": ["example.com/hold"]})
    room.send("delete", f"/{CORE}/namespaces/{room.name}")
    room.until(lambda: not room.all("configmaps"), "it is emptied")
    room.change("secrets", "s", {"metadata": {"finalizers": None}})
    room.until(lambda: room.server.get(f"/{CORE}/namespaces/{room.name}").status == 404, "it is gone")
    assert not room.all("secrets")


def is_archived(room):
    """A namespace goes, and all that was recorded in it moves into the archive."""
    room.make("configmaps", "web", data={"a": "1"})
    room.until(lambda: len(changes_of(room, "web")) == 1, "it is recorded")
    room.change("configmaps", "web", {"data": {"a": "2"}})
    room.until(lambda: len(changes_of(room, "web")) == 2, "its change is recorded")
    states = sorted(one["metadata"]["name"] for one in room.all("controllerrevisions", V1))
    uid = room.send("delete", f"/{CORE}/namespaces/{room.name}")["metadata"]["uid"]
    room.until(lambda: room.server.get(f"/{CORE}/namespaces/{room.name}").status == 404, "it is gone")

    def find():
        selector = f"spec.subject.namespace={room.name},spec.subject.name=web"
        return room.send("get", f"/{V1}/histories?fieldSelector={selector}")["items"]

    def changes():
        return [[change["type"] for change in one["status"]["changes"]] for one in find()]

    room.until(lambda: changes() == [["Created", "Changed", "Deleted"]], f"all is in the archive: {changes()}")
    archive = f"{room.name}.{uid}"
    assert find()[0]["metadata"]["namespace"] == archive
    assert sorted(one["metadata"]["name"] for one in room.send("get", f"/{V1}/namespaces/{archive}/controllerrevisions")["items"]) == states


def is_collected(room):
    def owners(*metas):
        return [{"apiVersion": "v1", "kind": "ConfigMap", "name": m["name"], "uid": m["uid"], "blockOwnerDeletion": True} for m in metas]

    gone, stays, first, freed = (room.make("configmaps", name)["metadata"] for name in ("gone", "stays", "first", "freed"))
    room.make("configmaps", "of-gone", metadata={"ownerReferences": owners(gone)})
    room.make("configmaps", "of-both", metadata={"ownerReferences": owners(gone, stays)})
    room.make("configmaps", "of-stays", metadata={"ownerReferences": owners(stays)})
    room.make("configmaps", "of-first", metadata={"ownerReferences": owners(first)})
    room.make("configmaps", "orphan", metadata={"ownerReferences": owners(freed)})
    room.delete("configmaps", "gone")
    room.delete("configmaps", "first", policy="Foreground")
    room.delete("configmaps", "freed", policy="Orphan")
    for name in ("gone", "of-gone", "first", "of-first", "freed"):
        room.until_gone("configmaps", name)
    room.until(lambda: len(room.get("configmaps", "of-both")["metadata"]["ownerReferences"]) == 1, "the reference to what is gone is")
    assert room.get("configmaps", "of-stays") and room.get("configmaps", "stays")
    assert not room.get("configmaps", "orphan")["metadata"].get("ownerReferences")


def is_claim_let_go(room):
    room.make("persistentvolumeclaims", "c", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    room.make("pods", "p", spec={"containers": [{"name": "c", "image": "i"}], "volumes": volumes, "nodeName": "n"})
    room.delete("persistentvolumeclaims", "c")
    room.send("delete", room.path("pods", "p"), {"gracePeriodSeconds": 0})
    room.until_gone("persistentvolumeclaims", "c")


def is_implemented(room):
    """A Dependent becomes a ConfigMap, which goes before it; what it refers to goes after it."""
    room.make("providers", "p", V1, spec={"data": {"a": 1}})
    room.make("dependents", "d", V1, spec={"providers": [{"name": "p"}]})
    room.until(lambda: (room.get("configmaps", "d") or {}).get("data"), "it is implemented")
    room.delete("providers", "p", V1)
    assert room.get("configmaps", "d")
    room.delete("dependents", "d", V1)
    room.until_gone("dependents", "d", V1)
    assert not room.get("configmaps", "d"), "what a Dependent was made into goes before it"
    room.until_gone("providers", "p", V1)


def is_updated(room):
    """A StatefulSet comes up, is updated and scaled; the revisions that nobody needs go."""

    def spec(image, **more):
        return {"serviceName": "web", "revisionHistoryLimit": 1, "selector": {"matchLabels": {"app": "web"}}, **more,
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}}

    def await_pods(n, image):
        def are_there():
            pods = room.all("pods")
            ready = [c["status"] for p in pods for c in p["status"].get("conditions", []) if c["type"] == "Ready"]
            return [p["spec"]["containers"][0]["image"] for p in pods] == [image] * n and ready == ["True"] * n
        room.until(are_there, f"{n} pods of {image}")

    room.make("statefulsets", "web", APPS, spec=spec("i:1", replicas=2))
    await_pods(2, "i:1")
    for n in (2, 3, 4):
        room.change("statefulsets", "web", {"spec": spec(f"i:{n}")}, APPS)
        await_pods(2, f"i:{n}")
    room.change("statefulsets", "web", {"spec": {"replicas": 1}}, APPS)
    await_pods(1, "i:4")
    room.until(lambda: len(room.all("controllerrevisions", APPS)) == 2, "old revisions are gone")
    found = room.get("statefulsets", "web", APPS)
    room.until(lambda: room.get("statefulsets", "web", APPS)["status"].get("replicas") == 1, "the status says so")
    assert found["status"].get("collisionCount", 0) == 0, "a failure is no collision"


def is_furnished(room):
    """A namespace gets its default objects, and gets them back."""
    room.until(lambda: room.get("serviceaccounts", "default"), "there is a ServiceAccount")
    room.until(lambda: room.get("configmaps", ROOT_CA), "there is a CA")
    whole = room.get("configmaps", ROOT_CA)["data"]
    room.change("configmaps", ROOT_CA, {"data": {"ca.crt": "none"}})
    room.until(lambda: room.get("configmaps", ROOT_CA)["data"] == whole, "the CA is right again")
    for kind, name in (("configmaps", ROOT_CA), ("serviceaccounts", "default")):
        room.delete(kind, name)
        room.until(lambda found=(kind, name): room.get(*found), f"{name} is back")


SCENARIOS = {
    "recorder": is_recorded,
    "default-objects": is_furnished,
    "namespace": is_emptied,
    "recorder,namespace": is_archived,
    "garbagecollector": is_collected,
    "pvc-protection": is_claim_let_go,
    "dependent,provider-finalization": is_implemented,
    "statefulset,fake-kubelet": is_updated,
}
# Of changes that take many requests, each request fails in some of the ways.
WAYS_OF_EACH = {"namespace": 1, "recorder,namespace": 1, "statefulset,fake-kubelet": 1, "garbagecollector": 3, "dependent,provider-finalization": 4}


def is_sanitized(server):
    maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    return "libasan" in maps or "libtsan" in maps


class World:
    def __init__(self, server, certificates, folder):
        self.server, self.plan = server, Plan()
        self.between = Between(server, certificates)
        self.between.fault = self.plan
        self.config = write_kubeconfig(folder / "kubeconfig", self.between.url, certificates)

    def start(self, names):
        return Controllers(self.config, f"--controllers={names}", "--fake-nodes=2")

    def record(self):
        made = self.server.post(f"/{V1}/recorders", {"metadata": {"name": "all"}, "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}], "keep": {"atMost": 1}}})
        assert made.status == 201, made

        def is_recording():
            status = self.server.get(f"/{V1}/recorders/all").json.get("status", {})
            return [c["status"] for c in status.get("conditions", []) if c["type"] == "Recording"] == ["True"]
        retry_until(is_recording, "the recorder follows")

    def run(self, scenario, failures):
        """failures: of each room, (number of its request, way)."""
        rooms = []
        for at, way in failures:
            rooms.append(Room(self.server))
            self.plan.fail(rooms[-1].name, at, way)
            rooms[-1].enter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(scenario, rooms):
                pass
        return rooms


@pytest.fixture
def world(etcd, serve, certificates, folder):
    found = World(serve(etcd().endpoint), certificates, folder)
    yield found
    found.between.close()


@pytest.mark.long
@pytest.mark.parametrize("names", SCENARIOS)
def test_each_request_in_its_turn_fails(world, names):
    controllers = world.start(names)
    if names.startswith("recorder"):
        world.record()
    scenario = SCENARIOS[names]
    [whole] = world.run(scenario, [(0, None)])
    n = world.plan.seen[whole.name]
    assert n > 2
    turns = itertools.cycle(WAYS)
    # A rollout, or a namespace with all its kinds, takes hundreds of requests, and under a sanitizer each change takes longer.
    step = 1 if SWEEPS_ALL else (5 if names.startswith(("statefulset", "namespace", "recorder,")) else 2) * (3 if is_sanitized(world.server) else 1)
    failures = [(at, way) for at in range(1, n + 1, step) for way in itertools.islice(turns, WAYS_OF_EACH.get(names, len(WAYS)))]
    world.run(scenario, failures)
    # How many requests a change takes is not always the same: the last turns may not come.
    assert len(world.plan.fired) > 0.5 * len(failures)
    assert controllers.stop() == 0


@pytest.mark.parametrize("answer", ["404", "route", "403"])
def test_changes_are_recorded_by_a_server_without_recordings(world, answer):
    """As during an upgrade, when an older server answers, or older roles do not allow them."""
    asked = collections.Counter()

    def old(method, path):
        kind = path.rpartition("/")[2]
        asked[method, kind] += 1
        return answer if kind == "recordings" else None

    world.between.fault = old
    controllers = world.start("recorder")
    world.record()
    [room] = world.run(is_recorded, [(0, None)])
    assert asked["POST", "recordings"] and asked["POST", "snapshots"] >= len(changes_of(room, "web"))
    assert controllers.stop() == 0


def record_much(world, n_objects, n_changes):
    """Objects, each of which changes so often, faster than they are recorded."""
    rooms = [Room(world.server) for _ in range(n_objects)]

    def live(room):
        room.enter()
        room.make("configmaps", "web", data={"n": "0"})
        for n in range(1, n_changes):
            room.change("configmaps", "web", {"data": {"n": str(n)}})

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(live, rooms))
    return rooms


@pytest.mark.long
def test_one_in_seven_requests_fails(world):
    """For as long as all changes take; only for what has been put off for a minute by then it ends."""
    n_objects, n_changes, n_namespaces = 24, 10, 8
    controllers = world.start("*")
    world.record()
    world.plan.throw_dice(0.15, 7)
    rooms = record_much(world, n_objects, n_changes)
    emptied = world.run(is_collected, [(0, None)] * n_namespaces)
    for room in emptied:
        room.send("delete", f"/{CORE}/namespaces/{room.name}")
    for room in rooms:
        room.until(lambda room=room: len(changes_of(room, "web")) >= n_changes, "all changes are recorded")
    world.plan.throw_dice(0, 0)
    for room in emptied:
        room.until(lambda room=room: world.server.get(f"/{CORE}/namespaces/{room.name}").status == 404, "it is gone")
    lost = [room.name for room in rooms
            if [change.get("paths") for change in changes_of(room, "web")] != [None] + [["/data/n"]] * (n_changes - 1)]
    assert not lost, f"changes without their paths, of {n_objects} objects: {lost}"
    assert controllers.stop() == 0


# ---- commands ----

# What only an answer that was understood may make a command say.
ABSENT = ("does not exist", "was recorded", "no revision", "is gone", "unable to find", "doesn't have a resource", "is not found", "0 created")
COMMAND_WAYS = [*WAYS, NO_ANSWER]
# Of a server that does not know a group these are the answers, so of discovery they are no failures.
OF_DISCOVERY_TRUE = ("404", "proxy", "route")


class Turn:
    """The n-th request fails in one way; 0: none."""

    def __init__(self, at=0, way=None):
        self.lock = threading.Lock()
        self.at, self.way, self.seen, self.fired = at, way, [], None

    def __call__(self, method, path):
        with self.lock:
            self.seen.append((method, path))
            if len(self.seen) != self.at or ("/namespaces/" not in path and self.way in OF_DISCOVERY_TRUE):
                return None
            self.fired = f"{self.way} to {method} {path}, request {self.at}"
            return self.way


class Subject:
    """A ConfigMap with a history, to which a command does something. states: before and after it."""

    numbers = itertools.count(1)

    def __init__(self, server):
        self.server, self.name = server, f"c-{next(self.numbers)}"
        self.it = Recorded(server, "default", "ConfigMap", self.name)
        owner = server.post(f"/{CORE}/namespaces/default/configmaps", {"metadata": {"name": f"owner-of-{self.name}"}}).json["metadata"]
        self.owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}]
        self.it.make(data={"x": "1"}, metadata={"ownerReferences": self.owners})

    def state(self):
        answer = self.server.get(self.it.path)
        assert answer.status in (200, 404), answer
        return (answer.json["data"], answer.json["metadata"].get("ownerReferences")) if answer.status == 200 else None


class Undone(Subject):
    """Back to the first revision, whose owner is still there."""

    arguments = ("undo", "--to-revision=1")

    def __init__(self, server):
        super().__init__(server)
        self.it.patch({"data": {"x": "2"}, "metadata": {"ownerReferences": None}})
        self.before, self.after = ({"x": "2"}, None), ({"x": "1"}, self.owners)


class UndoneToTheLast(Undone):
    """It must find out which that is."""

    arguments = ("undo",)


class UndoneByItsOwn(Undone):
    """Its own revision has its data alone."""

    arguments = ("undo", "--own", "--to-revision=1")

    def __init__(self, server):
        super().__init__(server)
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.it.get()["metadata"]["uid"], "controller": True}
        made = server.post(f"/{V1}/namespaces/default/controllerrevisions", {
            "metadata": {"name": f"{self.name}-1", "ownerReferences": [owner]}, "revision": 1, "data": {"data": {"x": "1"}}})
        assert made.status == 201, made
        self.after = ({"x": "1"}, None)


class Restored(Subject):
    arguments = ("restore",)

    def __init__(self, server):
        super().__init__(server)
        self.it.delete()
        self.before, self.after = None, ({"x": "1"}, self.owners)


class RestoredWithItsOwner:
    """A Secret, its owner, and another ConfigMap: restored in bulk, in a namespace of their own."""

    numbers = itertools.count(1)

    def __init__(self, server):
        self.server, self.namespace = server, f"bulk-{next(self.numbers)}"
        assert server.post(f"/{CORE}/namespaces", {"metadata": {"name": self.namespace}}).status == 201
        owner, other, owned = (Recorded(server, self.namespace, kind, name) for kind, name in (
            ("Service", "owner"), ("ConfigMap", "other"), ("ConfigMap", "owned")))
        owner.make(spec={"ports": [{"port": 80}]})
        other.make(data={"x": "1"})
        owned.make(metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "owner", "uid": owner.get()["metadata"]["uid"]}]})
        self.all = [owned, other, owner]
        for it in self.all:
            it.delete()

    def there(self):
        """Which exist; and whether the owned one has the owner that there is now."""
        answers = {it.name: self.server.get(it.path) for it in self.all}
        assert {answer.status for answer in answers.values()} <= {200, 404}, answers
        found = {name: answer.json["metadata"] for name, answer in answers.items() if answer.status == 200}
        uids = [one["uid"] for one in found.get("owned", {}).get("ownerReferences", [])]
        return set(found), bool(uids) and uids == [found.get("owner", {}).get("uid")]


@pytest.mark.long
def test_each_request_of_a_restore_in_bulk_fails(world):
    """The others go on; each failure is reported, and none of them is taken for an absence."""
    retry_until(lambda: world.server.get(f"/{CORE}/namespaces/default").status == 200, "the first namespaces")

    def run(subject, turn):
        world.between.fault = turn
        timeout = ["--request-timeout=1s"] if turn.way == NO_ANSWER else []
        return processes.run([processes.BIN, "kubectl", "restore", "--all", "-y", "-n", subject.namespace, *timeout, "--kubeconfig", world.config])

    subject, whole = RestoredWithItsOwner(world.server), Turn()
    done = run(subject, whole)
    assert done.returncode == 0 and subject.there() == ({"owner", "other", "owned"}, True), done
    ways, n_fired = itertools.cycle(COMMAND_WAYS), 0
    for at in range(1, len(whole.seen) + 1):
        for way in itertools.islice(ways, 2 if SWEEPS_ALL else 1):
            subject, turn = RestoredWithItsOwner(world.server), Turn(at, way)
            done = run(subject, turn)
            names, is_linked = subject.there()
            said = f"{turn.fired}: {done}: {names}"
            n_fired += turn.fired is not None
            assert done.returncode in (0, 1), said
            assert done.returncode == 1 or (len(names) == 3 and is_linked), said
            assert done.returncode == 0 or done.stderr.strip(), said
            is_of_one = turn.fired and any(name in whole.seen[at - 1][1] for name in ("owner", "other", "owned"))
            assert not is_of_one or len(names) >= 2, f"the others go on: {said}"
            assert not [text for text in ABSENT if text in done.stderr], said
    assert n_fired > 0.5 * len(whole.seen)


def judge(done, turn, state, subject):
    """Of a command of which a request has failed. It has asked again, or has not had its answer: but for the number that a Recorder gives."""
    said = f"{turn.fired}: {done}"
    assert done.returncode in (0, 1), said
    assert state in (subject.before, subject.after), f"{said}: {state}"
    if done.returncode == 0:
        assert state == subject.after, said
        failed = turn.seen[turn.at - 1]
        assert failed in turn.seen[turn.at:] or failed[1].endswith("/recorders"), said
    else:
        assert done.stderr.strip() and not done.stdout, said
        assert not [text for text in ABSENT if text in done.stderr], said


@pytest.mark.parametrize("kind", [Undone, UndoneToTheLast, UndoneByItsOwn, Restored], ids=lambda kind: kind.__name__.lower())
@pytest.mark.long
def test_each_request_of_a_command_fails(world, kind):
    retry_until(lambda: world.server.get(f"/{CORE}/namespaces/default").status == 200, "the first namespaces")

    def run(subject, turn):
        command, *more = kind.arguments
        world.between.fault = turn
        timeout = ["--request-timeout=1s"] if turn.way == NO_ANSWER else []
        return processes.run([processes.BIN, "kubectl", command, f"cm/{subject.name}", *more, *timeout, "--kubeconfig", world.config])

    subject, whole = kind(world.server), Turn()
    done = run(subject, whole)
    assert done.returncode == 0 and subject.state() == subject.after, done
    turns, n_fired = itertools.cycle(COMMAND_WAYS), 0
    for at in range(1, len(whole.seen) + 1):
        for way in itertools.islice(turns, 4 if SWEEPS_ALL else 2):
            subject, turn = kind(world.server), Turn(at, way)
            done, state = run(subject, turn), subject.state()
            if not turn.fired:
                assert done.returncode == 0 and state == subject.after, done
                continue
            n_fired += 1
            judge(done, turn, state, subject)
            if state == subject.before:
                again = run(subject, Turn())
                assert again.returncode == 0 and subject.state() == subject.after, f"{turn.fired}, and again: {again}"
    assert n_fired > 0.5 * len(whole.seen)


def test_each_request_of_an_import_fails(world, etcd):
    """From another cluster, in pages. Less than all is never all."""
    n_objects, target = 5, etcd()
    for n in range(n_objects):
        made = world.server.post(f"/{V1}/namespaces/default/providers", {"metadata": {"name": f"p-{n}"}, "spec": {"data": {"n": n}}})
        assert made.status == 201, made
    prefixes = (f"/run-{n}" for n in itertools.count(1))

    def run(prefix, turn):
        world.between.fault = turn
        return processes.run([processes.BIN, "import", "--from-kubeconfig", world.config, "--resources=providers.annals.dev", "--create-namespaces",
                              "--etcd-servers", target.endpoint, "--etcd-prefix", prefix])

    def imported(prefix):
        return len(target.ctl("get", "--prefix", f"{prefix}/objects/annals.dev/providers/", "--keys-only").split())

    whole, prefix = Turn(), next(prefixes)
    done = run(prefix, whole)
    assert done.returncode == 0 and imported(prefix) == n_objects, done
    assert whole.seen
    for at in range(1, len(whole.seen) + 1):
        for way in WAYS:
            turn, prefix = Turn(at, way), next(prefixes)
            done = run(prefix, turn)
            if not turn.fired or done.returncode == 0:
                assert done.returncode == 0 and imported(prefix) == n_objects, f"{turn.fired}: {done}"
                continue
            assert done.returncode == 1 and done.stderr.strip() and imported(prefix) == 0, f"{turn.fired}: {done}"
            assert not [text for text in ABSENT if text in done.stderr + done.stdout], f"{turn.fired}: {done}"
            again = run(prefix, Turn())
            assert again.returncode == 0 and imported(prefix) == n_objects, f"{turn.fired}, and again: {again}"
