"""Everything at once: 2,000 silent connections, 200 slow readers, bursts of big writes and ordinary clients. The server stays within its memory
and answers GET /readyz each time. How fast is printed, and no reason to fail.

    SOAK_SECONDS=1800 SUITE_SECONDS=3600 tools/run-tests.py tests/fault -k soak    # and SOAK_REPORT=FILE for what it says
"""

import os
import time

import processes
import soak
from world import Crew

SECONDS = float(os.environ.get("SOAK_SECONDS", "6"))
QUIET_SECONDS = min(SECONDS / 3, 60)
# What the server may have of memory, all its pages (VmHWM). A sanitizer needs several times as much, and is so slow that deadlines pass: there
# a tenth of the crowd is at work, and only what the sanitizer finds decides.
MEMORY = 256 << 20
N_SILENT, N_SLOW, N_ORDINARY = 2000, 200, 4


def is_sanitized(server):
    with open(f"/proc/{server.pid}/maps", encoding="utf-8") as maps:
        text = maps.read()
    return "libtsan" in text or "libasan" in text


def report(text):
    print(text)
    if os.environ.get("SOAK_REPORT"):
        with open(os.environ["SOAK_REPORT"], "a", encoding="utf-8") as out:
            out.write(text + "\n")


def last(seconds, memory):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        memory.look()
        yield


def soaked(server, probe, memory):
    """The members that were at work, and where the quiet and the soak began."""
    quiet = probe.mark()
    for _ in last(QUIET_SECONDS, memory):
        time.sleep(0.5)
    probe.wait(quiet)
    noisy = probe.mark()
    part = 10 if is_sanitized(server) else 1
    members = [soak.Silent(server, N_SILENT // part), soak.SlowReaders(server, N_SLOW // part), soak.Bursts(server)]
    members += [soak.Ordinary(server, number) for number in range(N_ORDINARY)]
    crew = Crew(members)
    with crew.at_work():
        for _ in last(SECONDS, memory):
            assert not crew.errors, crew.errors
            time.sleep(0.5)
        crew.wait(lambda member: member.has_worked(), "something done by each")
        probe.wait(noisy)
    return members, quiet, noisy


def test_soak_stays_within_memory_and_ready(folder, certificates):
    soak.raise_file_limit()
    etcd = processes.Etcd(folder / "etcd")
    server = processes.Serve(etcd.endpoint, certificates, "--etcd-compaction-interval=10s")
    soak.store(server)
    probe, memory = soak.Probe(server), soak.Memory(server.pid)
    members, quiet, noisy = soaked(server, probe, memory)
    end = probe.mark()
    peak = memory.look()
    for member in members:
        member.close()
    probe.close()

    before, _ = soak.summary(probe.answers(quiet, noisy))
    during, others = soak.summary(probe.answers(noisy, end))
    silent, slow, bursts, *ordinary = members
    report(f"readyz, quiet: {before}\nreadyz, soak of {SECONDS:.0f} s: {during}\n"
           f"memory: {peak >> 20} MiB at most, {memory.anonymous >> 20} MiB of them anonymous\n"
           f"silent connections closed: {silent.n_closed}; read slowly: {slow.n_read >> 10} KiB, ended: {slow.n_ended}; "
           f"big writes: {bursts.statuses}; ordinary: {[member.statuses for member in ordinary]}")
    if not is_sanitized(server):
        assert not others, others
        assert peak < MEMORY, f"{peak >> 20} MiB"
