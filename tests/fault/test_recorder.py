"""Writers change objects while the recorder, servers and etcd are killed at random. At the end the newest revision of each object is its
last state; what was recorded is what the object went through, in that order; nothing is told twice in a row; limits are exact.

    FAULT_SECONDS=600 RECORDER_SEED=7 tools/run-tests.py tests/fault -k recorder
"""

import collections
import json
import os
import random
import signal
import time

import processes
import truth
from processes import retry_until
from relay import Port, at_once
from session import Session, rest_a_moment
from world import Crew, World, rounds

SEED = os.environ.get("RECORDER_SEED") or str(random.randrange(10**6))
N_WRITERS, N_OBJECTS = 8, 12  # objects of each writer
LIMIT = 3
V1 = "/apis/annals.dev/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
QUICK = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]
RECORDER = {"metadata": {"name": "all"}, "spec": {
    "resources": [{"groups": [""], "resources": ["configmaps"]}], "objectSelector": {"matchLabels": {"of": "writers"}}, "historyLimit": LIMIT}}
OBJECTS = truth.PREFIX + "objects/"


class Recorded(World):
    """With two recorders, of which one is elected."""

    def __init__(self, folder, certificates):
        self.controllers = [None, None]
        super().__init__(folder, certificates)
        assert self.servers[0].post(f"{V1}/recorders", RECORDER).status == 201
        self.doors = [Port(self.ports, at_once) for _ in self.controllers]
        for number in range(len(self.controllers)):
            self.start_controllers(number)

    def __exit__(self, failure, *more):
        statuses = [process.stop() for process in self.controllers]
        super().__exit__(failure, *more)
        assert failure or not any(statuses), f"controllers ended with {statuses}"

    def ports(self):
        """Of the servers, in any order."""
        return [server.client.port for server in random.sample(self.servers, len(self.servers))]

    def start_controllers(self, number):
        config = processes.write_kubeconfig(self.folder / f"kubeconfig-{number}", self.doors[number].url, self.certificates)
        self.controllers[number] = processes.Process(
            [processes.BIN, "controllers", "--kubeconfig", config, "--controllers=recorder", "--leader-elect", *QUICK])


class Writer:
    """Makes, changes and removes objects of its own; each state is another one, or the one before the last."""

    def __init__(self, world, number, seed):
        self.session, self.number = Session(world, number % len(world.servers)), number
        self.dice = random.Random(f"{seed}/{number}")
        self.successes = self.failures = self.states = 0

    def step(self):
        name = f"w{self.number}-{self.dice.randrange(N_OBJECTS)}"
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


def kill_recorder(world, crew, dice):
    victim = dice.randrange(len(world.controllers))
    world.controllers[victim].kill()
    crew.wait_successes(5)
    world.start_controllers(victim)


def kill_recorders(world, crew, _dice):
    for process in world.controllers:
        process.kill()
    crew.wait_successes(5)
    for number in range(len(world.controllers)):
        world.start_controllers(number)


def pause_recorder(world, crew, dice):
    """For so long that the other one is elected; then it goes on where it was, with what is old by then."""
    victim = world.controllers[dice.randrange(len(world.controllers))]
    victim.signal(signal.SIGSTOP)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        crew.wait_successes(5)
    victim.signal(signal.SIGCONT)


TROUBLES = [kill_recorder, kill_server, pause_recorder, kill_recorders, kill_etcd]


def n_told(world):
    histories = world.servers[0].get(f"{V1}/namespaces/default/histories").json["items"]
    return sum(int(history.get("status", {}).get("totalChanges", 0)) for history in histories)


def await_progress(world):
    """The recorder gets something done between two troubles: else they would meet none at work."""
    world.wait_ready()
    before = n_told(world)
    retry_until(lambda: n_told(world) >= before + 20, "20 more changes are told", interval=0.1, patience=processes.LONG_PATIENCE)


# ---- what is true ----


def state_of(value):
    """Of an object: its uid and data; None: it is gone."""
    return value and (value["metadata"]["uid"], json.dumps(value.get("data")))


def lives(changes):
    """{name: its states, each other than the one before}"""
    found = collections.defaultdict(list)
    for change in changes:
        if change.key.startswith(OBJECTS + "core/configmaps/default/w"):
            states, state = found[change.key.rsplit("/", 1)[1]], state_of(change.value)
            if not states or states[-1] != state:
                states.append(state)
    return found


def stories(changes):
    """{name: what its History told, as states}, from each version of the History."""
    data, told, found = {}, {}, collections.defaultdict(list)
    revisions, histories = OBJECTS + "annals.dev/controllerrevisions/default/", OBJECTS + "annals.dev/histories/default/"
    for batch in by_revision(changes):
        for change in batch:
            if change.key.startswith(revisions) and change.value:
                data[change.key.removeprefix(revisions)] = json.dumps(change.value["data"].get("data"))
        for change in batch:
            if change.key.startswith(histories) and change.value:
                name, status = change.value["spec"]["subject"]["name"], change.value.get("status", {})
                n = int(status.get("totalChanges", 0))
                assert n - told.get(name, 0) in (0, 1), f"{name} has {n} changes after {told.get(name, 0)}"
                if n > told.get(name, 0):
                    told[name], last = n, status["changes"][-1]
                    found[name].append(None if last["type"] == "Deleted" else (status["uid"], data[last["revision"]]))
    return found


def by_revision(changes):
    batch = []
    for change in changes:
        if batch and batch[0].revision != change.revision:
            yield batch
            batch = []
        batch.append(change)
    if batch:
        yield batch


def is_part_of(part, whole):
    """In that order."""
    rest = iter(whole)
    return all(one in rest for one in part)


def whole_history(gateway):
    """All changes up to now, each revision whole."""
    last, found = gateway.revision(), []
    for batch in gateway.batches():
        found += batch
        if batch and batch[-1].revision >= last:
            break
    return found


def check(world, calm):
    changes = whole_history(world.gateway)
    lived, told = lives(changes), stories(changes)
    assert calm in told and len(told) > N_WRITERS
    for name, states in sorted(lived.items()):
        story = told.get(name, [])
        assert all(a != b for a, b in zip(story, story[1:])), f"{name} is told twice: {story}"
        assert is_part_of(story, states), f"{name} went through {states}, and is told as {story}"
        assert (story[-1] if story else None) == states[-1], f"{name} is {states[-1]} in the end, and is told as {story}"
    return told


def check_limits(world, told):
    items = world.servers[0].get(f"{V1}/namespaces/default/controllerrevisions").json["items"]
    histories = world.servers[0].get(f"{V1}/namespaces/default/histories").json["items"]
    owners = collections.Counter(item["metadata"]["ownerReferences"][0]["uid"] for item in items)
    for history in histories:
        name, status = history["spec"]["subject"]["name"], history.get("status", {})
        n_states = len({data for _, data in filter(None, told.get(name, []))})
        n = owners[history["metadata"]["uid"]]
        assert n == status.get("revisions", 0) and n <= LIMIT + 1, f"{name} has {n} revisions, and says {status.get('revisions')}"
        assert n == LIMIT + 1 or n <= n_states, f"{name} has {n} revisions of {n_states} states"
        digests = [item["metadata"]["annotations"]["annals.dev/digest"] for item in items
                   if item["metadata"]["ownerReferences"][0]["uid"] == history["metadata"]["uid"]]
        assert len(set(digests)) == len(digests)


def await_end(world):
    """What is written last is recorded last of its object; all others' are looked for."""
    server = world.servers[0]
    retry_until(lambda: server.post(MAPS, {"metadata": {"name": "w-calm", "labels": {"of": "writers"}}}).status in (201, 409), "a last object")

    def histories():
        return {h["spec"]["subject"]["name"]: h.get("status", {}) for h in server.get(f"{V1}/namespaces/default/histories").json["items"]}

    def objects():
        return {o["metadata"]["name"]: o["metadata"]["uid"] for o in server.get(MAPS + "?labelSelector=of=writers").json["items"]}

    def is_told():
        there, told = objects(), histories()
        last = {name: status["revision"]["name"] for name, status in told.items() if status.get("changes")}
        data = {item["metadata"]["name"]: item["data"].get("data")
                for item in server.get(f"{V1}/namespaces/default/controllerrevisions").json["items"]}
        live = {o["metadata"]["name"]: o.get("data") for o in server.get(MAPS + "?labelSelector=of=writers").json["items"]}
        return (all(told.get(name, {}).get("uid") == uid and data.get(last.get(name)) == live.get(name) for name, uid in there.items())
                and all(name in there or "deletionTime" in status or not status.get("changes") for name, status in told.items()))

    retry_until(is_told, "everything is recorded", interval=0.2, patience=processes.LONG_PATIENCE)


def test_recorder__tells_what_happened_whoever_dies(folder, certificates):
    print(f"RECORDER_SEED={SEED}")
    with Recorded(folder, certificates) as world:
        crew, dice = Crew([Writer(world, number, SEED) for number in range(N_WRITERS)]), random.Random(SEED)
        with crew.at_work():
            for number in rounds(least=len(TROUBLES)):
                await_progress(world)
                TROUBLES[number % len(TROUBLES)](world, crew, dice)
                crew.wait_successes(5)
        world.wait_ready()
        await_end(world)
        told = check(world, "w-calm")
        check_limits(world, told)
        print(sum(map(len, told.values())), "changes told of", len(told), "objects")
