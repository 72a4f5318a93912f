"""Without the agreement of replicas, or one rule of it, what seed 003 fears happens: an old replica writes the old version after migration, while discovery shows the
new one. Builds that leave it out (tests/broken/agreement.c) are seen to do so by what sees nothing in annals (test_storage_versions.py)."""

import os
import pathlib
import threading

import pytest

import fleet
import history
import keepers
import onlookers
import processes
import session
import versions
from relay import Relay

UNGUARDED = pathlib.Path(processes.BIN).parent / "tests" / "broken" / "annals-unguarded"
EVERYTHING = "acks,common,ticket"


class Gate:
    """A lag of relays: what is open lets everything through at once, what is closed nothing."""

    def __init__(self):
        self.is_open = threading.Event()
        self.open()

    def open(self):
        self.is_open.set()

    def close(self):
        self.is_open.clear()

    def __call__(self):
        self.is_open.wait(processes.PATIENCE)
        return 0


class Unguarded(fleet.Fleet):
    """The first replica's way to etcd has a gate."""

    def __init__(self, folder, certificates, guards, **more):
        self.gate = Gate()
        self.way = None
        super().__init__(folder, certificates, binary=UNGUARDED, env={**os.environ, "ANNALS_UNGUARDED": guards}, **more)

    def endpoint(self, number):
        if number > 0:
            return super().endpoint(number)
        self.way = self.way or Relay(self.folder / "way", f"{self.folder}/etcd/client:0", self.gate)
        return f"unix://{self.way.path}"

    def __exit__(self, *failure):
        self.gate.open()
        super().__exit__(*failure)


def path(name=""):
    return f"/apis/annals.dev/v1/namespaces/default/providers/{name}".rstrip("/")


marks = iter(range(1, 10**6))


def provider(name):
    return {"metadata": {"name": name, "annotations": {"mark": str(next(marks))}}, "spec": {"data": {}}}


class Story:
    """What one client does, and sees in discovery."""

    def __init__(self, replicas):
        self.replicas, self.clock = replicas, onlookers.Clock(replicas.gateway)
        self.onlookers = [onlookers.Onlooker(replicas, number, "annals.dev/v1") for number in range(len(replicas.servers))]

    def create(self, name, number):
        made = self.replicas.servers[number].post(path(), provider(name))
        assert made.status == 201, made

    def look(self, number):
        """After everything that has happened up to now."""
        self.clock.wait_tick()
        onlooker = self.onlookers[number]
        onlooker.step()
        self.clock.wait_tick()
        return onlooker.looks[-1].shown["providers"]

    def migrate(self, number):
        """As upstream's migrators do: each object is written as it is."""
        server = self.replicas.servers[number]
        for item in server.get(path()).json["items"]:
            written = server.put(path(item["metadata"]["name"]), item)
            assert written.status == 200, written

    def wait_shown(self, number, version):
        processes.retry_until(lambda: self.look(number) == version, f"{version} in discovery")

    def wait_stored(self, version):
        processes.retry_until(lambda: self.replicas.census().keys() == {("providers", version)}, f"everything stored in {version}")

    def found(self):
        """All violations there are."""
        self.clock.stop()
        replay = versions.Replay(history.everything(self.replicas.gateway, versions.raw_of))
        return replay.check(list(onlookers.answers(self.onlookers, self.clock)))


def upgrade_one(replicas):
    """Seed 003: one of two replicas is upgraded, and somebody goes on writing through the other one. Who sees a new hash migrates."""
    story = Story(replicas)
    story.create("a", 0)
    story.wait_shown(0, keepers.BETA)
    replicas.change(1, fleet.V1)
    if story.look(1):
        story.migrate(1)
        story.wait_stored(keepers.V1)
    story.create("b", 0)
    return story, story.look(1)


def test_without_agreement_an_old_replica_reverts_the_migration(folder, certificates):
    with Unguarded(folder, certificates, EVERYTHING, start=fleet.BETA) as replicas:
        story, shown = upgrade_one(replicas)
        assert shown == keepers.V1 and replicas.census() == {("providers", keepers.V1): 1, ("providers", keepers.BETA): 1}
        assert any("providers are stored in annals.dev/v1beta1" in sentence and "after Answer" in sentence for _, sentence in story.found())


def test_with_it_nothing_is_shown_that_is_not_so(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA) as replicas:
        story, shown = upgrade_one(replicas)
        assert shown is None and replicas.census() == {("providers", keepers.BETA): 2}
        assert not story.found()


# ---- one rule at a time ----


def hide_the_newcomer(replicas):
    """The old replica does not hear that another one has come, and is still certain of its lease."""
    story = Story(replicas)
    story.create("a", 0)
    assert replicas.servers[1].stop() == 0
    story.wait_shown(0, keepers.BETA)
    replicas.gate.close()
    replicas.settings[1] = fleet.V1
    replicas.start_server(1, wait=False)
    processes.retry_until(lambda: replicas.servers[1].get(path()).status == 200, "it knows what there is")
    return story


def write_unheard(replicas):
    story = hide_the_newcomer(replicas)
    is_writing = threading.Thread(target=story.create, args=["b", 1], daemon=True)
    is_writing.start()
    if replicas.more["env"]["ANNALS_UNGUARDED"]:
        is_writing.join(processes.PATIENCE)
        assert replicas.census()["providers", keepers.V1]
    story.look(0)
    replicas.gate.open()
    is_writing.join(processes.PATIENCE)
    story.look(0)
    return story.found()


def test_without_acknowledgements_one_shows_what_others_do_not_write(folder, certificates):
    with Unguarded(folder, certificates, "acks", start=fleet.BETA, lease_s=20) as replicas:
        assert any("after annals.dev/v1 was stored at" in sentence for _, sentence in write_unheard(replicas))


def test_with_them_it_does_not(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA, lease_s=20) as replicas:
        assert not write_unheard(replicas)


def write_late(replicas):
    """What the old replica sends arrives when it is taken for dead, and everything has been migrated."""
    story = Story(replicas)
    story.create("a", 0)
    story.wait_shown(0, keepers.BETA)
    replicas.gate.close()
    is_writing = threading.Thread(target=lambda: replicas.servers[0].post(path(), provider("b")), daemon=True)
    is_writing.start()
    replicas.change(1, fleet.V1)
    story.wait_shown(1, keepers.V1)
    story.wait_stored(keepers.V1)
    story.look(1)
    replicas.gate.open()
    is_writing.join(processes.PATIENCE)
    replicas.wait_ready()
    return story.found()


def test_without_the_ticket_a_late_write_reverts_the_migration(folder, certificates):
    with Unguarded(folder, certificates, "ticket", start=fleet.BETA) as replicas:
        found = write_late(replicas)
        assert any("providers are stored in annals.dev/v1beta1" in sentence for _, sentence in found), versions.report(found)


def test_with_it_it_is_refused(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA) as replicas:
        found = write_late(replicas)
        assert not found, versions.report(found)


def test_rules_cannot_be_left_out_of_annals():
    assert [b"ANNALS_UNGUARDED" in pathlib.Path(binary).read_bytes() for binary in (processes.BIN, UNGUARDED)] == [False, True]
