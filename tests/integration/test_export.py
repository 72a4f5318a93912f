"""annals export and annals import: what comes back is what was there, nothing is changed by a file that is wrong, and an import that
was interrupted goes on."""

import base64
import contextlib
import functools
import hashlib
import json
import os
import pty
import re
import signal
import subprocess

import pytest

import processes
from objects import owner, revision, revisions
from recorded import Recorded

V1 = "/apis/annals.dev/v1"
CORE = "/api/v1/namespaces/shop"
SHOP = f"{V1}/namespaces/shop"
# What servers write by themselves, and exports leave out.
MOMENTARY = ("/storageversions/", "/leases/")


def meta(name, **more):
    return {"metadata": {"name": name, **more}}


CONTAINER = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": CONTAINER}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
# One of every kind, with where it is created.
SAMPLES = [
    ("/api/v1/namespaces", meta("shop", annotations={"note": "tab\there, \u2028 and <"})),
    (f"{CORE}/configmaps", {**meta("settings"), "data": {"a": "1", "uid": "not-a-uid", "namespace": "shop"}}),
    (f"{CORE}/secrets", {**meta("key"), "data": {"k": "AAEC"}}),
    (f"{CORE}/serviceaccounts", meta("robot")),
    (f"{CORE}/events", {**meta("e1"), "involvedObject": {"kind": "ConfigMap", "name": "settings", "namespace": "shop"}, "reason": "Made",
                        "message": "m", "type": "Normal", "source": {"component": "test"}}),
    ("/api/v1/nodes", meta("machine")),
    ("/api/v1/persistentvolumes", {**meta("disk"), "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                                                            "hostPath": {"path": "/x"}}}),
    (f"{CORE}/persistentvolumeclaims", {**meta("claim"), "spec": CLAIM}),
    (f"{CORE}/pods", {**meta("solo"), "spec": CONTAINER}),
    (f"{CORE}/podtemplates", {**meta("form"), "template": TEMPLATE}),
    (f"{CORE}/services", {**meta("web"), "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}),
    ("/apis/storage.k8s.io/v1/storageclasses", {**meta("fast"), "provisioner": "x.example/y"}),
    ("/apis/coordination.k8s.io/v1/namespaces/shop/leases", {**meta("turn"), "spec": {"holderIdentity": "me"}}),
    ("/apis/apps/v1/namespaces/shop/statefulsets", {**meta("web"), "spec": {"serviceName": "web", "replicas": 0, "selector": {
        "matchLabels": {"app": "web"}}, "template": TEMPLATE}}),
    (revisions("shop"), revision("old-1", 1, {"exact": 12345678901234567890123, "one": 1.0e0}, ownerReferences=[owner("set")])),
    (revisions("shop", "annals.dev/v1"), revision("kept-1", 1, {"a": None, "b": {}}, "annals.dev/v1", labels={"annals.dev/protect": "true"})),
    (f"{SHOP}/providers", {**meta("p1"), "spec": {"data": {"a": "b"}}}),
    (f"{SHOP}/dependents", {**meta("d1"), "spec": {"providers": [{"kind": "Provider", "name": "p1"},
                                                                {"kind": "ControllerRevision", "name": "kept-1"}], "whenMissing": "Refuse"}}),
    (f"{V1}/recorders", {**meta("all"), "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}]}}),
]
MIGRATION = {"kind": "StorageMigration", "apiVersion": "annals.dev/v1", "metadata": {"name": "again", "uid": "uid-again", "creationTimestamp": "2026-01-01T00:00:00Z"},
             "spec": {"resource": {"group": "annals.dev", "resource": "providers"}}, "status": {"objects": {}}}


PACKED = '"apiVersion":"annals.dev/zstd"'


def annals(*arguments, **more):
    return processes.run([processes.BIN, *map(str, arguments)], **more)


class Store:
    """An etcd, and the commands on it."""

    def __init__(self, etcd):
        self.etcd = etcd
        self.flags = ["--etcd-servers", etcd.endpoint]

    def export(self, path, *flags):
        done = annals("export", "-o", path, *self.flags, *flags)
        assert done.returncode == 0, done
        return path

    def do_import(self, path, *flags, **more):
        return annals("import", path, *self.flags, *flags, patience=processes.LONG_PATIENCE, **more)

    def imports(self, path, *flags, **more):
        done = self.do_import(path, *flags, **more)
        assert done.returncode == 0, done
        return done.stdout.splitlines()[-1]

    def refuses(self, path, *flags, **more):
        """It changes nothing, and says why."""
        before = self.settled_keys()
        done = self.do_import(path, *flags, **more)
        assert done.returncode == 1 and self.settled_keys() == before, done
        return done.stderr

    def settled_keys(self):
        """Without what servers write when they like."""
        return {key: value for key, value in self.keys().items() if not any(part in key for part in (*MOMENTARY, "/replicas", "/fence", "/compact"))}

    def keys(self, prefix="/annals/"):
        found = json.loads(self.etcd.ctl("get", "--prefix", prefix, "-w", "json")).get("kvs", [])
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode(errors="backslashreplace") for kv in found}

    def objects(self):
        """Without compression, and without the bases of what is compressed."""
        found = {key: value for key, value in self.keys("/annals/objects/").items() if not any(part in key for part in (*MOMENTARY, "/objects/-/"))}
        if any(PACKED in value for value in found.values()):
            lines = annals("export", *self.flags).stdout.splitlines()[1:-1]
            plain = {tuple(json.loads(line)["metadata"].get(name, "") for name in ("namespace", "name")) + (json.loads(line)["kind"],): line for line in lines}
            found = {key: plain[*key.split("/")[5:7], json.loads(value)["kind"]] if PACKED in value else value for key, value in found.items()}
        return found

    def indexes(self):
        return {key: value for part in ("references", "referenced", "history") for key, value in self.keys(f"/annals/{part}/").items()}

    def assert_sound(self):
        done = annals("fsck", *self.flags)
        assert done.returncode == 0 and "all well" in done.stdout, done

    def get(self, key):
        return json.loads(self.objects()["/annals/objects/" + key])


@pytest.fixture
def store(etcd):
    """A factory."""
    return lambda: Store(etcd())


@pytest.fixture
def full(store, serve):
    """A store with an object of every kind, and a server on it."""
    full = store()
    server = full.server = serve(full.etcd.endpoint, "--etcd-compaction-interval=0", "--storage-migration=Off")
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    for path, body in SAMPLES:
        made = server.post(path, body)
        assert made.status == 201, made
    Recorded(server, "shop", "ConfigMap", "settings").take("Created")
    return full


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_export(path, objects, **header):
    """As annals export would."""
    lines = [{"kind": "ExportHeader", "apiVersion": "export.annals.dev/v1", "objects": len(objects), **header}, *objects]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    trailer = {"kind": "ExportTrailer", "apiVersion": "export.annals.dev/v1", "objects": len(objects), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    path.write_text(text + json.dumps(trailer) + "\n")
    return path


def config_map(name, uid=None, namespace="default", **more):
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z", **more}, "data": {"k": name}}


def namespace(name):
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "uid": f"uid-ns-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def test_import__of_an_export_is_the_original(full, store, tmp_path):
    assert full.server.stop() == 0
    full.imports(write_export(tmp_path / "migration", [MIGRATION]), "--exact")  # which a server would change at once
    kinds = {line["kind"] for line in lines_of(full.export(tmp_path / "all"))} - {"ExportHeader", "ExportTrailer"}
    stored = json.loads(annals("fsck", "-o", "json", *full.flags).stdout)["stored"]
    assert len(kinds) == len({count["resource"] for count in stored} - {"leases.coordination.k8s.io", "storageversions.annals.dev"})
    copy = store()
    assert copy.imports(tmp_path / "all", "--exact").startswith(f"{len(full.objects())} created, 0 there already")
    assert copy.objects() == full.objects(), "to the byte"
    assert copy.indexes() == full.indexes() != {}
    copy.assert_sound()
    again = copy.keys()
    assert copy.imports(tmp_path / "all", "--exact").startswith(f"0 created, {len(full.objects())} there already")
    assert copy.keys() == again
    copy.export(tmp_path / "again")
    assert lines_of(tmp_path / "again")[1:-1] == lines_of(tmp_path / "all")[1:-1]


def test_export__has_a_header_and_a_trailer_and_is_its_owners(full, tmp_path):
    path = full.export(tmp_path / "all")
    header, *objects, trailer = lines_of(path)
    assert header["objects"] == len(objects) == trailer["objects"] == sum(header["resources"].values())
    assert header["resources"]["providers.annals.dev"] == 1 and header["prefix"] == "/annals" and int(header["revision"]) > 1
    before = b"".join(path.read_bytes().splitlines(keepends=True)[:-1])
    assert trailer["sha256"] == hashlib.sha256(before).hexdigest()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("target", ["target", "absent"])
def test_export__follows_no_link(full, tmp_path, target):
    """In a folder that others may write to, a link leads to a file that they may read, or must not be lost."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / target)
    (tmp_path / "target").write_text("mine")
    (tmp_path / "target").chmod(0o666)
    done = annals("export", "-o", link, *full.flags)
    assert done.returncode == 1 and "is a symbolic link: name the file itself" in done.stderr
    assert link.is_symlink() and (tmp_path / "target").read_text() == "mine" and not (tmp_path / "absent").exists()
    full.export(tmp_path / "target")
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o600


def test_export__takes_the_name_of_no_device(full, tmp_path):
    """Root's -o /dev/null would leave a machine without one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as cat:
        try:
            full.export(pipe)
            assert json.loads(cat.communicate(timeout=processes.PATIENCE)[0].splitlines()[-1])["kind"] == "ExportTrailer"
        finally:
            cat.kill()
    assert pipe.is_fifo()


@pytest.mark.parametrize("output", ["/dev/full", "-"])
def test_export__fails_when_the_disk_is_full(full, output):
    """All of it fits into the last buffer, so the last write alone notices."""
    with open("/dev/full", "wb") as nowhere:
        done = subprocess.run([processes.BIN, "export", "-o", output, "--resources=leases", *full.flags], stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=processes.PATIENCE)
    assert (done.returncode, "No space left on device" in done.stderr, "objects at revision" in done.stderr) == (1, True, False), done


def test_export__of_chosen_resources_and_namespaces(full, tmp_path):
    def chosen(*flags):
        return {(kind, name) for kind, _, name in exported(full, tmp_path / "some", *flags)}

    assert chosen("--resources=controllerrevisions.apps,leases") >= {("ControllerRevision", "old-1"), ("Lease", "turn")}
    assert chosen("--resources=providers", "--namespaces=default") == set()
    some = chosen("--namespaces=shop,absent")
    assert ("Namespace", "shop") in some and ("ConfigMap", "settings") in some
    assert not {name for kind, name in some if kind in ("Node", "PersistentVolume", "StorageClass", "Recorder")}
    assert ("Namespace", "default") not in some
    assert "no such resource" in annals("export", *full.flags, "--resources=nothings").stderr


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schema(**spec):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": OPEN}}


def definition(plural, kind, *versions, group="example.com", scope="Namespaced", **names):
    """The first version is stored."""
    versions = [{"name": name, "served": True, "storage": i == 0, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": of}}
                for i, (name, of) in enumerate(versions)]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind, **names}, "versions": versions}}


INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
WIDGETS = definition("widgets", "Widget", ("v1", schema(size=INTEGER, color={**TEXT, "default": "red"}, more=OPEN)), ("v1beta1", schema(size=INTEGER)), shortNames=["wi"])
# Its kind has the name of a built-in one, and its group sorts before the definition's.
SPACES = definition("spaces", "Namespace", ("v1", schema(namespace=TEXT)), group="aaa.example", scope="Cluster")
# The garbage collector looks at owners, the import at the kinds of histories: this is neither.
HISTORIES = definition("histories", "History", ("v2", OPEN), group="zzz.example")
EMPTY = definition("empties", "Empty", ("v1", OPEN))


def widget(name, version="v1", ns="shop", **spec):
    return f"/apis/example.com/{version}/namespaces/{ns}/widgets", {"apiVersion": f"example.com/{version}", "kind": "Widget", **meta(name), "spec": spec}


@pytest.fixture
def customs(full):
    """The full store, with definitions and their objects."""
    server = full.server
    for what in (HISTORIES, SPACES, WIDGETS, EMPTY):
        made = server.post(DEFINITIONS, what)
        assert made.status == 201, made
    space = server.post("/apis/aaa.example/v1/spaces", {"apiVersion": "aaa.example/v1", "kind": "Namespace", **meta("shop"), "spec": {"namespace": "shop"}}).json
    owned = widget("owned", size=3)
    owned[1]["metadata"]["ownerReferences"] = [{"apiVersion": "aaa.example/v1", "kind": "Namespace", "name": "shop", "uid": space["metadata"]["uid"]}]
    for path, body in (widget("a", size=1, more={"any": {"deep": [1, "\u2028", None]}, "uid": space["metadata"]["uid"]}), widget("b", "v1beta1", size=2), owned,
                       widget("c", ns="default"), ("/apis/zzz.example/v2/namespaces/shop/histories", {
                           "apiVersion": "zzz.example/v2", "kind": "History", **meta("h"), "status": {"revision": {"name": "none"}}})):
        made = server.post(path, body)
        assert made.status == 201, made
    assert server.patch("/apis/example.com/v1/namespaces/shop/widgets/a/status", {"status": {"seen": True}}).status == 200
    return full


def exported(store, path, *flags):
    return [(line["kind"], line["metadata"].get("namespace", ""), line["metadata"]["name"]) for line in lines_of(store.export(path, *flags))[1:-1]]


def test_export__has_custom_resources_behind_their_definitions(customs, tmp_path):
    everything = exported(customs, tmp_path / "all")
    assert everything[-6:] == [("History", "shop", "h"), ("Namespace", "", "shop"), ("Widget", "default", "c"), ("Widget", "shop", "a"), ("Widget", "shop", "b"),
                               ("Widget", "shop", "owned")]
    header, *lines = lines_of(tmp_path / "all")
    assert (header["resources"]["widgets.example.com"], header["resources"]["spaces.aaa.example"], "empties.example.com" in header["resources"]) == (4, 1, False)
    assert {line["spec"]["color"] for line in lines if line.get("apiVersion") == "example.com/v1"} == {"red"}, "the storage version, with its defaults"
    assert [name for kind, _, name in everything if kind == "CustomResourceDefinition"] == [
        "empties.example.com", "histories.zzz.example", "spaces.aaa.example", "widgets.example.com"]

    assert exported(customs, tmp_path / "some", "--resources=widgets.example.com,storageclasses") == [
        ("StorageClass", "", "fast"), ("Widget", "default", "c"), ("Widget", "shop", "a"), ("Widget", "shop", "b"), ("Widget", "shop", "owned")]
    assert exported(customs, tmp_path / "some", "--resources=widgets.example.com", "--namespaces=default") == [("Widget", "default", "c")]
    assert exported(customs, tmp_path / "some", "--resources=spaces.aaa.example", "--namespaces=shop") == [], "it is of the cluster"
    in_shop = exported(customs, tmp_path / "some", "--namespaces=shop")
    assert ("Namespace", "", "shop") in in_shop and in_shop[-4:] == [("History", "shop", "h"), ("Widget", "shop", "a"), ("Widget", "shop", "b"), ("Widget", "shop", "owned")]
    assert annals("export", *customs.flags, "--resources=things.example.com").stderr.strip().endswith(
        "--resources things.example.com: no such resource is stored, and no definition of that name")
    assert "the name of its definition" in annals("export", *customs.flags, "--resources=widgets").stderr


def test_export__says_which_objects_it_leaves_out(customs, tmp_path):
    def left_out(*flags):
        said = annals("export", "-o", tmp_path / "some", *customs.flags, *flags).stderr.splitlines()
        assert "objects at revision" in said[0] and len(said) <= 2, said
        return said[1:] and said[1].partition(":")[0]

    assert not left_out()
    customs.server.stop()
    customs.etcd.ctl("del", "/annals/objects/apiextensions.k8s.io/customresourcedefinitions/spaces.aaa.example")
    assert left_out() == "1 object is left out"
    assert not left_out("--resources=configmaps") and not left_out("--namespaces=shop")
    customs.etcd.ctl("put", "/annals/objects/example.com/empties/shop/x", "{}")
    done = annals("export", "-o", tmp_path / "some", *customs.flags)
    assert (done.returncode, "empties/shop/x cannot be read, and nothing is left out silently" in done.stderr) == (1, True), done


def test_import__of_custom_resources_is_the_original(customs, store, tmp_path):
    assert customs.server.stop() == 0
    customs.export(tmp_path / "all")
    copy = store()
    assert copy.imports(tmp_path / "all", "--exact").startswith(f"{len(customs.objects())} created, 0 there already")
    assert copy.objects() == customs.objects(), "to the byte"
    copy.assert_sound()
    again = copy.keys()
    assert copy.imports(tmp_path / "all", "--exact").startswith(f"0 created, {len(customs.objects())} there already")
    assert copy.keys() == again
    copy.export(tmp_path / "again")
    assert lines_of(tmp_path / "again")[1:-1] == lines_of(tmp_path / "all")[1:-1]


def test_import__of_custom_resources_makes_new_ones_that_are_served(customs, store, serve, tmp_path):
    customs.export(tmp_path / "all")
    copy = store()
    flags = ("--rename-namespace=shop=copy", "--resources=namespaces,customresourcedefinitions,widgets.example.com,spaces.aaa.example,histories.zzz.example")
    rehearsed = copy.imports(tmp_path / "all", *flags, "--dry-run")
    assert rehearsed.startswith("would be: ") and not copy.objects()
    assert copy.imports(tmp_path / "all", *flags) == rehearsed.removeprefix("would be: ")
    copy.assert_sound()
    server = serve(copy.etcd.endpoint)
    made = {name: server.get(f"/apis/example.com/v1/namespaces/copy/widgets/{name}").json for name in ("a", "b", "owned")}
    space = server.get("/apis/aaa.example/v1/spaces/shop").json
    was = customs.server.get("/apis/aaa.example/v1/spaces/shop").json
    assert made["a"]["spec"] == {"size": 1, "color": "red", "more": {"any": {"deep": [1, "\u2028", None]}, "uid": space["metadata"]["uid"]}}
    assert made["a"]["status"] == {"seen": True} and made["b"]["spec"] == {"size": 2, "color": "red"}
    assert made["owned"]["metadata"]["ownerReferences"][0]["uid"] == space["metadata"]["uid"] != was["metadata"]["uid"]
    assert space["spec"] == {"namespace": "copy"} and server.get("/apis/zzz.example/v2/namespaces/copy/histories/h").status == 200
    settled = server.get(f"{DEFINITIONS}/widgets.example.com").json
    assert {c["type"]: c["status"] for c in settled["status"]["conditions"]} == {"NamesAccepted": "True", "Established": "True"}
    assert settled["status"]["storedVersions"] == ["v1"] and settled["status"]["acceptedNames"]["shortNames"] == ["wi"]
    assert settled["metadata"]["uid"] != customs.server.get(f"{DEFINITIONS}/widgets.example.com").json["metadata"]["uid"]
    # A server serves what comes while it runs, and the second import finds all of it.
    assert server.delete("/apis/example.com/v1/namespaces/copy/widgets/b").status == 200
    assert copy.imports(tmp_path / "all", *flags).startswith("1 created, ")
    assert processes.retry_until(lambda: server.get("/apis/example.com/v1beta1/namespaces/copy/widgets/b").json.get("spec"), "the widget") == {"size": 2}


def test_import__finds_definitions_anywhere_in_a_file(customs, store, tmp_path):
    """Objects come before definitions in it, and a List has both."""
    server = customs.server
    items = [server.get("/apis/example.com/v1beta1/namespaces/shop/widgets/b").json, server.get("/apis/aaa.example/v1/spaces/shop").json,
             server.get(f"{DEFINITIONS}/widgets.example.com").json, server.get(f"{DEFINITIONS}/spaces.aaa.example").json, namespace("shop")]
    del items[2]["status"]
    (tmp_path / "list").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    other = store()
    assert other.imports(tmp_path / "list").startswith("5 created")
    other.assert_sound()
    assert other.get("example.com/widgets/shop/b")["spec"] == {"color": "red", "size": 2}
    assert other.get("apiextensions.k8s.io/customresourcedefinitions/widgets.example.com")["status"]["acceptedNames"]["plural"] == "widgets"


def test_import__refuses_custom_resources_that_have_no_definition(customs, store, tmp_path):
    customs.export(tmp_path / "some", "--namespaces=shop")
    other = store()
    said = other.refuses(tmp_path / "some", "--exact")
    assert "no kind Widget of the version example.com/v1 is stored here, and no CustomResourceDefinition of the file or the store describes one" in said
    assert "4 things are wrong: nothing has been changed" in said
    assert other.refuses(tmp_path / "some", "--resources=widgets.example.com").strip().endswith("no definition of that name is imported or stored")
    assert "left as they are" in other.imports(tmp_path / "some", "--exact", "--resources=configmaps", "--create-namespaces"), "others can be had"
    customs.export(tmp_path / "definitions", "--resources=customresourcedefinitions")
    assert other.imports(tmp_path / "definitions", "--exact").startswith("4 created")
    assert other.imports(tmp_path / "some", "--exact", "--resources=widgets.example.com").startswith("3 created"), "of the stored definition"
    other.assert_sound()
    assert "--from-kubeconfig reads built-in resources" in annals("import", *other.flags, "--from-kubeconfig=x", "--resources=widgets.example.com").stderr


def test_import__judges_custom_resources_by_the_definition_in_force(customs, store, serve, tmp_path):
    customs.export(tmp_path / "all", "--resources=customresourcedefinitions,widgets.example.com,namespaces")
    customs.export(tmp_path / "widgets", "--resources=widgets.example.com,namespaces")
    other = store()
    server = serve(other.etcd.endpoint)
    narrow = definition("widgets", "Widget", ("v2", schema(size={**INTEGER, "maximum": 2}, color=TEXT)), ("v1", schema(size={**INTEGER, "maximum": 2}, color=TEXT)))
    assert server.post(DEFINITIONS, narrow).status == 201

    said = other.refuses(tmp_path / "all", "--exact", "--on-conflict=skip")
    assert 'widgets.example.com shop/a: unknown field "spec.more' in said and "spec.size in body should be less than or equal to 2" in said, said
    assert "2 things are wrong" in said
    assert "customresourcedefinitions.apiextensions.k8s.io widgets.example.com: another one of this name is stored" in other.refuses(tmp_path / "all")

    lines = [line for line in lines_of(tmp_path / "widgets")[1:-1] if line["metadata"]["name"] not in ("a", "owned")]
    assert other.imports(write_export(tmp_path / "fitting", lines), "--exact", "--on-conflict=skip").split(",")[0] == "3 created"
    stored = other.get("example.com/widgets/shop/b")
    assert (stored["apiVersion"], stored["spec"]) == ("example.com/v2", {"color": "red", "size": 2}), "its own storage version"
    assert processes.retry_until(lambda: server.get("/apis/example.com/v1/namespaces/shop/widgets/b").json.get("spec"), "the widget") == {"color": "red", "size": 2}

    # The definition of the file takes the place of the stored one, and keeps its uid. So all fits, and a running server changes over.
    before = server.get(f"{DEFINITIONS}/widgets.example.com").json
    refused = other.refuses(tmp_path / "all", "--on-conflict=replace")
    assert "it cannot replace the stored one: status.storedVersions[0]: missing from spec.versions" in refused, refused
    assert server.put(f"{DEFINITIONS}/widgets.example.com", {**WIDGETS, "metadata": before["metadata"], "spec": {**narrow["spec"], "versions": [
        {**version, "storage": version["name"] == "v1"} for version in narrow["spec"]["versions"]]}}).status == 200
    assert server.patch(f"{DEFINITIONS}/widgets.example.com/status", {"status": {"storedVersions": ["v1"]}}).status == 200
    for name in ("shop/widgets/b", "default/widgets/c"):
        assert server.delete(f"/apis/example.com/v1/namespaces/{name}").status == 200
    done = other.imports(tmp_path / "all", "--on-conflict=replace").split(", ")
    assert (done[0], done[2]) == ("7 created", "1 replaced"), "four widgets, three more definitions, and this one"
    now = server.get(f"{DEFINITIONS}/widgets.example.com").json
    assert now["metadata"]["uid"] == before["metadata"]["uid"] and now["metadata"]["generation"] == 3
    assert [version["name"] for version in now["spec"]["versions"]] == ["v1", "v1beta1"]
    assert processes.retry_until(lambda: server.get("/apis/example.com/v1/namespaces/shop/widgets/a").json.get("spec"), "the widget")["more"]["any"]
    other.assert_sound()


def test_import__settles_names_as_a_server_does(customs, store, serve, tmp_path):
    customs.export(tmp_path / "all", "--resources=customresourcedefinitions")
    other = store()
    server = serve(other.etcd.endpoint)
    assert server.post(DEFINITIONS, definition("wis", "Wi", ("v1", OPEN), singular="wi")).status == 201
    assert 'widgets.example.com: its names are not accepted here: "wi" is already in use' in other.refuses(tmp_path / "all")
    assert server.delete(f"{DEFINITIONS}/wis.example.com").status == 200
    processes.retry_until(lambda: server.get(f"{DEFINITIONS}/wis.example.com").status == 404, "the end of the definition")

    # What the servers of the source have not accepted is not accepted here.
    assert customs.server.post(DEFINITIONS, definition("wis", "Wi", ("v1", OPEN), shortNames=["wi"])).status == 201
    customs.export(tmp_path / "all", "--resources=customresourcedefinitions")
    assert other.imports(tmp_path / "all").startswith("5 created")
    waiting = processes.retry_until(lambda: server.get(f"{DEFINITIONS}/wis.example.com").json.get("status"), "the definition")
    assert {c["type"]: (c["status"], c["reason"]) for c in waiting["conditions"]} == {
        "NamesAccepted": ("False", "ShortNamesConflict"), "Established": ("False", "NotAccepted")}
    other.assert_sound()
    assert other.imports(tmp_path / "all").startswith("0 created, 5 there already")


@pytest.mark.parametrize("flags", [(), ("--exact",)])
def test_import__of_custom_resources_goes_on_after_a_kill(store, tmp_path, flags):
    """The definition of the first run is in force in the second one."""
    count = 3000
    things = [definition("widgets", "Widget", ("v1", schema(size=INTEGER))), *(widget(f"w{i:05}", ns="default", size=i)[1] for i in range(count)), namespace("default")]
    for i, thing in enumerate(things[:-1]):
        thing["metadata"] |= {"uid": f"uid-{i}", "creationTimestamp": "2026-01-01T00:00:00Z"} | ({"namespace": "default"} if i else {})
    path = tmp_path / "all"
    path.write_text("".join(json.dumps(thing) + "\n" for thing in things))
    other = store()
    first = processes.Process([processes.BIN, "import", str(path), *other.flags, *flags])
    processes.retry_until(lambda: len(other.keys("/annals/objects/example.com/widgets/")) > 100, "some objects")
    first.kill()
    written = other.objects()
    created, there = (int(part.split()[0]) for part in other.imports(path, *flags).split(", ")[:2])
    now = other.objects()
    assert written.items() <= now.items() and len(now) == created + there == count + 2
    assert other.imports(path, *flags).startswith(f"0 created, {count + 2} there already")
    other.assert_sound()


def test_import__creates_nothing_under_a_definition_that_ends(customs, store, serve, tmp_path):
    customs.export(tmp_path / "widgets", "--resources=widgets.example.com,namespaces")
    other = store()
    server = serve(other.etcd.endpoint)
    assert server.post(DEFINITIONS, {**WIDGETS, "metadata": {**WIDGETS["metadata"], "finalizers": ["example.com/wait"]}}).status == 201
    assert server.delete(f"{DEFINITIONS}/widgets.example.com").status == 200
    assert "its definition widgets.example.com is being deleted: nothing new can be created" in other.refuses(tmp_path / "widgets", "--on-conflict=skip")
    assert server.patch(f"{DEFINITIONS}/widgets.example.com", {"metadata": {"finalizers": None}}).status == 200
    processes.retry_until(lambda: server.get(f"{DEFINITIONS}/widgets.example.com").status == 404, "the end of the definition")
    # Nor under a new one, where a lost definition has left objects.
    other.etcd.ctl("put", "/annals/objects/example.com/widgets/shop/x", "{}")
    customs.export(tmp_path / "definitions", "--resources=customresourcedefinitions")
    assert "objects of the resource are stored, and must not come under a new definition" in other.refuses(tmp_path / "definitions")


MOVE = r"""
move() { printf '\ndel %s/%s\nput %s/%s %s\n\n\n' "$KEYS" "$1" "$KEYS" "$2" "$3" | etcdctl --endpoints "$ENDPOINT" txn; }
while move "$ONE" "$OTHER" "$AS_OTHER" && move "$OTHER" "$ONE" "$AS_ONE"; do :; done
"""


@contextlib.contextmanager
def moved(etcd, one, other):
    """A transaction each moves a ConfigMap from one name to the other, and back again, and so on."""
    texts = [json.dumps(config_map(name, namespace="shop"), separators=(",", ":")) for name in (one, other)]  # a word each
    variables = {"ETCDCTL_API": "3", "ENDPOINT": etcd.endpoint, "KEYS": "/annals/objects/core/configmaps/shop", "ONE": one, "OTHER": other, "AS_ONE": texts[0],
                 "AS_OTHER": texts[1]}
    etcd.ctl("put", f"{variables['KEYS']}/{one}", variables["AS_ONE"])
    mover = subprocess.Popen(["sh", "-c", MOVE], stdout=subprocess.DEVNULL, env={**os.environ, **variables}, start_new_session=True)
    try:
        processes.retry_until(lambda: f"/{other}\n" in etcd.ctl("get", variables["KEYS"], "--prefix", "--keys-only"), "a move")
        yield
        assert mover.poll() is None
    finally:
        os.killpg(mover.pid, signal.SIGKILL)
        mover.wait()


def test_export__is_of_one_revision_while_others_write(full, tmp_path):
    """An object that moves is never there twice, and never absent."""
    found = set()

    def look():
        header, *objects, _ = lines_of(full.export(tmp_path / "all"))
        assert header["objects"] == len(objects)
        name, = {object["metadata"]["name"] for object in objects} & {"here", "there"}
        found.add(name)
        return found == {"here", "there"}

    with moved(full.etcd, "here", "there"):
        processes.retry_until(look, "both names")


def test_import__without_exact_gives_new_uids_that_fit_each_other(full, store, tmp_path):
    path = full.export(tmp_path / "all")
    copy = store()
    copy.imports(path)
    copy.assert_sound()
    old, new = full.get("annals.dev/dependents/shop/d1"), copy.get("annals.dev/dependents/shop/d1")
    assert old["metadata"]["uid"] != new["metadata"]["uid"] and old["spec"] == new["spec"]
    assert new["metadata"]["managedFields"][0]["manager"] == "annals-import"
    before, after = full.get("annals.dev/controllerrevisions/shop/old-1"), copy.get("annals.dev/controllerrevisions/shop/old-1")
    assert before["metadata"]["ownerReferences"] == after["metadata"]["ownerReferences"], "their owner is not in the file"
    assert json.dumps(before["data"]) == json.dumps(after["data"])
    assert copy.get("core/configmaps/shop/settings")["data"] == full.get("core/configmaps/shop/settings")["data"]
    theirs = json.loads(next(value for key, value in copy.objects().items() if "/histories/" in key))["metadata"]["uid"]
    assert len(full.indexes()) == len(copy.indexes()) and any(f"/history/shop/{theirs}/" in key for key in copy.indexes())
    assert full.keys("/annals/references/").keys() == copy.keys("/annals/references/").keys()
    assert copy.imports(path).startswith("0 created"), "what is there already is the same, whatever its uid"


def test_import__owners_follow_their_new_uids(store, tmp_path):
    copy, uids = store(), ["owner-uid", "child-uid"]
    child = config_map("a-child", uids[1], ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uids[0], "controller": True}])
    path = write_export(tmp_path / "all", [namespace("default"), child, config_map("owner", uids[0])])
    copy.imports(path)
    child, parent = copy.get("core/configmaps/default/a-child"), copy.get("core/configmaps/default/owner")
    assert child["metadata"]["ownerReferences"][0]["uid"] == parent["metadata"]["uid"] not in uids
    order = json.loads(copy.etcd.ctl("get", "--prefix", "/annals/objects/core/configmaps", "--sort-by=MODIFY", "-w", "json"))["kvs"]
    assert base64.b64decode(order[0]["key"]).endswith(b"/owner"), "the garbage collector takes what has no owner"


def test_import__renames_a_namespace(full, store, tmp_path):
    path = full.export(tmp_path / "all")
    for target in (full, store()):
        target.imports(path, "--rename-namespace", "shop=copy", "--on-conflict=skip")
        target.assert_sound()
        moved = [key for key in target.objects() if "/shop" in key]
        assert bool(moved) == (target is full)
        assert target.get("core/namespaces/copy")["metadata"]["labels"] == {"kubernetes.io/metadata.name": "copy"}
        history = [value for key, value in target.objects().items() if "/histories/copy/" in key]
        subject = json.loads(history[0])["spec"]["subject"]
        assert subject["namespace"] == "copy"
        event = target.get("core/events/copy/e1")
        assert event["involvedObject"]["namespace"] == "copy"
        assert target.get("core/configmaps/copy/settings")["data"]["namespace"] == "shop", "data is data"
        assert "/annals/references/annals.dev/providers/copy/p1/annals.dev/dependents/d1" in target.keys()


def test_import__is_refused_where_another_object_is_stored(full, tmp_path):
    path = full.export(tmp_path / "all")
    full.server.patch(f"{CORE}/configmaps/settings", {"data": {"a": "2"}})
    full.server.delete(f"{CORE}/secrets/key")
    said = full.refuses(path, "--exact")
    assert "configmaps shop/settings: another one of this name is stored" in said and "line" in said
    changed = full.get("core/configmaps/shop/settings")
    assert "1 created" in full.imports(path, "--exact", "--on-conflict=skip")
    assert full.get("core/configmaps/shop/settings") == changed
    assert full.imports(path, "--exact", "--on-conflict=replace").split(", ")[2] == "1 replaced"
    assert full.get("core/configmaps/shop/settings")["data"]["a"] == "1"
    assert full.server.get(f"{CORE}/configmaps/settings").json["data"]["a"] == "1"
    full.assert_sound()


def test_import__without_exact_tells_another_object_from_its_own(full, tmp_path):
    """The uid of the file is new here, and the stored object keeps its own: the same uid does not make them the same."""
    path = full.export(tmp_path / "all", "--resources=configmaps,secrets")
    assert full.server.patch(f"{CORE}/configmaps/settings", {"data": {"a": "2"}}).status == 200
    assert full.server.delete(f"{CORE}/secrets/key").status == 200
    assert "configmaps shop/settings: another one of this name is stored" in full.refuses(path)
    changed = full.get("core/configmaps/shop/settings")
    assert full.imports(path, "--on-conflict=skip").split(", ") == ["1 created", "0 there already", "0 replaced", "1 left as they are"]
    assert full.get("core/configmaps/shop/settings") == changed
    assert full.imports(path, "--on-conflict=replace").split(", ")[1:3] == ["1 there already", "1 replaced"]
    replaced = full.get("core/configmaps/shop/settings")
    assert (replaced["data"]["a"], replaced["metadata"]["uid"]) == ("1", changed["metadata"]["uid"])
    assert full.imports(path).startswith("0 created, 2 there already")
    full.assert_sound()


def test_import__does_not_replace_what_is_immutable_or_another_object(full, tmp_path):
    data = lines_of(full.export(tmp_path / "all"))[1:-1]
    kept = next(line for line in data if line["metadata"]["name"] == "kept-1")
    kept["metadata"]["annotations"].pop("annals.dev/digest")
    kept["data"] = {"a": 2}
    assert "cannot replace the stored one" in full.refuses(write_export(tmp_path / "data", [kept]), "--exact", "--on-conflict=replace")
    settings = next(line for line in data if line["metadata"]["name"] == "settings" and line["kind"] == "ConfigMap")
    settings["metadata"]["uid"] = "another"
    assert "has the uid" in full.refuses(write_export(tmp_path / "uid", [settings]), "--exact", "--on-conflict=replace")


def test_import__moves_a_replaced_revision_in_the_index(full, tmp_path):
    old = next(line for line in lines_of(full.export(tmp_path / "all"))[1:-1] if line["metadata"]["name"] == "old-1")
    old["revision"] = 7
    full.imports(write_export(tmp_path / "moved", [old]), "--exact", "--on-conflict=replace")
    assert [key for key in full.indexes() if "/number/" in key and key.endswith("/old-1")][0].split("/")[-2] == "7"
    full.assert_sound()


def test_import__writes_a_replaced_history_together_with_its_new_revision(full, store, tmp_path):
    """What shows a History shows the revision that it names, at every moment."""
    assert full.server.post(f"{CORE}/configmaps", meta("shown")).status == 201
    shown = Recorded(full.server, "shop", "ConfigMap", "shown")
    shown.take("Created")
    before = full.export(tmp_path / "before")
    assert full.server.patch(shown.path, {"data": {"k": "v"}}).status == 200
    shown.take("Changed")
    after = full.export(tmp_path / "after")
    copy = store()
    copy.imports(before, "--exact")
    assert re.match("1 created, .* 2 replaced", copy.imports(after, "--exact", "--on-conflict=replace"))
    found = json.loads(copy.etcd.ctl("get", "--prefix", "/annals/objects/annals.dev/", "-w", "json"))["kvs"]
    revision_of = {base64.b64decode(kv["key"]).decode().rsplit("/", 1)[1]: kv["mod_revision"] for kv in found}
    history = copy.get(f"annals.dev/histories/shop/{shown.history['metadata']['name']}")
    assert revision_of[history["metadata"]["name"]] == revision_of[history["status"]["revision"]["name"]]
    copy.assert_sound()


def test_import__is_heard_by_a_server_and_its_watchers(full, store, serve, tmp_path):
    path = full.export(tmp_path / "all", "--namespaces=shop")
    beside = store()
    server = serve(beside.etcd.endpoint, "--storage-migration=Off")
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    with server.watch(f"{SHOP}/providers?watch=true") as watch:
        beside.imports(path, "--exact")
        assert watch.next()["object"]["metadata"]["name"] == "p1"
    held = server.delete(f"{SHOP}/providers/p1")
    assert held.json["metadata"]["deletionTimestamp"]
    refused = server.patch(f"{SHOP}/providers/p1", {"metadata": {"finalizers": []}})
    assert refused.status == 409 and "d1" in refused.text
    beside.assert_sound()


def test_import__writes_the_version_that_servers_write(full, store, serve, tmp_path):
    path = full.export(tmp_path / "all", "--namespaces=shop")
    beside = store()
    server = serve(beside.etcd.endpoint, "--storage-version=providers=v1beta1,dependents=v1beta1")
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    beside.imports(path, "--exact")
    assert beside.get("annals.dev/providers/shop/p1")["apiVersion"] == "annals.dev/v1beta1"
    beside.export(tmp_path / "again", "--namespaces=shop", "--resources=providers,dependents")
    assert all(line in lines_of(path) for line in lines_of(tmp_path / "again")[1:-1])


def interrupt_import(store, path, count):
    """A store in which an import was killed once objects had appeared; None: it was done before that, the test having been kept waiting."""
    objects = [namespace("default")]
    for i in range(count):
        references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": f"c{i - 1}", "uid": f"uid-c{i - 1}"}] if i % 3 else []
        objects.append(config_map(f"c{i}", ownerReferences=references))
    write_export(path, objects)
    copy = store()
    first = processes.Process([processes.BIN, "import", str(path), *copy.flags])
    processes.retry_until(lambda: len(copy.keys("/annals/objects/core/configmaps/")) > 100, "some objects")
    first.kill()
    return copy if copy.etcd.ctl("get", "--prefix", "/annals/imports/", "--keys-only").strip() else None


def test_import__goes_on_after_a_kill(store, tmp_path):
    """With new uids, which must be the same ones the second time."""
    path = tmp_path / "all"
    for count in (3000, 10000, 30000):
        copy = interrupt_import(store, path, count)
        if copy:
            break
    assert copy, "no import was interrupted"
    written = copy.objects()
    last = copy.imports(path)
    created, there = (int(part.split()[0]) for part in last.split(", ")[:2])
    assert there >= len(written) and created + there == count + 1, "etcd may have carried out more since"
    now = copy.objects()
    assert written.items() <= now.items() and len(now) == count + 1
    for i in range(count):
        for reference in json.loads(now[f"/annals/objects/core/configmaps/default/c{i}"])["metadata"].get("ownerReferences", []):
            assert reference["uid"] == json.loads(now[f"/annals/objects/core/configmaps/default/c{i - 1}"])["metadata"]["uid"]
    copy.assert_sound()
    assert copy.keys("/annals/imports/") == {}


def test_import__makes_every_namespace_although_its_registration_is_lost(store, tmp_path):
    """Between its lease and its write. The namespace is written by the next registration, or the objects in it have none."""
    count, copy = 3000, store()
    path = tmp_path / "all"
    path.write_text("".join(json.dumps({**config_map("c", uid=f"uid-{n}", namespace=f"ns-{n:04}")}) + "\n" for n in range(count)))
    running = processes.Process([processes.BIN, "import", str(path), "--create-namespaces", *copy.flags])
    n_lost = 0
    for n in range(0, count, 300):
        processes.retry_until(lambda least=n: len(copy.keys("/annals/objects/core/namespaces/")) > least or not processes.is_alive(running.pid), f"{n} namespaces")
        n_lost += int(copy.etcd.ctl("del", "--prefix", "/annals/replicas/").strip())
    assert running.wait() == 0 and n_lost > 1, (n_lost, running.stderr.text)
    assert len(copy.keys("/annals/objects/core/namespaces/")) == len(copy.keys("/annals/objects/core/configmaps/")) == count
    assert f"{2 * count} " in running.stdout.text
    copy.assert_sound()


def change_text(path, change):
    text = change(path.read_bytes())
    path.write_bytes(text)
    return path


WRONG = {
    "cut in a line": (lambda text: text[:len(text) // 2], "ends here"),
    "without its trailer": (lambda text: b"".join(text.splitlines(keepends=True)[:-1]), "no trailer"),
    "without an object": (lambda text: b"".join(text.splitlines(keepends=True)[:1] + text.splitlines(keepends=True)[2:]), "objects; its header says"),
    "with a byte changed": (lambda text: text.replace(b'"k":"c2"', b'"k":"c9"').replace(b'"k": "c2"', b'"k": "c9"'), "digest"),
    "twice": (lambda text: text + text, "follows the trailer"),
    "with a NUL": (lambda text: text.replace(b"c2", b"c\x002"), "line 4: invalid character"),
    "with no object": (lambda text: b"[1]\n" + text, "line 1: there is '['"),
}


@pytest.mark.parametrize("how", WRONG)
def test_import__refuses_a_file_that_is_not_whole(store, tmp_path, how):
    change, said = WRONG[how]
    path = change_text(write_export(tmp_path / "all", [namespace("default"), config_map("c1"), config_map("c2")]), change)
    assert said in store().refuses(path, "--exact")


def test_import__tells_every_trouble_by_line_and_object(store, tmp_path):
    bad = [namespace("default"), config_map("c1"), config_map("c1", "other"), config_map("c2", "uid-c1"), config_map("UPPER"),
           {**config_map("c3"), "dta": {}}, {**config_map("c4"), "data": [1]}, config_map("c5", namespace="elsewhere"),
           {"kind": "Gadget", "apiVersion": "apps/v1", "metadata": {"name": "d"}},
           {"kind": "Dependent", "apiVersion": "annals.dev/v1", "metadata": {"name": "d", "namespace": "default", "uid": "d", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"providers": [{"kind": "Provider", "name": "p"}]}}]
    said = store().refuses(write_export(tmp_path / "all", bad), "--exact")
    for line in ("line 4: configmaps default/c1: the same object is in line 3, too", "line 5: configmaps default/c2: its uid uid-c1 is that of the object in line 3",
                 "line 6: configmaps default/UPPER: ", 'line 7: configmaps default/c3: unknown field "dta"', "line 8: ", "line 10: no kind Gadget"):
        assert line in said, (line, said)
    assert "nothing has been changed" in said
    alone = [namespace("default"), config_map("c5", namespace="elsewhere"), {**bad[-1], "spec": {**bad[-1]["spec"], "whenMissing": "Refuse"}}]
    said = store().refuses(write_export(tmp_path / "all", alone), "--exact")
    assert "line 3: configmaps elsewhere/c5: the namespace elsewhere is neither" in said
    assert "line 4: dependents.annals.dev default/d: it needs the Provider p" in said


REPEATED = {"kind": ('"kind": "ConfigMap"', '"kind": "ConfigMap", "kind": "ConfigMap"'), "metadata": ('"metadata": ', '"metadata": {"name": "other"}, "metadata": '),
            "metadata.name": ('"name": ', '"name": "other", "name": '), "data": ('"data": ', '"data": {}, "data": '), "data.k": ('"k": ', '"k": "other", "k": ')}


@pytest.mark.parametrize("is_export", [True, False])
@pytest.mark.parametrize("field", REPEATED)
def test_import__refuses_repeated_keys(store, tmp_path, field, is_export):
    """The last one would win without a word."""
    lines = [json.dumps({"kind": "ConfigMap", "apiVersion": "v1", **meta(name, namespace="default"), "data": {"k": "v"}}) for name in ("c1", "c2")]
    lines[1] = lines[1].replace(*REPEATED[field], 1)
    path = write_export(tmp_path / "all", [json.loads(line) for line in lines])
    if is_export:
        header, first, _, trailer = path.read_text().splitlines()
        body = "\n".join([header, first, lines[1]]) + "\n"
        path.write_text(body + json.dumps({**json.loads(trailer), "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n")
    else:
        path.write_text("\n".join(lines) + "\n")
    said = store().refuses(path, *(["--exact"] if is_export else ["--create-namespaces"]))
    assert f"line {3 if is_export else 2}: " in said and f'duplicate field "{field}"' in said, said


def test_import__holds_a_digest_to_its_data(full, tmp_path):
    kept = next(line for line in lines_of(full.export(tmp_path / "all"))[1:-1] if line["metadata"]["name"] == "kept-1")
    kept["data"] = {"other": 1}
    assert "its digest" in full.refuses(write_export(tmp_path / "data", [kept]), "--exact", "--on-conflict=replace")


ODD = [None, 1, "x", [], {}, [1], {"a": 1}, True, [{"a": 1}], [None]]


def places(thing, path=()):
    yield path
    for key, value in (thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else []):
        yield from places(value, (*path, key))


def altered(thing, path, value):
    copy = json.loads(json.dumps(thing))
    within = copy
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = value
    return copy


def test_import__survives_wrong_types_anywhere(full, tmp_path):
    """Whatever stands where: the file is refused, or the object is one."""
    objects = [line for line in lines_of(full.export(tmp_path / "all"))[1:-1]
               if line["kind"] in ("ControllerRevision", "Dependent", "History", "ConfigMap", "Namespace", "StatefulSet")]
    odd = [altered(thing, path, value) for thing in objects for path in places(thing) if len(path) > 0 and path[0] not in ("kind", "apiVersion", "data", "template")
           for value in ODD]
    assert len(odd) > 1000
    plain = tmp_path / "plain"
    plain.write_text("".join(json.dumps(thing) + "\n" for thing in odd))
    for path in (write_export(tmp_path / "odd", odd), plain):
        for flags in ([], ["--exact"]):
            assert "nothing has been changed" in full.refuses(path, "--rename-namespace=shop=q", *flags)


@pytest.mark.parametrize("text, said", [
    (b"{" + b'"a":' * 40 + b"[" * 100000, "line 1: the file ends here"),
    (b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}", "line 1: "),
    (b'{"a":"' + b"x" * (17 << 20) + b'"}', "longer than 16777216 bytes"),
    (b'{"a":' + b" " * (17 << 20) + b"1}", "longer than 16777216 bytes"),
    (b'{"items":[1]}', "line 1: there is '1' where an object should be"),
    (b'{"items":[{}{}]}', "a comma or the end"),
    (b'{"items":[]]', "the file ends here"),
    (b'\xff\xfe', "the byte 0xff"),
    (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"\x1b[31m"}}', "line 1: "),
], ids=range(9))
def test_import__survives_a_hostile_file(store, tmp_path, text, said):
    (tmp_path / "bad").write_bytes(text)
    found = store().refuses(tmp_path / "bad")
    assert said in found and "\x1b" not in found


def test_import__reads_what_kubectl_prints(full, store, tmp_path):
    """A List over many lines, from standard input, of the API version of apps; without the kind in its items, as from the API, too."""
    listed = full.server.get(revisions("shop")).json
    assert listed["items"] and "kind" not in listed["items"][0]
    (tmp_path / "raw").write_text(json.dumps(listed))
    printed = {"apiVersion": "v1", "items": [{"apiVersion": "apps/v1", "kind": "ControllerRevision", **item} for item in listed["items"]],
               "kind": "List", "metadata": {"resourceVersion": ""}}
    for flags, text in ((["-"], json.dumps(printed, indent=4)), ([tmp_path / "raw"], None)):
        copy = store()
        assert copy.imports(*flags, "--exact", "--create-namespaces", input=text).startswith(f"{len(listed['items']) + 1} created")
        assert copy.get("annals.dev/controllerrevisions/shop/old-1")["data"] == full.get("annals.dev/controllerrevisions/shop/old-1")["data"]
        assert copy.get("core/namespaces/shop")["status"]["phase"] == "Active"
        copy.assert_sound()


def test_import__reads_from_another_cluster(full, store, tmp_path, certificates):
    kubeconfig = tmp_path / "kubeconfig"
    processes.write_kubeconfig(kubeconfig, full.server.url, certificates)
    copy = store()
    line = copy.imports(f"--from-kubeconfig={kubeconfig}", "--resources=controllerrevisions.apps", "--exact", "--rename-namespace=shop=past", "--create-namespaces")
    moved = [key for key in copy.objects() if "/controllerrevisions/past/" in key]
    assert len(moved) == len(full.server.get(revisions("shop")).json["items"]) and line.startswith(f"{len(moved) + 1} created")
    copy.assert_sound()
    assert "needs --resources" in annals("import", "--from-kubeconfig", kubeconfig, *copy.flags).stderr
    kubeconfig.write_text(kubeconfig.read_text().replace(full.server.url, "https://127.0.0.1:1"))
    failed = copy.do_import(f"--from-kubeconfig={kubeconfig}", "--resources=controllerrevisions.apps")
    assert failed.returncode == 1 and "cannot list controllerrevisions" in failed.stderr


def test_import__tells_before_it_writes_what_etcd_does_not_take(etcd, tmp_path):
    copy = Store(etcd(flags=["--max-request-bytes=500000"]))
    large = {**config_map("large"), "data": {"k": "x" * 600000}}
    path = write_export(tmp_path / "large", [namespace("default"), config_map("first"), large, {**config_map("half"), "data": {"k": "x" * 400000}}])
    assert re.search(r"line 4: configmaps default/large: it has 600\d\d\d bytes, and etcd refuses it for its size", copy.refuses(path))
    assert "configmaps default/large" in copy.refuses(path, "--dry-run") and copy.keys() == {}
    assert copy.imports(write_export(tmp_path / "rest", [namespace("default"), config_map("first")])).startswith("2 created")


def test_import__by_dry_run_writes_nothing(full, store, tmp_path):
    copy = store()
    path = full.export(tmp_path / "all")
    assert copy.imports(path, "--dry-run").startswith(f"would be: {len(full.objects())} created")
    assert copy.keys() == {}


def test_export_and_import__of_the_directory_of_an_up(up, folder, tmp_path):
    """Running, and stopped; and the default directory, of which fsck knows, too."""
    env = {**os.environ, "XDG_DATA_HOME": str(folder)}
    for command in (["fsck"], ["export"], ["import", "-"]):
        missing = annals(*command, env=env, input="")
        assert missing.returncode == 1 and "Run annals up first" in missing.stderr, missing
    running = up("--port=0", processes.NO_DEFAULT_OBJECTS, dir=folder / "annals")
    assert running.post("/api/v1/namespaces/default/configmaps", meta("here")).status == 201
    assert annals("export", "-o", tmp_path / "running", env=env).returncode == 0
    assert running.stop() == 0
    assert annals("export", "-o", tmp_path / "stopped", env=env).returncode == 0
    first, second = (lines_of(tmp_path / name)[1:-1] for name in ("running", "stopped"))
    assert first == second and any(line["metadata"]["name"] == "here" for line in first)
    assert "there already" in annals("import", tmp_path / "stopped", "--exact", env=env, check=True).stdout
    assert "all well" in annals("fsck", env=env, check=True).stdout


def on_a_terminal(arguments):
    """What a terminal shows of standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=functools.partial(signal.signal, signal.SIGHUP, signal.SIG_DFL))
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait() == 0
    return shown.decode()


def test_progress__is_shown_on_terminals_alone(store, tmp_path):
    copy = store()
    path = write_export(tmp_path / "all", [namespace("default"), *(config_map(f"c{i}") for i in range(4000))])
    shown = on_a_terminal([processes.BIN, "import", str(path), *copy.flags])
    assert "\rimported " in shown and " of 4,001 objects (" in shown and shown.endswith("\r\x1b[K"), shown[-300:]
    silent = annals("import", path, *copy.flags)
    assert silent.returncode == 0 and silent.stderr == ""
