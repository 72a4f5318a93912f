"""Random programs do the same to StatefulSets of annals as to those of kube-controller-manager (oracle.py).

    ORACLE_PROGRAMS=2000 ORACLE_SEED=1 tools/run-tests.py tests/cluster -k oracle          # or: make oracle PROGRAMS=2000
    ORACLE_PROGRAMS=1 ORACLE_SEED=112 tools/run-tests.py tests/cluster -k "oracle and events"   # that one again
"""

import concurrent.futures
import os
import pathlib
import random
import time

import pytest

import kube
import oracle
import processes

SECONDS = 20  # for each of the two, unless a number of programs is asked for
PROGRAMS = int(os.environ.get("ORACLE_PROGRAMS", "0"))
SEED = int(os.environ.get("ORACLE_SEED", "0")) or random.randrange(1, 10**9)
AT_ONCE = 6  # programs, each in a namespace of its own: most of their time is waiting

pytestmark = pytest.mark.skipif(not kube.KUBE_CONTROLLER_MANAGER.exists(), reason="tests/cluster/build.sh has not been run")


def run(planes, has_kills):
    """Differences, and how many programs were run."""
    until, n_done, found = time.monotonic() + SECONDS, 0, []
    seeds = iter(range(SEED, SEED + (PROGRAMS or 10**6)))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = set()
        while True:
            while len(running) < AT_ONCE and len(found) < 5 and (PROGRAMS or time.monotonic() < until) and (seed := next(seeds, None)) is not None:
                running.add(pool.submit(oracle.judge, planes, seed, has_kills))
            if not running:
                return found, n_done
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            n_done += len(done)
            found += [difference for difference in (future.result() for future in done) if difference]


@pytest.mark.parametrize("has_kills", [False, True], ids=["events", "kills"])
def test_oracle__random_programs_end_alike(folder, certificates, has_kills):
    planes = oracle.Planes(folder, certificates)
    try:
        found, n_done = run(planes, has_kills)
    finally:
        planes.stop()
    print(f"ORACLE_SEED={SEED}: {n_done} programs")
    assert not found, "\n".join(found)
    assert n_done >= (PROGRAMS or 1)


def test_oracle__tells_a_controller_that_waits_for_nobody(folder, certificates):
    """It can see: of the first programs one ends otherwise."""
    lawless = pathlib.Path(os.environ.get("ANNALS_BUILD", processes.ROOT / "build")) / "tests" / "broken" / "annals-lawless"
    planes = oracle.Planes(folder, certificates, binary=lawless, env={**os.environ, "ANNALS_UNGUARDED": "waiting"})
    try:
        assert any(oracle.judge(planes, seed, tries=1) for seed in range(1, 50))
    finally:
        planes.stop()
