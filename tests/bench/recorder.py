#!/usr/bin/env python3
"""What it costs to record what changes: CPU of server and recorder for each change, the recorder's memory, and what a restart writes. Beside it what
kube-apiserver spends on the change itself. docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/recorder.py [--objects 100000] [--changes 10000]
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "cluster"), str(HERE)]

import kube
import processes
from references import cpu_ns
from statefulsets import all_of, ask, resident_mib

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
RECORDERS = "/apis/annals.dev/v1/recorders"
RECORDER = {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "all"}, "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}]}}
MERGE = "application/merge-patch+json"


def create(server, n):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {f"key-{k}": "x" * 40 for k in range(10)}}
    all_of(n, lambda i: ask(server, "POST", CONFIGMAPS, {**body, "metadata": {"name": f"c{i}"}}))


def change(server, n, value):
    all_of(n, lambda i: ask(server, "PATCH", f"{CONFIGMAPS}/c{i}", {"data": {"key-0": value}}, MERGE))


def measured(parts, work):
    """CPU in seconds, of each, and how long it took."""
    before, began = {name: cpu_ns(part.popen.pid) for name, part in parts.items()}, time.monotonic()
    work()
    return {name: (cpu_ns(part.popen.pid) - before[name]) / 1e9 for name, part in parts.items()}, time.monotonic() - began


def wait_for_revisions(server, n):
    while True:
        rows = ask(server, "GET", f"{RECORDERS}/all").get("status", {}).get("resources", [])
        if rows and rows[0]["revisions"] >= n:
            return
        time.sleep(1)


def run_kube(folder, certificates, options):
    etcd = processes.Etcd(folder / "kube-etcd", kube.NEWEST_ETCD)
    server = kube.KubeApiserver(etcd.endpoint, certificates, folder / "kube")
    create(server, options.changes)
    spent, _ = measured({"server": server}, lambda: change(server, options.changes, "a"))
    server.kill()
    etcd.kill()
    return spent["server"] / options.changes


def run_annals(folder, certificates, options):
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
    server = processes.Serve(etcd.endpoint, certificates)
    kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", server, certificates)

    def start():
        return processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=recorder"])

    create(server, options.objects)
    alone, _ = measured({"server": server}, lambda: change(server, options.changes, "a"))
    recorder = start()
    parts = {"server": server, "recorder": recorder}

    def begin():
        ask(server, "POST", RECORDERS, RECORDER)
        wait_for_revisions(server, options.objects)

    spent, took = measured(parts, begin)
    print(f"first states of {options.objects}: {took:.0f} s, server {spent['server'] / options.objects * 1e6:.0f} us and recorder "
          f"{spent['recorder'] / options.objects * 1e6:.0f} us CPU for each; recorder at most {resident_mib(recorder.popen.pid):.0f} MiB", flush=True)

    def change_all():
        change(server, options.changes, "b")
        wait_for_revisions(server, options.objects + options.changes)

    spent, took = measured(parts, change_all)
    recorder.kill()
    before = ask(server, "GET", f"{RECORDERS}?limit=1")["metadata"]["resourceVersion"]
    parts["recorder"] = start()
    again, _ = measured(parts, lambda: wait_until_idle(parts["recorder"]))
    print(f"restart: {again['recorder']:.1f} s CPU, {writes_since(server, before)} writes, at most {resident_mib(parts['recorder'].popen.pid):.0f} MiB", flush=True)
    for part in (parts["recorder"], server, etcd):
        part.kill()
    return alone["server"] / options.changes, spent["server"] / options.changes, spent["recorder"] / options.changes


def writes_since(server, version):
    """To Recorders, Histories and revisions."""
    n = 0
    for plural in ("recorders", "histories", "controllerrevisions"):
        connection = server.client.connect()
        connection.request("GET", f"/apis/annals.dev/v1/{plural}?watch=1&timeoutSeconds=1&resourceVersion={version}")
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        n += sum(1 for line in answer.read().splitlines() if line)
        connection.close()
    return n


def wait_until_idle(process):
    """It has listed all, and spends nothing any more."""
    last = -1
    while last < 0 or cpu_ns(process.popen.pid) - last > 20e6:
        last = cpu_ns(process.popen.pid)
        time.sleep(5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=100000)
    parser.add_argument("--changes", type=int, default=10000)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        certificates = processes.Certificates(folder / "certs")
        alone, server, recorder = run_annals(folder, certificates, options)
        theirs = run_kube(folder, certificates, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"a change: kube-apiserver {theirs * 1e6:.0f} us CPU; annals {alone * 1e6:.0f} us, and recorded {server * 1e6:.0f} us; recorder {recorder * 1e6:.0f} us")
    print(f"recording it costs {(server - alone + recorder) / theirs:.2f} of what kube-apiserver spends on the change")


if __name__ == "__main__":
    main()
