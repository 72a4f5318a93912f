"""Clients without credentials, who take connections and give nothing: those with credentials, and probes, come in all the while.

An eighth of the server's connections are for clients that have not shown who they are. With 16,384 connections that is 2,048; the servers here
may open few files, so that a few hundred connections show the same rule."""

import collections
import contextlib
import json
import pathlib
import re
import signal
import socket
import ssl
import time
import uuid

import pytest

pytest.importorskip("hpack")

import attacks
import http2
import processes

FILES = 800  # descriptors, of which three quarters are for clients, and an eighth of those for strangers: 75
STRANGERS = 75
NEWCOMERS = 12
WAIT = 20  # seconds that a newcomer tries to come in: by then every stranger has had its second many times over
READYZ = "/readyz?verbose"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
EVERYTHING = {"namespace": "*", "apiGroup": "*", "resource": "*", "nonResourcePath": "*"}
MAY = [{"group": "system:masters", **EVERYTHING}, {"group": "system:unauthenticated", "readonly": True, **EVERYTHING}]


class Unfinished(attacks.Streams):
    """Requests whose end does not come."""

    def _begin(self, session):
        stream = session.begin(self.method, self.path, self.headers, is_over=False)
        stream.is_counted = False
        self.n_begun += 1
        return stream


def watching(client, **more):
    """Watches over HTTP/2, of what anybody may read."""
    return attacks.Streams(client, f"{CONFIG_MAPS}?watch=true", **more)


ATTACKS = {"closed-window": lambda client, **more: attacks.Stalled(client, READYZ, **more),
           "no-end": lambda client, **more: Unfinished(client, READYZ, **more),
           "no-body": lambda client, **more: Unfinished(client, CONFIG_MAPS, method="POST", **more),
           "watches": watching}


@pytest.fixture
def small(certificates, folder):
    """A server with few descriptors."""
    def start(*flags):
        limited = folder / "annals-with-few-files"
        limited.write_text(f'#!/bin/sh\nexec prlimit --nofile={FILES} {processes.BIN} "$@"\n')
        limited.chmod(0o755)
        store = processes.Etcd(folder / "etcd")
        return processes.Serve(store.endpoint, certificates, *flags, binary=limited)

    return start


def come_in(client, path, until):
    """Over a new connection, as often as it takes: the answer, or None when the time is over."""
    while time.monotonic() < until:
        connection = client.connect(timeout=max(until - time.monotonic(), 0.1))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer
        except (OSError, ssl.SSLError, http2.http.client.HTTPException):
            pass
        finally:
            connection.close()
    return None


@pytest.mark.parametrize("anonymous", ["true", "false"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_strangers__lock_nobody_out(small, folder, attack, anonymous):
    """All places of strangers are taken, and whoever is cut comes again. Each of those who come next gets its answer nevertheless."""
    policy = folder / "policy"
    policy.write_text("".join(json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec}) + "\n"
                              for spec in MAY))
    server = small(f"--anonymous-auth={anonymous}", "--authorization-mode=ABAC", f"--authorization-policy-file={policy}")
    held = server.client.connect()
    held.request("GET", CONFIG_MAPS)
    assert held.getresponse().read()
    with ATTACKS[attack](server.anonymous, connections=STRANGERS, streams=1) as attacking:
        processes.retry_until(lambda: attacking.n_begun >= STRANGERS or attacking.trouble, "the attack is under way")
        for i in range(NEWCOMERS):
            answer = come_in(server.client, CONFIG_MAPS, time.monotonic() + WAIT)
            assert answer and answer.status == 200, f"newcomer {i}: {answer}, {attacking}"
            answer = come_in(server.anonymous, "/readyz", time.monotonic() + WAIT)
            assert answer and answer.status == (200 if anonymous == "true" else 401), f"probe {i}: {answer}, {attacking}"
        held.request("GET", CONFIG_MAPS)
        assert held.getresponse().status == 200, "one with credentials has lost its connection"
    assert attacking.n_lost > 0, attacking


def test_strangers__small_answers_do_not_wait_for_them(small):
    """An answer whose window its stranger keeps closed is dropped; one with credentials may take its time."""
    server = small()
    with http2.connect(server.anonymous, window=0) as stranger, http2.connect(server.client, window=0) as known:
        taken = known.begin("GET", READYZ)
        dropped = stranger.begin("GET", READYZ)
        stranger.finish(dropped)
        assert (dropped.status, dropped.reset) == (200, http2.CANCEL)
        known.let_come(1 << 20)
        known.let_come(1 << 20, taken)
        known.finish(taken)
        assert (taken.status, taken.reset) == (200, None) and taken.body
        # The connection is as good as before.
        stranger.let_come(1 << 20)
        again = stranger.begin("GET", READYZ)
        stranger.let_come(1 << 20, again)
        assert stranger.finish(again).reset is None and again.body


TOKENS, AT_ONCE, ROUNDS_EACH = 12_000, 400, 10  # rounds: requests over each connection
RETURNED = 8 << 20  # bytes above what the server had before: 4,096 answers that name nobody are kept


def anonymous_memory(pid):
    return int(re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii"))[1]) << 10


def test_strangers__tokens_leave_no_memory_behind(certificates, folder):
    """A server asks its cluster about each of TOKENS random tokens, AT_ONCE at a time. The cluster is an `annals up`, which reviews tokens, too.
    What questions and connections took is given back."""
    cluster = processes.Up(folder / "cluster", "--store=memory", "--controllers=-namespace")
    store, (cert, key) = processes.Etcd(folder / "etcd"), certificates.server
    server = processes.Process([processes.BIN, "serve", f"--etcd-servers={store.endpoint}", "--bind-address=127.0.0.1", "--secure-port=0",
                                f"--tls-cert-file={cert}", f"--tls-private-key-file={key}", f"--client-ca-file={certificates.ca}",
                                f"--kubeconfig={cluster.kubeconfig}", "--authentication-skip-lookup"])
    port = server.stderr.wait(r"listening on 127\.0\.0\.1 port (\d+)")[1]
    if re.search("lib[at]san", pathlib.Path(f"/proc/{server.pid}/maps").read_text(errors="replace")):
        pytest.skip("a sanitizer keeps what has been freed")
    stranger, statuses = processes.Client(f"https://127.0.0.1:{port}", certificates.ca), collections.Counter()
    stranger.get(CONFIG_MAPS, headers={"Authorization": "Bearer first"})
    before = most = anonymous_memory(server.pid)
    for _ in range(TOKENS // AT_ONCE // ROUNDS_EACH):
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(contextlib.closing(stranger.connect())) for _ in range(AT_ONCE)]
            for _ in range(ROUNDS_EACH):
                for connection in connections:
                    connection.request("GET", CONFIG_MAPS, headers={"Authorization": f"Bearer {uuid.uuid4()}{'x' * 1000}"})
                for connection in connections:
                    answer = connection.getresponse()
                    answer.read()
                    statuses[answer.status] += 1
            most = max(most, anonymous_memory(server.pid))
    assert sum(statuses.values()) == TOKENS and statuses[401] > TOKENS // 4 and set(statuses) <= {401, 429}, statuses
    assert most > before + 2 * RETURNED, "this takes so little that nothing shows"
    processes.retry_until(lambda: anonymous_memory(server.pid) < before + RETURNED, f"memory to be given back, of {most >> 20} MiB")
    print(f"{before >> 10} KiB before, {most >> 10} KiB at most, {anonymous_memory(server.pid) >> 10} KiB afterwards, {dict(statuses)}")


class Silent(attacks.StalledHttp1):
    """HTTP/1.1: a body that does not come."""

    def _begin(self):
        one = self.context.wrap_socket(socket.create_connection((self.client.host, self.client.port)), server_hostname=self.client.host)
        one.sendall(f"POST {self.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode())
        self.n_begun += 1
        self.sockets.append(one)


class Held:
    """HTTP/2 streams on one connection that is left alone from then on, also when the server wants to end it."""

    def __init__(self, client, path, method="GET", is_over=True):
        self.session = http2.connect(client, window=0)
        self.streams = [self.session.begin(method, path, is_over=is_over) for _ in range(5)]

    def start(self):
        return self

    def ready(self):
        assert self.session.round_trip()
        assert self.session.wait(lambda: all(stream.status for stream in self.streams) or self.session.pongs)
        return self

    def stop(self):
        self.session.close()


STALLS = {"closed-window": lambda client, path: Held(client, path),
          "no-body": lambda client, path: Held(client, path, "POST", is_over=False),
          "http1": lambda client, path: attacks.StalledHttp1(client, path, connections=2),
          "http1-watch": lambda client, path: attacks.StalledHttp1(client, f"{path}?watch=true", connections=2),
          "http1-no-body": lambda client, path: Silent(client, CONFIG_MAPS, connections=2)}


N_STALLED = {"closed-window": 5, "no-body": 5, "http1": 2, "http1-watch": 2, "http1-no-body": 2}


@pytest.mark.parametrize("stall", STALLS)
def test_shutdown__does_not_wait_for_who_takes_nothing(small, stall):
    """Requests under way have a minute when the server ends: but not those whose clients neither read nor write. The server says which limit
    has ended them: nothing was left when the minute was over."""
    server = small()
    for i in range(8):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{i}"}, "data": {"text": "x" * 1_000_000}}
        assert server.post(CONFIG_MAPS, body).status == 201
    attacking = STALLS[stall](server.client, CONFIG_MAPS).start().ready()
    server.signal(signal.SIGTERM)
    status = server.wait()
    attacking.stop()
    assert status == 0
    cut = re.search(r"(\d+) requests were cut: their clients had neither read nor sent anything for 5 s", server.stderr.text)
    assert cut and int(cut[1]) == N_STALLED[stall], server.stderr.text
    assert "their requests took longer than there was time" not in server.stderr.text
