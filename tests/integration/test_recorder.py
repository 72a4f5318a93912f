"""The recording controller: each change of an object that a Recorder names is in its History, once and in order."""

import base64
import itertools
import json
import os
import shutil
import tempfile

import metrics
import processes
import pytest

from between import Between
from processes import retry_until

pytestmark = pytest.mark.long_file

CORE = "/api/v1"
V1 = "/apis/annals.dev/v1"
RECORDERS = f"{V1}/recorders"


class World:
    """An etcd, and an `annals up` on it that may be killed and started again."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="annals-", dir="/tmp")
        self.etcd = processes.Etcd(f"{self.dir}/etcd")
        self.etcd.is_shared = True
        self.start()

    def start(self):
        self.server = processes.Up(f"{self.dir}/data", f"--etcd-servers={self.etcd.endpoint}")
        self.server.is_shared = True

    def close(self):
        status = self.server.stop()
        assert status == 0, self.server.stderr.text[-3000:]
        assert not self.server.troubles()
        self.etcd.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture(scope="module")
def world():
    found = World()
    yield found
    found.close()


class Room:
    """A namespace, and what a Recorder has recorded in it."""

    numbers = itertools.count(1)

    def __init__(self, world, name=None, **labels):
        self.world = world
        self.name = name or f"room-{next(self.numbers)}"
        self.recorders = []
        self.send("post", f"{CORE}/namespaces", {"metadata": {"name": self.name, "labels": {"room": self.name, **labels}}})

    @property
    def server(self):
        return self.world.server

    def send(self, verb, path, *arguments, **more):
        answer = getattr(self.server, verb)(path, *arguments, **more)
        assert answer.status in (200, 201), answer
        return answer.json

    def record(self, *resources, group="", name=None, **spec):
        """What is in this namespace, unless a selector is given."""
        name = name or self.name
        rules = [{"groups": [group], "resources": list(resources)}]
        spec = {"namespaceSelector": {"matchLabels": {"room": self.name}}, "resources": rules, **spec}
        self.send("post", RECORDERS, {"metadata": {"name": name}, "spec": spec})
        self.recorders.append(name)
        self.await_recording(name)
        return name

    def recorder(self, name=None):
        return self.send("get", f"{RECORDERS}/{name or self.name}")

    def await_recording(self, name=None):
        def is_recording():
            found = self.recorder(name)
            status = found.get("status", {})
            return (status.get("observedGeneration") == found["metadata"]["generation"]
                    and [c["status"] for c in status.get("conditions", []) if c["type"] == "Recording"] == ["True"])
        retry_until(is_recording, "the recorder follows")

    def path(self, name=None, resource="configmaps"):
        return f"{CORE}/namespaces/{self.name}/{resource}" + (f"/{name}" if name else "")

    def make(self, name="web", resource="configmaps", labels=None, **content):
        content = content or {"data": {"a": "1"}}
        return self.send("post", self.path(resource=resource), {"metadata": {"name": name, "labels": labels or {}}, **content})

    def change(self, name="web", resource="configmaps", **patch):
        return self.send("patch", self.path(name, resource), patch)

    def remove(self, name="web", resource="configmaps"):
        self.send("delete", self.path(name, resource))

    def find(self, name="web", kind="ConfigMap", namespace=None):
        found = self.send("get", f"{V1}/namespaces/{namespace or self.name}/histories"
                          f"?fieldSelector=spec.subject.kind={kind},spec.subject.name={name}")["items"]
        assert len(found) <= 1
        return found[0] if found else None

    def changes(self, name="web", kind="ConfigMap"):
        found = self.find(name, kind)
        return (found or {}).get("status", {}).get("changes", [])

    def types(self, name="web", kind="ConfigMap"):
        return [change["type"] for change in self.changes(name, kind)]

    def await_types(self, *types, name="web", kind="ConfigMap"):
        """Its changes, when there are so many."""
        retry_until(lambda: len(self.types(name, kind)) >= len(types), f"the changes of {name} are {types}")
        assert self.types(name, kind) == list(types)
        return self.changes(name, kind)

    def revision(self, name):
        return self.send("get", f"{V1}/namespaces/{self.name}/controllerrevisions/{name}")

    def states(self, name="web", kind="ConfigMap"):
        """What was recorded, change by change; None of a deletion."""
        return [self.revision(c["revision"])["data"] if "revision" in c else None for c in self.changes(name, kind)]

    def leave(self):
        for name in self.recorders:
            self.server.delete(f"{RECORDERS}/{name}")
        self.server.delete(f"{CORE}/namespaces/{self.name}")


@pytest.fixture
def room(world):
    found = Room(world)
    yield found
    found.leave()


def data(states):
    return [state and state.get("data") for state in states]


# ---- what is recorded ----

def test_each_change_of_a_state_is_one_change(room):
    room.record("configmaps")
    room.make()
    room.change(data={"a": "2", "b": "1"})
    room.change(metadata={"labels": {"l": "1"}})
    created, changed, labelled = room.await_types("Created", "Changed", "Changed")
    assert "paths" not in created and changed["paths"] == ["/data/a", "/data/b"] and labelled["paths"] == ["/metadata/labels"]
    assert data(room.states()) == [{"a": "1"}, {"a": "2", "b": "1"}, {"a": "2", "b": "1"}]
    assert room.states()[2] == {"apiVersion": "v1", "kind": "ConfigMap",
                                "metadata": {"name": "web", "namespace": room.name, "labels": {"l": "1"}},
                                "data": {"a": "2", "b": "1"}}
    history = room.find()
    assert history["spec"]["subject"] == {"group": "", "kind": "ConfigMap", "namespace": room.name, "name": "web"}
    live = room.send("get", room.path("web"))["metadata"]
    assert history["status"]["uid"] == live["uid"] and labelled["resourceVersion"] == live["resourceVersion"]
    owner = room.revision(labelled["revision"])["metadata"]["ownerReferences"]
    assert [(o["kind"], o["uid"], o["controller"]) for o in owner] == [("History", history["metadata"]["uid"], True)]


class Asked:
    """The requests that a recorder makes to record, since this was made. Nobody else makes them in these tests. The garbage collector
    gets Histories, too, so these do not count."""

    KINDS = [("POST", "histories"), ("GET", "controllerrevisions"), ("POST", "snapshots"), ("POST", "recordings")]

    def __init__(self, room):
        self.room = room
        self.before = self.read()

    def read(self):
        found = metrics.Metrics(self.room.server)
        return {(verb, kind): found.sum("apiserver_request_total", verb=verb, resource=kind) for verb, kind in self.KINDS}

    def __call__(self):
        return {kind: n - self.before[kind] for kind, n in self.read().items() if n != self.before[kind]}


def test_a_change_costs_one_request(room):
    room.record("configmaps")
    room.await_types("Created", name="kube-root-ca.crt")
    asked = Asked(room)
    room.make()
    types = ["Created"]
    room.await_types(*types)
    for n in range(2, 6):
        room.change(data={"a": str(n)})
        types.append("Changed")
        room.await_types(*types)
    room.remove()
    room.await_types(*types, "Deleted")
    assert asked() == {("POST", "recordings"): 6}


def test_many_changes_that_wait_cost_fewer_requests(room):
    names = [f"web-{n}" for n in range(300)]
    for name in names:
        room.make(name)
    asked = Asked(room)
    room.record("configmaps")
    retry_until(lambda: sum(len(room.changes(name)) for name in names[-8:]) == 8, "the last are recorded")
    retry_until(lambda: len([h for h in room.send("get", f"{V1}/namespaces/{room.name}/histories")["items"] if h["status"].get("changes")])
                == len(names) + 1, "all are recorded")
    found = asked()
    assert list(found) == [("POST", "recordings")] and found["POST", "recordings"] < len(names) / 2


def test_who_and_why(room):
    room.record("configmaps")
    room.send("post", room.path() + "?fieldManager=maker", {"metadata": {"name": "web"}, "data": {"a": "1", "b": "1"}})
    room.send("patch", room.path("web") + "?fieldManager=scaler",
              {"data": {"a": "2"}, "metadata": {"annotations": {"kubernetes.io/change-cause": "more load"}}})
    created, changed = room.await_types("Created", "Changed")
    assert (created["managers"], changed["managers"], changed["cause"]) == (["maker"], ["scaler"], "more load")
    assert changed["paths"] == ["/data/a"]


def test_a_state_that_comes_back_is_a_change_and_no_new_revision(room):
    room.record("configmaps")
    room.make()
    room.change(data={"a": "2"})
    room.await_types("Created", "Changed")
    room.change(data={"a": "1"})
    first, second, third = room.await_types("Created", "Changed", "Changed")
    assert first["revision"] == third["revision"] != second["revision"]
    assert room.find()["status"]["revisions"] == 2


def test_a_status_is_no_state(room):
    room.record("pods")
    room.make(resource="pods", spec={"containers": [{"name": "c", "image": "i:1"}]})
    room.await_types("Created", kind="Pod")
    room.send("patch", room.path("web/status", "pods"), {"status": {"message": "no change"}})
    room.change(resource="pods", metadata={"annotations": {"deployment.kubernetes.io/revision": "7"}})
    room.change(resource="pods", metadata={"annotations": {"n": "1"}})
    changes = room.await_types("Created", "Changed", kind="Pod")
    assert changes[1]["paths"] == ["/metadata/annotations"]


def test_deletion_and_what_comes_after_it(room):
    room.record("configmaps")
    room.make()
    room.await_types("Created")
    room.remove()
    room.await_types("Created", "Deleted")
    history = room.find()
    assert history["status"]["deletionTime"] and history["status"]["revisions"] == 1
    room.make(data={"a": "9"})
    room.await_types("Created", "Deleted", "Created")
    again = room.find()
    assert again["metadata"]["uid"] == history["metadata"]["uid"] and "deletionTime" not in again["status"]
    assert again["status"]["uid"] == room.send("get", room.path("web"))["metadata"]["uid"]
    assert data(room.states()) == [{"a": "1"}, None, {"a": "9"}]


def test_the_same_state_with_another_uid_is_recorded(room):
    room.record("configmaps")
    room.make()
    room.remove()
    room.make()
    changes = room.await_types("Created", "Deleted", "Created")
    assert changes[0]["revision"] == changes[2]["revision"]


def test_what_was_there_before(room):
    room.make("old")
    room.record("configmaps")
    room.await_types("Created", name="old")


# ---- what is left out, and what is hidden ----

SECRET = "a secret that nobody else knows"


def stored(world):
    """Keys and values of etcd."""
    answer = json.loads(world.etcd.ctl("get", "", "--prefix", "-w", "json"))
    return [(base64.b64decode(kv["key"]), base64.b64decode(kv.get("value", ""))) for kv in answer["kvs"]]


def test_secrets_are_nowhere_else(room):
    room.record("secrets", "configmaps", redact=["/data/password", "/nested/*/x"])
    first, second = (base64.b64encode(text.encode()).decode() for text in (SECRET, f"another {SECRET}"))
    room.make("s", "secrets", data={"password": first}, type="Opaque")
    room.make("c", data={"password": SECRET, "shown": "open text"})
    room.await_types("Created", name="s", kind="Secret")
    room.change("s", "secrets", data={"password": second})
    changes = room.await_types("Created", "Changed", name="s", kind="Secret")
    assert changes[1]["paths"] == ["/data/password"]
    room.await_types("Created", name="c")
    assert room.states("c")[0]["data"]["shown"] == "open text"
    for state in room.states("s", "Secret") + room.states("c"):
        assert state["data"]["password"].startswith("annals.dev/redacted:")
    own = [f"/{kind}/{room.name}/".encode() for kind in ("secrets", "configmaps")]
    holders = [key for key, value in stored(room.world)
               if any(text.encode() in value for text in (SECRET, first[:32], second[:32]))]
    assert len(holders) == 2 and all(any(part in key for part in own) for key in holders), holders


def test_what_is_ignored_is_no_change(room):
    room.record("configmaps", ignore=["/data/counter", "/metadata/labels/*"])
    room.make(labels={"l": "1"}, data={"counter": "1"})
    room.await_types("Created")
    room.change(data={"counter": "2"}, metadata={"labels": {"l": "2"}})
    room.change(data={"counter": "3", "real": "1"})
    room.await_types("Created", "Changed")
    assert data(room.states()) == [None, {"real": "1"}]
    assert room.find()["status"]["ignore"] == ["/data/counter", "/metadata/labels/*"]


def test_a_state_that_is_too_big_is_a_digest(room):
    room.record("configmaps", maxObjectBytes=1024)
    room.make(data={"big": "x" * 2000})
    room.await_types("Created")
    room.change(data={"big": "y" * 2000})
    room.await_types("Created", "Changed")
    room.change(data={"big": "small"})
    room.await_types("Created", "Changed", "Changed")
    one, two, three = room.states()
    assert one["annals.dev/omitted"]["bytes"] > 2000 and one["annals.dev/omitted"]["digest"] != two["annals.dev/omitted"]["digest"]
    assert "data" not in one and three["data"] == {"big": "small"}


def test_no_more_revisions_than_the_limit(room):
    room.record("configmaps", historyLimit=2)
    room.make(data={"n": "0"})
    for n in range(1, 6):
        room.await_types(*(["Created"] + ["Changed"] * (n - 1)))
        room.change(data={"n": str(n)})
    changes = room.await_types("Created", *["Changed"] * 5)
    retry_until(lambda: room.find()["status"]["revisions"] == 3, "the others are trimmed")
    history = room.find()
    owned = room.send("get", f"{V1}/namespaces/{room.name}/controllerrevisions"
                      f"?fieldSelector=controller.uid={history['metadata']['uid']}")["items"]
    assert sorted(r["data"]["data"]["n"] for r in owned) == ["3", "4", "5"]
    assert history["status"]["revision"]["name"] == changes[-1]["revision"]


# ---- which objects ----

def test_selectors_choose_and_the_first_recorder_by_name_counts(room):
    room.record("configmaps", name=f"{room.name}-a", objectSelector={"matchLabels": {"app": "a"}}, ignore=["/data/x"])
    room.record("configmaps", name=f"{room.name}-b", objectSelector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    room.make("none")
    room.make("a", labels={"app": "a"}, data={"x": "1", "y": "1"})
    room.make("b", labels={"app": "b"}, data={"x": "1", "y": "1"})
    room.await_types("Created", name="a")
    room.await_types("Created", name="b")
    assert data(room.states("a") + room.states("b")) == [{"y": "1"}, {"x": "1", "y": "1"}]
    room.change("none", metadata={"labels": {"app": "late"}})
    room.await_types("Created", name="none")


def overridden(room, name):
    """The condition's message; None: it is not there."""
    conditions = room.recorder(name).get("status", {}).get("conditions", [])
    return next((c["message"] for c in conditions if c["type"] == "Overridden"), None)


def test_a_recorder_in_whose_place_another_one_records_says_so(room):
    """One that may record nothing but what it redacts, and sorts first, does not silence the other without a word."""
    later = room.record("configmaps", "secrets", name=f"{room.name}-b", secretData="Record")
    room.make(data={"a": "1"})
    room.await_types("Created")
    assert overridden(room, later) is None
    first = room.record("configmaps", name=f"{room.name}-a", redact=["/data/*"])
    said = f"Recorders whose names sort first record objects that this one selects: configmaps by {first}"
    retry_until(lambda: overridden(room, later) == said, "the second one says who records in its place")
    assert overridden(room, first) is None

    def events():
        found = room.send("get", f"{CORE}/namespaces/default/events?fieldSelector=involvedObject.name={later},reason=Overridden")["items"]
        return [(event["type"], event["message"]) for event in found]

    retry_until(events, "an event of the second one")
    assert events() == [("Warning", f"Recorder {first} records configmaps that Recorder {later} selects as well, because its name sorts first")]
    # The rules of each count where it records, and nowhere else.
    room.change(data={"a": "2"})
    retry_until(lambda: "redacted" in str(room.states()[-1]["data"]), "the first one's rules count")
    room.make("s", "secrets", stringData={"p": "q"})
    room.await_types("Created", name="s", kind="Secret")
    assert room.states("s", "Secret")[0]["data"] == {"p": base64.b64encode(b"q").decode()}
    room.send("delete", f"{RECORDERS}/{first}")
    retry_until(lambda: overridden(room, later) is None, "it records for itself again")


def test_an_object_that_leaves_the_selector_says_so(room):
    room.record("configmaps", objectSelector={"matchLabels": {"team": "a"}})
    room.make(labels={"team": "a"})
    room.await_types("Created")
    room.change(metadata={"labels": {"team": "b"}})
    room.await_types("Created", "Released")
    room.change(data={"a": "unseen"})
    room.change(data={"b": "2"})
    room.change(metadata={"labels": {"team": "a"}})
    created, released, adopted = room.await_types("Created", "Released", "Adopted")
    assert "revision" not in released and "digest" not in released
    assert released["resourceVersion"] and created["user"]
    assert "user" not in adopted, "nobody knows who wrote what was not recorded"
    assert adopted["paths"] == ["/data/a", "/data/b"]
    assert data([room.revision(adopted["revision"])["data"]]) == [{"a": "unseen", "b": "2"}]
    room.change(data={"a": "3"})
    room.await_types("Created", "Released", "Adopted", "Changed")
    room.change(metadata={"labels": {"team": "b"}})
    room.await_types("Created", "Released", "Adopted", "Changed", "Released")
    before = room.find()["metadata"]["resourceVersion"]
    room.server.kill()
    room.world.start()
    room.make("other", labels={"team": "a"})
    room.await_types("Created", name="other")
    assert room.find()["metadata"]["resourceVersion"] == before
    room.remove()
    room.await_types("Created", "Released", "Adopted", "Changed", "Released", "Deleted")
    env = {**os.environ, "KUBECONFIG": f"{room.world.dir}/data/kubeconfig"}
    for words in (["verify", "configmap/web"], ["log", "-p"], ["history", "configmap/web"]):
        done = processes.run([processes.BIN, "kubectl", *words, "--namespace", room.name], env=env)
        assert done.returncode == 0, done
    assert "no Recorder selects the object" in processes.run(
        [processes.BIN, "kubectl", "log", "-p", "--namespace", room.name], env=env).stdout


def test_a_recorder_that_selects_less_says_what_it_left(room):
    room.record("configmaps")
    room.make()
    room.make("kept", labels={"team": "a"})
    for name in ("web", "kept"):
        room.await_types("Created", name=name)
    room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"objectSelector": {"matchLabels": {"team": "a"}}}})
    room.await_types("Created", "Released")
    room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"objectSelector": None}})
    room.await_types("Created", "Released", "Adopted")
    room.await_types("Created", name="kept")


def test_namespaces_by_their_labels(room):
    room.record("configmaps", namespaceSelector={"matchLabels": {"record": room.name}})
    room.make()
    assert room.find() is None
    room.send("patch", f"{CORE}/namespaces/{room.name}", {"metadata": {"labels": {"record": room.name}}})
    room.await_types("Created")
    new = Room(room.world, f"{room.name}-new", record=room.name)
    new.make()
    new.await_types("Created")
    new.leave()


def test_objects_without_a_namespace_have_their_history_where_the_recorder_says(room):
    room.record("nodes", namespace=room.name, objectSelector={"matchLabels": {"of": room.name}})
    room.send("post", f"{CORE}/nodes", {"metadata": {"name": f"node.{room.name}", "labels": {"of": room.name}}})
    retry_until(lambda: room.types(f"node.{room.name}", "Node") == ["Created"], "the node is recorded")
    assert "namespace" not in room.find(f"node.{room.name}", "Node")["spec"]["subject"]
    room.send("delete", f"{CORE}/nodes/node.{room.name}")
    room.await_types("Created", "Deleted", name=f"node.{room.name}", kind="Node")


def test_status_tells_how_it_goes(room):
    room.send("post", RECORDERS, {"metadata": {"name": room.name}, "spec": {
        "resources": [{"groups": [""], "resources": ["configmaps"]}], "objectSelector": {"matchLabels": {"of": room.name}}}})
    room.recorders.append(room.name)
    room.await_recording()
    for name in "abc":
        room.make(name, labels={"of": room.name})
    room.change("a", data={"a": "2"})

    def row():
        return [r for r in room.recorder()["status"]["resources"] if r["resource"] == "configmaps"][0]
    retry_until(lambda: (row()["objects"], row()["revisions"]) == (3, 4), "the status counts")
    found = row()
    found.pop("recordedResourceVersion", None)
    assert found.pop("bytes") > 0
    assert found == {"group": "", "version": "v1", "resource": "configmaps", "objects": 3, "revisions": 4, "refused": 0}


def test_one_of_several_groups_has_the_resource(room):
    """As in RBAC's rules: nobody means that each group has each resource."""
    room.record(resources=[{"groups": ["", "apps"], "resources": ["configmaps", "statefulsets"]}])
    rows = room.recorder()["status"]["resources"]
    assert [(row["group"], row["resource"]) for row in rows] == [("", "configmaps"), ("apps", "statefulsets")]


# ---- ends and restarts ----

def test_a_restart_writes_nothing(room):
    room.record("configmaps", "secrets")
    names = [f"c{n}" for n in range(5)]
    for name in names:
        room.make(name)
        room.await_types("Created", name=name)
    before = {name: room.find(name)["metadata"]["resourceVersion"] for name in names}
    room.server.kill()
    room.world.start()
    room.make("after")
    room.await_types("Created", name="after")
    assert {name: room.find(name)["metadata"]["resourceVersion"] for name in names} == before


def recorded_to(room, resource="configmaps"):
    rows = [row for row in room.recorder().get("status", {}).get("resources", []) if row["resource"] == resource]
    return int(rows[0].get("recordedResourceVersion", 0)) if rows else 0


def test_what_happened_meanwhile_is_one_change(room):
    """The server restarts too, so it has no events from before."""
    room.record("configmaps")
    for name in ("changed", "gone", "same"):
        room.make(name)
        room.await_types("Created", name=name)
    last = max(int(room.changes(name)[-1]["resourceVersion"]) for name in ("changed", "gone", "same"))
    retry_until(lambda: recorded_to(room) >= last, "the Recorder says up to where all is recorded")
    room.world.server.stop()
    alone = processes.Up(f"{room.world.dir}/data", f"--etcd-servers={room.world.etcd.endpoint}", processes.NO_CONTROLLERS)
    try:
        room.world.server = alone
        room.change("changed", data={"a": "2"})
        room.change("changed", data={"a": "3"})
        room.remove("gone")
        room.make("new")
        room.make("short")
        room.remove("short")
    finally:
        alone.stop()
        room.world.start()
    room.await_types("Created", "Changed", name="changed")
    room.await_types("Created", "Deleted", name="gone")
    room.await_types("Created", name="new")
    room.await_types("Created", name="same")
    assert data(room.states("changed")) == [{"a": "1"}, {"a": "3"}]
    for name in ("changed", "gone"):
        before, after = room.changes(name)
        assert after["skipped"] and after["gap"] == {"resourceVersion": before["resourceVersion"], "time": before["time"]}
        assert "skipped" not in before
    assert not [change for change in room.changes("same") if "skipped" in change]
    # Nobody knows whether the new object was changed in the gap. Of the one that came and went there is no trace.
    new, = room.changes("new")
    assert new["skipped"] and new["gap"].keys() == {"resourceVersion", "moreAuthors"} and last <= int(new["gap"]["resourceVersion"])
    assert int(new["gap"]["resourceVersion"]) < int(new["resourceVersion"]) and not room.changes("short")


def test_a_new_recorder_has_skipped_nothing(room):
    """It lists what was there before it: no gap, as nothing was recorded before."""
    room.make("before")
    room.change("before", data={"a": "2"})
    room.record("configmaps")
    assert not [change for change in room.await_types("Created", name="before") if "skipped" in change]


def recording(room, name=None):
    conditions = room.recorder(name).get("status", {}).get("conditions", [])
    return next((c["status"], c["reason"]) for c in conditions if c["type"] == "Recording")


def test_a_gap_is_reported_everywhere(room):
    room.record("statefulsets", group="apps")
    spec = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 0, "serviceName": "web",
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}
    sets = f"/apis/apps/v1/namespaces/{room.name}/statefulsets"
    room.send("post", sets, {"metadata": {"name": "web"}, "spec": spec})
    room.await_types("Created", kind="StatefulSet")
    room.world.server.stop()
    alone = processes.Up(f"{room.world.dir}/data", f"--etcd-servers={room.world.etcd.endpoint}", processes.NO_CONTROLLERS)
    try:
        for n in range(5):
            assert alone.patch(f"{sets}/web", {"spec": {"template": {"metadata": {"annotations": {"n": str(n)}}}}}).status == 200
    finally:
        alone.stop()
        room.world.start()
    created, changed = room.await_types("Created", "Changed", kind="StatefulSet")
    assert changed["skipped"] and changed["gap"]["states"] == 4
    assert (created["generation"], changed["generation"]) == (1, 6)
    retry_until(lambda: recording(room) == ("False", "Skipped"), "the Recorder says so")
    events = "/api/v1/namespaces/default/events?fieldSelector=reason=StatesSkipped"
    retry_until(lambda: room.send("get", events)["items"], "there is an event")
    env = {**os.environ, "KUBECONFIG": f"{room.world.dir}/data/kubeconfig"}
    for words in (["log"], ["history", "statefulset/web"]):
        told = processes.run([processes.BIN, "kubectl", *words, "--namespace", room.name], env=env)
        assert "at least 4 states skipped before" in told.stdout, told


def test_a_recorder_has_skipped_nothing_before_it_was_made(room):
    first = room.record("secrets")
    room.make("s", "secrets", data={"a": "MQ=="})
    room.await_types("Created", name="s", kind="Secret")
    room.server.delete(f"{RECORDERS}/{first}")
    for n in range(50):
        room.change("s", "secrets", data={"a": base64.b64encode(str(n).encode()).decode()})
    second = room.record("secrets", name=f"{room.name}-again")
    newest = room.send("get", room.path("s", "secrets"))["metadata"]["resourceVersion"]
    retry_until(lambda: room.changes("s", "Secret")[-1]["resourceVersion"] == newest, "all is recorded")
    assert room.changes("s", "Secret")[-1]["skipped"]
    assert recording(room, second) == ("True", "Following")
    events = f"/api/v1/namespaces/default/events?fieldSelector=reason=StatesSkipped,involvedObject.name={second}"
    assert room.send("get", events)["items"] == []


class Apart(World):
    """The recorder is a process of its own, and may die while the server goes on."""

    def start(self):
        self.server = processes.Up(f"{self.dir}/data", f"--etcd-servers={self.etcd.endpoint}", processes.NO_CONTROLLERS)
        self.start_recorder()

    def start_recorder(self, *flags):
        self.recorder = processes.Process([processes.BIN, "controllers", "--kubeconfig", f"{self.dir}/data/kubeconfig",
                                           "--controllers=recorder", *flags])
        return self.recorder

    def close(self):
        assert self.recorder.stop() == 0
        super().close()


@pytest.fixture
def apart():
    world = Apart()
    room = Room(world)
    yield room
    room.leave()
    world.close()


@pytest.mark.parametrize("mib, is_whole", [(1, False), (16, True)])
def test_the_queue_holds_what_its_flag_says(folder, serve, etcd, certificates, mib, is_whole):
    """4 MiB of states wait, while the server refuses to record them; when another namespace's change is recorded, all of them were seen."""
    server = serve(etcd().endpoint)
    retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    assert server.post(f"{CORE}/namespaces", {"metadata": {"name": "other"}}).status == 201
    assert server.post(RECORDERS, {"metadata": {"name": "all"}, "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}], "historyLimit": 100}}).status == 201
    between = Between(server, certificates)
    config = processes.write_kubeconfig(folder / "kubeconfig", between.url, certificates)
    recorder = processes.Process([processes.BIN, "controllers", "--kubeconfig", config, "--controllers=recorder", f"--recorder-queue-mib={mib}"])

    def changes(namespace):
        items = server.get(f"{V1}/namespaces/{namespace}/histories?fieldSelector=spec.subject.name=c").json["items"]
        return items[0]["status"].get("changes", []) if items and "status" in items[0] else []

    try:
        assert server.post(f"{CORE}/namespaces/default/configmaps", {"metadata": {"name": "c"}, "data": {"n": "0"}}).status == 201
        retry_until(lambda: len(changes("default")) == 1, "the first state")
        between.fault = lambda _, path: "503" if "/namespaces/default/" in path and path.endswith("/recordings") else None
        for n in range(1, 41):
            assert server.patch(f"{CORE}/namespaces/default/configmaps/c", {"data": {"n": str(n), "x": "x" * 100_000}}).status == 200
        assert server.post(f"{CORE}/namespaces/other/configmaps", {"metadata": {"name": "c"}}).status == 201
        retry_until(lambda: changes("other"), "the other namespace's change")
        between.fault = lambda *_: None
        retry_until(lambda: changes("default")[-1].get("paths", [""])[0] == "/data/n" and server.get(
            f"{V1}/namespaces/default/controllerrevisions/{changes('default')[-1]['revision']}").json["data"]["data"]["n"] == "40", "the last state")
        found = changes("default")
        assert (len(found) == 41) == is_whole and ("skipped" in found[-1]) != is_whole, found
    finally:
        recorder.kill()
        between.close()


def test_a_recorder_that_was_killed_skips_no_state(apart):
    room = apart
    room.record("configmaps", historyLimit=100)
    for name in ("changed", "gone", "replaced", "same"):
        room.make(name)
        room.await_types("Created", name=name)
    last = max(int(room.changes(name)[-1]["resourceVersion"]) for name in ("changed", "gone", "replaced", "same"))
    retry_until(lambda: recorded_to(room) >= last, "the Recorder says up to where all is recorded")
    room.world.recorder.kill()
    for n in range(2, 40):
        room.change("changed", data={"a": str(n)})
    room.change("gone", data={"a": "2"})
    for name in ("gone", "replaced"):
        room.remove(name)
    room.make("replaced", data={"a": "2"})
    room.make("new")
    room.make("short")
    room.remove("short")
    room.world.start_recorder()
    room.await_types("Created", *["Changed"] * 38, name="changed")
    room.await_types("Created", "Changed", "Deleted", name="gone")
    room.await_types("Created", "Deleted", "Created", name="replaced")
    room.await_types("Created", "Deleted", name="short")
    room.await_types("Created", name="new")
    room.await_types("Created", name="same")
    assert [state["a"] for state in data(room.states("changed"))] == [str(n) for n in range(1, 40)]
    assert not [change for name in ("changed", "gone", "replaced", "short", "new") for change in room.changes(name) if "skipped" in change]


def test_a_recorder_that_is_killed_at_any_time_skips_no_state(apart):
    room = apart
    room.record("configmaps", historyLimit=100)
    room.make(data={"n": "0"})
    for n in range(1, 41):
        room.change(data={"n": str(n)})
        if n % 8 == 0:
            room.world.recorder.kill()
            room.world.start_recorder()
    retry_until(lambda: len(room.changes()) >= 41, "all states are recorded")
    assert [state["n"] for state in data(room.states())] == [str(n) for n in range(41)]


def test_the_next_leader_skips_no_state(apart):
    """Of 350 states of 7 objects, while two leaders are killed."""
    quick = ["--leader-elect", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]
    room, names = apart, [f"c{n}" for n in range(7)]
    assert room.world.recorder.stderr.wait("start: running")  # and so it hears a signal
    assert room.world.recorder.stop() == 0
    recorders = [room.world.start_recorder(*quick)]
    room.record("configmaps", historyLimit=100)
    recorders += [room.world.start_recorder(*quick) for _ in range(2)]
    for n in range(50):
        for name in names:
            (room.change if n else room.make)(name, data={"n": str(n)})
        if n in (15, 30):
            recorders.pop(0).kill()
            if n == 30:
                retry_until(lambda: room.changes("c0")[-1]["number"] > 16, "another one leads")
    retry_until(lambda: all(len(room.changes(name)) == 50 for name in names), "all states are recorded")
    for name in names:
        assert [state["n"] for state in data(room.states(name))] == [str(n) for n in range(50)]
    for other in recorders[:-1]:
        assert other.stop() == 0


def test_two_recorders_at_work_record_each_state_once(apart):
    """Without election, while one of them is killed."""
    room, names = apart, [f"c{n}" for n in range(5)]
    room.record("configmaps", historyLimit=100)
    first = room.world.recorder
    room.world.start_recorder()
    for n in range(40):
        for name in names:
            (room.change if n else room.make)(name, data={"n": str(n)})
        if n == 20:
            first.kill()
    retry_until(lambda: all(len(room.changes(name)) >= 40 for name in names), "all states are recorded")
    for name in names:
        assert [state["n"] for state in data(room.states(name))] == [str(n) for n in range(40)]
        assert [change["number"] for change in room.changes(name)] == list(range(1, 41))
        assert not [change for change in room.changes(name) if "skipped" in change or change["user"] != room.changes(name)[0]["user"]]


def test_how_much_is_recorded_grows_only_with_what_is_written(room):
    room.record("configmaps")
    room.make()
    room.await_types("Created")
    retry_until(lambda: recorded_to(room) >= int(room.changes()[-1]["resourceVersion"]), "it is said")
    before = room.recorder()["metadata"]["resourceVersion"]
    for n in range(30):
        room.change(data={"n": str(n)})
    retry_until(lambda: recorded_to(room) >= int(room.changes()[-1]["resourceVersion"]) and len(room.changes()) == 31, "it is said again")
    assert room.recorder()["metadata"]["resourceVersion"] != before


def test_a_recorder_that_is_killed_writes_nothing_twice(room):
    room.record("configmaps", historyLimit=100)
    room.make(data={"n": "0"})
    for n in range(1, 31):
        room.change(data={"n": str(n)})
        if n % 10 == 0:
            room.server.kill()
            room.world.start()
    retry_until(lambda: data(room.states())[-1:] == [{"n": "30"}], "the last state is recorded")
    seen = [int(state["n"]) for state in data(room.states())]
    assert seen == sorted(set(seen)) and seen[-1] == 30


def test_a_history_that_outlived_its_object_goes(room):
    room.record("configmaps", keepDeleted="1s")
    room.make()
    room.await_types("Created")
    room.remove()
    retry_until(lambda: room.find() is None, "the history is gone")


def test_a_history_that_was_deleted_begins_anew(room):
    room.record("configmaps")
    room.make()
    room.await_types("Created")
    history = room.find()
    room.send("delete", f"{V1}/namespaces/{room.name}/histories/{history['metadata']['name']}")
    retry_until(lambda: (room.find() or history)["metadata"]["uid"] != history["metadata"]["uid"] and room.types() == ["Created"],
                "another history is there")


def test_other_rules_are_carried_out_at_once(room):
    room.record("configmaps")
    room.make(data={"a": "1", "b": "1"})
    room.await_types("Created")
    room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"ignore": ["/data/b"]}})
    created, change = room.await_types("Created", "Rerecorded")
    assert nobodys(change) and change["resourceVersion"] == created["resourceVersion"]
    assert data(room.states()) == [{"a": "1", "b": "1"}, {"a": "1"}]
    room.change(data={"a": "2", "b": "2"})
    *_, change = room.await_types("Created", "Rerecorded", "Changed")
    assert change["paths"] == ["/data/a"] and change["user"] == created["user"]


def nobodys(change):
    return not [key for key in ("user", "managers", "cause", "paths", "skipped") if key in change]


def annals(room, *words):
    env = {**os.environ, "KUBECONFIG": f"{room.world.dir}/data/kubeconfig"}
    done = processes.run([processes.BIN, "kubectl", *words, "--namespace", room.name], env=env)
    assert done.returncode == 0, done
    return done.stdout


def test_other_rules_are_nobodys_change_after_a_write_of_the_status(room):
    """Then the object has a newer version than its last change."""
    room.record("statefulsets", group="apps")
    spec = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 0, "serviceName": "web",
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}
    sets = f"/apis/apps/v1/namespaces/{room.name}/statefulsets"
    made = room.send("post", sets, {"metadata": {"name": "web"}, "spec": spec})
    room.send("patch", f"{sets}/web/status", {"status": {"collisionCount": 3}})
    version = room.send("get", f"{sets}/web")["metadata"]["resourceVersion"]
    assert version != made["metadata"]["resourceVersion"]
    room.await_types("Created", kind="StatefulSet")
    retry_until(lambda: recorded_to(room, "statefulsets") >= int(version), "all is recorded")
    room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"ignore": ["/spec/serviceName"]}})
    [_, change] = room.await_types("Created", "Rerecorded", kind="StatefulSet")
    assert nobodys(change)
    # Rules that changed while no recorder was there.
    room.world.server.stop()
    alone = processes.Up(f"{room.world.dir}/data", f"--etcd-servers={room.world.etcd.endpoint}", processes.NO_CONTROLLERS)
    try:
        room.world.server = alone
        room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"ignore": ["/spec/replicas"]}})
    finally:
        alone.stop()
        room.world.start()
    *_, change = room.await_types("Created", "Rerecorded", "Rerecorded", kind="StatefulSet")
    assert nobodys(change)


def test_another_salt_changes_no_password(room):
    room.record("secrets", salt=base64.b64encode(b"0123456789abcdef").decode())
    room.make(resource="secrets", stringData={"password": "p"})
    room.await_types("Created", kind="Secret")
    room.send("delete", f"{RECORDERS}/{room.name}")
    retry_until(lambda: room.server.get(f"{RECORDERS}/{room.name}").status == 404, "the Recorder is gone")
    room.record("secrets", salt=base64.b64encode(b"fedcba9876543210").decode())
    [_, change] = room.await_types("Created", "Rerecorded", kind="Secret")
    assert nobodys(change)
    assert "nobody changed the object" in annals(room, "log", "-p")
    assert annals(room, "log", "-p").count("password") == 1  # when it was created


def test_a_recorder_that_is_made_again_changes_nothing(room):
    room.record("secrets")
    room.make(resource="secrets", stringData={"password": "p"})
    room.await_types("Created", kind="Secret")
    room.send("delete", f"{RECORDERS}/{room.name}")
    retry_until(lambda: room.server.get(f"{RECORDERS}/{room.name}").status == 404, "the Recorder is gone")
    # An annotation that belongs to no state: the object has another version than its History lists.
    room.send("patch", room.path("web", "secrets"), {"metadata": {"annotations": {"kubernetes.io/change-cause": "none"}}})
    room.record("secrets")
    room.change("web", resource="secrets", stringData={"user": "u"})
    [_, change] = room.await_types("Created", "Changed", kind="Secret")
    assert change["paths"] == ["/data/user"]


def test_undo_does_not_go_back_to_another_form_of_the_same_state(room):
    room.record("configmaps")
    room.make(data={"a": "1", "b": "1"})
    room.await_types("Created")
    room.change(data={"a": "2"})
    room.await_types("Created", "Changed")
    room.send("patch", f"{RECORDERS}/{room.name}", {"spec": {"ignore": ["/data/b"]}})
    room.await_types("Created", "Changed", "Rerecorded")
    [line] = [line for line in annals(room, "log").splitlines() if "Rerecorded" in line]
    assert "<none>" in line
    assert "Rerecorded" in annals(room, "history", "configmap/web")
    annals(room, "verify", "configmap/web")
    user = room.changes()[0]["user"]
    assert room.send("get", f"{V1}/namespaces/{room.name}/histories?fieldSelector=status.by={user}")["items"]
    annals(room, "undo", "configmap/web")
    room.await_types("Created", "Changed", "Rerecorded", "Changed")
    assert room.send("get", room.path("web"))["data"] == {"a": "1", "b": "1"}


def test_the_end_of_a_recorder_is_the_end_of_recording(room):
    room.record("configmaps")
    room.make()
    room.await_types("Created")
    room.send("delete", f"{RECORDERS}/{room.name}")
    other = f"{room.name}-other"
    room.record("configmaps", name=other, objectSelector={"matchLabels": {"of": "other"}})
    room.change(data={"a": "2"})
    room.make("other", labels={"of": "other"})
    room.await_types("Created", name="other")
    room.await_types("Created", "Released")  # the other Recorder does not select it
    assert "revision" not in room.changes()[-1]


def test_annals_does_not_record_itself(room):
    room.record("*", group="*")
    room.make()
    room.await_types("Created")
    room.change(data={"a": "2"})
    room.await_types("Created", "Changed")
    kinds = {h["spec"]["subject"]["kind"] for h in room.send("get", f"{V1}/namespaces/{room.name}/histories")["items"]}
    assert "ConfigMap" in kinds and not kinds & {"ControllerRevision", "History", "Recorder", "Lease", "Event"}
