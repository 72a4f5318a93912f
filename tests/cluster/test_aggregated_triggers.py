"""What Kubernetes has to move objects into another storage version works with annals behind kube-apiserver, as it is: the controller of
kube-controller-manager, and kube-storage-version-migrator, whose trigger reads the hashes in discovery. annals itself migrates nothing here unless asked."""

import concurrent.futures
import json
import os

import pytest

import aggregated
import kube
import migrating
import processes

MIGRATOR = processes.PEERS / "storage-version-migrator"
DEFINITIONS = processes.PEERS / "migrator"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
OWN = f"/apis/{migrating.GROUP}/v1/storagemigrations"
STATES = "/apis/migration.k8s.io/v1alpha1/storagestates"
OBJECTS = int(os.environ.get("MIGRATED_OBJECTS", "150"))  # of a migration during which they are deleted
ROUNDS = 5
TRIGGERED = "/apis/migration.k8s.io/v1alpha1/storageversionmigrations"

pytestmark = pytest.mark.skipif(not kube.KUBE_CONTROLLER_MANAGER.exists() or not MIGRATOR.exists(), reason="tests/cluster/build.sh has not been run")


class Filled:
    """A namespace with objects in all states, stored as v1beta1."""

    def __init__(self, cluster, data):
        cluster.store("v1beta1")
        self.cluster, self.namespace = cluster, cluster.fill(data)

    def look(self):
        self.before = self.cluster.everything_shown(self.namespace)

    def watch(self):
        """Ends with the replica that it leads to."""
        self.watches = {resource: migrating.Watched(self.cluster, self.namespace, resource) for resource in migrating.RESOURCES}

    def check_rewritten(self, version):
        """Everything is stored in that version, nothing else has changed, and watches have reported one change of each object."""
        assert self.cluster.everything_shown(self.namespace) == self.before
        for resource, watch in self.watches.items():
            assert list(self.cluster.stored_versions(resource)) == [version]
            now = self.cluster.listed(self.namespace, resource)
            events = watch.events_until(now.values())
            assert sorted((event["type"], event["object"]["metadata"]["name"]) for event in events) == sorted(("MODIFIED", name) for name in now)


# What spells it otherwise means the same.
SPELLED = r'{"z" : 1.0, "a": "<&>\u2028", "e": 1e3, "annals.dev/hub": {"data": 1}, "items": [ ]}'
# Who puts back what it has read, and knows only integers and floats of 64 bits, would change this, which is refused. It is tried again for ever by
# kube-storage-version-migrator; kube-controller-manager puts nothing back.
EXACT = '{"n": 12345678901234567890123, "f": 0.1000000000000000055}'


@pytest.fixture
def filled(migrating_cluster):
    return Filled(migrating_cluster, SPELLED)


@pytest.fixture
def exactly_filled(migrating_cluster):
    filled = Filled(migrating_cluster, EXACT)
    yield filled
    assert migrating_cluster.kube.delete(migrating_cluster.path(filled.namespace, "controllerrevisions", "spelled")).status == 200


def is_true(migration, condition):
    return any(one["type"] == condition and one["status"] == "True" for one in migration.get("status", {}).get("conditions", []))


# ---- kube-controller-manager ----


@pytest.fixture
def controllers(migrating_cluster):
    migrating_cluster.start_controllers()
    yield migrating_cluster.controllers
    migrating_cluster.controllers.stop()
    migrating_cluster.controllers = None


def migrate(cluster, resource, name):
    """By a StorageVersionMigration, as an administrator asks for it."""
    body = {"apiVersion": "storagemigration.k8s.io/v1beta1", "kind": "StorageVersionMigration", "metadata": {"name": name},
            "spec": {"resource": {"group": migrating.GROUP, "resource": resource}}}
    made = cluster.kubectl("create", "-f", "-", input=json.dumps(body))
    assert made.returncode == 0, made
    path = f"{MIGRATIONS}/{name}"
    # The controller first asks which version etcd has reached, and then waits until its own watch of the resource has reached that, too. If nobody
    # writes anything, that is until the next bookmark, up to a minute later; so somebody writes.
    processes.retry_until(lambda: cluster.kube.get(path).json.get("status", {}).get("resourceVersion"), f"{name} has begun")
    cluster.touch(resource)
    wait_succeeded(cluster, path)


def wait_succeeded(cluster, path):
    ended = processes.retry_until(lambda: ended_of(cluster.kube.get(path).json), f"the end of {path}")
    assert is_true(ended, "Succeeded"), json.dumps(ended["status"])


def ended_of(migration):
    return migration if is_true(migration, "Succeeded") or is_true(migration, "Failed") else None


def test_kube_controller_manager__migrates(exactly_filled, controllers):
    filled, cluster = exactly_filled, exactly_filled.cluster
    for version in ("v1", "v1beta1"):
        filled.look()
        cluster.store(version)
        filled.watch()
        for resource in migrating.RESOURCES:
            assert version not in cluster.stored_versions(resource, filled.namespace)
            migrate(cluster, resource, f"{resource}-to-{version}")
        filled.check_rewritten(version)


def test_kube_controller_manager__migrates_what_annals_does_too(filled, controllers):
    """Whoever comes first: each object is rewritten once."""
    cluster = filled.cluster
    filled.look()
    cluster.store("v1", "Manual")
    filled.watch()
    for resource in migrating.RESOURCES:
        cluster.make(OWN, {"metadata": {"name": f"{resource}-of-both"}, "spec": {"resource": {"group": migrating.GROUP, "resource": resource}}})
        migrate(cluster, resource, f"{resource}-of-both")
    for resource in migrating.RESOURCES:
        wait_succeeded(cluster, f"{OWN}/{resource}-of-both")
    filled.check_rewritten("v1")


class Rewrites:
    """Of what a migration asks for, the codes of the answers, from now on."""

    def __init__(self, cluster):
        self.log = cluster.annals.replicas[0].audit_log
        self.n_before = len(self._all())

    def _all(self):
        events = aggregated.whole_lines(self.log, '"verb":"patch"', "storage-version-migrator-controller")
        return [event["responseStatus"]["code"] for event in events if event["stage"] == "ResponseComplete"]

    def codes(self):
        return self._all()[self.n_before:]


def test_kube_controller_manager__migrates_while_objects_are_deleted(migrating_cluster, controllers):
    """It has a list of them, and asks for each: what is gone by then needs no rewriting, which is no failure."""
    cluster, resource = migrating_cluster, "controllerrevisions"
    namespace = cluster.make_namespace()
    cluster.store("v1beta1")
    for n in range(ROUNDS):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: cluster.create(namespace, resource, migrating.revision(f"mortal-{i}")), range(OBJECTS)))
        version = migrating.VERSIONS[(n + 1) % 2]
        cluster.store(version)
        rewrites = Rewrites(cluster)

        def delete():
            processes.retry_until(rewrites.codes, "the first object is rewritten")
            return cluster.kube.delete(cluster.path(namespace, resource))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            deleted = pool.submit(delete)
            migrate(cluster, resource, f"mortals-to-{version}-{n}")
            assert deleted.result().status == 200
        assert list(cluster.stored_versions(resource)) == [version]
        if 409 in rewrites.codes():
            return
    raise AssertionError(f"in {ROUNDS} rounds no object was deleted before it was to be rewritten")


# ---- kube-storage-version-migrator ----


def known(version, kind):
    """As it is in a StorageState."""
    return version if version == "Unknown" else migrating.version_hash(migrating.GROUP, version, kind)


class Installed:
    """Its definitions in the cluster, and its controllers."""

    def __init__(self, cluster):
        self.cluster, self.controllers = cluster, {}
        done = cluster.kubectl("apply", "--server-side", "-f", DEFINITIONS)
        assert done.returncode == 0, done
        for path in (STATES, TRIGGERED):
            processes.retry_until(lambda path=path: cluster.kube.get(path).status == 200, f"{path} is served")

    def start(self, name):
        """Another one, if it runs: the trigger looks at discovery when it starts, and then every ten minutes."""
        self.stop(name)
        self.controllers[name] = processes.Process([MIGRATOR, "-vmodule=discovery_handler=2,kubemigrator=2", name, self.cluster.kubeconfig])
        return self.controllers[name]

    def stop(self, *names):
        for name in names or list(self.controllers):
            if name in self.controllers:
                self.controllers.pop(name).kill()

    def status(self, resource):
        """What is known of the storage of a resource: (current hash, hashes that there may be)."""
        answer = self.cluster.kube.get(f"{STATES}/{resource}.{migrating.GROUP}")
        status = answer.json.get("status", {}) if answer.status == 200 else {}
        return status.get("currentStorageVersionHash"), status.get("persistedStorageVersionHashes")

    def wait_status(self, current, *persisted):
        """Of all that are stored in either version."""
        for resource, kind in migrating.KINDS.items():
            expected = known(current, kind), [known(version, kind) for version in persisted]
            processes.retry_until(lambda: self.status(resource) == expected, f"{resource} has {expected}")

    def migrations(self):
        """(resource, name) of all of ours."""
        return {(item["spec"]["resource"]["resource"], item["metadata"]["name"]) for item in self.items(True)}

    def items(self, are_ours):
        items = self.cluster.kube.get(TRIGGERED).json["items"]
        return [item for item in items if (item["spec"]["resource"].get("group") == migrating.GROUP) == are_ours]

    def forget_others(self):
        """Those of Kubernetes' own kinds: the migrator does no more than one in a second."""
        for item in self.items(False):
            assert self.cluster.kube.delete(f"{TRIGGERED}/{item['metadata']['name']}").status in (200, 404)


@pytest.fixture
def installed(filled):
    installed = Installed(filled.cluster)
    yield installed
    installed.stop()


def test_trigger__has_all_rewritten_when_hashes_change(filled, installed):
    """From replicas that store one version to such as store the other, one by one, and back."""
    cluster = filled.cluster
    installed.start("trigger")
    installed.wait_status("v1beta1", "Unknown")
    installed.forget_others()
    installed.start("migrator")
    installed.wait_status("v1beta1", "v1beta1")
    for old, new in (("v1beta1", "v1"), ("v1", "v1beta1")):
        installed.stop("migrator")
        filled.look()
        made = installed.migrations()

        cluster.start_another(*migrating.storage(new))
        processes.retry_until(lambda: not any(any(hashes) for hashes in cluster.hashes()), "replicas do not agree")
        trigger = installed.start("trigger")
        for resource in migrating.RESOURCES:
            assert trigger.stderr.wait(f"ignored resource {migrating.GROUP}/{resource} because its storageVersionHash is empty")
        installed.wait_status(old, old)
        assert installed.migrations() == made

        cluster.stop_first()
        cluster.wait_agreed()
        filled.watch()
        installed.start("trigger")
        installed.wait_status(new, old, new)
        assert not installed.migrations() & {one for one in made if one[0] in migrating.RESOURCES}
        assert all(old in cluster.stored_versions(resource) for resource in migrating.RESOURCES)

        installed.forget_others()
        installed.start("migrator")
        installed.wait_status(new, new)
        filled.check_rewritten(new)
    assert not [item for item in installed.items(True) if is_true(item, "Failed")]
