"""Reviews: questions about a user's identity and rights, which are answered and never stored."""

from cases_configmaps import PROTOBUF, proto_body, protobuf
from deviations import NO_AUDIENCE, OTHER_ROLES, TOKEN_ERROR, UNEXPLAINED
from exchange import apply, delete, get, merge, post, put

AUTHORIZATION, AUTHENTICATION = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
SELF, SUBJECT, RULES = (f"{AUTHORIZATION}/{resource}" for resource in ("selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectrulesreviews"))
LOCAL = AUTHORIZATION + "/namespaces/{ns}/localsubjectaccessreviews"
TOKEN, WHOAMI = (f"{AUTHENTICATION}/{resource}" for resource in ("tokenreviews", "selfsubjectreviews"))
ALICE = "Bearer secret-of-alice"
GET_PODS = {"verb": "get", "resource": "pods", "namespace": "{ns}"}
KINDS = {SELF: "SelfSubjectAccessReview", SUBJECT: "SubjectAccessReview", RULES: "SelfSubjectRulesReview", LOCAL: "LocalSubjectAccessReview", TOKEN: "TokenReview", WHOAMI: "SelfSubjectReview"}


def review(path, spec=None, metadata=None, query="", **more):
    body = {"apiVersion": path.split("/")[2] + "/v1", "kind": KINDS[path]}
    if spec is not None:
        body["spec"] = spec
    if metadata is not None:
        body["metadata"] = metadata
    more.setdefault("deviates", NO_AUDIENCE if path == TOKEN else UNEXPLAINED)
    return post(path + query, body, **more)


def of(user=None, groups=None, resource=None, path=None, **more):
    parts = {"user": user, "groups": groups, "resourceAttributes": resource, "nonResourceAttributes": path, **more}
    return {name: value for name, value in parts.items() if value is not None}


SELECTORS = [{}, {"rawSelector": "a=b"}, {"rawSelector": "a="}, {"rawSelector": "a in (b"}, {"rawSelector": "((("}, {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}, {"requirements": []}, {"requirements": [{}]}, {"requirements": [{"key": "a", "operator": "In"}]},
             {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}, {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}, {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, {"requirements": [{"key": "a", "operator": "Exists"}]},
             {"requirements": [{"key": "a", "operator": "Strange"}]}, {"requirements": [{"key": "a", "operator": "Strange"}, {"key": "a", "operator": "NotIn", "values": ["b"]}]}, {"requirements": [{"key": "a b", "operator": "In", "values": ["b c"]}]}, {"rawSelector": 5}]
METADATA = [{}, {"name": "x"}, {"namespace": "x"}, {"labels": {"a": "b"}}, {"labels": {}}, {"generateName": "x"}, {"annotations": {"a": "b"}}, {"uid": "x"}, {"resourceVersion": "5"}, {"creationTimestamp": "2020-01-01T00:00:00Z"}, {"finalizers": ["x"]}, {"name": 5}, {"bogus": 1}, {"managedFields": []}]

CASES = {
    "self": [review(SELF, spec, auth=auth) for auth in ("admin", ALICE) for spec in (of(resource=GET_PODS), of(resource={}), of(resource={"verb": "*", "group": "*", "resource": "*"}), of(path={"path": "/healthz", "verb": "get"}), of(path={"path": "/logs", "verb": "get"}), of(path={}), of(), of(resource=GET_PODS, path={"path": "/x"}),
                                                                                     of(resource={**GET_PODS, "version": "v1", "subresource": "log", "name": "x"}), of(resource={"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"}))]
        + [review(SELF), review(SELF, None, auth="none"), review(SELF, of(resource=GET_PODS), auth="none"), review(SELF, of(user="x", resource=GET_PODS)), review(SELF, of(user="x", resource=GET_PODS), query="?fieldValidation=Strict"), review(SELF, of(resource=GET_PODS), query="?dryRun=All"),
           review(SELF, of(resource=GET_PODS), query="?dryRun=x"), review(SELF, of(resource=[])), review(SELF, of(resource="x")), review(SELF, []), post(SELF, ""), post(SELF, "null"), post(SELF, {"kind": "Pod", "apiVersion": "v1"}), post(SELF, {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}),
           review(SELF, {**of(resource=GET_PODS), "status": {"allowed": False}}), post(SELF, {"spec": of(resource=GET_PODS), "status": {"allowed": False, "denied": True, "reason": "x"}})],
    "metadata": [review(path, of("bob", resource=GET_PODS) if path != SELF else of(resource=GET_PODS), metadata) for path in (SELF, SUBJECT, LOCAL) for metadata in METADATA] + [review(TOKEN, {"token": "secret-of-alice"}, {"name": "x", "labels": {"a": "b"}}), review(WHOAMI, None, {"name": "x", "labels": {"a": "b"}}), review(RULES, {"namespace": "x"}, {"name": "x"}, deviates=OTHER_ROLES)],
    "subject": [review(SUBJECT, spec) for spec in (of("bob", resource=GET_PODS), of("bob", ["system:masters"], GET_PODS), of(None, ["system:masters"], GET_PODS), of(None, ["dev"], GET_PODS), of(resource=GET_PODS), of("", [], GET_PODS), of("bob", path={"path": "/version", "verb": "get"}), of("bob", ["system:authenticated"], path={"path": "/api", "verb": "get"}),
                                                  of("bob", ["system:authenticated"], {"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectrulesreviews"}), of("bob"), of(), of("bob", resource=GET_PODS, path={"path": "/x", "verb": "y"}), of("bob", extra={"a": ["b"]}, uid="u", resource=GET_PODS), of("bob", extra={"a": "b"}, resource=GET_PODS), of("bob", "x", GET_PODS), of(5))]
        + [review(SUBJECT, of("bob", resource=GET_PODS), auth=ALICE), review(SUBJECT, of("bob", resource=GET_PODS), auth="none")],
    "local": [review(LOCAL, spec) for spec in (of("bob", resource=GET_PODS), of("bob", ["system:masters"], GET_PODS), of("bob", resource={"verb": "get", "resource": "pods"}), of("bob", resource={**GET_PODS, "namespace": "other"}), of("bob", path={"path": "/x", "verb": "get"}), of(), of("bob"))]
        + [review(LOCAL, of("bob", resource=GET_PODS), {"namespace": ns}) for ns in ("{ns}", "other", "")] + [post(AUTHORIZATION + "/namespaces/{ns}-none/localsubjectaccessreviews", {"spec": of("bob", resource={**GET_PODS, "namespace": "{ns}-none"})}), post(AUTHORIZATION + "/localsubjectaccessreviews", {"spec": of("bob", resource=GET_PODS)}),
                                                                                                      review(LOCAL, of("bob", resource=GET_PODS), auth=ALICE)],
    "selectors": [review(SELF, of(resource={**GET_PODS, name: selector})) for name in ("fieldSelector", "labelSelector") for selector in SELECTORS] + [review(SUBJECT, of("bob", resource={**GET_PODS, "fieldSelector": {"rawSelector": "a"}, "labelSelector": {"rawSelector": "a b"}}))],
    "rules": [review(RULES, {"namespace": "{ns}"}, deviates=OTHER_ROLES), review(RULES, {"namespace": "{ns}"}, auth=ALICE, deviates=OTHER_ROLES), review(RULES, {}), review(RULES), review(RULES, {"namespace": 5}), review(RULES, {"namespace": "{ns}"}, auth="none")],
    "tokens": [review(TOKEN, {"token": "secret-of-alice"}), review(TOKEN, {"token": "wrong"}, deviates=TOKEN_ERROR), review(TOKEN, {"token": ""}), review(TOKEN, {}), review(TOKEN), review(TOKEN, {"token": 5}), review(TOKEN, {"token": "secret-of-alice", "bogus": 1}), review(TOKEN, {"token": "secret-of-alice"}, query="?dryRun=All"),
               review(TOKEN, {"token": "secret-of-alice"}, auth=ALICE)],
    "whoami": [review(WHOAMI), review(WHOAMI, auth=ALICE), review(WHOAMI, auth="none"), review(WHOAMI, {"x": 1}), review(WHOAMI, query="?dryRun=All"), review(WHOAMI, headers={"Impersonate-User": "carol", "Impersonate-Group": "g", "Impersonate-Uid": "u", "Impersonate-Extra-Some": "thing"})],
    "methods": [step(path) for path in (SELF, LOCAL, TOKEN, WHOAMI) for step in (get, delete)] + [put(SELF + "/x", {}), merge(SELF + "/x", {}), apply(SELF + "/x?fieldManager=m", {}), get(SELF + "/x"), get(SELF + "?watch=1"), get(AUTHORIZATION), get(AUTHENTICATION), get("/apis/authorization.k8s.io"), get("/apis/authentication.k8s.io")],
    "forms": [review(SELF, of(resource=GET_PODS), headers={"Accept": "application/yaml"}), review(WHOAMI, headers={"User-Agent": "curl/8"})],
    "protobuf": [post(SELF, proto_body(b"SelfSubjectAccessReview", (1, b""), (2, protobuf((1, protobuf((1, b"default"), (2, b"get"), (5, b"pods"))))), api_version=b"authorization.k8s.io/v1"), headers=PROTOBUF),
                 post(SUBJECT, proto_body(b"SubjectAccessReview", (2, protobuf((2, protobuf((1, b"/x"), (2, b"get"))), (3, b"bob"), (4, b"system:masters"), (5, protobuf((1, b"k"), (2, protobuf((1, b"v"), (1, b"w"))))))), api_version=b"authorization.k8s.io/v1"), headers=PROTOBUF),
                 post(TOKEN, proto_body(b"TokenReview", (2, protobuf((1, b"secret-of-alice"))), api_version=b"authentication.k8s.io/v1"), headers=PROTOBUF, deviates=NO_AUDIENCE)],
}
