"""Objects that are stored in another version than all servers write now: who rewrites them, when, and what nobody may notice of it."""

import base64
import concurrent.futures
import json
import os
import pty
import re
import signal
import subprocess
import threading

import pytest

import processes
from objects import APPLY, owner, revision, revisions
from processes import NO_CONTROLLERS, retry_until
from registrations import STEADY_S, end_lease

V1 = "/apis/annals.dev/v1"
DEPENDENTS, MIGRATIONS, VERSIONS = f"{V1}/namespaces/default/dependents", f"{V1}/storagemigrations", f"{V1}/storageversions"
EVENTS = "/api/v1/namespaces/default/events"
SLOWLY = "--storage-migration-rate=1"  # it lasts far longer than what is done to it meanwhile
OLD = "--storage-version=dependents=v1beta1,controllerrevisions=v1beta1,events=events.k8s.io/v1"
N = 60


def dependent(name, **more):
    return {"metadata": {"name": name, **more}, "spec": {"providers": [{"name": "p"}, {"name": name}]}}


def event(name):
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Tested", "message": "hello"}


def migration(resource="dependents", group="annals.dev", name="mine"):
    return {"metadata": {"name": name}, "spec": {"resource": {"group": group, "resource": resource}}}


class World:
    """An etcd, and servers on it, of which none is there at first."""

    def __init__(self, etcd, serve):
        self.store, self.serve = etcd(), serve

    def server(self, *flags, **more):
        return self.serve(self.store.endpoint, f"--replica-lease-duration={STEADY_S}s", "--etcd-compaction-interval=0", *flags, **more)

    def kill(self, server):
        """And others need not wait until its lease ends."""
        server.kill()
        end_lease(self.store, server)

    def fill(self, n=N, path=DEPENDENTS, make=dependent):
        """Objects made by a server that stores the old versions, and is gone then."""
        server = self.server(OLD, "--storage-migration=Off")
        for i in range(n):
            made = server.post(path, make(f"o{i:03}"))
            assert made.status == 201, made
        assert server.stop() == 0

    def stored(self, path="annals.dev/dependents"):
        """What etcd has below that path: {name: kv}, with the value read."""
        found = json.loads(self.store.ctl("get", "--prefix", f"/annals/objects/{path}/", "-w", "json")).get("kvs", [])
        return {kv["name"]: kv for kv in map(read_kv, found)}

    def versions(self, path="annals.dev/dependents"):
        return {kv["value"]["apiVersion"] for kv in self.stored(path).values()}


def read_kv(kv):
    key, value = (base64.b64decode(kv[name]).decode() for name in ("key", "value"))
    return {"name": key.rpartition("/")[2], "value": json.loads(value), "revision": kv["mod_revision"], "lease": kv.get("lease", 0)}


@pytest.fixture
def world(etcd, serve):
    return World(etcd, serve)


def state(migration):
    found = {each["type"]: each["status"] for each in migration["status"].get("conditions", [])}
    return next((name for name in ("Succeeded", "Failed", "Running") if found.get(name) == "True"), "Waiting" if found else "Pending")


def condition(migration, kind):
    return next(each for each in migration["status"]["conditions"] if each["type"] == kind)


def migrations(server, resource="dependents"):
    """None, while the server cannot ask etcd."""
    answer = server.get(f"{MIGRATIONS}?fieldSelector=spec.resource.resource%3D{resource}")
    items = answer.json["items"] if answer.status == 200 else []
    return sorted(items, key=lambda item: item["metadata"]["creationTimestamp"])


def wait_state(server, wanted, resource="dependents"):
    """The only migration of the resource, once it is there and in that state."""

    def look():
        found = migrations(server, resource)
        return [each for each in found if state(each) == wanted]

    return retry_until(look, f"{resource} {wanted}: {migrations(server, resource)}")[-1]


def wait_running(server, least, resource="dependents"):
    """While a migration runs: once it says that it has rewritten so many, and not yet all."""

    def look():
        found = migrations(server, resource)
        return found and state(found[0]) == "Running" and found[0]["status"]["objects"]["migrated"] >= least and found[0]

    return retry_until(look, "a migration under way")


def without_version(item):
    return {**item, "metadata": {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}}


def shown(server, path):
    return [without_version(item) for item in server.get(path).json["items"]]


def test_upgrade_migrates_by_itself(world):
    world.fill()
    world.fill(10, revisions(), lambda name: revision(name, ownerReferences=[owner(name)]))
    world.fill(10, EVENTS, event)
    resources = {"dependents": "annals.dev/dependents", "controllerrevisions": "annals.dev/controllerrevisions", "events": "core/events"}
    before = {name: world.stored(path) for name, path in resources.items()}
    assert {name: world.versions(path) for name, path in resources.items()} == {
        "dependents": {"annals.dev/v1beta1"}, "controllerrevisions": {"annals.dev/v1beta1"}, "events": {"events.k8s.io/v1"}}
    still = world.server("--storage-migration=Off")
    paths = (DEPENDENTS, revisions(), EVENTS)
    seen = {path: shown(still, path) for path in paths}
    assert still.stop() == 0
    server = world.server()
    for name, path in resources.items():
        ended = wait_state(server, "Succeeded", name)
        assert ended["metadata"]["labels"] == {"annals.dev/storage-migration": "Auto"}
        assert ended["status"]["objects"] == {"total": len(before[name]), "migrated": len(before[name]), "remaining": 0, "conflicts": 0}
        assert ended["status"]["startTime"] <= ended["status"]["completionTime"]
        assert not world.versions(path) & {"annals.dev/v1beta1", "events.k8s.io/v1"}
    assert {path: shown(server, path) for path in paths} == seen
    leases = {name: kv["lease"] for name, kv in world.stored("core/events").items()}
    assert all(leases.values()) and leases == {name: kv["lease"] for name, kv in before["events"].items()}
    assert not any(kv["lease"] for kv in world.stored().values())


def test_manual_migration_is_seen_as_modifications_of_nothing(world, tmp_path):
    world.fill()
    server = world.server("--storage-migration=Manual")
    listed = server.get(DEPENDENTS).json
    with server.watch(f"{DEPENDENTS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}") as events:
        assert migrations(server) == [] and world.versions() == {"annals.dev/v1beta1"}
        assert server.post(MIGRATIONS, migration()).status == 201
        ended = wait_state(server, "Succeeded")
        assert ended["metadata"]["name"] == "mine" and ended["status"]["objects"]["migrated"] == N
        told = [events.next() for _ in range(N)]
    assert {each["type"] for each in told} == {"MODIFIED"}
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in told]
    assert len(set(versions)) == N and versions == sorted(versions), "a watch that ends among them could not be taken up"
    told.sort(key=lambda each: each["object"]["metadata"]["name"])  # many are under way at a time
    assert [without_version(each["object"]) for each in told] == [without_version({"apiVersion": "annals.dev/v1", "kind": "Dependent", **item}) for item in
                                                                  listed["items"]]
    assert world.versions() == {"annals.dev/v1"}
    again = server.post(MIGRATIONS, migration(name="again"))
    assert again.status == 201
    retry_until(lambda: state(server.get(f"{MIGRATIONS}/again").json) == "Succeeded", "a migration with nothing to do")
    assert server.get(f"{MIGRATIONS}/again").json["status"]["objects"]["migrated"] == 0


def test_off_says_that_it_is_off(world):
    world.fill(3)
    server = world.server("--storage-migration=Off")
    assert server.post(MIGRATIONS, migration()).status == 201
    waiting = wait_state(server, "Waiting")
    assert condition(waiting, "Running")["reason"] == "MigrationOff"
    assert world.versions() == {"annals.dev/v1beta1"}
    retry_until(lambda: server.get(f"{VERSIONS}/dependents.annals.dev").status == 200, "StorageVersions all the same")
    assert server.stop() == 0
    server = world.server("--storage-migration=Manual")
    assert wait_state(server, "Succeeded")["status"]["objects"]["migrated"] == 3


def test_killed_server_is_taken_up_where_it_was(world):
    world.fill()
    server = world.server(SLOWLY)
    wait_running(server, 1)
    world.kill(server)
    before, [recorded] = world.stored(), world.stored("annals.dev/storagemigrations").values()
    progress = recorded["value"]["status"]["progressKey"].partition("/")[2]
    done = {name for name in before if name <= progress}
    assert done and all(before[name]["value"]["apiVersion"] == "annals.dev/v1" for name in done)
    assert "annals.dev/v1beta1" in world.versions()
    ended = wait_state(world.server("--storage-migration-rate=0"), "Succeeded")
    assert ended["metadata"]["name"] == recorded["name"]
    after = world.stored()
    assert world.versions() == {"annals.dev/v1"}
    assert {name: after[name]["revision"] for name in done} == {name: before[name]["revision"] for name in done}
    assert len(done) <= ended["status"]["objects"]["migrated"] <= N


def test_another_server_goes_on(world):
    """Both could. The one that does so is killed; the other waits for the end of its lease."""
    world.fill()
    first = world.server(SLOWLY)
    assert first.stderr.wait("turn to migrate")
    second = world.server("--storage-migration-rate=0")
    wait_running(second, 1)
    assert "turn to migrate" not in second.stderr.text
    world.kill(first)
    assert second.stderr.wait("turn to migrate")
    wait_state(second, "Succeeded")
    assert world.versions() == {"annals.dev/v1"} and len(migrations(second)) == 1


def test_changes_meanwhile_are_kept(world):
    world.fill()
    server = world.server(SLOWLY)
    wait_running(server, 1)
    for name in ("o000", "o030", f"o{N - 1:03}"):
        assert server.delete(f"{DEPENDENTS}/{name}").status == 200
    for name in ("o001", "o031", f"o{N - 2:03}"):
        assert server.patch(f"{DEPENDENTS}/{name}", {"metadata": {"labels": {"changed": "true"}}}).status == 200
    assert server.post(DEPENDENTS, dependent("o0001")).status == 201
    assert state(migrations(server)[0]) == "Running"
    assert server.stop() == 0
    wait_state(world.server(), "Succeeded")
    stored = world.stored()
    assert len(stored) == N - 3 + 1 and {kv["value"]["apiVersion"] for kv in stored.values()} == {"annals.dev/v1"}
    changed = {name for name, kv in stored.items() if kv["value"]["metadata"].get("labels")}
    assert changed == {"o001", "o031", f"o{N - 2:03}"}


def test_restart_and_compaction_of_etcd_are_survived(world):
    world.fill()
    server = world.server(SLOWLY)
    running = wait_running(server, 1)
    world.store.ctl("compact", running["metadata"]["resourceVersion"])
    world.store.kill()
    world.store = type(world.store)(world.store.dir)
    wait_running(server, running["status"]["objects"]["migrated"] + 1)
    retry_until(server.is_ready, "the server is ready again")
    assert server.stop() == 0
    server = world.server()
    wait_state(server, "Succeeded")
    assert world.versions() == {"annals.dev/v1"} and len(migrations(server)) == 1


def test_servers_that_differ_are_waited_for(world):
    world.fill(5)
    old = world.server("--storage-version=dependents=v1beta1")
    new = world.server()
    assert new.post(MIGRATIONS, migration()).status == 201
    waiting = wait_state(new, "Waiting")
    reason = condition(waiting, "Running")
    assert reason["reason"] == "StorageVersionsDiffer"
    assert "stores annals.dev/v1beta1" in reason["message"] and "stores annals.dev/v1" in reason["message"]

    def differing():
        answer = new.get(f"{VERSIONS}/dependents.annals.dev")
        status = answer.json["status"] if answer.status == 200 else {}
        return status and "commonEncodingVersion" not in status and len(status["storageVersions"]) == 2 and status

    status = retry_until(differing, "a StorageVersion without a common version")
    assert status["conditions"][0]["status"] == "False" and status["conditions"][0]["reason"] == "CommonEncodingVersionUnset"
    assert world.versions() == {"annals.dev/v1beta1"}
    world.kill(old)
    wait_state(new, "Succeeded")
    assert world.versions() == {"annals.dev/v1"}


def test_another_version_ends_a_migration(world):
    """It has begun to store v1, and now the servers store v1beta1 again: it fails, and what is stored is brought back."""
    world.fill()
    server = world.server(SLOWLY)
    wait_running(server, 1)
    world.kill(server)
    server = world.server(OLD)
    failed = wait_state(server, "Failed")
    assert condition(failed, "Failed")["message"] == "it began to store objects in annals.dev/v1, and now all replicas store annals.dev/v1beta1"
    wait_state(server, "Succeeded")
    assert world.versions() == {"annals.dev/v1beta1"}


DEFINITIONS, WIDGETS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/{}/namespaces/default/widgets"
WIDGET_KEYS = "example.com/widgets/default"
SPEC = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "size": {"type": "integer"}, "color": {"type": "string"}, "mark": {"type": "string"}}}}}


def definition(stored, lacks=(), **more):
    """Two versions. The second one has a default, and may lack fields."""
    spec = {name: kind for name, kind in (("size", {"type": "integer"}), ("color", {"type": "string"}), ("mark", {"type": "string", "default": "x"})) if name not in lacks}
    versions = [{"name": name, "served": True, "storage": name == stored, "schema": {"openAPIV3Schema": schema}} for name, schema in (
        ("v1", SPEC), ("v2", {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}))]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com", **more},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": versions}}


def widget(name, version="v1", **spec):
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name, "labels": {"of": "test"}}, "spec": {"size": 1, **spec}}


def restore_version(server, stored, lacks=()):
    done = server.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": definition(stored, lacks)["spec"]}, "application/merge-patch+json")
    assert done.status == 200, done
    return done.json


def stored_versions(server):
    return server.get(f"{DEFINITIONS}/widgets.example.com").json["status"]["storedVersions"]


def test_objects_of_a_definition_follow_its_storage_version(world):
    server = world.server()
    assert server.post(DEFINITIONS, definition("v1")).status == 201
    for i in range(N):
        assert server.post(WIDGETS.format("v1"), widget(f"w{i:02}", color="red")).status == 201
    before = {item["metadata"]["name"]: item["metadata"] for item in server.get(WIDGETS.format("v1")).json["items"]}
    assert restore_version(server, "v2")["status"]["storedVersions"] == ["v1", "v2"]
    seen = server.get(WIDGETS.format("v2")).json["items"]
    done = wait_state(server, "Succeeded", "widgets")
    assert done["status"]["objects"] == {"total": N, "migrated": N, "remaining": 0, "conflicts": 0} and done["status"]["storageVersion"] == "example.com/v2"
    assert world.versions(WIDGET_KEYS) == {"example.com/v2"}
    assert world.stored(WIDGET_KEYS)["w07"]["value"]["spec"] == {"color": "red", "mark": "x", "size": 1}
    # It is no change: what clients see is as before, and nobody is named for it.
    assert [without_version(item) for item in seen] == shown(server, WIDGETS.format("v2"))
    for item in server.get(WIDGETS.format("v2")).json["items"]:
        assert {**item["metadata"], "resourceVersion": ""} == {**before[item["metadata"]["name"]], "resourceVersion": ""}
    assert len(migrations(server, "widgets")) == 1, "that was all"
    # Nobody has asked for it, so users take the old version out, as with kube-apiserver.
    assert stored_versions(server) == ["v1", "v2"]
    assert server.patch(f"{DEFINITIONS}/widgets.example.com/status", {"status": {"storedVersions": ["v2"]}}, "application/merge-patch+json").status == 200
    gone = server.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": {"versions": definition("v2")["spec"]["versions"][1:]}}, "application/merge-patch+json")
    assert gone.status == 200 and server.get(f"{WIDGETS.format('v2')}/w07").json["spec"] == {"color": "red", "mark": "x", "size": 1}
    assert 'objects_total{resource="custom",result="rewritten"} 60' in server.get("/metrics").text


def test_objects_of_a_definition_follow_under_writers(world):
    """Two servers, writers at both, and the storage version to and fro. No write is lost, and in the end all are stored alike."""
    servers = [world.server(), world.server()]
    assert servers[0].post(DEFINITIONS, definition("v1")).status == 201
    names = [f"w{i:02}" for i in range(N)]
    for name in names:
        assert servers[0].post(WIDGETS.format("v1"), widget(name)).status == 201
    written = dict.fromkeys(names, 1)
    is_over = threading.Event()

    def write(part):
        size = 1
        while not is_over.is_set():
            size += 1
            for i, name in enumerate(names[part::4]):  # the others are the migrator's alone
                answer = servers[i % 2].patch(f"{WIDGETS.format('v1v2'[size % 2 * 2:][:2])}/{name}", {"spec": {"size": size}}, "application/merge-patch+json")
                assert answer.status in (200, 409, 429, 504), answer
                written[name] = size if answer.status == 200 else written[name]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, part) for part in range(2)]
        try:
            for i, stored in enumerate(("v2", "v1", "v2")):
                restore_version(servers[0], stored)
                retry_until(lambda i=i, stored=stored: len([each for each in migrations(servers[0], "widgets") or [] if state(each) == "Succeeded"
                                                            and each["status"]["storageVersion"] == f"example.com/{stored}"]) > i // 2, f"all in {stored}")
        finally:
            is_over.set()
        for writer in writers:
            writer.result()
    retry_until(lambda: world.versions(WIDGET_KEYS) == {"example.com/v2"}, "all objects in one version")
    assert {name: kv["value"]["spec"]["size"] for name, kv in world.stored(WIDGET_KEYS).items()} == written
    assert {state(each) for each in migrations(servers[0], "widgets")} <= {"Succeeded", "Failed"}
    assert not [each for each in migrations(servers[0], "widgets") if state(each) == "Failed" and condition(each, "Failed")["reason"] != "StorageVersionChanged"]


def test_a_migration_that_was_asked_for_settles_the_stored_versions(world):
    server = world.server("--storage-migration=Manual", SLOWLY)
    assert server.post(DEFINITIONS, definition("v1")).status == 201
    for name in "abc":
        assert server.post(WIDGETS.format("v1"), widget(name)).status == 201
    restore_version(server, "v2")
    assert server.post(MIGRATIONS, migration("widgets", "example.com")).status == 201
    assert wait_running(server, 1, "widgets")
    # Labels make no other kind: the migration goes on. Another storage version ends it.
    assert server.patch(f"{DEFINITIONS}/widgets.example.com", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json").status == 200
    wait_state(server, "Succeeded", "widgets")
    assert world.versions(WIDGET_KEYS) == {"example.com/v2"} and stored_versions(server) == ["v2"]
    assert server.get(f"{DEFINITIONS}/widgets.example.com").json["metadata"]["generation"] == 2
    restore_version(server, "v1")
    assert server.post(MIGRATIONS, migration("widgets", "example.com", "back")).status == 201
    retry_until(lambda: world.versions(WIDGET_KEYS) == {"example.com/v1", "example.com/v2"}, "some in v1")
    restore_version(server, "v2")
    failed = wait_state(server, "Failed", "widgets")
    assert condition(failed, "Failed")["reason"] == "StorageVersionChanged" and stored_versions(server) == ["v2", "v1"]
    # Its definition goes, and with it what there was to do.
    assert server.post(MIGRATIONS, migration("widgets", "example.com", "last")).status == 201
    assert server.delete(f"{DEFINITIONS}/widgets.example.com").status == 200
    retry_until(lambda: server.get(f"{DEFINITIONS}/widgets.example.com").status == 404, "the end of the definition")
    retry_until(lambda: {state(each) for each in migrations(server, "widgets")} <= {"Succeeded", "Failed"}, "the end of the migration")
    assert server.post(MIGRATIONS, migration("widgets", "example.com", "none")).status == 201
    retry_until(lambda: state(server.get(f"{MIGRATIONS}/none").json) == "Failed", "a failure")


def test_objects_of_a_definition_lose_no_field_by_themselves(world):
    """A storage version that lacks a field may be a mistake: nothing is lost until somebody writes an object, or asks for a migration."""
    server = world.server()
    assert server.post(DEFINITIONS, definition("v1")).status == 201
    for name, fields in (("plain", {}), ("red", {"color": "red"})):
        assert server.post(WIDGETS.format("v1"), widget(name, **fields)).status == 201
    restore_version(server, "v2", lacks=("color",))
    failed = wait_state(server, "Failed", "widgets")
    assert "1 objects have fields that the storage version lacks: a StorageMigration of your own drops them, such as default/red" in condition(failed, "Failed")["message"]
    assert {name: kv["value"]["apiVersion"] for name, kv in world.stored(WIDGET_KEYS).items()} == {"plain": "example.com/v2", "red": "example.com/v1"}
    assert "color" not in server.get(f"{WIDGETS.format('v2')}/red").json["spec"]
    restore_version(server, "v1", lacks=("color",))
    assert server.get(f"{WIDGETS.format('v1')}/red").json["spec"]["color"] == "red", "it was a mistake"
    restore_version(server, "v2", lacks=("color",))
    assert server.post(MIGRATIONS, migration("widgets", "example.com", "yes")).status == 201
    retry_until(lambda: state(server.get(f"{MIGRATIONS}/yes").json) == "Succeeded", "the migration")
    assert world.stored(WIDGET_KEYS)["red"]["value"]["spec"] == {"mark": "x", "size": 1} and stored_versions(server) == ["v2"]


def test_killed_server_is_taken_up_with_objects_of_a_definition(world):
    first = world.server(SLOWLY)
    assert first.post(DEFINITIONS, definition("v1")).status == 201
    for i in range(6):
        assert first.post(WIDGETS.format("v1"), widget(f"w{i}")).status == 201
    restore_version(first, "v2")
    wait_running(first, 2, "widgets")
    world.kill(first)
    assert world.versions(WIDGET_KEYS) == {"example.com/v1", "example.com/v2"}
    second = world.server()
    done = wait_state(second, "Succeeded", "widgets")
    assert world.versions(WIDGET_KEYS) == {"example.com/v2"} and done["status"]["objects"]["remaining"] == 0


def test_storageversions_can_only_be_read(world):
    server = world.server()

    def agreed():
        answer = server.get(f"{VERSIONS}/namespaces")
        return answer.status == 200 and "storageVersionHash" in answer.json["status"] and answer.json

    one = retry_until(agreed, "a StorageVersion with a common version")
    assert [server.post(VERSIONS, one).status, server.put(f"{VERSIONS}/namespaces", one).status, server.delete(f"{VERSIONS}/namespaces").status,
            server.patch(f"{VERSIONS}/namespaces", {}).status, server.delete(VERSIONS).status] == [405] * 5
    assert one["status"]["commonEncodingVersion"] == "v1" and one["status"]["storageVersionHash"]
    resource = next(each for each in server.get(V1).json["resources"] if each["name"] == "storageversions")
    assert resource["verbs"] == ["get", "list", "watch"] and not resource["namespaced"]


def test_storagemigrations_are_checked(world):
    server = world.server("--storage-migration=Off")
    assert server.post(MIGRATIONS, migration()).status == 201
    path = f"{MIGRATIONS}/mine"
    for wrong, field in ((migration("toys"), "spec.resource"), (migration("snapshots"), "spec.resource"), (migration(""), "spec.resource.resource")):
        refused = server.post(MIGRATIONS, wrong)
        assert refused.status == 422 and refused.json["details"]["causes"][0]["field"] == field
    assert server.patch(path, {"spec": {"resource": {"resource": "providers"}}}).status == 422
    assert server.get(f"{path}/status").status == 200
    assert [server.put(f"{path}/status", {}).status, server.patch(f"{path}/status", {}).status] == [405, 405]
    patched = server.patch(path, {"status": {"storageVersion": "x"}, "metadata": {"labels": {"a": "b"}}}).json
    assert "storageVersion" not in patched["status"] and patched["metadata"]["labels"] == {"a": "b"}
    applied = {"apiVersion": "annals.dev/v1", "kind": "StorageMigration", **migration()}
    assert server.patch(f"{path}?fieldManager=me", applied, kind=APPLY).status == 200


def test_kubectl_shows_them(up):
    server = up("--storage-version=dependents=v1beta1", NO_CONTROLLERS)  # which rewrite what they meet
    assert server.post(DEPENDENTS, dependent("a")).status == 201
    assert server.stop() == 0
    server = up("--port=0", NO_CONTROLLERS, dir=server.dir)
    wait_state(server, "Succeeded")
    retry_until(lambda: server.get(f"{VERSIONS}/dependents.annals.dev").status == 200, "its StorageVersion")

    def rows(*arguments):
        done = server.kubectl("get", *arguments)
        assert done.returncode == 0, done.stderr
        return [line.split() for line in done.stdout.splitlines()]

    def counted():
        table = rows("storageversions", "dependents.annals.dev")
        return table[1][2] == "annals.dev/v1" and table

    table = retry_until(counted, "the census after the migration", interval=0.1)
    assert table[0] == ["NAME", "COMMON", "STORED", "OBJECTS", "AGE"] and table[1][:4] == ["dependents.annals.dev", "annals.dev/v1", "annals.dev/v1", "1"]
    table = rows("sm", "--field-selector=status.state=Succeeded")
    assert table[0] == ["NAME", "RESOURCE", "VERSION", "STATUS", "MIGRATED", "REMAINING", "AGE"]
    assert table[1][0].startswith("dependents.annals.dev-") and table[1][1:6] == ["dependents.annals.dev", "annals.dev/v1", "Succeeded", "1", "0"]
    assert "annals_storage_migration_objects_total{resource=\"dependents.annals.dev\",result=\"rewritten\"} 1" in server.get("/metrics").text


@pytest.fixture
def plugin(tmp_path, certificates):
    """The arguments of `kubectl annals migrations` at a server."""

    def command(server):
        processes.write_kubeconfig(tmp_path / "kubeconfig", server.url, certificates)
        return [processes.BIN, "kubectl", "migrations", "--kubeconfig", str(tmp_path / "kubeconfig")]

    return command


def test_plugin__shows_how_far_migrations_are(world, plugin):
    world.fill(3)
    server = world.server()
    wait_state(server, "Succeeded")
    done = processes.run(plugin(server))
    titles, *rows = [line.split() for line in done.stdout.splitlines()]
    assert titles == ["NAME", "RESOURCE", "STATUS", "MIGRATED", "REMAINING", "DONE", "RATE", "LEFT"]
    row = next(row for row in rows if row[1] == "dependents.annals.dev")
    assert row[2:8] == ["to", "annals.dev/v1", "Succeeded", "3", "0", "100%"] and row[-1] == "-"
    empty = processes.run([*plugin(server), "--no-such-flag"])
    assert empty.returncode == 2


def test_plugin__follows_migrations(world, plugin):
    """Lines where there is no terminal; one table, drawn over and over, where there is one."""
    world.fill(150)
    server = world.server(SLOWLY)
    wait_state(server, "Running")
    lines = processes.Process([*plugin(server), "-w"])
    assert lines.stdout.wait(r"dependents\.annals\.dev Running migrated=\d+ remaining=\d+\n")
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([*plugin(server), "-w"], stdout=theirs, stderr=theirs, preexec_fn=os.setsid) as live:
        os.close(theirs)
        while not re.search(rb"LEFT\r\n.* to annals\.dev/v1 +Running +\d+ +\d+ +\d+% +.*\r\x1b\[\d+A\x1b\[JNAME", shown, re.DOTALL):
            shown += os.read(ours, 65536)
        live.terminate()
    os.close(ours)
    lines.signal(signal.SIGINT)
    lines.wait()
