#!/usr/bin/env python3
"""What CustomResourceDefinitions and their objects cost: time, CPU and memory of annals and of kube-apiserver, one after the other on the
same machine. First those of four projects, posted one after the other as envtest does, until all are established; then the first object;
then many small definitions; then objects beside ConfigMaps of the same size. docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/definitions.py [--objects 5000] [--many 1000] [--only annals|kube]
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "cluster"), str(HERE)]

import kube
import processes
import test_projects
from references import cpu_ns

PROJECTS = ("prometheus-operator", "lws", "jobset", "source-controller")
DEFINITIONS = test_projects.DEFINITIONS
N_FIELDS = 50


def small(number, n_fields=N_FIELDS):
    """A definition with so many fields in its spec."""
    group, plural = f"g{number % 20}.example.com", f"things{number}"
    fields = {f"field{i}": {"type": "string", "maxLength": 64, "description": "a field of a thing, described in some words " * 8} for i in range(n_fields)}
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": f"Thing{number}"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}]}}


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


class World:
    def __init__(self, folder, is_annals):
        certificates = processes.Certificates(folder / "certs")
        self.etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
        if is_annals:
            self.server = processes.Serve(self.etcd.endpoint, certificates)
        else:
            self.server = kube.KubeApiserver(self.etcd.endpoint, certificates, folder / "kube")
        self.connection = self.server.client.connect()

    def ask(self, method, path, body=None, expected=(200, 201)):
        self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status in expected, (method, path, answer.status, text[:500])
        return answer.status, text

    def wait_established(self, n):
        def are_so():
            items = json.loads(self.ask("GET", DEFINITIONS)[1])["items"]
            said = [c["status"] for one in items for c in one.get("status", {}).get("conditions") or [] if c["type"] == "Established"]
            return len(items) == n and said.count("True") == n

        processes.retry_until(are_so, "all are established", interval=0.2, patience=600)

    def measure(self, what, work):
        pid = self.server.popen.pid
        cpu, mib, began = cpu_ns(pid), resident_mib(pid), time.monotonic()
        work()
        took, spent, grown = time.monotonic() - began, (cpu_ns(pid) - cpu) / 1e9, resident_mib(pid) - mib
        print(f"  {what:44} {took:8.2f} s {spent:8.2f} s CPU {grown:8.1f} MiB more, {resident_mib(pid):7.1f} MiB", flush=True)
        return took, spent, max(grown, 0.1)

    def stop(self):
        """Nothing here has to end well."""
        for part in (self.server, self.etcd):
            part.kill()


def run(is_annals, options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    definitions = [one for name in PROJECTS for path in sorted((test_projects.PROJECTS / name).glob("*.yaml")) for one in test_projects.definitions(path)]
    try:
        world = World(folder, is_annals)
        print("annals" if is_annals else "kube-apiserver", flush=True)

        def post(all_of_them):
            for one in all_of_them:
                world.ask("POST", DEFINITIONS, one)

        def project():
            post(definitions)
            world.wait_established(len(definitions))

        def first():
            body = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "a"}, "spec": {"interval": "1m", "url": "https://a.b"}}
            world.ask("POST", "/apis/source.toolkit.fluxcd.io/v1/namespaces/default/gitrepositories", body)

        def many():
            post(small(number) for number in range(options.many))
            world.wait_established(len(definitions) + options.many)

        text = {f"field{i}": "x" * 11 for i in range(N_FIELDS)}

        def create(path, body):
            for number in range(options.objects):
                world.ask("POST", path, {"metadata": {"name": f"o{number}"}, **body})

        size = sum(len(json.dumps(one)) for one in definitions) / 2**20
        results = {f"{len(definitions)} definitions, {size:.1f} MiB": world.measure(f"{len(definitions)} definitions, {size:.1f} MiB", project),
                   "the first object": world.measure("the first object", first),
                   "OpenAPI v3 of one group": world.measure("OpenAPI v3 of one group", lambda: world.ask("GET", "/openapi/v3/apis/source.toolkit.fluxcd.io/v1")),
                   f"{options.many} definitions of {N_FIELDS} fields": world.measure(f"{options.many} definitions of {N_FIELDS} fields", many)}
        things = "/apis/g0.example.com/v1/namespaces/default/things0"
        thing = {"apiVersion": "g0.example.com/v1", "kind": "Thing0", "spec": text}
        results["CREATE of objects"] = world.measure(f"CREATE of {options.objects} objects", lambda: create(things, thing))
        results["CREATE of ConfigMaps"] = world.measure(
            f"CREATE of {options.objects} ConfigMaps", lambda: create("/api/v1/namespaces/default/configmaps", {"data": text}))
        results["LIST of objects"] = world.measure("LIST of these objects", lambda: world.ask("GET", things))
        results["LIST of ConfigMaps"] = world.measure("LIST of these ConfigMaps", lambda: world.ask("GET", "/api/v1/namespaces/default/configmaps"))
        world.stop()
        return results
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--only", choices=("annals", "kube"))
    options = parser.parse_args()
    found = [run(is_annals, options) for is_annals in (True, False) if options.only in (None, "annals" if is_annals else "kube")]
    if len(found) == 2:
        ours, theirs = found
        for what, mine in ours.items():
            print(f"{what:40} " + "   ".join(f"{name} 1/{theirs[what][i] / max(mine[i], 1e-4):.1f}" for i, name in enumerate(("time", "CPU", "memory"))))


if __name__ == "__main__":
    main()
