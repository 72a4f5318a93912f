"""What befalls an etcd of three members, and what annals shows of it meanwhile. Each trouble is over when it returns.

A trouble is trouble(world, crew, number): number tells one time from another, crew is who works at both servers."""

import itertools
import signal
import time

import clients
import members
import processes
from metrics import Metrics

FILLING, MEBIBYTE = "/filling/", "x" * 2**20
N_FILLED = 4  # MiB: room that a compaction makes, beside what history takes
NO_SPACE = "no space left on device"
BUMP = 10**6  # revisions: more than a run makes


ETCD_ERRORS = (OSError, RuntimeError, ValueError)


def insist(call, *arguments):
    """What it returns, as soon as etcd can: on a busy machine it elects a leader now and then by itself."""
    errors = []

    def done():
        try:
            return (call(*arguments),)
        except ETCD_ERRORS as error:
            errors.append(error)
            return None

    try:
        return processes.retry_until(done, "etcd to do it")[0]
    except TimeoutError:
        raise errors[-1] from None


# ---- members ----


def kill_leader(world, crew, _number):
    leader = world.etcd.wait_leader()
    leader.kill()
    crew.wait_successes(5)
    world.wait_ready()
    world.etcd.start(leader.number)
    world.etcd.wait_leader()


def pause_leader(world, crew, _number):
    """It takes itself for the leader until it goes on."""
    leader = world.etcd.wait_leader()
    leader.signal(signal.SIGSTOP)
    crew.wait_successes(5)
    leader.signal(signal.SIGCONT)
    world.etcd.wait_leader()


def kill_follower(world, crew, number):
    leader = world.etcd.wait_leader()
    follower = world.etcd.all[(leader.number + 1 + number % 2) % members.N_MEMBERS]
    follower.kill()
    crew.wait_successes(5)
    world.wait_ready()
    world.etcd.start(follower.number)
    world.etcd.wait_leader()


def wait_refused(world, crew):
    """Without a quorum nobody is served, and everybody gets an error."""
    crew.wait_failures()
    world.wait_not_ready()
    for server in world.servers:
        processes.retry_until(lambda server=server: "[-]etcd failed" in server.get("/readyz").text, "the reason why it is not ready")
        assert server.get("/livez").status == 200


def lose_quorum(world, crew, _number):
    leader = world.etcd.wait_leader()
    lost = [member for member in world.etcd.all if member is not leader]
    for member in lost:
        member.kill()
    wait_refused(world, crew)
    for member in lost:
        world.etcd.start(member.number)
    world.etcd.wait_leader()
    world.wait_ready()


# ---- room ----


def run_out_of_room(world, crew, _number):
    """Each member has its quota of room, and has reached it."""
    for number in range(N_FILLED):
        insist(world.gateway.put, f"{FILLING}{number}", MEBIBYTE)
    quotas = [int(insist(member.status)["dbSize"]) for member in world.etcd.all]
    world.etcd.kill()
    marks = [server.stderr.mark() for server in world.servers]
    world.etcd.start_all(lambda number: [f"--quota-backend-bytes={quotas[number]}"])
    for member in world.etcd.all:
        processes.retry_until(lambda member=member: has_no_room(member), "a member that has no room")
    wait_alarm(world, marks)
    crew.wait_failures()
    for server in world.servers:
        world.version_at(server)
    make_room(world, marks)
    crew.wait_successes(5)
    world.etcd.kill()
    world.etcd.start_all()


def alarms(gateway):
    """The members that have one."""
    return [alarm["memberID"] for alarm in insist(gateway.call, "/v3/maintenance/alarm", {"action": "GET"}).get("alarms", [])]


def has_no_room(member):
    """It refuses whatever is written by way of it, and raises its alarm."""
    put_if_possible(member.gateway)
    return insist(member.status)["header"]["member_id"] in alarms(member.gateway)


def put_if_possible(gateway):
    try:
        gateway.put(FILLING, MEBIBYTE)
    except ETCD_ERRORS:
        pass


def wait_alarm(world, marks):
    for server, mark in zip(world.servers, marks):
        assert server.stderr.wait("warning etcd: etcd has the alarm NOSPACE", since=mark)
        server.wait_ready()
        processes.retry_until(lambda server=server: "[+]etcd-alarms ok, but etcd has no room" in server.get("/readyz?verbose").text, "the alarm in readyz")
        assert Metrics(server).sum("annals_etcd_alarm", type="NOSPACE") == 1


def make_room(world, marks):
    """As docs/how-to/etcd-full.md says it. What is compacted has been recorded."""
    insist(world.gateway.delete_all, FILLING)
    insist(lambda: world.gateway.compact(world.eras.recorder.catch_up()))
    for member in world.etcd.all:
        insist(member.gateway.call, "/v3/maintenance/defragment", {})
    for member in alarms(world.gateway):
        insist(world.gateway.call, "/v3/maintenance/alarm", {"action": "DEACTIVATE", "memberID": member, "alarm": "NOSPACE"})
    for server, mark in zip(world.servers, marks):
        assert server.stderr.wait("etcd's alarm NOSPACE is over", since=mark)
        assert Metrics(server).sum("annals_etcd_alarm") == 0


# ---- disks ----


def lose_disks(world, crew, first, fill, empty):
    """One member's disk is full, which ends it; then those of all."""
    victim, *others = [world.etcd.all[(first + more) % members.N_MEMBERS] for more in range(members.N_MEMBERS)]
    for member in (victim, *others):
        member.is_expected_to_end = True
    fill(victim)
    wait_ended(world, [victim])
    assert victim.wait() != 0
    crew.wait_successes(5)
    world.wait_ready()
    for member in others:
        fill(member)
    wait_ended(world, others)
    wait_refused(world, crew)
    for member in (victim, *others):
        member.kill()  # the last one may live on: alone it has nothing to write
        empty(member)
    world.etcd.start_all()
    world.wait_ready()


def wait_ended(world, victims):
    """One of them, as soon as it finds no room for what is written."""

    def has_ended():
        put_if_possible(world.gateway)
        return any(member.popen.poll() is not None for member in victims)

    processes.retry_until(has_ended, "an etcd that has ended", interval=0.1)


def fill_disks(world, crew, number):
    disks, ended = world.etcd.disks, world.etcd.all[number % members.N_MEMBERS]
    lose_disks(world, crew, number, lambda member: disks.fill(member.number), lambda member: disks.make_room(member.number))
    assert NO_SPACE in ended.stderr.text


def refuse_files(world, crew, number):
    """Each write to a file fails, as on a full disk; etcd's log of what has been agreed on is what it writes first."""
    lose_disks(world, crew, number, members.Member.refuse_files, lambda _member: None)


# ---- restores ----


def restore(world, crew, number, bump=0):
    """All members from a backup. What has been written since then is lost."""
    path = world.folder / f"backup-{next(numbers)}"
    base = insist(world.etcd.save, path)
    crew.wait_successes(5)
    watches = [server.watch(f"{clients.path('apps/v1')}?watch=1&resourceVersion={world.version_at(server)}") for server in world.servers]
    insist(world.eras.read)
    world.era, world.are_revisions_used_again = None, not bump
    world.etcd.kill()
    stopped_at = time.monotonic()
    wait_refused(world, crew)
    world.eras.close(base, stopped_at)
    tell_what_is_lost(world, crew)
    marks, counts = [server.stderr.mark() for server in world.servers], [loads(server) for server in world.servers]
    world.etcd.restore(path, *bumped(bump))
    path.unlink()
    world.eras.open(bump)
    world.etcd.start_all()
    world.wait_ready()
    world.era = len(world.eras.all) - 1
    check_restored(world, marks, counts, are_told=not bump)
    world.eras.note_noticed(insist(world.gateway.revision))
    for watch in watches:
        check_ended(watch, are_told=not bump)
    crew.wait_successes(5)


numbers = itertools.count()


def bumped(bump):
    """Flags of a restore."""
    return [f"--bump-revision={bump}", "--mark-compacted"] if bump else []


def restore_bumped(world, crew, number):
    """At revisions that nobody has seen."""
    restore(world, crew, number, BUMP)


def tell_what_is_lost(world, crew):
    there = world.eras.all[-1].truth().state(world.eras.all[-1].base)
    told = [member for member in crew.members if hasattr(member, "restored")]
    for member in told:
        member.restored = there
    crew.wait(lambda member: member not in told or member.restored is None, "everybody to know what is lost")


def loads(server):
    metrics = Metrics(server)
    return {name: metrics.sum(f"annals_cache_{name}_total") for name in ("restores", "reloads")}


def check_restored(world, marks, counts, are_told):
    """are_told: servers notice that it is another history. Else it looks to them like a compaction of all that they followed."""
    for server, mark, before in zip(world.servers, marks, counts):
        if are_told:
            assert server.stderr.wait("etcd has been restored from a backup", since=mark)
        name = "restores" if are_told else "reloads"
        processes.retry_until(lambda server=server, name=name, before=before: loads(server)[name] > before[name], f"{name} in its metrics")


def check_ended(watch, are_told):
    """By a last event, or else the watch that resumes there gets it. Nothing but what happened before comes first."""
    until, last = time.monotonic() + processes.PATIENCE, {}
    with watch:
        for last in watch:
            assert time.monotonic() < until, f"a watch goes on after the restore: {last}"
    assert not are_told or (last.get("type"), last["object"].get("code")) == ("ERROR", 410), last
