"""Replicas of the release before this one are replaced by this build, one after the other, and back again, under load. "make check-upgrade" builds that release."""

import contextlib
import os

import pytest

import fleet
import processes
import truth
from test_upgrade import LONG_LEASE_S, undisturbed

PREVIOUS = os.environ.get("ANNALS_PREVIOUS", "")
OLD, NEW = PREVIOUS, processes.BIN

pytestmark = pytest.mark.skipif(not PREVIOUS, reason="make check-upgrade runs it: $ANNALS_PREVIOUS names no executable of an earlier release")


class Releases(fleet.Fleet):
    """The setting of a replica is an executable."""

    def options(self, number):
        return {"flags": [], "binary": self.settings[number]}

    def kill_and_change(self, number, build):
        """As where a node is lost in the middle of an upgrade: its lease goes on, and it says goodbye to nobody."""
        self.settings[number] = build
        self.servers[number].kill()
        self.start_server(number)


@contextlib.contextmanager
def at_work(folder, certificates, n_servers):
    with Releases(folder, certificates, n_servers=n_servers, start=OLD, lease_s=LONG_LEASE_S) as releases:
        watched = fleet.Watched(releases, n_names=8)
        with watched.at_work():
            releases.wait_settled(fleet.V1)
            yield releases, watched
        watched.check()
        releases.etcd.ctl("del", truth.PREFIX + "checked")  # what the check has written
        done = processes.run([NEW, "fsck", "--etcd-servers", releases.endpoint(0)])
        assert done.returncode == 0, f"of what both have written: {done.stdout}"


def roll(releases, watched, build):
    """As rolling updates do it: who talks to the other replicas is refused nothing."""
    for number in range(len(releases.servers)):
        with undisturbed(watched, number):
            releases.change(number, build)
            watched.crew.wait_successes(3)
    releases.wait_settled(fleet.V1)
    watched.crew.wait_successes(3)


@pytest.mark.parametrize("n_servers", [2, 3])
def test_release__is_upgraded_and_taken_back_under_load(n_servers, folder, certificates):
    with at_work(folder, certificates, n_servers) as (releases, watched):
        for build in (NEW, OLD, NEW):
            roll(releases, watched, build)


def test_release__stays_mixed_under_load_and_loses_nodes(folder, certificates):
    with at_work(folder, certificates, 3) as (releases, watched):
        releases.change(0, NEW)
        watched.crew.wait_successes(20)
        for number, build in ((1, NEW), (0, OLD), (2, NEW), (1, OLD)):
            releases.kill_and_change(number, build)
            watched.crew.wait_successes(5)
        releases.wait_settled(fleet.V1)
