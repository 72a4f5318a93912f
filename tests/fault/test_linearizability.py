"""Clients of two servers on one etcd do anything to a few objects, while things go wrong. What they saw must be what one store would
have given that does one thing after the other."""

import itertools

import pytest

import clients
import fleet
import model
import search
import sweep
import truth
from world import Crew, World, rounds

NAMES = ["a", "b", "c", "d"]


def clients_of(crew, server):
    return [client for client in crew.members if client.session.number == server]


def leave_alone(_world, crew, _round):
    crew.wait_successes(50)


def pause_etcd(world, crew, number):
    """Long enough for requests to be under way, then for them to be given up."""
    world.pause_etcd()
    crew.wait_stuck()
    if number % 2:
        crew.wait_failures()
    world.resume_etcd()


def kill_etcd(world, crew, _round):
    world.etcd.kill()
    crew.wait_failures()
    world.start_etcd()


def kill_server(world, crew, number):
    victim = number % len(world.servers)
    world.servers[victim].kill()
    crew.wait_failures(members=clients_of(crew, victim))
    world.start_server(victim, wait=False)


def kill_server_and_etcd(world, crew, number):
    world.etcd.kill()
    kill_server(world, crew, number)
    world.start_etcd()


@pytest.mark.parametrize("trouble", [leave_alone, pause_etcd, kill_etcd, kill_server, kill_server_and_etcd])
def test_history_is_linearizable(folder, certificates, etcd_binary, trouble):
    history = []
    with World(folder, certificates, etcd_binary) as world:
        crew = Crew([clients.Client(world, number, number % len(world.servers), NAMES, history) for number in range(6)])
        with crew.at_work():
            for number in rounds(least=2):
                crew.wait_successes(20)
                trouble(world, crew, number)
        check(history, truth.Truth(world.gateway.history()))


def test_history_is_linearizable_while_objects_are_rewritten(folder, certificates):
    """Replicas are replaced one by one, by ones that store another version; migration rewrites what nobody writes meanwhile."""
    history, names, n_left_alone = [], [f"n{number}" for number in range(30)], 10
    with fleet.Fleet(folder, certificates, rate=60) as replicas:
        members = [clients.Client(replicas, number, number % len(replicas.servers), names, history) for number in range(6)]
        crew = Crew([*members, clients.Reader(replicas, 6, 0, [f"r{number}" for number in range(n_left_alone)], history)])
        with crew.at_work():
            settings = itertools.cycle([fleet.BETA, fleet.MIXED, fleet.V1])
            crew.wait_successes(50)
            for n_rounds, _ in enumerate(rounds(least=2), 1):
                setting = next(settings)
                for number in range(len(replicas.servers)):
                    replicas.change(number, setting)
                    crew.wait_successes(10)
                replicas.wait_settled(setting)
        told = truth.Truth(replicas.gateway.history())
        n_rewrites = check_sweep(history, told).n_rewrites
        assert n_rewrites >= n_rounds * n_left_alone, n_rewrites


def check_sweep(history, told):
    """The Sweep."""
    kinds = {(op.kind, op.outcome) for op in history}
    missing = [kind for kind in itertools.product([*model.RULES, "list"], ["ok"]) if kind not in kinds]
    assert not missing, f"the clients never did {missing}"
    model.name_incarnations(history, told)
    swept = sweep.Sweep(told)
    swept.check(history)
    return swept


def check(history, told):
    swept = check_sweep(history, told)
    search.check(swept.without_vanished(history))
