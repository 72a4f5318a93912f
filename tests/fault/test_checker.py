"""The checkers themselves: histories that one store could have given, and ones that it could not."""

import types

import pytest

import eras
import model
import search
import session
import sweep
import transitions
import truth
import watchers
import writers
from eras import Era
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
    return truth.Change(revision, truth.REVISIONS + key, state and {"apiVersion": stored, "metadata": {"uid": state.born, "labels": labels}, "data": {"born": state.born}})


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
    swept = sweep.Sweep(truth.Truth(changes))
    swept.check(ops)
    search.check(swept.without_vanished(ops))


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


def test_a_lost_write_that_never_happened_explains_nothing():
    happened, vanished, not_deleted = put(3, None), put(3, None, "r"), deleted(3, None)
    left = sweep.Sweep(truth.Truth([N, P])).without_vanished([created(), happened, vanished, not_deleted])
    assert happened in left and vanished not in left and not_deleted not in left
    deleted_by_whom = deleted(3, None)
    left = sweep.Sweep(truth.Truth([N, GONE])).without_vanished([created(), deleted_by_whom])
    assert deleted_by_whom in left
    assert deleted_by_whom not in sweep.Sweep(truth.Truth([N, GONE])).without_vanished([created(), deleted_by_whom], floor=13)


def test_a_lost_creation_may_come_after_a_deletion_and_in_no_one_elses_place():
    lost, made = writers.Version(1, 1), writers.Version(2, 2, "uid", 10)
    record = writers.Record(possible=[lost])
    record.acknowledge(made)
    assert record.allows(made) and not record.allows(lost) and not record.allows(None)
    record.acknowledge(None)
    assert record.allows(lost) and record.allows(None) and not record.allows(made)
    record.forget(None)
    assert not record.allows(lost)


# ---- restores: the backup is from revision 10, history was read at 10 s, etcd stopped at 20 s ----


def restored(*changes, base=10):
    return [Era(told_at=10, told_to=11, changes=[N, P]), Era(began=20, base=base, changes=[N, *changes])]


BEFORE = [created(), put(3, 4), get(5, 6, PUT, "11")]

GOOD_ERAS = {
    "what was lost is gone": ([*BEFORE, get(21, 22, NEW, "10")], restored()),
    "a revision means something else": ([*BEFORE, put(21, 22, "r", OTHER, "11"), get(23, 24, OTHER, "11")], restored(change(11, OTHER))),
    "a version of what was lost is a conflict": ([*BEFORE, op("x", "put", 21, 22, born="n", version="11", outcome="Conflict")], restored()),
    "a list of what the backup had": ([*BEFORE, listed(21, 22, "10", [(NEW, "10")])], restored()),
    "what was answered after history had been read": ([*BEFORE, op("q", "patch", 11, 12, PATCHED, "12"), get(21, 22, NEW, "10")], restored()),
    "who was waiting while it was stopped": ([*BEFORE, put(21, None, "r"), get(22, 30, OTHER, "12")], restored(change(12, OTHER))),
}

BAD_ERAS = {
    "what was lost is shown": ([*BEFORE, get(21, 22, PUT, "11")], restored()),
    "what was lost is listed": ([*BEFORE, listed(21, 22, "11", [(PUT, "11")])], restored(change(11, OTHER))),
    "what the backup had is not shown": ([*BEFORE, missing(21, 22)], restored()),
    "what was before the backup is shown": ([*BEFORE, get(21, 22, NEW, "10")], restored(P, base=11)),
    "a write of before is carried out later": ([*BEFORE, get(21, 22, PUT, "12")], restored(change(12, PUT))),
    "a lost write of before is carried out later": ([created(), put(15, None, "r"), get(21, 22, OTHER, "12")], restored(change(12, OTHER))),
    "what was acknowledged before history was read is not there": ([*BEFORE, op("q", "patch", 7, 8, PATCHED, "12")], restored()),
    "what was acknowledged since is not there": ([*BEFORE, put(21, 22, "r", OTHER, "11")], restored()),
}


@pytest.mark.parametrize("name", GOOD_ERAS)
def test_good_eras_are_accepted(name):
    eras.check_operations(*GOOD_ERAS[name])


@pytest.mark.parametrize("name", BAD_ERAS)
def test_bad_eras_are_refused(name):
    with pytest.raises(AssertionError):
        eras.check_operations(*BAD_ERAS[name])


def writer(*acknowledged, lost=(), refused=()):
    told = [types.SimpleNamespace(acknowledged=marks, lost=set(), refused=set()) for marks in acknowledged]
    told[-1].lost, told[-1].refused = set(lost), set(refused)
    return types.SimpleNamespace(eras=told)


def written(revision, mark):
    body = writers.body_of("w0-0", mark, mark, "apps/v1")
    body["metadata"].update(uid="uid", namespace=eras.WRITTEN)
    return truth.Change(revision, f"{truth.REVISIONS}{eras.WRITTEN}/w0-0", body)


WRITTEN = [Era(told_at=10, told_to=11, changes=[written(10, 1), written(11, 2)]), Era(began=20, base=10, changes=[written(10, 1), written(11, 3)])]
FIRST = {1: ("w0-0", 10), 2: ("w0-0", 11)}


def test_what_was_acknowledged_is_there_in_its_era():
    eras.check_acknowledged([writer(FIRST, {3: ("w0-0", 11)})], WRITTEN)
    eras.check_acknowledged([writer({**FIRST, 4: ("w0-0", 12)}, {3: ("w0-0", 11)})], WRITTEN)  # and was lost before anybody read it


@pytest.mark.parametrize("members", [
    [writer({**FIRST, 4: ("w0-0", 9)}, {3: ("w0-0", 11)})],  # acknowledged, and not there
    [writer(FIRST, {3: ("w0-0", 11), 4: ("w0-0", 12)})],
    [writer(FIRST, {3: ("w0-0", 12)})],  # there at another revision
    [writer(FIRST, {}, refused=[3])],
    [writer(FIRST, {})],  # written by nobody
    [writer({1: ("w0-0", 10)}, {3: ("w0-0", 11)})],
])
def test_what_was_not_is_noticed(members):
    with pytest.raises(AssertionError):
        eras.check_acknowledged(members, WRITTEN)


def event(made, type_="MODIFIED"):
    return transitions.Event(type_, made.revision, transitions.meaning(made.value))


def watcher(*segments):
    return types.SimpleNamespace(form=watchers.Form("all"), start="list", segments=segments)


def segment(start, end, *events, era=0):
    return watchers.Segment(start, None, list(events), end, era)


WATCHED = [[segment(10, 11, event(WRITTEN[0].changes[1])), segment(10, 11, event(WRITTEN[1].changes[1]), era=1)],
           [segment(10, 12, event(WRITTEN[0].changes[1]), event(written(12, 9)))],  # the last one after history had been read
           [segment(10, 99, event(written(50, 9)), era=None)]]  # nobody can tell when that was


@pytest.mark.parametrize("segments", WATCHED)
def test_watchers_are_held_against_their_era(segments):
    eras.check_watchers([watcher(*segments)], WRITTEN)


@pytest.mark.parametrize("segments", [
    [segment(10, 11, event(WRITTEN[1].changes[1]))],  # what happened in the next one
    [segment(10, 11)],  # and not of its own
    [segment(10, 11, event(WRITTEN[0].changes[1]), era=1)],
])
def test_watchers_that_are_told_of_another_era_are_noticed(segments):
    with pytest.raises(AssertionError):
        eras.check_watchers([watcher(*segments)], WRITTEN)


def test_what_a_watcher_is_told_of_the_next_era_is_noticed_behind_what_is_known():
    later = [WRITTEN[0], Era(began=20, base=10, changes=[written(10, 1), written(15, 3)])]
    told = segment(10, 15, event(WRITTEN[0].changes[1]), event(later[1].changes[1]))
    with pytest.raises(AssertionError, match="another era"):
        eras.check_watchers([watcher(told)], later)
