"""Watchers that come and go, and remember all their events."""

import dataclasses
import http.client
import itertools
import json
import math
import random
import urllib.parse

import processes
import session
from protobuf_fields import PROTOBUF, decoded, frames
from transitions import Event, Form, existing, meaning, transitions

API_VERSIONS = ("apps/v1", "annals.dev/v1")


@dataclasses.dataclass
class Segment:
    """A gapless stretch of history, over however many connections: events after `start`, up to `end` at least."""

    start: int
    existing: dict = None  # at start; None: not known
    events: list = dataclasses.field(default_factory=list)
    end: int = 0
    era: int = 0  # of the world, in which it began


class Interrupted(Exception):
    """The connection is gone. What was read before it counts."""


class Stream:
    """The events of one connection, in the form that it was answered in."""

    def __init__(self, server, path, query, accept):
        self.connection = server.client.connect(session.TIMEOUT)
        try:
            self.connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}", headers={"Accept": accept})
            self.response = self.connection.getresponse()
        except (OSError, http.client.HTTPException):
            raise Interrupted from None

    def __iter__(self):
        try:
            if self.response.headers["Content-Type"].startswith(PROTOBUF):
                yield from ({"type": kind, "object": decoded(body)} for kind, body in frames(self.response.read))
                return
            while (line := self.response.readline()).endswith(b"\n"):
                yield json.loads(line)
        except TimeoutError:
            raise AssertionError("a watch goes on longer than it was asked to") from None
        except (OSError, http.client.HTTPException):
            raise Interrupted from None

    def close(self):
        self.connection.close()


def key_of(body):
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def revision_of(body):
    return int(body["metadata"]["resourceVersion"])


def is_initial_end(event):
    return event["type"] == "BOOKMARK" and event["object"]["metadata"].get("annotations", {}).get("k8s.io/initial-events-end") == "true"


class Watcher:
    """A member of a crew; each step is a connection to some server. start: how it learns what exists: "list", "watch-list" or "zero".
    Now and then it begins again at some place where it has been, to get everything a second time."""

    Session, api_versions, accepts = session.Session, API_VERSIONS, ("application/json", f"{PROTOBUF},application/json")

    def __init__(self, world, number, form, start):
        self.world, self.form, self.start = world, form, start
        self.random = random.Random(number)
        self.segments, self.segment = [], None
        self.successes = self.failures = self.n_expired = 0
        self.is_settling = False

    @property
    def position(self):
        return self.segment.end if self.segment else 0

    @property
    def n_events(self):
        return sum(len(segment.events) for segment in self.segments)

    def step(self):
        try:
            if self.segment is None:
                getattr(self, "_start_" + self.start.replace("-", "_"))()
            else:
                self._follow()
            self.successes += 1
        except Interrupted:
            self.failures += 1
            session.rest_a_moment()

    # ---- where it begins ----

    def _begin(self, revision, there):
        self.segment = Segment(revision, there, end=revision)
        self.segments.append(self.segment)

    def _start_list(self):
        asking = self.Session(self.world, self.random.randrange(len(self.world.servers)))
        query = {name: value for name, value in self._query().items() if name.endswith("Selector")}
        reply = asking.ask("GET", f"{self._path()}?{urllib.parse.urlencode(query)}", accept=self.random.choice(self.accepts))
        asking.close()
        if reply.outcome != "ok":
            raise Interrupted
        there = {key_of(item): (revision_of(item), meaning({**item, "kind": "ControllerRevision"})) for item in reply.body["items"]}
        self._begin(int(reply.body["metadata"]["resourceVersion"]), there)

    def _start_watch_list(self):
        self._start_existing({"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"})

    def _start_zero(self):
        self._start_existing({"resourceVersion": "0"})

    def _start_existing(self, query):
        there = {}
        for event in self._connect(query):
            body = event["object"]
            if event["type"] == "ERROR":
                self._lose(event)
                return
            if is_initial_end(event):
                self._begin(revision_of(body), there)
            elif self.segment:
                self._take(event)
            else:
                assert event["type"] == "ADDED", f"among existing objects: {event}"
                assert key_of(body) not in there, f"came twice: {event}"
                there[key_of(body)] = (revision_of(body), meaning(body))

    # ---- following ----

    def _follow(self):
        if not self.is_settling and self.random.random() < 0.1:
            self._begin(self.random.choice([self.segment.start] + [event.revision for event in self.segment.events[-200:]]), None)
        for event in self._connect({"resourceVersion": str(self.segment.end)}):
            if event["type"] == "ERROR":
                self._lose(event)
                return
            self._take(event)

    def _lose(self, event):
        """What comes next is not known: only a list tells what there is. Unless a server that is behind of etcd could not begin: nothing is lost."""
        if event["object"]["code"] == 504 and event["object"]["reason"] == "Timeout":
            raise Interrupted
        assert event["object"]["code"] == 410 and event["object"]["reason"] == "Expired", event
        self.n_expired += 1
        self.segment = None

    def _take(self, event):
        body, revision = event["object"], revision_of(event["object"])
        if event["type"] != "BOOKMARK":
            self.segment.events.append(Event(event["type"], revision, meaning(body)))
        self.segment.end = max(self.segment.end, revision)

    # ---- asking ----

    def _path(self):
        within = f"namespaces/{self.form.namespace}/" if self.form.namespace else ""
        return f"/apis/{self.random.choice(self.api_versions)}/{within}controllerrevisions"

    def _query(self):
        selector = dict(urllib.parse.parse_qsl(self.form.selector))
        return {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(self.random.randint(1, 3)), **selector}

    def _connect(self, query):
        """Events until the stream ends, or this watcher has had enough of it."""
        server = self.random.choice(self.world.servers)
        stream, patience = Stream(server, self._path(), {**self._query(), **query}, self.random.choice(self.accepts)), self.random.choice([1, 2, 4, 50, 500])
        try:
            if stream.response.status in (429, 503, 504):
                raise Interrupted
            assert stream.response.status == 200, stream.response.read()
            for event in stream:
                yield event
                patience -= 1
                if patience <= 0 and not self.is_settling:
                    return
        finally:
            stream.close()


# ---- what they watch ----


NAMESPACES, NAMES, TIERS = ["a", "b", "c"], ["one", "two", "three", "four", "five", "six"], ["red", "blue", None]


def tier(value):
    return value["metadata"].get("labels", {}).get("tier")


FORMS = [
    Form("all"),
    Form("namespace", namespace="a"),
    Form("label", selector="labelSelector=tier%3Dred", matches=lambda value: tier(value) == "red"),
    Form("labels", selector="labelSelector=tier+in+(red,blue)", matches=lambda value: tier(value) is not None),
    Form("no-label", namespace="b", selector="labelSelector=!tier", matches=lambda value: tier(value) is None),
    Form("name", selector="fieldSelector=metadata.name%3Dtwo", matches=lambda value: value["metadata"]["name"] == "two"),
    Form("name-and-label", namespace="c", selector="fieldSelector=metadata.name%3Done&labelSelector=tier!%3Dblue",
         matches=lambda value: value["metadata"]["name"] == "one" and tier(value) != "blue"),
]
STARTS = ["list", "watch-list", "zero"]


class Mutator:
    """A member of a crew that changes anything, whatever there is."""

    def __init__(self, world, number, server):
        self.session, self.random = session.Session(world, server), random.Random(number)
        self.successes = self.failures = self.n = 0

    def step(self):
        namespace, name = self.random.choice(NAMESPACES), self.random.choice(NAMES)
        self.n += 1
        method, body, content_type = self.random.choice([self._create, self._create, self._label, self._label, self._revise, self._delete])(name)
        path = f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions" + ("" if method == "POST" else f"/{name}")
        reply = self.session.ask(method, path, body, content_type)
        if reply.outcome in (session.LOST, session.REFUSED):
            self.failures += 1
        else:
            self.successes += 1
        session.rest_a_moment()

    def _create(self, name):
        labels = {"tier": self.random.choice(TIERS)}
        metadata = {"name": name, "labels": {key: value for key, value in labels.items() if value}}
        return "POST", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": {"n": self.n}, "revision": 1}, "application/json"

    def _label(self, _name):
        return "PATCH", {"metadata": {"labels": {"tier": self.random.choice(TIERS)}}}, "application/merge-patch+json"

    def _revise(self, _name):
        return "PATCH", {"revision": self.n}, "application/merge-patch+json"

    def _delete(self, _name):
        return "DELETE", None, ""


def make_namespaces(world, names=NAMESPACES):
    asking = session.Session(world, 0)
    for name in names:
        body = {"metadata": {"name": name}}
        processes.retry_until(lambda body=body: asking.ask("POST", "/api/v1/namespaces", body).outcome in ("ok", "AlreadyExists"), f"namespace {name}")
    asking.close()


# ---- the events that they must have got ----


def settle(crew, told):
    """Until each watcher has seen the last event that is one for it."""
    for watcher in crew.members:
        watcher.is_settling = True
    last = {watcher: max((event.revision for event in transitions(told, watcher.form, 0, told.revisions[-1])), default=0) for watcher in crew.members}
    crew.wait(lambda watcher: watcher.position >= last[watcher], "the last event of each watcher")


def first_difference(seen, expected):
    """Two lines, and those around them, or nothing."""
    for place, (one, other) in enumerate(itertools.zip_longest(seen, expected)):
        if one != other:
            around = slice(max(0, place - 2), place + 2)
            return "\n".join(["seen:", *map(str, seen[around]), "expected:", *map(str, expected[around])])
    return None


def check(told, watcher, era=0, until=math.inf):
    """All its events of that era, until that revision."""
    for segment in watcher.segments:
        if segment.era != era or segment.start > until:
            continue
        about = f"{watcher.form.name} ({watcher.start}) from {segment.start} to {segment.end}"
        if segment.existing is not None:
            there = existing(told, watcher.form, segment.start)
            difference = first_difference(sorted(segment.existing.items()), sorted(there.items()))
            assert difference is None, f"objects of {about}\n{difference}"
        seen = [event for event in segment.events if event.revision <= until]
        difference = first_difference(seen, list(transitions(told, watcher.form, segment.start, min(segment.end, until))))
        assert difference is None, f"events of {about}\n{difference}"
