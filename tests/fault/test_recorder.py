"""Writers change objects while the recorder, servers and etcd are killed at random. At the end the newest revision of each object is its
last state; what was recorded is what the object went through, in that order; nothing is listed twice in a row; limits are exact.

    FAULT_SECONDS=600 RECORDER_WRITERS=16 RECORDER_OBJECTS=500 RECORDER_SEED=7 tools/run-tests.py tests/fault -k recorder__
"""

import os
import random
import signal
import time

import processes
import stories
from relay import Port, at_once
from world import Crew, World, rounds

SEED = os.environ.get("RECORDER_SEED") or str(random.randrange(10**6))
N_WRITERS, N_OBJECTS = int(os.environ.get("RECORDER_WRITERS", "8")), int(os.environ.get("RECORDER_OBJECTS", "96"))


class Recorded(World):
    """With two recorders, of which one is elected."""

    etcd_flags = [stories.ROOM]
    server_flags = (*World.server_flags, stories.PLAIN)

    def __init__(self, folder, certificates):
        self.controllers = [None, None]
        super().__init__(folder, certificates)
        assert self.servers[0].post(f"{stories.V1}/recorders", stories.RECORDER).status == 201
        self.ports_of_controllers = [Port(self.ports, at_once) for _ in self.controllers]
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
        config = processes.write_kubeconfig(self.folder / f"kubeconfig-{number}", self.ports_of_controllers[number].url, self.certificates)
        self.controllers[number] = stories.controllers(config)


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


def kill_all(world, crew, _dice):
    for process in [*world.controllers, *world.servers, world.etcd]:
        process.kill()
    crew.wait_failures()
    world.start_etcd()
    for number in range(len(world.servers)):
        world.start_server(number, wait=False)
    for number in range(len(world.controllers)):
        world.start_controllers(number)


TROUBLES = [kill_recorder, kill_server, pause_recorder, kill_recorders, kill_etcd]


def test_recorder__tells_what_happened_whoever_dies(folder, certificates):
    print(f"RECORDER_SEED={SEED}")
    with Recorded(folder, certificates) as world:
        members = [stories.Writer(world, number % len(world.servers), number, names, SEED)
                   for number, names in enumerate(stories.shares(N_OBJECTS, N_WRITERS))]
        crew, dice = Crew(members), random.Random(SEED)
        lives, told = stories.Lives(stories.STORED_MAPS), stories.Stories()
        follower = stories.Follower(world.gateway, lives, told)
        with crew.at_work():
            for number in rounds(least=len(TROUBLES)):
                world.wait_ready()
                stories.await_progress(world.gateway)
                trouble = TROUBLES[number] if number < len(TROUBLES) else dice.choice([*TROUBLES, kill_all])
                print(trouble.__name__, flush=True)
                trouble(world, crew, dice)
                crew.wait_successes(5)
        world.wait_ready()
        print("over", flush=True)
        stories.await_end(world.servers[0])
        follower.end()
        stories.check(lives, told, least=N_WRITERS)
