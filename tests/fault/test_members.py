"""An etcd of three members, and all that may befall them, while clients of every kind are at work. Each check there is of histories (of operations one by one, of
what was acknowledged, of references, of watches) is made of the same run; and of what servers say of themselves meanwhile, by the troubles.

    FAULT_SECONDS=600 MEMBERS_SEED=7 tools/run-tests.py tests/fault
"""

import itertools
import os
import random
import time

import pytest

import clients
import eras
import members
import model
import processes
import troubles
import truth
import watchers
from world import Crew, World, rounds

SEED = os.environ.get("MEMBERS_SEED") or str(random.randrange(10**6))
NAMES = ["a", "b", "c", "d"]
ANSWERS = {(500, None), (503, "ServiceUnavailable"), (504, "Timeout")}  # to those who cannot be served


class Cluster(World):
    """era: which of its histories is etcd's now; None: nobody can tell."""

    def __init__(self, folder, certificates, etcd_binary):
        super().__init__(folder, certificates, etcd_binary, n_members=members.N_MEMBERS, on_small_disks=True)
        self.eras, self.era, self.are_revisions_used_again = eras.Eras(self.gateway), 0, False
        watchers.make_namespaces(self, [*watchers.NAMESPACES, eras.WRITTEN, eras.CROWDED])

    def version_at(self, server):
        """What a list shows to be the newest there is."""
        answer = processes.retry_until(lambda: (reply := server.get(clients.path("apps/v1"))).status == 200 and reply, f"a list of {server.url}")
        return answer.json["metadata"]["resourceVersion"]

    def start_server(self, number, wait=True):
        """What waits for etcd is given up soon."""
        flags = ["--etcd-compaction-interval=0", "--request-timeout=5s"]
        self.servers[number] = processes.Serve(self.endpoint(number), self.certificates, *flags, wait=wait)

    def __exit__(self, *failure):
        self.eras.recorder.is_over = True
        super().__exit__(*failure)


class Everybody:
    """crew: who works, watchers: who looks on."""

    def __init__(self, world):
        self.ops = []
        self.clients = [clients.Client(world, number, number % 2, NAMES, self.ops) for number in range(6)]
        self.writers = [eras.Writer(world, number, number % 2) for number in range(2)]
        self.crowd = [eras.Crowd(world, number, SEED) for number in range(6)]
        self.mutators = [watchers.Mutator(world, number, number % 2) for number in range(2)]
        self.crew = Crew([*self.clients, *self.writers, *self.crowd, *self.mutators])
        forms = [form for form in watchers.FORMS if form.name != "all"]
        self.watchers = Crew([eras.Watcher(world, number, form, watchers.STARTS[number % 3]) for number, form in enumerate(forms)])


TROUBLES = [
    troubles.kill_leader, troubles.pause_leader, troubles.kill_follower, troubles.lose_quorum, troubles.run_out_of_room,
    troubles.fill_disks, troubles.refuse_files, troubles.restore, troubles.restore_bumped,
]


def impossible(etcd):
    """Troubles that this machine cannot make, and why."""
    reasons = {}
    if etcd.disks.missing:
        reasons[troubles.fill_disks] = etcd.disks.missing
    if not etcd.can_bump():
        reasons[troubles.restore_bumped] = "this etcd cannot restore a backup with --bump-revision"
    return reasons


def test_everything_holds_on_three_members(folder, certificates, etcd_binary):
    print(f"MEMBERS_SEED={SEED}")
    with Cluster(folder, certificates, etcd_binary) as world:
        everybody = Everybody(world)
        wanted = [trouble for trouble in TROUBLES if trouble not in impossible(world.etcd)]
        with everybody.watchers.at_work():
            with everybody.crew.at_work():
                for number, trouble in zip(rounds(least=len(wanted)), itertools.cycle(wanted)):
                    everybody.crew.wait_successes(20)
                    report_time(trouble.__name__)
                    trouble(world, everybody.crew, number)
                everybody.crew.wait_successes(20)
            report_time("the end")
            troubles.insist(world.eras.read)
            watchers.settle(everybody.watchers, world.eras.all[-1].truth())
        for writer in everybody.writers:
            writer.end_era()
        report_time("the checks")
        check(everybody, world.eras.all)
        report_time("")


def report_time(what):
    print(f"{time.monotonic():.1f} s: {what}")


def check(everybody, told):
    """Each check covers all operations, and all answers."""
    check_that_much_happened(everybody)
    eras.check_operations(everybody.ops, told)
    eras.check_acknowledged(everybody.writers, told)
    eras.check_references(told)
    eras.check_watchers(everybody.watchers.members, told)


def check_that_much_happened(everybody):
    """And that nobody was answered anything but what docs/how-to/etcd-full.md says."""
    kinds = {(op.kind, op.outcome) for op in everybody.ops}
    missing = [kind for kind in itertools.product([*model.RULES, "list"], ["ok"]) if kind not in kinds]
    assert not missing, f"the clients never did {missing}"
    sessions = [member.session for member in everybody.crew.members]
    assert set().union(*(one.troubles for one in sessions)) <= ANSWERS


# ---- troubles that not every machine can make, alone ----


def skip_impossible(etcd, trouble):
    reason = impossible(etcd).get(trouble)
    if reason:
        pytest.skip(reason)


def test_a_member_ends_on_a_full_disk_and_starts_with_room(folder):
    etcd = members.Members(folder / "etcd", on_small_disks=True)
    skip_impossible(etcd, troubles.fill_disks)
    member, other, _ = etcd.all
    member.is_expected_to_end = True
    etcd.disks.fill(member.number)

    def has_ended():
        troubles.put_if_possible(other.gateway)
        return member.popen.poll()

    processes.retry_until(has_ended, "an etcd that has ended")
    member.wait()
    assert troubles.NO_SPACE in member.stderr.text
    etcd.disks.make_room(member.number)
    etcd.start(member.number)
    wanted = troubles.insist(other.gateway.put, "/any", "")
    processes.retry_until(lambda: reached(etcd.all[member.number]) >= wanted, "what has been written meanwhile")


def reached(member):
    """The revision of a member; 0: it does not answer."""
    try:
        return int(member.status()["header"]["revision"])
    except (OSError, RuntimeError, ValueError):
        return 0


def test_a_backup_is_restored_at_revisions_that_nobody_has_seen(folder, etcd_binary):
    etcd = members.Members(folder / "etcd", etcd_binary)
    skip_impossible(etcd, troubles.restore_bumped)
    gateway = members.Gateway(etcd)
    troubles.insist(gateway.put, "/any", "kept")
    base = etcd.save(folder / "backup")
    troubles.insist(gateway.put, "/any", "lost")
    etcd.kill()
    etcd.restore(folder / "backup", *troubles.bumped(troubles.BUMP))
    etcd.start_all()
    assert troubles.insist(gateway.revision) == base + troubles.BUMP
    kept = troubles.insist(gateway.call, "/v3/kv/range", {"key": truth.encode("/any")})["kvs"]
    assert [truth.decode(kv["value"]) for kv in kept] == ["kept"]
