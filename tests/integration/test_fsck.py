"""annals fsck: what it finds in an etcd that somebody has meddled with, what it repairs, and that it leaves everything else alone."""

import itertools
import json
import threading

import pytest

import processes

DEPENDENTS = "/apis/annals.dev/v1/namespaces/default/dependents"
PROVIDERS = "/apis/annals.dev/v1/namespaces/default/providers"
ENTRY = "/annals/references/annals.dev/providers/default/{}/annals.dev/dependents/{}"


def provider(name):
    return {"apiVersion": "annals.dev/v1", "kind": "Provider", "metadata": {"name": name}, "spec": {"data": {"a": "b"}}}


def dependent(name, *providers):
    return {"apiVersion": "annals.dev/v1", "kind": "Dependent", "metadata": {"name": name},
            "spec": {"providers": [{"kind": "Provider", "name": each} for each in providers]}}


def fsck(*arguments):
    return processes.run([processes.BIN, "fsck", *arguments])


class World:
    """An etcd with a server on it, two Providers and two Dependents: d1 of p1 and p2, d2 of p2."""

    def __init__(self, etcd, serve):
        self.etcd = etcd()
        self.server = serve(self.etcd.endpoint, "--etcd-compaction-interval=0", "--storage-migration=Off")
        processes.retry_until(lambda: self.server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
        for name in ("p1", "p2"):
            assert self.server.post(PROVIDERS, provider(name)).status == 201
        self.uids = {}
        for name, of in (("d1", ["p1", "p2"]), ("d2", ["p2"])):
            made = self.server.post(DEPENDENTS, dependent(name, *of))
            assert made.status == 201, made
            self.uids[name] = made.json["metadata"]["uid"]

    def fsck(self, *arguments):
        return fsck("--etcd-servers", self.etcd.endpoint, *arguments)

    def findings(self, *arguments):
        """What is found, as (check, subject); the exit status must go with it."""
        done = self.fsck("-o", "json", *arguments)
        report = json.loads(done.stdout)
        assert done.returncode == (1 if report["findings"] else 0), done
        assert report["found"] == len(report["findings"])
        assert report["repaired"] == sum(finding["repaired"] for finding in report["findings"])
        return [(finding["check"], finding["subject"]) for finding in report["findings"]]

    def put(self, key, value):
        self.etcd.ctl("put", key, value)

    def stored(self, key):
        """The values of all keys that begin so, by key."""
        found = json.loads(self.etcd.ctl("get", "--prefix", key, "-w", "json")).get("kvs", [])
        import base64
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode() for kv in found}

    def objects(self):
        """Those that clients have made: servers write StorageVersions when they like."""
        return {key: value for key, value in self.stored("/annals/objects/").items() if "/storageversions/" not in key}

    def change(self, key, change):
        """Rewrites an object behind the server's back."""
        thing = json.loads(self.stored(key)[key])
        change(thing)
        self.put(key, json.dumps(thing))


@pytest.fixture
def world(etcd, serve):
    return World(etcd, serve)


def object_key(resource, name):
    return f"/annals/objects/annals.dev/{resource}/default/{name}"


def test_fsck__finds_nothing_in_what_the_server_has_written(world):
    assert world.findings() == []
    said = world.fsck()
    assert said.returncode == 0 and "all well" in said.stdout


def test_fsck__repairs_a_missing_entry(world):
    before = world.stored("/annals/references/")
    world.etcd.ctl("del", ENTRY.format("p1", "d1"))
    assert world.findings() == [("references", "dependents.annals.dev default/d1")]
    assert world.findings() != [], "it changes nothing without --repair"
    objects = world.objects()
    assert "1 repaired" in world.fsck("--repair").stdout
    assert world.findings() == []
    assert world.stored("/annals/references/") == before
    assert world.objects() == objects


def test_fsck__repairs_an_entry_of_nobody(world):
    world.put(ENTRY.format("p1", "gone"), "7")
    world.put(ENTRY.format("p1", "d2"), world.uids["d2"])
    wrong = [("references", "dependents.annals.dev default/d2"), ("references", "dependents.annals.dev default/gone")]
    assert world.findings() == wrong
    assert world.findings("--repair") == wrong
    assert world.findings() == []
    assert world.server.get(PROVIDERS + "/p1").status == 200


def test_fsck__repairs_an_entry_with_another_uid(world):
    world.put(ENTRY.format("p2", "d2"), "another")
    done = world.fsck()
    assert done.returncode == 1 and "says another instead of " + world.uids["d2"] in done.stdout
    assert world.findings("--repair") == [("references", "dependents.annals.dev default/d2")]
    assert world.findings() == []
    assert world.stored(ENTRY.format("p2", "d2")) == {ENTRY.format("p2", "d2"): world.uids["d2"]}


def test_fsck__repairs_the_history_of_a_controller(world):
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u/1", "controller": True}
    made = world.server.post("/apis/annals.dev/v1/namespaces/default/controllerrevisions",
                             {"apiVersion": "annals.dev/v1", "kind": "ControllerRevision", "metadata": {"name": "web-1", "ownerReferences": [owner]},
                              "revision": 1, "data": {"a": 1}})
    assert made.status == 201, made
    right = world.stored("/annals/history/")
    assert len(right) == 2 and world.findings() == []
    web = ("history", "controllerrevisions.annals.dev default/web-1")
    for key in right:
        world.etcd.ctl("del", key)
    world.put("/annals/history/default/u%2F1/number/2/web-1", made.json["metadata"]["uid"])
    world.put("/annals/history/default/u%2F1/number/2/web-2", "x")
    world.put("/annals/history/default/u%2F1/nothing/2/web-1", "x")
    wrong = world.findings("--repair")
    assert sorted(wrong) == [("history", "/annals/history/default/u%2F1/nothing/2/web-1"), web, web, web, ("history", web[1].replace("-1", "-2"))]
    world.etcd.ctl("del", "/annals/history/default/u%2F1/nothing/2/web-1")
    assert world.findings() == [] and world.stored("/annals/history/") == right


def test_fsck__counts_objects_by_the_version_they_are_stored_in(world):
    def stored():
        counts = json.loads(world.fsck("-o", "json").stdout)["stored"]
        return {(count["resource"], count["version"]): count["count"] for count in counts if not count["resource"].startswith("storageversions")}

    before = stored()
    assert before["dependents.annals.dev", "annals.dev/v1"] == 2 and before["namespaces", "v1"] > 0
    assert world.findings() == []
    world.put(object_key("dependents", "d2"), json.dumps({
        **json.loads(world.stored(object_key("dependents", "d2"))[object_key("dependents", "d2")]), "apiVersion": "annals.dev/v1beta1",
        "spec": {"providerName": "p2", "whenMissing": "Refuse"}}))
    world.change(object_key("providers", "p2"), lambda thing: thing.update(apiVersion="annals.dev/v1beta1"))
    assert world.findings() == [], "every version that is known will do"
    after = stored()
    assert after == {**before, ("dependents.annals.dev", "annals.dev/v1"): 1, ("dependents.annals.dev", "annals.dev/v1beta1"): 1,
                     ("providers.annals.dev", "annals.dev/v1"): 1, ("providers.annals.dev", "annals.dev/v1beta1"): 1}
    assert "dependents.annals.dev: 1 stored as annals.dev/v1beta1\n" in world.fsck().stdout


def test_fsck__finds_versions_that_nobody_knows(world):
    world.change(object_key("dependents", "d1"), lambda thing: thing.update(apiVersion="annals.dev/v7"))
    assert world.findings("--repair") == [("version", "dependents.annals.dev default/d1")], "nobody can tell what else would be wrong"
    said = world.fsck().stdout
    assert 'it is stored as \\"annals.dev/v7\\", a version that is not known here' in said
    assert "dependents.annals.dev: 1 stored in a version that is not known here\n" in said
    assert {"resource": "dependents.annals.dev", "version": None, "count": 1} in json.loads(world.fsck("-o", "json").stdout)["stored"]


def test_fsck__knows_the_keys_of_servers(world):
    for key in ("/annals/replicas/some-id", "/annals/replicas-seen/some-id", "/annals/user-notes/some.id", "/annals/user-notes/uid/00000000000000000001/write.id",
                "/annals/user-notes/uid/deletion/.id", "/annals/migrator"):
        world.put(key, "x")
    assert world.findings() == []


@pytest.mark.parametrize("key", ["/annals/replicas/a/b", "/annals/user-notes/a/b", "/annals/user-notes/a/b/c/d", "/annals/replicas-seen", "/annals/migrator/x", "/annals/nonsense", "/annals/referenced/annals.dev/providers/p1", "/annals/objectsx/annals.dev/providers/default/p1"])
def test_fsck__finds_keys_that_are_not_its_own(world, key):
    world.put(key, "x")
    assert world.findings("--repair") == [("unknown", key)]
    assert world.stored(key) == {key: "x"}, "nor does it remove them"


@pytest.mark.parametrize("rest", ["annals.dev/providers/p1", "annals.dev/providers/default/a/b", "annals.dev/nothings/default/p1", "core/namespaces/a/b"])
def test_fsck__finds_keys_out_of_shape(world, rest):
    world.put("/annals/objects/" + rest, "{}")
    assert world.findings() == [("shape", "/annals/objects/" + rest)]


def test_fsck__leaves_other_prefixes_alone(world):
    world.put("/annalsx/objects/annals.dev/providers/default/p1", "{}")
    world.put("/annal", "x")
    assert world.findings() == []
    assert "0 keys" in world.fsck("--etcd-prefix=/other").stdout


def test_fsck__finds_values_that_are_no_objects(world):
    world.put(object_key("providers", "p3"), "{")
    world.put(object_key("providers", "p4"), '{"kind":"Dependent","apiVersion":"annals.dev/v1","metadata":{"name":"p4"}}')
    assert world.findings() == [("value", "providers.annals.dev default/p3"), ("value", "providers.annals.dev default/p4")]


def test_fsck__finds_objects_under_another_name(world):
    world.change(object_key("providers", "p1"), lambda thing: thing["metadata"].update(name="p9"))
    assert world.findings() == [("identity", "providers.annals.dev default/p1")]


def test_fsck__finds_a_uid_that_two_have(world):
    uid = json.loads(world.stored(object_key("providers", "p1"))[object_key("providers", "p1")])["metadata"]["uid"]
    world.change(object_key("providers", "p2"), lambda thing: thing["metadata"].update(uid=uid))
    assert world.findings() == [("uid", "providers.annals.dev default/p2")]


def test_fsck__finds_two_controllers(world):
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": True} for name in ("a", "b")]

    def own(metadata, of):  # members are stored in the order of the schema
        rest = [metadata.pop(name) for name in ("finalizers", "managedFields")]
        metadata.update(ownerReferences=of, finalizers=rest[0], managedFields=rest[1])

    world.change(object_key("providers", "p1"), lambda thing: own(thing["metadata"], owners[:1]))
    assert world.findings() == []
    world.change(object_key("providers", "p2"), lambda thing: own(thing["metadata"], owners))
    assert world.findings() == [("controller", "providers.annals.dev default/p2")]


def test_fsck__finds_a_history_whose_last_state_is_gone(world):
    below = "/apis/annals.dev/v1/namespaces/default"
    subject = {"group": "apps", "kind": "StatefulSet", "namespace": "default", "name": "web"}
    made = world.server.post(f"{below}/histories", {"metadata": {"name": "web"}, "spec": {"subject": subject}}).json["metadata"]
    assert world.findings() == [], "it has no state yet"
    owner = {"apiVersion": "annals.dev/v1", "kind": "History", "name": "web", "uid": made["uid"], "controller": True}
    change = {"type": "Created", "time": "2026-01-02T03:04:05Z", "uid": "u", "apiVersion": "apps/v1", "historyResourceVersion": made["resourceVersion"]}
    taken = world.server.post(f"{below}/snapshots", {"spec": {"owner": owner, "data": {"x": 1}, "change": change}})
    assert taken.status == 201 and world.findings() == []
    assert world.server.delete(f"{below}/controllerrevisions/{taken.json['status']['revision']['name']}").status == 200
    lost = [("state", "histories.annals.dev default/web"), ("record", "histories.annals.dev default/web")]
    assert world.findings() == world.findings("--repair") == lost
    assert "is not there, which should hold its last state" in world.fsck().stdout


def test_fsck__finds_what_is_referred_to_without_protection(world):
    world.server.post(PROVIDERS, provider("unused"))
    for name in ("p1", "unused"):
        world.change(object_key("providers", name), lambda thing: thing["metadata"].pop("finalizers"))
    assert world.findings("--repair") == [("protection", "providers.annals.dev default/p1")]
    assert world.findings() == [("protection", "providers.annals.dev default/p1")], "objects are not its to repair"


def test_fsck__reads_page_after_page(world):
    """More keys than a page has, values of many sizes, and something wrong on both sides of pages' borders."""
    for i in range(300):
        made = dependent(f"many-{i:03}", "p1")
        made["metadata"]["annotations"] = {"size": "x" * (i % 7) * 20000}
        assert world.server.post(DEPENDENTS, made).status == 201
    assert world.findings() == []
    wrong = [f"many-{i:03}" for i in range(0, 300, 13)]
    for name in wrong:
        world.etcd.ctl("del", ENTRY.format("p1", name))
    assert world.findings("--repair") == [("references", f"dependents.annals.dev default/{name}") for name in wrong]
    assert world.findings() == []


def test_fsck__repairs_while_others_write(world):
    """Dependents come, change and go, entries vanish and appear out of nothing, and fsck repairs: none of it leaves a wrong entry."""
    failures, is_over, has_repaired = [], threading.Event(), threading.Event()

    def write(n):
        try:
            for i in itertools.count():
                if is_over.is_set() or (i >= 60 and has_repaired.is_set()):
                    return
                name = f"w{n}-{i % 5}"
                answers = [world.server.post(DEPENDENTS, dependent(name, "p1", "p2")),
                           world.server.patch(f"{DEPENDENTS}/{name}/status", {"status": {"observedGeneration": i}}),
                           world.server.delete(f"{DEPENDENTS}/{name}") if i % 3 else None]
                bad = [answer for answer in answers if answer and answer.status not in (200, 201, 409)]
                failures.extend(bad)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    def meddle():
        i = 0
        while not is_over.is_set():
            i += 1
            world.etcd.ctl("del", ENTRY.format("p1", f"w{i % 3}-{i % 5}"))
            world.put(ENTRY.format("p2", f"w{i % 3}-{(i + 1) % 5}"), "wrong")

    def repair():
        return json.loads(world.fsck("--repair", "-o", "json").stdout)["repaired"]

    writers = [threading.Thread(target=write, args=[n]) for n in range(3)]
    meddler = threading.Thread(target=meddle)
    for thread in writers + [meddler]:
        thread.start()
    try:
        processes.retry_until(repair, "something to repair")
        has_repaired.set()
        while any(thread.is_alive() for thread in writers):
            repair()
    finally:
        is_over.set()
        for thread in writers + [meddler]:
            thread.join()
    assert not failures
    world.findings("--repair")
    assert world.findings() == []
    everyone = {item["metadata"]["name"]: item for item in world.server.get(DEPENDENTS).json["items"]}
    wanted = {ENTRY.format(each["name"], name): item["metadata"]["uid"] for name, item in everyone.items() for each in item["spec"]["providers"]}
    assert world.stored("/annals/references/") == wanted


def test_fsck__reads_the_directory_of_an_annals_up(up):
    running = up()
    assert running.post(PROVIDERS, provider("p1")).status == 201
    assert running.post(DEPENDENTS, dependent("d1", "p1")).status == 201
    beside = fsck("--data-dir", running.dir)
    assert beside.returncode == 0 and "all well" in beside.stdout, beside
    running.stop()
    stopped = fsck("--data-dir", running.dir, "-o", "json")
    assert stopped.returncode == 0, stopped
    assert json.loads(stopped.stdout)["objects"] >= 2
    again = up()
    assert again.get(DEPENDENTS + "/d1").status == 200


@pytest.mark.parametrize("arguments", [["--etcd-servers=http://127.0.0.1:1", "--data-dir=/tmp"], ["--data-dir=/tmp", "-o", "yaml"],
                                       ["--etcd-servers=http://127.0.0.1:1", "--etcd-prefix=annals"], ["--data-dir=/tmp", "more"]])
def test_fsck__refuses_misuse(arguments):
    done = fsck(*arguments)
    assert done.returncode == 2 and "See annals help fsck" in done.stderr


def test_fsck__says_when_it_cannot_read(folder):
    nobody = fsck("--etcd-servers", f"unix://{folder}/nobody:0")
    assert nobody.returncode == 1 and "cannot read" in nobody.stderr
    nothing = fsck("--data-dir", folder)
    assert nothing.returncode == 1 and "no directory of an annals up" in nothing.stderr
    assert not list(folder.iterdir())


def definition(plural, kind, *versions, group="example.com", scope="Namespaced"):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": name, "served": True, "storage": i == 0, "schema": {"openAPIV3Schema": schema}} for i, name in enumerate(versions)]}}


class Defined:
    """Two definitions on both sides of their own group, with objects: widgets of v1 and v1beta1, and alone one of the cluster."""

    DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"

    def __init__(self, world):
        self.world = world
        for what in (definition("widgets", "Widget", "v1", "v1beta1"), definition("alone", "Alone", "v1", group="aaa.example", scope="Cluster")):
            assert world.server.post(self.DEFINITIONS, what).status == 201
        for name in ("a", "b"):
            assert world.server.post(self.WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}}).status == 201
        assert world.server.post("/apis/aaa.example/v1/alone", {"apiVersion": "aaa.example/v1", "kind": "Alone", "metadata": {"name": "x"}}).status == 201

    def change(self, name, change):
        self.world.change(f"/annals/objects/apiextensions.k8s.io/customresourcedefinitions/{name}", change)


WIDGET = "/annals/objects/example.com/widgets/default/"


@pytest.fixture
def defined(world):
    return Defined(world)


def test_fsck__knows_objects_of_definitions(defined):
    world = defined.world
    assert world.findings() == []
    world.change(WIDGET + "b", lambda thing: thing.update(apiVersion="example.com/v1beta1"))
    assert world.findings() == [], "every version of the definition will do"
    report = json.loads(world.fsck("-o", "json").stdout)
    counts = {(count["resource"], count["version"]): count["count"] for count in report["stored"]}
    assert len(counts) == len(report["stored"])
    assert [counts[of] for of in (("widgets.example.com", "example.com/v1"), ("widgets.example.com", "example.com/v1beta1"), ("alone.aaa.example", "aaa.example/v1"),
                                  ("customresourcedefinitions.apiextensions.k8s.io", "apiextensions.k8s.io/v1"))] == [1, 1, 1, 2]
    assert "widgets.example.com: 1 stored as example.com/v1beta1\n" in world.fsck().stdout


def test_fsck__finds_damaged_objects_of_definitions(defined):
    world = defined.world
    uid = json.loads(world.stored(WIDGET + "a")[WIDGET + "a"])["metadata"]["uid"]
    world.change(WIDGET + "b", lambda thing: thing["metadata"].update(uid=uid))
    for name, value in (("c", "{"), ("d", '{"kind":"Alone","apiVersion":"example.com/v1"}'), ("e/f", "{}")):
        world.put(WIDGET + name, value)
    world.put(WIDGET + "g", json.dumps({**json.loads(world.stored(WIDGET + "a")[WIDGET + "a"]), "apiVersion": "example.com/v7"}))
    world.put("/annals/objects/aaa.example/alone/default/x", "{}")
    title = "widgets.example.com default/"
    wrong = [("shape", "/annals/objects/aaa.example/alone/default/x"), ("uid", title + "b"), ("value", title + "c"), ("value", title + "d"),
             ("shape", WIDGET + "e/f"), ("version", title + "g")]
    assert world.findings("--repair") == wrong
    assert world.findings() == wrong, "objects are not its to repair"
    assert "widgets.example.com: 1 stored in a version that is not known here\n" in world.fsck().stdout


def test_fsck__finds_objects_without_a_definition(defined):
    world = defined.world
    world.server.stop()  # it would establish the definition again
    world.put("/annals/objects/example.com/gadgets/default/a", "{}")
    world.put("/annals/objects/core/gadgets/default/a", "{}")
    defined.change("alone.aaa.example", lambda thing: thing["status"].update(conditions=[]))
    world.put("/annals/objects/apiextensions.k8s.io/customresourcedefinitions/broken.example.com", "{")
    world.put("/annals/objects/example.com/broken/default/a", "{}")
    assert world.findings() == [("shape", "/annals/objects/aaa.example/alone/x"), ("value", "customresourcedefinitions.apiextensions.k8s.io broken.example.com"),
                                ("shape", "/annals/objects/core/gadgets/default/a"), ("shape", "/annals/objects/example.com/broken/default/a"),
                                ("shape", "/annals/objects/example.com/gadgets/default/a")]
    said = world.fsck().stdout
    for name, why in (("gadgets.example.com", "does not exist"), ("alone.aaa.example", "is not established"), ("broken.example.com", "cannot be read")):
        assert f"no kind is stored there: the CustomResourceDefinition {name} {why}\n" in said
    assert "/annals/objects/core/gadgets/default/a: no kind is stored there\n" in said


def test_fsck__finds_definitions_that_contradict_themselves(defined):
    world = defined.world
    world.server.stop()
    title = "customresourcedefinitions.apiextensions.k8s.io "
    defined.change("alone.aaa.example", lambda thing: thing["spec"]["names"].update(plural="others"))
    assert world.findings() == [("definition", title + "alone.aaa.example")], "its accepted names stay"
    assert "it describes others.aaa.example" in world.fsck().stdout
    defined.change("alone.aaa.example", lambda thing: (thing["spec"]["names"].update(plural="alone"), thing["status"].update(storedVersions=["v1", "v0"])))
    defined.change("widgets.example.com", lambda thing: thing["status"].update(storedVersions=["v1beta1"]))
    assert world.findings() == [("definition", title + "alone.aaa.example"), ("definition", title + "widgets.example.com")]
    said = world.fsck().stdout
    assert "its status.storedVersions has v0, which spec.versions does not have" in said
    assert "its status.storedVersions leaves out the version that is stored" in said
    defined.change("alone.aaa.example", lambda thing: thing["status"].update(storedVersions=["v1"]))
    defined.change("widgets.example.com", lambda thing: thing["status"].update(storedVersions=["v1"], acceptedNames={}))
    assert world.findings() == [("definition", title + "widgets.example.com"), ("shape", WIDGET + "a"), ("shape", WIDGET + "b")]
    assert "it is established, but its names or versions describe no kind" in world.fsck().stdout


def test_fsck__reads_page_after_page_of_many_definitions(world):
    """Objects of sixty kinds, a page of keys each for some; the count of each is whole."""
    for i in range(60):
        kind = f"Kind{i:02}"
        assert world.server.post(Defined.DEFINITIONS, definition(f"kind{i:02}s", kind, "v1")).status == 201
        for n in range(1 + (i % 20 == 7) * 150):
            assert world.server.post(f"/apis/example.com/v1/namespaces/default/kind{i:02}s", {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": f"n{n}"}}).status == 201
    assert world.findings() == []
    counts = {count["resource"]: count["count"] for count in json.loads(world.fsck("-o", "json").stdout)["stored"]}
    assert [counts[f"kind{i:02}s.example.com"] for i in range(60)] == [1 + (i % 20 == 7) * 150 for i in range(60)]
