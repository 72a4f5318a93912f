"""The webhook of Recorders behind a real kube-apiserver: it is called through the aggregator, without a certificate or a secret of its own."""

import base64
import json

import pytest

import processes
from aggregated import NAMESPACES, audited
from metrics import Metrics

RECORDERS = "/apis/annals.dev/v1/recorders"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RECORDER = {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "watched"},
            "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}]}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE", "DELETE"], "scope": "*"}


def hook(namespace):
    """As deploy/ has it, for one namespace."""
    return {"metadata": {"name": "recorder-of-a-test"}, "webhooks": [
        {"name": "users.annals.dev", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "timeoutSeconds": 30,
         "matchPolicy": "Equivalent", "rules": [RULE], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
         "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "port": 443, "path": f"{RECORDERS}/watched/admission"}}}]}


@pytest.fixture(scope="module")
def annals(cluster):
    return cluster.behind["annals"]


@pytest.fixture(scope="module")
def namespace(cluster, annals):
    """In which writes are noted. kube-apiserver hears of the webhook a while after it was made."""
    annals.wait_available()
    name = cluster.make_namespace()
    assert cluster.kube.post(RECORDERS, RECORDER).status == 201
    cluster.make(HOOKS, hook(name))
    for user in ("alice", "bob"):
        cluster.bind(f"{user}-may", ("ClusterRole", "cluster-admin"), {"kind": "User", "name": user}, namespace=name)
        cluster.wait_allowed(user, verb="create", resource="configmaps", namespace=name)
    probes = iter(range(10000))

    def is_called():
        done = cluster.kube.post(f"{NAMESPACES}/{name}/configmaps", {"metadata": {"name": f"probe-{next(probes)}"}})
        return done.status == 201 and "admin" in notes(annals).values()

    processes.retry_until(is_called, "kube-apiserver calls the webhook", interval=0.1)
    yield name
    assert cluster.kube.delete(f"{HOOKS}/recorder-of-a-test").status == 200
    assert cluster.kube.delete(f"{RECORDERS}/watched").status == 200


def notes(annals):
    found = json.loads(annals.etcd.ctl("get", "--prefix", "/annals/user-notes/", "-w", "json")).get("kvs", [])
    return {base64.b64decode(one["key"]).decode(): json.loads(base64.b64decode(one["value"]))["user"] for one in found}


def noted(cluster, annals):
    return Metrics(annals.client(*cluster.certificates.admin)).sum("annals_user_notes_total")


def test_users_of_writes_are_noted(cluster, annals, namespace):
    """Each way to write is one note; a dry run is none, and neither is what changes no state."""
    def kubectl(*arguments):
        before = noted(cluster, annals)
        done = cluster.kubectl(*arguments, "-n", namespace, user=("alice",))
        assert done.returncode == 0, done.stderr
        return noted(cluster, annals) - before

    assert kubectl("create", "configmap", "one", "--from-literal=a=1", "--dry-run=server") == 0
    assert kubectl("create", "configmap", "one", "--from-literal=a=1") == 1
    assert kubectl("patch", "configmap", "one", "--type=merge", "-p", '{"data":{"a":"2"}}') == 1
    assert kubectl("annotate", "configmap", "one", "kubernetes.io/change-cause=why") == 0
    assert kubectl("label", "configmap", "one", "app=web") == 1
    assert kubectl("delete", "configmap", "one") == 1


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_each_user_is_noted_by_name(cluster, annals, namespace, user):
    """In etcd, too, unless that is slow just then."""
    numbers = iter(range(10000))

    def is_named():
        made = cluster.client(user).post(f"{NAMESPACES}/{namespace}/configmaps", {"metadata": {"name": f"of-{user}-{next(numbers)}"}})
        assert made.status == 201, made
        return user in notes(annals).values()

    processes.retry_until(is_named, f"{user} is noted", interval=0.1)


def test_who_calls_is_kube_apiserver_itself(cluster, annals, namespace):
    """By the certificate of its front proxy, as a user who may do everything. So nobody else can note names."""
    event = audited(annals.replicas[0].audit_log, '"recorders"', '"admission"')
    assert event["user"]["username"] == "system:apiserver" and "system:masters" in event["user"]["groups"]
    assert (event["verb"], event["objectRef"]["subresource"], event["responseStatus"]["code"]) == ("create", "admission", 200)
    refused = cluster.client("alice").post(f"{RECORDERS}/watched/admission", {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})
    assert refused.status == 403 and 'cannot create resource "recorders/admission" in API group "annals.dev"' in refused.json["message"]
