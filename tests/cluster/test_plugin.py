"""kubectl annals at a real kube-apiserver: histories as its own StatefulSet and DaemonSet controllers write them, and one of a custom resource. No
controllers run: what they would make is made by hand."""

import json
import os

import pytest
import yaml

import kube
import processes
from ui_page import Page, lines

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


@pytest.fixture
def page(cluster):
    return Page("--write", "--kubeconfig", cluster.kubeconfig, env=dict(os.environ))


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


def test_undo__takes_custom_resources_back(cluster, page):
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
    asked = {"type": "boat", "name": "b", "revision": 2}
    dry = page.post("undo", dryRun=True, **asked).json
    assert ("+    flag: red", "/spec/template/flag") in lines(dry["hunks"])
    assert page.post("undo", dryRun=False, proof=dry["proof"], **asked).status == 200
    assert cluster.get(f"{boats}/b").json["spec"] == boat["spec"]
    assert cluster.kubectl("annals", "undo", "bt/b", "--to-revision=1").returncode == 0
    assert cluster.kubectl("annals", "undo", "bt/b", "--to-revision=2").returncode == 0
    assert cluster.get(f"{boats}/b").json["spec"] == boat["spec"]
    assert "skipped rollback" in cluster.kubectl("annals", "undo", "bt/b", "--to-revision=2").stdout


def test_commands_of_recorders__say_that_there_are_none(cluster):
    for command in (["log"], ["log", "-w"], ["restore", "configmap/x"]):
        done = cluster.kubectl("annals", *command)
        assert done.returncode == 1 and "the server has no annals.dev: annals, which records what is changed, is not installed there" in done.stderr, done


def test_history__needs_revisions(cluster):
    create(cluster, "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}})
    done = cluster.kubectl("annals", "history", "configmap/plain")
    assert done.returncode == 1 and done.stderr == "error: configmap/plain has no revisions\n"
    assert cluster.kubectl("annals", "undo", "configmap/plain").stderr == "error: no revision before the newest of configmap/plain\n"


@pytest.fixture(scope="module")
def deployed(cluster):
    """A Deployment that was changed twice, by kube-controller-manager's own controller."""
    manager = kube.controller_manager(cluster.kubeconfig, "deployment-controller", "replicaset-controller")
    manager.is_shared = True
    create(cluster, f"{APPS}/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "site"}, "spec": {
        "replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template("i:1")}})
    for number, image in ((1, "i:1"), (2, "i:2"), (3, "i:3")):
        changed = cluster.patch(f"{APPS}/deployments/site", {
            "metadata": {"annotations": {"kubernetes.io/change-cause": f"to {image}"}},
            "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
        assert changed.status == 200, changed
        processes.retry_until(lambda: revision_of(cluster) == str(number), f"revision {number}")  # pylint: disable=cell-var-from-loop
    yield manager
    manager.stop()


def revision_of(cluster):
    """As of the state that its controller has seen."""
    now = cluster.get(f"{APPS}/deployments/site").json
    seen = now.get("status", {}).get("observedGeneration") == now["metadata"]["generation"]
    return now["metadata"]["annotations"].get("deployment.kubernetes.io/revision") if seen else None


def test_deployments__have_their_replica_sets(cluster, deployed):
    """The cluster has no annals: what kubectl rollout knows is what there is."""
    theirs = cluster.kubectl("rollout", "history", "deployment/site").stdout.splitlines()[2:]
    table = [line.split(None, 5) for line in cluster.kubectl("annals", "history", "deployment/site").stdout.splitlines()]
    assert table[0] == ["REVISION", "NAME", "AGE", "LIVE", "CURRENT", "CHANGE-CAUSE"]
    assert [(row[0], row[5]) for row in table[1:]] == [tuple(line.split(None, 1)) for line in theirs if line]
    assert [row[4] for row in table[1:]] == ["no", "no", "yes"]
    assert cluster.kubectl("annals", "diff", "deploy/site", "-o", "patch").stdout.count('"i:3"') == 1
    shown = yaml.safe_load(cluster.kubectl("annals", "show", "deploy/site", "--revision=1").stdout)
    assert shown["spec"]["template"]["metadata"]["labels"] == {"app": "x"}, "without pod-template-hash"


def test_page__shows_what_controllers_keep(cluster, deployed, page):
    """Without annals: what their own controllers keep is what there is."""
    assert page.get("about").json["mode"] == "plain"
    told = page.get("revisions", type="deployment.apps", namespace="default", name="site").json
    assert told["source"] == "own"
    assert [(item["number"], item["cause"], item["isCurrent"]) for item in told["items"]] == [(1, "to i:1", False), (2, "to i:2", False), (3, "to i:3", True)]
    difference = page.get("diff", type="deployment", name="site", from_="1", to="3").json
    image = "/spec/template/spec/containers/0/image"
    assert [line for line in lines(difference) if line[1] == image] == [("-      - image: i:1", image), ("+      - image: i:3", image)]
    asked = {"type": "deployment", "name": "site", "revision": 2}
    dry = page.post("undo", dryRun=True, **asked)
    assert dry.status == 200 and ("+      - image: i:2", image) in lines(dry.json["hunks"]), dry
    assert {path for _, path in lines(dry.json["hunks"])} == {image, "/metadata/annotations/kubernetes.io~1change-cause"}, "nothing else changes"
    refused = page.post("restore", dryRun=True, type="deployment", name="site")
    assert refused.status == 422 and "annals" in refused.json["message"]


def test_page__goes_back_as_it_has_shown(cluster, page):
    make_history(cluster, "daemonsets", "DaemonSet", "paged")
    asked = {"type": "daemonset.apps", "namespace": "default", "name": "paged", "revision": 1}
    dry = page.post("undo", dryRun=True, **asked).json
    assert [line for line, _ in lines(dry["hunks"]) if "image: " in line] == ["-      - image: i:2", "+      - image: i:1", "+      - image: s:1"]
    assert images(cluster, f"{APPS}/daemonsets/paged") == ["i:2"]
    done = page.post("undo", dryRun=False, proof=dry["proof"], **asked)
    assert done.json == {"message": "daemonset.apps/paged rolled back to revision 1"}
    assert images(cluster, f"{APPS}/daemonsets/paged") == ["i:1", "s:1"]


def test_deployments__go_back_as_kubectl_rollout_undo_has_it(cluster, deployed):
    def state():
        now = cluster.get(f"{APPS}/deployments/site").json
        del now["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        return now["spec"], now["metadata"]["annotations"]

    dry = cluster.kubectl("annals", "undo", "deployment/site", "--dry-run=server")
    assert dry.stdout == "deployment.apps/site rolled back to revision 2 (server dry run)\n"
    assert "-      - image: i:3" in dry.stderr and "+      - image: i:2" in dry.stderr
    assert revision_of(cluster) == "3"
    assert cluster.kubectl("annals", "undo", "deployment/site").stdout == "deployment.apps/site rolled back to revision 2\n"
    processes.retry_until(lambda: revision_of(cluster) == "4", "its revision again")
    ours = state()
    assert ours[0]["template"]["spec"]["containers"][0]["image"] == "i:2" and ours[1]["kubernetes.io/change-cause"] == "to i:2"
    assert cluster.kubectl("rollout", "undo", "deployment/site").returncode == 0  # to 3
    processes.retry_until(lambda: revision_of(cluster) == "5", "the third state")
    assert cluster.kubectl("rollout", "undo", "deployment/site").returncode == 0  # to 4, which was ours
    processes.retry_until(lambda: revision_of(cluster) == "6", "the second state")
    assert state() == ours
    assert cluster.kubectl("rollout", "pause", "deployment/site").returncode == 0
    refused = cluster.kubectl("annals", "undo", "deployment/site")
    assert refused.returncode == 1 and "is paused" in refused.stderr


def test_an_annals_that_is_away__is_not_taken_for_none(cluster):
    """The numbers of recorded revisions are others than those of the object's own."""
    service = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.annals.dev"}, "spec": {
        "group": "annals.dev", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10, "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "nobody"}}}
    make_history(cluster, "statefulsets", "StatefulSet", "away", serviceName="x")
    create(cluster, "/apis/apiregistration.k8s.io/v1/apiservices", service)
    try:
        processes.retry_until(lambda: cluster.kubectl("annals", "history", "sts/away").returncode == 1, "the API that is away")
        for command in ("history", "undo"):
            assert "annals.dev cannot be asked for Histories; --own shows" in cluster.kubectl("annals", command, "sts/away").stderr
        assert "is annals running?" in cluster.kubectl("annals", "log").stderr
        assert "away-h1" in cluster.kubectl("annals", "history", "sts/away", "--own").stdout
        assert cluster.kubectl("annals", "undo", "sts/away", "--own").stdout == "statefulset.apps/away rolled back to revision 1\n"
    finally:
        cluster.delete("/apis/apiregistration.k8s.io/v1/apiservices/v1.annals.dev")
        processes.retry_until(lambda: cluster.kubectl("annals", "history", "sts/away").returncode == 0, "no API that is away")
