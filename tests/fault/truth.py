"""What etcd itself says, through its JSON gateway: the truth that annals is measured against."""

import base64
import bisect
import collections
import http.client
import itertools
import json
import math
import socket
import threading
import time

import processes
from metrics import Metrics

PREFIX = "/annals/"
REVISIONS = "/annals/objects/annals.dev/controllerrevisions/"
PATIENCE = 60  # seconds
ROOM = 1000  # revisions: more than are made while a case runs
LONGEST_REVISION = 10  # digits: more than are made in any test

Change = collections.namedtuple("Change", "revision key value")  # value: the stored object, or the text of another key; None: the key is gone


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(text):
    """Bases of compressed values are no text: nobody here reads them."""
    return base64.b64decode(text).decode(errors="replace")


def has_revision(numbers, first, last):
    """Is one of these numbers, as texts, a revision behind the first one, up to the last one?"""
    return any(first < int(number) <= last for number in numbers if len(number) < LONGEST_REVISION)


def everything():
    """The range of all keys there are."""
    return {"key": encode("\0"), "range_end": encode("\0")}


class Gateway:
    """Calls of etcd's API on the Unix socket it listens on."""

    def __init__(self, endpoint):
        self.path = endpoint.removeprefix("unix://")

    def _post(self, path, body):
        return self._post_to(self.path, path, body)

    @staticmethod
    def _post_to(socket_path, path, body):
        connection = UnixConnection(socket_path)
        connection.request("POST", path, json.dumps(body))
        return connection, connection.getresponse()

    def call(self, path, body):
        connection, response = self._post(path, body)
        try:
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(f"etcd refused {path}: {answer}")
        return answer

    def revision(self):
        return int(self.call("/v3/kv/range", {**everything(), "count_only": True})["header"]["revision"])

    def stored(self):
        """All objects there are: {key: (mod revision, value)}."""
        kvs = self.call("/v3/kv/range", {"key": encode(REVISIONS), "range_end": encode(REVISIONS[:-1] + "0")}).get("kvs", [])
        return {decode(kv["key"]): (int(kv["mod_revision"]), json.loads(decode(kv["value"]))) for kv in kvs}

    def put(self, key, text):
        return int(self.call("/v3/kv/put", {"key": encode(key), "value": encode(text)})["header"]["revision"])

    def delete_all(self, prefix):
        """What begins with it."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        self.call("/v3/kv/deleterange", {"key": encode(prefix), "range_end": encode(end)})

    def step_over(self, numbers):
        """Writes until none of these numbers, as texts, can be a revision of what comes next: whoever compares answers can tell which of the two one is."""
        revision = self.revision()
        while has_revision(numbers, revision, revision + ROOM):
            revision = self.put("/life", "")

    def compact(self, revision):
        self.call("/v3/kv/compaction", {"revision": revision, "physical": True})

    def compact_as_replica(self, revision=None):
        """As annals and kube-apiserver do it: the key that tells the other replicas, then the compaction. Returns the revision, by default that of now."""
        revision = revision or self.revision()
        self.put(PREFIX + "compact_rev_key", str(revision))
        self.compact(revision)
        return revision

    def changes(self, start=1, read=None):
        """All changes from that revision on, in etcd's order; ends only with the connection. read: makes of an event what is wanted of it; else Changes."""
        for batch in self.batches(start, read):
            yield from batch

    def batches(self, start=1, read=None):
        """The same, as etcd sends them: lists, in which each revision is whole."""
        connection, response = self._post("/v3/watch", {"create_request": {**everything(), "start_revision": start}})
        try:
            while (line := response.readline()).endswith(b"\n"):  # else etcd was killed while it was telling
                result = json.loads(line).get("result")
                if result is None:  # etcd itself is ending
                    return
                if result.get("canceled"):
                    raise RuntimeError(f"etcd ended the watch: {result}")
                yield list(map(read or change_of, result.get("events", [])))
        finally:
            connection.close()

    def history(self):
        """All changes up to now."""
        last, found = self.revision(), []
        if last > 1:
            for change in self.changes():
                found.append(change)
                if change.revision >= last:
                    break
        return found


def forget(gateway, servers):
    """Compacts etcd at its newest revision, as an operator or another replica does, and waits until these servers know."""
    gateway.compact_as_replica()
    wanted = gateway.revision()

    processes.retry_until(lambda: all(Metrics(server).sum("annals_cache_revision") >= wanted for server in servers), "annals to notice the compaction")


def change_of(event):
    kv = event["kv"]
    return Change(int(kv["mod_revision"]), decode(kv["key"]), None if event.get("type") == "DELETE" else value_of(decode(kv.get("value", ""))))


def value_of(text):
    """What is stored of an object is one JSON text."""
    return json.loads(text) if text.startswith("{") else text


class Recorder:
    """etcd's own watch from the first revision on, open before anything can be compacted. Goes on where it was when etcd comes back.
    before: what is known already, of all revisions below `start`."""

    def __init__(self, gateway, before=(), start=1):
        self.gateway, self.found, self.next, self.is_over = gateway, list(before), start, False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.is_over:
            try:
                for batch in filter(None, self.gateway.batches(self.next)):
                    self.take(batch)
                    self.next = batch[-1].revision + 1
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # etcd is away

    def take(self, batch):
        """In which each revision is whole."""
        self.found += batch

    def catch_up(self, patience=processes.PATIENCE):
        """Until everything up to now is here. Returns the revision of now: history up to there may be forgotten."""
        last = self.gateway.revision()
        processes.retry_until(lambda: self.next > last, "etcd's own watch", patience=patience)
        return last

    def end(self):
        """Of an etcd that has ended. Returns all its events, by whole revisions."""
        self.is_over = True
        self.thread.join(processes.PATIENCE)
        assert not self.thread.is_alive(), "etcd goes on"
        return self.found

    def truth(self):
        """Everything up to now."""
        self.catch_up()
        return Truth(list(self.found))


class Truth:
    """The history of each ControllerRevision, by "NAMESPACE/NAME"."""

    def __init__(self, changes):
        self.changes = [change._replace(key=change.key.removeprefix(REVISIONS)) for change in changes if change.key.startswith(REVISIONS)]
        self.revisions = [change.revision for change in self.changes]
        self.by_key = collections.defaultdict(list)
        for change in self.changes:
            self.by_key[change.key].append(change)

    def spans(self, key, revision=0):
        """(first, value) for each state the key has been in, in order, beginning with that at `revision`."""
        history = self.by_key.get(key, [])
        start = bisect.bisect_right(history, revision, key=lambda change: change.revision)
        yield (history[start - 1].revision, history[start - 1].value) if start else (0, None)
        for at in range(start, len(history)):
            yield history[at].revision, history[at].value

    def change_at(self, key, revision):
        """What was there before, as in spans(), and the change made exactly then (or None)."""
        history = self.by_key.get(key, [])
        at = bisect.bisect_left(history, revision, key=lambda change: change.revision)
        found = history[at] if at < len(history) and history[at].revision == revision else None
        return (history[at - 1].revision, history[at - 1].value) if at else (0, None), found

    def unchanged(self, revision):
        """(since, until): the revisions around this one between which nothing at all changed."""
        at = bisect.bisect_right(self.revisions, revision)
        return self.revisions[at - 1] if at else 0, self.revisions[at] if at < len(self.revisions) else math.inf

    def state(self, revision, is_wanted=lambda key: True):
        """All objects as they were then: {key: (revision, value)}."""
        found = {}
        for key in filter(is_wanted, self.by_key):
            first, value = next(self.spans(key, revision))
            if value is not None:
                found[key] = (first, value)
        return found

    def after(self, revision):
        """Changes."""
        return itertools.islice(self.changes, bisect.bisect_right(self.revisions, revision), None)
