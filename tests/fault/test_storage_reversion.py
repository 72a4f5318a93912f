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
import registrations
import truth
import versions
from relay import Relay

UNGUARDED = pathlib.Path(processes.BIN).parent / "tests" / "broken" / "annals-unguarded"
EVERYTHING = "acks,common,ticket"
# Who cannot reach etcd is certain of its lease for as long as a story needs it to be, however slow the machine is.
LONG_LEASE_S = 40


class Gate(Relay):
    """What is open lets everything through at once, what is closed nothing, in either direction."""

    def __init__(self, path, target):
        self.is_open, self.is_caught, self.text = threading.Event(), threading.Event(), None
        self.is_open.set()
        super().__init__(path, target)

    def open(self):
        self.is_open.set()

    def close(self):
        self.is_open.clear()

    def close_at(self, text):
        """As soon as somebody sends it, before it goes through."""
        self.text = text

    def _hold(self, near, source):
        def hold(piece):
            if source is near and self.text and self.text in piece:
                self.text = None
                self.close()
                self.is_caught.set()
            self.is_open.wait(processes.PATIENCE)

        return hold


class Deaf(Relay):
    """Once it is armed it holds a registration back until that is let go; and whoever has sent it does not hear what etcd says of others until it is fixed."""

    def __init__(self, path, target):
        self.is_armed, self.calls = False, None
        self.is_held, self.may_go, self.is_fixed = threading.Event(), threading.Event(), threading.Event()
        super().__init__(path, target)

    def _hold(self, near, source):
        def hold(piece):
            if self.is_armed and source is near and b'{"address":' in piece and not self.calls:
                self.calls = near
                self.is_held.set()
                self.may_go.wait(processes.PATIENCE)
            elif self.is_held.is_set() and source is not near and near is not self.calls:
                self.is_fixed.wait(processes.PATIENCE)

        return hold


class Unguarded(fleet.Fleet):
    """The first replica's way to etcd has a gate, the second one's may become deaf."""

    def __init__(self, folder, certificates, guards, **more):
        self.ways = []
        super().__init__(folder, certificates, lease_s=LONG_LEASE_S, binary=UNGUARDED, env={**os.environ, "ANNALS_UNGUARDED": guards}, **more)

    def endpoint(self, number):
        if not self.ways:
            self.ways = [Gate(self.folder / "way-0", self.path(0)), Deaf(self.folder / "way-1", self.path(1))]
        return f"unix://{self.ways[number].path}"

    @property
    def gate(self):
        return self.ways[0]

    def end_lease(self, number):
        """As if it had not been renewed in time."""
        wanted = truth.encode(registrations.key_of(self.servers[number]))
        lease = self.gateway.call("/v3/kv/range", {"key": wanted})["kvs"][0]["lease"]
        self.gateway.call("/v3/lease/revoke", {"ID": lease})

    def __exit__(self, *failure):
        self.gate.open()
        self.ways[1].is_fixed.set()
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


@pytest.mark.parametrize("guards", [EVERYTHING, "common"])
def test_without_agreement_an_old_replica_reverts_the_migration(folder, certificates, guards):
    with Unguarded(folder, certificates, guards, start=fleet.BETA) as replicas:
        story, shown = upgrade_one(replicas)
        assert shown == keepers.V1 and replicas.census() == {("providers", keepers.V1): 1, ("providers", keepers.BETA): 1}
        assert any("providers are stored in annals.dev/v1beta1" in sentence and "after Answer" in sentence for _, sentence in story.found())


def test_with_it_nothing_is_shown_that_is_not_so(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA) as replicas:
        story, shown = upgrade_one(replicas)
        assert shown is None and replicas.census() == {("providers", keepers.BETA): 2}
        assert not story.found()


def test_without_agreement_the_same_is_seen_under_load(folder, certificates):
    """As test_storage_versions.py does it. While replicas differ everybody writes and looks for long enough."""
    env = {**os.environ, "ANNALS_UNGUARDED": EVERYTHING}
    with fleet.Fleet(folder, certificates, lease_s=LONG_LEASE_S, binary=UNGUARDED, env=env) as replicas:
        watched = fleet.Watched(replicas)
        with watched.at_work():
            watched.turn_all(fleet.BETA, lambda: watched.crew.wait_successes(20))
        _, found = watched.replay()
        for resource in fleet.RESOURCES:
            assert any(f"{resource} are stored in annals.dev/v1 at" in sentence and "after Answer" in sentence for _, sentence in found), versions.report(found)


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
    with Unguarded(folder, certificates, "acks", start=fleet.BETA) as replicas:
        assert any("after annals.dev/v1 was stored at" in sentence for _, sentence in write_unheard(replicas))


def test_with_them_it_does_not(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA) as replicas:
        assert not write_unheard(replicas)


def write_late(replicas):
    """What the old replica sends arrives when it is taken for dead, and everything has been migrated."""
    story = Story(replicas)
    story.create("a", 0)
    story.wait_shown(0, keepers.BETA)
    replicas.change(1, fleet.V1)
    replicas.gate.close_at(b'"name":"b"')
    is_writing = threading.Thread(target=lambda: replicas.servers[0].post(path(), provider("b")), daemon=True)
    is_writing.start()
    assert replicas.gate.is_caught.wait(processes.PATIENCE)
    replicas.end_lease(0)
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


def register_unheard(replicas):
    """One registers without having seen that another one has done so since it looked."""
    story, deaf = Story(replicas), replicas.ways[1]
    assert [server.stop() for server in replicas.servers] == [0, 0]
    deaf.is_armed = True
    replicas.settings[1] = fleet.V1
    replicas.start_server(1, wait=False)
    assert deaf.is_held.wait(processes.PATIENCE)
    replicas.start_server(0)
    story.wait_shown(0, keepers.BETA)
    deaf.may_go.set()
    replicas.servers[1].stderr.wait("registered in etcd as")
    story.look(1)
    story.create("a", 0)
    story.look(1)
    return story.found()


def test_without_the_guard_of_a_range_one_registers_that_has_not_seen_another(folder, certificates):
    with Unguarded(folder, certificates, "ranged", start=fleet.BETA) as replicas:
        found = register_unheard(replicas)
        assert any("providers are stored in annals.dev/v1beta1" in sentence for _, sentence in found), versions.report(found)


def test_with_it_one_has_seen_all(folder, certificates):
    with Unguarded(folder, certificates, "", start=fleet.BETA) as replicas:
        found = register_unheard(replicas)
        assert not found, versions.report(found)


def test_rules_cannot_be_left_out_of_annals():
    assert [b"ANNALS_UNGUARDED" in pathlib.Path(binary).read_bytes() for binary in (processes.BIN, UNGUARDED)] == [False, True]
