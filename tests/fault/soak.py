"""Clients that a server has to bear all at once: silent ones, ones that hardly read, ones that write much in bursts, and ordinary ones."""

import concurrent.futures
import contextlib
import itertools
import json
import pathlib
import resource
import selectors
import socket
import ssl
import subprocess
import sys
import threading
import time

import processes

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
# The beginning of a TLS handshake that never goes on.
HALF_A_HELLO = b"\x16\x03\x01\x02\x00\x01"
STORED_SIZE, N_STORED = 64 << 10, 200
BIG_SIZE, BURST = 1_400_000, 20


def raise_file_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def configmap(name, size):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "x" * size}}


def revision(name, size):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "revision": 1, "data": {"text": "x" * size}}


def store(server):
    """What slow readers read."""
    for number in range(N_STORED):
        assert server.post(CONFIGMAPS, configmap(f"stored-{number}", STORED_SIZE)).status == 201


class Silent:
    """Connections that say nothing, half a word, or nothing after their handshake. Those that the server closes come again."""

    def __init__(self, server, n):
        self.server, self.sockets, self.n = server, [], n
        self.context = ssl.create_default_context(cafile=str(server.ca))
        self.numbers = itertools.count()
        self.n_closed = 0
        while len(self.sockets) < n:
            self._open()

    def _open(self):
        client, number = self.server.client, next(self.numbers)
        sock = socket.create_connection((client.host, client.port), processes.PATIENCE)
        try:
            if number % 4 == 1:
                sock.sendall(HALF_A_HELLO)
            elif number % 4 == 2:
                sock = self.context.wrap_socket(sock, server_hostname=client.host)
        except OSError:
            sock.close()  # as is the server's right
            return
        sock.setblocking(False)
        self.sockets.append(sock)

    @staticmethod
    def _is_open(sock):
        try:
            return bool(sock.recv(1000))
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False

    def has_worked(self):
        return True

    def step(self):
        for sock in list(self.sockets):
            if not self._is_open(sock):
                sock.close()
                self.sockets.remove(sock)
                self.n_closed += 1
        while len(self.sockets) < self.n:
            self._open()
        time.sleep(0.2)

    def close(self):
        for sock in self.sockets:
            sock.close()


class SlowReaders:
    """Half of them list all, half watch all; each takes a few bytes now and then."""

    def __init__(self, server, n):
        self.server, self.n = server, n
        self.selector = selectors.DefaultSelector()
        self.n_read = self.n_ended = 0
        for number in range(n):
            self._open(number)

    def _connect(self, number):
        client = self.server.client
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(processes.PATIENCE)
        target = CONFIGMAPS + ("?watch=true" if number % 2 else "")
        try:
            sock.connect((client.host, client.port))
            sock = client.context.wrap_socket(sock, server_hostname=client.host)
            sock.sendall(f"GET {target} HTTP/1.1\r\nHost: {client.host}\r\nAccept: application/json\r\n\r\n".encode())
        except ConnectionError:
            sock.close()
            return None
        sock.setblocking(False)
        return sock

    def _open(self, number):
        sock = processes.retry_until(lambda: self._connect(number), "the connection of a slow reader")
        self.selector.register(sock, selectors.EVENT_READ, number)

    def _read(self, key):
        try:
            n = len(key.fileobj.recv(2048))
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            n = 0
        self.n_read += n
        if n == 0:
            self.n_ended += 1
            self.selector.unregister(key.fileobj)
            key.fileobj.close()
            self._open(key.data)

    def has_worked(self):
        return self.n_read > 0

    def step(self):
        for key, _ in self.selector.select(0.1):
            self._read(key)
        time.sleep(0.5)

    def close(self):
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


class Bursts:
    """Big writes, all at once, again and again; what was written is deleted."""

    def __init__(self, server):
        self.server = server
        self.pool = concurrent.futures.ThreadPoolExecutor(BURST)
        self.names = [f"big-{number}" for number in range(BURST)]
        self.bodies = [json.dumps(revision(name, BIG_SIZE)) for name in self.names]
        self.statuses = {}

    def _post(self, body):
        try:
            return self.server.post(REVISIONS, body).status
        except ConnectionError:
            return "refused"  # before its body was sent, and not waited for

    def has_worked(self):
        return 201 in self.statuses

    def step(self):
        for status in self.pool.map(self._post, self.bodies):
            self.statuses[status] = self.statuses.get(status, 0) + 1
        for name in self.names:
            with contextlib.suppress(ConnectionError):
                self.server.delete(f"{REVISIONS}/{name}")
        time.sleep(1)

    def close(self):
        self.pool.shutdown()


class Ordinary:
    """Makes an object, reads it, changes it, lists some, deletes it."""

    def __init__(self, server, number):
        self.server, self.name = server, f"ordinary-{number}"
        self.statuses = {}

    def has_worked(self):
        return 201 in self.statuses

    def _count(self, request, *arguments):
        try:
            status = request(*arguments).status
        except ConnectionError:
            status = "closed"  # on a busy machine we may be too slow for the server's deadlines
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def step(self):
        path = f"{CONFIGMAPS}/{self.name}"
        self._count(self.server.post, CONFIGMAPS, configmap(self.name, 1000))
        self._count(self.server.get, path)
        self._count(self.server.patch, path, {"data": {"more": "y"}})
        self._count(self.server.get, f"{CONFIGMAPS}?limit=5")
        self._count(self.server.delete, path)

    def close(self):
        pass


class Memory:
    """The most that a process has had."""

    def __init__(self, pid):
        self.path, self.anonymous = pathlib.Path(f"/proc/{pid}/status"), 0

    def _read(self, name):
        for line in self.path.read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
        raise KeyError(name)

    def look(self):
        """Of all pages (VmHWM, which the kernel keeps); and of those that are no file's, as often as somebody looks."""
        self.anonymous = max(self.anonymous, self._read("RssAnon"))
        return self._read("VmHWM")


class Probe:
    """soak_probe.py's answers."""

    def __init__(self, server, *others):
        arguments = [sys.executable, pathlib.Path(__file__).parent / "soak_probe.py", server.url, server.ca, *others]
        self.process = processes.Process(arguments)
        self.process.stdout.wait(" ")

    def mark(self):
        return self.process.stdout.mark()

    def wait(self, since):
        processes.retry_until(lambda: self.mark() > since, "an answer to the probe")

    def answers(self, since, until):
        lines = [line.split() for line in self.process.stdout.lines[since:until]]
        return [(status, float(ms)) for status, ms in lines]

    def close(self):
        self.process.kill()


def summary(answers):
    """What came as a sentence, and what there was but 200."""
    times = sorted(ms for _, ms in answers)
    others = [status for status, _ in answers if status != "200"]
    p50, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
    return f"{len(times)} answers, p50 {p50} ms, p99 {p99} ms, max {times[-1]} ms", others
