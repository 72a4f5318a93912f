"""Watchers of two servers come and go, while objects change, history is compacted, servers and etcd are killed, and a server is cut off: what
each received is what happened, in that order, nothing lost and nothing twice."""

import itertools

import truth
from relay import Relay
from watchers import FORMS, STARTS, Mutator, Watcher, check, make_namespaces, settle
from world import Crew, World, rounds


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
    """The second server does not see what happens now, and learns it later."""
    world.relay.cut()
    mutators.wait_successes(10, members=mutators.members[:2])
    world.relay.fix()
    world.servers[1].wait_ready()


def lose_history(world, mutators):
    """The second server does not see what happens now, and nobody will tell it."""
    log = world.servers[1].stderr
    mark = log.mark()
    world.relay.cut()
    mutators.wait_successes(10, members=mutators.members[:2])
    world.gateway.compact(world.recorder.catch_up())
    mutators.wait_successes(3, members=mutators.members[:2])
    world.relay.fix()
    assert log.wait(r"loaded at revision", since=mark)


TROUBLES = [compact_for_all, kill_first, interrupt, compact_behind, kill_etcd, lose_history, kill_second, compact_for_all]


def wait_much_happened(watchers):
    """A run in which nobody met a gap in history, or somebody got next to no events, shows nothing."""
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
