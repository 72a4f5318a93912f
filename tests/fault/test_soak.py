"""Everything at once. First 2,000 silent connections, 200 slow readers, bursts of big writes and ordinary clients. The server stays within its memory
and answers GET /readyz each time. How fast is printed, and no reason to fail.

Then the attacks of attacks.py, all of them under way on a server that others use. It stays within its memory, and no request of others fails.

    SOAK_SECONDS=1800 SUITE_SECONDS=3600 tools/run-tests.py tests/fault -k soak    # and SOAK_REPORT=FILE for what it says
"""

import contextlib
import json
import os
import time

import pytest

pytest.importorskip("hpack")

import attacks
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


def reader(folder):
    """Flags for a user who may read, as many may, and nothing else; and a token of theirs."""
    policy = {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
              "spec": {"user": "mallory", "apiGroup": "*", "namespace": "*", "resource": "*", "readonly": True}}
    (folder / "policy").write_text(json.dumps(policy) + "\n")
    (folder / "tokens").write_text("of-mallory,mallory,7\n")
    return ["--token-auth-file", folder / "tokens", "--authorization-policy-file", folder / "policy"], "of-mallory"


def everything(client):
    """Also each expensive form of a list."""
    others = [attacks.Lists(client, soak.CONFIGMAPS, accept) for accept in attacks.LIST_TYPES[1:]]
    return attacks.everything(client, soak.CONFIGMAPS) + others


def test_soak_under_attack_stays_within_memory_and_serves_others(folder, certificates):
    soak.raise_file_limit()
    etcd = processes.Etcd(folder / "etcd")
    flags, token = reader(folder)
    server = processes.Serve(etcd.endpoint, certificates, "--etcd-compaction-interval=10s", *flags)
    soak.store(server)
    memory = soak.Memory(server.pid)
    probes = {"readyz": soak.Probe(server), "GET": soak.Probe(server, *certificates.admin, f"{soak.CONFIGMAPS}/stored-0")}
    members = [soak.Ordinary(server, number) for number in range(N_ORDINARY)]
    crew = Crew(members)
    under_way = everything(processes.Client(server.url, server.ca, token=token))
    with crew.at_work():
        quiet = {name: probe.mark() for name, probe in probes.items()}
        for _ in last(QUIET_SECONDS, memory):
            time.sleep(0.5)
        with contextlib.ExitStack() as stack:
            for attack in under_way:
                stack.enter_context(attack).ready()
            noisy = {name: probe.mark() for name, probe in probes.items()}
            for _ in last(SECONDS, memory):
                assert not crew.errors, crew.errors
                time.sleep(0.5)
            crew.wait(lambda member: member.has_worked(), "something done by each")
            for name, probe in probes.items():
                probe.wait(noisy[name])
            end = {name: probe.mark() for name, probe in probes.items()}
    peak, failed = memory.look(), []
    for name, probe in probes.items():
        before, _ = soak.summary(probe.answers(quiet[name], noisy[name]))
        during, others = soak.summary(probe.answers(noisy[name], end[name]))
        failed += others
        report(f"{name}, quiet: {before}\n{name}, attacked for {SECONDS:.0f} s: {during}")
        probe.close()
    statuses = [member.statuses for member in members]
    report(f"memory: {peak >> 20} MiB at most, {memory.anonymous >> 20} MiB of them anonymous\nordinary: {statuses}\n{under_way}")
    if not is_sanitized(server):
        assert not failed, failed
        assert not set().union(*statuses) - {200, 201}, statuses
        assert peak < MEMORY, f"{peak >> 20} MiB"
