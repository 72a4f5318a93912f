"""Exchanges recorded from kube-apiserver's apps/v1, replayed at annals.dev/v1 of an annals behind a cluster: once through kube-apiserver's
aggregator, and once directly, with the same certificate. What differs is in parity_aggregated.json, with its reason:

    direct    what annals answers otherwise than was recorded, beyond tests/parity/deviations.json: what belongs to the API version
    through   what arrives through the aggregator otherwise than directly: what kube-apiserver itself answers, adds or takes away
    twice     headers that kube-apiserver gives to each answer beside those that annals has given it
    left_out  what says nothing here

    tools/run-tests.py --build build tests/cluster -k 'parity_aggregated and bookmark'
"""

import json
import pathlib

import pytest

import compare
import kube
import recordings
import remapped

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")

with open(pathlib.Path(__file__).resolve().parent / "parity_aggregated.json", encoding="utf-8") as file:
    LISTED = json.load(file)

LEFT_OUT = {step for group in LISTED["left_out"] for step in group["steps"]}
CASES = {entry["case"]["name"]: entry for entry in remapped.load()}
ALL_STEPS = {f"{name}/{step}": (entry, step) for name, entry in CASES.items() for step in remapped.steps(entry)}
STEPS = {name: step for name, step in ALL_STEPS.items() if name not in LEFT_OUT}
IDS = [pytest.param(name, id=f"{entry['case']['group']}/{name}") for name, (entry, _) in STEPS.items()]


def by_step(groups):
    """{"CASE/STEP": (status or None, why)}"""
    return {step: (status, group["why"]) for group in groups for step, status in group["steps"].items()}


THROUGH = by_step(LISTED["through"])
DIRECT = {**{step: what for step, what in recordings.load_deviations().items() if step in STEPS}, **by_step(LISTED["direct"])}
TWICE = {header for group in LISTED["twice"] for header in group["headers"]}


def without_doubles(document):
    """kube-apiserver's headers beside annals' own, where both say the same."""
    headers = document.get("headers", {}) if isinstance(document, dict) else {}
    for name in TWICE & set(headers):
        if isinstance(headers[name], list) and len(set(headers[name])) == 1:
            headers[name] = headers[name][0]
    return document


def check(want, got, listed, *names):
    trouble = compare.trouble(want, got, listed, names)
    if trouble:
        pytest.fail(trouble, pytrace=False)


@pytest.mark.parametrize("name", IDS)
def test_parity_aggregated__directly_as_recorded(name, aggregated_parity):
    entry, step = STEPS[name]
    recorded, direct, _ = aggregated_parity.replay(entry)[step]
    check(recorded, direct, DIRECT.get(name), "recorded", "directly")


@pytest.mark.parametrize("name", IDS)
def test_parity_aggregated__through_the_aggregator_as_directly(name, aggregated_parity):
    entry, step = STEPS[name]
    _, direct, through = aggregated_parity.replay(entry)[step]
    check(direct, without_doubles(through), THROUGH.get(name), "directly", "through the aggregator")


def test_parity_aggregated__lists_name_steps():
    assert not (set(THROUGH) | set(by_step(LISTED["direct"])) | LEFT_OUT) - set(ALL_STEPS)
