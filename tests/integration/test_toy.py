"""A kind is one declaration: toys, which only tests/toy/toy_kind.c knows of, have everything that the kinds of the house have."""

import functools
import json
import pathlib
import re
import tempfile

import pytest

import processes
from objects import APPLY, JSON_PATCH, NAMESPACES, STRATEGIC, revision, revisions

BINARY = pathlib.Path(processes.BIN).parent / "tests" / "toy" / "annals-toy"
GROUP, KIND = "toys.example.com/v1", "Toy"
PATH = f"/apis/{GROUP}/namespaces/default/toys"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY} was not built")


@pytest.fixture(scope="module")
def shop():
    with tempfile.TemporaryDirectory(prefix="annals-", dir="/tmp") as folder:
        up = processes.Up(pathlib.Path(folder) / "data", binary=BINARY)
        up.is_shared = True
        yield up
        assert up.stop() == 0
        assert not up.troubles()


@pytest.fixture(autouse=True)
def empty(shop):
    yield
    shop.delete(PATH)


def toy(name="ball", **spec):
    return {"apiVersion": GROUP, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def kubectl(shop, *arguments, **more):
    done = shop.kubectl(*arguments, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- verbs ----


def test_verbs(shop):
    made = shop.post(PATH, toy(colour="red"))
    assert (made.status, made.json["spec"]) == (201, {"size": 10, "colour": "red"})  # 10 is the declared default
    assert shop.get(PATH + "/ball").json == made.json
    assert shop.put(PATH + "/ball", {**made.json, "spec": {"size": 2}}).json["spec"] == {"size": 2}
    assert shop.patch(PATH + "/ball", {"spec": {"size": 3}}).json["spec"] == {"size": 3}
    assert shop.patch(PATH + "/ball", {"spec": {"colour": "blue"}}, kind=STRATEGIC).json["spec"] == {"size": 3, "colour": "blue"}
    assert shop.patch(PATH + "/ball", [{"op": "remove", "path": "/spec/colour"}], kind=JSON_PATCH).json["spec"] == {"size": 3}
    applied = shop.patch(PATH + "/ball?fieldManager=me", toy(colour="green"), kind=APPLY).json
    assert applied["spec"] == {"size": 3, "colour": "green"}
    mine = next(entry for entry in applied["metadata"]["managedFields"] if entry["manager"] == "me")
    assert mine["fieldsV1"] == {"f:spec": {"f:colour": {}}}
    assert shop.get(PATH).json["kind"] == "ToyList"
    assert shop.delete(PATH + "/ball").json["details"]["kind"] == "toys"
    assert shop.get(PATH).json["items"] == []


def test_watch(shop):
    with shop.watch(PATH + "?watch=1") as watch:
        shop.post(PATH, toy())
        shop.patch(PATH + "/ball", {"spec": {"size": 3}})
        shop.delete(PATH)
        events = [watch.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event["object"]["spec"]["size"] for event in events] == [10, 3, 3]


def test_its_own_rules(shop):
    refused = shop.post(PATH, toy(size=0))
    assert (refused.status, refused.json["message"]) == (422, 'Toy.toys.example.com "ball" is invalid: spec.size: Invalid value: 0: must be greater than 0')
    assert shop.post(PATH, toy(size="big")).status == 400
    assert "spec.size of type int32" in shop.post(PATH, toy(size="big")).json["message"]
    strict = shop.post(PATH + "?fieldValidation=Strict", toy(weight=1))
    assert (strict.status, 'unknown field "spec.weight"' in strict.json["message"]) == (400, True)
    warned = shop.post(PATH, toy(weight=1))
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.weight\\""'


def test_rules_of_the_house(shop):
    assert shop.post(PATH, toy("Ball")).status == 422
    assert shop.post(PATH.replace("default", "nowhere"), toy()).status == 404
    assert shop.post(PATH, toy()).status == 201
    assert shop.post(PATH, toy()).status == 409
    owners = [{"apiVersion": "v1", "kind": "Child", "name": n, "uid": n, "controller": True} for n in "ab"]
    assert "Only one reference can have Controller" in shop.patch(PATH + "/ball", {"metadata": {"ownerReferences": owners}}).json["message"]


# ---- status and generation ----


def test_status_is_written_apart(shop):
    made = shop.post(PATH, {**toy(), "status": {"ready": True}}).json
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    told = shop.patch(PATH + "/ball/status", {"status": {"ready": True, "observedGeneration": 1}, "spec": {"size": 99}}).json
    assert (told["status"], told["spec"]["size"], told["metadata"]["generation"]) == ({"ready": True, "observedGeneration": 1}, 10, 1)
    changed = shop.patch(PATH + "/ball", {"status": {"ready": False}, "spec": {"size": 4}}).json
    assert (changed["status"]["ready"], changed["spec"]["size"], changed["metadata"]["generation"]) == (True, 4, 2)
    assert shop.get(PATH + "/ball/status").json == changed
    put = shop.put(PATH + "/ball/status", {**changed, "status": {"observedGeneration": 2}}).json
    assert put["status"] == {"observedGeneration": 2}
    assert shop.patch(PATH + "/ball", {"metadata": {"labels": {"a": "b"}}}).json["metadata"]["generation"] == 2
    assert shop.delete(PATH + "/ball/status").status == 405


def test_status_has_managers_of_its_own(shop):
    shop.post(PATH + "?fieldManager=maker", toy(colour="red"))
    told = shop.patch(PATH + "/ball/status?fieldManager=watcher", {"status": {"ready": True}}).json
    found = {entry["manager"]: (entry.get("subresource"), entry["fieldsV1"]) for entry in told["metadata"]["managedFields"]}
    assert found["watcher"] == ("status", {"f:status": {".": {}, "f:ready": {}}})
    assert found["maker"][0] is None


# ---- shown ----


def test_columns(shop):
    shop.post(PATH, toy(size=7))
    table = shop.get(PATH, headers=TABLE).json
    assert [(column["name"], column["type"]) for column in table["columnDefinitions"]] == [("Name", "string"), ("Size", "integer"), ("Age", "string")]
    assert table["rows"][0]["cells"][:2] == ["ball", 7]


def test_field_selector(shop):
    shop.post(PATH, toy("small", size=1))
    shop.post(PATH, toy("big", size=100))
    found = shop.get(PATH + "?fieldSelector=spec.size%3D100").json["items"]
    assert [item["metadata"]["name"] for item in found] == ["big"]
    assert "spec.colour" in shop.get(PATH + "?fieldSelector=spec.colour%3Dred").json["message"]


def test_discovery(shop):
    group = next(g for g in shop.get("/apis").json["groups"] if g["name"] == "toys.example.com")
    assert group["preferredVersion"] == {"groupVersion": GROUP, "version": "v1"}
    def listed():
        return {r["name"]: r for r in shop.get(f"/apis/{GROUP}").json["resources"]}

    processes.retry_until(lambda: "storageVersionHash" in listed()["toys"], "a hash")
    resources = listed()
    assert resources["toys"]["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    assert resources["toys/status"]["verbs"] == ["get", "patch", "update"]
    assert "storageVersionHash" not in resources["toys/status"]


def test_openapi(shop):
    paths = shop.get(f"/openapi/v3/apis/{GROUP}").json
    assert f"/apis/{GROUP}/namespaces/{{namespace}}/toys/{{name}}/status" in paths["paths"]
    schema = paths["components"]["schemas"]["com.example.toys.v1.ToySpec"]
    assert schema["properties"]["size"]["format"] == "int32"
    assert schema["required"] == ["size"]
    assert "com.example.toys.v1.Toy" in shop.get("/openapi/v2").json["definitions"]


def test_metrics_and_keys(shop):
    shop.post(PATH, toy())
    counted = r'apiserver_request_total{code="201",.*resource="toys"'
    processes.retry_until(lambda: re.search(counted, shop.get("/metrics").text), "the request to be counted, when it is over")


# ---- with kubectl ----


def test_kubectl_knows_it(shop):
    """Older ones want what is defaulted, and know no --subresource."""
    kubectl = functools.partial(globals()["kubectl"], since=(1, 25))
    text = json.dumps(toy(colour="red"))
    assert kubectl(shop, "create", "-f", "-", input=text) == "toy.toys.example.com/ball created\n"
    header, row = kubectl(shop, "get", "toys").splitlines()
    assert (header.split(), row.split()[:2]) == (["NAME", "SIZE", "AGE"], ["ball", "10"])
    kubectl(shop, "label", "toy", "ball", "a=b")
    kubectl(shop, "patch", "toy", "ball", "--type=merge", "-p", '{"spec":{"size":5}}')
    kubectl(shop, "patch", "toy", "ball", "--subresource=status", "--type=merge", "-p", '{"status":{"ready":true}}')
    assert kubectl(shop, "get", "toy", "ball", "-o", "jsonpath={.spec.size} {.status.ready} {.metadata.labels.a}") == "5 true b"
    assert kubectl(shop, "apply", "-f", "-", input=json.dumps(toy(colour="blue", size=6))).endswith("configured\n")
    assert kubectl(shop, "apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(toy(colour="black"))).endswith("serverside-applied\n")
    assert "millimetres" in kubectl(shop, "explain", "toy.spec.size")
    refused = shop.kubectl("apply", "-f", "-", input=json.dumps(toy(size=-1)))
    assert "spec.size: Invalid value: -1: must be greater than 0" in refused.stderr
    kubectl(shop, "delete", "toy", "ball")


def test_the_house_goes_on_beside_it(shop):
    assert shop.post(revisions(), revision()).status == 201
    assert shop.get(NAMESPACES + "/default").status == 200
    assert shop.delete(revisions() + "/a").status == 200


# ---- what becomes of dependents ----

BOXES = f"/apis/{GROUP}/namespaces/default/boxes"


def finalizers_on_delete(shop, options=None, query=""):
    """What DELETE makes of a box; a finalizer of ours keeps it in sight."""
    box = {"apiVersion": GROUP, "kind": "Box", "metadata": {"name": "b", "finalizers": ["example.com/hold"]}}
    assert shop.post(BOXES, box).status == 201
    gone = shop.delete(BOXES + "/b" + query, options)
    shop.patch(BOXES + "/b", {"metadata": {"finalizers": None}})
    processes.retry_until(lambda: shop.get(BOXES + "/b").status == 404, "the box is gone")
    return [finalizer for finalizer in gone.json["metadata"]["finalizers"] if finalizer != "example.com/hold"]


# seeds: R33
def test_a_kind_may_orphan_dependents_unless_told_otherwise(shop):
    assert finalizers_on_delete(shop) == ["orphan"]
    assert finalizers_on_delete(shop, {"propagationPolicy": "Background"}) == []
    assert finalizers_on_delete(shop, {"propagationPolicy": "Foreground"}) == ["foregroundDeletion"]
    assert finalizers_on_delete(shop, {"orphanDependents": False}) == []
    assert finalizers_on_delete(shop, query="?propagationPolicy=Orphan") == ["orphan"]
