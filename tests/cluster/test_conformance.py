"""Kubernetes' conformance specs judge annals with fake nodes: those that pass must go on to pass, and each of the others has a reason (conformance.py)."""

import collections
import os
import pathlib
import re

import pytest

import conformance
import upstream
from test_upstream import SPECS as SETS
from test_upstream import plane_of

pytestmark = pytest.mark.skipif(not upstream.E2E.exists() or not conformance.LIST.exists(), reason="tests/cluster/build.sh has not been run")

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "development" / "testing.md"
OF_SETS = "[sig-apps] StatefulSet "
# Every third spec is run beside all other tests, and all of them by "make check-conformance".
CHOSEN = conformance.PASSES[:: int(os.environ.get("CONFORMANCE_STEP", "3"))]


@pytest.fixture(scope="module")
def runs(request, certificates):
    """All that are chosen, from the first test on."""
    chosen = [item.callspec.params["name"] for item in request.session.items if item.originalname == test_spec__passes.__name__]
    for plane in plane_of(certificates, upstream.COMPACTED):
        running = conformance.Runs(plane, chosen)
        yield running
        running.stop()


def is_of_sets(spec):
    """Whether test_upstream.py runs it."""
    return spec.name.startswith(OF_SETS) and any(re.search(rf"{re.escape(name)}( \[|$)", spec.name) for name in SETS)


def left_out():
    return [spec for spec in conformance.published() if spec.name not in conformance.PASSES and not is_of_sets(spec)]


def test_specs__pass_or_have_a_reason():
    published = {spec.name for spec in conformance.published()}
    assert not set(conformance.PASSES) - published
    assert not [spec.name for spec in left_out() if not conformance.reason_of(spec)]


def test_reasons__are_all_used():
    used = {conformance.row_of(spec) for spec in left_out()}
    assert [row for row in conformance.LEFT_OUT if row not in used] == []


def test_page__has_the_numbers():
    """The page says how many there are, how many pass, and how many are left out for each reason."""
    everything, page = conformance.published(), PAGE.read_text(encoding="utf-8")
    rows = collections.Counter(conformance.reason_of(spec) for spec in left_out())
    n_passing = len(everything) - sum(rows.values())
    assert f"passes {n_passing} of {len(everything)} conformance specs" in " ".join(page.split())
    missing = [f"| {reason} | {n} |" for reason, n in rows.items() if f"| {reason} | {n} |" not in page]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", CHOSEN)
def test_spec__passes(runs, name):
    state, text = runs.outcome(name)
    assert state == "passed", text
