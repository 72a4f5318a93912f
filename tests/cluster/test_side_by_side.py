"""The same requests to a real kube-apiserver and to annals: the same answers, or a deviation with a reason.

    tools/run-tests.py --build build tests/cluster
    ANNALS_BIN=build/annals /usr/bin/python3 -m pytest tests/cluster -k 'getlist'
    SIDE_BY_SIDE_STEPS=20000 SIDE_BY_SIDE_SEED=7 ...    more at random, other ones
"""

import os

import pytest

import randomly
import tables

CASES = tables.load() + randomly.cases(int(os.environ.get("SIDE_BY_SIDE_STEPS", "1200")), int(os.environ.get("SIDE_BY_SIDE_SEED", "1")))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_side_by_side__answers_are_kubes(case, differences):
    found = differences(case)
    if found:
        pytest.fail(f"{len(found)} answers differ\n" + "\n".join(found), pytrace=False)
