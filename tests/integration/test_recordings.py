"""Recordings: one request says what was seen of many objects, and each of them gets its change, once and in order."""

import concurrent.futures
import itertools

import pytest

import processes
from objects import NAMESPACES
from processes import as_user, policy_rule
from recorded import V1, Recorded, history_name

RECORDINGS = f"{V1}/recordings"
TOKENS = ("eve-token,eve,1", "mallory-token,mallory,2", "rita-token,rita,3", "nina-token,nina,4")


def rule(user, resource, namespace="*", **spec):
    return policy_rule(user=user, namespace=namespace, apiGroup="*", resource=resource, **spec)


# rita records; nina in one namespace alone; eve may not write Histories; mallory may create Snapshots.
RULES = (
    rule("rita", "recordings"), rule("rita", "histories"),
    rule("nina", "recordings"), rule("nina", "histories", namespace="nina"),
    rule("eve", "recordings"), rule("eve", "histories", readonly=True), rule("eve", "controllerrevisions"),
    rule("mallory", "snapshots"), rule("mallory", "histories"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with processes.up_with_users(tmp_path_factory.mktemp("shop"), TOKENS, RULES) as up:
        for name in ("nina", "other"):
            assert up.post(NAMESPACES, {"metadata": {"name": name}}).status == 201
        yield up


class Seen:
    """An object that a recorder sees. Nothing else knows of it."""

    numbers = itertools.count(1)

    def __init__(self, server, name=None, namespace="default", kind="ConfigMap", group="", **spec):
        self.server, self.name, self.namespace, self.spec = server, name or f"seen-{next(self.numbers)}", namespace, spec
        self.subject = {"group": group, "kind": kind, "namespace": namespace, "name": self.name}
        self.uid, self.version = f"uid-of-{self.name}", 0
        self.history = f"{V1}/namespaces/{namespace}/histories/{history_name(kind, namespace, self.name, group)}"

    def look(self, found, **more):
        self.version += 1
        version = {"resourceVersion": str(self.version)}
        return {"namespace": self.namespace, "subject": self.subject, "found": found, "time": "2026-01-02T03:04:05Z", **version, **self.spec, **more}

    def state(self, data, **more):
        whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name, "namespace": self.namespace}, "data": data}
        return self.look("Present", uid=self.uid, apiVersion="v1", data=whole, **more)

    def gone(self, **more):
        return self.look("Absent", **more)

    def status(self):
        return self.server.get(self.history).json["status"]

    def types(self):
        return [change["type"] for change in self.status()["changes"]]


def send(server, *sightings, code=201):
    answer = server.post(RECORDINGS, {"spec": {"sightings": list(sightings)}})
    assert answer.status == code, answer
    return answer.json["status"].get("results", []) if code == 201 else answer.json


def what(results):
    return [result.get("type", result["result"]) for result in results]


def numbers(results):
    return [result.get("revision", {}).get("revision") for result in results]


def errors(results):
    return [(result["error"]["code"], result["error"]["reason"]) if result["result"] == "Refused" else None for result in results]


def test_changes_of_many_objects_come_in_one_request(server):
    a, b, c = (Seen(server) for _ in range(3))
    kept = [c.state({"n": "0"})]
    made = send(server, a.state({"n": "0"}), b.state({"n": "0"}), kept[0])
    assert what(made) == ["Created"] * 3 and numbers(made) == [1] * 3
    assert [result["history"]["name"] for result in made] == [it.history.rpartition("/")[2] for it in (a, b, c)]
    changed = send(server, a.state({"n": "1"}), b.gone(), {**kept[0], "resourceVersion": "9"}, a.state({"n": "0"}), a.look("Unselected", uid=a.uid, apiVersion="v1"))
    assert what(changed) == ["Changed", "Deleted", "Equal", "Changed", "Released"] and numbers(changed) == [2, None, 1, 3, None]
    assert [result["history"]["revisions"] for result in changed] == [2, 1, 1, 2, 2]
    assert server.get(a.history).json["metadata"]["resourceVersion"] == changed[4]["history"]["resourceVersion"]
    status = a.status()
    assert [(change["type"], change.get("paths"), change["resourceVersion"]) for change in status["changes"]] == [
        ("Created", None, "1"), ("Changed", ["/data/n"], "2"), ("Changed", ["/data/n"], "3"), ("Released", None, "4")]
    assert (status["uid"], status["revisions"], status["totalChanges"], status["revision"]["revision"]) == (a.uid, 2, 4, 3)
    assert b.types() == ["Created", "Deleted"] and b.status()["deletionTime"] == "2026-01-02T03:04:05Z" and c.types() == ["Created"]
    b.uid = "another"
    assert what(send(server, a.state({"n": "5"}), b.state({"n": "0"}))) == ["Adopted", "Created"]
    revision = server.get(f"{V1}/namespaces/default/controllerrevisions/{a.status()['revision']['name']}").json
    assert revision["data"]["data"] == {"n": "5"} and revision["metadata"]["ownerReferences"][0]["uid"] == server.get(a.history).json["metadata"]["uid"]


def test_change_is_as_a_snapshot_would_make_it(server):
    """But for the revision's name, which the History's name begins."""
    it = Seen(server, historyLimit=1)
    fields = [{"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
               "fieldsV1": {"f:data": {"f:n": {}}}}]
    send(server, it.state({"n": "0"}, managedFields=fields, ignore=["/data/i"], generation=1))
    [result] = send(server, it.state({"n": "1"}, managedFields=fields, ignore=["/data/i"], generation=4, cause="why", afterGap=True, skippedStates=1, late=True))
    assert (result["skipped"], result["skippedStates"]) == (True, 2)
    change = it.status()["changes"][1]
    assert {name: change.get(name) for name in ("type", "time", "managers", "cause", "paths", "generation", "skipped")} == {
        "type": "Changed", "time": "2026-01-01T00:00:00Z", "managers": ["kubectl"], "cause": "why", "paths": ["/data/n"], "generation": 4, "skipped": True}
    assert change["gap"] == {"resourceVersion": "1", "time": "2026-01-02T03:04:05Z", "states": 2, "moreAuthors": True}
    assert it.status()["ignore"] == ["/data/i"]
    for n in range(2, 6):
        send(server, it.state({"n": str(n)}))
    assert it.status()["revisions"] == 2, "the limit holds"


def test_object_without_a_namespace_has_its_history_where_the_recorder_says(server):
    it = Seen(server, kind="Node")
    it.subject["namespace"] = ""
    assert what(send(server, it.state({"n": "0"}))) == ["Created"]
    assert server.get(f"{V1}/namespaces/default/histories/{history_name('Node', '', it.name)}").status == 200


def test_what_is_sent_again_is_recorded_once(server):
    a, b = Seen(server), Seen(server)
    sent = [a.state({"n": "0"}), a.state({"n": "1"}), b.state({"n": "0"}), a.state({"n": "0"}), b.gone()]
    first = send(server, *sent)
    assert what(first) == ["Created", "Changed", "Created", "Changed", "Deleted"]
    before = a.status(), b.status()
    again = send(server, *sent)
    assert what(again) == ["Equal"] * 5 and numbers(again) == numbers(first) == [1, 2, 1, 3, None]
    assert (a.status(), b.status()) == before


def test_older_state_is_overtaken_unless_the_object_was_looked_at(server):
    it = Seen(server)
    send(server, it.state({"n": "0"}), it.state({"n": "1"}))
    old = {**it.state({"n": "2"}), "resourceVersion": "1"}
    assert what(send(server, old)) == ["Overtaken"] and len(it.types()) == 2
    assert what(send(server, {**old, "live": True})) == ["Changed"] and it.types() == ["Created", "Changed", "Changed"]


def test_failure_of_one_is_no_failure_of_others(server):
    a, b, c = (Seen(server) for _ in range(3))
    lost = Seen(server, namespace="nowhere")
    wrong = [
        {**a.state({"n": "0"}), "digest": "bcdfg"},
        {**a.state({"n": "0"}), "subject": {**a.subject, "kind": "no kind"}},
        {**a.state({"n": "0"}), "namespace": "kube-system"},
        {**a.state({"n": "0"}), "found": "Perhaps"},
        {**a.state({"n": "0"}), "data": None},
        {**a.state({"n": "0"}), "uid": ""},
        {**a.state({"n": "0"}), "historyLimit": -1},
        a.look("Unselected", data={"n": "0"}),
        lost.state({"n": "0"}),
    ]
    results = send(server, b.state({"n": "0"}), *wrong, c.state({"n": "0"}))
    assert what(results) == ["Created"] + ["Refused"] * len(wrong) + ["Created"]
    assert errors(results)[1:-1] == [(422, "Invalid")] * (len(wrong) - 1) + [(404, "NotFound")]
    assert results[1]["error"]["details"]["causes"][0]["field"] == "spec.sightings[1].digest"
    assert results[9]["error"]["details"]["kind"] == "namespaces"
    # The History that was made for a change that was refused has none.
    assert "changes" not in (server.get(a.history).json or {}).get("status", {})
    assert what(send(server, a.state({"n": "0"}))) == ["Created"]


def test_ceilings(server):
    it = Seen(server)
    assert what(send(server, *(it.state({"n": str(n)}) for n in range(64)))) == ["Created"] + ["Changed"] * 63
    refused = send(server, *(it.state({"n": str(n)}) for n in range(65)), code=422)
    assert refused["details"]["causes"][0]["field"] == "spec.sightings"
    assert it.status()["totalChanges"] == 64
    send(server, it.state({"n": "x" * (3 << 20)}), code=413)
    assert send(server) == []


def test_only_creating_is_possible(server):
    it = Seen(server)
    assert [answer.status for answer in (server.get(RECORDINGS), server.put(f"{RECORDINGS}/a", {}), server.delete(RECORDINGS))] == [405, 404, 405]
    assert server.post(f"{RECORDINGS}?dryRun=All", {"spec": {"sightings": [it.state({"n": "0"})]}}).status == 400
    assert server.get(it.history).status == 404
    [resource] = [each for each in server.get(V1).json["resources"] if each["name"] == "recordings"]
    assert (resource["verbs"], resource["namespaced"], resource["kind"]) == (["create"], False, "Recording")


def test_writers_at_once_record_each_state_once(server):
    """Of several objects, by several recorders, with a Snapshot in between: each takes another order."""
    seen = [Seen(server) for _ in range(6)]
    states = {it.name: [it.state({"n": str(n)}) for n in range(5)] for it in seen}

    def record(shift):
        order = seen[shift:] + seen[:shift]
        return [what(send(server, *(states[it.name][n] for it in order))) for n in range(5)]

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        said = list(pool.map(record, range(6)))
    assert {each for answers in said for answer in answers for each in answer} <= {"Created", "Changed", "Equal", "Overtaken"}
    for it in seen:
        changes = it.status()["changes"]
        assert [change["resourceVersion"] for change in changes] == ["1", "2", "3", "4", "5"], it.types()
        assert [change["number"] for change in changes] == [1, 2, 3, 4, 5]


def test_snapshot_and_recording_write_one_history(server):
    """A Snapshot whose History has changed since is refused, and a Recording goes on behind it."""
    made = Recorded(server, "default", "ConfigMap", "both")
    made.make(data={"n": "0"})
    live = made.get()
    it = Seen(server, "both")
    it.uid, it.version = live["metadata"]["uid"], int(live["metadata"]["resourceVersion"])
    assert what(send(server, it.state({"n": "1"}))) == ["Changed"]
    with pytest.raises(AssertionError, match="409"):
        made.take("Changed")
    assert it.types() == ["Created", "Changed"]


# ---- who may ----


def test_recorder_needs_no_more_than_its_role(shop):
    rita = as_user(shop, "rita")
    it = Seen(shop, namespace="other")
    assert what(send(rita, it.state({"n": "0"}), it.state({"n": "1"}), it.gone())) == ["Created", "Changed", "Deleted"]


def test_nobody_else_records(shop):
    eve, mallory = as_user(shop, "eve"), as_user(shop, "mallory")
    it, new = Seen(shop, namespace="other"), Seen(shop, namespace="other")
    known = it.state({"n": "0"})
    send(shop, known)
    before = it.status()
    answer = mallory.post(RECORDINGS, {"spec": {"sightings": [it.state({"n": "1"})]}})
    assert answer.status == 403 and 'cannot create resource "recordings" in API group "annals.dev" at the cluster scope' in answer.json["message"]
    assert shop.anonymous.post(RECORDINGS, {"spec": {"sightings": []}}).status == 403
    # Nor does the answer say whether a guess is right.
    results = send(eve, it.state({"n": "1"}), it.gone(), {**it.state({"n": "1"}), "live": True}, new.state({"n": "0"}), known, new.gone())
    assert errors(results) == [(403, "Forbidden")] * 6
    assert all('cannot update resource "histories/status"' in result["error"]["message"] for result in results)
    assert {name for result in results for name in result} == {"result", "error"}
    assert it.status() == before and shop.get(new.history).status == 404


def test_right_to_one_namespace_is_enough_for_its_histories(shop):
    nina = as_user(shop, "nina")
    own, other = Seen(shop, namespace="nina"), Seen(shop, namespace="other")
    send(shop, other.state({"n": "0"}))
    results = send(nina, own.state({"n": "0"}), other.state({"n": "1"}), own.state({"n": "1"}), Seen(shop, namespace="other").state({"n": "0"}))
    assert what(results) == ["Created", "Refused", "Changed", "Refused"]
    assert errors(results)[1] == errors(results)[3] == (403, "Forbidden")
    assert own.types() == ["Created", "Changed"] and other.types() == ["Created"]


def test_state_that_cannot_be_read_is_not_taken_for_a_deleted_one(etcd, serve):
    """The change would have no paths, for good."""
    store = etcd()
    server = serve(store.endpoint, "--storage-migration=Off")
    processes.retry_until(lambda: server.get(f"{NAMESPACES}/default").status == 200, "the first namespaces")
    seen = Seen(server)
    [made] = send(server, seen.state({"a": "1"}))
    key = f"/annals/objects/annals.dev/controllerrevisions/default/{made['revision']['name']}"
    value = store.ctl("get", "--print-value-only", key).rstrip("\n")
    path = f"{V1}/namespaces/default/controllerrevisions/{made['revision']['name']}"
    store.ctl("put", key, "{}")
    processes.retry_until(lambda: server.get(path).status != 200, "the server has heard of it")
    changed = seen.state({"a": "2"})
    [result] = send(server, changed)
    assert result["result"] == "Refused" and result["error"]["code"] in (409, 500, 503), result  # so a recorder tries again
    assert seen.types() == ["Created"]
    store.ctl("put", key, value)
    processes.retry_until(lambda: server.get(path).status == 200, "the server has heard of it")
    [result] = send(server, changed)
    assert (result["result"], seen.status()["changes"][-1]["paths"]) == ("Recorded", ["/data/a"]), result
