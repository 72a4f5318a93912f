"""etcd and servers are killed while objects are written, again and again. What was acknowledged is there afterwards, what was refused
never happened, and nothing is there by halves."""

import itertools

import processes
import session
import truth
import writers
from world import Crew, World, rounds

TROUBLES = {(503, "ServiceUnavailable"), (504, "Timeout")}


def kill_etcd(world, crew):
    world.etcd.kill()
    crew.wait_failures()
    world.wait_not_ready()
    processes.retry_until(lambda: "[-]etcd failed" in world.servers[0].get("/readyz").text, "the reason why it is not ready")
    assert world.servers[0].get("/livez").status == 200
    assert world.servers[0].get("/apis").status == 200
    world.start_etcd()


def kill_server(world, crew):
    world.servers[0].kill()
    crew.wait_failures(members=[writer for writer in crew.members if writer.session.number == 0])
    world.start_server(0, wait=False)


def kill_everything(world, crew):
    world.etcd.kill()
    for server in world.servers:
        server.kill()
    crew.wait_failures()
    for number in range(len(world.servers)):
        world.start_server(number, wait=False)
    world.start_etcd()


def kill_etcd_twice(world, crew):
    """The second time while servers are coming back."""
    world.etcd.kill()
    crew.wait_failures()
    world.start_etcd()
    kill_etcd(world, crew)


def test_acknowledged_writes_survive_kills(folder, certificates, etcd_binary):
    with World(folder, certificates, etcd_binary) as world:
        members = [writers.Writer(world, number, number % len(world.servers)) for number in range(6)]
        troubles = itertools.cycle([kill_etcd, kill_server, kill_everything, kill_etcd_twice])
        for _ in rounds(least=4):
            crew = Crew(members)
            with crew.at_work():
                crew.wait_successes(20)
                next(troubles)(world, crew)
                crew.wait_successes(5)
            world.wait_ready()
            writers.check_what_is_there([session.Session(world, number) for number in range(len(world.servers))], members)
        writers.check_history(truth.Truth(world.gateway.history()), members)
        assert set().union(*(member.session.troubles for member in members)) <= TROUBLES
