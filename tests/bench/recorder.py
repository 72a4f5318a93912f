#!/usr/bin/env python3
"""What it costs to record what changes: CPU of server and recorder for each change, the recorder's memory, and what a restart writes. Beside it what
kube-apiserver spends on the change itself. docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/recorder.py [--objects 100000] [--changes 10000]
    ANNALS_BIN=build/annals tests/bench/recorder.py --webhook [--changes 2000]
    ANNALS_BIN=build/annals tests/bench/recorder.py --log [--objects 100000]
    ANNALS_BIN=build/annals tests/bench/recorder.py --cost [--objects 500] [--states 11] [--json build/bench.json]

With --webhook: how long a write takes in a kube-apiserver that asks annals for the user first, while annals answers, while it hangs, and when it
is gone. Beside each such write stands one of another namespace, which no webhook is about.

With --log: the log of the last minute, and of all, where many objects are recorded and few have just changed.

With --cost: what one recorded change of ten bytes costs, in bytes that etcd receives, in bytes at rest, in memory of a server that has loaded
all, in requests, and in CPU of each process. The recorder is stopped while objects change, so etcd receives nothing but what is recorded. `make
bench` runs this, and --json adds the figures to those of its run.
"""

import argparse
import base64
import collections
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "cluster"), str(HERE)]

import aggregated
import kube
import processes
from metrics import Metrics
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


def wait_for_states(server, n):
    """As the server counts them: a Recorder's status follows after seconds."""
    while Metrics(server.client).sum("apiserver_storage_objects", resource="controllerrevisions.annals.dev") < n:
        time.sleep(0.2)


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


# ---- what a change costs ----

SIZES = {"5k": 5 * 1024, "10k": 10 * 1024}
PARTS_OF_ETCD = [("history", "entries of the index"), ("objects/-/bases", "bases"), ("objects/annals.dev/histories", "Histories"),
                  ("objects/annals.dev/controllerrevisions", "states")]


def settings(name, size):
    """Lines as people write them, from a fixed seed: a name, and ten digits that nothing predicts."""
    rng = random.Random(name)
    words = ["server", "cache", "limit", "timeout", "retry", "queue", "region", "backend", "pool", "session", "token", "path"]
    lines = []
    while sum(map(len, lines)) < size:
        lines.append(f"{rng.choice(words)}.{rng.choice(words)}.{rng.choice(words)} = {rng.randrange(10**9, 10**10)}\n")
    return "".join(lines)


def received_by(etcd):
    """Bytes that etcd has received from its clients."""
    for line in http_text(etcd, "/metrics").splitlines():
        if line.startswith("etcd_network_client_grpc_received_bytes_total"):
            return float(line.split()[1])
    raise AssertionError("etcd has no such metric")


def http_text(etcd, path):
    """Of the address for metrics."""
    with urllib.request.urlopen(etcd.metrics_url + path, timeout=60) as answer:
        return answer.read().decode()


def start_etcd(folder):
    port = processes.free_port()
    etcd = processes.Etcd(folder, kube.NEWEST_ETCD if os.path.exists(kube.NEWEST_ETCD) else None,
                          flags=(f"--listen-metrics-urls=http://127.0.0.1:{port}",))
    etcd.metrics_url = f"http://127.0.0.1:{port}"
    return etcd


def at_rest(etcd):
    """{what: (keys, bytes of keys and values)} of what recording has written."""
    found = {what: [0, 0] for _, what in PARTS_OF_ETCD}
    for start, what in PARTS_OF_ETCD:
        for kv in json.loads(etcd.ctl("get", f"/annals/{start}/", "--prefix", "-w", "json")).get("kvs", []):
            found[what][0] += 1
            found[what][1] += len(base64.b64decode(kv["key"])) + len(base64.b64decode(kv.get("value", "")))
    return found


def recorded(server):
    """(requests about what is recorded, bytes in the cache)"""
    metrics = Metrics(server.client)
    requests = sum(metrics.sum("apiserver_request_total", resource=resource)
                   for resource in ("recordings", "snapshots", "histories", "controllerrevisions"))
    return requests - metrics.sum("apiserver_request_total", verb="WATCH"), metrics.sum("annals_cache_bytes")


class Cost:
    """A server, its etcd and a recorder, and objects of one size."""

    def __init__(self, folder, certificates, options, size):
        self.options, self.size = options, size
        self.certificates = certificates
        self.etcd = start_etcd(folder / "etcd")
        self.server = processes.Serve(self.etcd.endpoint, certificates)
        kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", self.server, certificates)
        self.recorder = processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=recorder"])
        self.parts = {"server": self.server, "recorder": self.recorder, "etcd": self.etcd}
        ask(self.server, "POST", RECORDERS, {**RECORDER, "spec": {**RECORDER["spec"], "historyLimit": 100}})

    def stop(self):
        for part in reversed(self.parts.values()):
            part.kill()

    def text(self, i):
        return settings(f"c{i}", self.size)

    def create(self):
        all_of(self.options.objects, lambda i: ask(self.server, "POST", CONFIGMAPS, {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}, "data": {"settings": self.text(i)}}))
        wait_for_states(self.server, self.options.objects)

    def change(self, state):
        """Other ten digits, in one of the lines."""
        def one(i):
            lines = self.text(i).splitlines(True)
            for n in range(1, state + 1):
                at = n * 7 % len(lines)
                lines[at] = lines[at].partition("=")[0] + f"= {random.Random(f'{i} {n}').randrange(10**9, 10**10)}\n"
            ask(self.server, "PATCH", f"{CONFIGMAPS}/c{i}", {"data": {"settings": "".join(lines)}}, MERGE)

        self.recorder.popen.send_signal(signal.SIGSTOP)
        all_of(self.options.objects, one)

    def record(self, state):
        self.recorder.popen.send_signal(signal.SIGCONT)
        wait_for_states(self.server, self.options.objects * (state + 1))

    def run(self):
        """{figure: number} of one change."""
        self.create()
        spent, took, received, requests = collections.Counter(), 0, 0, 0
        n = self.options.objects * (self.options.states - 1)
        for state in range(1, self.options.states):
            self.change(state)
            received_before, requests_before = received_by(self.etcd), recorded(self.server)[0]
            of_round, seconds = measured(self.parts, lambda: self.record(state))
            spent.update(of_round)
            took += seconds
            received += received_by(self.etcd) - received_before
            requests += recorded(self.server)[0] - requests_before
        rest = at_rest(self.etcd)
        figures = {"bytes": received / n, "requests": requests / n, "changes/s": n / took,
                   **{f"{part} µs": 1e6 * spent[part] / n for part in self.parts},
                   "changes/s of two cores": 2 * n / sum(spent.values())}
        states = self.options.objects * self.options.states
        figures["bytes at rest"] = sum(bytes for _, bytes in rest.values()) / states
        for what, (keys, bytes) in rest.items():
            print(f"  {what}: {keys / states:.2f} keys and {bytes / states:.0f} bytes for a state")
        return figures

    def memory(self):
        """Bytes for a state, of a server that has loaded all of them, and has read none."""
        self.recorder.kill()
        del self.parts["recorder"]
        self.server.kill()
        self.etcd.ctl("del", "/annals/objects/core/configmaps/", "--prefix")
        self.server = self.parts["server"] = processes.Serve(self.etcd.endpoint, self.certificates)
        loaded, held = current_rss(self.server.popen.pid), recorded(self.server)[1]
        for start, _ in PARTS_OF_ETCD:
            self.etcd.ctl("del", f"/annals/{start}/", "--prefix")
        self.server.kill()
        self.server = self.parts["server"] = processes.Serve(self.etcd.endpoint, self.certificates)
        states = self.options.objects * self.options.states
        return {"bytes in memory": (loaded - current_rss(self.server.popen.pid)) / states, "bytes in the cache": held / states}


def current_rss(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")) * 1024


def run_cost(folder, certificates, options):
    samples = []
    for name, size in SIZES.items():
        print(f"changes of ten bytes in {options.objects} objects of {size // 1024} KiB, with {options.states} states each", flush=True)
        cost = Cost(folder / name, certificates, options, size)
        try:
            figures = {**cost.run(), **cost.memory()}
        finally:
            cost.stop()
        for what, figure in figures.items():
            print(f"  {what}: {figure:.3g}" if figure < 10 else f"  {what}: {figure:.0f}", flush=True)
        samples.append({"subject": "annals", "workload": f"record.{name}", "values": figures})
    if options.json:
        run = json.loads(options.json.read_text()) if options.json.exists() else {"samples": []}
        run["samples"] += samples
        options.json.write_text(json.dumps(run))


# ---- the log of the last minutes ----

LOG_CHANGED = 100  # objects that have changed in the last minute


def sighting(i, ago):
    state = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "namespace": "default"}, "data": {"ago": str(ago)}}
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
    return {"subject": {"group": "", "kind": "ConfigMap", "namespace": "default", "name": f"c{i}"}, "namespace": "default", "found": "Present", "time": when,
            "resourceVersion": str(10**9 - ago), "uid": f"uid-{i}", "apiVersion": "v1", "data": state}


def record_at(server, first, n, ago):
    answer = ask(server, "POST", "/apis/annals.dev/v1/recordings", {"spec": {"sightings": [sighting(i, ago) for i in range(first, first + n)]}})
    assert all(result["result"] == "Recorded" for result in answer["status"]["results"]), answer


def run_log(folder, certificates, options):
    etcd = start_etcd(folder / "etcd")
    server = processes.Serve(etcd.endpoint, certificates)
    kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", server, certificates)
    try:
        all_of(options.objects // 50, lambda i: record_at(server, i * 50, 50, 30 * 86400))
        for first in range(0, LOG_CHANGED, 50):
            record_at(server, first, 50, 0)
        for since in ("1m", "90d"):
            def log():
                done = processes.run([processes.BIN, "kubectl", "log", "-A", f"--since={since}", "--kubeconfig", kubeconfig, "-o", "name"], check=True)
                assert len(done.stdout.splitlines()) == (LOG_CHANGED if since == "1m" else min(options.objects, 10000)), done.stdout[:500]

            spent, took = measured({"server": server}, log)
            print(f"log -A --since={since} of {options.objects} objects, of which {LOG_CHANGED} have just changed: {took * 1e3:.0f} ms, "
                  f"server {spent['server'] * 1e3:.0f} ms CPU", flush=True)
    finally:
        server.kill()
        etcd.kill()


# ---- the webhook ----

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ASKED, PLAIN = "asked", "plain"  # namespaces
HOOK = {"metadata": {"name": "annals-recorder"}, "webhooks": [
    {"name": "users.annals.dev", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Ignore", "timeoutSeconds": 1,
     "matchPolicy": "Equivalent", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ASKED}},
     "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE", "DELETE"], "scope": "*"}],
     "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "port": 443, "path": f"{RECORDERS}/all/admission"}}}]}


class Writer:
    """One who changes a ConfigMap of each namespace, over one connection."""

    def __init__(self, cluster):
        client = cluster.kube.client
        self.connection = client.connect()
        self.headers = {"Content-Type": MERGE, **({"Authorization": f"Bearer {client.token}"} if client.token else {})}
        self.numbers = itertools.count()

    def write(self, namespace):
        """Milliseconds."""
        began = time.monotonic()
        self.connection.request("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/c", json.dumps({"data": {"key-0": str(next(self.numbers))}}).encode(), self.headers)
        answer = self.connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        return (time.monotonic() - began) * 1e3

    def both(self, n):
        """{namespace: sorted milliseconds} of n writes each, one after the other, so that the machine is the same for both."""
        found = {ASKED: [], PLAIN: []}
        for _ in range(n):
            for namespace, times in found.items():
                times.append(self.write(namespace))
        return {namespace: sorted(times) for namespace, times in found.items()}


def show(what, times):
    def at(part, values):
        return values[min(int(len(values) * part), len(values) - 1)]

    texts = [f"{namespace} {at(0.5, values):.2f}, {at(0.99, values):.2f}" for namespace, values in times.items()]
    print(f"{what}: ms of a write, median and 99th percentile: {'; '.join(texts)}", flush=True)


def run_webhook(folder, certificates, options):
    cluster = aggregated.Cluster(folder, certificates, aggregated.ANNALS, controllers=False)
    try:
        behind = cluster.behind["annals"]
        cluster.make(RECORDERS, RECORDER)
        for namespace in (ASKED, PLAIN):
            cluster.make("/api/v1/namespaces", {"metadata": {"name": namespace}})
            cluster.make(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "c"}, "data": {f"key-{k}": "x" * 40 for k in range(10)}})
        writer = Writer(cluster)
        processes_of = {"kube-apiserver": cluster.kube, "annals": behind.replicas[0]}

        def spent_on(what):
            before = {name: cpu_ns(process.popen.pid) for name, process in processes_of.items()}
            show(what, writer.both(options.changes))
            spent = [f"{name} {(cpu_ns(process.popen.pid) - before[name]) / options.changes / 1e3:.0f}" for name, process in processes_of.items()]
            print(f"{what}: CPU of both writes, us: {', '.join(spent)}", flush=True)

        spent_on("no webhook")
        cluster.make(HOOKS, HOOK)
        client = behind.client(*certificates.admin)
        processes.retry_until(lambda: writer.write(ASKED) and Metrics(client).sum("annals_user_notes_total") > 0, "annals is asked")
        spent_on("annals answers")
        behind.replicas[0].signal(signal.SIGSTOP)
        began, slow = time.monotonic(), []
        while (took := writer.write(ASKED)) > 500:
            slow.append(took)
        print(f"annals hangs: {len(slow)} writes took {min(slow):.0f} to {max(slow):.0f} ms, until kube-apiserver stopped asking after {time.monotonic() - began:.0f} s", flush=True)
        show("the APIService is not available", writer.both(options.changes))
        behind.replicas[0].signal(signal.SIGCONT)
        behind.wait_available()
        behind.replicas[0].kill()
        show("annals has ended", writer.both(min(options.changes, 200)))
        behind.replicas[0] = None
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int)
    parser.add_argument("--changes", type=int)
    parser.add_argument("--webhook", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--states", type=int, default=11, help="of each object, with --cost")
    parser.add_argument("--json", type=pathlib.Path, help="a file of make bench, to which --cost adds")
    options = parser.parse_args()
    options.objects = options.objects or (500 if options.cost else 100000)
    options.changes = options.changes or (2000 if options.webhook else 10000)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        certificates = processes.Certificates(folder / "certs")
        if options.webhook:
            run_webhook(folder, certificates, options)
            return
        if options.cost or options.log:
            (run_cost if options.cost else run_log)(folder, certificates, options)
            return
        alone, server, recorder = run_annals(folder, certificates, options)
        theirs = run_kube(folder, certificates, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"a change: kube-apiserver {theirs * 1e6:.0f} us CPU; annals {alone * 1e6:.0f} us, and recorded {server * 1e6:.0f} us; recorder {recorder * 1e6:.0f} us")
    print(f"recording it costs {(server - alone + recorder) / theirs:.2f} of what kube-apiserver spends on the change")


if __name__ == "__main__":
    main()
