#!/usr/bin/env python3
"""What replicas of annals on one etcd cost, and what three members of etcd do: CPU of annals and of etcd for one read, one write, and one event to each of
the watchers, with 1, 2 and 4 replicas on an etcd of one member and of three. docs/explanation/scaling.md has a run.

    ANNALS_BIN=build/annals tests/bench/replicas.py [--replicas 1,2,4] [--members 1,3] [--samples 1500]

What counts are ratios within one run: cases take turns, a round each. Rates say little, for all of it shares a machine with the clients.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import selectors
import shutil
import ssl
import statistics
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "fault")]

import members
import processes
from metrics import Metrics

PATH = "/apis/apps/v1/namespaces/default/controllerrevisions"
CLIENTS = 16
WATCHERS = 96  # of all replicas together
N_READ = 100  # objects
DATA = {"text": "x" * 1000}

local = threading.local()


def cpu_ns(process):
    """Of all threads there are and were."""
    return time.clock_gettime_ns((~process.pid << 3) | 2)  # CPUCLOCK_SCHED of a process, as clock_getcpuclockid() makes it


def ask(server, method, path, body=None):
    """Over a connection of the thread's own."""
    if getattr(local, "server", None) is not server:
        local.server, local.connection = server, server.client.connect()
    local.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = local.connection.getresponse()
    text = answer.read()
    assert answer.status in (200, 201), (method, path, answer.status, text[:500])


class Stream:
    """The body of an answer that never ends, chunk by chunk."""

    def __init__(self):
        self.rest, self.left, self.has_begun = bytearray(), 0, False

    def take(self, data):
        """How many lines end in it."""
        self.rest += data
        n_lines = 0
        if not self.has_begun and b"\r\n\r\n" in self.rest:
            assert self.rest.startswith(b"HTTP/1.1 200 "), self.rest
            del self.rest[:self.rest.index(b"\r\n\r\n") + 4]
            self.has_begun = True
        while self.has_begun and self.rest:
            if self.left <= 2 and len(self.rest) < self.left:
                break
            if self.left <= 2:  # what ends a chunk; at first there is none
                head = self.rest.find(b"\r\n", self.left)
                if head < 0:
                    break
                self.left, head = int(self.rest[self.left:head], 16) + 2, head + 2
                del self.rest[:head]
            part = bytes(self.rest[:self.left - 2])
            n_lines += part.count(b"\n")
            self.left -= len(part)
            del self.rest[:len(part)]
        return n_lines


class Watchers:
    """Read their events and count them."""

    def __init__(self, servers, n):
        self.selector, self.n_lines, self.sockets = selectors.DefaultSelector(), 0, []
        for server in itertools.islice(itertools.cycle(servers), n):
            version = server.get(f"{PATH}?limit=1").json["metadata"]["resourceVersion"]
            connection = server.client.connect()
            connection.connect()
            connection.sock.sendall(f"GET {PATH}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.sock.setblocking(False)
            self.selector.register(connection.sock, selectors.EVENT_READ, Stream())
            self.sockets.append(connection)

    def read(self, n_lines):
        """Until so many lines have come."""
        deadline = time.monotonic() + processes.PATIENCE
        while self.n_lines < n_lines:
            assert time.monotonic() < deadline, f"{self.n_lines} of {n_lines} events"
            for key, _ in self.selector.select(1):
                self._take(key.fileobj, key.data)

    def _take(self, sock, stream):
        try:
            while data := sock.recv(1 << 16):
                self.n_lines += stream.take(data)
        except ssl.SSLWantReadError:
            pass

    def close(self):
        for connection in self.sockets:
            connection.close()


class Case:
    """So many replicas on an etcd of so many members."""

    def __init__(self, folder, certificates, n_replicas, n_members):
        self.name, self.results = (n_members, n_replicas), {}
        self.etcd = members.Members(folder) if n_members > 1 else processes.Etcd(folder)
        self.etcds = self.etcd.all if n_members > 1 else [self.etcd]
        ends = self.etcd.endpoint.split(",")
        # Each prefers another member, as replicas beside members do.
        self.servers = [processes.Serve(",".join(ends[i % len(ends):] + ends[:i % len(ends)]), certificates) for i in range(n_replicas)]
        self.names = itertools.count()
        for _ in range(N_READ):
            self.create(self.servers[0])
        for server in self.servers:
            processes.retry_until(lambda server=server: len(server.get(PATH).json["items"]) >= N_READ, "the objects")

    def create(self, server):
        ask(server, "POST", PATH, {"metadata": {"name": f"r{next(self.names)}"}, "revision": 1, "data": DATA})

    def rounds(self):
        return sum(Metrics(server).sum("annals_read_index_rounds_total") for server in self.servers)

    def measure(self, what, n, play):
        """The function does it n times."""
        before = [[cpu_ns(process) for process in group] for group in (self.servers, self.etcds)]
        begun = time.monotonic()
        play()
        took = time.monotonic() - begun
        after = [[cpu_ns(process) for process in group] for group in (self.servers, self.etcds)]
        annals, etcd = [[(b - a) / n / 1000 for a, b in zip(*pair)] for pair in zip(before, after)]
        self.results.setdefault(what, []).append((annals, etcd, n / took))

    def all_at_once(self, n, each, servers=None):
        """By clients of which each has a replica and a connection; others do the rest."""
        servers = servers or self.servers

        def client(number):
            for i in range(number, n, CLIENTS):
                each(servers[number % len(servers)], i)

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for done in pool.map(client, range(CLIENTS)):
                assert done is None

    def round(self, n):
        def get(query):
            return lambda: self.all_at_once(n, lambda server, i: ask(server, "GET", f"{PATH}/r{i % N_READ}{query}"))

        self.measure("GET, content with the cache", n, get("?resourceVersion=0"))
        rounds = self.rounds()
        self.measure("GET, linearizable", n, get(""))
        self.results.setdefault("questions", []).append((self.rounds() - rounds) / n)
        self.measure("CREATE", n, lambda: self.all_at_once(n, lambda server, _: self.create(server)))
        self.measure("CREATE at one of them", n, lambda: self.all_at_once(n, lambda server, _: self.create(server), self.servers[:1]))
        self.measure("CREATE, one client", n // 5, lambda: [self.create(self.servers[0]) for _ in range(n // 5)])
        self.watch(max(n // 10, 20))

    def watch(self, n):
        watchers = Watchers(self.servers, WATCHERS)

        def play():
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                writer = pool.submit(lambda: [self.create(self.servers[0]) for _ in range(n)])
                watchers.read(n * WATCHERS)
                writer.result()

        self.measure("an event to each watcher", n, play)
        watchers.close()

    def stop(self):
        for process in [*self.servers, *self.etcds]:
            process.kill()


def figure(results, at):
    return statistics.median(sum(result[at]) for result in results)


def show(cases):
    print(f"\nmicroseconds of CPU for one, all replicas and members together (medians); {CLIENTS} clients, {WATCHERS} watchers")
    for what in cases[0].results:
        if what == "questions":
            continue
        print(f"\n{what}")
        for case in cases:
            results = case.results[what]
            line = f"  {case.name[0]} member(s), {case.name[1]} replica(s): annals {figure(results, 0):8.0f}  etcd {figure(results, 1):8.0f}"
            line += f"  a second {statistics.median(result[2] for result in results):7.0f}"
            if what == "GET, linearizable":
                line += f"  questions to etcd {statistics.median(case.results['questions']):.2f}"
            if what == "CREATE at one of them" and case.name[1] > 1:
                line += f"  each other replica {statistics.median(statistics.mean(result[0][1:]) for result in results):.0f}"
            if case.name[0] > 1:
                line += "  members " + "/".join(f"{statistics.median(values):.0f}" for values in zip(*(sorted(result[1], reverse=True) for result in results)))
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", default="1,2,4")
    parser.add_argument("--members", default="1,3")
    parser.add_argument("--samples", type=int, default=1500, help="requests of each kind in a round")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/dev/shm"))
    cases = []
    try:
        certificates = processes.Certificates(folder / "pki")
        for number, (n_members, n_replicas) in enumerate(itertools.product(map(int, args.members.split(",")), map(int, args.replicas.split(",")))):
            cases.append(Case(folder / f"e{number}", certificates, n_replicas, n_members))
        for number in range(args.rounds):
            for case in cases:
                case.round(args.samples)
            print(f"round {number + 1} of {args.rounds}", flush=True)
        show(cases)
    finally:
        for case in cases:
            case.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
