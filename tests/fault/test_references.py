"""Many clients make, refer to and let go of a few objects, directly and with controllers, while everything is killed and dawdles: at every revision
of etcd's history, what is referred to is there, and indexes are what objects say.

    FAULT_SECONDS=600 REFERENCES_SEED=7 tools/run-tests.py tests/fault -k referred
"""

import contextlib
import os
import pathlib
import random
import signal
import time

import pytest

import crowd
import history
import processes
from relay import Port, Relay, now_and_then
from world import Crew, World, rounds

UNGUARDED = pathlib.Path(processes.BIN).parent / "tests" / "broken" / "annals-unguarded"
SEED = os.environ.get("REFERENCES_SEED") or str(random.randrange(10**6))
N_CLIENTS, N_LINKING = 32, 6  # the latter refer as a definition declares
CONTROLLERS = ["provider-finalization-controller", "dependent-controller", "garbage-collector-controller"]
QUICK = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]


class Dawdling(World):
    """Servers whose way to etcd dawdles, each by itself: their caches are behind now and then."""

    def __init__(self, folder, certificates):
        self.ways = []
        super().__init__(folder, certificates)

    def endpoint(self, number):
        if number >= len(self.ways):
            self.ways.append(Relay(self.folder / f"way-{number}", self.path(number), now_and_then))
        return f"unix://{self.ways[number].path}"


class Turmoil(Dawdling):
    """With controllers whose way to the servers dawdles: two processes, of which one is elected."""

    def __init__(self, folder, certificates):
        self.controllers = [None, None]
        super().__init__(folder, certificates)
        self.ports_of_controllers = [Port(self.ports, now_and_then) for _ in self.controllers]
        for number in range(len(self.controllers)):
            self.start_controllers(number)

    def __exit__(self, failure, *more):
        statuses = [process.stop() for process in self.controllers if process]
        super().__exit__(failure, *more)
        assert failure or not any(statuses), f"controllers ended with {statuses}"

    def ports(self):
        """Of the servers, in any order."""
        return [server.client.port for server in random.sample(self.servers, len(self.servers))]

    def start_controllers(self, number):
        config = processes.write_kubeconfig(self.folder / f"kubeconfig-{number}", self.ports_of_controllers[number].url, self.certificates)
        self.controllers[number] = processes.Process(
            [processes.BIN, "controllers", "--kubeconfig", config, f"--controllers={','.join(CONTROLLERS)}", "--leader-elect", *QUICK])


# ---- troubles ----


def kill_server(world, crew, dice):
    victim = dice.randrange(len(world.servers))
    world.servers[victim].kill()
    crew.wait_failures(members=[member for member in crew.members if member.session.number == victim])
    world.start_server(victim, wait=False)


def kill_etcd(world, crew, _dice):
    world.etcd.kill()
    crew.wait_failures()
    world.start_etcd()


def pause_etcd(world, crew, _dice):
    world.pause_etcd()
    crew.wait_stuck()
    world.resume_etcd()


def kill_controllers(world, crew, dice):
    """What they have sent may still arrive."""
    victim = dice.randrange(len(world.controllers))
    world.controllers[victim].kill()
    crew.wait_successes(5)
    world.start_controllers(victim)


def pause_controllers(world, crew, dice):
    """For so long that the other ones are elected; then these go on where they were."""
    victim = world.controllers[dice.randrange(len(world.controllers))]
    victim.signal(signal.SIGSTOP)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        crew.wait_successes(5)
    victim.signal(signal.SIGCONT)


TROUBLES = [kill_server, kill_controllers, kill_etcd, pause_controllers, pause_etcd]


def define_links(world):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    processes.retry_until(lambda: world.servers[0].post(path, crowd.LINKS).status in (201, 409), "the definition of links")


@contextlib.contextmanager
def a_run(world, seed):
    """Turmoil until every trouble has been there, and for FAULT_SECONDS; the crew, when it is over."""
    define_links(world)
    members = [(crowd.Linking if number < N_LINKING else crowd.Member)(world, number, seed) for number in range(N_CLIENTS)]
    crew, dice = Crew(members), random.Random(seed)
    with crew.at_work():
        for number in rounds(least=len(TROUBLES)):
            crew.wait_successes(40)
            TROUBLES[number % len(TROUBLES)](world, crew, dice)
            crew.wait_successes(5)
    world.wait_ready()
    yield crew


def told(crew):
    """{(what, outcome): how often}"""
    sums = {}
    for member in crew.members:
        for what, n in member.told.items():
            sums[what] = sums.get(what, 0) + n
    return sums


def check_that_much_happened(sums):
    """A run in which nobody was refused, or nobody got through, shows nothing."""
    for what in ("make_provider", "remove_provider", "let_go", "make_dependent", "remove_dependent", "make_revision", "let_revision_go",
                 "keep_state", "take_snapshot", "make_link", "move_link", "remove_link", "remove_target"):
        assert sums.get((what, "ok")), f"{what} never succeeded: {sums}"
    for what in ("let_go", "make_dependent", "make_link", "remove_target"):
        assert sums.get((what, "Conflict")), f"{what} was never refused: {sums}"


def see_implemented(world):
    """On a slow machine controllers may be killed before they have made anything. Now they have time."""
    path, server = f"/apis/annals.dev/v1/namespaces/{crowd.NAMESPACE}/", world.servers[0]
    spec = {"providers": [{"kind": "Provider", "name": "calm"}]}
    for resource, body in [("providers", {"data": {"n": 0}}), ("dependents", spec)]:
        processes.retry_until(lambda: server.post(path + resource, {"metadata": {"name": "calm"}, "spec": body}).status in (201, 409), resource)
    everything = lambda: server.get(f"/api/v1/namespaces/{crowd.NAMESPACE}/configmaps").json.get("items", [])
    processes.retry_until(lambda: any(map(history.is_implementation, everything())), "a ConfigMap", patience=processes.LONG_PATIENCE)


def test_what_is_referred_to_is_there_at_every_revision(folder, certificates):
    print(f"REFERENCES_SEED={SEED}")
    with Turmoil(folder, certificates) as world, a_run(world, SEED) as crew:
        see_implemented(world)
        sums = told(crew)
        print(sorted(sums.items()))
        counts = {}
        found = list(history.replay(counted(history.everything(world.gateway), counts), crowd.LIMITS))
        print(counts)
        check_that_much_happened(sums)
        assert counts.get("implementations"), "nothing was ever implemented"
        assert not found, history.report(found)


def counted(changes, counts):
    """The changes, as they pass: what there was of them."""
    for change in changes:
        counts["revisions"] = change.revision
        counts["changes"] = counts.get("changes", 0) + 1
        if change.value and change.key.startswith(history.OBJECTS + history.CONFIGMAPS) and history.is_implementation(change.value):
            counts["implementations"] = counts.get("implementations", 0) + 1
        yield change


# ---- without a guard ----


class Unguarded(Dawdling):
    """Servers that leave one guard out of their transactions (tests/broken/guards.c)."""

    def __init__(self, folder, certificates, guard):
        self.guard = guard
        super().__init__(folder, certificates)

    def start_server(self, number, wait=True):
        env = {**os.environ, "ANNALS_UNGUARDED": self.guard}
        self.servers[number] = processes.Serve(self.endpoint(number), self.certificates, "--etcd-compaction-interval=0", wait=wait, env=env, binary=UNGUARDED)


N_ENOUGH = 30000  # changes: where something is wrong, much fewer show it


def until_late(changes):
    """The changes, as they come, for as long as a broken test may take: on a slow machine little happens in that time."""
    deadline = time.monotonic() + processes.PATIENCE
    for number, change in enumerate(changes):
        if number >= N_ENOUGH and time.monotonic() > deadline:
            return
        yield change


# What is missing, who comes across it, and what is seen of that.
GUARDS = [
    ("protection", crowd.EagerForProviders, "while annals.dev/dependents/"),
    ("protection", crowd.EagerForHistories, " is trimmed while "),
    ("needed", crowd.EagerForProviders, " is born although "),
    ("marks", crowd.EagerForProviders, "which is not marked"),
    ("reference-index", crowd.EagerForProviders, "/references/"),
    ("protection", crowd.EagerForLinks, "while ['example.com/links/"),
    ("declared", crowd.EagerForLinks, " comes to name "),
    ("reference-index", crowd.EagerForLinks, "/references/core/"),
    ("history", crowd.EagerForHistories, " is the second of "),
    ("history", crowd.EagerForHistories, "; the limit is "),
    ("history-index", crowd.EagerForHistories, "/history/"),
]


@pytest.mark.parametrize("guard, kind, words", GUARDS)
def test_without_a_guard_it_is_not(folder, certificates, guard, kind, words):
    print(f"REFERENCES_SEED={SEED}")
    with Unguarded(folder, certificates, guard) as world:
        define_links(world)
        crew = Crew([kind(world, number, SEED) for number in range(N_CLIENTS)])
        with crew.at_work():
            seen = (violation for violation in history.replay(until_late(world.gateway.changes()), crowd.LIMITS) if words in violation.sentence)
            first = next(seen, None)
        assert first, f"nothing was seen: {told(crew)}"


@pytest.mark.parametrize("kind", [crowd.EagerForProviders, crowd.EagerForHistories, crowd.EagerForLinks])
def test_with_all_guards_the_same_clients_do_no_harm(folder, certificates, kind):
    print(f"REFERENCES_SEED={SEED}")
    with Unguarded(folder, certificates, "") as world:
        define_links(world)
        crew = Crew([kind(world, number, SEED) for number in range(N_CLIENTS)])
        with crew.at_work():
            crew.wait_successes(100)
        found = list(history.replay(history.everything(world.gateway), crowd.LIMITS))
        assert not found, history.report(found)


def test_guards_cannot_be_left_out_of_annals():
    assert [b"ANNALS_UNGUARDED" in pathlib.Path(path).read_bytes() for path in (processes.BIN, UNGUARDED)] == [False, True]
