"""Exchanges recorded from a real kube-apiserver, step by step: annals answers the same, or deviates as deviations.json says.

    tools/run-tests.py --build build tests/parity
    ANNALS_BIN=build/annals /usr/bin/python3 -m pytest tests/parity -k 'watch and bookmark'
"""

import pytest

import compare
import recordings

CASES = {entry["case"]["name"]: entry for entry in recordings.load()}
STEPS = {f"{name}/{step}": (entry, step) for name, entry in CASES.items() for step in recordings.steps(entry)}
DEVIATIONS = recordings.load_deviations()
MOST_DEVIATIONS = 0.03


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{entry['case']['group']}/{name}") for name, (entry, _) in STEPS.items()])
def test_parity__answers_as_recorded(name, replayed):
    entry, step = STEPS[name]
    want, got = replayed(entry)[step]
    if name in DEVIATIONS:
        check_deviation(want, got, *DEVIATIONS[name])
    elif not compare.is_same(want, got):
        pytest.fail(f"{entry['case'].get('about', '')}\n{compare.difference(want, got)}", pytrace=False)


def check_deviation(want, got, status, why):
    if compare.is_same(want, got):
        pytest.fail(f"listed as a deviation ({why}), but there is none any more", pytrace=False)
    found = got.get("status") if isinstance(got, dict) else None
    wanted = status or (want.get("status") if isinstance(want, dict) else None)
    if found != wanted:
        pytest.fail(f"deviates otherwise than {why}\n{compare.difference(want, got)}", pytrace=False)


def test_parity__deviations_are_steps():
    assert not set(DEVIATIONS) - set(STEPS)


def test_parity__deviations_are_few():
    assert len(DEVIATIONS) <= MOST_DEVIATIONS * len(STEPS)
