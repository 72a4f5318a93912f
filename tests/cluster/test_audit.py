"""The same requests, under the same policy, leave the same lines in the audit logs of a real kube-apiserver and of annals."""

import difflib
import json

import pytest

from auditing import Asked
from exchange import apply, create, delete, get, json_patch, merge, namespace, post, put, revision, strategic, watch

ALICE = {"Authorization": "Bearer secret-of-alice"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
STARTED = {"last": "ResponseStarted"}
REASON = {"but": ("annotations",)}  # the names of RBAC's roles and bindings
OWN_DOCUMENT = {"but": ("responseObject",)}  # says what kinds there are


def all_of(*steps, **more):
    return [Asked(step, **more) for step in steps]


CASES = {
    "creates": all_of(
        create("a", {"b": 1, "a": 2.0}),
        create("a"),
        create("B_"),
        post("{crs}", {**revision("u"), "unknown": 1}),
        post("{crs}?fieldValidation=Strict", {**revision("s"), "unknown": 1}),
        post("{crs}", {"metadata": {"generateName": "made-"}, "data": {"<&>": "\u2028"}, "revision": 1}),
        post("{crs}?dryRun=All", revision("dry")),
        post("{crs}", "{"),
        post("{crs}", revision("elsewhere", namespace="other")),
        post("{crs}", "a: 1", headers={"Content-Type": "text/plain"}),
        create("request-only"),
    ),
    "reads": all_of(
        create("a"),
        create("b"),
        get("{crs}/a"),
        get("{crs}/missing"),
        get("{crs}/a", headers=TABLE),
        get("{crs}/a", headers={"Accept": "application/yaml"}),
        get("{crs}/a?pretty=true"),
        get("{crs}/request-only"),
        get("{crs}"),
        get("{crs}?limit=1"),
        get("{crs}?limit=1&continue={continue}"),
        get("{crs}", headers=PARTIAL),
        get("{crs}?fieldSelector=metadata.name%3Da"),
        get("{crs}?fieldSelector=metadata.name%3Da&watch=x&timeoutSeconds=1"),
        get("{crs}?labelSelector=((("),
        get("{crs}?resourceVersion=x"),
        get("{crs}", headers={"Accept": "text/none"}),
        get("{crs}/a?watch=1"),
    ),
    "changes": all_of(
        create("a"),
        put("{crs}/a", revision("a", None, 2, labels={"x": "y"})),
        put("{crs}/a", revision("a", None, 3, resourceVersion="1")),
        put("{crs}/a", revision("a", {"other": 1}, 3)),
        put("{crs}/missing", revision("missing")),
        put("{crs}/a", revision("b")),
        merge("{crs}/a", {"metadata": {"labels": {"x": None}}}),
        merge("{crs}/a?dryRun=All", {"revision": 9}),
        strategic("{crs}/a", {"metadata": {"finalizers": ["a.b/c"]}}),
        json_patch("{crs}/a", [{"op": "remove", "path": "/metadata/finalizers"}]),
        json_patch("{crs}/a", [{"op": "test", "path": "/revision", "value": 77}]),
        apply("{crs}/applied?fieldManager=m", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "applied"},
                                               "data": {"x": 1}, "revision": 1}),
        merge("{crs}/missing", {"revision": 1}),
        merge("{crs}/a", {"revision": 1}, headers={"Content-Type": "text/plain"}),
    ),
    "deletions": all_of(
        create("a"),
        create("b"),
        create("c"),
        delete("{crs}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}),
        delete("{crs}/a"),
        delete("{crs}/b?dryRun=All"),
        delete("{crs}/b", {"preconditions": {"uid": "other"}, "gracePeriodSeconds": 0}),
        delete("{crs}?labelSelector=none"),
        delete("{crs}", {"gracePeriodSeconds": 0}),
    ),
    "watches": [
        *all_of(watch("{crs}?timeoutSeconds=1"), watch("{crs}?timeoutSeconds=1&resourceVersion=1"),
                watch("/api/v1/watch/namespaces/{ns}/configmaps/c?timeoutSeconds=1"),
                watch("{crs}?timeoutSeconds=1&sendInitialEvents=true")),
        *all_of(watch("{crs}?timeoutSeconds=1", auth="none")),
    ],
    "who": [
        *all_of(get("{crs}", auth="none"), get("/", auth="none"), get("{crs}", auth="Basic YTpi"),
                get("{crs}", headers={"Impersonate-User": "bob"}, auth="none")),
        *all_of(get("{crs}", auth="Bearer wrong"), get("/version", auth="Bearer wrong"), get("{crs}?timeout=x"), **STARTED),
        *all_of(get("{crs}", headers=ALICE, auth="Bearer secret-of-alice"),
                get("{crs}", headers={"Impersonate-User": "bob", "Impersonate-Group": "g", "Impersonate-Uid": "u",
                                      "Impersonate-Extra-Foo": "x", "Impersonate-Extra-Abc": "y"}),
                get("{crs}", headers={"Impersonate-User": "boss", "Impersonate-Group": "system:masters"}),
                get("{crs}", headers={"Impersonate-User": "system:serviceaccount:a:b"})),
    ],
    "where_from": all_of(
        get("{crs}/x", headers={"X-Forwarded-For": "1.2.3.4, junk,::1,10.0.0.01", "X-Real-Ip": "9.9.9.9"}),
        get("{crs}/x", headers={"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "nonsense"}),
        get("{crs}/x", headers={"User-Agent": None}),
        get("{crs}/x", headers={"User-Agent": "x" * 1100}),
        get("{crs}/x?a=<b>&c=%20d&e=" + "f" * 6000),
    ),
    "paths": [
        *all_of(get("/apis/nogroup/v1"), get("/apis/nogroup/v1/foos"), get("/apis/apps/v1/foos"), get("/nowhere"),
                get("/apis/apps/v1/namespaces/x/foos/a/b/c"), post("/openapi/v2", "{}"), get("{crs}//a"), get("{crs}/%2e"),
                post("{crs}/a", {}), get("/version"), get("/healthz/ping", headers={})),
        *all_of(get("/api"), get("/api/v1"), get("/apis/apps/v1"), get("/apis"),
                get("/apis", headers={"Accept": "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"}), **OWN_DOCUMENT),
        *all_of(get("/healthz", auth="none"), get("/version", auth="none"), **REASON),
    ],
    "levels": [
        *all_of(get("/livez"), get("/livez/ping"), get("/api/v1/namespaces/kube-public/configmaps/x"), last=None),
        *all_of(post("/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "c"}, "data": {"secret": "value"}}),
                get("/api/v1/namespaces/{ns}/configmaps/c"),
                merge("/api/v1/namespaces/{ns}/configmaps/c", {"data": {"other": "value"}}),
                put("/api/v1/namespaces/{ns}/configmaps/c", {"metadata": {"name": "c"}, "data": {"third": "value"}}),
                delete("/api/v1/namespaces/{ns}/configmaps/c")),
    ],
    "namespaces": all_of(
        post("{nss}", namespace("{ns}-x", labels={"a": "b"})),
        get("{nss}/{ns}-x"),
        get("{nss}/{ns}-x", headers=TABLE),
        merge("{nss}/{ns}-x", {"metadata": {"annotations": {"a": "b"}}}),
        merge("{nss}/{ns}-x/status", {"metadata": {"annotations": {"c": "d"}}}),
        delete("{nss}/{ns}-x"),
        put("{nss}/{ns}-x/finalize", namespace("{ns}-x")),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_audit__events_are_kubes(name, audited):
    found = []
    for asked, kubes, ours in audited.both(CASES[name]):
        if kubes != ours:
            diff = difflib.unified_diff(*(json.dumps([json.loads(line) for line in lines], indent=1).split("\n") for lines in (kubes, ours)),
                                        "kube-apiserver", "annals", n=2, lineterm="")
            found.append("\n".join([asked.title, *("    " + line for line in diff)]))
    if found:
        pytest.fail(f"the events of {len(found)} requests differ\n" + "\n".join(found), pytrace=False)


def test_audit__applied_yaml_is_written_as_json(audited):
    """kube cannot write what is no JSON: the event is lost there."""
    yaml = "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a}\ndata: {x: 1}\n"
    audit_id = "applied-yaml-end"
    answer = audited.annals.patch("/apis/apps/v1/namespaces/default/controllerrevisions/a?fieldManager=m", yaml, "application/apply-patch+yaml",
                                  {"Audit-ID": audit_id})
    assert answer.status == 201
    assert audited.last_event(audit_id)["requestObject"] == {
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "data": {"x": 1}}


def test_audit__metrics_are_there(audited):
    for server in (audited.kube, audited.annals):
        text = server.get("/metrics").text
        assert "# TYPE apiserver_audit_event_total counter" in text
        assert 'apiserver_audit_level_total{level="RequestResponse"}' in text
        assert "apiserver_audit_requests_rejected_total 0" in text
