#!/usr/bin/env python3
"""What a migration costs: objects a second, CPU of server and etcd for each object, and what becomes of GETs meanwhile. docs/explanation/performance.md has a run.

    ANNALS_BIN=build/annals tests/bench/migration.py [--objects 100000] [--rates 1000,0]
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "fault")]

import processes
import truth
from references import cpu_ns

V1 = "/apis/annals.dev/v1"
DEPENDENTS, MIGRATIONS = f"{V1}/namespaces/default/dependents", f"{V1}/storagemigrations"
KEY = "/annals/objects/annals.dev/dependents/default/"
QUIET_S, PAUSE_S, BATCH = 10, 0.002, 100


class World:
    """An etcd full of Dependents that are stored as v1beta1, and a server that stores them as v1."""

    def __init__(self, folder, n, rate):
        self.n = n
        self.certificates = processes.Certificates(folder / "certificates")
        self.etcd = processes.Etcd(folder / "etcd")
        self.fill(self.template())
        self.server = self.start("--storage-migration=Manual", f"--storage-migration-rate={rate}")

    def start(self, *flags):
        return processes.Serve(self.etcd.endpoint, self.certificates, "--replica-lease-duration=2s", *flags)

    def template(self):
        """What is stored of one, made by a server."""
        server = self.start("--storage-version=dependents=v1beta1", "--storage-migration=Off")
        made = server.post(DEPENDENTS, {"metadata": {"name": "x000000"}, "spec": {"providers": [{"name": "p"}, {"name": "q"}]}})
        assert made.status == 201, made
        server.stop()
        return self.etcd.ctl("get", "--print-value-only", KEY + "x000000").strip(), made.json["metadata"]["uid"]

    def fill(self, template):
        text, uid = template
        gateway = truth.Gateway(self.etcd.endpoint)
        names = [(f"x{i:06}", f"{i:012}") for i in range(self.n)]
        for at in range(0, self.n, BATCH):
            puts = [{"request_put": {"key": truth.encode(KEY + name), "value": truth.encode(text.replace("x000000", name).replace(uid[-12:], end))}}
                    for name, end in names[at:at + BATCH]]
            gateway.call("/v3/kv/txn", {"success": puts})

    def stop(self):
        self.server.stop()
        self.etcd.stop()


class Reader(threading.Thread):
    """GETs of one object after the other over one connection; how long each took."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.took, self.is_over = world, [], False

    def run(self):
        connection = self.world.server.client.connect()
        while not self.is_over:
            started = time.perf_counter()
            connection.request("GET", f"{DEPENDENTS}/x{len(self.took) * 37 % self.world.n:06}")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            self.took.append(time.perf_counter() - started)
            time.sleep(PAUSE_S)
        connection.close()


class Stretch:
    """Some time with reads in it: p50 and p99 of them, seconds, CPU of server and etcd."""

    def __init__(self, world, something):
        pids, reader = [world.server.pid, world.etcd.pid], Reader(world)
        before, started = [cpu_ns(pid) for pid in pids], time.monotonic()
        reader.start()
        something()
        self.seconds = time.monotonic() - started
        self.cpu_ns = [cpu_ns(pid) - was for pid, was in zip(pids, before)]
        reader.is_over = True
        reader.join()
        took = sorted(reader.took)
        self.p50, self.p99 = took[len(took) // 2], took[len(took) * 99 // 100]


def migrate(world):
    assert world.server.post(MIGRATIONS, {"metadata": {"name": "all"}, "spec": {"resource": {"group": "annals.dev", "resource": "dependents"}}}).status == 201

    def ended():
        items = world.server.get(f"{MIGRATIONS}?fieldSelector=status.state%3DSucceeded").json["items"]
        return items and items[0]["status"]["objects"]

    processes.PATIENCE = 3600
    objects = processes.retry_until(ended, "the migration", interval=0.1)
    assert objects == {"total": world.n, "migrated": world.n, "remaining": 0, "conflicts": 0}, objects


def measure(world):
    quiet = Stretch(world, lambda: time.sleep(QUIET_S))
    busy = Stretch(world, lambda: migrate(world))
    costs = [(b - q * busy.seconds / quiet.seconds) / world.n / 1000 for b, q in zip(busy.cpu_ns, quiet.cpu_ns)]
    return {"rate": world.n / busy.seconds, "server": costs[0], "etcd": costs[1], "p50": busy.p50 / quiet.p50, "p99": busy.p99 / quiet.p99}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=100000)
    parser.add_argument("--rates", default="1000,0")
    options = parser.parse_args()
    print("  limit  objects/s  CPU of server, etcd (us an object)  GET p50, p99 (multiples of what they are without)")
    for rate in options.rates.split(","):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
        world = World(folder, options.objects, rate)
        try:
            m = measure(world)
            print(f"{rate:>7}  {m['rate']:9.0f}  {m['server']:14.0f} {m['etcd']:8.0f}  {m['p50']:22.1f} {m['p99']:8.1f}", flush=True)
        finally:
            world.stop()
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
