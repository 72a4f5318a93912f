"""What one ControllerRevision is to its clients, and what each operation may do to it.

Each write leaves its own mark, so that what is read names the write that made it:

    create   data.born = ID (immutable: names the incarnation), label op = ID
    put      label op = ID, label patch gone; data.born as the client knows it
    patch    label patch = ID
"""

import collections
import dataclasses
import math

import session

State = collections.namedtuple("State", "born op patch")  # None: there is no object


def writer(state):
    """Which operation made this state out of another one."""
    return state.patch or state.op


@dataclasses.dataclass(eq=False)
class Op:
    """An operation, as its client saw it. A write whose outcome is LOST may happen at any time after it began, or never."""

    id: str
    kind: str  # a row of RULES, or "list"
    key: str = ""
    version: str = ""  # precondition: the resourceVersion, "" for none
    born: str = ""  # put: the incarnation; delete: precondition, "" for none
    begin: float = 0
    end: float = math.inf
    outcome: str = session.LOST  # "ok", or a reason of kube's
    seen: State = None  # what the answer shows
    seen_version: str = ""
    seen_uid: str = ""  # delete
    seen_born: str = ""  # delete: the incarnation of that uid
    items: dict = None  # list: {key: (State, version)}
    client: str = ""

    @property
    def is_lost(self):
        return self.outcome == session.LOST

    def __str__(self):
        preconditions = "".join([f" if version {self.version}" * bool(self.version), f" if born {self.born}" * bool(self.born)])
        return f"{self.begin:.6f}-{self.end:.6f} {self.id}: {self.kind} {self.key}{preconditions}: {self.outcome} {self.seen or ''} {self.seen_version}"


# What a correct store answers, and what is there afterwards: (state there, operation, version of a state) -> (outcome, state).


def guarded(rule):
    """Of an object that must be there, with the version that was asked for."""

    def check(state, op, version_of):
        if state is None:
            return "NotFound", None
        if op.version and op.version != version_of(state):
            return "Conflict", state
        return rule(state, op)

    return check


def create(state, op, _version_of):
    return ("AlreadyExists", state) if state else ("ok", State(op.id, op.id, None))


@guarded
def put(state, op):
    return ("ok", State(state.born, op.id, None)) if op.born == state.born else ("Invalid", state)


@guarded
def patch(state, op):
    return "ok", State(state.born, state.op, op.id)


@guarded
def delete(state, op):
    return ("Conflict", state) if op.born and op.born != state.born else ("ok", None)


@guarded
def get(state, _op):
    return "ok", state


RULES = {"create": create, "put": put, "patch": patch, "delete": delete, "get": get}


def step(state, op, version_of):
    """The state after the operation, and whether its answer could be what it was."""
    outcome, after = RULES[op.kind](state, op, version_of)
    if op.is_lost:
        return after, True
    shows = state if op.kind == "get" else after
    is_right = outcome == op.outcome and (op.seen is None or op.seen == shows)
    return after, is_right and (not op.seen_born or op.seen_born == state.born)


class Violation(AssertionError):
    """The history is not what a linearizable store could have given."""

    def __init__(self, what, ops=()):
        super().__init__("\n".join([what, *map(str, ops)]))


def observations(ops):
    for op in ops:
        if op.seen:
            yield op.seen, op.seen_version, op
        for state, version in (op.items or {}).values():
            yield state, version, op


def versions_seen(ops):
    """{writer: resourceVersion} as far as clients got answers; one of each for the other."""
    versions, writers = {}, {}
    for state, version, op in observations(ops):
        mark = (state, version)
        if versions.setdefault(writer(state), mark) != mark or writers.setdefault(version, mark) != mark:
            raise Violation(f"two states with one version, or two versions of one state: {mark}, {versions[writer(state)]}, {writers.get(version)}", [op])
    return {name: version for name, (_, version) in versions.items()}


def name_incarnations(ops, truth):
    """Fills in seen_born. Where nobody got an answer about an incarnation before it was deleted, etcd alone knows its uid."""
    born = {change.value["metadata"]["uid"]: change.value["data"]["born"] for change in truth.changes if change.value}
    for op in ops:
        if op.seen_uid:
            op.seen_born = born[op.seen_uid]
