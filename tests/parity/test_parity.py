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
OPEN = recordings.load_open()
MOST_DEVIATIONS = 0.04
MOST_OPEN = 20  # lower it with each step that is right


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{entry['case']['group']}/{name}") for name, (entry, _) in STEPS.items()])
def test_parity__answers_as_recorded(name, replayed):
    entry, step = STEPS[name]
    want, got = replayed(entry)[step]
    trouble = compare.trouble(want, got, DEVIATIONS.get(name))
    if name in OPEN:
        assert trouble, "answers as recorded: remove it from open.json"
    elif trouble:
        pytest.fail(f"{entry['case'].get('about', '')}\n{trouble}", pytrace=False)


def test_parity__deviations_are_steps():
    assert not set(DEVIATIONS) - set(STEPS)


def test_parity__open_steps_become_fewer():
    assert not OPEN - set(STEPS) and not OPEN & set(DEVIATIONS) and len(OPEN) <= MOST_OPEN


def test_parity__deviations_are_few():
    assert len(DEVIATIONS) <= MOST_DEVIATIONS * len(STEPS)
