"""Objects that are recorded: writers who change them, what etcd says that the objects went through, and the contents of their Histories. Both are
read from etcd's whole histories, of one etcd or of two."""

import collections
import itertools
import json
import random

import processes
import truth
from processes import retry_until
from session import Session, rest_a_moment

LIMIT = 3  # revisions of an object besides the current one
V1 = "/apis/annals.dev/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
OURS = MAPS + "?labelSelector=of=writers"
HISTORIES, REVISIONS = f"{V1}/namespaces/default/histories", f"{V1}/namespaces/default/controllerrevisions"
RECORDER = {"metadata": {"name": "all"}, "spec": {
    "resources": [{"groups": [""], "resources": ["configmaps"]}], "objectSelector": {"matchLabels": {"of": "writers"}}, "historyLimit": LIMIT}}
QUICK = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]
ROOM = "--quota-backend-bytes=8589934592"  # for an etcd that nobody compacts: a History is written whole with each change
PLAIN = "--compress-history=false"  # so that what was stored can be read from etcd

OBJECTS = truth.PREFIX + "objects/"
STORED_HISTORIES, STORED_REVISIONS = OBJECTS + "annals.dev/histories/default/", OBJECTS + "annals.dev/controllerrevisions/default/"
STORED_MAPS = OBJECTS + "core/configmaps/default/"


def controllers(kubeconfig):
    """A recorder that may be elected."""
    return processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=recorder", "--leader-elect", *QUICK])


class Writer:
    """Makes, changes and removes objects of its own; each state is another one, or the one before the last. place: of the server in its world."""

    Session = Session

    def __init__(self, world, place, number, names, seed):
        self.session, self.names = self.Session(world, place), names
        self.dice = random.Random(f"{seed}/{number}")
        self.successes = self.failures = self.states = 0

    def step(self):
        name = self.dice.choice(self.names)
        action = self.dice.choice([self.change, self.change, self.change, self.touch, self.make, self.remove])
        if action(name).outcome in ("ok", "AlreadyExists", "NotFound"):
            self.successes += 1
        else:
            self.failures += 1
            rest_a_moment()

    def data(self):
        if self.dice.random() < 0.8:
            self.states += 1
        return {"n": str(self.states - self.dice.choice([0, 0, 0, 1]))}

    def make(self, name):
        return self.session.ask("POST", MAPS, {"metadata": {"name": name, "labels": {"of": "writers"}}, "data": self.data()})

    def change(self, name):
        return self.session.ask("PATCH", f"{MAPS}/{name}", {"data": self.data()}, content_type="application/merge-patch+json")

    def touch(self, name):
        """What is no state."""
        patch = {"metadata": {"annotations": {"kubernetes.io/change-cause": str(self.dice.random())}}}
        return self.session.ask("PATCH", f"{MAPS}/{name}", patch, content_type="application/merge-patch+json")

    def remove(self, name):
        return self.session.ask("DELETE", f"{MAPS}/{name}")


def shares(n_objects, n_writers):
    """The names of each writer's objects."""
    return [[f"w{writer}-{number}" for number in range(writer, n_objects, n_writers)] for writer in range(n_writers)]


def n_written(gateway):
    """How often Histories were written, all in all."""
    end = STORED_HISTORIES[:-1] + "0"
    kvs = gateway.call("/v3/kv/range", {"key": truth.encode(STORED_HISTORIES), "range_end": truth.encode(end), "keys_only": True}).get("kvs", [])
    return sum(int(kv["version"]) for kv in kvs)


def await_progress(gateway):
    """The recorder gets something done between two troubles: else they would meet none at work."""
    before = n_written(gateway)
    retry_until(lambda: n_written(gateway) >= before + 20, "20 more changes are listed", interval=0.1, patience=processes.LONG_PATIENCE)


def await_end(server):
    """What is written last is recorded last of its object; all others' are looked for."""
    retry_until(lambda: server.post(MAPS, {"metadata": {"name": "w-calm", "labels": {"of": "writers"}}}).status in (201, 409), "a last object")

    def items(path):
        answer = server.get(path)
        return answer.json["items"] if answer.status == 200 else []

    def is_told():
        live = {one["metadata"]["name"]: one for one in items(OURS)}
        told = {one["spec"]["subject"]["name"]: one.get("status", {}) for one in items(HISTORIES)}
        data = {one["metadata"]["name"]: one["data"].get("data") for one in items(REVISIONS)}
        last = {name: status["revision"]["name"] for name, status in told.items() if status.get("changes")}
        return (live and all(told.get(name, {}).get("uid") == one["metadata"]["uid"] and data.get(last.get(name), "none") == one.get("data")
                             for name, one in live.items())
                and all(name in live or "deletionTime" in status or not status.get("changes") for name, status in told.items()))

    retry_until(is_told, "everything is recorded", interval=0.5, patience=processes.LONG_PATIENCE)


# ---- what is true ----


def state_of(value):
    """Of an object: its uid and data; None: it is gone."""
    return value and (value["metadata"]["uid"], json.dumps(value.get("data")))


class Lives:
    """What objects went through: {name: [(revision of etcd, state)]}. prefix: of their keys."""

    def __init__(self, prefix):
        self.prefix, self.found = prefix + "w", collections.defaultdict(list)

    def take(self, batch):
        for change in batch:
            if change.key.startswith(self.prefix):
                self.found[change.key.rsplit("/", 1)[1]].append((change.revision, state_of(change.value)))


class Story:
    """The changes that one History lists, and the revisions that must be there."""

    def __init__(self):
        self.told, self.kept = [], []  # (resourceVersion of the object or None, state); data, the oldest first

    def take(self, name, status):
        """The next change of it: (the name of its revision, or None)"""
        last = status["changes"][-1]
        version = int(last["resourceVersion"]) if "resourceVersion" in last else None
        return version, None if last["type"] == "Deleted" else last["revision"]


class Stories:
    """{name: Story}, from each version of each History. In each transaction that writes one there are exactly the revisions that its limit
    leaves: the current state, and the last ones before it."""

    def __init__(self):
        self.found = collections.defaultdict(Story)
        self.data, self.owned = {}, collections.defaultdict(dict)  # {revision: (uid of its owner, data)}; {uid of a History: {revision: data}}

    def _take_revision(self, name, value):
        owner, _ = self.data.pop(name, (None, None))
        self.owned[owner].pop(name, None)
        if value:
            owner, data = value["metadata"]["ownerReferences"][0]["uid"], json.dumps(value["data"].get("data"))
            self.data[name] = owner, data
            self.owned[owner][name] = data

    def _take_history(self, history):
        name, status = history["spec"]["subject"]["name"], history.get("status", {})
        story, n = self.found[name], int(status.get("totalChanges", 0))
        assert n - len(story.told) in (0, 1), f"{name} has {n} changes after {len(story.told)}"
        if n > len(story.told):
            version, revision = story.take(name, status)
            data = self.data[revision][1] if revision else None
            story.told.append((version, (status["uid"], data) if revision else None))
            if revision:
                story.kept = [one for one in story.kept if one != data][-LIMIT:] + [data]
        there = sorted(self.owned[history["metadata"]["uid"]].values())
        assert there == sorted(story.kept), f"{name} has revisions of {there} rather than of {story.kept}, after {story.told}"
        assert len(there) == status.get("revisions", 0), f"{name} has {len(there)} revisions, and says {status.get('revisions')}"

    def take(self, batch):
        """Changes of one transaction."""
        for change in batch:
            if change.key.startswith(STORED_REVISIONS):
                self._take_revision(change.key.removeprefix(STORED_REVISIONS), change.value)
        for change in batch:
            if change.key.startswith(STORED_HISTORIES) and change.value:
                self._take_history(change.value)


class Follower(truth.Recorder):
    """Hands all that an etcd tells to takers, one transaction at a time, and keeps none of it. It is there from the beginning: what an etcd
    has to look up in a long history it tells slowly."""

    def __init__(self, gateway, *takers):
        self.takers, self.error = takers, None
        super().__init__(gateway)

    def take(self, batch):
        for _, transaction in itertools.groupby(batch, key=lambda change: change.revision):
            self._take_transaction(list(transaction))

    def _take_transaction(self, transaction):
        if self.error:
            return
        try:
            for taker in self.takers:
                taker.take(transaction)
        except (AssertionError, LookupError, TypeError, ValueError) as error:
            self.error = error

    def end(self):
        """When all has been handed over; raises what was wrong with it."""
        self.catch_up(processes.LONG_PATIENCE)
        self.is_over = True
        if self.error:
            raise self.error


def check_story(name, told, life):
    """Each change is the object's state at the listed version, in that order; and the last one is the last state."""
    states, at = dict(life), 0
    for before, (version, state) in zip([(None, None), *told], told):
        where = f"{name} went through {life}, and is listed as {told}"
        assert state != before[1], f"{name} is listed twice: {where}"
        if version is None:  # nobody saw when it went
            assert state is None, where
            version = next((revision for revision, state in life if revision > at and state is None), 0)
        assert version > at and states.get(version, "nothing") == state, f"{version}: {where}"
        at = version
    assert (told[-1][1] if told else None) == life[-1][1], f"{name} is {life[-1]} in the end, and is listed as {told}"


def check(lives, stories, least):
    """least: so many objects were listed."""
    assert set(stories.found) <= set(lives.found) and "w-calm" in stories.found
    for name, life in sorted(lives.found.items()):
        check_story(name, stories.found[name].told if name in stories.found else [], life)
    n_changes = sum(len(story.told) for story in stories.found.values())
    n_states = sum(len([1 for a, b in zip([(0, None), *life], life) if a[1] != b[1]]) for life in lives.found.values())
    print(f"{n_changes} changes listed of {n_states} that {len(stories.found)} objects went through")
    assert len(stories.found) > least
