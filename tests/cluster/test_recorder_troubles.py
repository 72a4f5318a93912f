"""What holds a recorder up behind a real kube-apiserver, where objects go on to change meanwhile: states that are refused, an etcd that is
full, a kind that comes and goes. The status says so, later states are not lost, and it goes on when that is over."""

import pytest

import hooks as webhooks
import processes
import stories
import truth
from aggregated import ANNALS, shared
from processes import retry_until

V1, RECORDERS = stories.V1, f"{stories.V1}/recorders"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "troubles.example.com"
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"gadgets.{GROUP}"}, "spec": {
    "group": GROUP, "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
NOT_SERVED = "the server does not serve it"


@pytest.fixture(scope="module")
def annals(cluster):
    if "annals" not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    cluster.behind["annals"].wait_available()
    return cluster.behind["annals"]


@pytest.fixture
def hooks(certificates):
    running = webhooks.Hooks(certificates)
    yield running
    running.close()


class Room:
    """A namespace of which a Recorder names one resource, and the recorder."""

    def __init__(self, cluster, group="", resource="configmaps"):
        self.cluster, self.kube, self.resource = cluster, cluster.kube, resource
        self.namespace = cluster.make_namespace()
        self.name = f"of-{self.namespace}"
        prefix = f"/apis/{group}/v1" if group else "/api/v1"
        self.path = f"{prefix}/namespaces/{self.namespace}/{resource}"
        cluster.make(RECORDERS, {"metadata": {"name": self.name}, "spec": {
            "resources": [{"groups": [group], "resources": [resource]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}}})
        self.recorder = shared(processes.Process(
            [processes.BIN, "controllers", "--kubeconfig", cluster.kubeconfig, "--controllers=recorder", "--leader-elect=false"]))

    def row(self):
        """What the status says of the resource."""
        rows = self.kube.get(f"{RECORDERS}/{self.name}").json.get("status", {}).get("resources", [])
        return next((row for row in rows if row["resource"] == self.resource), {})

    def wait_row(self, is_so, what):
        try:
            return retry_until(lambda: (row := self.row()) and is_so(row) and row, what, interval=0.1, patience=processes.LONG_PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{what}: {self.row()}\n{self.recorder.stderr.text[-3000:]}") from None

    def write(self, name, n):
        """One more state of an object, which is made by the first."""
        made = self.kube.patch(f"{self.path}/{name}", {"data": {"n": n}})
        if made.status == 404:
            made = self.kube.post(self.path, {**self.kind(), "metadata": {"name": name}, "data": {"n": n}})
        assert made.status in (200, 201), made

    def kind(self):
        return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget"} if self.resource == "gadgets" else {}

    def remove(self, name):
        assert self.kube.delete(f"{self.path}/{name}").status == 200

    def told(self, name):
        """What was recorded of it, as n; None of a deletion."""
        found = self.kube.get(f"{V1}/namespaces/{self.namespace}/histories?fieldSelector=spec.subject.name={name}").json["items"]
        changes = found[0].get("status", {}).get("changes", []) if found else []
        return [self.state(change["revision"]) if "revision" in change else None for change in changes]

    def state(self, revision):
        return self.kube.get(f"{V1}/namespaces/{self.namespace}/controllerrevisions/{revision}").json["data"]["data"]["n"]

    def await_told(self, name, *states):
        try:
            retry_until(lambda: self.told(name) == list(states), f"{name} is listed as {states}", interval=0.1, patience=processes.LONG_PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{name} is listed as {self.told(name)}: {self.row()}\n{self.recorder.stderr.text[-3000:]}") from None

    def leave(self):
        status = self.recorder.stop()
        assert self.kube.delete(f"{RECORDERS}/{self.name}").status == 200
        assert not self.recorder.troubles() and status == 0, self.recorder.stderr.text[-3000:]


@pytest.fixture
def room(cluster, annals):
    made = Room(cluster)
    yield made
    made.leave()


def refuse(n, **status):
    """Revisions that hold this state."""
    def answer(review):
        held = ((review["request"].get("object") or {}).get("data") or {}).get("data", {}).get("n")
        return webhooks.deny(status={"message": "nobody wants that", **status})(review) if held == n else webhooks.allow()(review)

    return answer


def test_what_is_refused_for_a_while_waits(cluster, hooks, room):
    """With the objects that have nothing to do with it all goes well, and that hides nothing."""
    hooks.on("/refuse", refuse("2", code=403))
    configured = hooks.configure(cluster.kube, "Validating", room.name, room.namespace, [ANNALS.kind],
                                 hooks.webhook("refuse.example.com", "/refuse", [ANNALS.kind]))
    room.write("a", "1")
    room.await_told("a", "1")
    room.write("a", "2")
    room.wait_row(lambda row: "nobody wants that" in row.get("lastError", ""), "the status says what is refused")
    for n in "34":
        room.write("a", n)
    for n in "67":
        room.write("b", n)
    room.await_told("b", "6", "7")
    assert "nobody wants that" in room.wait_row(lambda row: row["revisions"] == 3, "the status counts").get("lastError", "")
    assert room.told("a") == ["1"] and room.row()["refused"] == 0
    hooks.on("/refuse", webhooks.allow())
    room.await_told("a", "1", "2", "3", "4")
    room.wait_row(lambda row: "lastError" not in row and row["revisions"] == 6, "the status says that it is over")
    said = room.recorder.stderr.text
    assert said.count("changes of ConfigMap wait, since they cannot be written") == said.count("changes of ConfigMap are written again") > 0, said
    configured.remove()


def test_what_is_refused_for_good_makes_way(cluster, hooks, room):
    """A webhook that says no more than no says 400."""
    hooks.on("/refuse", refuse("2"))
    configured = hooks.configure(cluster.kube, "Validating", room.name, room.namespace, [ANNALS.kind],
                                 hooks.webhook("refuse.example.com", "/refuse", [ANNALS.kind]))
    room.write("a", "1")
    room.await_told("a", "1")
    room.write("a", "2")
    row = room.wait_row(lambda row: row["refused"] == 1, "the status counts what is refused")
    assert "nobody wants that" in row["lastError"]

    def events():
        return [one for one in cluster.kube.get("/api/v1/namespaces/default/events").json["items"]
                if (one["reason"], one["involvedObject"]["name"]) == ("RecordingRefused", room.name)]

    (event,) = retry_until(events, "an Event")
    assert f"cannot keep the state of ConfigMap {room.namespace}/a" in event["message"]
    room.write("a", "3")
    room.await_told("a", "1", "3")
    assert room.wait_row(lambda row: "lastError" not in row, "the status says that it is over")["refused"] == 1
    configured.remove()


def test_what_finds_no_room_waits(annals, room):
    """etcd has the alarm of one whose quota is reached: nothing can be written there, not even the status."""
    for name in "ab":
        room.write(name, "1")
        room.await_told(name, "1")
    gateway = truth.Gateway(annals.etcd.endpoint)
    (member,) = gateway.call("/v3/cluster/member/list", {})["members"]
    gateway.call("/v3/maintenance/alarm", {"action": "ACTIVATE", "memberID": member["ID"], "alarm": "NOSPACE"})
    try:
        for n in "234":
            room.write("a", n)
        room.remove("b")
        room.write("c", "1")
        assert room.recorder.stderr.wait("changes of ConfigMap wait, since they cannot be written")
        assert (room.told("a"), room.told("b"), room.told("c")) == (["1"], ["1"], [])
    finally:
        annals.etcd.ctl("alarm", "disarm")
    room.await_told("a", "1", "2", "3", "4")
    room.await_told("b", "1", None)
    room.await_told("c", "1")
    assert room.recorder.stderr.wait("changes of ConfigMap are written again")
    room.wait_row(lambda row: "lastError" not in row and row["revisions"] == 5, "the status says that it is over")


def define(cluster):
    cluster.make(DEFINITIONS, CRD)

    def is_established():
        conditions = cluster.kube.get(f"{DEFINITIONS}/{CRD['metadata']['name']}").json.get("status", {}).get("conditions") or []
        return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

    retry_until(is_established, "the kind is served", interval=0.05)


@pytest.fixture
def gadgets(cluster, annals):
    made = Room(cluster, GROUP, "gadgets")
    yield made
    made.leave()
    cluster.kube.delete(f"{DEFINITIONS}/{CRD['metadata']['name']}")


def test_a_kind_that_comes_and_goes(cluster, gadgets):
    room = gadgets
    room.wait_row(lambda row: row.get("lastError") == NOT_SERVED, "the status says that nobody serves it")
    define(cluster)
    room.write("g", "1")
    room.await_told("g", "1")
    room.wait_row(lambda row: (row.get("version"), row["objects"], row.get("lastError")) == ("v1", 1, None), "the status says that it is followed")
    room.write("g", "2")
    room.await_told("g", "1", "2")

    assert cluster.kube.delete(f"{DEFINITIONS}/{CRD['metadata']['name']}").status == 200
    room.await_told("g", "1", "2", None)
    room.wait_row(lambda row: row.get("lastError") == NOT_SERVED, "the status says that it is gone")
    retry_until(lambda: cluster.kube.get(f"{DEFINITIONS}/{CRD['metadata']['name']}").status == 404, "it is gone")
    assert room.told("g") == ["1", "2", None]

    define(cluster)
    room.write("g", "3")
    # What a Recorder names is looked for when it changes, too: this saves the test half a minute.
    assert cluster.kube.patch(f"{RECORDERS}/{room.name}", {"spec": {"historyLimit": 20}}).status == 200
    room.await_told("g", "1", "2", None, "3")
    room.wait_row(lambda row: (row["objects"], row.get("lastError")) == (1, None), "the status says that it is followed again")
