"""That what judges Histories sees what is wrong: stories that are wrong for one reason each."""

import json

import pytest

import stories
from truth import Change

A, B, C = (("u1", data) for data in '"1" "2" "3"'.split())
LIFE = [(2, A), (3, A), (5, B), (7, A), (9, None), (11, C)]
GOOD = [[(2, A), (5, B), (7, A), (9, None), (11, C)], [(3, A), (None, None), (11, C)], [(7, A), (11, C)], [(11, C)]]
WRONG = {
    "the last one is missing": [(2, A), (5, B)],
    "nothing is listed": [],
    "twice": [(2, A), (3, A), (11, C)],
    "in another order": [(5, B), (3, A), (11, C)],
    "what never was": [(2, A), (5, ("u1", '"9"')), (11, C)],
    "another uid": [(2, A), (11, ("u2", C[1]))],
    "at another version": [(2, A), (6, B), (11, C)],
    "a deletion that was none": [(2, A), (5, None), (11, C)],
    "a deletion after which nothing went": [(2, A), (11, C), (None, None)],
}


@pytest.mark.parametrize("listed", GOOD)
def test_story__may_leave_out_what_nobody_saw(listed):
    stories.check_story("w", listed, LIFE)


@pytest.mark.parametrize("reason", WRONG)
def test_story__is_wrong(reason):
    with pytest.raises(AssertionError):
        stories.check_story("w", WRONG[reason], LIFE)


def history(n, revisions, change):
    return Change(n, stories.STORED_HISTORIES + "h", {"metadata": {"uid": "h"}, "spec": {"subject": {"name": "w"}}, "status": {
        "uid": "u", "totalChanges": n, "revisions": revisions, "changes": [change]}})


def revision(n, data):
    return Change(n, f"{stories.STORED_REVISIONS}r{data}", {"metadata": {"ownerReferences": [{"uid": "h"}]}, "data": {"data": data}})


def changed(data):
    return {"type": "Changed", "revision": f"r{data}", "resourceVersion": "1"}


def grown(n):
    """The transactions that keep n states, with those beyond the limit trimmed."""
    found = []
    for number in range(1, n + 1):
        trimmed = [Change(number, f"{stories.STORED_REVISIONS}r{number - stories.LIMIT - 1}", None)] if number > stories.LIMIT + 1 else []
        found.append([*trimmed, revision(number, number), history(number, min(number, stories.LIMIT + 1), changed(number))])
    return found


def take(batches):
    found = stories.Stories()
    for batch in batches:
        found.take(batch)
    return found.found["w"].told


def test_limit__holds_in_each_transaction():
    n = stories.LIMIT + 3
    assert [json.loads(state[1]) for _, state in take(grown(n))] == list(range(1, n + 1))


@pytest.mark.parametrize("spoil", [
    lambda batches: batches[-1].pop(0),                                                    # one too many
    lambda batches: batches[1].append(Change(2, stories.STORED_REVISIONS + "r1", None)),  # one too few
    lambda batches: batches[-1].__setitem__(0, Change(9, stories.STORED_REVISIONS + f"r{stories.LIMIT + 1}", None)),  # not the oldest
    lambda batches: batches.__setitem__(1, batches[1][:1] + [history(2, 3, changed(2))]),  # another number
    lambda batches: batches.pop(1),                                                        # a change is missing
])
def test_limit__is_wrong(spoil):
    batches = grown(stories.LIMIT + 2)
    spoil(batches)
    with pytest.raises(AssertionError):
        take(batches)
