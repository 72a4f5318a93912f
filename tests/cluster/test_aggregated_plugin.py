"""kubectl annals at a kube-apiserver with annals behind it: what was recorded of its own kinds and of custom resources comes back as it was."""

import json
import re
import time

import pytest
import yaml

import processes
from recorded import Recorded, redacted, state_of

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "kites.example.org"},
    "spec": {"group": "example.org", "scope": "Namespaced", "names": {"plural": "kites", "singular": "kite", "kind": "Kite", "listKind": "KiteList"},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}


@pytest.fixture
def plugin(cluster):
    def run(command, *arguments, status=0):
        done = processes.run([processes.BIN, "kubectl", command, *arguments, "--kubeconfig", cluster.kubeconfig])
        assert done.returncode == status, done
        return done

    return run


def template(image):
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [
        {"name": "main", "image": image, "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
         "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]}, {"name": "side", "image": "s:1"}]}}


def test_deployments__come_back_as_they_were(cluster, plugin):
    namespace = cluster.make_namespace()
    it = Recorded(cluster.kube, namespace, "Deployment", "web", version="apps/v1", managers=["tests"])
    it.make(spec={"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template("i:1")})
    first = state_of(it.get())
    changed = template("i:2")
    changed["spec"]["containers"][0].pop("env")
    changed["spec"]["containers"].reverse()
    it.patch({"metadata": {"labels": {"more": "yes"}}, "spec": {"replicas": 1, "template": changed}}, paths=["/spec/replicas"])
    assert plugin("undo", "deploy/web", "-n", namespace).stdout == "deployment.apps/web rolled back to revision 1\n"
    assert state_of(it.get()) == first
    it.take()
    it.delete()
    said = [re.split(" {2,}", line.rstrip()) for line in plugin("log", "deployment", "-n", namespace).stdout.splitlines()[1:]]
    assert [columns[-1] for columns in said] == ["Created", "Changed /spec/replicas", "Changed", "Deleted"]
    processes.retry_until(lambda: cluster.kube.get(it.path).status == 404, "the end of it")
    plugin("restore", "deployment/web", "-n", namespace)
    assert state_of(it.get()) == first


def test_services_and_secrets__keep_what_the_server_chose_and_what_is_hidden(cluster, plugin):
    namespace = cluster.make_namespace()
    web = Recorded(cluster.kube, namespace, "Service", "web")
    web.make(spec={"selector": {"a": "b"}, "ports": [{"name": "http", "port": 80}]})
    before = state_of(web.get())
    web.patch({"spec": {"selector": {"a": "c"}, "ports": [{"name": "http", "port": 81}, {"name": "https", "port": 443}]}})
    plugin("undo", "svc/web", "-n", namespace)
    assert state_of(web.get()) == before
    secret = Recorded(cluster.kube, namespace, "Secret", "s")
    body = {"metadata": {"name": "s", "annotations": {"note": "1"}}, "data": {"a": "YQ=="}}
    assert cluster.kube.post(secret.collection, body).status == 201
    hidden = {**state_of(secret.get()), "data": {"a": redacted("YQ==")}}
    secret.take("Created", state=hidden)
    secret.alter({"metadata": {"annotations": {"note": "2"}}})
    secret.take(state={**state_of(secret.get()), "data": hidden["data"]})
    plugin("undo", "secret/s", "-n", namespace)
    assert secret.get()["data"] == {"a": "YQ=="} and secret.get()["metadata"]["annotations"] == {"note": "1"}


def test_many_objects__come_back_in_order_and_with_their_owners(cluster, plugin):
    """Controllers are not needed: who owns what is linked by the command."""
    namespace = cluster.make_namespace()
    account, settings = (Recorded(cluster.kube, namespace, kind, "web") for kind in ("ServiceAccount", "ConfigMap"))
    deployment, owned = Recorded(cluster.kube, namespace, "Deployment", "web", version="apps/v1"), Recorded(cluster.kube, namespace, "ConfigMap", "owned")
    secret, pod = Recorded(cluster.kube, namespace, "Secret", "web"), Recorded(cluster.kube, namespace, "Pod", "alone")
    account.make()
    settings.make(data={"x": "1"})
    deployment.make(spec={"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template("i:1")})
    uid = deployment.get()["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True, "blockOwnerDeletion": True}
    owned.make(metadata={"ownerReferences": [owner]}, data={})
    secret.make(stringData={"password": "secret"})
    pod.make(spec={"serviceAccountName": "web", "containers": [{"name": "c", "image": "i:1"}]})
    all_of = [owned, settings, secret, deployment, pod, account]
    before = {it.path: state_of(it.get()) for it in all_of}
    for it in all_of:
        assert cluster.kube.delete(f"{it.path}?gracePeriodSeconds=0&propagationPolicy=Background").status in (200, 202)
        processes.retry_until(lambda it=it: cluster.kube.get(it.path).status == 404, f"the end of {it.path}")
        it.take("Deleted")
    dry = plugin("restore", "--all", "-n", namespace, "--dry-run=server")
    assert "6 create (server dry run)" in dry.stdout and "its owner Deployment web gets a new uid" in dry.stdout
    assert all(cluster.kube.get(it.path).status == 404 for it in all_of)
    done = plugin("restore", "--all", "-n", namespace, "--yes")
    assert done.stdout.splitlines()[0] == "serviceaccount/web created" and done.stdout.endswith("6 created\n")
    new = deployment.get()["metadata"]["uid"]
    assert new != uid
    before[owned.path]["metadata"]["ownerReferences"] = [{**owner, "uid": new}]
    for it in all_of:
        now, was = state_of(it.get()), before[it.path]
        if it is pod:  # the server adds a volume with another name
            now, was = now["spec"]["serviceAccountName"], was["spec"]["serviceAccountName"]
        assert now == was, it.path


def test_custom_resources__come_back_after_their_definition(cluster, plugin):
    """The server does not have the type when the plan is made."""
    namespace, now = cluster.make_namespace(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    names = {"plural": "comets", "singular": "comet", "kind": "Comet", "listKind": "CometList"}
    definition = Recorded(cluster.kube, namespace, "CustomResourceDefinition", "comets.example.org", version="apiextensions.k8s.io/v1", is_namespaced=False)
    definition.make(spec={**CRD["spec"], "names": names})
    processes.retry_until(lambda: cluster.kube.get(f"/apis/example.org/v1/namespaces/{namespace}/comets").status == 200, "the custom resource")
    comet = Recorded(cluster.kube, namespace, "Comet", "halley", version="example.org/v1")
    comet.make(spec={"years": 76})
    before = state_of(comet.get())
    definition.take()
    assert cluster.kube.delete(definition.path).status == 200
    processes.retry_until(lambda: cluster.kube.get(definition.path).status == 404, "the end of the definition")
    for it in (comet, definition):
        it.take("Deleted", time=now)
    processes.retry_until(lambda: "example.org" not in cluster.kube.get("/apis").body.decode(), "the end of the group")
    try:
        done = plugin("restore", "--deleted-since=10m", "-A", "--yes")
        assert "2 created" in done.stdout and "it was not tested" in done.stderr
        assert state_of(comet.get()) == before
    finally:
        cluster.kube.delete(definition.path)


def test_custom_resources__have_their_nulls_again(cluster, plugin):
    """A merge patch cannot say so; a JSON patch can, for the version that was read."""
    made = cluster.kube.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    assert made.status == 201, made
    namespace = cluster.make_namespace()
    try:
        processes.retry_until(lambda: cluster.kube.get(f"/apis/example.org/v1/namespaces/{namespace}/kites").status == 200, "the custom resource")
        kite = Recorded(cluster.kube, namespace, "Kite", "k", version="example.org/v1")
        kite.make(spec={"tail": None, "lines": [{"length": None}, 2], "colour": "red"})
        before = state_of(kite.get())
        assert before["spec"]["tail"] is None and before["spec"]["lines"] == [{"length": None}, 2]
        kite.alter({"spec": {"tail": 5, "lines": [1], "wind": {"from": "north"}}})
        kite.take()
        processes.retry_until(lambda: processes.run(
            [processes.BIN, "kubectl", "history", "kite/k", "-n", namespace, "--kubeconfig", cluster.kubeconfig]).returncode == 0, "discovery")
        patch = json.loads(plugin("undo", "kite/k", "-n", namespace, "--dry-run=client", "-o", "json").stdout)
        assert isinstance(patch, list) and patch[0]["path"] == "/metadata/resourceVersion"
        assert "rolled back to revision 1" in plugin("undo", "kite/k", "-n", namespace).stdout
        assert state_of(kite.get()) == before
        shown = yaml.safe_load(plugin("show", "kite/k", "--revision=1", "-n", namespace).stdout)
        assert shown == before
    finally:
        cluster.kube.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kites.example.org")
