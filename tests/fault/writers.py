"""Writers that each have objects of their own, and therefore know what must be there: what was acknowledged last, or what a lost write
since then may have made of it."""

import dataclasses
import math
import random

import session
from clients import path

PADDING = "x" * 2000  # so that an object is more than a packet


@dataclasses.dataclass(frozen=True)
class Version:
    """An object as one write left it. born, uid and revision are empty where nobody got an answer."""

    mark: int
    born: int
    uid: str = ""
    revision: int = 0


@dataclasses.dataclass
class Record:
    """What may be there under a name. None among the versions: nothing."""

    acknowledged: Version = None
    possible: list = dataclasses.field(default_factory=list)  # by lost writes since
    late: list = dataclasses.field(default_factory=list)  # by lost creations before

    def candidates(self):
        """All that may be there beside what was acknowledged. A creation that comes late finds its place where nothing is."""
        return self.possible + (self.late if None in (self.acknowledged, *self.possible) else [])

    def allows(self, found):
        return any(is_same(found, version) for version in [self.acknowledged, *self.candidates()])

    def acknowledge(self, version):
        """Lost writes were guarded by what was there before this one; but a lost creation may still come after a deletion."""
        self.late += [lost for lost in self.possible if lost and lost.mark == lost.born]
        self.acknowledged, self.possible = version, []

    def forget(self, version):
        """That is what is there, and nothing that was sent comes any more."""
        self.acknowledged, self.possible, self.late = version, [], []


def is_same(found, version):
    if found is None or version is None:
        return found is version
    return found.mark == version.mark and version.born in (0, found.born) and version.uid in ("", found.uid) and version.revision in (0, found.revision)


def body_of(name, mark, born, api_version):
    return {"apiVersion": api_version, "kind": "ControllerRevision", "revision": mark, "data": {"born": born},
            "metadata": {"name": name, "labels": {"mark": str(mark)}, "annotations": {"mark": str(mark), "padding": PADDING}}}


def version_of(body):
    """The mark is in several places, which must agree: else something was done by halves."""
    metadata = body["metadata"]
    marks = {body["revision"], int(metadata["labels"]["mark"]), int(metadata["annotations"]["mark"])}
    assert len(marks) == 1 and metadata["annotations"]["padding"] == PADDING, f"half of a write: {body}"
    return Version(marks.pop(), body["data"]["born"], metadata["uid"], int(metadata.get("resourceVersion", 0)))


class Writer:
    """A member of a crew. acknowledged: {mark: (name, revision)} of all writes; refused: marks of those certainly not carried out."""

    Session, api_version = session.Session, "apps/v1"

    # What it writes: ControllerRevisions, unless a subclass says otherwise.
    path, body_of, version_of = staticmethod(path), staticmethod(body_of), staticmethod(version_of)

    def __init__(self, world, number, server, n_names=5):
        self.session, self.random = self.Session(world, server), random.Random(number)
        self.records = {f"w{number}-{i}": Record() for i in range(n_names)}
        self.marks = iter(range(number * 1000000 + 1, (number + 1) * 1000000))
        self.acknowledged, self.refused, self.lost = {}, set(), set()
        self.successes = self.failures = 0

    def step(self):
        name, mark = self.choose(), next(self.marks)
        record = self.records[name]
        verb = self.random.choice([self._update, self._update, self._replace, self._delete]) if record.acknowledged else self._create
        reply, version = verb(name, mark, record)
        if reply.outcome in (session.LOST, session.REFUSED):
            self.failures += 1
            self._note_failure(reply, mark, record, version)
            session.rest_a_moment()
        else:
            self.successes += 1
            self._note_answer(reply, name, mark, record, version)

    def choose(self):
        """Whom to write to."""
        return self.random.choice(list(self.records))

    def _note_failure(self, reply, mark, record, version):
        if reply.outcome == session.LOST:
            record.possible.append(version)
            self.lost.add(mark)
        else:
            self.refused.add(mark)

    def _note_answer(self, reply, name, mark, record, version):
        if reply.outcome == "ok":
            if version:
                version = self.version_of(reply.body)
                assert version.mark == mark, f"the answer to {mark} shows {version}"
                self.acknowledged[mark] = (name, version.revision)
            record.acknowledge(version)
        elif len(record.candidates()) == 0:
            raise AssertionError(f"{name} must be {record.acknowledged}, but the answer is {reply.body}")
        else:
            self.check(name, self.session)

    def check(self, name, asking):
        """What is there must be something that may be."""
        reply = asking.ask("GET", self.path(self.api_version, name))
        while reply.outcome in (session.LOST, session.REFUSED):
            self.failures += 1
            if self.gives_up():
                return
            session.rest_a_moment()
            reply = asking.ask("GET", self.path(self.api_version, name))
        record, found = self.records[name], self.version_of(reply.body) if reply.outcome == "ok" else None
        assert record.allows(found), f"{name} is {found}, and should be {record}"
        if not is_same(found, record.acknowledged):
            record.acknowledge(found)

    def gives_up(self):
        """Is it of no use any more to know what is there?"""
        return False

    # ---- writes: the reply, and what it makes ----

    def _create(self, name, mark, _record):
        return self.session.ask("POST", self.path(self.api_version), self.body_of(name, mark, mark, self.api_version)), Version(mark, mark)

    def _replace(self, name, mark, record):
        born = record.acknowledged.born
        return self.session.ask("PUT", self.path(self.api_version, name), self.body_of(name, mark, born, self.api_version)), Version(mark, born)

    def _update(self, name, mark, _record):
        change = self.body_of(name, mark, 0, self.api_version)
        del change["data"]
        return self.session.ask("PATCH", self.path(self.api_version, name), change, "application/merge-patch+json"), Version(mark, 0)

    def _delete(self, name, _mark, _record):
        return self.session.ask("DELETE", self.path(self.api_version, name)), None


def check_what_is_there(sessions, members):
    """As each server shows it."""
    for asking in sessions:
        for member in members:
            for name in member.records:
                member.check(name, asking)
        asking.close()


def check_history(told, members, before=frozenset(), until=math.inf):
    """Everything that was ever there was written as a whole, by one of the writes that may have happened; and all that was acknowledged.
    before: marks of what was there before these members wrote. until: the revision up to which this is all of history."""
    made = {}
    for change in told.changes:
        if change.value:
            version = version_of(change.value)
            assert made.setdefault(version.mark, change.revision) == change.revision, f"{version} was carried out twice"
    for member in members:
        for mark, (name, revision) in member.acknowledged.items():
            assert revision > until or made.get(mark) == revision, f"{name}, acknowledged as {mark} at {revision}, was stored at {made.get(mark)}"
        assert not member.refused & made.keys(), "refused, and yet carried out"
    known = set().union(*(member.acknowledged.keys() | member.lost for member in members))
    assert made.keys() <= known | before, "nobody wrote this"
