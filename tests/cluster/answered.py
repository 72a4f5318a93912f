"""Writes tests/unit/answered.txt: what a real kube-apiserver answers in JSON and in protobuf, with nothing changed in between. A line is the JSON, and
the whole body in protobuf, in base64. tests/unit/test_protobuf_write.c makes the one of the other, without Go.

    /usr/bin/python3 tests/cluster/answered.py > tests/unit/answered.txt
"""

import base64
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

import cases_protobuf
import exchange
import kube
import processes

MEMORY = exchange.Memory("default")
PROTOBUF = cases_protobuf.ACCEPT
ONE = ";as=PartialObjectMetadata;g=meta.k8s.io;v=%s"
ALL = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=%s"
CLUSTER = {"/api/v1/persistentvolumes": {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}},
           "/api/v1/nodes": {"spec": {"podCIDR": "10.1.0.0/24"}}, "/apis/storage.k8s.io/v1/storageclasses": {"provisioner": "x", "parameters": {"b": "1", "a": ""}},
           "/api/v1/namespaces": {}}


def print_both(server, path, form=""):
    shown, packed = (server.get(path, headers={"Accept": media_type + form}) for media_type in ("application/json", PROTOBUF))
    assert shown.status == packed.status and packed.body.startswith(b"k8s\0"), (path, shown, packed)
    print(shown.text.rstrip("\n"), base64.b64encode(packed.body).decode(), sep="\t")


def print_object(server, path, body):
    name = {"metadata": {"name": "a", "labels": {"x": "y", "a": ""}, "annotations": {"n.io/b": "\u00e9"}, "finalizers": ["n.io/f"]}}
    # Without blanks, which kube-apiserver keeps in what is opaque, and shows in protobuf alone.
    sent = json.dumps({**name, **body}, ensure_ascii=False, separators=(",", ":")).encode()
    made = server.request("POST", path, sent, headers={"Content-Type": "application/json"})
    assert made.status == 201, made
    print_both(server, f"{path}/a")
    print_both(server, f"{path}?labelSelector=x=y")
    server.delete(f"{path}/a")  # only marked: it has a finalizer
    print_both(server, f"{path}/a")


def main():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
        server = kube.KubeApiserver(etcd.endpoint, processes.Certificates(folder / "certificates"), folder / "kube")
        try:
            for path, body in [*cases_protobuf.OBJECTS.values(), *CLUSTER.items()]:
                print_object(server, MEMORY.expand(path), MEMORY.expand_all(body))
            revisions = MEMORY.expand("{crs}")
            for version in ("v1", "v1beta1"):
                print_both(server, f"{revisions}/a", ONE % version)
                print_both(server, revisions, ALL % version)
            print_both(server, f"{revisions}?labelSelector=none")
            print_both(server, f"{revisions}/none")
            print_both(server, f"{revisions}?limit=x")
            print_both(server, MEMORY.expand(cases_protobuf.OBJECTS["set"][0]) + "/a/scale")
            for path in ("/api", "/apis", "/apis/apps", "/apis/apps/v1"):
                print_both(server, path)
            print_both(server, "/apis", ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        finally:
            server.stop()
            etcd.stop()


if __name__ == "__main__":
    main()
