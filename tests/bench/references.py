#!/usr/bin/env python3
"""What references cost as the number of Dependents of one Provider grows: server and etcd CPU of one more creation, of a refused and of a
granted removal of the finalizer. docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/references.py [--sizes 100,1000,10000,100000] [--samples 200]
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import processes

BASE = "/apis/annals.dev/v1/namespaces/default"
PROVIDER = f"{BASE}/providers/p"
WITHOUT, WITH = {"metadata": {"finalizers": None}}, {"metadata": {"finalizers": ["annals.dev/provider-protection"]}}
WRITERS = 8

local = threading.local()


def cpu_ns(pid):
    """Of all threads there are and were."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    exact = sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    return max(exact, (int(fields[11]) + int(fields[12])) * 10_000_000)


def ask(server, method, path, body=None, expected=(200, 201)):
    """Over a connection of the thread's own."""
    if getattr(local, "server", None) is not server:
        local.server, local.connection = server, server.client.connect()
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    local.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
    answer = local.connection.getresponse()
    text = answer.read()
    assert answer.status in expected, (method, path, answer.status, text[:500])


def create(server, i):
    ask(server, "POST", f"{BASE}/dependents", {"metadata": {"name": f"d{i}"}, "spec": {"providers": [{"name": "p"}]}})


def delete(server, i):
    ask(server, "DELETE", f"{BASE}/dependents/d{i}")


def all_of(numbers, each, server):
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        for done in pool.map(lambda i: each(server, i), numbers, chunksize=64):
            assert done is None


class Meter:
    def __init__(self, server, etcd, samples):
        self.server, self.etcd, self.samples = server, etcd, samples

    def of(self, operation, undo=None):
        """Microseconds of CPU for one operation: (server, etcd)."""
        total = [0, 0]
        for i in range(self.samples):
            before = [cpu_ns(self.server.pid), cpu_ns(self.etcd.pid)]
            operation(i)
            after = [cpu_ns(self.server.pid), cpu_ns(self.etcd.pid)]
            total = [t + a - b for t, a, b in zip(total, after, before)]
            if undo:
                undo(i)
        return tuple(t // self.samples // 1000 for t in total)


def measure(server, etcd, size, samples):
    meter = Meter(server, etcd, samples)
    row = {"size": size}
    row["create"] = meter.of(lambda i: create(server, f"more-{i}"), lambda i: delete(server, f"more-{i}"))
    row["refused"] = meter.of(lambda _: ask(server, "PATCH", PROVIDER, WITHOUT, expected=(409,)))
    all_of(range(size), delete, server)
    row["granted"] = meter.of(lambda _: ask(server, "PATCH", PROVIDER, WITHOUT), lambda _: ask(server, "PATCH", PROVIDER, WITH))
    return row


def show(row):
    cells = [f"{row['size']:>8}"] + [f"{row[name][0]:>8} {row[name][1]:>8}" for name in ("create", "refused", "granted")]
    print("  ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100,1000,10000,100000")
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    etcd = processes.Etcd(folder / "etcd")
    server = processes.Serve(etcd.endpoint, processes.Certificates(folder / "certificates"))
    print("CPU in microseconds, server and etcd:    one more  removal refused  removal granted")
    try:
        ask(server, "POST", f"{BASE}/providers", {"metadata": {"name": "p"}, "spec": {"data": {}}})
        for size in map(int, options.sizes.split(",")):
            all_of(range(size), create, server)
            show(measure(server, etcd, size, options.samples))
    finally:
        server.stop()
        etcd.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
