"""Does each operation have its place in etcd's history, such that what came later in time comes later there?

Everything an answer says must be true at one revision at least: a write's own, a read's any revision at which the world was like
that, a list's any revision at which all of it was. Going through the operations by their begin, each gets the first such revision that
is not before that of an operation which had ended by then. Earlier is never worse, so there is an order exactly if each finds one.

Rewrites are nobody's operations: the same object again, stored in another version of its kind. It has a new resourceVersion from then on."""

import collections
import heapq

import model
import session


def state_of(value):
    if value is None:
        return None
    labels = value["metadata"]["labels"]
    return model.State(value["data"]["born"], labels["op"], labels.get("patch"))


def is_rewrite(before, after):
    return before is not None and state_of(before) == state_of(after) and before.get("apiVersion") != after.get("apiVersion")


class Sweep:
    def __init__(self, truth):
        self.truth = truth
        self.versions, self.deletions = {}, {}  # the revision of each write, as text, and of each deletion
        self.n_rewrites = 0
        self.deleted = collections.defaultdict(set)  # {key: what was deleted there}
        for key, history in truth.by_key.items():
            self._index(key, history)

    def _index(self, key, history):
        before = None
        for change in history:
            if change.value is None:
                self.deletions[state_of(before).born] = change.revision
                self.deleted[key].add(state_of(before).born)
            elif is_rewrite(before, change.value):
                self.n_rewrites += 1
            else:
                self._note(model.writer(state_of(change.value)), str(change.revision))
            before = change.value

    def _note(self, writer, version):
        if self.versions.setdefault(writer, version) != version:
            raise model.Violation(f"{writer} was carried out twice, at {self.versions[writer]} and {version}")

    @staticmethod
    def _step(span, op):
        """span: (first revision, value), as the truth has it."""
        first, value = span
        after, is_right = model.step(state_of(value), op, lambda _state: str(first))
        return after if is_right else state_of(value), is_right

    def _revision_of(self, op):
        """Of a write, whether its client got an answer or not; 0: none. A lost deletion left no mark."""
        return self.deletions.get(op.seen_born, 0) if op.kind == "delete" else int(self.versions.get(op.id, 0))

    def _place_of_write(self, op, floor):
        revision = self._revision_of(op)
        if op.is_lost and not revision:
            return floor
        before, change = self.truth.change_at(op.key, revision)
        is_there = change and self._step(before, op) == (state_of(change.value), True) and op.seen_version in ("", str(revision))
        return revision if is_there and revision > floor else None

    def _place_of_answer(self, op, floor):
        """Of something that changed nothing."""
        for first, value in self.truth.spans(op.key, floor):
            shows_another = op.seen_version and op.seen_version != str(first)
            if not shows_another and self._step((first, value), op) == (state_of(value), True):
                return max(first, floor)
        return None

    def _place_of_list(self, op, floor):
        revision = int(op.seen_version)
        there = {key: (state_of(value), str(version)) for key, (version, value) in self.truth.state(revision).items()}
        since, until = self.truth.unchanged(revision)
        return max(since, floor) if there == op.items and floor < until else None

    def place(self, op, floor):
        if op.outcome == session.REFUSED:
            return None if op.id in self.versions else floor
        if op.kind == "list":
            return self._place_of_list(op, floor)
        is_write = op.outcome in ("ok", session.LOST) and op.kind != "get"
        return self._place_of_write(op, floor) if is_write else self._place_of_answer(op, floor)

    def without_vanished(self, ops, floor=0):
        """The operations but for lost writes that have never happened: nothing in etcd's history behind `floor` can be their work."""
        told = {op.seen_born for op in ops if op.kind == "delete" and op.outcome == "ok"}

        def may_have_happened(op):
            if op.kind == "delete":
                return any(self.deletions[born] > floor for born in self.deleted[op.key] - told)
            return self._revision_of(op) > floor

        return [op for op in ops if not op.is_lost or may_have_happened(op)]

    def check(self, ops, floor=0):
        """Raises Violation at the first operation without a place. floor: the revision at which the first of them began, at least."""
        ended, floor_op = [], None
        for number, op in enumerate(sorted(ops, key=lambda op: op.begin)):
            while ended and ended[0][0] < op.begin:
                _, _, place, earlier = heapq.heappop(ended)
                floor, floor_op = (place, earlier) if place > floor else (floor, floor_op)
            place = self.place(op, floor)
            if place is None:
                raise model.Violation(f"not true at any revision from {floor} on:", [op, *([floor_op] if floor_op else [])])
            heapq.heappush(ended, (op.end, number, place, op))
