"""Rules that annotations of a CustomResourceDefinition declare: fields that never change."""

import concurrent.futures
import json

import pytest

from test_definitions import DEFINITIONS, GROUP, NARROW, SCHEMA, WIDGETS, create, definition, narrow, two_versions, widget

IMMUTABLE = "annals.dev/immutable"
PATH = f"metadata.annotations[{IMMUTABLE}]"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
WIDE = {"type": "object", "properties": {
    "spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "data": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "replicas": {"type": "integer"}}},
    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}
SCALE = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}


@pytest.fixture
def other(serve, server, store):
    return serve(store.endpoint)


def declared(paths, what=None):
    what = what or definition(schema=WIDE, subresources=SCALE)
    what["metadata"]["annotations"] = {IMMUTABLE: paths}
    return what


def declare(server, paths):
    return server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"metadata": {"annotations": {IMMUTABLE: paths}}})


def refusals(answer):
    assert answer.status == 422, answer.text
    return {(c["field"], c["message"].rpartition(": ")[2]) for c in answer.json["details"]["causes"]}


def test_every_verb_keeps_what_is_immutable(server, other):
    create(server, declared("spec.data, spec.list,spec.replicas"))
    data = {"n": 1, "deep": {"a": [1, {"b": None}], "text": "x"}}
    made = server.post(WIDGETS, widget("a", data=data, list=[{"a": "x"}], replicas=1)).json
    sent = {**made, "spec": {**made["spec"], "data": {**data, "n": 2}}}
    one = {("spec.data", "field is immutable")}
    refused = other.put(f"{WIDGETS}/a", sent)
    assert refusals(refused) == one
    assert refused.json["details"]["causes"][0]["message"].startswith('Invalid value: {"deep":')
    assert refused.json["message"].startswith('Widget.example.com "a" is invalid: spec.data: Invalid value: {"deep":')
    assert refusals(server.patch(f"{WIDGETS}/a", {"spec": {"data": {"n": 2}}})) == one
    assert refusals(server.patch(f"{WIDGETS}/a", {"spec": {"data": {"deep": {"a": [{"b": None}, 1]}}}})) == one
    assert refusals(server.patch(f"{WIDGETS}/a", [{"op": "remove", "path": "/spec/data"}], JSON_PATCH)) == one
    assert refusals(server.patch(f"{WIDGETS}/a", [{"op": "remove", "path": "/spec"}], JSON_PATCH)) == {
        (f"spec.{name}", "field is immutable") for name in ("data", "list", "replicas")}
    assert refusals(server.patch(f"{WIDGETS}/a", [{"op": "add", "path": "/spec/list/0", "value": {"a": "y"}}], JSON_PATCH)) == {("spec.list", "field is immutable")}
    assert refusals(server.patch(f"{WIDGETS}/a?fieldManager=me&force=true", widget("a", data={"n": 3}), APPLY)) == one
    scale = server.get(f"{WIDGETS}/a/scale").json
    assert refusals(server.put(f"{WIDGETS}/a/scale", {**scale, "spec": {"replicas": 2}})) == {("spec.replicas", "field is immutable")}
    assert refusals(server.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 2}})) == {("spec.replicas", "field is immutable")}
    assert server.get(f"{WIDGETS}/a").json == made

    assert server.patch(f"{WIDGETS}/a/status", {"status": {"replicas": 3}, "spec": {"data": {"n": 9}}}).json["spec"] == made["spec"]
    assert server.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}).json["spec"] == {**made["spec"], "size": 2}
    same = widget("a", data={"deep": {"text": "x", "a": [1.0, {"b": None}]}, "n": 1.0e0}, list=[{"a": "x"}], replicas=1, size=3)
    assert server.put(f"{WIDGETS}/a", {**same, "metadata": {"name": "a", "resourceVersion": server.get(f"{WIDGETS}/a").json["metadata"]["resourceVersion"]}}).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"] == {**made["spec"], "size": 3}
    assert server.delete(f"{WIDGETS}/a").status == 200
    assert server.post(WIDGETS, widget("a", data={"n": 2})).status == 201


def test_an_absent_field_stays_absent(server):
    create(server, declared("spec.data,spec.map"))
    server.post(WIDGETS, widget("a"))
    assert refusals(server.patch(f"{WIDGETS}/a", {"spec": {"data": {}}})) == {("spec.data", "field is immutable")}
    assert refusals(server.patch(f"{WIDGETS}/a?fieldManager=me", widget("a", map={"k": {"a": "x"}}), APPLY)) == {("spec.map", "field is immutable")}


def test_a_version_that_does_not_show_a_field_keeps_it(server):
    create(server, declared("spec.color", two_versions(label={"type": "string", "default": "y"})))
    server.post(WIDGETS, widget("a", color="blue"))
    shown = server.get(f"{NARROW}/a").json
    assert shown["spec"] == {"size": 1}
    assert server.put(f"{NARROW}/a", {**shown, "spec": {"size": 2}}).status == 200
    assert server.patch(f"{NARROW}/a", {"spec": {"size": 3}}).status == 200
    assert server.patch(f"{NARROW}/a?fieldManager=me&force=true", narrow("a", size=4), APPLY).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"] == {"size": 4, "color": "blue"}
    assert refusals(server.patch(f"{WIDGETS}/a", {"spec": {"color": "green"}})) == {("spec.color", "field is immutable")}


def test_defaults_of_another_version_are_no_change(server):
    """The version v2 shows a part of the field, with a default of its own."""
    parts = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}}
    both = two_versions(parts={"type": "object", "properties": {"x": {"type": "string"}, "z": {"type": "string", "default": "d"}}})
    stored = both["spec"]["versions"][0]
    spec = SCHEMA["properties"]["spec"]
    stored["schema"] = {"openAPIV3Schema": {**SCHEMA, "properties": {"spec": {**spec, "properties": {**spec["properties"], "parts": parts}}}}}
    create(server, declared("spec.parts", both))
    server.post(WIDGETS, widget("a", parts={"x": "1", "y": "2"}))
    assert server.put(f"{NARROW}/a", {**server.get(f"{NARROW}/a").json, "spec": {"size": 2, "parts": {"x": "1"}}}).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"]["parts"] == {"x": "1", "y": "2"}
    assert refusals(server.patch(f"{NARROW}/a", {"spec": {"parts": {"x": "2"}}})) == {("spec.parts", "field is immutable")}


@pytest.mark.parametrize("paths, wrong, why", [
    ("", "", "must be names with one dot between them, such as spec.data"),
    ("spec.data,", "", "must be names with one dot between them, such as spec.data"),
    (".spec.data", ".spec.data", "must be names with one dot between them, such as spec.data"),
    ("spec..data", "spec..data", "must be names with one dot between them, such as spec.data"),
    ("metadata.labels", "metadata.labels", "must not begin with apiVersion, kind, metadata or status"),
    ("status", "status", "must not begin with apiVersion, kind, metadata or status"),
    ("spec.dat", "spec.dat", "must be a field in the schema of the version that is stored"),
    ("spec.size.x", "spec.size.x", "must be a field in the schema of the version that is stored"),
    ("spec.list.a", "spec.list.a", "must not lead into a list: the list itself can be named"),
    ("spec.size, spec.size", "spec.size", "is named twice"),
    (",".join(f"spec.data.n{i}" for i in range(40)), "spec.data.n32", "is one too many: the most are 32 paths"),
    ("spec.data" + ".x" * 31, "spec.data" + ".x" * 31, "has too many names: the most are 32"),
])
def test_annotations_are_checked(server, paths, wrong, why):
    for answer in (server.post(DEFINITIONS, declared(paths)), create(server, definition(schema=WIDE)) and declare(server, paths)):
        assert answer.status == 422, answer.text
        assert [(c["field"], c["message"]) for c in answer.json["details"]["causes"]] == [(PATH, f"Invalid value: {json.dumps(wrong)}: {why}")]


def test_paths_through_maps_and_open_fields(server):
    create(server, declared("spec.map.k.a,spec.data.any.depth"))
    server.post(WIDGETS, widget("a", map={"k": {"a": "x"}, "l": {"a": "y"}}, data={"any": {"depth": [1], "other": 1}}))
    assert server.patch(f"{WIDGETS}/a", {"spec": {"map": {"l": None, "m": {"a": "z"}}, "data": {"any": {"other": 2}}}}).status == 200
    assert refusals(server.patch(f"{WIDGETS}/a", {"spec": {"map": {"k": None}, "data": {"any": None}}})) == {
        ("spec.map.k.a", "field is immutable"), ("spec.data.any.depth", "field is immutable")}


def test_a_declared_field_stays_in_the_schema(server):
    create(server, declared("spec.size"))
    without = {**WIDE, "properties": {"spec": {"type": "object", "properties": {"data": WIDE["properties"]["spec"]["properties"]["data"]}}}}
    versions = definition(schema=without)["spec"]["versions"]
    refused = server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": versions}})
    assert refusals(refused) == {(PATH, "must be a field in the schema of the version that is stored")}
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"metadata": {"annotations": {IMMUTABLE: None}}, "spec": {"versions": versions}}).status == 200


def test_an_annotation_is_in_force_with_its_answer(server, other):
    """Writers at both replicas: once the answer has come, no write that changes the field succeeds."""
    create(server, definition(schema=WIDE))
    for i in range(8):
        server.post(WIDGETS, widget(f"w{i}", size=1))

    def write(replica, name, n):
        return replica.patch(f"{WIDGETS}/{name}", {"spec": {"size": n}})

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(write, (server, other)[n % 2], f"w{n % 8}", n + 2) for n in range(80)]
        assert declare(server, "spec.size").status == 200
        frozen = {o["metadata"]["name"]: o["spec"] for o in server.get(WIDGETS).json["items"]}
        late = [pool.submit(write, (server, other)[n % 2], f"w{n % 8}", 1000 + n) for n in range(16)]
        assert {a.result().status for a in answers} <= {200, 409, 422, 429}
        assert {a.result().status for a in late} <= {422, 429}
    assert {o["metadata"]["name"]: o["spec"] for o in other.get(WIDGETS).json["items"]} == frozen
    assert declare(server, None).status == 200
    assert server.patch(f"{WIDGETS}/w0", {"spec": {"size": 5}}).status == 200
