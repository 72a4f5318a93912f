"""Users and their rights: certificates, tokens, nobody in particular; the policy file; speaking for somebody else."""

import json

import pytest

import processes
from objects import ANNALS, APPS, MERGE, NAMESPACES, revision, revisions
from processes import as_user, policy_rule, run

TOKENS = ('alice-token,alice,1,"dev,ops"', "bob-token,bob,2", "root-token,root,3,system:masters")
RULES = (
    policy_rule(group="dev", namespace="default", apiGroup="apps", resource="controllerrevisions"),
    policy_rule(user="bob", namespace="*", apiGroup="*", resource="controllerrevisions", readonly=True),
    policy_rule(user="bob", nonResourcePath="/metrics"),
    policy_rule(user="bob", apiGroup="", resource="users"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An `annals up` that knows alice (of dev), bob and root, shared by the tests here."""
    with processes.up_with_users(tmp_path_factory.mktemp("shop"), TOKENS, RULES) as up:
        yield up


def curl(shop, path, *arguments):
    """(status, body)"""
    done = run(["curl", "--silent", "--show-error", "--cacert", shop.ca, "--write-out", "\n%{http_code}", *arguments, shop.url + path], check=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


# ---- who ----


def test_curl_with_a_certificate(shop):
    certificate = ["--cert", shop.dir / "admin.crt", "--key", shop.dir / "admin.key"]
    status, body = curl(shop, revisions(), *certificate, "--json", json.dumps(revision("by-curl")))
    assert (status, json.loads(body)["metadata"]["name"]) == (201, "by-curl")
    status, body = curl(shop, revisions() + "/by-curl", *certificate)
    assert (status, json.loads(body)["data"]) == (200, {"image": "nginx:1"})
    assert body.startswith('{\n  "kind": "ControllerRevision"')  # curl gets it indented
    patch = ["--request", "PATCH", "--header", f"Content-Type: {MERGE}", "--data"]
    assert curl(shop, revisions() + "/by-curl", *certificate, *patch, '{"revision":2}')[0] == 200
    status, body = curl(shop, revisions() + "/by-curl", *certificate, *patch, '{"data":{"image":"nginx:2"}}')
    assert (status, json.loads(body)["details"]["causes"][0]["field"]) == (422, "data")
    assert curl(shop, revisions() + "/by-curl", *certificate, "--request", "DELETE")[0] == 200
    assert curl(shop, revisions() + "/by-curl", *certificate)[0] == 404


def test_curl_with_a_token(shop):
    alice = ["--header", "Authorization: Bearer alice-token"]
    status, body = curl(shop, revisions(), *alice, "--json", json.dumps(revision("by-alice")))
    assert status == 201
    assert curl(shop, revisions() + "/by-alice", *alice)[0] == 200
    assert curl(shop, revisions() + "/by-alice", *alice, "--request", "DELETE")[0] == 200


def test_curl_as_nobody(shop):
    assert curl(shop, "/livez") == (200, "ok")
    status, body = curl(shop, revisions())
    assert status == 403
    assert json.loads(body)["message"] == ('controllerrevisions.apps is forbidden: User "system:anonymous" cannot list resource '
                                           '"controllerrevisions" in API group "apps" in the namespace "default"')


@pytest.mark.parametrize("path, status", [("/healthz", 200), ("/livez?verbose", 200), ("/readyz", 200), ("/version", 200), ("/version/", 200), ("/livez/ping", 403),
                                          ("/", 403), ("/api", 403), ("/apis", 403), ("/metrics", 403), ("/openapi/v2", 403), ("/nowhere", 403),
                                          (NAMESPACES, 403), (NAMESPACES + "/default", 403)])
def test_nobody_sees_health_and_version_only(shop, path, status):
    answer = shop.anonymous.get(path)
    assert answer.status == status, answer
    if status == 403:
        assert answer.json["reason"] == "Forbidden"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("value", ["Bearer wrong", "bearer wrong", "Bearer alice-toke", "Bearer alice-token2"])
def test_wrong_token_is_401_wherever(shop, value):
    for path in ("/livez", revisions(), "/nowhere"):
        refused = shop.anonymous.get(path, headers={"Authorization": value})
        assert (refused.status, refused.json["reason"], refused.json["message"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("value", ["Basic YWxpY2U6eA==", "Bearer ", "Bearer", "alice-token"])
def test_what_is_no_token_is_nobody(shop, value):
    assert shop.anonymous.get("/livez", headers={"Authorization": value}).status == 200
    assert shop.anonymous.get(revisions(), headers={"Authorization": value}).status == 403


def test_certificate_counts_before_the_token(shop):
    assert shop.get(NAMESPACES, headers={"Authorization": "Bearer bob-token"}).status == 200


@pytest.mark.parametrize("header", ["X-Remote-User", "X-Remote-Group"])
def test_front_proxys_headers_mean_nothing(shop, header):
    assert shop.anonymous.get(revisions(), headers={"X-Remote-User": "root", header: "system:masters"}).status == 403


# ---- what ----


def test_group_may_do_everything_in_its_namespace(shop):
    alice = as_user(shop, "alice")
    path = revisions() + "/a"
    assert alice.post(revisions(), revision()).status == 201
    assert alice.get(path).status == 200
    assert alice.put(path, revision(number=2)).status == 200
    assert alice.patch(path, {"revision": 3}).status == 200
    assert alice.get(revisions()).status == 200
    assert alice.get(revisions() + "?watch=1&timeoutSeconds=1").status == 200
    assert alice.delete(path).status == 200
    assert alice.delete(revisions()).status == 200


@pytest.mark.parametrize("path, resource, group, where", [
    (revisions(api_version=ANNALS), "controllerrevisions", "annals.dev", 'in the namespace "default"'),
    (revisions("kube-system"), "controllerrevisions", "apps", 'in the namespace "kube-system"'),
    ("/apis/apps/v1/controllerrevisions", "controllerrevisions", "apps", "at the cluster scope"),
    (NAMESPACES, "namespaces", "", "at the cluster scope"),
])
def test_group_may_do_nothing_elsewhere(shop, path, resource, group, where):
    refused = as_user(shop, "alice").get(path)
    assert refused.status == 403
    assert refused.json["message"].endswith(f'User "alice" cannot list resource "{resource}" in API group "{group}" {where}')


@pytest.mark.parametrize("method, name, verb", [("POST", "", "create"), ("PUT", "/a", "update"), ("PATCH", "/a", "patch"), ("DELETE", "/a", "delete"),
                                                ("DELETE", "", "deletecollection")])
def test_reader_may_not_write(shop, method, name, verb):
    bob = as_user(shop, "bob")
    for api_version in (APPS, ANNALS):
        assert bob.get(revisions(api_version=api_version)).status == 200
        assert bob.get(revisions(api_version=api_version) + "?watch=1&timeoutSeconds=1").status == 200
        refused = bob.request(method, revisions(api_version=api_version) + name, revision(), headers={"Content-Type": MERGE} if method == "PATCH" else None)
        assert refused.status == 403
        assert f'User "bob" cannot {verb} resource "controllerrevisions"' in refused.json["message"]


def test_refusal_says_nothing_about_what_is_there(shop):
    """Neither that an object is missing, nor that a body is wrong."""
    alice = as_user(shop, "alice")
    assert alice.get(revisions("kube-system") + "/nothing").status == 403
    assert alice.get(revisions("nowhere")).status == 403
    assert alice.post(revisions("kube-system"), "{").status == 403


def test_paths_that_are_no_resources_have_rules_too(shop):
    assert as_user(shop, "bob").get("/metrics").status == 200
    refused = as_user(shop, "alice").get("/metrics")
    assert (refused.status, refused.json["message"]) == (403, 'forbidden: User "alice" cannot get path "/metrics"')


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/version"])
def test_whoever_is_known_may_discover(shop, path):
    assert as_user(shop, "bob").get(path).status == 200


def test_masters_may_do_everything(shop):
    root = as_user(shop, "root")
    assert root.get(NAMESPACES).status == 200
    assert root.get("/metrics").status == 200


# ---- for whom ----


def test_masters_speak_for_anybody(shop):
    refused = shop.get(NAMESPACES, headers={"Impersonate-User": "alice"})
    assert refused.status == 403 and 'User "alice" cannot list' in refused.json["message"]
    assert shop.get(revisions(), headers={"Impersonate-User": "carol", "Impersonate-Group": "dev"}).status == 200
    assert shop.get(NAMESPACES, headers={"Impersonate-User": "carol", "Impersonate-Group": "system:masters"}).status == 200
    assert shop.get("/livez", headers={"Impersonate-User": "system:anonymous"}).status == 200
    assert shop.get("/apis", headers={"Impersonate-User": "system:anonymous"}).status == 403


def test_impersonating_needs_a_permission(shop):
    bob = as_user(shop, "bob")
    assert bob.get(revisions(), headers={"Impersonate-User": "bob"}).status == 200
    refused = bob.get(revisions(), headers={"Impersonate-User": "bob", "Impersonate-Group": "system:masters"})
    assert refused.status == 403
    assert 'User "bob" cannot impersonate' in refused.json["message"]
    refused = as_user(shop, "alice").get(revisions(), headers={"Impersonate-User": "root"})
    assert refused.status == 403
    assert 'User "alice" cannot impersonate' in refused.json["message"]
    refused = as_user(shop, "bob").get(revisions(), headers={"Impersonate-User": "system:serviceaccount:default:web"})
    assert refused.status == 403 and 'User "bob" cannot impersonate' in refused.json["message"]


def test_group_alone_is_nobody_to_speak_for(shop):
    refused = shop.get(NAMESPACES, headers={"Impersonate-Group": "dev"})
    assert refused.status == 400 and "without impersonating a user" in refused.json["message"]


# ---- the other settings ----


def test_without_anonymous_nobody_sees_anything(up):
    a = up("--anonymous-auth=false")
    for path in ("/livez", "/readyz", "/version", revisions()):
        assert a.anonymous.get(path).status == 401
    assert a.get("/livez").status == 200


def test_always_allow_asks_for_no_rule(up):
    a = up("--authorization-mode=AlwaysAllow")
    assert a.anonymous.post(revisions(), revision()).status == 201


def test_certificate_must_be_in_date_and_a_clients(etcd, serve, certificates):
    server = serve(etcd().endpoint)
    usage = {"old": ("extendedKeyUsage=clientAuth", -1), "server-only": ("extendedKeyUsage=serverAuth", 30)}
    for name, (extensions, days) in usage.items():
        cert, key = certificates.issue(name, "/O=system:masters/CN=" + name, extensions, days=days)
        refused = processes.Client(server.url, server.ca, cert, key).get(NAMESPACES)
        assert refused.status == 401, name
