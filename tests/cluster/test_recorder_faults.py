"""What a Recorder follows is kube-apiserver's, and what it records is annals': two servers with an etcd each. Writers change objects while
kube-apiserver, annals, their etcds and the recorders are killed at random. Histories are judged as tests/fault/test_recorder.py does it, here
from the histories of both etcds.

    FAULT_SECONDS=600 RECORDER_WRITERS=16 RECORDER_OBJECTS=500 RECORDER_SEED=7 tools/run-tests.py tests/cluster -k recorder_faults
"""

import os
import random
import signal
import time

import pytest

import aggregated
import processes
import session
import stories
import through
import truth
from world import Crew, rounds

SEED = os.environ.get("RECORDER_SEED") or str(random.randrange(10**6))
N_WRITERS, N_OBJECTS = int(os.environ.get("RECORDER_WRITERS", "4")), int(os.environ.get("RECORDER_OBJECTS", "24"))
MAPS_OF_KUBE = "/registry/configmaps/default/"


class Session(through.Session):
    """kube-apiserver says 500 where its etcd has not answered: that says nothing of what it has done."""

    def _reply(self, status, text):
        return session.Reply(session.LOST) if status >= 500 else super()._reply(status, text)


class Writer(stories.Writer):
    Session = Session


class World:
    """A cluster whose etcds keep all that ever was, as JSON; and two recorders, of which one is elected."""

    def __init__(self, folder, certificates):
        never = "--etcd-compaction-interval=0"
        self.cluster = aggregated.Cluster(folder / "cluster", certificates, aggregated.ANNALS, controllers=False, n_replicas=2, flags=[never, stories.PLAIN],
                                          etcd_flags=[stories.ROOM], kube_flags=[never, "--storage-media-type=application/json"])
        self.annals = self.cluster.behind["annals"]
        self.recorders = [None, None]
        self.gateway = truth.Gateway(self.annals.etcd.endpoint)
        assert self.cluster.kube.post(f"{stories.V1}/recorders", stories.RECORDER).status == 201
        for number in range(len(self.recorders)):
            self.start_recorder(number)

    @property
    def everything(self):
        return [*self.recorders, *self.cluster.everything]

    def start_recorder(self, number):
        self.recorders[number] = aggregated.shared(stories.controllers(self.cluster.kubeconfig))

    def fix(self):
        """Returns when all is as it was."""
        self.cluster.kube.wait_ready()
        for replica in self.annals.replicas:
            replica.wait_ready()
        self.annals.announce()
        self.annals.wait_available()

    def stop(self):
        for process in self.recorders:
            if process:
                process.stop()
        self.cluster.stop()


@pytest.fixture
def world(folder, certificates):
    aggregated.programs()
    (folder / "cluster").mkdir()
    made = World(folder, certificates)
    yield made
    made.stop()
    troubles = [trouble for process in made.everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


# ---- troubles ----

# Each returns what is to be started then, in that order.


def replica(world, number):
    return lambda: world.annals.start_replica(number, wait=False)


def recorder(world, number):
    return lambda: world.start_recorder(number)


def kill_replica(world, crew, dice):
    """The other one goes on: kube-apiserver finds it as soon as the connection is gone."""
    number = dice.randrange(len(world.annals.replicas))
    world.annals.replicas[number].kill()
    world.annals.lead()
    return [replica(world, number)]


def kill_annals(world, crew, _dice):
    for process in world.annals.replicas:
        process.kill()
    crew.wait_successes(5)
    return [replica(world, 0), replica(world, 1)]


def kill_etcd_of_annals(world, crew, _dice):
    world.annals.etcd.kill()
    crew.wait_successes(5)
    return [world.annals.start_etcd]


def kill_kube(world, crew, _dice):
    world.cluster.kube.kill()
    crew.wait_failures()
    return [lambda: world.cluster.start_kube(wait=False)]


def kill_etcd_of_kube(world, _crew, _dice):
    world.cluster.etcd.kill()
    processes.retry_until(lambda: world.cluster.kube.get("/readyz").status == 500, "kube-apiserver without etcd")
    return [world.cluster.start_etcd]


def kill_recorder(world, crew, dice):
    number = dice.randrange(len(world.recorders))
    world.recorders[number].kill()
    crew.wait_successes(5)
    return [recorder(world, number)]


def kill_recorders(world, crew, _dice):
    for process in world.recorders:
        process.kill()
    crew.wait_successes(5)
    return [recorder(world, 0), recorder(world, 1)]


def pause_recorder(world, crew, dice):
    """For so long that the other one is elected; then it goes on where it was, with what is old by then."""
    victim = world.recorders[dice.randrange(len(world.recorders))]
    victim.signal(signal.SIGSTOP)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        crew.wait_successes(2)
    return [lambda: victim.signal(signal.SIGCONT)]


def kill_all(world, crew, dice):
    """They come back in any order, but that etcd is there for who needs it to start."""
    for process in world.everything:
        process.kill()
    crew.wait_failures()
    fixes = [replica(world, 0), replica(world, 1), recorder(world, 0), recorder(world, 1), lambda: world.cluster.start_kube(wait=False)]
    return [world.cluster.start_etcd, world.annals.start_etcd, *dice.sample(fixes, len(fixes))]


TROUBLES = [kill_kube, kill_etcd_of_annals, kill_recorders, kill_annals, kill_etcd_of_kube]
OTHERS = [kill_replica, kill_recorder, pause_recorder, kill_all]


def test_recorder__tells_what_happened_behind_kube_apiserver(world):
    print(f"RECORDER_SEED={SEED}")
    servers = through.World(world.cluster)
    crew = Crew([Writer(servers, 0, number, names, SEED) for number, names in enumerate(stories.shares(N_OBJECTS, N_WRITERS))])
    dice = random.Random(SEED)
    lives, told = stories.Lives(MAPS_OF_KUBE), stories.Stories()
    followers = [stories.Follower(truth.Gateway(world.cluster.etcd.endpoint), lives), stories.Follower(world.gateway, told)]
    with crew.at_work():
        for number in rounds(least=len(TROUBLES)):
            stories.await_progress(world.gateway)
            trouble = TROUBLES[number] if number < len(TROUBLES) else dice.choice(TROUBLES + OTHERS)
            print(f"{time.strftime('%H:%M:%S')} {trouble.__name__}", flush=True)
            for start in trouble(world, crew, dice):
                start()
            world.fix()
            crew.wait_successes(5)
    print(f"{time.strftime('%H:%M:%S')} over", flush=True)
    stories.await_end(world.cluster.kube)
    for follower in followers:
        follower.end()
    stories.check(lives, told, least=N_WRITERS)
