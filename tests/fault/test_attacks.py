"""The attacks of attacks.py, each on a server of its own whose memory is limited. Meanwhile others ask, in ways that the attack does not touch and in
those that it does: none of them is refused, and all of them are answered. How long they wait is printed, and decides nothing: PATIENCE ends a broken test.
"""

import collections
import json
import pathlib
import re
import resource
import threading
import time

import pytest

pytest.importorskip("hpack")

import attacks
import http2
import processes
from objects import revision, revisions

MIB = 1 << 20
LARGE = MIB  # bytes of an object
ROUNDS = 40  # of each onlooker
ONLOOKERS = 6  # on connections that are kept: every thread of the server has some
CONTAINER = 256 * MIB  # in which four connections must not end a server with few objects
ADDRESS_SPACE = 4096 * MIB  # a server that runs away dies rather than the machine


def resident(pid, what="VmRSS"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"{what}:\s+(\d+) kB", status)[1]) << 10


@pytest.fixture
def server(folder):
    started = processes.Up(folder / "data", "--store=memory", "--controllers=-namespace")
    if not processes_are_sanitized(started.pid):  # those map terabytes
        resource.prlimit(started.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    assert started.post(revisions(), revision("small")).status == 201
    return started


def fill(server, n):
    """Objects of 1 MB, of many lines."""
    for i in range(n):
        text = "".join(f"{line} of {i}: x\n" for line in range(LARGE // 12))[:LARGE]
        assert server.post(revisions(), revision(f"large{i:03}", data={"text": text})).status == 201


def metric(server, name):
    return float(re.search(rf"^{name} (\S+)$", server.get("/metrics").text, re.MULTILINE)[1])


class Onlookers:
    """Others: each asks ROUNDS times, reads and writes in turn, over a kept connection of HTTP/2, a kept one of HTTP/1.1, or new ones."""

    def __init__(self, server):
        self.server, self.lock = server, threading.Lock()
        self.answers, self.waits, self.problems = collections.Counter(), [], []

    def _ask(self, client, method, path, body=None, kept=None):
        headers = {"Accept": "application/json", "Content-Type": "application/merge-patch+json"}
        began = time.monotonic()
        connection = kept or client.connect()
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        if not kept:
            connection.close()
        with self.lock:
            self.waits.append(time.monotonic() - began)
            self.answers[method, path, response.status] += 1

    def _look(self, number):
        try:
            client = self.server.client
            kept = [http2.Connection(client.host, client.port, context=client.make_context(["h2"]), timeout=processes.PATIENCE),
                    client.connect(), None][number % 3]
            for i in range(ROUNDS):
                self._ask(client, "GET", revisions() + "/small", kept=kept)
                self._ask(client, "PATCH", revisions() + "/small", b'{"revision":%d}' % (number * ROUNDS + i + 1), kept=kept)
                self._ask(client, "GET", "/readyz", kept=kept)
            if kept:
                kept.close()
        except Exception as error:  # pylint: disable=broad-except
            self.problems.append(error)

    def run(self, label):
        threads = [threading.Thread(target=self._look, args=[i], daemon=True) for i in range(ONLOOKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()  # each answer comes within PATIENCE, or its client raises
        waits = sorted(self.waits)
        print(f"{label}: {len(waits)} answers, p50 {waits[len(waits) // 2] * 1000:.1f} ms, p99 {waits[len(waits) * 99 // 100] * 1000:.1f} ms, "
              f"longest {waits[-1] * 1000:.1f} ms, {resident(self.server.pid) >> 20} MiB")
        assert not self.problems, self.problems
        assert sum(self.answers.values()) == ONLOOKERS * ROUNDS * 3
        assert {status for _, _, status in self.answers} == {200}, self.answers


def check_others(server, attack, label):
    with attack:
        attack.ready()
        Onlookers(server).run(label)
        print(attack)
    return attack


def test_small_answers_that_nobody_takes_hold_no_place(server):
    """As many requests as writes may be under way, and more."""
    attack = attacks.Stalled(server.client, connections=3, streams=100, **attacks.REVIEW)
    check_others(server, attack, "300 reviews")
    assert set(attack.statuses) == {201} and attack.statuses[201] >= 300, attack


def test_writes_whose_bodies_do_not_come_hold_no_place(server):
    """More than writes may be under way."""
    attack = check_others(server, attacks.Unfinished(server.client), "300 bodies that do not come")
    assert attack.n_begun >= 300 and not attack.statuses, attack


def test_bodies_that_do_not_come_give_way(server):
    """They fill the memory of writes, for a user without privileges. Whoever is refused may come again, and finds room long before a body's minute is over."""
    user = {"Impersonate-User": "bob"}
    attack = attacks.Unfinished(server.client, n=3 * MIB - 1, length=3 * MIB, connections=10, streams=1, again=False)
    attack.headers.append(("impersonate-user", "bob"))
    with attack:
        attack.ready()
        ask = lambda: server.post(attacks.REVIEW["path"], json.loads(attacks.REVIEW["body"]), headers=user).status
        processes.retry_until(lambda: metric(server, "annals_mutating_request_bytes") > 60 * MIB, "the bodies to fill the memory")
        assert ask() == 429
        processes.retry_until(lambda: ask() == 201, "room for a small write", patience=40)
        print(attack)


def test_reads_that_nobody_takes_hold_no_place(server):
    """As many as reads may be under way, and more; of lists that are sent piece by piece, and of single objects."""
    fill(server, 1)
    check_others(server, attacks.Stalled(server.client, revisions(), connections=5, streams=100), "500 lists")
    check_others(server, attacks.Stalled(server.client, revisions() + "/small", connections=5, streams=100), "500 objects")
    check_others(server, attacks.StalledHttp1(server.client, revisions() + "/large000", connections=100), "100 connections of HTTP/1.1")


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
                                    "application/json;as=Table;v=v1;g=meta.k8s.io"])
def test_memory_of_answers_is_what_is_counted(server, accept):
    """Refused answers, too, hold nothing that is not counted."""
    if processes_are_sanitized(server.pid):
        pytest.skip("a sanitizer keeps what has been freed")
    fill(server, 1)
    path = revisions() + "/large000"
    # Once, so that what the first of them leaves behind (threads' memory, a cached message) is not taken for the answers'.
    for _ in range(3):
        assert server.get(path, headers={"Accept": accept}).status == 200
    before, counted_before = resident(server.pid), metric(server, "annals_read_request_bytes")
    attack = attacks.Stalled(server.client, path, connections=4, streams=100, headers=[("accept", accept)])
    with attack:
        attack.ready()
        processes.retry_until(lambda: sum(attack.statuses.values()) >= 400, "all are answered")
        # Answers are made in bursts: what that took beside them is given back a second later.
        limit = 64 * MIB  # --max-requests-inflight-mib

        def is_as_counted():
            counted = metric(server, "annals_read_request_bytes") - counted_before
            grown = resident(server.pid) - before
            is_as_counted.seen = f"{grown / MIB:.1f} MiB more, {counted / MIB:.1f} MiB counted, {attack}"
            assert counted <= limit * 1.2  # with refusals, and answers that have been asked to give way
            return grown <= counted * 1.1 + 8 * MIB

        try:
            processes.retry_until(is_as_counted, "memory is what is counted")
        finally:
            print(accept, is_as_counted.seen, f"{resident(server.pid, 'VmHWM') >> 20} MiB at most")
    assert processes_are_sanitized(server.pid) or resident(server.pid, "VmHWM") < CONTAINER


def processes_are_sanitized(pid):
    return re.search(r"lib[at]san", pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")) is not None


@pytest.mark.parametrize("accept", attacks.LIST_TYPES)
def test_expensive_lists_of_one_connection_stop_nobody(server, accept):
    """A hundred lists of 20 MB at once, as long as others ask. With objects of 1 MB there is room for some of them at a time."""
    fill(server, 20)
    attack = attacks.Lists(server.client, revisions(), accept, streams=100)
    check_others(server, attack, accept)
    assert 200 in attack.statuses and set(attack.statuses) <= {200, 429}, attack
    assert processes_are_sanitized(server.pid) or resident(server.pid, "VmHWM") < CONTAINER


def test_memory_of_answers_in_the_making_is_bounded(server):
    """The tree of a text of digits takes twenty times as much, and each request for it as YAML has to wait for others."""
    assert server.post(revisions(), revision("digits", data={"list": [1] * (LARGE // 4)})).status == 201
    if processes_are_sanitized(server.pid):
        pytest.skip("a sanitizer keeps what has been freed")
    with attacks.Stalled(server.client, revisions() + "/digits", connections=4, streams=100, headers=[("accept", "application/yaml")]) as attack:
        attack.ready()
        processes.retry_until(lambda: sum(attack.statuses.values()) >= 400, "all are answered")
        assert set(attack.statuses) == {200, 429}, attack
        assert server.get(revisions() + "/small").status == 200
    assert resident(server.pid, "VmHWM") < CONTAINER


BUDGET = 64 * MIB  # of answers, and as much for writes
N_OBJECTS = 40  # of LARGE


def test_container_of_the_formula_holds_everything_at_once(certificates, folder):
    """docs/how-to/limits.md: 128 MiB, both budgets, and twice the size of all objects. All objects have been changed, so the cache keeps what
    it may of former ones; answers that nobody takes and bodies that do not come fill the budgets; and others list in every form."""
    store = processes.Etcd(folder / "etcd")
    server = processes.Serve(store.endpoint, certificates)
    if processes_are_sanitized(server.pid):
        pytest.skip("a sanitizer keeps what has been freed")
    assert server.post(revisions(), revision("small")).status == 201
    fill(server, N_OBJECTS)
    for i in range(N_OBJECTS):
        assert server.patch(f"{revisions()}/large{i:03}", {"metadata": {"labels": {"changed": "yes"}}}).status == 200
    mark = f"{N_OBJECTS} objects: {resident(server.pid) / MIB:.0f} MiB"
    answers = attacks.Stalled(server.client, revisions() + "/large000", connections=4, streams=100)
    bodies = attacks.Unfinished(server.client, n=3 * MIB - 1, length=3 * MIB, connections=10, streams=1)
    with answers, bodies:
        answers.ready()
        for name in ("read", "mutating"):
            full = f"annals_{name}_request_bytes"
            processes.retry_until(lambda: metric(server, full) > BUDGET * 3 / 4, f"{full} to be near its limit")
        for accept in attacks.LIST_TYPES:
            with attacks.Lists(server.client, revisions(), accept, streams=8) as lists:
                processes.retry_until(lambda lists=lists: sum(lists.statuses.values()) >= 8, f"lists as {accept}")
    most = resident(server.pid, "VmHWM")
    print(f"{mark}, {most / MIB:.0f} MiB at most, {answers}, {bodies}")
    assert most < 128 * MIB + 2 * BUDGET + 2 * N_OBJECTS * LARGE


EVERYTHING = {"namespace": "*", "apiGroup": "*", "resource": "*", "nonResourcePath": "*"}
ASK_ROUNDS = 15
ROUNDS_SANITIZED = 3  # ThreadSanitizer takes seconds for each answer of a megabyte
ASKED = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]


@pytest.fixture
def crowded(folder):
    """A server of alice and bob, who may read, and of nobody else but its administrator. clients: those of all three."""
    tokens, policy = folder / "tokens", folder / "policy"
    tokens.write_text("".join(f"{name},{name},uid-of-{name}\n" for name in ("alice", "bob")))
    policy.write_text(json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
                                  "spec": {"group": "system:authenticated", "readonly": True, **EVERYTHING}}) + "\n")
    started = processes.Up(folder / "data", "--store=memory", "--controllers=-namespace", f"--token-auth-file={tokens}",
                           f"--authorization-policy-file={policy}")
    if not processes_are_sanitized(started.pid):
        resource.prlimit(started.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    started.clients = {name: processes.Client(started.url, started.ca, token=name) for name in ("alice", "bob")}
    started.clients["system:masters"] = started.client
    fill(started, 3)
    return started


class Other:
    """Somebody else's requests, one after the other, each over a connection of its own, by HTTP/1.1 and HTTP/2 in turn."""

    def __init__(self, client, may_write, rounds):
        self.client, self.may_write, self.rounds = client, may_write, rounds
        self.answers, self.waits, self.trouble = collections.Counter(), [], None
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()

    def _connect(self):
        client, is_http2 = self.client, len(self.waits) // (len(ASKED) * 2 + 1) % 2
        if is_http2:
            return http2.Connection(client.host, client.port, context=client.make_context(["h2"]), timeout=processes.PATIENCE)
        return client.connect()

    def _ask(self, label, method, path, body=None, accept="application/json"):
        headers = {"Accept": accept, "Content-Type": "application/json"}
        if self.client.token:
            headers["Authorization"] = f"Bearer {self.client.token}"
        began = time.monotonic()
        connection = self._connect()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        self.waits.append(time.monotonic() - began)
        self.answers[label, answer.status] += 1

    def _main(self):
        try:
            for i in range(self.rounds):
                for accept in ASKED:
                    self._ask(f"GET {accept}", "GET", revisions() + "/large001", accept=accept)
                    self._ask(f"LIST {accept}", "GET", revisions(), accept=accept)
                self._ask("review", "POST", attacks.REVIEW["path"], attacks.REVIEW["body"])
                if self.may_write:
                    self._ask("create", "POST", revisions(), json.dumps(revision(f"new{i}")).encode())
        except Exception as error:  # pylint: disable=broad-except
            self.trouble = error

    def check(self, label):
        self.thread.join()  # each answer comes within PATIENCE, or the client raises
        waits = sorted(self.waits)
        print(f"{label}: {len(waits)} answers, p50 {waits[len(waits) // 2] * 1000:.1f} ms, longest {waits[-1] * 1000:.1f} ms")
        assert not self.trouble, (label, self.trouble)
        assert {status for _, status in self.answers} <= {200, 201}, (label, self.answers)


@pytest.mark.parametrize("greed", attacks.greed(None, ""))
def test_one_user_leaves_room_for_the_others(crowded, greed):
    """alice takes all that she can get, over many connections. Neither bob nor an administrator is refused anything meanwhile."""
    attack = attacks.greed(crowded.clients["alice"], revisions() + "/large000")[greed]()
    with attack:
        attack.ready()
        rounds = ROUNDS_SANITIZED if processes_are_sanitized(crowded.pid) else ASK_ROUNDS
        others = {name: Other(crowded.clients[name], name != "bob", rounds) for name in ("bob", "system:masters")}
        for name, other in others.items():
            other.check(name)
        print(greed, attack)
    assert set(attack.statuses) <= {200, 429}, attack
    assert processes_are_sanitized(crowded.pid) or resident(crowded.pid, "VmHWM") < CONTAINER


def test_expensive_objects_of_one_connection_stop_nobody(server):
    """The same with single objects: a hundred requests come in one packet."""
    fill(server, 1)
    attack = attacks.Lists(server.client, revisions() + "/large000?resourceVersion=0", "application/yaml", streams=100)
    check_others(server, attack, "objects as YAML")
    assert set(attack.statuses) <= {200, 429}, attack
    assert processes_are_sanitized(server.pid) or resident(server.pid, "VmHWM") < CONTAINER
