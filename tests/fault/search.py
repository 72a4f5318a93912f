"""Is there an order in which the operations on one key could have happened one by one, each between its begin and its end?

The search of Wing and Gong with Lowe's memory: operations that nothing else finished before may be next; (what is done, state) is
never tried twice. It knows answers alone: what etcd says of versions is the sweep's business."""

import collections
import dataclasses
import math

import model
import session

TRIES_MAX = 200_000


def candidates(ops, done, first):
    """Indices of undone operations that may come next. ops are in the order of their begins."""
    earliest_end = math.inf
    for index in range(first, len(ops)):
        if done >> index & 1:
            continue
        if ops[index].begin > earliest_end:
            return
        earliest_end = min(earliest_end, ops[index].end)
        yield index


def skip_done(done, first):
    while done >> first & 1:
        first += 1
    return first


def next_configurations(ops, done, first, state, version_of):
    """Those with a known outcome first: one that got lost is only needed where nothing else explains what was seen."""
    lost = []
    for index in candidates(ops, done, first):
        op = ops[index]
        after, is_right = model.step(state, op, version_of)
        if not is_right or op.is_lost and after == state:
            continue
        if op.is_lost:
            lost.append((index, after))
        else:
            yield index, after
    yield from lost


def is_linearizable(ops, versions, there=None):
    """ops: of one key, which is in the state `there` when they begin. versions: {writer: resourceVersion}."""
    ops = sorted(ops, key=lambda op: op.begin)
    known = sum(1 << index for index, op in enumerate(ops) if not op.is_lost)

    def version_of(state):
        return versions.get(model.writer(state))

    def expand(done, first, state):
        first = skip_done(done, first)
        return first, next_configurations(ops, done, first, state, version_of), done

    tried, path = {(0, there)}, [expand(0, 0, there)]
    while path:
        first, choices, done = path[-1]
        if done & known == known:
            return True
        index, state = next(choices, (None, None))
        if index is None:
            path.pop()
            continue
        configuration = (done | 1 << index, state)
        if configuration not in tried:
            if len(tried) > TRIES_MAX:
                raise RuntimeError("the history is too long to be searched")
            tried.add(configuration)
            path.append(expand(configuration[0], first, state))
    return False


def known_at(ops, time):
    """The history as far as it was known then: who had no answer yet might never have got one."""
    for op in ops:
        if op.end <= time:
            yield op
        elif op.begin <= time:
            yield dataclasses.replace(op, outcome=session.LOST, end=math.inf, seen=None, seen_version="", seen_uid="", seen_born="", items=None)


def first_unexplained(ops, versions, there):
    """Up to the operation whose answer was the first that no order explains, and some before it."""
    ops = sorted(ops, key=lambda op: op.end)
    low, high = 0, next((n for n, op in enumerate(ops) if op.is_lost), len(ops)) - 1
    while low < high:
        middle = (low + high) // 2
        if is_linearizable(known_at(ops, ops[middle].end), versions, there):
            low = middle + 1
        else:
            high = middle
    return ops[max(0, high - 15) : high + 1]


def check(ops, there=None):
    """Raises Violation unless the operations on each key have an order. there: what was there before, {key: (State, resourceVersion)}."""
    there = there or {}
    versions = {**{model.writer(state): version for state, version in there.values()}, **model.versions_seen(ops)}
    by_key = collections.defaultdict(list)
    for op in ops:
        if op.kind != "list" and op.outcome != session.REFUSED:
            by_key[op.key].append(op)
    for key, mine in by_key.items():
        state, _ = there.get(key, (None, ""))
        if not is_linearizable(mine, versions, state):
            raise model.Violation(f"no order explains the answers about {key}, up to:", first_unexplained(mine, versions, state))
