"""Clients that do anything to a few objects, and write down what came of it: a list of model.Op."""

import random
import time

import model
import session
from protobuf_fields import PROTOBUF

NAMESPACE = "default"
API_VERSIONS = ("apps/v1", "annals.dev/v1")
FORMS = ("application/json", f"{PROTOBUF},application/json")  # the second API version has no protobuf


def path(api_version, name=""):
    return f"/apis/{api_version}/namespaces/{NAMESPACE}/controllerrevisions/{name}".rstrip("/")


def revision(api_version, name, born, labels, version=""):
    metadata = {"name": name, "labels": labels, **({"resourceVersion": version} if version else {})}
    return {"apiVersion": api_version, "kind": "ControllerRevision", "metadata": metadata, "data": {"born": born}, "revision": 1}


def shown(body):
    """(State, resourceVersion, uid) of an object."""
    metadata = body["metadata"]
    labels = metadata["labels"]
    return model.State(body["data"]["born"], labels["op"], labels.get("patch")), metadata["resourceVersion"], metadata["uid"]


class Client:
    """steps() at random. Preconditions name what this client saw last, which may be true no longer."""

    # (how often, kind, preconditions)
    HABITS = [
        (25, "get", ""), (6, "list", ""), (15, "create", ""), (15, "put", "version"), (8, "put", ""), (12, "patch", ""), (8, "patch", "version"),
        (4, "delete", ""), (4, "delete", "version"), (3, "delete", "born"),
    ]

    def __init__(self, world, number, server, names, history):
        self.session, self.id, self.names, self.history = session.Session(world, server), f"c{number}", names, history
        self.random = random.Random(number)
        self.forms = random.Random(number)
        self.memory = {name: (model.State("none", "none", None), "1", "none") for name in names}
        self.successes = self.failures = self.n = 0
        self.is_busy = False

    def choose(self):
        """(kind, preconditions, name) of the next step."""
        _, kind, precondition = self.random.choices(self.HABITS, [habit[0] for habit in self.HABITS])[0]
        return kind, precondition, self.random.choice(self.names)

    def step(self):
        kind, precondition, name = self.choose()
        api_version = self.random.choice(API_VERSIONS)
        state, version, uid = self.memory[name]
        self.n += 1
        op = model.Op(f"{self.id}-{self.n}", kind, f"{NAMESPACE}/{name}", client=self.id)
        op.version = version if precondition == "version" else ""
        op.born = state.born if kind == "put" or precondition == "born" else ""
        self.is_busy, op.begin = True, time.monotonic()
        reply = getattr(self, "_" + kind)(op, api_version, name, uid)
        self.is_busy, now = False, time.monotonic()
        self._take(op, name, reply, now)

    # ---- asking ----

    def _get(self, _op, api_version, name, _uid):
        return self.session.ask("GET", path(api_version, name), accept=self.forms.choice(FORMS))

    def _list(self, op, api_version, _name, _uid):
        op.key = ""
        return self.session.ask("GET", path(api_version), accept=self.forms.choice(FORMS))

    def _create(self, op, api_version, name, _uid):
        return self.session.ask("POST", path(api_version), revision(api_version, name, op.id, {"op": op.id}))

    def _put(self, op, api_version, name, _uid):
        return self.session.ask("PUT", path(api_version, name), revision(api_version, name, op.born, {"op": op.id}, op.version))

    def _patch(self, op, api_version, name, _uid):
        metadata = {"labels": {"patch": op.id}, **({"resourceVersion": op.version} if op.version else {})}
        return self.session.ask("PATCH", path(api_version, name), {"metadata": metadata}, "application/merge-patch+json")

    def _delete(self, op, api_version, name, uid):
        wanted = {**({"resourceVersion": op.version} if op.version else {}), **({"uid": uid} if op.born else {})}
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": wanted}
        return self.session.ask("DELETE", path(api_version, name), options if wanted else None)

    # ---- what came of it ----

    def _take(self, op, name, reply, now):
        op.outcome = reply.outcome
        if reply.outcome in (session.LOST, session.REFUSED):
            self.failures += 1
            session.rest_a_moment()
        else:
            self.successes += 1
        if not op.is_lost:
            op.end = now
        if reply.outcome == "ok":
            self._see(op, name, reply.body)
        if not (op.is_lost and op.kind in ("get", "list")):
            self.history.append(op)

    def _see(self, op, name, body):
        if op.kind == "list":
            op.seen_version = body["metadata"]["resourceVersion"]
            op.items = {f"{NAMESPACE}/{item['metadata']['name']}": shown(item)[:2] for item in body["items"]}
        elif op.kind == "delete":
            op.seen_uid = body["details"]["uid"]
        else:
            self.memory[name] = shown(body)
            op.seen, op.seen_version, _ = self.memory[name]


class Reader(Client):
    """Makes each of its objects, and only looks at them from then on: whoever writes them later is none of the clients."""

    HABITS = [(24, "get", ""), (1, "list", "")]

    def choose(self):
        return ("create", "", self.names[self.n]) if self.n < len(self.names) else super().choose()
