"""Watchers of two servers come and go, while objects change, history is compacted, servers and etcd are killed, and a server is cut off: what
each was told is what happened, in that order, nothing lost and nothing twice."""

import itertools
import random

import session
import truth
from relay import Relay
from transitions import Form
from watchers import Watcher, check, settle
from world import Crew, World, rounds

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


def make_namespaces(world):
    asking = session.Session(world, 0)
    for name in NAMESPACES:
        assert asking.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).outcome == "ok"
    asking.close()


class Led(World):
    """Its second server is led to etcd by a relay. What happens is recorded."""

    def __init__(self, folder, *more):
        self.relay = None
        super().__init__(folder, *more)
        self.recorder = truth.Recorder(self.gateway)

    def __exit__(self, *failure):
        self.recorder.is_over = True
        super().__exit__(*failure)

    def endpoint(self, number):
        if number == 0:
            return super().endpoint(number)
        self.relay = self.relay or Relay(self.folder / "relay", self.gateway.path)
        return f"unix://{self.relay.path}"


def compact_for_all(world, _mutators):
    """By the protocol of replicas: servers forget, too."""
    world.gateway.compact_as_replica(world.recorder.catch_up())


def compact_behind(world, _mutators):
    """By somebody who tells nobody."""
    world.gateway.compact(world.recorder.catch_up())


def kill_first(world, _mutators):
    world.servers[0].kill()
    world.start_server(0)


def kill_second(world, _mutators):
    world.servers[1].kill()
    world.start_server(1)


def kill_etcd(world, mutators):
    world.etcd.kill()
    mutators.wait_failures()
    world.start_etcd()


def interrupt(world, mutators):
    """The second server does not see what happens now, and is told it later."""
    world.relay.cut()
    mutators.wait_successes(10, members=mutators.members[:2])
    world.relay.mend()
    world.servers[1].wait_ready()


def lose_history(world, mutators):
    """The second server does not see what happens now, and nobody will tell it."""
    log = world.servers[1].stderr
    mark = log.mark()
    world.relay.cut()
    mutators.wait_successes(10, members=mutators.members[:2])
    world.gateway.compact(world.recorder.catch_up())
    mutators.wait_successes(3, members=mutators.members[:2])
    world.relay.mend()
    assert log.wait(r"loaded at revision", since=mark)


TROUBLES = [compact_for_all, kill_first, interrupt, compact_behind, kill_etcd, lose_history, kill_second, compact_for_all]


def wait_much_happened(watchers):
    """A run in which nobody met a gap in history, or somebody was told next to nothing, shows nothing."""
    watchers.wait(lambda watcher: watcher.n_events > 20, "events of each watcher")
    watchers.wait(lambda _: any(watcher.n_expired for watcher in watchers.members), "a watcher that is refused")


def test_watchers_miss_nothing(folder, certificates, etcd_binary):
    with Led(folder, certificates, etcd_binary) as world:
        make_namespaces(world)
        watchers = Crew([Watcher(world, number, form, STARTS[(number + more) % 3]) for number, form in enumerate(FORMS) for more in (0, 1)])
        mutators = Crew([Mutator(world, number, server) for number, server in enumerate([0, 0, 1])])
        with watchers.at_work():
            with mutators.at_work():
                for _, trouble in zip(rounds(least=len(TROUBLES)), itertools.cycle(TROUBLES)):
                    mutators.wait_successes(10)
                    watchers.wait_successes()
                    trouble(world, mutators)
                wait_much_happened(watchers)
            told = world.recorder.truth()
            settle(watchers, told)
        for watcher in watchers.members:
            check(told, watcher)
