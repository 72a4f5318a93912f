"""A cluster in which storage versions change: a kube-apiserver with its own StorageVersionMigrations, annals behind it that leaves migration to others,
objects of every kind that has two versions, in every state that a write may find them in, and what the etcds of both hold of them."""

import base64
import collections
import hashlib
import json

import aggregated
import kube
import processes
import truth

GROUP = "annals.dev"
VERSIONS = ("v1beta1", "v1")
GATE = "--feature-gates=StorageVersionMigrator=true"
CONTENT = {
    "controllerrevisions": {"revision": 1, "data": {"a": 1}},
    "providers": {"spec": {"data": {"a": 1}}},
    "dependents": {"spec": {"providers": [{"kind": "Provider", "name": "a"}]}},
}
KINDS = {"controllerrevisions": "ControllerRevision", "providers": "Provider", "dependents": "Dependent"}
RESOURCES = tuple(CONTENT)
APPLY = "application/apply-patch+yaml"
FINALIZER = "example.com/hold"


def storage(version, mode="Off"):
    """Flags of an annals that stores that version of all that has two, and when it migrates."""
    return (f"--storage-version={','.join(f'{resource}={version}' for resource in RESOURCES)}", f"--storage-migration={mode}")


def version_hash(group, version, kind):
    """What discovery says of objects that are stored so."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


class Migrating(aggregated.Cluster):
    def __init__(self, folder, certificates):
        kube_flags = (GATE, "--runtime-config=storagemigration.k8s.io/v1beta1=true")
        super().__init__(folder, certificates, aggregated.ANNALS, controllers=False, kube_flags=kube_flags, flags=storage(VERSIONS[0]))
        self.annals, self.touched = self.behind["annals"], None

    def start_controllers(self):
        self.controllers = aggregated.shared(kube.controller_manager(
            self.kubeconfig, "garbage-collector-controller", "storage-version-migrator-controller", flags=[GATE]))

    def start_another(self, *flags):
        """A replica with these flags, beside those that run."""
        self.annals.flags = flags
        self.annals.replicas.append(None)
        self.annals.start_replica(len(self.annals.replicas) - 1)

    def stop_first(self):
        """The oldest replica."""
        first = self.annals.replicas.pop(0)
        self.annals.lead()
        assert (first.stop(), first.troubles()) == (0, [])

    def restart(self, *flags):
        """Another annals with these flags, in the place of the one that runs."""
        self.stop_first()
        self.start_another(*flags)
        self.annals.announce()
        self.annals.wait_available()

    def store(self, version, mode="Off"):
        """Lets annals store that version from now on."""
        self.restart(*storage(version, mode))
        self.wait_agreed()

    def wait_agreed(self):
        """All replicas say in discovery what is stored."""
        processes.retry_until(lambda: all(all(hashes) for hashes in self.hashes()), "discovery shows what is stored")

    def hashes(self):
        """Of all resources that are stored in either version, by replica."""
        documents = [replica.get(f"/apis/{GROUP}/v1").json["resources"] for replica in self.annals.replicas]
        return [[entry.get("storageVersionHash") for entry in document if entry["name"] in RESOURCES] for document in documents]

    # ---- what is there ----

    def listed(self, namespace, resource, version="v1"):
        """{name: object}, as clients see them."""
        items = self.kube.get(self.path(namespace, resource, version=version)).json["items"]
        return {item["metadata"]["name"]: item for item in items}

    def everything_shown(self, namespace):
        """All objects of a namespace at all versions, but for their resourceVersions."""
        return {(resource, version, name): without_version(item) for resource in RESOURCES for version in VERSIONS
                for name, item in self.listed(namespace, resource, version).items()}

    def stored(self, resource):
        """{namespace/name: object}, as it is in annals' etcd."""
        return stored(self.annals.etcd, f"/annals/objects/{GROUP}/{resource}/")

    def stored_versions(self, resource, namespace=""):
        """{version: number of objects}; of all namespaces, if none is named"""
        return collections.Counter(item["apiVersion"].removeprefix(f"{GROUP}/") for name, item in self.stored(resource).items()
                                   if name.startswith(namespace))

    # ---- what is made ----

    def path(self, namespace, resource, name="", version="v1"):
        return f"/apis/{GROUP}/{version}/namespaces/{namespace}/{resource}/{name}".rstrip("/")

    def create(self, namespace, resource, body, version="v1"):
        text = body if isinstance(body, str) else json.dumps(body)
        return self.make_text(self.path(namespace, resource, version=version), text)

    def make_text(self, path, text):
        made = self.kube.post(path, text)
        assert made.status == 201, made
        return made.json

    def apply(self, path, body, manager):
        done = self.kube.patch(f"{path}?fieldManager={manager}", body, APPLY)
        assert done.status in (200, 201), done
        return done.json

    def fill(self, data):
        """Objects that a migration has to deal with, in a namespace of their own. data: of one of them, as text."""
        namespace = self.make_namespace()
        owner = self.make(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "owner"}})
        self.create(namespace, "controllerrevisions", f'{{"metadata": {{"name": "spelled"}}, "revision": 3, "data": {data}}}')
        self._fill_revisions(namespace, owner)
        self._fill_providers(namespace)
        self._fill_dependents(namespace)
        self._delete(namespace, "controllerrevisions", "leaving")
        self._delete(namespace, "providers", "leaving")
        self._delete(namespace, "dependents", "leaving")
        return namespace

    def touch(self, resource):
        """Makes an object of that kind, for those who wait for something to happen, in a namespace where nobody looks."""
        if not self.touched:
            self.touched = self.make_namespace()
        self.create(self.touched, resource, {**CONTENT[resource], "metadata": {"generateName": "touched-"}})

    def _fill_revisions(self, namespace, owner):
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "controller": True}
        for name, metadata in (("owned", {"ownerReferences": [reference]}), ("protected", {"labels": {"annals.dev/protect": "true"}}),
                               ("leaving", {"finalizers": [FINALIZER], "annotations": {"a": "<b>"}})):
            self.create(namespace, "controllerrevisions", revision(name, **metadata), version="v1beta1" if name == "owned" else "v1")
        for version, manager, labels in (("v1", "one", {"one": "1"}), ("v1beta1", "two", {"two": "2"})):
            body = {**revision("applied", labels=labels), "apiVersion": f"{GROUP}/{version}", "kind": "ControllerRevision"}
            self.apply(self.path(namespace, "controllerrevisions", "applied", version), body, manager)

    def _fill_providers(self, namespace):
        for name in ("plain", "other", "leaving"):
            self.create(namespace, "providers", {"metadata": {"name": name}, "spec": {"data": {"k": name}}})
        self.create(namespace, "providers", {"metadata": {"name": "beta"}, "spec": {"data": {}}}, version="v1beta1")

    def _fill_dependents(self, namespace):
        three = [("Provider", "plain"), ("Provider", "leaving"), ("ControllerRevision", "protected")]
        for name, references, metadata in (("three", three, {}), ("leaving", three[:2], {"finalizers": [FINALIZER]}), ("done", three[2:], {})):
            self.create(namespace, "dependents", {"metadata": {"name": name, **metadata}, "spec": {"providers": [
                {"kind": kind, "name": target} for kind, target in references]}})
        self.create(namespace, "dependents", {"metadata": {"name": "beta"}, "spec": {"providerName": "plain", "whenMissing": "Refuse"}}, version="v1beta1")
        status = self.kube.patch(self.path(namespace, "dependents", "done") + "/status", {"status": {"phase": "Implemented"}})
        assert status.status == 200, status

    def _delete(self, namespace, resource, name):
        path = self.path(namespace, resource, name)
        assert self.kube.delete(path).status == 200
        assert "deletionTimestamp" in self.kube.get(path).json["metadata"]


def revision(name, **metadata):
    return {"metadata": {"name": name, **metadata}, "revision": 1, "data": {"a": {"b": [1, None]}}}


def without_version(item):
    """What a write that changes nothing leaves as it was."""
    return {**item, "metadata": {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}}


def identity(item):
    return item["metadata"]["uid"], item["metadata"]["resourceVersion"]


def stored(etcd, prefix):
    """{what follows the prefix: object}"""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    kvs = truth.Gateway(etcd.endpoint).call("/v3/kv/range", {"key": truth.encode(prefix), "range_end": truth.encode(end)}).get("kvs", [])
    return {truth.decode(kv["key"]).removeprefix(prefix): json.loads(truth.decode(kv["value"])) for kv in kvs}


class Watched:
    """What a watch of a resource in a namespace tells from now on."""

    def __init__(self, cluster, namespace, resource):
        path = cluster.path(namespace, resource)
        since = cluster.kube.get(path).json["metadata"]["resourceVersion"]
        self.stream = cluster.kube.watch(f"{path}?watch=1&resourceVersion={since}")

    def events_until(self, objects):
        """Waits until it has reported each object in its present form."""
        found, missing = [], {identity(item) for item in objects}
        while missing:
            found.append(self.stream.next())
            missing.discard(identity(found[-1]["object"]))
        self.stream.close()
        return found
