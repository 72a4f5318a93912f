"""Wrong requests, and what is said about them: code, reason, sentence, and which fields are the cause."""

import dataclasses
import json

import pytest

from objects import APPLY, APPS, JSON_PATCH, MERGE, NAMESPACES, STRATEGIC, revision, revisions

ONE = "/a"  # a revision that is there, below the collection
DEEP = "[" * 600 + "]" * 600


@dataclasses.dataclass
class Refused:
    """A request below the collection of revisions of a namespace (or, when path begins with "//", below the root)."""

    method: str
    path: str
    status: int
    reason: str
    message: str
    body: object = None
    causes: set = None  # of (reason, field)
    type: str = None

    @property
    def url(self):
        return self.path[1:] if self.path.startswith("//") else None


def invalid(*fields, reason="FieldValueInvalid"):
    return {(reason, field) for field in fields}


def required(*fields):
    return invalid(*fields, reason="FieldValueRequired")


def without(o, name):
    return {key: value for key, value in o.items() if key != name}


REFUSED = {
    # ---- there is no such thing ----
    "object": Refused("GET", "/b", 404, "NotFound", 'controllerrevisions.apps "b" not found'),
    "resource": Refused("GET", "//apis/apps/v1/namespaces/default/things", 404, "NotFound", "the server could not find the requested resource"),
    "version": Refused("GET", "//apis/apps/v9/controllerrevisions", 404, "NotFound", "the server could not find the requested resource"),
    "subresource": Refused("GET", "/a/scale", 404, "NotFound", "the server could not find the requested resource"),
    "group": Refused("GET", "//apis/nobody.example.com/v1/things", 404, None, "404 page not found"),
    "path": Refused("GET", "//nowhere", 404, None, "404 page not found"),
    "put-nothing": Refused("PUT", "/b", 404, "NotFound", '"b" not found', revision("b")),
    "patch-nothing": Refused("PATCH", "/b", 404, "NotFound", '"b" not found', {}),
    "delete-nothing": Refused("DELETE", "/b", 404, "NotFound", '"b" not found'),
    "namespace": Refused("POST", "//apis/apps/v1/namespaces/nowhere/controllerrevisions", 404, "NotFound", 'namespaces "nowhere" not found', revision()),
    # ---- one cannot do that ----
    "post-on-object": Refused("POST", ONE, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource", revision()),
    "put-on-collection": Refused("PUT", "", 405, "MethodNotAllowed", "the server does not allow this method", revision()),
    "options": Refused("OPTIONS", "", 405, "MethodNotAllowed", "the server does not allow this method"),
    "delete-all-namespaces": Refused("DELETE", "//api/v1/namespaces", 405, "MethodNotAllowed", "the server does not allow this method"),
    # ---- that is no object ----
    "empty": Refused("POST", "", 400, "BadRequest", "", b""),
    "no-json": Refused("POST", "", 400, "BadRequest", "", "{"),
    "text-behind": Refused("POST", "", 400, "BadRequest", "", json.dumps(revision("n")) + "x"),
    "no-utf8": Refused("POST", "", 400, "BadRequest", "UTF-8", b'{"a":"\xff"}'),
    "no-yaml": Refused("POST", "", 400, "BadRequest", "yaml", "a: [", type="application/yaml"),
    "list": Refused("POST", "", 400, "BadRequest", "", "[]"),
    "null": Refused("POST", "", 422, "Invalid", "", "null", causes=required("metadata.name", "data")),
    "too-deep": Refused("POST", "", 400, "BadRequest", "exceeded max depth", json.dumps(revision("n", data={"d": 1})).replace('{"d": 1}', '{"d":' + DEEP + "}")),
    "other-kind": Refused("POST", "", 400, "BadRequest", "ConfigMap", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}}),
    "other-version": Refused("POST", "", 400, "BadRequest", "does not match the expected API version", {**revision("n"), "apiVersion": "apps/v1beta1"}),
    "other-namespace": Refused("POST", "", 400, "BadRequest", "namespace of the provided object does not match", revision("n", namespace="elsewhere")),
    "number-for-name": Refused("POST", "", 400, "BadRequest", "name of type string", revision(7)),
    "text-for-revision": Refused("POST", "", 400, "BadRequest", "revision of type int64", revision("n", "seven")),
    "revision-beyond-64-bits": Refused("POST", "", 400, "BadRequest", "revision of type int64", revision("n", 2**63)),
    "list-for-labels": Refused("POST", "", 400, "BadRequest", "labels", revision("n", labels=[])),
    "media-type": Refused("POST", "", 415, "UnsupportedMediaType", "accepted media types include", revision("n"), type="text/plain"),
    # ---- the object breaks a rule ----
    "no-name": Refused("POST", "", 422, "Invalid", "name or generateName is required", without(revision(), "metadata"), causes=required("metadata.name")),
    "bad-name": Refused("POST", "", 422, "Invalid", "RFC 1123 subdomain", revision("A_b"), causes=invalid("metadata.name")),
    "bad-label": Refused("POST", "", 422, "Invalid", "", revision("n", labels={"a b": "c d"}), causes=invalid("metadata.labels")),
    "bad-finalizer": Refused("POST", "", 422, "Invalid", "", revision("n", finalizers=["x"]), causes=invalid("metadata.finalizers[0]")),
    "bad-owner": Refused("POST", "", 422, "Invalid", "", revision("n", ownerReferences=[{}]), causes=invalid(
        *(f"metadata.ownerReferences.{field}" for field in ("apiVersion", "kind", "name", "uid")))),
    "negative": Refused("POST", "", 422, "Invalid", "must be greater than or equal to 0", revision("n", -1), causes=invalid("revision")),
    "no-data": Refused("POST", "", 422, "Invalid", "data is mandatory", without(revision("n"), "data"), causes=required("data")),
    "list-for-data": Refused("POST", "", 422, "Invalid", "data must be a valid JSON object", revision("n", data=[1]), causes=required("data")),
    "everything-at-once": Refused("POST", "", 422, "Invalid", "", revision("A_b", -1, data=[1]),
                                  causes=invalid("metadata.name", "revision") | required("data")),
    "unknown-field": Refused("POST", "?fieldValidation=Strict", 400, "BadRequest", 'unknown field "x"', {**revision("n"), "x": 1}),
    "repeated-field": Refused("POST", "?fieldValidation=Strict", 400, "BadRequest", 'duplicate field "revision"',
                              json.dumps(revision("n")).replace('"revision": 1', '"revision": 1, "revision": 2')),
    # ---- somebody was faster ----
    "exists": Refused("POST", "", 409, "AlreadyExists", 'controllerrevisions.apps "a" already exists', revision()),
    "stale-put": Refused("PUT", ONE, 409, "Conflict", "the object has been modified; please apply your changes to the latest version", revision(resourceVersion="1")),
    "stale-patch": Refused("PATCH", ONE, 409, "Conflict", "the object has been modified", {"metadata": {"resourceVersion": "1"}}),
    "put-of-another": Refused("PUT", ONE, 409, "Conflict", "Precondition failed: UID", revision(uid="other")),
    "delete-of-another": Refused("DELETE", ONE, 409, "Conflict", "the UID in the precondition (other) does not match",
                                 {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}),
    "delete-of-older": Refused("DELETE", ONE, 409, "Conflict", "the ResourceVersion in the precondition (1) does not match",
                               {"preconditions": {"resourceVersion": "1"}}),
    # ---- updates ----
    "other-name": Refused("PUT", ONE, 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)", revision("b")),
    "version-no-number": Refused("PUT", ONE, 400, "BadRequest", "resourceVersion", revision(resourceVersion="x")),
    "deleted-by-hand": Refused("PUT", ONE, 422, "Invalid", "field is immutable", revision(deletionTimestamp="2020-01-01T00:00:00Z"),
                               causes=invalid("metadata.deletionTimestamp")),
    # ---- patches ----
    "patch-type": Refused("PATCH", ONE, 415, "UnsupportedMediaType", "415: Unsupported Media Type", {}, type="application/json"),
    "patch-no-json": Refused("PATCH", ONE, 400, "BadRequest", "", "{"),
    "patch-merge-null": Refused("PATCH", ONE, 400, "BadRequest", "", "null"),
    "patch-object-as-operations": Refused("PATCH", ONE, 400, "BadRequest", "", "{}", type=JSON_PATCH),
    "patch-operation-fails": Refused("PATCH", ONE, 422, "Invalid", "the server rejected our request due to an error in our request",
                                     [{"op": "remove", "path": "/metadata/labels/x"}], type=JSON_PATCH),
    "patch-test-fails": Refused("PATCH", ONE, 422, "Invalid", "the server rejected our request due to an error in our request",
                                [{"op": "test", "path": "/revision", "value": 2}], type=JSON_PATCH),
    "patch-too-many": Refused("PATCH", ONE, 413, "RequestEntityTooLarge", "The allowed maximum operations in a JSON patch is 10000",
                              [{"op": "test", "path": "/revision", "value": 1}] * 10001, type=JSON_PATCH),
    "patch-uid": Refused("PATCH", ONE, 422, "Invalid", "field is immutable", {"metadata": {"uid": "other"}}, causes=invalid("metadata.uid")),
    "patch-name": Refused("PATCH", ONE, 400, "BadRequest", "does not match the name on the URL", {"metadata": {"name": "b"}}, type=STRATEGIC),
    "patch-revision": Refused("PATCH", ONE, 422, "Invalid", "patch: Invalid value", {"revision": "x"}),
    "apply-by-nobody": Refused("PATCH", ONE, 422, "Invalid", "is required for apply patch", revision(), type=APPLY, causes=required("fieldManager")),
    "apply-managed-fields": Refused("PATCH", ONE + "?fieldManager=m", 400, "BadRequest", "metadata.managedFields must be nil", revision(managedFields=[{}]), type=APPLY),
    "apply-conflict": Refused("PATCH", ONE + "?fieldManager=m", 409, "Conflict", "Apply failed with 1 conflict", revision(number=2), type=APPLY,
                              causes={("FieldManagerConflict", ".revision")}),
    # ---- options ----
    "dry-run": Refused("POST", "?dryRun=yes", 422, "Invalid", "dryRun", revision("n"), causes={("FieldValueNotSupported", "dryRun")}),
    "field-validation": Refused("POST", "?fieldValidation=strict", 422, "Invalid", "fieldValidation", revision("n"),
                                causes={("FieldValueNotSupported", "fieldValidation")}),
    "manager-too-long": Refused("POST", "?fieldManager=" + "m" * 129, 422, "Invalid", "128", revision("n"), causes={("FieldValueTooLong", "fieldManager")}),
    "force-without-apply": Refused("PATCH", ONE + "?force=true", 422, "Invalid", "may not be specified for non-apply patch", {},
                                   causes={("FieldValueForbidden", "force")}),
    "propagation": Refused("DELETE", ONE + "?propagationPolicy=Never", 422, "Invalid", "propagationPolicy", causes={("FieldValueNotSupported", "propagationPolicy")}),
    "delete-by-another-kind": Refused("DELETE", ONE, 400, "BadRequest", "DeleteOptions", {"kind": "ControllerRevision", "apiVersion": "apps/v1"}),
    # ---- reading ----
    "accept": Refused("GET", ONE, 406, "NotAcceptable", "Available representations: application/json, application/yaml"),
    "label-selector": Refused("GET", "?labelSelector=a+b", 400, "BadRequest", "unable to parse requirement"),
    "field-selector": Refused("GET", "?fieldSelector=revision%3D1", 400, "BadRequest", '"revision" is not a known field selector'),
    "version-to-list": Refused("GET", "?resourceVersion=x", 400, "BadRequest", "resourceVersion"),
    "version-to-get": Refused("GET", ONE + "?resourceVersion=x", 400, "BadRequest", "resourceVersion"),
    "version-to-come": Refused("GET", ONE + "?resourceVersion=999999999", 504, "Timeout", "Too large resource version: 999999999",
                               causes={("ResourceVersionTooLarge", None)}),
    "match-without-version": Refused("GET", "?resourceVersionMatch=Exact", 422, "Invalid", "resourceVersionMatch is forbidden unless resourceVersion is provided",
                                     causes={("FieldValueForbidden", "resourceVersionMatch")}),
    "unknown-match": Refused("GET", "?resourceVersion=1&resourceVersionMatch=Roughly", 422, "Invalid", "resourceVersionMatch",
                             causes={("FieldValueNotSupported", "resourceVersionMatch")}),
    "continue": Refused("GET", "?continue=nonsense", 400, "BadRequest", "continue"),
    "limit": Refused("GET", "?limit=x", 400, "BadRequest", ""),
    "initial-events-without-match": Refused("GET", "?watch=1&sendInitialEvents=true", 422, "Invalid", "sendInitialEvents",
                                            causes={("FieldValueForbidden", "resourceVersionMatch")}),
    "table-of-something": Refused("GET", "?includeObject=Some", 400, "BadRequest", ""),
}

DEFAULT_TYPE = {"POST": "application/json", "PUT": "application/json", "PATCH": MERGE, "DELETE": "application/json"}
ACCEPT = {"accept": "image/png", "table-of-something": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def send(client, r, namespace, accept="application/json"):
    headers = {"Accept": accept}
    if r.body is not None:
        headers["Content-Type"] = r.type or DEFAULT_TYPE[r.method]
    return client.request(r.method, r.url or revisions(namespace) + r.path, r.body, headers=headers)


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(annals, namespace, name):
    r = REFUSED[name]
    made = annals.post(revisions(namespace), revision())
    assert made.status == 201
    answer = send(annals, r, namespace, ACCEPT.get(name, "application/json"))
    assert answer.status == r.status, answer
    assert_says(answer, r)
    assert annals.get(revisions(namespace) + ONE).body == made.body
    assert len(annals.get(revisions(namespace)).json["items"]) == 1


def assert_says(answer, r):
    if r.reason is None:
        assert (answer.text, answer.headers["Content-Type"]) == (r.message + "\n", "text/plain; charset=utf-8")
        return
    status = answer.json
    assert (status["kind"], status["status"], status["code"], status["reason"]) == ("Status", "Failure", r.status, r.reason)
    assert r.message in status["message"]
    if r.causes:
        assert {(cause["reason"], cause.get("field")) for cause in status["details"]["causes"]} == r.causes


@pytest.mark.parametrize("name", [name for name, r in REFUSED.items() if r.method == "POST" and r.status == 422])
def test_dry_run_refuses_the_same(annals, namespace, name):
    r = REFUSED[name]
    path = r.path + ("&" if "?" in r.path else "?") + "dryRun=All"
    annals.post(revisions(namespace), revision())
    answer = send(annals, dataclasses.replace(r, path=path), namespace)
    assert answer.status == r.status, answer


def test_details_name_what_is_meant(annals, namespace):
    missing = annals.get(revisions(namespace) + "/b").json
    assert missing["details"] == {"name": "b", "group": "apps", "kind": "controllerrevisions"}
    wrong = annals.post(revisions(namespace), revision("n", -1)).json
    assert {key: value for key, value in wrong["details"].items() if key != "causes"} == {"name": "n", "group": "apps", "kind": "ControllerRevision"}
    assert wrong["message"] == 'ControllerRevision.apps "n" is invalid: revision: Invalid value: -1: must be greater than or equal to 0'


def test_unknown_fields_are_warned_of_and_dropped(annals, namespace):
    made = annals.post(revisions(namespace), {**revision(), "x": 1})
    assert made.status == 201
    assert made.headers.get_all("Warning") == ['299 - "unknown field \\"x\\""']
    assert "x" not in made.json
    assert annals.post(revisions(namespace) + "?fieldValidation=Ignore", {**revision("b"), "x": 1}).headers.get_all("Warning") is None


def test_refused_before_anything_is_looked_up(annals):
    """A body that is wrong in itself is refused as such without the namespace being there."""
    wrong = annals.post(NAMESPACES.replace("/api/v1", "/apis/apps/v1") + "/nowhere/controllerrevisions", "{")
    assert wrong.status == 400


# ---- much that is wrong ----

MANY = 40_000  # bad names in some 3 MB
LONG = "\x01" * 60  # each byte is six in JSON, and longer still when it is quoted
MUCH = {
    "labels": {"labels": {f"{LONG}{i:05}": "" for i in range(MANY // 6)}},
    "annotations": {"annotations": {f"{LONG}{i:05}": "" for i in range(MANY // 6)}},
    "finalizers": {"finalizers": [f"{LONG}{i:05}" for i in range(MANY // 6)]},
    "owners": {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}] * MANY},
    "name": {"name": "\x01" * 400_000},
}


@pytest.mark.parametrize("metadata", MUCH.values(), ids=MUCH)
def test_answer_is_no_larger_than_what_was_wrong(annals, namespace, metadata):
    body = json.dumps(revision() | {"metadata": {"name": "much"} | metadata})
    assert 2_000_000 < len(body) < 3_145_728
    answer = annals.post(revisions(namespace), body)
    assert answer.status == 422, answer.text[:1000]
    assert len(answer.text) < len(body)
    assert answer.json["details"]["causes"]
