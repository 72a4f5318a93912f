"""Writes that change nothing: they bring an object into the version that is stored now, and write nothing where it is in that version already. What
kube-apiserver does with custom resources is what annals behind it has to do: that is how all migrators work."""

import json

import pytest

import kube
import migrating
import processes

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "widgets.example.com"
PROBES = 5
MANAGER = "storage-version-migrator-controller"


class Widgets:
    """Of kube-apiserver: custom resources."""

    group, resource, kind, content = "example.com", "widgets", "Widget", {"spec": {"size": 1}}

    def __init__(self, cluster):
        self.cluster = cluster
        names = {"plural": self.resource, "singular": "widget", "kind": self.kind, "listKind": "WidgetList"}
        self.cluster.make(DEFINITIONS, {"metadata": {"name": WIDGETS}, "spec": {
            "group": self.group, "names": names, "scope": "Namespaced", "versions": self.versions("v1beta1")}})
        processes.retry_until(lambda: self.cluster.kube.get(f"/apis/{self.group}/v1/{self.resource}").status == 200, "widgets are served")

    @staticmethod
    def versions(storage):
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return [{"name": version, "served": True, "storage": version == storage, "subresources": {"status": {}}, "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}} for version in migrating.VERSIONS]

    def store(self, version):
        assert self.cluster.kube.patch(f"{DEFINITIONS}/{WIDGETS}", {"spec": {"versions": self.versions(version)}}).status == 200
        namespace = self.cluster.make_namespace()

        def is_stored():
            made = self.make(namespace, generateName="probe-")
            return self.stored(namespace, made["metadata"]["name"])["apiVersion"] == f"{self.group}/{version}"

        # Each status of the definition that follows its spec makes kube-apiserver begin anew: once is not always for good.
        processes.retry_until(lambda: all(is_stored() for _ in range(PROBES)), f"widgets are stored as {version}")

    def make(self, namespace, **metadata):
        return self.cluster.make(self.path(namespace), {"apiVersion": f"{self.group}/v1", "kind": self.kind, "metadata": metadata, **self.content})

    def path(self, namespace, name="", version="v1"):
        return f"/apis/{self.group}/{version}/namespaces/{namespace}/{self.resource}/{name}".rstrip("/")

    def stored(self, namespace, name):
        return migrating.stored(self.cluster.etcd, f"/registry/{self.group}/{self.resource}/{namespace}/{name}")[""]


class Dependents(Widgets):
    """Of annals."""

    group, resource, kind = migrating.GROUP, "dependents", "Dependent"
    content = {"spec": {"providers": [{"kind": "Provider", "name": "x"}, {"kind": "ControllerRevision", "name": "x"}]}}

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.store("v1beta1")

    def store(self, version):
        self.cluster.store(version)

    def stored(self, namespace, name):
        return self.cluster.stored(self.resource)[f"{namespace}/{name}"]


@pytest.fixture(scope="module", params=[Widgets, Dependents])
def served(migrating_cluster, request):
    return request.param(migrating_cluster)


class Named:
    """An object, and what is done to it."""

    def __init__(self, served, namespace, name):
        self.served, self.cluster, self.namespace, self.name = served, served.cluster, namespace, name
        self.path = served.path(namespace, name)
        served.make(namespace, name=name)

    def get(self, version="v1"):
        return self.cluster.kube.get(self.served.path(self.namespace, self.name, version)).json

    def put(self, version="v1", suffix=""):
        return self.cluster.kube.put(self.served.path(self.namespace, self.name, version) + suffix, self.get(version))

    def patch(self, body, kind):
        return self.cluster.kube.patch(self.path, body, kind)

    def apply(self, version="v1"):
        """As kube-controller-manager does."""
        metadata = self.get()["metadata"]
        body = {"apiVersion": f"{self.served.group}/{version}", "kind": self.served.kind,
                "metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}}
        path = self.served.path(self.namespace, self.name, version)
        return self.cluster.kube.patch(f"{path}?fieldManager={MANAGER}", body, migrating.APPLY)

    def replace(self, version="v1"):
        text = self.cluster.kubectl("get", f"{self.served.resource}.{version}.{self.served.group}", self.name, "-n", self.namespace, "-o", "json").stdout
        return self.cluster.kubectl("replace", "-f", "-", input=text)


WAYS = {
    "put": Named.put,
    "put-of-the-other-version": lambda it: it.put("v1beta1"),
    "put-of-status": lambda it: it.put(suffix="/status"),
    "kubectl-replace": Named.replace,
    "merge-patch": lambda it: it.patch({}, "application/merge-patch+json"),
    "json-patch": lambda it: it.patch([], "application/json-patch+json"),
    "apply": Named.apply,
    "apply-of-the-other-version": lambda it: it.apply("v1beta1"),
}
DRY = {
    "put": lambda it: it.put(suffix="?dryRun=All"),
    "merge-patch": lambda it: it.cluster.kube.patch(f"{it.path}?dryRun=All", {}),
}


def is_done(done):
    return done.returncode == 0 if hasattr(done, "returncode") else done.status == 200


def change_of(named, way):
    """(whether resourceVersion changed, the version that is stored afterwards); nothing else may change."""
    before = named.get()
    done = way(named)
    assert is_done(done), done
    after = named.get()
    assert migrating.without_version(after) == migrating.without_version(before)
    stored = named.served.stored(named.namespace, named.name)["apiVersion"].removeprefix(f"{named.served.group}/")
    return after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"], stored


def test_no_op_writes__bring_objects_into_the_version_that_is_stored(served):
    for old, new in (("v1beta1", "v1"), ("v1", "v1beta1")):
        namespace = served.cluster.make_namespace()
        named = {name: Named(served, namespace, name) for name in WAYS}
        spared = {name: Named(served, namespace, f"dry-{name}") for name in DRY}
        assert {name: change_of(named[name], way) for name, way in WAYS.items()} == dict.fromkeys(WAYS, (False, old))
        served.store(new)
        assert {name: change_of(spared[name], way) for name, way in DRY.items()} == dict.fromkeys(DRY, (False, old))
        assert {name: change_of(named[name], way) for name, way in WAYS.items()} == dict.fromkeys(WAYS, (True, new))
        assert {name: change_of(named[name], way) for name, way in WAYS.items()} == dict.fromkeys(WAYS, (False, new))


def test_no_op_writes__are_told_to_watches(served):
    served.store("v1beta1")
    namespace = served.cluster.make_namespace()
    named = Named(served, namespace, "seen")
    served.store("v1")
    before = named.get()
    since = served.cluster.kube.get(served.path(namespace)).json["metadata"]["resourceVersion"]
    watch = served.cluster.kube.watch(f"{served.path(namespace)}?watch=1&resourceVersion={since}")
    assert is_done(named.apply())
    event = watch.next()
    watch.close()
    assert (event["type"], migrating.without_version(event["object"])) == ("MODIFIED", migrating.without_version(before))


def test_no_op_writes__are_refused_of_an_older_resource_version(served):
    served.store("v1beta1")
    named = Named(served, served.cluster.make_namespace(), "moved")
    served.store("v1")
    before = named.get()
    assert is_done(named.put())
    refused = served.cluster.kube.put(named.path, before)
    assert (refused.status, refused.json["reason"]) == (409, "Conflict"), json.dumps(refused.json)


@pytest.mark.parametrize("metadata", [{}, {"name": "another"}, {"namespace": "another"}], ids=["alone", "name", "namespace"])
def test_no_op_writes__are_conflicts_where_the_object_is_gone(served, metadata):
    """What kube-controller-manager sends, a uid and no name: it takes this conflict for an object that needs no migration any more."""
    named = Named(served, served.cluster.make_namespace(), "gone")
    was = named.get()["metadata"]
    assert served.cluster.kube.delete(named.path).status == 200
    body = {"apiVersion": f"{served.group}/v1", "kind": served.kind,
            "metadata": {"uid": was["uid"], "resourceVersion": was["resourceVersion"], **metadata}}
    refused = served.cluster.kube.patch(f"{named.path}?fieldManager={MANAGER}", body, migrating.APPLY)
    assert (refused.status, refused.json["reason"], refused.json["message"]) == (
        409, "Conflict", f'Operation cannot be fulfilled on {served.resource}.{served.group} "gone": uid mismatch: the provided object specified '
                         f'uid {was["uid"]}, and no existing object was found'), json.dumps(refused.json)
