"""The kinds around revisions, as kubectl makes and shows them, and what one may ask about oneself."""

import functools
import json
import re

import pytest

import processes
from objects import APPS, NAMESPACES
from processes import policy_rule, retry_until

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
KEYS = """openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {0}/tls.key -out {0}/tls.crt -subj /CN=x -days 2"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An `annals up` with alice, who may read leases and do all with config maps, and bob, who may nothing."""
    rules = [policy_rule(user="alice", namespace="default", apiGroup="coordination.k8s.io", resource="leases", readonly=True),
             policy_rule(group="dev", namespace="default", apiGroup="", resource="configmaps")]
    tokens = ['alice-token,alice,1,"dev,ops"', "bob-token,bob,2"]
    with processes.up_with_users(tmp_path_factory.mktemp("shop"), tokens, rules) as up:
        yield up


@pytest.fixture
def kubectl(shop):
    """What kubectl prints."""

    def call(*arguments, fails=False, since=()):
        done = shop.kubectl(*arguments, since=since)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return call


def as_user(shop, name):
    return processes.Client(shop.url, shop.ca, token=f"{name}-token")


def columns(table):
    return [line.split() for line in table.splitlines()]


def test_configmap_by_kubectl(kubectl):
    kubectl("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=2")
    assert columns(kubectl("get", "cm", "settings"))[1][:2] == ["settings", "2"]
    kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"immutable":true}')
    assert "field is immutable when `immutable` is set" in kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"a":"3"}}', fails=True)
    kubectl("delete", "configmap", "settings")


def test_secrets_by_kubectl(kubectl, tmp_path):
    processes.run(KEYS.format(tmp_path).split(), check=True)
    kubectl("create", "secret", "generic", "s-any", "--from-literal=user=me")
    kubectl("create", "secret", "tls", "s-tls", f"--cert={tmp_path}/tls.crt", f"--key={tmp_path}/tls.key")
    kubectl("create", "secret", "docker-registry", "s-docker", "--docker-server=x", "--docker-username=u", "--docker-password=p")
    rows = {row[0]: row[1:3] for row in columns(kubectl("get", "secrets"))}
    assert rows["s-any"] == ["Opaque", "1"] and rows["s-tls"] == ["kubernetes.io/tls", "2"] and rows["s-docker"] == ["kubernetes.io/dockerconfigjson", "1"]
    assert kubectl("get", "secrets", "--field-selector=type=kubernetes.io/tls", "-o", "name").split() == ["secret/s-tls"]
    assert kubectl("get", "secret", "s-any", "-o", "jsonpath={.data.user}") == "bWU="
    kubectl("delete", "secrets", "--all")


def test_serviceaccount_by_kubectl(kubectl):
    kubectl("create", "serviceaccount", "robot")
    assert columns(kubectl("get", "sa", "robot"))[1][0] == "robot"
    assert kubectl("delete", "sa", "robot").startswith("serviceaccount \"robot\" deleted")


def test_events_by_kubectl(shop, kubectl):
    about = {"kind": "ConfigMap", "namespace": "default", "name": "settings"}
    for name, reason in (("one", "Made"), ("two", "Lost")):
        made = shop.post("/api/v1/namespaces/default/events", {"metadata": {"name": name}, "involvedObject": about, "reason": reason, "message": "so it is", "type": "Normal"})
        assert made.status == 201
    assert columns(kubectl("get", "events", "--field-selector=reason=Lost"))[1:] == [["<unknown>", "Normal", "Lost", "configmap/settings", "so", "it", "is"]]
    kubectl("delete", "events", "--all")


def test_leases_by_kubectl(shop, kubectl):
    made = shop.put(f"{LEASES}/lock", {"metadata": {"name": "lock"}, "spec": {"holderIdentity": "me", "renewTime": "2020-01-02T03:04:05.000000Z"}})
    assert made.status == 201
    assert columns(kubectl("get", "leases"))[1][:2] == ["lock", "me"]
    kubectl("delete", "lease", "lock")


def test_who_may_only_read_makes_nothing_by_put(shop):
    alice = as_user(shop, "alice")
    assert alice.get(LEASES).status == 200
    refused = alice.put(f"{LEASES}/new", {"metadata": {"name": "new"}})
    assert (refused.status, refused.json["reason"]) == (403, "Forbidden")
    assert shop.get(f"{LEASES}/new").status == 404


def test_kubectl_auth_can_i(shop, kubectl):
    assert kubectl("auth", "can-i", "*", "*") == "yes\n"
    assert kubectl("auth", "can-i", "create", "configmaps", "--as=alice", "--as-group=dev") == "yes\n"
    done = shop.kubectl("auth", "can-i", "delete", "secrets", "--as=bob")
    assert (done.returncode, done.stdout) == (1, "no\n")
    assert shop.kubectl("auth", "can-i", "get", "/metrics", "--as=bob").stdout == "no\n"
    assert kubectl("auth", "can-i", "get", "/version", "--as=bob") == "yes\n"


def test_kubectl_auth_can_i_list(kubectl):
    rows = columns(kubectl("auth", "can-i", "--list", "--as=alice", "--as-group=dev"))
    assert ["configmaps", "[]", "[]", "[*]"] in rows and ["leases.coordination.k8s.io", "[]", "[]", "[get", "list", "watch]"] in rows
    assert not any(row[0] == "*.*" for row in rows)
    assert any(row[0] == "*.*" for row in columns(kubectl("auth", "can-i", "--list")))


def test_version_is_read_by_scripts(kubectl, shop):
    """Also by those that cut YAML into words: plain scalars, whatever kubectl does about quotes."""
    version = shop.get("/version").json
    assert all(re.fullmatch(r"(?!.*: )[A-Za-z0-9][ -~]*", value) for value in version.values()), version
    assert f"\n  goVersion: {version['goVersion']}\n" in kubectl("version", "-o", "yaml").partition("serverVersion:")[2]


def test_kubectl_auth_whoami(kubectl):
    kubectl = functools.partial(kubectl, since=(1, 27))
    said = json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert "system:masters" in said["groups"] and "system:authenticated" in said["groups"]
    said = json.loads(kubectl("auth", "whoami", "-o", "json", "--as=alice", "--as-group=dev"))["status"]["userInfo"]
    assert said["username"] == "alice" and "dev" in said["groups"]


def test_tokens_are_reviewed(shop):
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    known = shop.post(path, {"spec": {"token": "alice-token"}}).json["status"]
    assert known == {"authenticated": True, "user": {"username": "alice", "uid": "1", "groups": ["dev", "ops", "system:authenticated"]}}
    assert shop.post(path, {"spec": {"token": "none"}}).json["status"] == {"user": {}, "error": "invalid bearer token"}
    assert as_user(shop, "alice").post(path, {"spec": {"token": "bob-token"}}).status == 403


def test_reviews_are_not_stored(shop):
    """What was stored would show in etcd's revision, every time; the server's own records show there now and then."""

    def version():
        return shop.get(NAMESPACES).json["metadata"]["resourceVersion"]

    def are_without_a_trace():
        before = version()
        for _ in range(3):
            body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
            assert shop.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body).status == 201
        return version() == before

    retry_until(are_without_a_trace, "the revision stays as it is")


def test_kinds_own_each_other(shop):
    """A reference to any of the kinds is a reference like any other."""
    owner = shop.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "owner"}}).json["metadata"]
    reference = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "owner", "uid": owner["uid"], "controller": True}
    owned = shop.post("/apis/apps/v1/namespaces/default/controllerrevisions",
                      {"apiVersion": APPS, "kind": "ControllerRevision", "metadata": {"name": "owned", "ownerReferences": [reference]}, "data": {}, "revision": 1})
    assert owned.status == 201 and owned.json["metadata"]["ownerReferences"] == [reference]
