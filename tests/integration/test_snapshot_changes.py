"""Snapshots with a change: a History lists it, in the transaction that keeps the state."""

import concurrent.futures
import http.client
import json

import processes
import pytest

from objects import ANNALS, revision, revisions

V1 = "/apis/annals.dev/v1/namespaces/default"
SNAPSHOTS, HISTORIES = f"{V1}/snapshots", f"{V1}/histories"
REVISIONS = revisions(api_version=ANNALS)


def make_history(server, name="web"):
    made = server.post(HISTORIES, {"metadata": {"name": name}, "spec": {"subject": {
        "group": "apps", "kind": "StatefulSet", "namespace": "default", "name": name}}})
    assert made.status == 201, made
    return made.json["metadata"]


def owner_of(metadata):
    return {"apiVersion": ANNALS, "kind": "History", "name": metadata["name"], "uid": metadata["uid"], "controller": True}


class Recording:
    """What a recorder knows of one History."""

    def __init__(self, server, name="web", **spec):
        self.server, self.spec = server, spec
        metadata = make_history(server, name)
        self.path, self.owner, self.version = f"{HISTORIES}/{name}", owner_of(metadata), metadata["resourceVersion"]

    def body(self, data, type="Changed", spec=None, **change):
        said = {"type": type, "time": "2026-01-02T03:04:05Z", "historyResourceVersion": self.version, **change}
        said = said if type == "Deleted" else {"uid": "u1", "apiVersion": "apps/v1", **said}
        return {"spec": {"owner": self.owner, "change": said, **({} if data is None else {"data": data}), **self.spec, **(spec or {})}}

    def send(self, data, type="Changed", query="", client=None, **change):
        return (client or self.server).post(SNAPSHOTS + query, self.body(data, type, **change))

    def take(self, data, type="Changed", **change):
        answer = self.send(data, type, **change)
        assert answer.status == 201, answer
        self.version = answer.json["status"]["history"]["resourceVersion"]
        return answer.json["status"]

    def history(self):
        return self.server.get(self.path).json

    def status(self):
        return self.history()["status"]

    def revisions(self):
        items = self.server.get(f"{REVISIONS}?fieldSelector=controller.uid={self.owner['uid']}").json["items"]
        return sorted((item["revision"], item["metadata"]["name"]) for item in items)


def mod_revision(store, kind, name):
    answer = json.loads(store.ctl("get", f"/annals/objects/annals.dev/{kind}/default/{name}", "-w", "json"))
    [kv] = answer["kvs"]
    return kv["mod_revision"]


def seen(status):
    return [(change["type"], change.get("number")) for change in status["changes"]]


def test_states_and_changes_come_together(server, store):
    it = Recording(server)
    first = it.take({"x": 1}, "Created", managers=["helm"], cause="install", paths=["/x"], morePaths=3, resourceVersion="77", ignore=["/spec/replicas"])
    name = first["revision"]["name"]
    assert (first["result"], first["history"]["name"]) == ("Created", "web")
    assert mod_revision(store, "controllerrevisions", name) == mod_revision(store, "histories", "web") == int(it.version)
    digest = server.get(f"{REVISIONS}/{name}").json["metadata"]["annotations"]["annals.dev/digest"]
    assert it.status() == {
        "uid": "u1", "apiVersion": "apps/v1", "digest": digest, "revision": {"name": name, "revision": 1}, "revisions": 1, "bytes": len('{"x":1}'), "ignore": ["/spec/replicas"],
        "totalChanges": 1, "changes": [{"type": "Created", "time": "2026-01-02T03:04:05Z", "managers": ["helm"], "cause": "install", "paths": ["/x"],
                                        "morePaths": 3, "resourceVersion": "77", "revision": name, "number": 1, "digest": digest}]}
    second = it.take({"x": 2})
    assert mod_revision(store, "controllerrevisions", second["revision"]["name"]) == mod_revision(store, "histories", "web")
    back = it.take({"x": 1})
    assert (back["result"], back["revision"]) == ("RolledBack", {"name": name, "revision": 3})
    assert mod_revision(store, "controllerrevisions", name) == mod_revision(store, "histories", "web")
    status = it.status()
    assert seen(status) == [("Created", 1), ("Changed", 2), ("Changed", 3)] and (status["revisions"], status["totalChanges"]) == (2, 3)
    assert status["revision"] == {"name": name, "revision": 3} and "ignore" not in status and len(it.revisions()) == 2


def test_deleted_and_made_again(server, store):
    it = Recording(server)
    name = it.take({"x": 1}, "Created")["revision"]["name"]
    before = mod_revision(store, "controllerrevisions", name)
    gone = it.take(None, "Deleted", time="2026-02-02T00:00:00Z", managers=["kubectl"])
    assert gone == {"result": "Deleted", "history": {"name": "web", "resourceVersion": it.version}}
    status = it.status()
    assert (status["deletionTime"], status["uid"], status["revision"]["name"]) == ("2026-02-02T00:00:00Z", "u1", name)
    assert seen(status) == [("Created", 1), ("Deleted", None)] and "revision" not in status["changes"][1]
    assert server.get(f"{HISTORIES}?fieldSelector=status.deleted=true,status.by=").json["items"]
    assert not server.get(f"{HISTORIES}?fieldSelector=status.by=kubectl").json["items"], "a manager is no user"
    again = it.take({"x": 1.0}, "Created", uid="u2", apiVersion="apps/v2")
    assert (again["result"], again["revision"]) == ("Unchanged", {"name": name, "revision": 1})
    status = it.status()
    assert seen(status)[2] == ("Created", 1) and (status["uid"], status["apiVersion"]) == ("u2", "apps/v2") and "deletionTime" not in status
    assert mod_revision(store, "controllerrevisions", name) == before and len(it.revisions()) == 1


def test_nobodys_change_of_the_api_version_needs_no_revision(server, store):
    it = Recording(server)
    first = it.take({"apiVersion": "g/v1beta1", "x": 1}, "Created", apiVersion="g/v1beta1")["revision"]
    before = mod_revision(store, "controllerrevisions", first["name"])
    said = it.take({"apiVersion": "g/v1", "x": 1}, "Rerecorded", apiVersion="g/v1", resourceVersion="7")
    assert said == {"result": "Unchanged", "history": {"name": "web", "resourceVersion": it.version}}
    status = it.status()
    assert status["revision"] == first and status["apiVersion"] == "g/v1" and status["revisions"] == 1
    [created, change] = status["changes"]
    assert {key: change.get(key) for key in ("type", "resourceVersion", "revision", "number", "user")} == {
        "type": "Rerecorded", "resourceVersion": "7", "revision": None, "number": None, "user": None}
    assert change["digest"] == status["digest"] != created["digest"]
    assert mod_revision(store, "controllerrevisions", first["name"]) == before and len(it.revisions()) == 1
    # Other rules make another state: later differences are computed from it.
    other = it.take({"apiVersion": "g/v1", "x": 2}, "Rerecorded", apiVersion="g/v1")
    assert (other["result"], other["revision"]["revision"]) == ("Created", 2)
    # An older version and another state at once need a revision, too.
    it.take({"apiVersion": "g/v1beta1", "x": 3}, "Rerecorded", apiVersion="g/v1beta1")
    assert len(it.revisions()) == 3 and it.status()["revisions"] == 3


def test_version_of_the_history_is_a_guard(server):
    it = Recording(server)
    it.take({"x": 1})
    late, version = it.version, it.version
    it.take({"x": 2})
    new, it.version = it.version, late
    refused = it.send({"x": 3})
    assert (refused.status, refused.json["reason"], refused.json["details"]["kind"]) == (409, "Conflict", "histories")
    assert it.send(None, "Deleted").status == it.send({"x": 2}).status == it.send({"x": 1}).status == 409
    it.version = str(int(new) + 1)
    assert it.send({"x": 3}).status == 409
    it.version = new
    assert len(it.revisions()) == it.status()["totalChanges"] == 2
    server.patch(it.path, {"metadata": {"labels": {"a": "b"}}})
    assert it.send({"x": 3}).status == 409
    assert len(it.revisions()) == 2 and version


def test_rehearsal_writes_nothing(server, store):
    it = Recording(server)
    it.take({"x": 1})

    def stored():
        kept = ("/annals/objects/annals.dev/controllerrevisions/", "/annals/objects/annals.dev/histories/", "/annals/history/")
        return [json.loads(store.ctl("get", "--prefix", prefix, "-w", "json"))["kvs"] for prefix in kept]

    before = stored()
    for data, type, result in (({"x": 2}, "Changed", "Created"), ({"x": 1}, "Changed", "Unchanged"), (None, "Deleted", "Deleted")):
        rehearsed = it.send(data, type, query="?dryRun=All")
        assert rehearsed.status == 201 and rehearsed.json["status"]["result"] == result
        assert rehearsed.json["status"]["history"]["resourceVersion"] == it.version
    assert stored() == before
    it.version = "1"
    assert it.send({"x": 2}, query="?dryRun=All").status == 409


def test_managers_of_the_status_are_those_of_the_snapshot(server):
    it = Recording(server)
    answer = it.send({"x": 1}, query="?fieldManager=recorder")
    assert answer.status == 201
    [entry] = [entry for entry in it.history()["metadata"]["managedFields"] if entry["manager"] == "recorder"]
    assert (entry["subresource"], entry["operation"]) == ("status", "Update") and "f:status" in entry["fieldsV1"]


def test_last_50_changes_are_told_of(server):
    it = Recording(server, historyLimit=3)
    for i in range(53):
        it.take({"x": i % 5}, resourceVersion=str(i))
        status = it.status()
        assert len(status["changes"]) == min(i + 1, 50) and status["totalChanges"] == i + 1
    assert [change["resourceVersion"] for change in status["changes"]] == [str(i) for i in range(3, 53)]
    assert status["revisions"] == len(it.revisions()) == 4 and status["revision"] == dict(zip(("revision", "name"), it.revisions()[-1]))


def test_changes_have_at_most_64_kib(server):
    it = Recording(server)
    for i in range(20):
        it.take({"x": i}, paths=[f"/{i:02}" + "p" * 253] * 32, managers=["m" * 128] * 8, cause="c" * 1024)
        changes = json.dumps(it.status()["changes"], separators=(",", ":"))
        assert len(changes) <= 65536
    size, one = len(changes), len(json.dumps(it.status()["changes"][0], separators=(",", ":")))
    assert size + one + 1 > 65536 and it.status()["totalChanges"] == 20


def test_limits_of_the_history_hold_with_changes(server):
    it = Recording(server, historyLimit=1)
    names = [it.take({"x": i})["revision"]["name"] for i in range(2)]
    third = it.take({"x": 2})
    assert third["trimmed"] == names[:1] and it.status()["revisions"] == len(it.revisions()) == 2
    it.spec["historyLimit"] = 0
    same = it.take({"x": 2})
    assert (same["result"], same["trimmed"]) == ("Unchanged", names[1:]) and it.status()["revisions"] == len(it.revisions()) == 1


def test_more_than_one_transaction_trims_before_the_change(server):
    it = Recording(server, historyLimit=2)
    for i in range(90):
        made = revision(f"r{i:03}", i + 1, {"x": i}, ANNALS, ownerReferences=[it.owner])
        assert server.post(REVISIONS, made).status == 201
    it.version = "1"
    assert it.send({"x": "new"}).status == 409 and len(it.revisions()) == 90
    it.version = it.history()["metadata"]["resourceVersion"]
    made = it.take({"x": "new"})
    assert len(made["trimmed"]) == 88 and it.status()["revisions"] == len(it.revisions()) == 3 and it.status()["totalChanges"] == 1


CHANGE = {"type": "Changed", "time": "2026-01-02T03:04:05Z", "uid": "u", "apiVersion": "v1", "historyResourceVersion": "1"}


@pytest.mark.parametrize("change, field", [
    ({"type": "Moved"}, "type"), ({"type": ""}, "type"), ({"time": None}, "time"), ({"uid": ""}, "uid"), ({"apiVersion": ""}, "apiVersion"),
    ({"historyResourceVersion": ""}, "historyResourceVersion"), ({"historyResourceVersion": "new"}, "historyResourceVersion"),
    ({"managers": ["m"] * 9}, "managers"), ({"managers": ["m" * 129]}, "managers[0]"), ({"paths": ["/"] * 33}, "paths"), ({"paths": ["p" * 257]}, "paths[0]"),
    ({"ignore": ["/"] * 65}, "ignore"), ({"ignore": ["/" * 513]}, "ignore[0]"),
    ({"ignore": ["/a", "b"]}, "ignore[1]"), ({"ignore": ["/a~2"]}, "ignore[0]"), ({"cause": "c" * 1025}, "cause"), ({"morePaths": -1}, "morePaths"),
    ({"type": "Rerecorded", "managers": ["m"]}, "managers"), ({"type": "Rerecorded", "paths": ["/a"]}, "paths"),
    ({"type": "Rerecorded", "cause": "c"}, "cause")])
def test_wrong_changes_are_refused_by_field(annals, change, field):
    owner = {"apiVersion": ANNALS, "kind": "History", "name": "x", "uid": "u", "controller": True}
    refused = annals.post(SNAPSHOTS, {"spec": {"owner": owner, "data": {}, "change": {**CHANGE, **change}}})
    assert refused.status == 422, refused
    assert [cause["field"] for cause in refused.json["details"]["causes"]] == [f"spec.change.{field}"]


def test_owners_and_changes_go_together(server):
    it = Recording(server)

    def fields(**spec):
        refused = server.post(SNAPSHOTS, {"spec": {k: v for k, v in {**it.body({"x": 1})["spec"], **spec}.items() if v is not None}})
        assert refused.status == 422, refused
        return [cause["field"] for cause in refused.json["details"]["causes"]]

    assert fields(change=None) == ["spec.change"]
    assert fields(owner={**it.owner, "kind": "StatefulSet"}) == ["spec.owner.kind"]
    assert fields(data=None) == ["spec.data"]
    assert fields(change={**CHANGE, "type": "Deleted"}) == ["spec.data"]
    assert it.revisions() == []


def test_history_must_be_there_and_stay(server):
    it = Recording(server)
    absent = it.send({"x": 1}, spec={"owner": {**it.owner, "name": "absent"}})
    assert absent.status == 404 and absent.json["message"] == 'histories.annals.dev "absent" not found'
    assert it.send({"x": 1}, spec={"owner": {**it.owner, "uid": "other"}}).status == 409
    server.patch(it.path, {"metadata": {"finalizers": ["example.com/hold"]}})
    server.delete(it.path)
    it.version = it.history()["metadata"]["resourceVersion"]
    for data, type in (({"x": 1}, "Changed"), (None, "Deleted")):
        refused = it.send(data, type)
        assert refused.status == 409 and "it is being deleted" in refused.json["message"]
    assert it.revisions() == []


def test_right_to_update_the_status_is_needed(serve, store, folder):
    rules = [processes.policy_rule(user=user, namespace="default", apiGroup="annals.dev", resource=resource)
             for user, resource in (("alice", "snapshots"), ("bob", "snapshots"), ("bob", "histories"))]
    server = serve(store.endpoint, *processes.user_flags(folder, ["alices,alice,1", "bobs,bob,2"], rules))
    it = Recording(server)
    alice, bob = (processes.Client(server.url, server.ca, token=token) for token in ("alices", "bobs"))
    refused = it.send({"x": 1}, client=alice)
    assert (refused.status, refused.json["message"]) == (403, 'histories.annals.dev "web" is forbidden: User "alice" cannot update resource '
                                                              '"histories/status" in API group "annals.dev" in the namespace "default"')
    assert it.send({"x": 1}, client=bob).status == 201


# ---- many at once, and a server that is killed in between ----


def test_of_writers_at_once_one_wins_each_version(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]
    it = Recording(servers[0], historyLimit=3)

    def attempt(i):
        return it.send({"x": i % 3}, client=servers[i % 2], resourceVersion=str(i))

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for round in range(5):
            answers = list(pool.map(attempt, range(32)))
            [won] = [answer for answer in answers if answer.status == 201]
            assert [answer.status for answer in answers].count(409) == 31
            it.version = won.json["status"]["history"]["resourceVersion"]
            assert it.status()["totalChanges"] == round + 1
    status = it.status()
    assert [number for number, _ in it.revisions()][-1] == status["revision"]["revision"] and status["revisions"] == len(it.revisions())


def test_revisions_and_history_agree_after_a_kill(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]
    recordings = [Recording(servers[0], f"o{i}", historyLimit=2) for i in range(4)]

    def record(it):
        for i in range(60):
            if it is recordings[0] and i == 30:
                servers[1].kill()
            try:
                answer = it.send(None if i % 7 == 6 else {"x": i % 5}, "Deleted" if i % 7 == 6 else "Changed", client=servers[i % 2], resourceVersion=str(i))
            except (OSError, http.client.HTTPException):
                assert i % 2  # of the one that is killed
            else:
                assert answer.status in (201, 409)
            it.version = it.history()["metadata"]["resourceVersion"]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(record, recordings))
    for it in recordings:
        status, found = it.status(), it.revisions()
        assert status["totalChanges"] >= 20 and status["revisions"] == len(found) <= 3
        assert found[-1] == (status["revision"]["revision"], status["revision"]["name"])
        numbers = [change["number"] for change in status["changes"] if change["type"] != "Deleted"]
        assert numbers == sorted(numbers)
        told = {(change["resourceVersion"], change["type"]) for change in status["changes"]}
        assert len(told) == len(status["changes"])  # each once, answered or not
