"""Histories outlive their namespace: its deletion moves them into an archive, which only those see who may read them everywhere."""

import itertools
import json
import os

import pytest

import processes
from processes import as_user, policy_rule, retry_until
from recorded import V1, history_name
from test_recordings import Seen

CORE = "/api/v1"
TOKENS = ("nora-token,nora,1", "rita-token,rita,2", "eve-token,eve,3")


def rule(user, resource, namespace, **spec):
    return policy_rule(user=user, namespace=namespace, apiGroup="*", resource=resource, **spec)


# nora reads all of the namespace shop; rita reads what is recorded, everywhere; eve does what she wants in the namespace shop.
RULES = (
    rule("nora", "*", "shop", readonly=True),
    *(rule("rita", resource, "*", readonly=True) for resource in ("histories", "controllerrevisions")),
    rule("eve", "*", "shop"),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with processes.up_with_users(tmp_path_factory.mktemp("archive"), TOKENS, RULES) as up:
        rules = [{"groups": [""], "resources": ["configmaps", "namespaces"]}]
        assert up.post(f"{V1}/recorders", {"metadata": {"name": "all"}, "spec": {"resources": rules, "keepDeleted": "720h"}}).status == 201

        def is_recording():
            conditions = up.get(f"{V1}/recorders/all").json.get("status", {}).get("conditions", [])
            return any(c["type"] == "Recording" and c["status"] == "True" for c in conditions)
        retry_until(is_recording, "the recorder follows")
        yield up


class Shop:
    """A namespace, made and deleted as often as a test likes."""

    numbers = itertools.count(1)

    def __init__(self, world, name=None):
        self.world, self.name = world, name or f"shop-{next(self.numbers)}"
        self.open()

    def send(self, verb, path, *arguments):
        answer = getattr(self.world, verb)(path, *arguments)
        assert answer.status in (200, 201), answer
        return answer.json

    def open(self):
        self.uid = self.send("post", f"{CORE}/namespaces", {"metadata": {"name": self.name}})["metadata"]["uid"]
        self.archive = f"{self.name}.{self.uid}"

    def make(self, name="web", **data):
        return self.send("post", f"{CORE}/namespaces/{self.name}/configmaps", {"metadata": {"name": name}, "data": data or {"a": "1"}})

    def change(self, name="web", **data):
        self.send("patch", f"{CORE}/namespaces/{self.name}/configmaps/{name}", {"data": data})

    def close(self):
        self.send("delete", f"{CORE}/namespaces/{self.name}")
        retry_until(lambda: self.world.get(f"{CORE}/namespaces/{self.name}").status == 404, "the namespace is gone")

    def all(self, name="web", kind="ConfigMap"):
        """Of the object, wherever they are; the latest is the last."""
        selector = f"spec.subject.kind={kind},spec.subject.name={name},spec.subject.namespace={self.name if kind == 'ConfigMap' else ''}"
        found = self.send("get", f"{V1}/histories?fieldSelector={selector}")["items"]
        return sorted(found, key=lambda one: one["metadata"]["creationTimestamp"] + one["metadata"]["uid"])

    def types(self, name="web", kind="ConfigMap"):
        return [[change["type"] for change in one["status"].get("changes", [])] for one in self.all(name, kind)]

    def await_types(self, *types, name="web", kind="ConfigMap"):
        retry_until(lambda: list(types) in self.types(name, kind), f"the changes of {name} are {types}, not {self.types(name, kind)}")

    def states(self, namespace):
        return {one["metadata"]["name"]: one for one in self.send("get", f"{V1}/namespaces/{namespace}/controllerrevisions")["items"]}


@pytest.fixture
def shop(world):
    return Shop(world)


def recorded(shop):
    shop.make()
    shop.await_types("Created")
    shop.change(a="2")
    shop.await_types("Created", "Changed")
    return shop.all()[0], shop.states(shop.name)


def without(it, *fields):
    return {name: value for name, value in it.items() if name not in fields}


def assert_other_uid(before, after):
    """No uid comes back, for garbage collectors. The one of before is noted."""
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["metadata"]["annotations"]["annals.dev/archived-uid"] == before["metadata"]["uid"]


def test_histories_move_into_the_archive(shop):
    before, states = recorded(shop)
    shop.close()
    shop.await_types("Created", "Changed", "Deleted")
    [after] = shop.all()
    assert after["metadata"]["namespace"] == shop.archive
    for field in ("name", "creationTimestamp"):
        assert after["metadata"][field] == before["metadata"][field]
    assert_other_uid(before, after)
    assert after["spec"] == before["spec"]
    assert after["status"]["changes"][:2] == before["status"]["changes"]
    assert after["status"]["deletionTime"]
    moved = shop.states(shop.archive)
    assert sorted(moved) == sorted(states)
    for name, state in moved.items():
        assert without(state, "metadata") == without(states[name], "metadata")
        assert_other_uid(states[name], state)
        [owner] = state["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"]) == ("History", True)
        if owner["name"] == after["metadata"]["name"]:
            assert owner["uid"] == after["metadata"]["uid"]
    # Nothing is left, and the garbage collector, which knows that they have moved, takes nothing.
    for resource in ("histories", "controllerrevisions"):
        assert shop.send("get", f"{V1}/namespaces/{shop.name}/{resource}")["items"] == []
    assert plugin(shop, "verify", "-A").stdout.splitlines()[-1].endswith("0 altered, 0 missing, 0 unverified")


def plugin(shop, command, *arguments, status=0):
    done = processes.run([processes.BIN, "kubectl", command, *arguments, *(() if "-A" in arguments else ("-n", shop.name))], env=shop.world.kubectl_env())
    assert done.returncode == status, done
    return done


# ---- who reads what ----


def paths(shop, history, states):
    """All that leads to what was recorded in the archive."""
    name, state = history["metadata"]["name"], next(iter(states))
    at = f"{V1}/namespaces/{shop.archive}"
    return [f"{at}/histories", f"{at}/histories/{name}", f"{at}/controllerrevisions", f"{at}/controllerrevisions/{state}",
            f"/apis/apps/v1/namespaces/{shop.archive}/controllerrevisions/{state}", f"{at}/controllerrevisions/{state}/diff?from={state}",
            f"{at}/histories?watch=true&timeoutSeconds=1", f"{V1}/histories", f"{V1}/controllerrevisions"]


def test_the_archive_is_read_at_the_cluster_scope_only(world):
    shop = Shop(world, "shop")
    nora, rita, eve = (as_user(world, name) for name in ("nora", "rita", "eve"))
    history, states = recorded(shop)
    assert nora.get(f"{V1}/namespaces/shop/histories/{history['metadata']['name']}").json["metadata"] == history["metadata"]
    shop.close()
    shop.await_types("Created", "Changed", "Deleted")
    for again in (False, True):  # the namespace is gone, and then another one of that name is there
        for path in paths(shop, history, states):
            for user in (nora, eve):
                answer = user.get(path)
                assert answer.status == 403 and "at the cluster scope" in answer.json["message"], (path, answer)
            assert rita.get(path).status == 200, path
        for resource in ("histories", "controllerrevisions"):
            mine = nora.get(f"{V1}/namespaces/shop/{resource}").json["items"]
            assert all(one["metadata"]["namespace"] == "shop" for one in mine)
            assert not {one["metadata"]["uid"] for one in mine} & {history["metadata"]["uid"], *(state["metadata"]["uid"] for state in states.values())}
        if not again:
            old, shop_again = shop, Shop(world, "shop")
    # What is recorded in the new namespace is another History.
    shop_again.make()
    retry_until(lambda: len(shop_again.all()) == 2, "a new History begins")
    new = next(one for one in shop_again.all() if one["metadata"]["namespace"] == "shop")
    assert [change["type"] for change in new["status"]["changes"]] == ["Created"]
    assert nora.get(f"{V1}/namespaces/shop/histories/{new['metadata']['name']}").status == 200
    assert old.archive != shop_again.archive
    shop_again.close()
    retry_until(lambda: all(one["status"].get("deletionTime") for one in shop.all()), "both list the deletion")
    assert {one["metadata"]["namespace"] for one in shop.all()} == {old.archive, shop_again.archive}


# ---- the plugin ----


def test_log_and_restore(shop):
    shop.make("web", a="1", b="2")
    shop.make("other", c="3")
    shop.await_types("Created")
    shop.await_types("Created", name="other")
    shop.await_types("Created", name=shop.name, kind="Namespace")
    shop.send("delete", f"{CORE}/namespaces/{shop.name}/configmaps/other")
    shop.await_types("Created", "Deleted", name="other")
    shop.close()
    shop.await_types("Created", "Deleted")
    shop.await_types("Created", "Deleted", name=shop.name, kind="Namespace")
    rows = [line.split() for line in plugin(shop, "log").stdout.splitlines()]
    assert ["namespace/" + shop.name, "Deleted"] in [[row[1], row[-1]] for row in rows], rows
    deleted = next(row for row in rows if row[1] == "namespace/" + shop.name and row[-1] == "Deleted")
    assert "annals-admin" in deleted
    assert [row[1] for row in rows if row[-1] == "Deleted" and row[1].endswith("/web")] == ["configmap/web"]
    for command in (("log", "configmap/web", "-p"), ("history", "configmap/web"), ("show", "configmap/web"), ("verify",), ("verify", "configmap/web")):
        assert plugin(shop, *command).stdout, command
    dry = json.loads(plugin(shop, "restore", "--all", "--dry-run=server", "-o", "json").stdout)
    assert {item["object"]["name"] for item in dry["items"] if item["action"] == "create"} >= {shop.name, "web", "other"}
    plugin(shop, "restore", "--all", "--yes")
    assert shop.send("get", f"{CORE}/namespaces/{shop.name}/configmaps/web")["data"] == {"a": "1", "b": "2"}
    assert shop.send("get", f"{CORE}/namespaces/{shop.name}/configmaps/other")["data"] == {"c": "3"}
    # A new History begins, and the old one stays to be seen.
    shop.await_types("Created")
    assert sorted(shop.types()) == [["Created"], ["Created", "Deleted"]]
    changes = [line.split()[-1] for line in plugin(shop, "log", "configmap/web").stdout.splitlines()[1:]]
    assert changes == ["Created", "Deleted", "Created"]


# ---- the moves, one by one ----

GOING = "example.com/going"


@pytest.fixture
def alone(serve, etcd, certificates, folder):
    """A server without controllers: a namespace that is deleted goes on being deleted, and a test is its controller."""
    (folder / "tokens").write_text("\n".join(("rita-token,rita,1", "gc-token,gc,2", "maker-token,maker,3")) + "\n")
    (folder / "policy").write_text("\n".join((
        rule("rita", "*", "*"), *(rule("gc", resource, "*") for resource in ("controllerrevisions", "configmaps", "snapshots")),
        rule("gc", "histories", "*", readonly=True), rule("maker", "histories", "*"))) + "\n")
    server = serve(etcd().endpoint, f"--token-auth-file={folder / 'tokens'}", f"--authorization-policy-file={folder / 'policy'}")
    config = processes.write_kubeconfig(folder / "kubeconfig", server.url, certificates)
    server.kubectl_env = lambda **more: {**os.environ, "KUBECONFIG": str(config), "HOME": str(folder), **more}
    return server


class Going:
    """A namespace with an object of which two states are recorded, and which is being deleted."""

    def __init__(self, server, name="going", **more):
        self.server, self.name = server, name
        made = server.post(f"{CORE}/namespaces", {"metadata": {"name": name}})
        assert made.status == 201, made
        self.archive = f"{name}.{made.json['metadata']['uid']}"
        self.seen = Seen(server, "web", namespace=name, **more)
        self.record(self.seen.state({"a": "1"}))
        self.record(self.seen.state({"a": "2"}))
        self.history = self.get(self.name, "histories")[0]
        self.states = self.get(self.name)

    def end(self):
        assert self.server.delete(f"{CORE}/namespaces/{self.name}").status in (200, 202)
        assert self.server.get(f"{CORE}/namespaces/{self.name}").json["status"]["phase"] == "Terminating"

    def record(self, sighting, result="Recorded"):
        answer = self.server.post(f"{V1}/recordings", {"spec": {"sightings": [sighting]}})
        assert answer.status == 201, answer
        [got] = answer.json["status"]["results"]
        assert got["result"] == result, got
        return got

    def get(self, namespace, resource="controllerrevisions"):
        answer = self.server.get(f"{V1}/namespaces/{namespace}/{resource}")
        assert answer.status == 200, answer
        return answer.json["items"]

    def counts(self):
        """Histories and states: in the namespace, and in its archive."""
        return [len(self.get(namespace, resource)) for namespace in (self.name, self.archive) for resource in ("histories", "controllerrevisions")]

    def path(self, resource="controllerrevisions", name="", namespace=None, version="annals.dev/v1"):
        return f"/apis/{version}/namespaces/{namespace or self.name}/{resource}/{name}".rstrip("/")

    def state_path(self, at=0, **more):
        return self.path(name=self.states[at]["metadata"]["name"], **more)

    def history_path(self, **more):
        return self.path("histories", self.history["metadata"]["name"], **more)


@pytest.fixture
def going(alone):
    found = Going(alone)
    found.end()
    return found


@pytest.mark.parametrize("version", ["annals.dev/v1", "apps/v1"])
@pytest.mark.parametrize("order", ["states", "history", "state by state"])
def test_in_whatever_order(going, order, version):
    """A state takes its History along: without it a garbage collector would take the state. Who deletes need not write Histories."""
    gc = as_user(going.server, "gc")
    if order == "states":
        assert gc.delete(going.path(version=version)).status == 200
        assert going.counts() == [0, 0, 1, 2]
    elif order == "history":
        assert going.server.delete(going.history_path()).status == 200
        assert going.counts() == [0, 2, 1, 0]
        assert gc.delete(going.path(version=version)).status == 200
    else:
        assert gc.delete(going.state_path(1, version=version)).status == 200
        assert going.counts() == [0, 1, 1, 1]
        assert gc.delete(going.state_path(0, version=version)).status == 200
    assert going.counts() == [0, 0, 1, 2]
    assert going.server.delete(going.path("histories")).status == 200  # nothing is left
    [history] = going.get(going.archive, "histories")
    assert history["status"] == going.history["status"]
    assert_other_uid(going.history, history)
    for before, after in zip(going.states, going.get(going.archive)):
        assert_other_uid(before, after)
        assert after["metadata"]["ownerReferences"] == [{**before["metadata"]["ownerReferences"][0], "uid": history["metadata"]["uid"]}]
        assert after["data"] == before["data"]
    done = processes.run([processes.BIN, "kubectl", "verify", "-n", going.name], env=going.server.kubectl_env())
    assert done.returncode == 0 and done.stdout.startswith("1 histories, 2 changes, 2 revisions"), done


def test_what_does_not_move(going):
    # A rehearsal, and a deletion of another object than that.
    for path in (going.state_path(), going.history_path(), going.path(), going.path("histories")):
        assert going.server.delete(f"{path}?dryRun=All").status == 200
    assert going.server.delete(going.history_path(), {"preconditions": {"uid": "another"}}).status == 409
    assert going.counts() == [1, 2, 0, 0]
    # A History without changes holds nothing; nor is a revision of another controller recorded.
    assert going.server.delete(going.path("histories")).status == 200
    assert going.server.delete(going.path()).status == 200
    other = Going(going.server, "other")
    empty = {"metadata": {"name": history_name("ConfigMap", "other", "empty")},
             "spec": {"subject": {"group": "", "kind": "ConfigMap", "namespace": "other", "name": "empty"}}}
    assert as_user(other.server, "maker").post(other.path("histories"), empty).status == 201
    assert other.server.post(other.path(), {"metadata": {"name": "mine"}, "revision": 1, "data": {}}).status == 201
    # Somebody has deleted this History before, and its finalizer holds it.
    assert other.server.patch(other.history_path(), {"metadata": {"finalizers": [GOING]}}).status == 200
    assert other.server.delete(other.history_path()).status in (200, 202)
    other.end()
    for resource in ("histories", "controllerrevisions"):
        assert other.server.delete(other.path(resource)).status == 200
    assert other.counts() == [1, 0, 0, 0]
    assert other.server.patch(other.history_path(), {"metadata": {"finalizers": None}}).status == 200
    assert other.counts() == [0, 0, 0, 0]


def test_finalizers_hold_up_nothing(alone):
    going = Going(alone)
    for path in (going.history_path(), going.state_path(), going.state_path(1)):
        assert alone.patch(path, {"metadata": {"finalizers": [GOING]}}).status == 200
    going.end()
    for resource in ("histories", "controllerrevisions"):
        assert alone.delete(going.path(resource)).status == 200
    assert going.counts() == [0, 0, 1, 2]
    assert not any("finalizers" in one["metadata"] for one in going.get(going.archive))


def test_late_changes_come_to_the_history(going):
    seen = going.seen
    assert going.server.delete(going.history_path()).status == 200
    late = seen.state({"a": "3"})
    # Its number follows from the states before it, which have not all moved yet. It is sent again.
    refused = going.record(late, "Refused")
    assert refused["error"]["code"] == 409 and "are being moved" in refused["error"]["message"]
    assert going.server.delete(going.path()).status == 200
    got = going.record(late)
    assert (got["type"], got["revision"]["revision"], got["history"]["namespace"]) == ("Changed", 3, going.archive)
    gone = seen.gone()
    assert going.record(gone)["history"]["namespace"] == going.archive
    assert going.counts() == [0, 0, 1, 3]
    # Both answers may have been lost.
    going.record(gone, "Equal")
    [history] = going.get(going.archive, "histories")
    assert [change["type"] for change in history["status"]["changes"]] == ["Created", "Changed", "Changed", "Deleted"]
    assert history["status"]["changes"][2]["paths"] == ["/data/a"]


def test_late_deletion_while_the_states_move(going):
    assert going.server.delete(going.history_path()).status == 200
    assert going.record(going.seen.gone())["type"] == "Deleted"
    assert going.server.delete(going.path()).status == 200
    assert going.counts() == [0, 0, 1, 2]


def test_another_object_has_another_history(alone, going):
    """In a new namespace of that name. The object of old is gone, whether its deletion was seen or not."""
    for resource in ("histories", "controllerrevisions"):
        assert alone.delete(going.path(resource)).status == 200
    assert alone.put(f"{CORE}/namespaces/{going.name}/finalize", {**alone.get(f"{CORE}/namespaces/{going.name}").json, "spec": {"finalizers": []}}).status == 200
    assert alone.get(f"{CORE}/namespaces/{going.name}").status == 404
    new = Seen(alone, "web", namespace=going.name)
    new.uid = "another"
    assert alone.post(f"{CORE}/namespaces", {"metadata": {"name": going.name}}).status == 201
    got = going.record(new.state({"b": "1"}))
    assert (got["type"], got["history"]["namespace"], got["revision"]["revision"]) == ("Created", going.name, 1)
    # The recorder closes the one in the archive by its place.
    gone = {**going.seen.gone(), "namespace": going.archive}
    assert going.record(gone)["history"]["namespace"] == going.archive
    assert [history["status"].get("deletionTime") is None for history in going.get(going.name, "histories")] == [True]
    for wrong in ({"namespace": going.archive}, {"namespace": "elsewhere.123", "found": "Absent"}, {"namespace": "", "found": "Absent"}):
        sighting = {**new.state({"b": "2"}), **wrong}
        if wrong.get("found"):
            del sighting["data"]
        refused = going.record(sighting, "Refused")["error"]
        assert refused["code"] == 422 and "spec.sightings[0].namespace" in refused["message"], refused


# ---- forgery ----


def test_an_archive_is_no_namespace(alone, going):
    for resource in ("histories", "controllerrevisions"):
        assert alone.delete(going.path(resource)).status == 200
    rita, gc, maker = (as_user(alone, name) for name in ("rita", "gc", "maker"))
    assert alone.post(f"{CORE}/namespaces", {"metadata": {"name": going.archive}}).status == 422
    # Whoever may do all: nothing is made there but states of its Histories.
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": "1", "controller": True}
    for version, body in (("annals.dev/v1", {}), ("apps/v1", {}), ("annals.dev/v1", {"ownerReferences": [owner]})):
        made = rita.post(going.path(namespace=going.archive, version=version), {"metadata": {"name": "mine", **body}, "revision": 9, "data": {"a": "forged"}})
        assert made.status == 404 and f'namespaces "{going.archive}" not found' in made.json["message"], made
    subject = {"group": "", "kind": "ConfigMap", "namespace": going.name, "name": "other"}
    history = {"metadata": {"name": history_name("ConfigMap", going.name, "other")}, "spec": {"subject": subject}}
    assert maker.post(going.path("histories", namespace=going.archive), history).status == 404
    assert rita.post(f"{CORE}/namespaces/{going.archive}/configmaps", {"metadata": {"name": "mine"}}).status == 404
    # A forged state needs the right to write Histories, everywhere.
    owners = going.get(going.archive)[0]["metadata"]["ownerReferences"]
    forged = {"metadata": {"name": "forged", "ownerReferences": owners}, "revision": 9, "data": {"a": "forged"}}
    for namespace in (going.archive, "default"):
        made = gc.post(going.path(namespace=namespace), forged)
        assert made.status == 403 and "histories/status" in made.json["message"], made
    for verb, body in (("patch", {"metadata": {"ownerReferences": None}}), ("patch", {"metadata": {"labels": {"a": "b"}}}), ("delete", None)):
        answer = getattr(gc, verb)(going.state_path(namespace=going.archive), *([body] if body else []))
        assert answer.status == 403 and "histories/status" in answer.json["message"], answer
    assert gc.delete(going.path(namespace=going.archive)).status == 403
    assert going.counts() == [0, 0, 1, 2]
    # A History that is deleted takes its states along, as ever.
    assert rita.delete(going.history_path(namespace=going.archive)).status == 200
    assert gc.delete(going.path(namespace=going.archive)).status == 200
    assert going.counts() == [0, 0, 0, 0]


def test_states_of_an_active_namespace_are_protected(alone):
    """As long as nobody deletes the namespace, nothing moves, and the rights are as ever."""
    active = Going(alone)
    gc = as_user(alone, "gc")
    assert gc.delete(active.state_path()).status == 403
    assert gc.delete(active.path()).status == 403
    assert active.counts() == [1, 2, 0, 0]
    assert alone.delete(active.history_path()).status == 200
    assert gc.delete(active.path()).status == 200
    assert active.counts() == [0, 0, 0, 0]


# ---- what else reads etcd ----


def test_fsck_export_and_import(etcd, serve, folder):
    first, second = etcd(), etcd()
    server = serve(first.endpoint)
    going = Going(server)
    going.end()
    for resource in ("histories", "controllerrevisions"):
        assert server.delete(going.path(resource)).status == 200
    assert processes.run([processes.BIN, "fsck", f"--etcd-servers={first.endpoint}"]).returncode == 0
    archived = {resource: going.get(going.archive, resource) for resource in ("histories", "controllerrevisions")}
    path = folder / "all.jsonl"
    assert processes.run([processes.BIN, "export", "-o", str(path), f"--etcd-servers={first.endpoint}"]).returncode == 0
    done = processes.run([processes.BIN, "import", str(path), f"--etcd-servers={second.endpoint}", "--exact"])
    assert done.returncode == 0, done
    assert processes.run([processes.BIN, "fsck", f"--etcd-servers={second.endpoint}"]).returncode == 0
    other = serve(second.endpoint)
    for resource, before in archived.items():
        after = other.get(f"{V1}/namespaces/{going.archive}/{resource}").json["items"]
        assert [without(one, "metadata") for one in after] == [without(one, "metadata") for one in before]


# ---- the end ----


def test_keep_deleted_ends_their_life(up):
    world = up()
    spec = {"resources": [{"groups": [""], "resources": ["configmaps"]}], "keepDeleted": "4s"}
    assert world.post(f"{V1}/recorders", {"metadata": {"name": "brief"}, "spec": spec}).status == 201
    shop = Shop(world, "brief")
    shop.make()
    shop.await_types("Created")
    shop.close()
    shop.await_types("Created", "Deleted")
    assert shop.all()[0]["metadata"]["namespace"] == shop.archive
    retry_until(lambda: shop.all() == [], "the History ends", patience=processes.LONG_PATIENCE)
    retry_until(lambda: shop.states(shop.archive) == {}, "the garbage collector takes its states", patience=processes.LONG_PATIENCE)
