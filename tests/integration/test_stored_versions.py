"""Objects that etcd has in another version of their kind, or in other words, than would be written now: what is read of them through every API version, and which
writes bring them over. What migrators of storage versions rely on, the one in kube-controller-manager among them, is that a write that changes nothing does."""

import json
import re

import pytest

from objects import APPLY, JSON_PATCH, MERGE, STRATEGIC, owner
import processes

pytestmark = pytest.mark.long_file

EVENTS = "events.k8s.io/v1"


def beta_dependent(stored):
    """As v1beta1 has it: one Provider, and beside it what that cannot say."""
    spec = stored["spec"]
    names = [each["name"] for each in spec["providers"] if each["kind"] == "Provider"]
    said = {"providerName": names[0] if names else "", "whenMissing": spec["whenMissing"]}
    kept = {"annals.dev/hub": {"spec": spec}} if spec["providers"] != [{"kind": "Provider", "name": said["providerName"]}] else {}
    return {**stored, "spec": said, **kept}


def other_event(stored):
    names = {"involvedObject": "regarding", "message": "note", "source": "deprecatedSource", "firstTimestamp": "deprecatedFirstTimestamp",
             "lastTimestamp": "deprecatedLastTimestamp", "count": "deprecatedCount", "reportingComponent": "reportingController"}
    order = ["kind", "apiVersion", "metadata", "eventTime", "series", "reportingController", "reportingInstance", "action", "reason", "regarding", "related",
             "note", "type", "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"]
    said = {names.get(name, name): value for name, value in stored.items()}
    return {name: said[name] for name in order if name in said and said[name] != ""}


def dependent(*providers):
    return {"spec": {"providers": [{"kind": kind, "name": name} for kind, name in providers], "whenMissing": "Wait"}}


class Case:
    def __init__(self, resource, kind, versions, version, content, form=lambda stored: stored, metadata=None):
        self.resource, self.kind, self.versions, self.version, self.form = resource, kind, versions, version, form
        self.body = {"apiVersion": versions[0], "kind": kind, "metadata": {"name": "a", **(metadata or {})}, **content}

    def collection(self, version):
        return f"/{'apis/' if '/' in version else 'api/'}{version}/namespaces/default/{self.resource}"

    def path(self, version):
        return self.collection(version) + "/a"

    def key(self):
        group = self.versions[0].partition("/")[0] if "/" in self.versions[0] else "core"
        return f"/annals/objects/{group}/{self.resource}/default/a"


ANNALS = ["annals.dev/v1", "annals.dev/v1beta1"]
ALL = ANNALS + ["apps/v1"]
REVISION = {"data": {"n": 1, "spec": {"image": "nginx"}, "null": None}, "revision": 3}
OWNED = {"ownerReferences": [owner("web")], "labels": {"a": "b"}}
EVENT = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Started", "message": "It has <started>.", "type": "Normal",
         "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-02T00:00:00Z", "source": {"component": "kubelet"}}

CASES = {
    "revision-v1beta1": Case("controllerrevisions", "ControllerRevision", ALL, "annals.dev/v1beta1", REVISION, metadata=OWNED),
    "revision-apps": Case("controllerrevisions", "ControllerRevision", ALL, "apps/v1", REVISION, metadata=OWNED),
    "provider": Case("providers", "Provider", ANNALS, "annals.dev/v1beta1", {"spec": {"data": {"a": "b"}}}),
    "dependent-of-one": Case("dependents", "Dependent", ANNALS, "annals.dev/v1beta1", dependent(("Provider", "p")), beta_dependent),
    "dependent-of-several": Case("dependents", "Dependent", ANNALS, "annals.dev/v1beta1",
                                 dependent(("Provider", "p"), ("ControllerRevision", "r"), ("Provider", "q")), beta_dependent),
    "dependent-of-no-provider": Case("dependents", "Dependent", ANNALS, "annals.dev/v1beta1", dependent(("ControllerRevision", "r")), beta_dependent),
    "event": Case("events", "Event", ["v1", EVENTS], EVENTS, EVENT, other_event),
}


class World:
    """An object made as it should be, and etcd."""

    def __init__(self, etcd, serve, case):
        self.etcd, self.case = etcd(), case
        self.server = serve(self.etcd.endpoint, "--etcd-compaction-interval=0", "--storage-migration=Off")
        processes.retry_until(lambda: self.server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
        made = self.server.post(case.collection(case.versions[0]), case.body)
        assert made.status == 201, made
        self.first = self.stored()

    def stored(self):
        return self.etcd.ctl("get", "--print-value-only", self.case.key()).rstrip("\n")

    def mod_revision(self):
        return json.loads(self.etcd.ctl("get", self.case.key(), "-w", "json"))["kvs"][0]["mod_revision"]

    def put(self, text):
        """Writes behind the server's back; reads that follow see it, as they are fresh."""
        self.etcd.ctl("put", self.case.key(), text)

    def put_in(self, version):
        """Numbers and strings of the tests' objects are spelled as Python does, except < and >."""
        stored = {**json.loads(self.first), "apiVersion": version}
        text = json.dumps(self.case.form(stored) if version == self.case.version else stored, separators=(",", ":"), ensure_ascii=False)
        self.put(text.replace("<", "\\u003c").replace(">", "\\u003e"))

    def seen(self):
        """Through every API version, by every kind of read, without what a write changes anyhow."""
        return {version: self.seen_at(version) for version in self.case.versions}

    def seen_at(self, version):
        one = self.server.get(self.case.path(version)).json
        listed = self.server.get(self.case.collection(version)).json["items"]
        assert one["apiVersion"] == version and len(listed) == 1
        with self.server.watch(f"{self.case.collection(version)}?watch=true") as watch:
            event = watch.next()
        assert event["type"] == "ADDED"
        table = self.server.get(self.case.path(version), headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json
        assert "annals.dev/hub" not in json.dumps([one, listed, event, table])
        for thing in (one, event["object"], *listed):
            del thing["metadata"]["resourceVersion"]
        return one, listed, event["object"], [row["cells"][:-1] for row in table["rows"]]


@pytest.fixture(params=CASES)
def world(etcd, serve, request):
    return World(etcd, serve, CASES[request.param])


def test_reads_do_not_tell_what_is_stored(world):
    before = world.seen()
    world.put_in(world.case.version)
    assert json.loads(world.stored())["apiVersion"] == world.case.version
    assert world.seen() == before


def put_back(world, version, query=""):
    path = world.case.path(version)
    return world.server.put(path + query, world.server.get(path).json)


def patch_nothing(body, kind):
    return lambda world, version, query="": world.server.patch(world.case.path(version) + query, body, kind)


def apply_nothing(world, version, query=""):
    """What kube-controller-manager sends, as JSON with the type of YAML."""
    metadata = world.server.get(world.case.path(version)).json["metadata"]
    body = {"apiVersion": version, "kind": world.case.kind, "metadata": {name: metadata[name] for name in ("uid", "resourceVersion")}}
    query = (query or "?") + ("&" if query else "") + "fieldManager=storage-version-migrator-controller"
    return world.server.patch(world.case.path(version) + query, body, APPLY)


NOTHING = {"put": put_back, "merge": patch_nothing({}, MERGE), "json": patch_nothing([], JSON_PATCH), "strategic": patch_nothing({}, STRATEGIC),
           "apply": apply_nothing}


def test_writes_of_nothing_bring_the_object_over(world):
    for name, write in NOTHING.items():
        for version in world.case.versions:
            world.put_in(world.case.version)
            before, revision = world.seen_at(version), world.mod_revision()
            tried = write(world, version, "?dryRun=All")
            assert tried.status == 200 and world.mod_revision() == revision, (name, version, tried)
            done = write(world, version)
            assert done.status == 200, (name, version, done)
            assert world.stored() == world.first, (name, version)
            assert int(done.json["metadata"]["resourceVersion"]) == world.mod_revision() > revision
            assert world.seen_at(version) == before, "nothing has changed: no generation, nobody's fields"
            again = write(world, version)
            assert again.json["metadata"]["resourceVersion"] == done.json["metadata"]["resourceVersion"], (name, version)
            assert world.mod_revision() == int(again.json["metadata"]["resourceVersion"]), "what is as it should be is not written"


def test_writes_of_nothing_correct_the_spelling(world):
    for text in (json.dumps(json.loads(world.first)), world.first.replace('"metadata":{', '"metadata":{ '), world.first[:-1] + " }"):
        assert text != world.first
        world.put(text)
        assert put_back(world, world.case.versions[0]).status == 200
        assert world.stored() == world.first


def test_changes_are_written_in_the_version_of_now(world):
    world.put_in(world.case.version)
    for number, version in enumerate(world.case.versions):
        done = world.server.patch(world.case.path(version), {"metadata": {"labels": {"changed": str(number)}}})
        assert done.status == 200 and done.json["apiVersion"] == version
        stored = json.loads(world.stored())
        assert stored["apiVersion"] == world.case.versions[0] and stored["metadata"]["labels"]["changed"] == str(number)
        without = {name: value for name, value in json.loads(world.first).items() if name not in ("metadata", "apiVersion")}
        assert {name: stored[name] for name in without} == without
        assert "annals.dev/hub" not in stored
        world.put_in(world.case.version)


def test_deletions_find_what_is_stored(world):
    world.put_in(world.case.version)
    gone = world.server.delete(world.case.path(world.case.versions[-1]))
    assert gone.status == 200, gone
    left = world.server.get(world.case.path(world.case.versions[0]))
    if world.case.resource == "providers":  # which wait until nobody refers to them
        assert "deletionTimestamp" in left.json["metadata"] and json.loads(world.stored())["apiVersion"] == world.case.versions[0]
    else:
        assert left.status == 404 and world.stored() == ""


def stored_objects(world):
    """The census, from /metrics: {version: count} of the case's resource."""
    return {version: int(n) for resource, version, n in
            re.findall(r'^annals_stored_objects\{group="[^"]*",resource="([^"]+)",version="([^"]+)"\} (\d+)$', world.server.get("/metrics").text, re.MULTILINE)
            if resource == world.case.resource}


def test_metrics_say_what_is_stored(world):
    nothing = {version: 0 for version in [*world.case.versions, "unknown"]}
    processes.retry_until(lambda: stored_objects(world) == {**nothing, world.case.versions[0]: 1}, "the census")
    world.put_in(world.case.version)
    assert world.server.get(world.case.path(world.case.version)).status == 200
    assert stored_objects(world) == {**nothing, world.case.version: 1}
    world.put(world.stored().replace(f'"apiVersion":"{world.case.version}"', '"apiVersion":"example.com/v9"', 1))
    processes.retry_until(lambda: stored_objects(world) == {**nothing, "unknown": 1}, "the census")
    assert put_back(world, world.case.version).status != 200, "what is not understood is not written over"
    assert "example.com/v9" in world.stored()
    world.etcd.ctl("del", world.case.key())
    processes.retry_until(lambda: stored_objects(world) == nothing, "the census")


# ---- versions that the server does not know ----

class Future:
    """A Dependent of Providers and of a ControllerRevision that a newer build has stored."""

    def __init__(self, etcd, serve):
        self.world = World(etcd, serve, CASES["dependent-of-several"])
        self.server = self.world.server
        for case, name in ((CASES["provider"], "p"), (CASES["revision-apps"], "r")):
            made = self.server.post(case.collection(case.versions[0]), {**case.body, "metadata": {**case.body["metadata"], "name": name}})
            assert made.status == 201, made
        self.world.put_in("annals.dev/v9")
        processes.retry_until(lambda: self.server.get(self.path("dependents", "a")).status == 503, "the server to notice")

    @staticmethod
    def path(resource, name=""):
        return f"/apis/annals.dev/v1/namespaces/default/{resource}/{name}".rstrip("/")

    def referrers(self, path):
        """What kubectl get shows."""
        table = self.server.get(path, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json
        return dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"]))["Dependents"]

    def fix(self):
        """The Dependent is as it was, and the server has noticed."""
        self.world.put(self.world.first)
        processes.retry_until(lambda: self.server.get(self.path("dependents", "a")).status == 200, "the server to notice")

    @staticmethod
    def refused(answer):
        assert answer.status == 503 and answer.headers["Retry-After"] == "1", answer
        assert answer.json["message"] == "1 object of dependents.annals.dev is stored in a version that this server does not know: annals.dev/v9"


@pytest.fixture
def future(etcd, serve):
    return Future(etcd, serve)


def test_unknown_versions_are_not_taken_for_absence(future):
    path = future.path("dependents", "a")
    for answer in (future.server.get(path), future.server.get(future.path("dependents")), future.server.get(future.path("dependents") + "?watch=true"),
                   future.server.put(path, CASES["dependent-of-several"].body), future.server.patch(path, {}), future.server.delete(path),
                   future.server.delete(future.path("dependents")), future.server.post(future.path("dependents"), CASES["dependent-of-several"].body)):
        future.refused(answer)
    assert '"annals.dev/v9"' in future.world.stored()


def test_what_objects_of_unknown_versions_refer_to_stays(future):
    provider, letting_go = future.path("providers", "p"), {"metadata": {"finalizers": None}}
    assert future.server.patch(provider, {"metadata": {"labels": {"a": "b"}}}).status == 200, "what takes nothing away needs no knowledge"
    assert future.referrers(provider) is None
    future.refused(future.server.patch(provider, letting_go))
    future.refused(future.server.delete(provider + "?dryRun=All"))
    assert future.server.delete(provider).json["metadata"]["finalizers"] == ["annals.dev/provider-protection"]
    future.refused(future.server.patch(provider, letting_go))
    future.fix()
    assert future.server.patch(provider, letting_go).status == 409, "it is seen who refers to it"
    assert future.referrers(provider) == 1
    assert future.server.delete(future.path("dependents", "a")).status == 200
    assert future.server.patch(provider, letting_go).status == 200 and future.server.get(provider).status == 404


def test_what_is_stored_in_an_unknown_version_is_not_missing(future):
    key = "/annals/objects/annals.dev/providers/default/p"
    future.fix()
    future.world.etcd.ctl("put", key, future.world.etcd.ctl("get", "--print-value-only", key).replace('"annals.dev/v1"', '"annals.dev/v9"', 1))
    processes.retry_until(lambda: future.server.get(future.path("providers", "p")).status == 503, "the server to notice")
    wants = {"apiVersion": "annals.dev/v1", "kind": "Dependent", "metadata": {"name": "b"}, "spec": {"providers": [{"name": "p"}], "whenMissing": "Refuse"}}
    refused = future.server.post(future.path("dependents"), wants)
    assert refused.status == 503 and refused.json["message"].startswith("1 object of providers.annals.dev is stored in a version"), refused
    wants["spec"]["providers"] = [{"name": "absent"}]
    assert future.server.post(future.path("dependents"), wants).status == 503, "another one may be as well"


def test_namespace_of_an_unknown_version_is_not_missing(future):
    key = "/annals/objects/core/namespaces/default"
    future.world.etcd.ctl("put", key, future.world.etcd.ctl("get", "--print-value-only", key).replace('"apiVersion":"v1"', '"apiVersion":"v9"', 1))
    processes.retry_until(lambda: future.server.get("/api/v1/namespaces").status == 503, "the server to notice")
    refused = future.server.post(future.path("providers"), {"metadata": {"name": "n"}, "spec": {}})
    assert refused.status == 503 and refused.json["message"].startswith("1 object of namespaces is stored in a version"), refused
    assert future.server.patch(future.path("providers", "p"), {"metadata": {"labels": {"a": "b"}}}).status == 200, "what is there has its namespace"


def test_histories_keep_what_objects_of_unknown_versions_may_need(future):
    def snap(n):
        body = {"metadata": {}, "spec": {"owner": owner("history"), "data": {"n": n}, "historyLimit": 1}}
        made = future.server.post(future.path("snapshots"), body)
        assert made.status == 201, made
        return made.json["status"]

    assert [snap(n).get("trimmed") for n in range(4)] == [None] * 4, "any of them may be needed"
    future.fix()
    assert len(snap(4)["trimmed"]) == 3


# What is sent through an API version that has another form: an object's content, and a change of it.
SENT = {
    ("dependents", "annals.dev/v1"): dependent(("Provider", "p")),
    ("dependents", "annals.dev/v1beta1"): {"spec": {"providerName": "p", "whenMissing": "Wait"}},
    ("events", "v1"): EVENT,
    ("events", EVENTS): {"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Started", "note": "x", "type": "Normal", "action": "Start",
                         "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "k8s.io/kubelet", "reportingInstance": "node-1"},
    ("providers", None): {"spec": {"data": {"a": "b"}}},
    ("controllerrevisions", None): REVISION,
}
CHANGES = {"dependents": {"spec": {"whenMissing": "Refuse"}}, "events": {"reason": "Another"}, "providers": {"spec": {"data": {"a": "c"}}},
           "controllerrevisions": {"data": {"another": 1}}}
DEPRECATED = {kind: f'299 - "annals.dev/v1beta1 {kind} is deprecated; use annals.dev/v1 {kind}"' for kind in ("ControllerRevision", "Provider", "Dependent")}


def plain(thing):
    """Without what no two objects have in common. Entries of managedFields are in the order of their times."""
    if isinstance(thing, dict):
        thing = {**thing, "managedFields": sorted(thing["managedFields"], key=lambda entry: json.dumps({**entry, "time": ""}))} if "managedFields" in thing else thing
        return {name: plain(value) for name, value in thing.items() if name not in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time")}
    return [plain(value) for value in thing] if isinstance(thing, list) else thing


class Transcript:
    """What a server answers to everything that can be done to an object through one API version, and what is seen of it through the others."""

    def __init__(self, server, case, version):
        self.server, self.case, self.version, self.answers = server, case, version, []
        self.play()

    def note(self, answer, version):
        warnings = answer.headers.get_all("Warning")
        expected = [DEPRECATED[self.case.kind]] if version == "annals.dev/v1beta1" else None
        assert warnings == expected, (answer, version)
        assert "annals.dev/hub" not in answer.text
        self.answers.append((answer.status, plain(answer.json)))
        return answer

    def look(self):
        for version in self.case.versions:
            self.note(self.server.get(self.case.path(version)), version)
            self.note(self.server.get(self.case.collection(version)), version)

    def play(self):
        watches = {version: self.server.watch(self.case.collection(version) + "?watch=true") for version in self.case.versions}
        path, collection, resource = self.case.path(self.version), self.case.collection(self.version), self.case.resource
        body = {"apiVersion": self.version, "kind": self.case.kind, "metadata": {"name": "a", **({"ownerReferences": [owner("web")]} if resource != "events" else {})},
                **SENT.get((resource, self.version), SENT.get((resource, None)))}
        steps = [lambda: self.server.post(collection + "?dryRun=All", body),
                 lambda: self.server.post(collection, body),
                 lambda: self.server.post(collection, body),
                 lambda: self.server.patch(path, {"metadata": {"labels": {"merge": "1"}}}, MERGE),
                 lambda: self.server.patch(path, {"metadata": {"labels": {"strategic": "1"}}}, STRATEGIC),
                 lambda: self.server.patch(path, [{"op": "add", "path": "/metadata/labels/json", "value": "1"}], JSON_PATCH),
                 lambda: self.server.patch(path + "?fieldManager=tester", {**body, "metadata": {"name": "a", "labels": {"apply": "1"}}}, APPLY),
                 lambda: self.server.patch(path + "?fieldManager=other&force=true", {"apiVersion": self.version, "kind": self.case.kind, "metadata": {"labels": {"apply": "2"}}}, APPLY),
                 lambda: self.server.put(path, {**self.server.get(path).json, "metadata": {**self.server.get(path).json["metadata"], "labels": {"put": "1"}}}),
                 lambda: self.server.patch(path, CHANGES[resource], MERGE)]
        for step in steps:
            self.note(step(), self.version)
            self.look()
        self.stored = self.server.store.ctl("get", "--print-value-only", self.case.key())
        self.note(self.server.delete(path), self.version)
        assert self.server.post(collection, {**body, "metadata": {"name": "z"}}).status == 201
        for version, watch in watches.items():
            self.answers.append((version, list(self.events(watch))))
            watch.close()

    @staticmethod
    def events(watch):
        """Up to the one about z."""
        for event in watch:
            yield plain(event)
            if event["object"]["metadata"]["name"] == "z":
                return


@pytest.mark.parametrize("name", ["revision-apps", "provider", "dependent-of-one", "event"])
def test_nothing_but_etcd_tells_in_which_version_objects_are_stored(etcd, serve, name):
    case = CASES[name]
    for version in case.versions:
        seen = {}
        for stored in case.versions:
            store = etcd()
            server = serve(store.endpoint, f"--storage-version={case.resource}={stored}", "--etcd-compaction-interval=0")
            server.store = store
            processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
            transcript = Transcript(server, case, version)
            assert json.loads(transcript.stored)["apiVersion"] == stored
            seen[stored] = transcript.answers
            server.stop()
            store.stop()
        first = seen.pop(case.versions[0])
        assert first[0][0] == 201
        for answers in seen.values():
            assert answers == first


def test_data_is_not_spelled_anew(etcd, serve):
    world = World(etcd, serve, CASES["revision-apps"])
    odd = '{"n":1.0e0,"big":12345678901234567890123.10,"twice":1,"twice":2,"z":null,"e":"\\/\\u0041"}'
    world.first = world.first.replace('{"n":1,"spec":{"image":"nginx"},"null":null}', odd)
    assert odd in world.first
    for version in world.case.versions:
        world.put(world.first.replace('"apiVersion":"annals.dev/v1"', f'"apiVersion":"{version}"', 1))
        assert world.server.patch(world.case.path(version), {}).status == 200
        assert world.stored() == world.first
