"""kubectl annals at a real kube-apiserver: histories as its own StatefulSet and DaemonSet controllers write them, and one of a custom resource. No
controllers run: what they would make is made by hand."""

import json
import os

import pytest

import kube
import processes

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists() or not kube.KUBECTL.exists(), reason="tests/cluster/build.sh has not been run")

APPS = "/apis/apps/v1/namespaces/default"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.example.org"},
    "spec": {"group": "example.org", "scope": "Namespaced",
             "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList", "shortNames": ["bt"]},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}


@pytest.fixture(scope="module")
def cluster(certificates, tmp_path_factory):
    folder = tmp_path_factory.mktemp("k")
    etcd = processes.Etcd(folder / "e", kube.NEWEST_ETCD)
    etcd.is_shared = True
    apiserver = kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver")
    apiserver.is_shared = True
    apiserver.kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", apiserver, certificates)
    processes.retry_until(lambda: apiserver.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    os.symlink(processes.BIN, folder / "kubectl-annals")
    env = {**os.environ, "KUBECONFIG": str(apiserver.kubeconfig), "HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
    apiserver.kubectl = lambda *arguments: processes.run([kube.KUBECTL, *arguments], env=env)
    yield apiserver
    apiserver.stop()
    etcd.stop()


def create(cluster, path, body):
    made = cluster.post(path, body)
    assert made.status == 201, made
    return made.json


def own(owner):
    return [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "controller": True, "blockOwnerDeletion": True}]


def template(image, *more):
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": image}, *more]}}


def snapshot(whole):
    """What upstream's controllers keep (pkg/controller/statefulset, getPatch): the template, to be put in place of another."""
    return {"spec": {"template": {**whole["spec"]["template"], "$patch": "replace"}}}


def make_history(cluster, resource, kind, name, **spec):
    """An object that was changed once: in its first state it had a container more."""
    path = f"{APPS}/{resource}"
    owner = create(cluster, path, {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": "x"}}, "template": template("i:1", {"name": "side", "image": "s:1"}), **spec}})
    first = snapshot(owner)
    changed = cluster.patch(f"{path}/{name}", {"spec": {"template": template("i:2")}})
    assert changed.status == 200, changed
    for number, data in ((1, first), (2, snapshot(changed.json))):
        create(cluster, f"{APPS}/controllerrevisions", {
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number, "data": data,
            "metadata": {"name": f"{name}-h{number}", "labels": {"app": "x", "controller-revision-hash": f"h{number}"},
                         "ownerReferences": own(owner)}})
    return owner


def images(cluster, path):
    return [container["image"] for container in cluster.get(path).json["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize("resource,kind,label", [("statefulsets", "StatefulSet", "{}-h1"), ("daemonsets", "DaemonSet", "h1")])
def test_workloads__have_a_history_to_go_back_in(cluster, resource, kind, label):
    name = kind.lower()
    owner = make_history(cluster, resource, kind, name, **({"serviceName": "x"} if kind == "StatefulSet" else {}))
    create(cluster, "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "spec": template("i:1")["spec"],
        "metadata": {"name": f"{name}-0", "labels": {"controller-revision-hash": label.format(name)}, "ownerReferences": own(owner)}})

    table = [line.split() for line in cluster.kubectl("annals", "history", f"{name}/{name}").stdout.splitlines()]
    assert [[row[0], row[1], row[3], row[4]] for row in table[1:]] == [["1", f"{name}-h1", "yes", "no"], ["2", f"{name}-h2", "no", "yes"]]
    theirs = cluster.kubectl("rollout", "history", f"{name}/{name}").stdout.splitlines()
    assert [line.split()[0] for line in theirs[2:4]] == ["1", "2"], "kubectl sees the same ones"

    diff = cluster.kubectl("annals", "diff", f"{name}/{name}", "--revision=1", "--to=2").stdout
    assert "-      - image: i:1" in diff and "+      - image: i:2" in diff and "name: side" in diff

    path = f"{APPS}/{resource}/{name}"
    assert cluster.kubectl("annals", "undo", f"{name}/{name}", "--dry-run=server").returncode == 0
    assert images(cluster, path) == ["i:2"]
    done = cluster.kubectl("annals", "undo", f"{name}/{name}")
    assert done.stdout == f"{name}.apps/{name} rolled back to revision 1\n", done
    assert images(cluster, path) == ["i:1", "s:1"]
    assert cluster.kubectl("annals", "undo", f"{name}/{name}", "--to-revision=2").returncode == 0
    assert images(cluster, path) == ["i:2"], "the container that revision 2 does not have is gone"


def test_undo__does_what_kubectl_rollout_undo_does(cluster):
    """Two of one sort: kubectl takes one back, the plugin the other."""
    for name in ("theirs", "ours"):
        make_history(cluster, "statefulsets", "StatefulSet", name, serviceName="x")
    theirs = cluster.kubectl("rollout", "undo", "statefulset/theirs", "--to-revision=1")
    ours = cluster.kubectl("annals", "undo", "statefulset/ours", "--to-revision=1")
    assert theirs.returncode == 0 and ours.returncode == 0, (theirs, ours)
    specs = [cluster.get(f"{APPS}/statefulsets/{name}").json["spec"] for name in ("theirs", "ours")]
    assert json.dumps(specs[0], sort_keys=True) == json.dumps(specs[1], sort_keys=True)


def test_undo__takes_custom_resources_back(cluster):
    """The server takes no strategic merge patch of them; "$patch": "replace" must be kept all the same, and must not be stored."""
    create(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    boats = "/apis/example.org/v1/namespaces/default/boats"
    processes.retry_until(lambda: cluster.get(boats).status == 200, "the custom resource")
    boat = create(cluster, boats, {"apiVersion": "example.org/v1", "kind": "Boat", "metadata": {"name": "b"},
                                   "spec": {"sails": 2, "template": {"mast": {"height": 9}, "flag": "red"}}})
    create(cluster, f"{APPS}/controllerrevisions", {
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "b-1", "ownerReferences": own(boat)}, "revision": 1,
        "data": {"spec": {"template": {"$patch": "replace", "mast": {"wood": "oak"}}}}})
    create(cluster, f"{APPS}/controllerrevisions", {
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "b-2", "ownerReferences": own(boat)}, "revision": 2,
        "data": {"spec": {"template": {"$patch": "replace", **boat["spec"]["template"]}}}})
    processes.retry_until(lambda: cluster.kubectl("annals", "history", "boat/b").returncode == 0, "discovery")
    done = cluster.kubectl("annals", "undo", "bt/b")
    assert done.stdout == "boat.example.org/b rolled back to revision 1\n", done
    assert cluster.get(f"{boats}/b").json["spec"] == {"sails": 2, "template": {"mast": {"wood": "oak"}}}
    assert cluster.kubectl("annals", "undo", "bt/b", "--to-revision=2").returncode == 0
    assert cluster.get(f"{boats}/b").json["spec"] == boat["spec"]
    assert "skipped rollback" in cluster.kubectl("annals", "undo", "bt/b", "--to-revision=2").stdout


def test_history__needs_revisions(cluster):
    create(cluster, "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}})
    done = cluster.kubectl("annals", "history", "configmap/plain")
    assert done.returncode == 1 and done.stderr == "error: configmap/plain has no revisions\n"
    assert cluster.kubectl("annals", "undo", "configmap/plain").stderr == "error: no revision before the newest of configmap/plain\n"
