#!/usr/bin/env python3
"""Makes what is kept of a release: a small snapshot of an etcd that its annals has written to, and what that annals reads of it.

    tools/release-snapshot.py build

writes tests/releases/v0.1.0.snapshot.gz and v0.1.0.json, for the version that build/annals says it is. tests/integration/test_releases.py
has every later build read them. What is there already is not overwritten: a release does not change.

There is something of each kind, written by clients, by controllers and by the recorder, a part of it in an older storage version.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "release"  # of the namespace
V1 = "/apis/annals.dev/v1"
IN = f"/namespaces/{NAME}"
SNAPSHOT_MAX = 200 << 10  # bytes, compressed: they stay in the repository for ever

POD = {"containers": [{"name": "main", "image": "nginx:1", "ports": [{"name": "http", "containerPort": 80}]}]}
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "uid": "2f6ee0b4-6b4d-4a43-9f63-9d4cf1a1f0a1", "controller": True}

# By hand, by clients. What is in the first list is stored in an older version.
OLDER = [
    (f"{V1}{IN}/providers", {"metadata": {"name": "older"}, "spec": {"data": {"a": "b"}}}),
    (f"{V1}{IN}/dependents", {"metadata": {"name": "older"}, "spec": {"providers": [{"kind": "Provider", "name": "older"}], "whenMissing": "Wait"}}),
    (f"{V1}{IN}/controllerrevisions", {"metadata": {"name": "older"}, "revision": 1, "data": {"number": 1.50, "text": "ä<&>", "list": [None, {}, []]}}),
]
OBJECTS = [
    (f"/api/v1{IN}/secrets", {"metadata": {"name": "key"}, "stringData": {"key": "value"}, "type": "Opaque"}),
    (f"/api/v1{IN}/serviceaccounts", {"metadata": {"name": "robot"}}),
    (f"/api/v1{IN}/podtemplates", {"metadata": {"name": "template"}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": POD}}),
    (f"/api/v1{IN}/services", {"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]}}),
    (f"/api/v1{IN}/events", {"metadata": {"name": "seen"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": NAME}, "reason": "Seen", "message": "It is <there>.",
                             "type": "Normal", "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z"}),
    ("/api/v1/persistentvolumes", {"metadata": {"name": "disk"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"}}}),
    ("/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "fast"}, "provisioner": "example.com/disks"}),
    (f"/apis/coordination.k8s.io/v1{IN}/leases", {"metadata": {"name": "lock"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
    (f"{V1}{IN}/providers", {"metadata": {"name": "database", "labels": {"tier": "back"}}, "spec": {"data": {"host": "db"}}}),
    (f"{V1}{IN}/dependents", {"metadata": {"name": "shop"}, "spec": {"providers": [{"kind": "Provider", "name": "database"}, {"kind": "ControllerRevision", "name": "kept"}]}}),
    (f"{V1}{IN}/controllerrevisions", {"metadata": {"name": "kept", "annotations": {"note": "by hand"}}, "revision": 7, "data": {"image": "nginx:1"}}),
    (f"{V1}/storagemigrations", {"metadata": {"name": "leases"}, "spec": {"resource": {"group": "coordination.k8s.io", "resource": "leases"}}}),
]
SNAPSHOTS = [{"image": "nginx:1"}, {"image": "nginx:2"}, {"image": "nginx:1"}]
STATEFULSET = {"metadata": {"name": "web"}, "spec": {
    "replicas": 2, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
    "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}
RECORDER = {"metadata": {"name": NAME}, "spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAME}},
                                                 "resources": [{"groups": [""], "resources": ["configmaps"]}]}}


def post(server, path, body):
    made = server.post(path, body)
    assert made.status == 201, made
    return made.json


def is_up_to_date(server):
    status = server.get(f"/apis/apps/v1{IN}/statefulsets/web").json.get("status", {})
    return status.get("observedGeneration", 0) > 1 and status.get("updatedReplicas") == status.get("readyReplicas") == 2


def histories(server):
    found = server.get(f"{V1}{IN}/histories").json["items"]
    return {item["spec"]["subject"]["name"]: [change["type"] for change in item.get("status", {}).get("changes", [])] for item in found}


def write(server, retry_until):
    """All that clients and controllers do."""
    for path, body in OBJECTS:
        post(server, path, body)
    for state in SNAPSHOTS:
        post(server, f"{V1}{IN}/snapshots", {"spec": {"owner": OWNER, "data": state}})
    post(server, f"/apis/apps/v1{IN}/statefulsets", STATEFULSET)
    post(server, f"{V1}/recorders", RECORDER)
    retry_until(lambda: server.get(f"{V1}/recorders/{NAME}").json.get("status", {}).get("conditions", [{}])[0].get("status") == "True", "the recorder follows")
    for name in ("settings", "gone"):
        post(server, f"/api/v1{IN}/configmaps", {"metadata": {"name": name}, "data": {"level": "1"}})
        retry_until(lambda name=name: len(histories(server).get(name, [])) == 1, "what was created is recorded")
        assert server.patch(f"/api/v1{IN}/configmaps/{name}", {"data": {"level": "2"}}).status == 200
        retry_until(lambda name=name: len(histories(server)[name]) == 2, "what was changed is recorded")
    assert server.delete(f"/api/v1{IN}/configmaps/gone").status == 200
    retry_until(lambda: len(histories(server)["gone"]) == 3, "what was deleted is recorded")
    changed = {"spec": {"template": {"spec": {"containers": [{**POD["containers"][0], "image": "nginx:2"}]}}}}
    assert server.patch(f"/apis/apps/v1{IN}/statefulsets/web", changed).status == 200
    retry_until(lambda: is_up_to_date(server), "the StatefulSet has been rolled out")
    # Nobody takes it off when it is read: so it is there in every release.
    assert server.patch(f"/api/v1{IN}/configmaps/settings", {"metadata": {"finalizers": ["example.com/kept"]}}).status == 200
    assert server.delete(f"/api/v1{IN}/configmaps/settings").status == 200


def fill(folder, etcd, processes):
    flags = [f"--etcd-servers={etcd.endpoint}", "--fake-nodes=1", "--storage-migration=Manual"]
    server = processes.Up(folder / "up", *flags, "--storage-version=dependents=v1beta1,providers=v1beta1,controllerrevisions=v1beta1")
    post(server, "/api/v1/namespaces", {"metadata": {"name": NAME}})
    for path, body in OLDER:
        post(server, path, body)
    assert server.stop() == 0
    server = processes.Up(folder / "up", *flags)
    write(server, processes.retry_until)
    assert server.stop() == 0


def save(etcd, path):
    """Without its past, and without room that nothing is in."""
    status = json.loads(etcd.ctl("endpoint", "status", "--write-out=json"))[0]["Status"]
    etcd.ctl("compact", str(status["header"]["revision"]))
    etcd.ctl("defrag")
    etcd.save(path)


def make(folder, processes, releases, name):
    etcd = processes.Etcd(folder / "etcd")
    fill(folder, etcd, processes)
    server = processes.Serve(etcd.endpoint, processes.Certificates(folder / "certificates"), "--storage-migration=Off")
    seen = releases.everything(server)
    assert server.stop() == 0
    save(etcd, folder / "snapshot")
    etcd.stop()
    empty = [path for path, items in seen.items() if not items]
    assert not empty, f"there is nothing of {', '.join(empty)}"
    packed = gzip.compress((folder / "snapshot").read_bytes(), 9, mtime=0)
    assert len(packed) <= SNAPSHOT_MAX, f"the snapshot takes {len(packed)} bytes, and {SNAPSHOT_MAX} are the most"
    (releases.FOLDER / f"{name}.snapshot.gz").write_bytes(packed)
    lines = [f"{json.dumps(path)}: [\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]" for path, items in seen.items()]
    (releases.FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name}: {sum(map(len, seen.values()))} objects in {len(seen)} collections, {len(packed) >> 10} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="the build folder")
    binary = pathlib.Path(parser.parse_args().build).resolve() / "annals"
    os.environ["ANNALS_BIN"] = str(binary)
    sys.path.insert(0, str(ROOT / "tests" / "integration"))
    import processes
    import releases

    said = subprocess.run([binary, "version"], check=True, capture_output=True, text=True).stdout
    name = "v" + re.search(r"\d+\.\d+\.\d+", said)[0]
    if name in releases.kept():
        sys.exit(f"{releases.FOLDER / name}.snapshot.gz is there already")
    with tempfile.TemporaryDirectory(prefix="annals-", dir="/tmp") as folder:
        try:
            make(pathlib.Path(folder), processes, releases, name)
        finally:
            for process in processes.Process.everyone:
                process.kill()


if __name__ == "__main__":
    main()
