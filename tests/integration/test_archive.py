"""Histories outlive their namespace: its deletion moves them into an archive, which only those see who may read them everywhere."""

import itertools
import json

import pytest

import processes
from processes import as_user, policy_rule, retry_until
from recorded import V1, history_name

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


def test_histories_move_into_the_archive(shop):
    before, states = recorded(shop)
    shop.close()
    shop.await_types("Created", "Changed", "Deleted")
    [after] = shop.all()
    assert after["metadata"]["namespace"] == shop.archive
    for field in ("uid", "name", "creationTimestamp"):
        assert after["metadata"][field] == before["metadata"][field]
    assert after["spec"] == before["spec"]
    assert after["status"]["changes"][:2] == before["status"]["changes"]
    assert after["status"]["deletionTime"]
    moved = shop.states(shop.archive)
    assert sorted(moved) == sorted(states)
    for name, state in moved.items():
        assert without(state, "metadata") == without(states[name], "metadata")
        assert state["metadata"] == {**states[name]["metadata"], "namespace": shop.archive, "resourceVersion": state["metadata"]["resourceVersion"]}
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
