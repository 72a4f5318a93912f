"""Recorded states are written by nobody but the recorder: who may edit all of a namespace forges none of them."""

import hashlib
import json
import re

import pytest

import processes
from objects import ANNALS, API_VERSIONS, APPLY, APPS, JSON_PATCH, MERGE, NAMESPACES, owner, revision, revisions
from processes import as_user, policy_rule, retry_until
from recorded import V1, Recorded

TOKENS = ("eve-token,eve,1", "mallory-token,mallory,2", "rita-token,rita,3", "gc-token,gc,4")


def rule(user, resource, **spec):
    return policy_rule(user=user, namespace="*", apiGroup="*", resource=resource, **spec)


# eve has edit; mallory may only create Snapshots; rita may write Histories and what is recorded; gc may delete revisions.
RULES = (
    *(rule("eve", resource) for resource in ("configmaps", "controllerrevisions", "snapshots", "statefulsets")),
    rule("eve", "histories", readonly=True),
    rule("mallory", "snapshots"),
    *(rule("rita", resource) for resource in ("histories", "controllerrevisions", "snapshots")),
    rule("gc", "controllerrevisions"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with processes.up_with_users(tmp_path_factory.mktemp("shop"), TOKENS, RULES) as up:
        yield up


class Shop:
    """A namespace of its own, with a ConfigMap of which three states are recorded."""

    numbers = iter(range(1, 1000))

    def __init__(self, shop):
        self.shop, self.name = shop, f"shop-{next(self.numbers)}"
        assert shop.post(NAMESPACES, {"metadata": {"name": self.name}}).status == 201
        self.it = Recorded(shop, self.name, "ConfigMap", "settings")
        self.it.make(data={"admin": "alice"})
        for admin in ("bob", "carol"):
            self.it.patch({"data": {"admin": admin}})
        self.eve, self.mallory, self.rita, self.gc = (as_user(shop, name) for name in ("eve", "mallory", "rita", "gc"))
        self.history = self.it.history["metadata"]
        self.owner = {"apiVersion": ANNALS, "kind": "History", "name": self.history["name"], "uid": self.history["uid"], "controller": True}
        self.snapshots = f"{V1}/namespaces/{self.name}/snapshots"

    def path(self, version=ANNALS):
        return revisions(self.name, version)

    def states(self):
        items = self.shop.get(f"{self.path()}?fieldSelector=controller.uid={self.history['uid']}").json["items"]
        return sorted(items, key=lambda item: item["revision"])

    def snapshot(self, client, data=None, by=None, **spec):
        return client.post(self.snapshots, {"spec": {"owner": by or self.owner, **({} if data is None else {"data": data}), **spec}})


@pytest.fixture
def room(shop):
    return Shop(shop)


def assert_refused(answer, room=None):
    assert answer.status == 403, answer
    assert 'cannot update resource "histories/status" in API group "annals.dev" in the namespace' in answer.json["message"], answer
    if room:
        assert f'which a state of the History "{room.history["name"]}" needs' in answer.json["message"], answer


WRITES = {
    "merge": lambda client, path, it: client.patch(path, {"metadata": {"labels": {"a": "b"}}}, MERGE),
    "json patch": lambda client, path, it: client.patch(path, [{"op": "replace", "path": "/revision", "value": 99}], JSON_PATCH),
    "apply": lambda client, path, it: client.patch(f"{path}?fieldManager=eve&force=true",
        {"apiVersion": it["apiVersion"], "kind": it["kind"], "metadata": {"name": it["metadata"]["name"]}, "revision": 99, "data": it["data"]}, APPLY),
    "put": lambda client, path, it: client.put(path, {**it, "revision": 99}),
    "disown": lambda client, path, it: client.patch(path, {"metadata": {"ownerReferences": None}}, MERGE),
    "another owner": lambda client, path, it: client.patch(path, {"metadata": {"ownerReferences": [owner("mine")]}}, MERGE),
    "no controller": lambda client, path, it: client.patch(path, [{"op": "replace", "path": "/metadata/ownerReferences/0/controller", "value": False}], JSON_PATCH),
    "digest": lambda client, path, it: client.patch(path, {"metadata": {"annotations": {"annals.dev/ignored": "[\"/data\"]"}}}, MERGE),
    "delete": lambda client, path, it: client.delete(path),
}


@pytest.mark.parametrize("query", ["", "dryRun=All"])
@pytest.mark.parametrize("version", API_VERSIONS)
@pytest.mark.parametrize("write", WRITES)
def test_recorded_states_are_not_written(room, write, version, query):
    before = room.states()
    it = room.eve.get(f"{room.path(version)}/{before[0]['metadata']['name']}").json
    path = f"{room.path(version)}/{before[0]['metadata']['name']}"

    class Client:
        """Adds the query."""

        def __getattr__(self, name):
            return lambda at, *rest: getattr(room.eve, name)(at + ("&" if "?" in at else "?") * bool(query) + query, *rest)

    assert_refused(WRITES[write](Client(), path, it), room)
    assert room.states() == before


@pytest.mark.parametrize("version", API_VERSIONS)
def test_collections_keep_recorded_states(room, version):
    before = room.states()
    assert room.eve.post(room.path(version), revision("zz-mine", api_version=version)).status == 201
    assert_refused(room.eve.delete(room.path(version)), room)
    assert_refused(room.eve.delete(f"{room.path(version)}?dryRun=All"), room)
    assert room.states() == before
    # What is nobody's record goes as ever.
    assert room.eve.delete(f"{room.path(version)}?fieldSelector=metadata.name=zz-mine").status == 200


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize("version", API_VERSIONS)
def test_recorded_states_are_not_made(room, version, query):
    forged = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"admin": "eve"}}
    before = room.states()

    def make(**by):
        return revision("forged", 7, forged, version, ownerReferences=[{**room.owner, **by}])

    assert_refused(room.eve.post(room.path(version) + query, make()), room)
    assert_refused(room.eve.patch(f"{room.path(version)}/forged?fieldManager=eve{query.replace('?', '&')}", make(), APPLY), room)
    # A History that is not there may be on its way.
    assert_refused(room.eve.post(room.path(version) + query, make(name="later", uid="u")))
    # Revisions are found by the controller's uid, whatever it is called.
    assert_refused(room.eve.post(room.path(version) + query, make(apiVersion="apps/v1", kind="DaemonSet", name="web")), room)
    assert_refused(room.eve.post(room.path(version) + query, make(name="another")))
    assert room.states() == before


@pytest.mark.parametrize("version", API_VERSIONS)
def test_other_revisions_do_not_become_recorded_states(room, version):
    before = room.states()
    assert room.eve.post(room.path(version), revision("mine", 7, {"admin": "eve"}, version)).status == 201
    path = f"{room.path(version)}/mine"
    for by in (room.owner, {**room.owner, "kind": "Foo", "apiVersion": "bar/v1"}):
        assert_refused(room.eve.patch(path, {"metadata": {"ownerReferences": [by]}}, MERGE), room)
        assert_refused(room.eve.patch(f"{path}?dryRun=All", {"metadata": {"ownerReferences": [by]}}, MERGE), room)
    assert room.eve.patch(path, {"metadata": {"ownerReferences": [{**room.owner, "controller": False}]}}, MERGE).status == 200
    assert_refused(room.eve.patch(path, [{"op": "replace", "path": "/metadata/ownerReferences/0/controller", "value": True}], JSON_PATCH), room)
    assert room.states() == before


def test_who_writes_histories_writes_their_states(room):
    [first, *_] = room.states()
    path = f"{room.path()}/{first['metadata']['name']}"
    assert room.rita.patch(path, {"metadata": {"labels": {"a": "b"}}}, MERGE).status == 200
    assert room.rita.delete(path).status == 200


def test_revisions_of_others_are_written_as_ever(room):
    path = room.path()
    assert room.eve.post(path, revision("web-1", 1, api_version=ANNALS, ownerReferences=[owner("web")])).status == 201
    assert room.eve.patch(f"{path}/web-1", {"revision": 2}, MERGE).status == 200
    assert room.eve.patch(f"{path}/web-1", {"metadata": {"ownerReferences": None}}, MERGE).status == 200
    assert room.eve.delete(f"{path}/web-1").status == 200


# ---- what goes with its History, or its namespace ----


def test_states_go_with_their_history(room):
    assert room.shop.delete(f"{V1}/namespaces/{room.name}/histories/{room.history['name']}").status == 200
    retry_until(lambda: not room.states(), "the garbage collector deletes the revisions")


def test_states_of_a_history_that_is_gone_are_anybodys(room):
    [first, second, *_] = room.states()
    history = f"{V1}/namespaces/{room.name}/histories/{room.history['name']}"
    assert room.shop.patch(history, {"metadata": {"finalizers": ["example.com/wait"]}}, MERGE).status == 200
    assert_refused(room.gc.delete(f"{room.path()}/{first['metadata']['name']}"), room)
    # Being deleted: a garbage collector deletes the revisions first, or releases them.
    assert room.shop.delete(history, {"propagationPolicy": "Background"}).status == 200
    assert room.gc.delete(f"{room.path()}/{first['metadata']['name']}").status == 200
    assert room.gc.patch(f"{room.path()}/{second['metadata']['name']}", {"metadata": {"ownerReferences": None}}, MERGE).status == 200
    assert_refused(room.gc.post(room.path(), revision("forged", 9, api_version=ANNALS, ownerReferences=[room.owner])), room)
    assert room.shop.patch(history, {"metadata": {"finalizers": None}}, MERGE).status == 200


def test_orphans_are_released(room):
    history = f"{V1}/namespaces/{room.name}/histories/{room.history['name']}"
    names = {state["metadata"]["name"] for state in room.states()}
    assert room.shop.delete(history, {"propagationPolicy": "Orphan"}).status == 200
    retry_until(lambda: room.shop.get(history).status == 404, "the History is gone")
    assert not room.states()
    left = {item["metadata"]["name"] for item in room.shop.get(room.path()).json["items"]}
    assert names <= left


def test_states_go_with_their_namespace(room):
    # The namespace stays for as long as somebody else holds it: whoever empties it needs no right to write Histories.
    path = f"{NAMESPACES}/{room.name}"
    assert room.shop.post(f"/api/v1/namespaces/{room.name}/configmaps", {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}}).status == 201
    assert_refused(room.gc.delete(room.path()), room)
    assert room.shop.delete(path).status == 200
    assert room.gc.delete(room.path()).status == 200
    assert not room.states()
    assert room.shop.patch(f"/api/v1/namespaces/{room.name}/configmaps/held", {"metadata": {"finalizers": None}}, MERGE).status == 200
    retry_until(lambda: room.shop.get(path).status == 404, "the namespace is gone")


# ---- Snapshots ----


def assert_foreign(answer):
    assert answer.status == 422, answer
    assert [cause["field"] for cause in answer.json["details"]["causes"]] == ["spec.owner.uid"], answer


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize("who", ["eve", "mallory"])
def test_a_snapshot_reaches_no_history_by_its_uid(room, who, query):
    before = room.states()
    client = getattr(room, who)
    disguises = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web"}, {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
                 {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}, {"apiVersion": "example.com/v1", "kind": "History", "name": room.history["name"]}]
    for disguise in disguises:
        body = {"spec": {"owner": {**room.owner, **disguise}, "data": {"admin": "eve"}, "historyLimit": 0}}
        assert_foreign(client.post(room.snapshots + query, body))
    change = {"type": "Changed", "time": "2026-01-02T03:04:05Z", "uid": "u", "apiVersion": "v1", "historyResourceVersion": room.it.seen}
    assert_refused_history(client.post(room.snapshots + query, {"spec": {"owner": room.owner, "data": {"admin": "eve"}, "historyLimit": 0, "change": change}}))
    assert room.states() == before


def assert_refused_history(answer):
    assert answer.status == 403 and 'cannot update resource "histories/status"' in answer.json["message"], answer


def test_a_history_without_states_has_an_uid_too(room):
    made = room.shop.post(f"{V1}/namespaces/{room.name}/histories", {"metadata": {"name": "new"}, "spec": {"subject": {
        "group": "", "kind": "Service", "namespace": room.name, "name": "new"}}}).json["metadata"]
    assert_foreign(room.snapshot(room.mallory, {"a": 1}, {**owner("web"), "uid": made["uid"]}))


def statefulset(name):
    return {"metadata": {"name": name}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "serviceName": name, "template": {
        "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}}}


def test_the_uid_of_an_owner_is_its_own(room):
    sets = f"/apis/{APPS}/namespaces/{room.name}/statefulsets"
    uids = {name: room.shop.post(sets, statefulset(name)).json["metadata"]["uid"] for name in ("web", "db")}
    by = {"apiVersion": APPS, "kind": "StatefulSet", "name": "web", "uid": uids["web"], "controller": True}
    assert room.snapshot(room.mallory, {"a": 1}, by).status == 201
    assert_foreign(room.snapshot(room.mallory, {"a": 1}, {**by, "uid": uids["db"]}))
    assert_foreign(room.snapshot(room.mallory, {"a": 1}, {**by, "uid": "none"}))
    assert_foreign(room.snapshot(room.mallory, {"a": 1}, {**by, "name": "not-there"}))
    # Of another server's kinds the uid counts, until revisions say whose it is.
    assert room.snapshot(room.mallory, {"a": 1}, owner("far")).status == 201
    assert room.snapshot(room.mallory, {"a": 2}, {**owner("far"), "apiVersion": "extensions/v1beta1"}).status == 201
    assert_foreign(room.snapshot(room.mallory, {"a": 3}, {**owner("far"), "name": "near"}))
    assert_foreign(room.snapshot(room.mallory, {"a": 3}, {**owner("far"), "kind": "Foo"}))


def names_of(room, by):
    return sorted(item["metadata"]["name"] for item in room.shop.get(f"{room.path()}?fieldSelector=controller.uid=uid-of-{by}").json["items"])


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
def test_trimming_below_what_was_there_is_deleting(room, query):
    for i in range(6):
        assert room.snapshot(room.mallory, {"i": i}, owner("web")).status == 201
    before = names_of(room, "web")

    def trim(client, data, limit):
        return client.post(room.snapshots + query, {"spec": {"owner": owner("web"), "data": data, "historyLimit": limit}})

    for data, limit in (({"i": 5}, 0), ({"i": 5}, 3), ({"i": 9}, 0), ({"i": 9}, 3), ({"i": 2}, 0)):
        answer = trim(room.mallory, data, limit)
        assert answer.status == 403 and 'cannot delete resource "controllerrevisions" in API group "annals.dev" in the namespace' in answer.json["message"], answer
        assert names_of(room, "web") == before
    trimmed = trim(room.eve, {"i": 5}, 0).json["status"]["trimmed"]
    assert len(trimmed) == 5 and len(names_of(room, "web")) == (6 if query else 1)


def test_a_controller_needs_nothing_but_snapshots(room):
    for i in range(8):
        status = room.snapshot(room.mallory, {"i": i}, owner("web"), historyLimit=3).json["status"]
        assert status["result"] == "Created" and len(status.get("trimmed", [])) == (i > 3)
    assert room.snapshot(room.mallory, {"i": 4}, owner("web"), historyLimit=3).json["status"]["result"] == "RolledBack"
    # A state more, as where a limit was lowered by one.
    assert len(room.snapshot(room.mallory, {"i": 9}, owner("web"), historyLimit=2).json["status"]["trimmed"]) == 2


# ---- end to end ----


def plugin(shop, room, *arguments):
    return processes.run([processes.BIN, "kubectl", *arguments, "--namespace", room.name], env=shop.kubectl_env())


def test_the_recorder_undo_and_restore_still_work(shop):
    room = Shop(shop)
    assert shop.post(f"{V1}/recorders", {"metadata": {"name": room.name}, "spec": {
        "resources": [{"groups": [""], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": room.name}}}}).status == 201
    path = f"/api/v1/namespaces/{room.name}/configmaps"

    def recorded(total):
        history = shop.get(f"{V1}/namespaces/{room.name}/histories/{room.history['name']}").json
        return history["status"]["totalChanges"] == total

    assert shop.patch(f"{path}/settings", {"data": {"admin": "dave"}}).status == 200
    retry_until(lambda: recorded(4), "the recorder records")
    done = plugin(shop, room, "undo", "configmap/settings", "--yes")
    assert done.returncode == 0, done
    assert shop.get(f"{path}/settings").json["data"] == {"admin": "carol"}
    retry_until(lambda: recorded(5), "the way back is recorded")
    assert shop.delete(f"{path}/settings").status == 200
    retry_until(lambda: recorded(6), "the deletion is recorded")
    done = plugin(shop, room, "restore", "configmap/settings", "--yes")
    assert done.returncode == 0, done
    assert shop.get(f"{path}/settings").json["data"] == {"admin": "carol"}
    assert shop.delete(f"{V1}/recorders/{room.name}").status == 200


# ---- who meddles with etcd is found out ----


class Etcd:
    """A server, and what is recorded of one ConfigMap, in an etcd that the test writes to."""

    def __init__(self, etcd, serve, config):
        self.etcd = etcd()
        self.server = serve(self.etcd.endpoint, "--storage-migration=Off", "--compress-history=false")  # texts that a test can alter
        retry_until(lambda: self.server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
        self.config = config
        self.it = Recorded(self.server, "default", "ConfigMap", "settings", managers=["helm"])
        self.it.make(data={"admin": "alice"})
        for admin in ("bob", "carol", "dave"):
            self.it.patch({"data": {"admin": admin}})
        self.name = self.it.history["metadata"]["name"]
        items = self.server.get(revisions(api_version=ANNALS)).json["items"]
        self.names = [item["metadata"]["name"] for item in sorted(items, key=lambda item: item["revision"])]
        self.history = f"{V1}/namespaces/default/histories/{self.name}"

    def key(self, resource, name):
        return f"/annals/objects/annals.dev/{resource}/default/{name}"

    def change(self, resource, name, change):
        """Rewrites an object behind the server's back, and waits until the server has it."""
        key = self.key(resource, name)
        thing = json.loads(self.etcd.ctl("get", "--print-value-only", key))
        change(thing)
        self.etcd.ctl("put", key, json.dumps(thing))
        kv = json.loads(self.etcd.ctl("get", key, "-w", "json"))["kvs"][0]
        path = f"{V1}/namespaces/default/{resource}/{name}"
        retry_until(lambda: self.server.get(path).json["metadata"]["resourceVersion"] == str(kv["mod_revision"]), "the server has it")
        self.it.seen = str(kv["mod_revision"]) if resource == "histories" else self.it.seen

    def alter_changes(self, change):
        self.change("histories", self.name, lambda thing: change(thing["status"]["changes"]))

    def plugin(self, *arguments):
        return processes.run([processes.BIN, "kubectl", *arguments, "--kubeconfig", self.config])

    def verify(self, *arguments, status=1):
        done = self.plugin("verify", *arguments)
        assert done.returncode == status, done
        return done.stdout

    def fsck(self):
        done = processes.run([processes.BIN, "fsck", "--etcd-servers", self.etcd.endpoint, "-o", "json"])
        return [(finding["check"], finding["found"]) for finding in json.loads(done.stdout)["findings"]]


@pytest.fixture
def store(etcd, serve, certificates, folder):
    made = Etcd(etcd, serve, folder / "kubeconfig")
    processes.write_kubeconfig(made.config, made.server.url, certificates)
    return made


def test_changes_have_digests_and_are_a_chain(store):
    status = store.server.get(store.history).json["status"]
    states = {item["metadata"]["name"]: item["metadata"]["annotations"]["annals.dev/digest"]
              for item in store.server.get(revisions(api_version=ANNALS)).json["items"]}
    changes = status["changes"]
    assert [change["digest"] for change in changes] == [states[change["revision"]] for change in changes]
    assert changes[-1]["digest"] == status["digest"] and "previous" not in changes[0]
    for before, change in zip(changes, changes[1:]):
        text = json.dumps(before, sort_keys=True, separators=(",", ":"))
        assert change["previous"] == hashlib.sha256(text.encode()).hexdigest()
    store.it.delete()
    last = store.server.get(store.history).json["status"]["changes"][-1]
    assert last["type"] == "Deleted" and last["previous"] and "digest" not in last
    assert store.verify("cm/settings", status=0) == store.verify(status=0) == store.verify("-A", status=0)
    assert store.verify(status=0) == "1 histories, 5 changes, 4 revisions: 0 altered, 0 missing, 0 unverified\n"
    assert store.fsck() == []


def test_an_altered_state_goes_nowhere(store):
    store.change("controllerrevisions", store.names[1], lambda thing: thing["data"]["data"].update(admin="eve"))
    assert f"Altered   revision {store.names[1]}: its data are not the state that was recorded" in store.verify("cm/settings")
    assert ("record", "its data are not the state that was recorded") in store.fsck()
    for command in (["undo", "cm/settings", "--to-revision=2"], ["undo", "cm/settings", "--to-revision=2", "--dry-run=server"],
                    ["show", "cm/settings", "--revision=2"], ["diff", "cm/settings", "--revision=2"], ["diff", "cm/settings", "--revision=1", "--to=2"],
                    ["history", "cm/settings", "-o", "json"], ["log", "-p"]):
        refused = store.plugin(*command)
        assert refused.returncode == 1 and "is not the state that was recorded" in refused.stderr and "eve" not in refused.stdout, refused
    assert store.it.get()["data"] == {"admin": "dave"}
    store.it.delete()
    assert "is not the state that was recorded" in store.plugin("restore", "cm/settings", "--revision=2").stderr
    assert store.server.get(store.it.path).status == 404
    assert store.plugin("restore", "cm/settings", "--revision=3").returncode == 0 and store.it.get()["data"] == {"admin": "carol"}


def remove(changes, n):
    del changes[n]


MEDDLING = {
    "user": (lambda changes: changes[1].update(user="bob"), "does not follow the change before it"),
    "time": (lambda changes: changes[0].update(time="2020-01-01T00:00:00Z"), "does not follow the change before it"),
    "first": (lambda changes: remove(changes, 0), "does not follow|has lost the change before it"),
    "middle": (lambda changes: remove(changes, 2), "does not follow the change before it"),
    "last": (lambda changes: remove(changes, 3), "has another digest than the status of the History"),
    "digest": (lambda changes: changes[2].update(digest="x"), "does not follow the change before it"),
    "link": (lambda changes: changes[3].pop("previous"), "does not follow the change before it"),
    "order": (lambda changes: changes.insert(1, changes.pop(2)), "does not follow the change before it"),
    "number": (lambda changes: changes[3].update(number=9), "names another revision than the status of the History"),
}


@pytest.mark.parametrize("meddling", MEDDLING)
def test_an_altered_change_is_seen(store, meddling):
    change, words = MEDDLING[meddling]

    def meddle(thing):
        change(thing["status"]["changes"])
        thing["status"]["totalChanges"] = len(thing["status"]["changes"])

    store.change("histories", store.name, meddle)
    assert re.search(words, store.verify())
    assert any(check == "record" and re.search(words, found) for check, found in store.fsck())


def test_a_missing_revision_is_seen(store):
    assert store.server.delete(f"{V1}/namespaces/default/controllerrevisions/{store.names[2]}").status == 200
    assert "Missing" in store.verify() and "led to a revision that is missing" in store.verify()
    assert ("record", "3 revisions are there, and 4 were recorded") in store.fsck()


def test_a_revision_that_nobody_recorded_is_seen(store):
    by = {"apiVersion": ANNALS, "kind": "History", "name": store.name, "uid": store.it.history["metadata"]["uid"], "controller": True}
    assert store.server.post(revisions(api_version=ANNALS), revision("forged", 9, {"admin": "eve"}, ANNALS, ownerReferences=[by])).status == 201
    assert "Altered   revision forged: no change led to it" in store.verify()
    assert ("record", "no change led to it") in store.fsck()
    assert json.loads(store.plugin("verify", "-o", "json").stdout)["items"] == [{
        "namespace": "default", "history": store.name, "object": "configmap/settings", "finding": "Altered",
        "message": "revision forged: no change led to it"}]


def test_what_the_limit_trims_is_not_missing(store):
    for i in range(60):
        store.it.alter({"data": {"admin": str(i % 7)}})
        store.it.take(limit=3)
    assert "64 changes" not in store.verify(status=0)
    assert store.verify(status=0) == "1 histories, 50 changes, 4 revisions: 0 altered, 0 missing, 0 unverified\n"
    assert store.fsck() == []


def test_states_outlive_the_changes_that_are_listed(store):
    for i in range(55):
        store.it.alter({"data": {"admin": str(i)}})
        store.it.take(limit=100)
    said = store.verify(status=0)
    n = 59 - len(store.server.get(store.history).json["status"]["changes"])
    assert n > 1 and f"59 revisions: 0 altered, 0 missing, {n} unverified\nunverified: {n} revisions: the changes that led to them are no longer listed\n" in said
    assert store.fsck() == []


def test_what_has_no_digests_is_unverified(store):
    def strip(changes):
        for change in changes:
            change.pop("digest", None)
            change.pop("previous", None)

    store.alter_changes(strip)
    said = store.verify(status=0)
    why = ("4 changes: recorded without a digest", "3 revisions: the changes that led to them were recorded without a digest")
    assert all(f"Unverified   {reason}\n" in said for reason in why), said
    assert said.endswith(f" 0 altered, 0 missing, 7 unverified\nunverified: {why[0]}\nunverified: {why[1]}\n")
    assert store.fsck() == []
    assert store.plugin("show", "cm/settings", "--revision=2").returncode == 0
    # The chain begins behind it.
    store.it.patch({"data": {"admin": "erin"}})
    assert " 0 altered, 0 missing, 8 unverified\n" in store.verify(status=0)
    assert len(store.server.get(store.history).json["status"]["changes"][-1]["previous"]) == 64
    store.alter_changes(lambda changes: changes[1].update(user="bob"))
    store.verify(status=0)
    store.alter_changes(lambda changes: changes[3].update(user="bob"))
    assert "does not follow the change before it" in store.verify()


def test_an_import_refuses_changes_that_are_no_chain(store, folder, etcd):
    path, other = folder / "all", etcd()
    done = processes.run([processes.BIN, "export", "-o", path, "--etcd-servers", store.etcd.endpoint])
    assert done.returncode == 0, done
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    [history] = [line for line in lines if line["kind"] == "History"]

    def imported():
        body = "".join(json.dumps(line) + "\n" for line in lines[:-1])
        path.write_text(body + json.dumps({**lines[-1], "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n")
        return processes.run([processes.BIN, "import", path, "--etcd-servers", other.endpoint, "--exact"])

    history["status"]["changes"][1]["user"] = "bob"
    refused = imported()
    assert refused.returncode == 1 and "does not follow the change before it" in refused.stderr, refused
    del history["status"]["changes"][1]["user"]
    assert imported().returncode == 0
