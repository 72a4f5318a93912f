"""The checkers themselves: histories that one store could have given, and ones that it could not."""

import pytest

import model
import search
import session
import sweep
import truth
from model import Op, State

KEY = "default/a"
NEW, PUT, OTHER, PATCHED = State("n", "n", None), State("n", "p", None), State("n", "r", None), State("n", "n", "q")


def op(id, kind, begin, end, seen=None, seen_version="", **more):
    lost = {"outcome": session.LOST} if end is None else {"outcome": "ok", "end": end}
    return Op(id, kind, **{"key": KEY, "begin": begin, "seen": seen, "seen_version": seen_version, **lost, **more})


def created(begin=1, end=2):
    return op("n", "create", begin, end, NEW if end else None, "10" if end else "")


def put(begin, end, id="p", state=PUT, made="11", **more):
    return op(id, "put", begin, end, state if end else None, made if end else "", born="n", **more)


def get(begin, end, state, version, id="g"):
    return op(id, "get", begin, end, state, version)


def missing(begin, end, kind="get", id="m", **more):
    return op(id, kind, begin, end, outcome="NotFound", **more)


def deleted(begin, end, id="d", **more):
    return op(id, "delete", begin, end, seen_born="n" if end else "", **more)


def listed(begin, end, version, items):
    return op("l", "list", begin, end, None, version, key="", items={KEY: item for item in items})


def change(revision, state, key=KEY, stored="annals.dev/v1"):
    labels = state and {name: value for name, value in (("op", state.op), ("patch", state.patch)) if value}
    return truth.Change(revision, truth.REVISIONS + key, state and {"apiVersion": stored, "metadata": {"labels": labels}, "data": {"born": state.born}})


N, P, Q, GONE = change(10, NEW), change(11, PUT), change(12, PATCHED), change(13, None)
REWRITTEN = change(11, NEW, stored="apps/v1")

GOOD = {
    "nothing": ([], []),
    "one after the other": ([created(), get(3, 4, NEW, "10"), put(5, 6), get(7, 8, PUT, "11")], [N, P]),
    "a read beside a write sees either": ([created(), put(3, 9), get(4, 5, NEW, "10"), get(6, 7, PUT, "11")], [N, P]),
    "a conflict beside the write that causes it": (
        [created(), put(3, 9), op("x", "put", 4, 5, born="n", version="10", outcome="Conflict")], [N, P]),
    "a lost write that happened": ([created(), put(3, None), get(8, 9, PUT, "11")], [N, P]),
    "a lost write that happened late": ([created(), put(3, None), get(5, 6, NEW, "10"), get(8, 9, PUT, "11")], [N, P]),
    "a lost write that never happened": ([created(), put(3, None), get(8, 9, NEW, "10")], [N]),
    "a lost creation that others deleted": ([created(1, None), deleted(3, 4), missing(5, 6)], [N, GONE]),
    "one of two creations is refused": ([created(), op("y", "create", 1, 2, outcome="AlreadyExists")], [N]),
    "an incarnation that is gone is not updated": (
        [created(), op("z", "put", 3, 4, born="other", outcome="Invalid"), op("d", "delete", 3, 4, born="other", outcome="Conflict")], [N]),
    "a list beside a write is before or after it": ([created(), put(3, 9), listed(4, 5, "10", [(NEW, "10")])], [N, P]),
}

BAD = {
    "a stale read": ([created(), put(3, 4), get(5, 6, NEW, "10")], [N, P]),
    "a read that goes back": ([created(), put(3, 9), get(4, 5, PUT, "11", "g1"), get(6, 7, NEW, "10", "g2")], [N, P]),
    "a lost update: the patch undoes the write before it": (
        [created(), put(3, 4), op("q", "patch", 5, 6, PATCHED, "12")], [N, P, Q]),
    "two of one version both succeed": (
        [created(), put(3, 6, version="10"), put(3, 6, "r", OTHER, "12", version="10")], [N, P, change(12, OTHER)]),
    "two creations both succeed": (
        [created(), op("y", "create", 1, 2, State("y", "y", None), "11")], [N, change(11, State("y", "y", None))]),
    "a write that was acknowledged and is gone": ([created(), missing(3, 4)], [N]),
    "deleted twice": ([created(), deleted(3, 4), deleted(5, 6, "e")], [N, GONE]),
    "back after it was deleted": ([created(), deleted(3, 4), get(5, 6, NEW, "10")], [N, GONE]),
    "a precondition overlooked": ([created(), put(3, 4), deleted(5, 6, version="10")], [N, P, GONE]),
    "a conflict without a cause": ([created(), op("x", "put", 3, 4, born="n", version="10", outcome="Conflict")], [N]),
    "seen before it was asked for": ([created(3, 4), get(1, 2, NEW, "10")], [N]),
    "a lost write seen before it began": ([created(), get(3, 4, PUT, "11"), put(5, None)], [N, P]),
    "refused, and yet done": ([created(), op("p", "put", 3, 4, born="n", outcome=session.REFUSED), get(5, 6, PUT, "11")], [N, P]),
    "two states with one version": ([created(), put(3, 4, made="10")], [N, P]),
}

BAD_LISTS = {
    "a stale list": ([created(), put(3, 4), listed(5, 6, "10", [(NEW, "10")])], [N, P]),
    "a list without what it names": ([created(), listed(3, 4, "10", [])], [N]),
    "a list of two moments": (
        [created(), op("l", "list", 3, 4, None, "11", key="", items={KEY: (NEW, "10"), "default/b": (State("b", "b", None), "11")})],
        [N, P._replace(revision=11), change(12, State("b", "b", None), "default/b")]),
    "a list, then a read of what was before": (
        [created(), put(3, 9), listed(4, 5, "11", [(PUT, "11")]), get(6, 7, NEW, "10")], [N, P]),
}


# What the search, which knows answers alone, cannot judge.
GOOD_REWRITES = {
    "a read before, one after": ([created(), get(3, 4, NEW, "10"), get(5, 6, NEW, "11")], [N, REWRITTEN]),
    "it makes a conflict": ([created(), op("x", "put", 3, 4, born="n", version="10", outcome="Conflict")], [N, REWRITTEN]),
    "a write of the version it made": ([created(), put(3, 4, made="12", version="11")], [N, REWRITTEN, change(12, PUT)]),
    "a list before and one after": (
        [created(), listed(3, 4, "10", [(NEW, "10")]), listed(5, 6, "11", [(NEW, "11")])], [N, REWRITTEN]),
}

BAD_REWRITES = {
    "a read goes back behind it": ([created(), get(3, 4, NEW, "11"), get(5, 6, NEW, "10")], [N, REWRITTEN]),
    "a read of a version that there never was": ([created(), get(3, 4, NEW, "12")], [N, REWRITTEN]),
    "a write overlooks it": (
        [created(), get(3, 4, NEW, "11"), put(5, 6, made="12", version="10")], [N, REWRITTEN, change(12, PUT)]),
    "a conflict without a cause": ([created(), get(3, 4, NEW, "11"), op("x", "put", 5, 6, born="n", version="11", outcome="Conflict")], [N, REWRITTEN]),
    "it undoes a write": ([created(), put(3, 4), get(5, 6, NEW, "12")], [N, P, change(12, NEW, stored="apps/v1")]),
    "a list goes back behind it": (
        [created(), listed(3, 4, "11", [(NEW, "11")]), listed(5, 6, "10", [(NEW, "10")])], [N, REWRITTEN]),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_history_is_accepted(name):
    ops, changes = GOOD[name]
    search.check(ops)
    sweep.Sweep(truth.Truth(changes)).check(ops)


@pytest.mark.parametrize("name", BAD)
def test_bad_history_is_refused_by_the_search(name):
    with pytest.raises(model.Violation):
        search.check(BAD[name][0])


@pytest.mark.parametrize("name", BAD)
def test_bad_history_is_refused_by_the_sweep(name):
    ops, changes = BAD[name]
    with pytest.raises(model.Violation):
        sweep.Sweep(truth.Truth(changes)).check(ops)


@pytest.mark.parametrize("name", GOOD_REWRITES)
def test_good_rewrites_are_accepted(name):
    ops, changes = GOOD_REWRITES[name]
    swept = sweep.Sweep(truth.Truth(changes))
    swept.check(ops)
    assert swept.n_rewrites == 1


@pytest.mark.parametrize("name", BAD_REWRITES)
def test_bad_rewrites_are_refused(name):
    ops, changes = BAD_REWRITES[name]
    with pytest.raises(model.Violation):
        sweep.Sweep(truth.Truth(changes)).check(ops)


@pytest.mark.parametrize("name", BAD_LISTS)
def test_bad_list_is_refused(name):
    ops, changes = BAD_LISTS[name]
    with pytest.raises(model.Violation):
        sweep.Sweep(truth.Truth(changes)).check(ops)


def test_write_that_was_carried_out_twice_is_noticed():
    with pytest.raises(model.Violation, match="twice"):
        sweep.Sweep(truth.Truth([N, P, change(12, OTHER), change(13, PUT)]))


def test_violation_names_what_cannot_be_explained():
    ops = [created(), *(get(3 + n, 3.5 + n, NEW, "10", f"g{n}") for n in range(30)), put(40, 41), get(42, 43, NEW, "10", "stale"),
           get(44, 45, PUT, "11", "later")]
    with pytest.raises(model.Violation) as violation:
        search.check(ops)
    lines = str(violation.value).splitlines()
    assert " stale: get" in lines[-1]
