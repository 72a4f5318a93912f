"""What replicas promise of the versions they store (storage/engine/agreement.h), held against etcd's whole history and against what discovery answered meanwhile.

etcd's history alone shows, at each revision of it:

- An object is written in a version that a live replica had registered, and that each other live one had registered too, or had seen registered.
- A write that keeps the mark of its object is a rewrite: it changes the version, and nothing else. The last version that all live replicas had registered is
  the one it leads to.
- What was deleted does not come back, nor does an earlier state of what was not.

An Answer says which version's hash a replica showed at one moment, and between which revisions of etcd that moment was.

- By registrations: at some revision in between, the replica was registered with that version, and so was each other live one that it had said to have seen.
- By what is stored, whatever registrations say: once a version was shown, no other one is stored or shown any more, unless somebody registered with that one
  whom the replica had not seen. Once a version was stored, no other one is shown, unless somebody who stores it has gone."""

import bisect
import collections
import dataclasses
import itertools
import json

import stored
import truth

OBJECTS, REPLICAS, SEEN = (truth.PREFIX + name for name in ("objects/", "replicas/", "replicas-seen/"))
GROUPS = {**dict.fromkeys(("controllerrevisions", "dependents", "providers"), "annals.dev"), "crates": "toys.example.com"}  # what is looked at

Raw = collections.namedtuple("Raw", "revision key text")  # text None: the key is gone
Answer = collections.namedtuple("Answer", "replica resource since until version")  # since, until: revisions; version None: no hash
Violation = collections.namedtuple("Violation", "revision sentence")


def raw_of(event):
    """Of one event of etcd's, for truth.Gateway.changes()."""
    kv = event["kv"]
    return Raw(int(kv["mod_revision"]), truth.decode(kv["key"]), None if event.get("type") == "DELETE" else truth.decode(kv.get("value", "")))


def resource_of(key):
    """Of an object's key; None: not one of those that are looked at."""
    group, resource = key.removeprefix(OBJECTS).split("/")[:2]
    return resource if key.startswith(OBJECTS) and GROUPS.get(resource) == group else None


def registration(encodes):
    """The text of one, in short. encodes: {resource: version}."""
    return json.dumps({"kinds": {f"{resource}.{GROUPS[resource]}": {"encodes": version} for resource, version in encodes.items()}})


def objects(gateway):
    """What is stored of each object now: {key: text}."""
    end = OBJECTS[:-1] + "0"
    kvs = gateway.call("/v3/kv/range", {"key": truth.encode(OBJECTS), "range_end": truth.encode(end)}).get("kvs", [])
    return {truth.decode(kv["key"]): truth.decode(kv["value"]) for kv in kvs}


@dataclasses.dataclass(frozen=True)
class Registration:
    """encodes: {resource: version}, of what it takes part in; since: {resource: the revision from which on it has said so}."""

    revision: int
    encodes: dict
    since: dict

    @classmethod
    def read(cls, revision, text, before):
        kinds = json.loads(text)["kinds"]
        encodes = {resource: kinds[name]["encodes"] for resource, group in GROUPS.items() if kinds.get(name := f"{resource}.{group}", {}).get("encodes")}
        same = {name for name in encodes if before and before.encodes.get(name) == encodes[name]}
        return cls(revision, encodes, {name: before.since[name] if name in same else revision for name in encodes})


@dataclasses.dataclass(frozen=True)
class Replicas:
    """As they are from one revision on: live registrations, by ID, and what each says to have seen."""

    revision: int = 0
    registered: dict = dataclasses.field(default_factory=dict)
    seen: dict = dataclasses.field(default_factory=dict)

    def after(self, change):
        is_own = change.key.startswith(REPLICAS)
        name = change.key.removeprefix(REPLICAS if is_own else SEEN)
        table = dict(self.registered if is_own else self.seen)
        before = table.pop(name, None)
        if change.text is not None and is_own:
            table[name] = Registration.read(change.revision, change.text, before)
        elif change.text is not None:
            table[name] = max(before or 0, int(change.text))  # one that was late does not take back what others have heard
        return dataclasses.replace(self, revision=change.revision, **{"registered" if is_own else "seen": table})

    def known(self, name):
        """Up to which revision it knows registrations: its own was made in knowledge of all before."""
        return max(self.registered[name].revision, self.seen.get(name, 0))

    def _others(self, resource, version):
        """Who writes another one."""
        return [(name, one) for name, one in self.registered.items() if one.encodes.get(resource, version) != version]

    def may_write(self, resource, version):
        others = self._others(resource, version)
        return any(one.encodes.get(resource) == version and all(self.known(name) >= one.since[resource] for name, _ in others)
                   for one in self.registered.values())

    def may_show(self, name, resource, version):
        own = self.registered.get(name)
        return own is not None and own.encodes.get(resource) == version and all(
            other.since[resource] > self.known(name) for _, other in self._others(resource, version))

    def common(self, resource):
        """What all write; None: they differ, or there is nobody."""
        found = {one.encodes[resource] for one in self.registered.values() if resource in one.encodes}
        return found.pop() if len(found) == 1 else None


class Replay:
    """etcd's history, change by change: violations of the rules that it shows alone, and what else answers are held against."""

    def __init__(self, changes):
        self.violations = []
        self.replicas = [Replicas()]
        self.agreed = {}  # {resource: the last version that all wrote}
        self.objects = {}  # {key: Stored}
        self.gone, self.marks = set(), collections.defaultdict(set)  # uids; {key: marks}
        self.puts = collections.defaultdict(list)  # {(resource, version): revisions}
        self.comings = collections.defaultdict(list)  # {(resource, version): revisions at which somebody registered with it}
        self.goings = collections.defaultdict(list)  # {(resource, version): ... at which somebody with it went or changed}
        self.n_rewrites = 0
        for change in changes:
            self._take(change)

    def _take(self, change):
        if change.key.startswith((REPLICAS, SEEN)):
            self._take_replica(change)
        elif resource := resource_of(change.key):
            self._take_object(resource, change)

    def _take_replica(self, change):
        name, before = change.key.rpartition("/")[2], self.replicas[-1]
        now = before.after(change)
        self.replicas.append(now)
        old, new = (set(one.registered[name].encodes.items()) if name in one.registered else set() for one in (before, now))
        for place in old - new:
            self.goings[place].append(change.revision)
        for place in new - old:
            self.comings[place].append(change.revision)
        for resource in GROUPS:
            self.agreed[resource] = now.common(resource) or self.agreed.get(resource)

    def _take_object(self, resource, change):
        before = self.objects.pop(change.key, None)
        if change.text is None:
            self.gone.add(before.uid)
            return
        after = self.objects[change.key] = stored.Stored(change.text)
        self.puts[resource, after.version].append(change.revision)
        for sentence in itertools.chain(self._judge(resource, after), self._compare(resource, change.key, before, after)):
            self.violations.append(Violation(change.revision, f"{change.key.removeprefix(OBJECTS)} {sentence}"))
        self.marks[change.key].add(after.mark)

    def _judge(self, resource, after):
        now = self.replicas[-1]
        if not now.may_write(resource, after.version):
            yield f"is written in {after.version}, and replicas are {now}"
        if after.uid in self.gone:
            yield "is back, and was deleted"

    def _compare(self, resource, key, before, after):
        if before is None or after.uid != before.uid or after.mark != before.mark:
            if after.mark in self.marks[key]:
                yield f"is again what it was as {after.mark}"
            return
        self.n_rewrites += 1
        if after.version == before.version:
            yield f"is rewritten, and was in {after.version} before"
        for name in sorted(before.members.keys() | after.members.keys()):
            if before.members.get(name) != after.members.get(name):
                yield f"loses its {name} {before.members.get(name)} in a rewrite, which makes it {after.members.get(name)}"
        if after.version != self.agreed.get(resource):
            yield f"is rewritten in {after.version} while {self.agreed.get(resource)} is what all agreed on last"

    # ---- answers ----

    def replicas_between(self, since, until):
        """As they were at some revision in between."""
        first = bisect.bisect_right(self.replicas, since, key=lambda one: one.revision) - 1
        last = bisect.bisect_right(self.replicas, until, key=lambda one: one.revision)
        return self.replicas[first:last]

    def known_by(self, answer):
        """What registrations the replica knew when it answered, at least."""
        now = self.replicas_between(answer.since, answer.since)[0]
        return now.known(answer.replica) if answer.replica in now.registered else 0

    def check(self, answers):
        """All violations, those of answers, too."""
        found = list(self.violations)
        shown = [answer for answer in answers if answer.version]
        for answer in shown:
            if not any(now.may_show(answer.replica, answer.resource, answer.version) for now in self.replicas_between(answer.since, answer.until)):
                found.append(Violation(answer.until, f"{answer} is nothing that it may show"))
        versions = sorted({(answer.resource, answer.version) for answer in shown} | self.puts.keys())
        for (resource, one), (other_resource, other) in itertools.permutations(versions, 2):
            if resource == other_resource:
                found += self._check_pair(resource, one, other, Shown(self, shown, resource, other))
        return sorted(found)

    def _check_pair(self, resource, one, other, shown):
        """What `one` must not do once `other` was shown or stored."""
        comings, goings = self.comings[resource, one], self.goings[resource, other]
        for revision in self.puts[resource, one]:
            earlier = shown.before(revision)
            if earlier and not is_between(comings, earlier[0], revision):
                yield Violation(revision, f"{resource} are stored in {one} at {revision}, after {earlier[1]}")
        for answer in shown.all:
            if answer.resource != resource or answer.version != one:
                continue
            earlier = shown.before(answer.since + 1)
            if earlier and not is_between(comings, earlier[0], answer.until):
                yield Violation(answer.until, f"{answer}, after {earlier[1]}")
            puts = self.puts[resource, other]
            at = bisect.bisect_right(puts, answer.since)
            if at and not is_between(goings, puts[at - 1], answer.until) and not is_between(comings, puts[at - 1], answer.until):
                yield Violation(answer.until, f"{answer}, after {other} was stored at {puts[at - 1]}")


class Shown:
    """Of answers that showed one version: which was over before a revision, and knew most."""

    def __init__(self, replay, shown, resource, version):
        self.all = shown
        answers = sorted((answer for answer in shown if (answer.resource, answer.version) == (resource, version)), key=lambda answer: answer.until)
        self.ends = [answer.until for answer in answers]
        self.most = list(itertools.accumulate(((replay.known_by(answer), answer) for answer in answers), max))

    def before(self, revision):
        """(what was known, Answer), or None."""
        at = bisect.bisect_left(self.ends, revision)
        return self.most[at - 1] if at else None


def is_between(revisions, after, until):
    """Is one of these beyond the first and not beyond the second?"""
    at = bisect.bisect_right(revisions, after)
    return at < len(revisions) and revisions[at] <= until


def report(found, n=10):
    return f"{len(found)} violations\n" + "\n".join(f"revision {revision}: {sentence}" for revision, sentence in found[:n])
