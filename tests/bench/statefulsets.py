#!/usr/bin/env python3
"""What rolling many StatefulSets at once costs: CPU and memory of server and controllers, of annals and of kube-apiserver with
kube-controller-manager, one after the other on the same machine and under the same fake kubelet. Then the same sets at rest.
docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/statefulsets.py [--sets 1000] [--replicas 5] [--rest 30] [--only annals|kube]
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "cluster"), str(HERE)]

import kube
import processes
from references import cpu_ns

SETS = "/apis/apps/v1/namespaces/default/statefulsets"
WRITERS = 4

local = threading.local()


def ask(server, method, path, body=None, kind="application/json"):
    """Over a connection of the thread's own."""
    if getattr(local, "server", None) is not server:
        local.server, local.connection = server, server.client.connect()
    local.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
    answer = local.connection.getresponse()
    text = answer.read()
    assert answer.status in (200, 201), (method, path, answer.status, text[:500])
    return json.loads(text)


def statefulset(i, replicas):
    labels = {"app": f"s{i}"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": f"s{i}"},
            "spec": {"serviceName": "s", "replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}}


def with_image(image):
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


def all_of(n, each):
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(each, range(n), chunksize=16))


def is_at_rest(s, replicas):
    status = s["status"]
    return (status.get("observedGeneration") == s["metadata"]["generation"] and status.get("readyReplicas") == replicas
            and status.get("updatedReplicas") == replicas and status.get("currentRevision") == status.get("updateRevision"))


def wait_for_rest(server, n, replicas):
    while True:
        items = ask(server, "GET", f"{SETS}?resourceVersion=0")["items"]
        if len(items) == n and all(is_at_rest(s, replicas) for s in items):
            return
        time.sleep(2)


def resident_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return max(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) / 1024


class World:
    """A server, the controller of StatefulSets, and a fake kubelet that counts as nobody's."""

    def __init__(self, folder, certificates, is_annals):
        etcds = [processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)]
        if is_annals:
            self.server = processes.Serve(etcds[0].endpoint, certificates)
        else:
            self.server = kube.KubeApiserver(etcds[0].endpoint, certificates, folder / "kube")
        kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", self.server, certificates)
        kubelet = processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=fake-kubelet", "--fake-nodes=10"])
        if is_annals:
            self.controllers = processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=statefulset"])
        else:
            self.controllers = kube.controller_manager(kubeconfig, "statefulset-controller",
                                                       flags=["--kube-api-qps=10000", "--kube-api-burst=20000"])
        self.parts = {"server": self.server, "controllers": self.controllers, "etcd": etcds[0], "kubelet": kubelet}

    def cpu_s(self):
        return {name: cpu_ns(part.popen.pid) / 1e9 for name, part in self.parts.items()}

    def stop(self):
        """Nothing here has to end well."""
        for part in reversed(self.parts.values()):
            part.kill()


def measure(world, what, work):
    before, began = world.cpu_s(), time.monotonic()
    work()
    took, after = time.monotonic() - began, world.cpu_s()
    spent = {name: after[name] - before[name] for name in after}
    print(f"  {what:28} {took:7.1f} s   " + "   ".join(f"{name} {seconds:8.2f} s CPU" for name, seconds in spent.items()), flush=True)
    return spent


def run(is_annals, options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        world = World(folder, processes.Certificates(folder / "certs"), is_annals)
        print("annals" if is_annals else "kube-apiserver, kube-controller-manager", flush=True)

        def create():
            all_of(options.sets, lambda i: ask(world.server, "POST", SETS, statefulset(i, options.replicas)))
            wait_for_rest(world.server, options.sets, options.replicas)

        def roll():
            all_of(options.sets, lambda i: ask(world.server, "PATCH", f"{SETS}/s{i}", with_image("i:2"),
                                               "application/strategic-merge-patch+json"))
            wait_for_rest(world.server, options.sets, options.replicas)

        spent = {"create": measure(world, f"create {options.sets} x {options.replicas}", create),
                 "roll": measure(world, "roll", roll),
                 "rest": measure(world, f"at rest, {options.rest} s", lambda: time.sleep(options.rest))}
        memory = {name: resident_mib(world.parts[name].popen.pid) for name in ("server", "controllers")}
        print("  largest resident set         " + "   ".join(f"{name} {mib:.0f} MiB" for name, mib in memory.items()), flush=True)
        world.stop()
        return spent, memory
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=5)
    parser.add_argument("--rest", type=int, default=30)
    parser.add_argument("--only", choices=("annals", "kube"))
    options = parser.parse_args()
    results = [run(is_annals, options) for is_annals in (True, False) if options.only in (None, "annals" if is_annals else "kube")]
    if len(results) == 2:
        (ours, our_memory), (theirs, their_memory) = results
        for what in ours:
            for part in ("server", "controllers"):
                print(f"{what:8} CPU of {part:12} 1/{theirs[what][part] / max(ours[what][part], 1e-3):.1f}")
        for part in our_memory:
            print(f"memory of {part:12} 1/{their_memory[part] / our_memory[part]:.1f}")


if __name__ == "__main__":
    main()
