"""Storage versions are changed one replica at a time, while everybody writes and everything is killed: no hash is shown that is not true (versions.py), migration
leaves nothing in an old version, and nothing is lost.

    FAULT_SECONDS=600 STORAGE_SEED=7 tools/run-tests.py tests/fault
"""

import itertools
import os
import random
import signal

import pytest

import fleet
import processes
import world

SEED = os.environ.get("STORAGE_SEED") or str(random.randrange(10**6))
SETTINGS = [fleet.BETA, fleet.V1, fleet.MIXED]
N_MOMENTS = 20 if world.SECONDS >= 60 else 5


def check_that_much_happened(watched, replay):
    """A run in which replicas never differed, or nothing was rewritten, shows nothing."""
    looks = [version for onlooker in watched.onlookers for look in onlooker.looks for version in look.shown.values()]
    assert {None, "annals.dev/v1", "annals.dev/v1beta1"} <= set(looks)
    assert replay.n_rewrites >= watched.n_idle("dependents"), f"{replay.n_rewrites} rewrites"


@pytest.mark.parametrize("n_servers", [2, 3])
def test_versions_change_one_replica_at_a_time(folder, certificates, n_servers):
    with fleet.Fleet(folder, certificates, n_servers) as replicas:
        watched = fleet.Watched(replicas)
        with watched.at_work():
            settings = itertools.cycle(SETTINGS)
            for _ in world.rounds(least=2):
                watched.turn_all(next(settings))
        check_that_much_happened(watched, watched.check())


# ---- troubles ----


def members_of(watched, number):
    return [member for member in watched.crew.members if member.session.number == number]


def kill_replica(watched, number):
    watched.fleet.servers[number].kill()
    watched.crew.wait_failures(members=members_of(watched, number))
    watched.fleet.start_server(number, wait=False)


def pause_replica(watched, number):
    """Until the others take it for dead; then it goes on where it was."""
    server = watched.fleet.servers[number]
    server.signal(signal.SIGSTOP)
    processes.retry_until(lambda: not watched.fleet.is_registered(server), "its lease has ended")
    watched.crew.wait_successes(3, [member for member in watched.crew.members if member.session.number != number])
    server.signal(signal.SIGCONT)


def kill_etcd(watched, _number):
    watched.fleet.etcd.kill()
    watched.crew.wait_failures(members=watched.keepers)
    watched.fleet.start_etcd()


def pause_etcd(watched, _number):
    """Until no replica is certain any more that it is registered."""
    watched.fleet.pause_etcd()
    watched.crew.wait(lambda member: member in watched.keepers or not any(member.looks[-1].shown.values()), "hashes that are hidden")
    watched.fleet.resume_etcd()


TROUBLES = [kill_replica, pause_replica, kill_etcd, pause_etcd]


class Dice:
    """Troubles at random moments: whom they befall is the migrator, or another one."""

    def __init__(self, watched, seed):
        self.watched, self.random = watched, random.Random(seed)
        self.troubles = itertools.cycle(self.random.sample([(trouble, is_migrator) for trouble in TROUBLES for is_migrator in (True, False)], 2 * len(TROUBLES)))
        self.told = []

    @property
    def met_migration(self):
        return any(is_mixed for _, _, is_mixed in self.told)

    def throw(self):
        if self.random.random() < 0.4:
            return
        keeper = self.random.choice(self.watched.keepers)
        self.watched.crew.wait_successes(self.random.randrange(1, 12), [keeper])
        trouble, is_migrator = next(self.troubles)
        migrator = self.watched.fleet.migrator()
        others = [number for number in range(len(self.watched.fleet.servers)) if number != migrator]
        number = migrator if is_migrator and migrator is not None else self.random.choice(others)
        self.told.append((trouble.__name__, "migrator" if number == migrator else "other", self.watched.fleet.is_mixed()))
        trouble(self.watched, number)
        self.watched.fleet.wait_ready()


def test_kills_at_random_moments_change_nothing_in_the_result(folder, certificates):
    print(f"STORAGE_SEED={SEED}")
    with fleet.Fleet(folder, certificates, rate=60) as replicas:
        watched = fleet.Watched(replicas)
        dice, settings = Dice(watched, SEED), itertools.cycle(SETTINGS)
        with watched.at_work():
            while len(dice.told) < N_MOMENTS or (not dice.met_migration and len(dice.told) < 10 * N_MOMENTS):
                watched.turn_all(next(settings), dice.throw)
        print(dice.told)
        assert dice.met_migration, "nothing happened during a migration"
        check_that_much_happened(watched, watched.check())


def migrations(server):
    return [item["status"] for item in server.get("/apis/annals.dev/v1/storagemigrations").json["items"]]


def is_under_way(server, setting):
    """Has a migration to one of these versions begun, and not ended?"""
    return any({"type": "Running", "status": "True"}.items() <= condition.items() for status in migrations(server)
               if status.get("storageVersion") in setting.values() for condition in status.get("conditions", []))


def test_a_change_of_mind_is_followed_at_once(folder, certificates):
    """A migration that is overtaken has failed, but not because of what it met."""
    with fleet.Fleet(folder, certificates, n_servers=1, rate=1) as replicas:
        fleet.Watched(replicas, n_names=30)
        for setting in (fleet.BETA, fleet.V1):
            replicas.change(0, setting)
            processes.retry_until(lambda setting=setting: is_under_way(replicas.servers[0], setting), "a migration under way")
        replicas.rate = 0  # as many as go
        replicas.change(0, fleet.BETA)
        replicas.wait_settled(fleet.BETA)
        reasons = [condition["reason"] for status in migrations(replicas.servers[0]) for condition in status.get("conditions", [])]
        assert reasons.count("StorageVersionChanged") >= 2, migrations(replicas.servers[0])
