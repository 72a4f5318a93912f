"""Clients that make, refer to, and let go of the same few Providers, revisions and ConfigMaps, each as if it were alone."""

import collections
import itertools
import json
import random

import session

NAMESPACE = "default"
V1, BETA = "annals.dev/v1", "annals.dev/v1beta1"
PROTECT = {"annals.dev/protect": "true"}
MERGE = "application/merge-patch+json"

# Of controllers whose histories snapshots alone write: the limit, by uid.
LIMITS = {"uid-of-s0": 0, "uid-of-s1": 2, "uid-of-s2": 5}

# A kind whose definition declares references to ConfigMaps.
LINKS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "links.example.com", "annotations": {"annals.dev/refers-to": "spec.target -> configmaps, policy Block"}},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "links", "kind": "Link"}, "versions": [{
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"target": {"type": "string"}}}}}}}]},
}

# What a server says to somebody who comes too late, or too early. Anything else but success is a failure of the test.
REFUSALS = {"NotFound", "Conflict", "AlreadyExists"}


class Member:
    """steps() at random, by its number and the seed of the run. Counts the answers, by (what it did, outcome)."""

    # (how often, what)
    HABITS = [
        (14, "make_provider"), (6, "change_provider"), (1, "remove_provider"), (1, "rehearse_removal"), (3, "let_go"),
        (16, "make_dependent"), (10, "remove_dependent"), (1, "remove_dependents_of"),
        (6, "make_revision"), (4, "remove_revision"), (4, "let_revision_go"), (10, "keep_state"), (6, "forget_state"),
        (20, "take_snapshot"),
    ]
    namespace = NAMESPACE
    OF_REVISIONS = 0.2  # how many Dependents refer to one, too
    N_STATES = 12  # of each controller of which there are snapshots

    def __init__(self, world, number, seed, n_providers=24, n_dependents=60):
        self.session, self.random = session.Session(world, number % len(world.servers)), random.Random(f"{seed}/{number}")
        self.providers = [f"p{i}" for i in range(n_providers)]
        self.dependents = [f"d{i}" for i in range(n_dependents)]
        self.revisions = [f"r{i}" for i in range(3)]
        self.snapshots = collections.deque(maxlen=10)
        self.successes = self.failures = 0
        self.is_busy = False
        self.told = {}
        self.n = itertools.count()

    def step(self):
        _, what = self.random.choices(self.HABITS, [habit[0] for habit in self.HABITS])[0]
        self.is_busy = True
        reply = getattr(self, "_" + what)()
        self.is_busy = False
        self.told[what, reply.outcome] = self.told.get((what, reply.outcome), 0) + 1
        self._rest()
        if reply.outcome in (session.LOST, session.REFUSED):
            self.failures += 1
        else:
            assert reply.outcome == "ok" or reply.outcome in REFUSALS, f"{what}: {json.dumps(reply.body)}"
            self.successes += 1

    def _rest(self):
        """So that controllers, too, get something done."""
        session.rest_a_moment()

    # ---- asking ----

    def _path(self, resource, name="", api_version=None, query=""):
        api_version = api_version or self.random.choice([V1, V1, BETA])
        return f"/apis/{api_version}/namespaces/{self.namespace}/{resource}/{name}".rstrip("/") + query

    def _ask(self, method, resource, name="", body=None, kind="application/json", **more):
        return self.session.ask(method, self._path(resource, name, **more), body, kind)

    def _provider(self):
        return self.random.choice(self.providers)

    # ---- Providers ----

    def _make_provider(self):
        return self._ask("POST", "providers", body={"metadata": {"name": self._provider()}, "spec": {"data": {"n": next(self.n)}}})

    def _change_provider(self):
        return self._ask("PATCH", "providers", self._provider(), {"spec": {"data": {"n": next(self.n)}}}, MERGE)

    def _remove_provider(self):
        return self._ask("DELETE", "providers", self._provider())

    def _rehearse_removal(self):
        return self._ask("DELETE", "providers", self._provider(), query="?dryRun=All")

    def _let_go(self):
        """Of one that is being deleted or not, as no client should."""
        return self._ask("PATCH", "providers", self._provider(), {"metadata": {"finalizers": None}}, MERGE)

    # ---- Dependents ----

    def _make_dependent(self):
        metadata, when = {"name": self.random.choice(self.dependents)}, self.random.choice(["Wait", "Refuse"])
        if self.random.random() < 0.3:
            return self._ask("POST", "dependents", api_version=BETA, body={"metadata": metadata, "spec": {"providerName": self._provider(), "whenMissing": when}})
        named = [{"kind": "Provider", "name": name} for name in self.random.sample(self.providers, self.random.choice([1, 1, 2, 3]))]
        if self.random.random() < self.OF_REVISIONS:
            named.append({"kind": "ControllerRevision", "name": self.random.choice([*self.revisions, *self.snapshots])})
        return self._ask("POST", "dependents", api_version=V1, body={"metadata": metadata, "spec": {"providers": named, "whenMissing": when}})

    def _remove_dependent(self):
        return self._ask("DELETE", "dependents", self.random.choice(self.dependents))

    def _remove_dependents_of(self):
        return self._ask("DELETE", "dependents", query=f"?fieldSelector=spec.providers.{self._provider()}=true")

    # ---- revisions that may be referred to ----

    def _make_revision(self):
        metadata = {"name": self.random.choice(self.revisions), "labels": self.random.choice([PROTECT, {}])}
        body = {"metadata": metadata, "revision": 1, "data": {"n": next(self.n)}}
        return self._ask("POST", "controllerrevisions", body=body)

    def _remove_revision(self):
        return self._ask("DELETE", "controllerrevisions", self.random.choice(self.revisions))

    def _let_revision_go(self):
        return self._ask("PATCH", "controllerrevisions", self.random.choice(self.revisions), {"metadata": {"finalizers": None}}, MERGE)

    # ---- histories: revisions of a controller ----

    def _keep_state(self):
        """Without a look at what there is, and often what is there already."""
        metadata = {"name": f"h{self.random.randrange(24)}", "ownerReferences": [owner(f"o{self.random.randrange(3)}")]}
        body = {"metadata": metadata,
                "revision": self.random.randrange(6), "data": {"state": self.random.randrange(6)}}
        return self._ask("POST", "controllerrevisions", body=body)

    def _forget_state(self):
        return self._ask("DELETE", "controllerrevisions", f"h{self.random.randrange(24)}")

    def _take_snapshot(self):
        spec = {"owner": owner(f"s{self.random.randrange(3)}"), "data": {"state": self.random.randrange(self.N_STATES)}}
        spec["historyLimit"] = LIMITS[spec["owner"]["uid"]]
        reply = self._ask("POST", "snapshots", api_version=V1, body={"spec": spec})
        if reply.outcome == "ok":
            self.snapshots.append(reply.body["status"]["revision"]["name"])
        return reply


class Linking(Member):
    """Of objects that a definition's references keep; the definition LINKS is there."""

    HABITS = [(14, "make_target"), (20, "remove_target"), (4, "hold_target"), (8, "release_target"), (20, "make_link"), (14, "move_link"), (20, "remove_link")]
    TARGETS, NAMES = [f"t{i}" for i in range(6)], [f"l{i}" for i in range(12)]

    def _target(self, method, body=None, **more):
        return self.session.ask(method, f"/api/v1/namespaces/{self.namespace}/configmaps/{self.random.choice(self.TARGETS)}", body, **more)

    def _link(self, method, body=None, **more):
        return self.session.ask(method, f"/apis/example.com/v1/namespaces/{self.namespace}/links/{self.random.choice(self.NAMES)}", body, **more)

    def _make_target(self):
        body = {"metadata": {"name": self.random.choice(self.TARGETS)}}
        return self.session.ask("POST", f"/api/v1/namespaces/{self.namespace}/configmaps", body)

    def _remove_target(self):
        return self._target("DELETE")

    def _hold_target(self):
        return self._target("PATCH", {"metadata": {"finalizers": ["example.com/held"]}}, content_type=MERGE)

    def _release_target(self):
        return self._target("PATCH", {"metadata": {"finalizers": None}}, content_type=MERGE)

    def _spec(self):
        return {"spec": {"target": self.random.choice(self.TARGETS)}}

    def _make_link(self):
        body = {"apiVersion": "example.com/v1", "kind": "Link", "metadata": {"name": self.random.choice(self.NAMES)}, **self._spec()}
        return self.session.ask("POST", f"/apis/example.com/v1/namespaces/{self.namespace}/links", body)

    def _move_link(self):
        return self._link("PATCH", self._spec(), content_type=MERGE)

    def _remove_link(self):
        return self._link("DELETE")


class Eager(Member):
    """Wants what others want at the same moment, again and again, and leaves no time to anybody."""

    def _rest(self):
        pass


class EagerForProviders(Eager):
    HABITS = [(14, "make_provider"), (12, "remove_provider"), (10, "let_go"), (20, "make_dependent"), (30, "remove_dependent")]
    OF_REVISIONS = 0

    def __init__(self, world, number, seed):
        super().__init__(world, number, seed, n_providers=6, n_dependents=12)


class EagerForHistories(Eager):
    HABITS = [(8, "keep_state"), (6, "forget_state"), (20, "take_snapshot"), (16, "make_dependent"), (20, "remove_dependent")]
    OF_REVISIONS, N_STATES = 1, 4


class EagerForLinks(Linking):
    def _rest(self):
        pass


def owner(name):
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": f"uid-of-{name}", "controller": True}
