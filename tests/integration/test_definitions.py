"""CustomResourceDefinitions: kinds that come and go while servers run. Two servers share one etcd, where nothing else is said."""

import concurrent.futures
import gzip
import json
import pathlib
import re
import struct

import pytest

from processes import retry_until
from protobuf_fields import PROTOBUF, every, frames, only, opened

GROUP = "example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
SCHEMA = {"type": "object", "properties": {
    "spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "description": "How large."},
        "color": {"type": "string", "default": "red"}}},
    "status": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def definition(plural="widgets", kind="Widget", schema=SCHEMA, group=GROUP, names=None, **version):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind, **(names or {})},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]}}


def widget(name, **spec):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1, **spec}}


def conditions(answer):
    return {c["type"]: (c["status"], c["reason"]) for c in answer.json["status"]["conditions"]}


def create(server, what=None):
    answer = server.post(DEFINITIONS, what or definition())
    assert answer.status == 201, answer.text
    return answer


@pytest.fixture
def other(serve, server, store):
    return serve(store.endpoint)


def test_a_write_that_changes_nothing_writes_nothing(server):
    create(server)
    made = server.post(WIDGETS, {**widget("a"), "metadata": {"name": "a", "finalizers": ["example.com/x"]}}).json
    merge = {"Content-Type": "application/merge-patch+json"}
    for answer in (server.patch(f"{WIDGETS}/a", {}, headers=merge), server.put(f"{WIDGETS}/a", made)):
        assert (answer.status, answer.json["metadata"]["resourceVersion"]) == (200, made["metadata"]["resourceVersion"])
    changed = server.patch(f"{WIDGETS}/a", {"metadata": {"finalizers": None}}, headers=merge).json
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_a_kind_is_served_with_the_answer_that_creates_it(server):
    assert server.get(WIDGETS).status == 404
    created = create(server, definition(subresources={"status": {}}, additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]))
    assert conditions(created) == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    assert [r["name"] for r in server.get(f"/apis/{GROUP}/v1").json["resources"]] == ["widgets", "widgets/status"]
    assert f"apis/{GROUP}/v1" in server.get("/openapi/v3").json["paths"]
    document = server.get(f"/openapi/v3/apis/{GROUP}/v1").json
    assert document["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"]["properties"]["size"]["description"] == "How large."

    made = server.post(WIDGETS, {**widget("a", unknown=1), "status": {"size": 1}})
    assert (made.status, made.json["spec"], made.json["metadata"]["generation"]) == (201, {"size": 1, "color": "red"}, 1)
    assert "status" not in made.json and 'unknown field \\"spec.unknown\\"' in made.headers["Warning"]
    table = server.get(WIDGETS, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}).json
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size"] and table["rows"][0]["cells"] == ["a", 1]
    listed = server.get(WIDGETS).json
    assert (listed["kind"], listed["items"][0]["kind"], listed["items"][0]["apiVersion"]) == ("WidgetList", "Widget", f"{GROUP}/v1")

    refused = server.patch(f"{WIDGETS}/a", {"spec": {"size": 0}})
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (422, "spec.size")
    assert server.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}, "application/strategic-merge-patch+json").status == 415
    assert server.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}).json["metadata"]["generation"] == 2
    status = server.patch(f"{WIDGETS}/a/status", {"status": {"size": 5}, "spec": {"size": 9}}).json
    assert (status["status"], status["spec"]["size"], status["metadata"]["generation"]) == ({"size": 5}, 2, 2)
    applied = server.patch(f"{WIDGETS}/b?fieldManager=me", widget("b"), "application/apply-patch+yaml")
    assert (applied.status, applied.json["metadata"]["managedFields"][0]["fieldsV1"]) == (201, {"f:spec": {"f:size": {}}})
    assert server.delete(f"{WIDGETS}/a").status == 200 and server.get(f"{WIDGETS}/a").status == 404


def test_the_subresource_scale_obeys_the_schema(server):
    create(server, definition(subresources={"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}))
    server.post(WIDGETS, widget("a"))
    refused = server.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 0}})
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (422, "spec.size")
    assert server.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 5}}).json["spec"] == {"replicas": 5}


def test_another_replica_serves_it_at_once(server, other):
    """Each round has a kind of its own: the other replica is asked without any wait."""
    for i in range(20):
        plural = f"things{i}"
        create(server, definition(plural, f"Thing{i}"))
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        made = other.post(path, {**widget("a"), "kind": f"Thing{i}"})
        assert made.status == 201, made.text
        assert server.get(f"{path}/a").json["metadata"]["uid"] == made.json["metadata"]["uid"]
    assert other.get("/apis/nowhere.example.com/v1/things").status == 404


def test_no_object_is_stored_under_a_schema_that_is_out_of_force(server, other):
    """While a definition changes to and fro, writers at both replicas get what is in force, or are asked to come again."""
    create(server)
    strict, loose = (definition(schema={**SCHEMA, "properties": {"spec": {**SCHEMA["properties"]["spec"], "properties": {
        **SCHEMA["properties"]["spec"]["properties"], "size": {"type": "integer", "minimum": minimum}}}}}) for minimum in (10, 1))

    def write(i):
        return (server, other)[i % 2].post(WIDGETS, widget(f"w{i}", size=5))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = pool.map(write, range(120))
        for i in range(10):
            assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": (strict, loose)[i % 2]["spec"]}).status == 200
        codes = {answer.status for answer in answers}
    assert codes <= {201, 422, 429}
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": strict["spec"]}).status == 200
    for each in (server, other):
        assert retry_until(lambda each=each: each.post(WIDGETS, widget("late", size=5)).status in (422,), "the schema in force")


def test_a_definition_takes_its_objects_with_it(server, other):
    create(server)
    for name in "abc":
        assert server.post(WIDGETS, widget(name)).status == 201
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    version = other.post(WIDGETS, held).json["metadata"]["resourceVersion"]
    with server.watch(f"{WIDGETS}?watch=1&resourceVersion={version}") as watch:
        assert server.delete(f"{DEFINITIONS}/widgets.{GROUP}").status == 200
        gone = {watch.next()["object"]["metadata"]["name"] for _ in range(4)}
        assert gone == {"a", "b", "c", "held"}  # the last one is changed, not gone
        waiting = other.get(f"{DEFINITIONS}/widgets.{GROUP}")
        assert conditions(waiting)["Terminating"] == ("True", "InstanceDeletionInProgress") and waiting.json["metadata"]["finalizers"] == [FINALIZER]
        refused = other.post(WIDGETS, widget("late"))
        assert (refused.status, refused.json["message"]) == (403, f'widgets.{GROUP} "late" is forbidden: create not allowed while custom resource definition is terminating')
        assert other.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}}).status == 200
        assert watch.next()["type"] == "DELETED"
        assert list(watch) == []
    retry_until(lambda: server.get(f"{DEFINITIONS}/widgets.{GROUP}").status == 404, "the end of the definition")
    assert [each.get(WIDGETS).status for each in (server, other)] == [404, 404]
    assert f"apis/{GROUP}/v1" not in server.get("/openapi/v3").json["paths"]
    create(server)
    assert server.get(WIDGETS).json["items"] == []


def test_names_are_given_once_and_free_again(server):
    create(server)
    second = create(server, definition("gadgets", "Widget"))
    assert conditions(second) == {"NamesAccepted": ("False", "ListKindConflict"), "Established": ("False", "NotAccepted")}
    assert server.get(f"/apis/{GROUP}/v1/gadgets").status == 404
    assert server.delete(f"{DEFINITIONS}/widgets.{GROUP}").status == 200
    retry_until(lambda: server.get(f"/apis/{GROUP}/v1/gadgets").status == 200, "the names to be free")


def test_only_one_of_many_gets_a_name(server, other):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: (server, other)[i % 2].post(DEFINITIONS, definition(f"p{i}", "Same")), range(16)))
    assert {answer.status for answer in answers} == {201}
    listed = server.get(DEFINITIONS).json["items"]
    established = [d for d in listed if any(c["type"] == "Established" and c["status"] == "True" for c in d["status"]["conditions"])]
    assert (len(listed), len(established)) == (16, 1)


def test_a_restart_serves_them_again(serve, server, store):
    # Its keys sort before those of definitions.
    create(server, definition(group="aaa.example.com"))
    path = "/apis/aaa.example.com/v1/namespaces/default/widgets"
    assert server.post(path, {**widget("a"), "apiVersion": "aaa.example.com/v1"}).status == 201
    server.stop()
    again = serve(store.endpoint)
    assert again.get(f"{path}/a").json["spec"] == {"size": 1, "color": "red"}


def test_a_changed_schema_shows_stored_objects_as_it_says(serve, server, store):
    create(server, definition(schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    assert server.post(WIDGETS, widget("a", extra="x")).json["spec"] == {"size": 1, "extra": "x"}
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": definition()["spec"]["versions"]}}).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"] == {"size": 1, "color": "red"}
    wider = json.loads(json.dumps(SCHEMA))
    wider["properties"]["spec"]["properties"]["extra"] = {"type": "string"}
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": definition(schema=wider)["spec"]["versions"]}}).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"] == {"size": 1, "color": "red", "extra": "x"}
    again = serve(store.endpoint)
    assert again.get(f"{WIDGETS}/a").json["spec"] == {"size": 1, "color": "red", "extra": "x"}


def test_a_schema_is_kept_without_its_empty_members(server):
    """As Go writes it. Values are no schemas: an empty default stays."""
    spec = {"type": "object", "description": "", "nullable": False, "required": [], "properties": {}, "default": {}}
    item = {"type": "object", "properties": {"a": {"type": "string", "pattern": "", "default": ""}, "properties": {"type": "string", "enum": []}}}
    listed = {"type": "array", "items": item, "x-kubernetes-list-map-keys": []}
    made = create(server, definition(schema={"type": "object", "allOf": [], "properties": {"spec": spec, "list": listed}}))
    assert made.json["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"type": "object", "properties": {
        "spec": {"type": "object", "default": {}},
        "list": {"type": "array", "items": {"type": "object", "properties": {
            "a": {"type": "string", "default": ""}, "properties": {"type": "string"}}}}}}


NARROW = f"/apis/{GROUP}/v2/namespaces/default/widgets"


def two_versions(**fields):
    """v1, which is stored, has size and color; v2 has size, and what is given."""
    both = definition(subresources={"status": {}}, additionalPrinterColumns=[{"name": "Color", "type": "string", "jsonPath": ".spec.color"}])
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 100}, **fields}}}}
    both["spec"]["versions"].append({**both["spec"]["versions"][0], "name": "v2", "storage": False, "schema": {"openAPIV3Schema": schema}})
    return both


def narrow(name, **spec):
    return {**widget(name, **spec), "apiVersion": f"{GROUP}/v2"}


def test_each_version_shows_the_fields_of_its_schema(server, other):
    create(server, two_versions(label={"type": "string"}))
    start = server.post(WIDGETS, widget("a", color="blue")).json["metadata"]["resourceVersion"]
    for replica in (server, other):
        assert replica.get(f"{WIDGETS}/a").json["spec"] == {"size": 1, "color": "blue"}
        assert replica.get(f"{NARROW}/a").json["spec"] == {"size": 1}
        assert [o["spec"] for o in replica.get(NARROW).json["items"]] == [{"size": 1}]
    compressed = server.get(NARROW, headers={"Accept-Encoding": "gzip"})
    assert compressed.json["items"][0]["apiVersion"] == f"{GROUP}/v2" and "blue" not in compressed.text
    table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    assert [server.get(path, headers=table).json["rows"][0]["cells"] for path in (WIDGETS, NARROW)] == [["a", "blue"], ["a", None]]

    made = server.post(NARROW, narrow("b", label="x", color="pink"))
    assert (made.status, made.json["spec"]) == (201, {"size": 1}) and 'unknown field \\"spec.color\\"' in made.headers["Warning"]
    assert made.json["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:size": {}, "f:label": {}}}
    assert server.get(f"{WIDGETS}/b").json["spec"] == {"size": 1, "color": "red"}
    with server.watch(f"{NARROW}?watch=1&resourceVersion={start}") as watch:
        event = watch.next()
        assert (event["type"], event["object"]["apiVersion"], event["object"]["spec"]) == ("ADDED", f"{GROUP}/v2", {"size": 1})

    refused = server.patch(f"{NARROW}/a", {"spec": {"size": 101}})
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (422, "spec.size")
    assert server.patch(f"{WIDGETS}/c?fieldManager=me", widget("c", size=101), "application/apply-patch+yaml").status == 201


def test_a_write_through_a_version_loses_what_it_does_not_know(server):
    create(server, two_versions())
    server.post(WIDGETS, widget("a", color="blue"))
    status = server.patch(f"{NARROW}/a/status", {"status": {"size": 5}}).json
    assert (status["spec"], status["status"], status["metadata"]["generation"]) == ({"size": 1}, {"size": 5}, 1)
    assert server.get(f"{WIDGETS}/a").json["spec"]["color"] == "blue"

    labelled = server.patch(f"{NARROW}/a", {"metadata": {"labels": {"x": "y"}}}).json
    assert (labelled["metadata"]["generation"], labelled["status"]) == (1, {"size": 5})
    wide = server.get(f"{WIDGETS}/a").json
    assert (wide["spec"], wide["metadata"]["labels"]) == ({"size": 1, "color": "red"}, {"x": "y"})
    shown = server.get(f"{NARROW}/a").json
    for answer in (server.put(f"{NARROW}/a", shown), server.patch(f"{NARROW}/a", {"spec": {"size": 1}})):
        assert (answer.status, answer.json["metadata"]["resourceVersion"]) == (200, shown["metadata"]["resourceVersion"])
    assert server.patch(f"{NARROW}/a", {"spec": {"size": 2}}).json["metadata"]["generation"] == 2


def test_apply_through_another_version(server):
    create(server, two_versions(label={"type": "string"}))
    assert apply(server, "w", "one", {"size": 1, "color": "blue"}).status == 201
    body = json.dumps({**narrow("w", size=1), "spec": {"size": 2}}).encode()
    headers = {"Content-Type": "application/apply-patch+yaml"}
    assert server.request("PATCH", f"{NARROW}/w?fieldManager=two", body, headers=headers).status == 409
    forced = server.request("PATCH", f"{NARROW}/w?fieldManager=two&force=true", body, headers=headers)
    assert (forced.status, forced.json["spec"]) == (200, {"size": 2}), forced.text
    owned = {m["manager"]: (m["apiVersion"], m["fieldsV1"]) for m in forced.json["metadata"]["managedFields"]}
    assert owned["two"] == (f"{GROUP}/v2", {"f:spec": {"f:size": {}}})
    assert server.get(f"{WIDGETS}/w").json["spec"] == {"size": 2, "color": "red"}


def test_another_storage_version_shows_older_objects_as_it_would_store_them(serve, server, store):
    both = two_versions(label={"type": "string", "default": "none"})
    create(server, both)
    server.post(WIDGETS, widget("a", color="blue"))
    for version in both["spec"]["versions"]:
        version["storage"] = not version["storage"]
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": both["spec"]["versions"]}}).status == 200
    for replica in (server, serve(store.endpoint)):
        assert replica.get(f"{NARROW}/a").json["spec"] == {"size": 1, "label": "none"}
        assert replica.get(f"{WIDGETS}/a").json["spec"] == {"size": 1}
    for version in both["spec"]["versions"]:
        version["storage"] = not version["storage"]
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": both["spec"]["versions"]}}).status == 200
    assert server.get(f"{WIDGETS}/a").json["spec"] == {"size": 1, "color": "blue"}


SUB_SCHEMA = {"type": "object", "properties": {part: {"type": "object", "properties": {name: {"type": kind} for name, kind in (
    ("a", "integer"), ("b", "integer"), ("color", "string"), ("label", "string"))}} for part in ("spec", "status")}}


def three_versions():
    """v1, which is stored, scales by `a`; v2 by `b`, and has no status; v3 has neither. The first two select by a field that they share, and by one of their own."""
    made = definition()
    first, second, third = ({**made["spec"]["versions"][0], "name": name, "storage": name == "v1", "schema": {"openAPIV3Schema": {**SUB_SCHEMA, "description": name}}}
                            for name in ("v1", "v2", "v3"))
    scale = [{"specReplicasPath": f".spec.{name}", "statusReplicasPath": f".status.{name}", "labelSelectorPath": f".status.{label}"} for name, label in (("a", "color"), ("b", "label"))]
    made["spec"]["versions"] = [
        {**first, "subresources": {"status": {}, "scale": scale[0]}, "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.a"}]},
        {**second, "subresources": {"scale": scale[1]}, "selectableFields": [{"jsonPath": ".spec.label"}, {"jsonPath": ".spec.color"}]},
        third]
    return made


def test_each_version_has_its_own_subresources_and_selectable_fields(server, other):
    create(server, three_versions())
    at = {version: f"/apis/{GROUP}/{version}/namespaces/default/widgets" for version in ("v1", "v2", "v3")}
    names = {version: [r["name"] for r in server.get(f"/apis/{GROUP}/{version}").json["resources"]] for version in at}
    assert names == {"v1": ["widgets", "widgets/status", "widgets/scale"], "v2": ["widgets", "widgets/scale"], "v3": ["widgets"]}
    for version, subresources in names.items():
        paths = server.get(f"/openapi/v3/apis/{GROUP}/{version}").json["paths"]
        assert [f"{at[version].replace('default', '{namespace}')}/{{name}}/{sub}" in paths for sub in ("status", "scale")] == [f"widgets/{sub}" in subresources for sub in ("status", "scale")]

    spec, status = {"a": 1, "b": 2, "color": "red", "label": "x"}, {"a": 3, "b": 4, "color": "k=a", "label": "k=b"}
    made = server.post(at["v1"], {**widget("one"), "spec": spec, "status": status})
    assert (made.status, made.json.get("status")) == (201, None)
    whole = {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "metadata": {"name": "two"}, "spec": {**spec, "color": "blue"}, "status": status}
    assert server.post(at["v2"], whole).json["status"] == status  # it is a member like others there
    scales = {version: server.get(f"{at[version]}/two/scale") for version in at}
    assert [(scales[v].json["spec"], scales[v].json["status"]) for v in ("v1", "v2")] == [
        ({"replicas": 1}, {"replicas": 3, "selector": "k=a"}), ({"replicas": 2}, {"replicas": 4, "selector": "k=b"})]
    assert [scales["v3"].status, server.get(f"{at['v2']}/two/status").status, server.get(f"{at['v3']}/two/status").status] == [404] * 3

    merge = {"Content-Type": "application/merge-patch+json"}
    for version, member, count in (("v1", "a", 7), ("v2", "b", 8)):
        scaled = server.patch(f"{at[version]}/two/scale?fieldManager={member}", {"spec": {"replicas": count}}, headers=merge)
        assert (scaled.status, scaled.json["spec"]) == (200, {"replicas": count})
        assert server.get(f"{at[version]}/two").json["spec"][member] == count
        negative = server.patch(f"{at[version]}/two", {"spec": {member: -1}}, headers=merge)
        assert [c["field"] for c in negative.json["details"]["causes"]] == [f".spec.{member}"], negative.text
    shown = server.get(f"{at['v1']}/two").json
    assert (shown["spec"]["a"], shown["spec"]["b"], shown["metadata"]["generation"]) == (7, 8, 3)
    owned = {m["manager"]: (m["apiVersion"], m["fieldsV1"]) for m in shown["metadata"]["managedFields"] if m.get("subresource") == "scale"}
    assert owned == {"a": (f"{GROUP}/v1", {"f:spec": {"f:a": {}}}), "b": (f"{GROUP}/v2", {"f:spec": {"f:b": {}}})}

    # A change of the status counts where the version has it as a member like others.
    assert server.patch(f"{at['v2']}/two", {"status": {"a": 9}}, headers=merge).json["metadata"]["generation"] == 4
    assert server.patch(f"{at['v1']}/two/status", {"status": {"a": 10}}, headers=merge).json["metadata"]["generation"] == 4
    ignored = server.patch(f"{at['v1']}/two", {"status": {"a": 11}}, headers=merge).json
    assert (ignored["status"]["a"], ignored["metadata"]["generation"]) == (10, 4)

    for replica in (server, other):
        def select(version, term, replica=replica):
            answer = replica.get(f"{at[version]}?fieldSelector={term}")
            return [o["metadata"]["name"] for o in answer.json["items"]] if answer.status == 200 else answer.json["message"]

        assert [select(v, "spec.color=red") for v in ("v1", "v2")] == [["one"]] * 2
        assert select("v1", "spec.a=7,spec.color!=red") == ["two"] == select("v2", "spec.color=blue,spec.label=x")
        assert [select(v, term) for v, term in (("v2", "spec.a=7"), ("v1", "spec.label=x"), ("v3", "spec.color=red"))] == [
            f"field label not supported: {name}" for name in ("spec.a", "spec.label", "spec.color")]
        assert select("v3", "metadata.name=one") == ["one"]
    with server.watch(f"{at['v2']}?watch=1&fieldSelector=spec.label=new") as watch:
        assert server.patch(f"{at['v1']}/one", {"spec": {"label": "new"}}, headers=merge).status == 200
        event = watch.next()
        assert (event["type"], event["object"]["apiVersion"], event["object"]["metadata"]["name"]) == ("ADDED", f"{GROUP}/v2", "one")


# ---- OpenAPI v2 ----

V2 = "/openapi/v2"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
HEAD = ("apiVersion", "kind", "metadata")


def shown_in_v2(server, name="com.example.v1.Widget"):
    """The definition without what every kind has."""
    found = server.get(V2).json["definitions"].get(name)
    if found:
        found.pop("x-kubernetes-group-version-kind")
        for part in HEAD if "properties" in found else ():
            del found["properties"][part]
    return found


# What a property becomes in v2; a tuple has the object's `required` before and after, too. Upstream's rules, each with a case.
TEXT = {"type": "string"}
IN_V2 = {
    "nothing": ({"type": "string", "description": "d", "enum": ["a"], "maxLength": 3, "minLength": 1, "pattern": "^a", "default": "a"},) * 2,
    "junctors": ({"type": "integer", "minimum": 1.5, "anyOf": [{"multipleOf": 2}], "oneOf": [{"multipleOf": 3}], "allOf": [{"maximum": 3}], "not": {"minimum": 4}}, {"type": "integer", "minimum": 1.5}),
    "nullable": ({"type": "string", "nullable": True, "format": "byte"}, {"format": "byte"}),
    "nullable_object": ({"type": "object", "nullable": True, "properties": {"a": TEXT}, "required": ["a"]}, {"required": ["a"]}),
    "nullable_list": ({"type": "array", "nullable": True, "items": TEXT, "x-kubernetes-list-type": "set"}, {"x-kubernetes-list-type": "set"}),
    "required": ({"type": "object", "properties": {"a": {**TEXT, "nullable": True}, "b": TEXT}, "required": ["a", "b"]}, {"type": "object", "properties": {"a": {}, "b": TEXT}, "required": ["b"]}),
    "required_all": ({"type": "object", "properties": {"a": {**TEXT, "nullable": True}}, "required": ["a"]}, {"type": "object", "properties": {"a": {}}}),
    "map": ({"type": "object", "additionalProperties": {**TEXT, "nullable": True}}, {"type": "object", "additionalProperties": {}}),
    "any_map": ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}),
    "open": ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": TEXT}}, {"x-kubernetes-preserve-unknown-fields": True}),
    "open_list": ({"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": TEXT}, {"x-kubernetes-preserve-unknown-fields": True}),
    "either": ({"x-kubernetes-int-or-string": True}, {"x-kubernetes-int-or-string": True}),
    "deep": ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer", "nullable": True}}}}, {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}),
}


def test_v2_leaves_out_what_it_cannot_say(server):
    create(server, definition(schema={"type": "object", "description": "Whole.", "properties": {name: before for name, (before, _) in IN_V2.items()}}))
    assert shown_in_v2(server) == {"type": "object", "description": "Whole.", "properties": {name: after for name, (_, after) in IN_V2.items()}}
    v3 = server.get(f"/openapi/v3/apis/{GROUP}/v1").json["components"]["schemas"]["com.example.v1.Widget"]["properties"]
    either = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert {name: v3[name] for name in IN_V2} == {**{name: before for name, (before, _) in IN_V2.items()}, "either": either}


def test_v2_shows_embedded_and_open_objects(server):
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}, "required": ["spec"]}
    open_one = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    create(server, definition(schema={"type": "object", "properties": {"inner": embedded, "open": open_one}}))
    create(server, definition("gadgets", "Gadget", schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": TEXT}}))
    shown = shown_in_v2(server)["properties"]
    assert (sorted(shown["inner"]["properties"]), shown["inner"]["required"]) == ([*HEAD, "spec"], ["spec", "kind", "apiVersion"])
    assert shown["inner"]["properties"]["metadata"]["$ref"].endswith("ObjectMeta")
    assert shown["open"] == {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    assert shown_in_v2(server, "com.example.v1.Gadget") == {"type": "object"}


def references(tree):
    if isinstance(tree, dict):
        yield from (value for name, value in tree.items() if name == "$ref" and isinstance(value, str))
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from references(value)


def test_v2_follows_definitions(server, other):
    before = server.get(V2)
    program = before.json
    create(server, three_versions())
    create(server, definition("parts", "Part", group="parts.example.com"))
    # Names of its kinds are those of the program's: that one stays.
    approved = definition("statefulsets", "StatefulSet", group="apps.api.k8s.io")
    approved["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    create(server, approved)
    answer = server.get(V2)
    whole = answer.json
    new = {name for name in whole["definitions"] if name not in program["definitions"]}
    assert new == {f"com.example.{v}.Widget{end}" for v in ("v1", "v2", "v3") for end in ("", "List")} | {"com.example.parts.v1.Part", "com.example.parts.v1.PartList"}
    is_kept = {name: whole["definitions"][name] for name in program["definitions"]} == program["definitions"]
    assert is_kept
    assert len(answer.text.split('"io.k8s.api.apps.v1.StatefulSet":{')) == 2
    assert {ref.removeprefix("#/definitions/") for ref in references(whole)} - set(whole["definitions"]) == set()
    at = "/apis/example.com/v2/namespaces/{namespace}/widgets/{name}"
    assert [path in whole["paths"] for path in (at, f"{at}/scale", f"{at}/status", "/apis/parts.example.com/v1/parts")] == [True, True, False, True]
    assert set(program["paths"]) - set(whole["paths"]) == set()

    tag = answer.headers["ETag"]
    assert tag != before.headers["ETag"] and other.get(V2).headers["ETag"] == tag
    assert server.get(V2, headers={"If-None-Match": tag}).status == 304
    is_same = gzip.decompress(server.get(V2, headers={"Accept-Encoding": "gzip"}).body) == answer.body
    assert is_same
    changed = three_versions()["spec"]
    changed["versions"] = changed["versions"][:2]
    assert server.patch(f"{DEFINITIONS}/widgets.{GROUP}", {"spec": {"versions": changed["versions"]}}).status == 200
    assert {name for name in server.get(V2).json["definitions"] if name.startswith("com.example.v")} == {f"com.example.{v}.Widget{end}" for v in ("v1", "v2") for end in ("", "List")}
    for name in (f"widgets.{GROUP}", "parts.parts.example.com", "statefulsets.apps.api.k8s.io"):
        assert server.delete(f"{DEFINITIONS}/{name}").status == 200
    retry_until(lambda: server.get(V2).headers["ETag"] == before.headers["ETag"], "the end of the definitions")


def named(message, number):
    return {only(pair, 1).decode(): only(pair, 2) for part in every(message, number) for pair in every(part, NAMED[number])}


NAMED = {8: 2, 9: 1}  # in a document: of paths and definitions


def test_v2_says_the_same_in_protobuf(server):
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 9.5, "exclusiveMaximum": True, "enum": [1, 2], "title": "A", "example": 1},
                                               "m": {"type": "object", "additionalProperties": True, "minProperties": 1, "externalDocs": {"url": "u", "description": "d"}}}}
    create(server, definition(schema=schema))
    whole = server.get(V2).json
    answer = server.get(V2, headers={"Accept": V2_PROTOBUF})
    assert answer.headers["ETag"] != server.get(V2).headers["ETag"]
    paths, definitions = named(answer.body, 8), named(answer.body, 9)
    assert (set(paths) ^ set(whole["paths"]), set(definitions) ^ set(whole["definitions"])) == (set(), set())
    shown = {only(pair, 1).decode(): only(pair, 2) for pair in every(only(definitions["com.example.v1.Widget"], 25), 1)}
    assert set(shown) == {"a", "m", *HEAD}
    a, m = shown["a"], shown["m"]
    assert (only(a, 3), only(a, 8), [only(each, 2) for each in every(a, 20)], only(only(a, 30), 2)) == (b"A", 1, [b"1\n", b"2\n"], b"1\n")
    assert struct.unpack("<d", only(a, 7)) == (9.5,)
    assert (only(only(m, 21), 2), only(m, 18), only(only(m, 29), 2)) == (1, 1, b"u")


def test_v2_has_a_ceiling(server):
    """What does not fit is left out there, and is in v3."""
    def wide(i):
        made = definition(f"m{i:02}", f"M{i:02}")
        first = made["spec"]["versions"][0]
        made["spec"]["versions"] = [{**first, "name": f"v{n + 1}", "storage": n == 0} for n in range(24)]
        return server.post(DEFINITIONS, made).status

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert set(pool.map(wide, range(99))) == {201}
    answer = server.get(V2)
    shown = sorted(name for name in answer.json["definitions"] if re.fullmatch(r"com\.example\.v1\.M\d\d", name))
    assert shown == [f"com.example.v1.M{i:02}" for i in range(len(shown))] and 50 < len(shown) < 99
    assert len(answer.body) < 34 << 20
    assert "com.example.v1.M98" in server.get(f"/openapi/v3/apis/{GROUP}/v1").json["components"]["schemas"]
    assert server.delete(f"{DEFINITIONS}/m00.{GROUP}").status == 200
    retry_until(lambda: server.get(f"{DEFINITIONS}/m00.{GROUP}").status == 404, "the end of one")
    assert f"com.example.v1.M{len(shown):02}" in server.get(V2).json["definitions"]


def resident(server):
    return int(re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{server.pid}/status").read_text())[1])


def test_memory_of_definitions_is_given_back(server):
    maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
    if "libtsan" in maps or "libasan" in maps:
        pytest.skip("a sanitizer needs memory of its own")
    sizes = []
    for _ in range(4):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert {a.status for a in pool.map(lambda i: server.post(DEFINITIONS, definition(f"m{i}", f"M{i}")), range(100))} == {201}
            assert {a.status for a in pool.map(lambda i: server.delete(f"{DEFINITIONS}/m{i}.{GROUP}"), range(100))} == {200}
        retry_until(lambda: server.get(DEFINITIONS).json["items"] == [], "the end of all definitions", patience=60)
        sizes.append(resident(server))
    assert sizes[-1] < sizes[0] + 8 * 1024, sizes


def test_bad_definitions_are_refused(server):
    without_dot = definition(group="example")
    refused = server.post(DEFINITIONS, without_dot)
    assert (refused.status, refused.json["reason"]) == (422, "Invalid")
    many = definition()
    many["spec"]["versions"] = [{**many["spec"]["versions"][0], "name": f"v{i + 1}", "storage": i == 0} for i in range(25)]
    assert "Too many: 25" in server.post(DEFINITIONS, many).json["message"]
    assert server.get(DEFINITIONS).json["items"] == []


def test_patterns_have_a_ceiling_together(server):
    """Some take megabytes to compile. 2,000 of them, no two alike, kept a thread of the server busy for minutes."""
    patterns = {f"a{i:03}": rf"^[\pL\pN]{{{20 + i}}}$" for i in range(30)} | {"z": "^usual$"}
    schema = {"type": "object", "properties": {name: {"type": "string", "pattern": pattern} for name, pattern in patterns.items()}}
    refused = server.post(DEFINITIONS, definition(schema=schema))
    assert refused.status == 422
    texts = {cause["field"].split("[")[1].split("]")[0]: cause["message"] for cause in refused.json["details"]["causes"]}
    assert "error parsing regexp: expression too large" in texts["a029"]
    assert "error parsing regexp: expression too large" in texts["z"]  # it is not even tried
    assert "a000" not in texts
    # So each of a schema's patterns stays compiled, and a list's items need not compile it anew.
    texts = {f"b{i}": {"type": "array", "items": {"type": "string", "pattern": f"^[a-z]{{1,{i + 1}}}$"}} for i in range(100)}
    assert server.post(DEFINITIONS, definition(schema={"type": "object", "properties": texts})).status == 201
    items = {f"b{i}": ["x"] * 1000 for i in range(100)}
    assert server.post(WIDGETS, {**widget("a"), **items}).status == 201
    items["b99"].append("X")
    wrong = server.post(WIDGETS, {**widget("b"), **items})
    assert (wrong.status, wrong.json["details"]["causes"][0]["field"]) == (422, "b99[1000]")


def apply(server, name, manager, spec, **query):
    body = json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}).encode()
    more = "".join(f"&{k}={v}" for k, v in query.items())
    return server.request("PATCH", f"{WIDGETS}/{name}?fieldManager={manager}{more}", body, headers={"Content-Type": "application/apply-patch+yaml"})


def test_apply_merges_lists_by_their_type(server):
    item = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}
    create(server, definition(schema={"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "ports": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "order": {"type": "array", "items": {"type": "string"}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "ratio": {"type": "number"}}}}}))
    first = {"ports": [{"name": "a", "port": 1}], "tags": ["x"], "order": ["1"], "whole": {"a": "1"}, "any": {"a": {"b": [1]}}, "ratio": 1.5}
    assert apply(server, "w", "one", first).status == 201
    merged = apply(server, "w", "two", {"ports": [{"name": "b", "port": 2}], "tags": ["y"], "any": {"a": {"c": 2}}})
    assert merged.status == 200, merged.text
    assert merged.json["spec"] == {**first, "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}], "tags": ["x", "y"], "any": {"a": {"b": [1], "c": 2}}}
    owned = {m["manager"]: m["fieldsV1"]["f:spec"] for m in merged.json["metadata"]["managedFields"]}
    assert owned["two"]["f:ports"] == {'k:{"name":"b"}': {".": {}, "f:name": {}, "f:port": {}}} and owned["two"]["f:tags"] == {'v:"y"': {}}
    assert owned["one"]["f:order"] == {} and owned["one"]["f:whole"] == {}

    assert apply(server, "w", "two", {"order": ["2"]}).status == 409
    assert apply(server, "w", "two", {"whole": {"b": "2"}}).status == 409
    left = apply(server, "w", "one", {"tags": ["x"]}).json["spec"]
    assert left == {"tags": ["x", "y"], "ports": [{"name": "b", "port": 2}], "any": {"a": {"c": 2}}}
    wrong = apply(server, "w", "two", {"tags": 5})
    assert wrong.status == 400 and ".spec.tags: expected list, got " in wrong.json["message"], wrong.text


# All forms that a schema has in protobuf only: unions, numbers with a fraction, opaque values.
MANY_FORMS = {"type": "object", "description": "Forms.", "properties": {
    "spec": {"type": "object", "required": ["a"], "maxProperties": 9, "properties": {
        "a": {"type": "number", "minimum": -0.5, "maximum": 1e21, "exclusiveMaximum": True, "multipleOf": 0.1, "default": 0.5},
        "b": {"type": "string", "enum": ["x", "y"], "pattern": "^.$", "minLength": 0, "default": "x"},
        "c": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
        "d": {"type": "object", "additionalProperties": True},
        "e": {"type": "array", "items": {"x-kubernetes-int-or-string": True}, "x-kubernetes-list-type": "atomic"},
        "f": {"x-kubernetes-preserve-unknown-fields": True, "nullable": True},
        "g": {"type": "object", "properties": {"n": {"type": "integer"}}, "not": {"required": ["m"]},
              "anyOf": [{"properties": {"n": {"minimum": 1}}}, {"required": ["n"]}], "externalDocs": {"url": "https://example.com"}}}}}}
SEND = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}


def varint(n):
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def part(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def as_new(body):
    """The same definition, as a client creates it: of its metadata, the name alone, and no status."""
    message = opened(body)[2]
    name, spec = only(only(message, 1), 1), only(message, 2)
    kind = part(1, b"apiextensions.k8s.io/v1") + part(2, b"CustomResourceDefinition")
    return b"k8s\0" + part(1, kind) + part(2, part(1, part(1, name)) + part(2, spec))


def test_definitions_in_protobuf(server):
    """As clients of k8s.io/apiextensions-apiserver send and read them. What came in JSON and goes back in protobuf is no change."""
    for what in (definition(), definition("forms", "Form", MANY_FORMS, subresources={"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
                                          additionalPrinterColumns=[{"name": "A", "type": "number", "jsonPath": ".spec.a", "priority": 1}])):
        path = f"{DEFINITIONS}/{what['metadata']['name']}"
        made = create(server, what).json
        with server.watch(f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name={what['metadata']['name']}", headers={"Accept": PROTOBUF}) as watch:
            kind, event = next(frames(watch.response.read))
        body = server.get(path, headers={"Accept": PROTOBUF}).body
        assert (kind, event) == ("ADDED", body)
        assert opened(body)[:2] == ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        put = server.request("PUT", path, body, headers=SEND)
        assert (put.status, put.body) == (200, body)
        assert server.get(path).json == made

        assert server.delete(path).status == 200
        retry_until(lambda path=path: server.get(path).status == 404, "the definition is gone")
        again = server.request("POST", DEFINITIONS, as_new(body), headers={**SEND, "Accept": "application/json"})
        assert (again.status, again.json["spec"]) == (201, made["spec"]), again.text
        assert conditions(again) == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    api_version, kind, listed = opened(server.get(DEFINITIONS, headers={"Accept": PROTOBUF}).body)
    assert (kind, [only(only(item, 1), 1).decode() for item in every(listed, 2)]) == ("CustomResourceDefinitionList", ["forms.example.com", "widgets.example.com"])


def test_a_bad_definition_in_protobuf(server):
    create(server)
    path = f"{DEFINITIONS}/widgets.example.com"
    body = server.get(path, headers={"Accept": PROTOBUF}).body
    cut = server.request("PUT", path, body[:len(body) // 2], headers=SEND)
    assert cut.status == 400
    wrong = server.request("PUT", path, body.replace(b"integer", b"integre"), headers={**SEND, "Accept": "application/json"})
    assert (wrong.status, wrong.json["reason"]) == (422, "Invalid")
