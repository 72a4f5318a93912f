"""kubectl annals and StatefulSets, in both versions of the API, with revisions in both carriers. But for the last test no controllers run: what they
would write is written here, so that an update stands where a test needs it."""

import itertools
import json
import pathlib
import shutil
import tempfile

import pytest

import processes
from gate import Gate
from sets import room, world

__all__ = ["room", "world"]  # fixtures

NAMESPACE = "default"
APPS, BETA = "apps/v1", "annals.dev/v1beta1"
TYPES = {APPS: "statefulset.apps", BETA: "statefulset.annals.dev"}
CARRIERS = ("controllerrevisions", "podtemplates")
FAMILIES = [(api_version, carrier) for api_version in TYPES for carrier in CARRIERS]
names = (f"web{n}" for n in itertools.count(1))


@pytest.fixture(scope="module")
def server(certificates):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    etcd = processes.Etcd(folder / "e")
    etcd.is_shared = True
    serve = processes.Serve(etcd.endpoint, certificates)
    serve.is_shared = True
    serve.config = processes.write_kubeconfig(folder / "kubeconfig", serve.url, certificates)
    processes.retry_until(lambda: serve.get(f"/api/v1/namespaces/{NAMESPACE}").status == 200, "the first namespaces")
    yield serve
    serve.stop()
    etcd.stop()
    shutil.rmtree(folder, ignore_errors=True)


def path(version, plural, name="", sub=""):
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return "/".join(filter(None, (f"{group}/namespaces/{NAMESPACE}/{plural}", name, sub)))


def answered(answer, status=200):
    assert answer.status == status, answer.body
    return answer.json


def template(image, **more):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}], **more}}


class Set:
    """One StatefulSet, and what its controller would keep of it."""

    def __init__(self, server, api_version=APPS, carrier="controllerrevisions"):
        self.server, self.api_version, self.carrier, self.name = server, api_version, carrier, next(names)
        self.number = 0

    def create(self, image, api_version=APPS, **more):
        body = {"apiVersion": api_version, "kind": "StatefulSet", "metadata": {"name": self.name}, "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "serviceName": "web", "template": template(image, **more.pop("template", {})), **more}}
        self.uid = answered(self.server.post(path(api_version, "statefulsets"), body), 201)["metadata"]["uid"]
        return self.keep()

    def get(self, api_version=APPS):
        return answered(self.server.get(path(api_version, "statefulsets", self.name)))

    def image(self):
        return self.get()["spec"]["template"]["spec"]["containers"][0]["image"]

    def change(self, image, **more):
        """Another template, of which the controller has not heard."""
        patch = {"spec": {"template": {"$patch": "replace", **template(image, **more)}}}
        answered(self.server.patch(path(APPS, "statefulsets", self.name), patch, kind="application/strategic-merge-patch+json"))

    def update(self, image, **more):
        self.change(image, **more)
        return self.keep()

    def keep(self):
        """A revision of what it is now. Its name."""
        self.number += 1
        name, shown = f"{self.name}-{self.number}", self.get()["spec"]["template"]
        owner = [{"apiVersion": self.api_version, "kind": "StatefulSet", "name": self.name, "uid": self.uid, "controller": True, "blockOwnerDeletion": True}]
        if self.carrier == "podtemplates":
            body = {"apiVersion": "v1", "kind": "PodTemplate", "template": shown, "metadata": {"name": name, "ownerReferences": owner, "labels": {
                "created-by-statefulset": self.name, "statefulset-template-revision": str(self.number)}}}
            answered(self.server.post(path("v1", "podtemplates"), body), 201)
        else:
            body = {"apiVersion": APPS, "kind": "ControllerRevision", "revision": self.number, "data": {"spec": {"template": {**shown, "$patch": "replace"}}},
                    "metadata": {"name": name, "labels": {"app": "web"}, "ownerReferences": owner}}
            answered(self.server.post(path(APPS, "controllerrevisions"), body), 201)
        return name

    def report(self, current, update):
        """As the controller does when it has seen the latest."""
        now = self.get()
        now["status"].update(observedGeneration=now["metadata"]["generation"], currentRevision=current, updateRevision=update)
        answered(self.server.put(path(APPS, "statefulsets", self.name, "status"), now))

    def plugin(self, command, *arguments, config=None):
        return processes.run([processes.BIN, "kubectl", command, f"{TYPES[self.api_version]}/{self.name}", *arguments, "-n", NAMESPACE,
                              "--kubeconfig", config or self.server.config])

    def said(self, command, *arguments):
        done = self.plugin(command, *arguments)
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture(params=FAMILIES, ids="-".join)
def web(request, server):
    """Three states, the last of which has come to all its pods."""
    web = Set(server, *request.param)
    web.create("i:1", minReadySeconds=5)
    web.update("i:2")
    last = web.update("i:3")
    web.report(last, last)
    return web


# seeds: U81
def test_history__shows_revisions_of_either_carrier(web):
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": template("i")["spec"], "metadata": {
        "name": f"{web.name}-0", "labels": {"controller-revision-hash": f"{web.name}-1"},
        "ownerReferences": [{"apiVersion": APPS, "kind": "StatefulSet", "name": web.name, "uid": web.uid, "controller": True}]}}
    answered(web.server.post(path("v1", "pods"), pod), 201)
    rows = [line.split() for line in web.said("history").splitlines()]
    assert [[row[0], row[1], row[3], row[4]] for row in rows] == [["REVISION", "NAME", "LIVE", "CURRENT"]] + [
        [str(n), f"{web.name}-{n}", live, now] for n, live, now in ((1, "yes", "no"), (2, "no", "no"), (3, "no", "yes"))]
    kinds = {item["kind"] for item in json.loads(web.said("history", "-o", "json"))["items"]}
    assert kinds == {"PodTemplate" if web.carrier == "podtemplates" else "ControllerRevision"}


def test_history__tells_what_the_set_says_now(web):
    """After a rollback that may be an old PodTemplate: it keeps its number."""
    web.change("i:1")
    web.report(f"{web.name}-3", f"{web.name}-1")
    assert [line.split()[4] for line in web.said("history").splitlines()[1:]] == ["yes", "no", "no"]


def test_diff__shows_templates(web):
    lines = web.said("diff", "--revision=1", "--to=2").splitlines()
    assert "-      - image: i:1" in lines and "+      - image: i:2" in lines
    changed = json.loads(web.said("diff", "--revision=1", "-o", "json"))
    assert changed == [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "i:3"}]


# seeds: U87
def test_undo__goes_to_the_one_before(web):
    before = web.get()
    assert web.said("undo") == f"{TYPES[web.api_version]}/{web.name} rolled back to revision 2\n"
    after = web.get()
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
    del before["spec"]["template"], after["spec"]["template"]
    assert after["spec"] == before["spec"], "nothing else has changed"
    assert web.get(BETA)["spec"]["templateGeneration"] == 4


# seeds: H50 U80
def test_undo__goes_to_any_and_says_when_it_is_there(web):
    first = web.server.get(path(APPS, "controllerrevisions", f"{web.name}-1"))
    assert "rolled back to revision 1" in web.said("undo", "--to-revision=1") and web.image() == "i:1"
    assert "skipped rollback (it already is as revision 1 says)" in web.said("undo", "--to-revision=1")
    if first.status == 200:
        kept = first.json["data"]["spec"]["template"]
        del kept["$patch"]
        assert web.get()["spec"]["template"] == kept, "to the letter"
    missing = web.plugin("undo", "--to-revision=9")
    assert missing.returncode == 1 and "unable to find revision 9" in missing.stderr


@pytest.mark.parametrize("where", ["server", "client"])
def test_undo__in_a_dry_run_changes_nothing(web, where):
    before = web.get()
    assert web.said("undo", f"--dry-run={where}") == f"{TYPES[web.api_version]}/{web.name} rolled back to revision 2 ({where} dry run)\n"
    shown = json.loads(web.said("undo", f"--dry-run={where}", "-o", "json"))
    assert shown["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
    assert ("$patch" in shown["spec"]["template"]) == (where == "client")
    assert web.get() == before


# seeds: U88
def test_undo__of_an_update_in_progress_goes_back_to_where_it_came_from(web):
    """Revision 2 had failed, too: kubectl rollout undo would go there."""
    web.report(f"{web.name}-1", f"{web.name}-3")
    assert "rolled back to revision 1" in web.said("undo") and web.image() == "i:1"


def test_undo__after_a_rollback_goes_to_what_was_rolled_back(web):
    web.change("i:1")
    if web.carrier == "controllerrevisions":  # which is numbered anew
        answered(web.server.patch(path(APPS, "controllerrevisions", f"{web.name}-1"), {"revision": 4}))
    web.report(f"{web.name}-1", f"{web.name}-1")
    assert "rolled back to revision 3" in web.said("undo") and web.image() == "i:3"


def test_undo__of_what_the_controller_has_not_seen(web):
    """The newest revision is what the set was until a moment ago."""
    web.change("i:4")
    assert "rolled back to revision 3" in web.said("undo") and web.image() == "i:3"


def test_undo__goes_on_while_the_set_is_scaled(web):
    """That the controller has not seen, either, but it is no update."""
    answered(web.server.patch(path(APPS, "statefulsets", web.name), {"spec": {"replicas": 3}}))
    assert "rolled back to revision 2" in web.said("undo") and web.image() == "i:2"


def test_undo__does_not_guess_where_an_update_came_from(web):
    web.report(f"{web.name}-gone", f"{web.name}-3")
    done = web.plugin("undo")
    assert done.returncode == 1 and f"revision {web.name}-gone, from which" in done.stderr and "--to-revision" in done.stderr
    assert web.image() == "i:3"
    assert web.plugin("undo", "--to-revision=1").returncode == 0 and web.image() == "i:1"


def test_undo__of_a_set_that_is_updated_by_hand(server):
    """Its current revision stays what it was at first."""
    web = Set(server)
    web.create("i:1", updateStrategy={"type": "OnDelete"})
    web.update("i:2")
    web.update("i:3")
    web.report(f"{web.name}-1", f"{web.name}-3")
    assert "rolled back to revision 2" in web.said("undo") and web.image() == "i:2"


@pytest.mark.parametrize("api_version", TYPES)
def test_undo__looks_again_when_the_set_has_changed(server, certificates, folder, api_version):
    """Between the look and the write the update is completed: what was the way back is none any more."""
    web = Set(server, api_version)
    web.create("i:1")
    web.update("i:2")
    web.update("i:3")
    web.report(f"{web.name}-1", f"{web.name}-3")
    gate = Gate(server.client, certificates)
    try:
        held = gate.hold("PATCH", f"/statefulsets/{web.name}")
        config = processes.write_kubeconfig(folder / "gate.kubeconfig", gate.url, certificates)
        undo = processes.Process([processes.BIN, "kubectl", "undo", f"{TYPES[api_version]}/{web.name}", "-n", NAMESPACE, "--kubeconfig", config])
        held.await_arrival()
        web.report(f"{web.name}-3", f"{web.name}-3")
        held.release()
        assert undo.wait() == 0, undo.stderr.text
        assert "rolled back to revision 2" in undo.stdout.text and web.image() == "i:2"
    finally:
        gate.close()


@pytest.mark.parametrize("carrier", CARRIERS)
def test_undo__says_which_version_allows_it(server, carrier):
    """annals.dev/v1beta1 lets nothing but containers change."""
    web = Set(server, BETA, carrier)
    web.create("i:1", template={"terminationGracePeriodSeconds": 5})
    last = web.update("i:2", terminationGracePeriodSeconds=6)
    web.report(last, last)
    done = web.plugin("undo")
    assert done.returncode == 1 and "Invalid" in done.stderr and "terminationGracePeriodSeconds" in done.stderr, done
    assert f"{BETA} lets only the containers of a template change" in done.stderr
    assert f"kubectl annals undo statefulset.apps/{web.name}" in done.stderr and web.image() == "i:2"
    web.api_version = APPS
    assert "rolled back to revision 1" in web.said("undo") and web.get()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 5


# seeds: U87 U88
@pytest.mark.parametrize("api_version", TYPES)
def test_undo__with_a_controller(room, api_version):
    """A canary of B and one of C, on a set of A. Undo ends the update at A, not at B; and done again it takes that back."""
    def undo():
        done = processes.run([processes.BIN, "kubectl", "undo", f"{TYPES[api_version]}/web", "-n", room.namespace, "--kubeconfig", room.server.kubeconfig])
        assert done.returncode == 0, done
        return done.stdout.strip()

    def has_images(*images):
        it = room.get()
        return room.is_observed() and list(room.images().values()) == list(images) and it["status"]["readyReplicas"] == len(images)

    room.running(api_version=BETA, replicas=2, generationPartition=1)
    for image in ("i:2", "i:3"):
        room.image(image, api_version=api_version)
        room.until(lambda: has_images("i:1", image), f"the canary of {image}")  # pylint: disable=cell-var-from-loop
    assert undo().endswith("rolled back to revision 1")
    room.settle()
    assert list(room.images().values()) == ["i:1", "i:1"]
    assert undo().endswith("rolled back to revision 3")
    room.until(lambda: has_images("i:1", "i:3"), "the canary again")
