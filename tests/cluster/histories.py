"""The judge of recorded histories. Truth has two sources that are not annals: the etcd of kube-apiserver has every version of every object, and the audit
log of kube-apiserver has the user of every write with the version that it made. Histories must list exactly these states, in this order, and no wrong
user. Everything here is pure: the test that collects the evidence is test_history_random.py."""

import collections
import copy
import dataclasses
import datetime
import json

DERIVED = ("kubectl.kubernetes.io/last-applied-configuration", "kubernetes.io/change-cause", "deployment.kubernetes.io/revision")
RECORDED = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers", "generateName")
REDACTED = "annals.dev/redacted:"


def canonical(value):
    """Without members that are null or empty: docs/reference/digest.md."""
    if isinstance(value, dict):
        members = {name: canonical(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member not in (None, {}, [])}
    return [canonical(item) for item in value] if isinstance(value, list) else value


def state_of(shown):
    """The part of an object that is recorded; of a Secret with its values."""
    metadata = {name: value for name, value in shown["metadata"].items() if name in RECORDED}
    metadata["annotations"] = {name: value for name, value in (metadata.get("annotations") or {}).items() if name not in DERIVED}
    return canonical({**{name: value for name, value in shown.items() if name != "status"}, "metadata": metadata})


def moment(text):
    """Seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


# ---- truth ----


Version = collections.namedtuple("Version", "revision value")


class Lives:
    """{(plural, name): [Version]}, from etcd's own watch (stories.Follower). prefixes: {prefix of keys: plural}."""

    def __init__(self, prefixes):
        self.prefixes, self.found, self.n = prefixes, collections.defaultdict(list), 0

    def take(self, batch):
        for change in batch:
            prefix, _, name = change.key.rpartition("/")
            if prefix + "/" in self.prefixes:
                self.found[self.prefixes[prefix + "/"], name].append(Version(change.revision, change.value))
                self.n += 1


@dataclasses.dataclass
class Write:
    """A request in the audit log that was to change something. answered: infinity if nobody knows when, or whether it was carried out."""

    user: str
    resource: str
    name: str  # "": not known
    received: float
    answered: float
    code: int
    uri: str


class Audit:
    """Requests of the audit log: by the version that they made, by the uid that they deleted, and those whose end is unknown. acts_for: {user: the one
    whom that user always impersonates}, since the beginning of a request does not say so."""

    def __init__(self, events, acts_for):
        self.acts_for = acts_for
        self.by_version, self.by_uid, self.by_object = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
        self.unknown, received = [], {}
        for event in events:
            if event["stage"] == "RequestReceived":
                received[event["auditID"]] = event
            elif event["stage"] in ("ResponseComplete", "Panic"):
                received.pop(event["auditID"], None)
                self._take(event)
        for event in received.values():
            self.unknown.append(self._write(event, float("inf"), 0))
        for write in self.unknown:
            self.by_object[write.resource, write.name].append(write)

    def _write(self, event, answered, code):
        asked = event["objectRef"]
        user = (event.get("impersonatedUser") or event["user"])["username"]
        received = moment(event["requestReceivedTimestamp"])
        return Write(self.acts_for.get(user, user), asked["resource"], asked.get("name", ""), received, answered, code, event["requestURI"])

    def _take(self, event):
        sent = event.get("requestObject")
        if "dryRun" in event["requestURI"] or isinstance(sent, dict) and sent.get("dryRun"):
            return
        code = event.get("responseStatus", {}).get("code", 0)
        write = self._write(event, moment(event["stageTimestamp"]), code)
        answer = event.get("responseObject") or {}
        if not code or code >= 500:
            write.answered = float("inf")
            self.unknown.append(write)
            return
        if code < 300 and event["verb"] in ("delete", "deletecollection"):
            for one in answer.get("items", [answer]):
                metadata = one.get("metadata", {})
                name, uid = metadata.get("name", write.name), metadata.get("uid") or one.get("details", {}).get("uid")
                self.by_uid[uid].append(write)
                self.by_object[write.resource, name].append(write)
            return
        if code < 300:
            metadata = answer.get("metadata", {})
            write.name = metadata.get("name", write.name)
            self.by_version[int(metadata.get("resourceVersion", "0"))].append(write)
        self.by_object[write.resource, write.name].append(write)

    def writers(self, key, revision, gone_uid):
        """Writes that may have made this version of an object: one, unless answers crossed or were lost."""
        resource, name = key
        known = self.by_uid[gone_uid] if gone_uid else self.by_version[revision]
        if known:
            # A later request that changed nothing gets the same version as its answer.
            first = min(write.answered for write in known)
            return [write for write in known if write.received <= first]
        return [write for write in self.unknown if write.resource == resource and write.name in ("", name)]


@dataclasses.dataclass
class Run:
    """Versions of an object, one after the other, that have the same state. state: None if the object is gone. authors: users of whom one made the first."""

    uid: str
    state: object
    versions: list
    authors: set
    asked: float  # when the write that made the first version came
    done: float


class Nobody(AssertionError):
    """The evidence has a hole: a version that no request made."""


def runs_of(key, versions, audit):
    runs, alive = [], None
    for version in versions:
        value = version.value
        state, uid = (state_of(value), value["metadata"]["uid"]) if value else (None, alive)
        if runs and (runs[-1].state, runs[-1].uid) == (state, uid):
            runs[-1].versions.append(version.revision)
            continue
        writes = audit.writers(key, version.revision, None if value else uid)
        if not writes:
            raise Nobody(f"{key}: no request made version {version.revision}")
        ends = [write.answered for write in writes if write.answered != float("inf")]
        runs.append(Run(uid, state, [version.revision], {write.user for write in writes}, min(write.received for write in writes),
                        min(ends, default=max(write.received for write in writes))))
        alive = uid if value else None
    return runs


# ---- evidence ----


class Listed:
    """The changes of one History, all that it ever listed. It lists the newest only, so it is read again and again."""

    def __init__(self):
        self.changes, self.seen_at = [], []

    def take(self, status, now):
        """Returns what is wrong with it, or None."""
        shown, total = status.get("changes", []), int(status.get("totalChanges", 0))
        first = total - len(shown)
        if first > len(self.changes):
            return f"changes {len(self.changes)} to {first} were listed and removed before anybody read them"
        if total < len(self.changes):
            return f"totalChanges went from {len(self.changes)} to {total}"
        known = self.changes[first:]
        if shown[:len(known)] != known:
            return f"changes that were listed as {known} are listed as {shown[:len(known)]}"
        self.changes += shown[len(known):]
        self.seen_at += [now] * (len(self.changes) - len(self.seen_at))
        return None


@dataclasses.dataclass
class Evidence:
    lives: Lives
    audit: Audit
    listed: dict  # {(plural, name): Listed}
    states: dict  # {name of a revision: data}
    troubles: list  # [(name, began, over)]

    def is_troubled(self, since, until):
        return any(began <= until and since <= over for _, began, over in self.troubles)


@dataclasses.dataclass
class Verdict:
    faults: list = dataclasses.field(default_factory=list)
    misnamed: int = 0  # faults that are wrong names
    states: int = 0
    listed: int = 0
    skipped: int = 0  # changes that say so
    missing: int = 0  # states before these
    unseen: list = dataclasses.field(default_factory=list)  # states that came and went in a trouble: before it the object was as it was after it, or had no History
    named: int = 0
    calm: int = 0  # changes without a trouble in between
    calm_named: int = 0
    contested: int = 0  # calm changes without a user, of an object that another user tried to write at the same time
    unexcused: list = dataclasses.field(default_factory=list)  # other calm changes without a user
    crossed: int = 0  # changes that one of several users may have made: the name is one of these

    def __str__(self):
        return (f"{self.listed} changes listed of {self.states} states; {self.missing} states are missing, before {self.skipped} changes that say so; "
                f"{len(self.unseen)} times an object changed unseen in a trouble; "
                f"{self.named} with a user, {self.misnamed} wrong names, {self.crossed} where answers crossed; "
                f"without a trouble in between {self.calm_named} of {self.calm} have a user ({100 * self.share:.2f} %), "
                f"{self.contested} have none as others wrote at the same time, {len(self.unexcused)} for no reason")

    @property
    def share(self):
        return self.calm_named / self.calm if self.calm else 1.0


# ---- the judge ----


def judge(evidence):
    verdict, tokens = Verdict(), {}
    for key in sorted(set(evidence.lives.found) | set(evidence.listed)):
        runs = runs_of(key, evidence.lives.found.get(key, []), evidence.audit)
        verdict.states += len(runs)
        ObjectJudge(evidence, verdict, key, runs, tokens).judge()
    return verdict


class ObjectJudge:
    """Walks through the changes of one object, and through what happened to it."""

    def __init__(self, evidence, verdict, key, runs, tokens):
        self.evidence, self.verdict, self.key, self.runs, self.tokens = evidence, verdict, key, runs, tokens
        self.places = {revision: place for place, run in enumerate(runs) for revision in run.versions}
        self.listed = evidence.listed.get(key) or Listed()

    def blame(self, change, text):
        number = self.listed.changes.index(change) if change else "end"
        self.verdict.faults.append(f"{'/'.join(self.key)}, change {number}: {text}\n    {json.dumps(change)}")

    def judge(self):
        at, before = -1, None
        for change, seen_at in zip(self.listed.changes, self.listed.seen_at):
            self.verdict.listed += 1
            place = self.place_of(change, at)
            if place is None:
                self.blame(change, "no such version ever was")
            elif place <= at:
                self.blame(change, f"its state is number {place}, and number {at} was listed before")
            else:
                self.judge_change(change, seen_at, before, at, place)
                at, before = place, change
        self.judge_end(at)

    def place_of(self, change, at):
        """Of a change in the runs."""
        place = self.places.get(int(change.get("resourceVersion", "0")))
        if change["type"] == "Deleted" and (place is None or self.runs[place].state is not None):
            # With the last version of the object as it was there, or without one.
            after = at if place is None else max(at, place)
            return next((n for n in range(after + 1, len(self.runs)) if self.runs[n].state is None), None)
        return place

    def comes_back(self, at, place):
        """Is the object after run `place` as it was after run `at`? Who saw only these two saw no change."""
        last, run = (self.runs[n] if n >= 0 else None for n in (at, place))
        return run.state is None if last is None else (last.state, last.state and last.uid) == (run.state, run.state and run.uid)

    def judge_end(self, at):
        rest, end = self.runs[at + 1:], len(self.runs) - 1
        if rest and self.comes_back(at, end) and self.evidence.is_troubled(rest[0].asked, rest[-1].done + 1):
            self.unsee(rest)
        elif rest:
            self.blame(None, f"{len(rest)} states at the end are not listed: versions {[run.versions for run in rest]}")

    def unsee(self, runs):
        self.verdict.unseen.append(f"{'/'.join(self.key)}: {[(run.versions, sorted(run.authors)) for run in runs]}")

    def judge_change(self, change, seen_at, before, at, place):
        run, last = self.runs[place], self.runs[at] if at >= 0 else None
        is_new = last is None or last.state is None or last.uid != run.uid
        wanted = "Deleted" if run.state is None else "Created" if is_new else "Changed"
        if change["type"] != wanted:
            self.blame(change, f"it is {wanted}")
        self.judge_state(change, run)
        if change["type"] == "Changed" and before:
            self.judge_paths(change, before)
        missing = self.runs[at + 1:place]
        is_troubled = self.evidence.is_troubled(last.asked if last else 0, seen_at)
        if missing and not change.get("skipped") and is_troubled and self.comes_back(at, place - 1):
            self.unsee(missing)
        elif missing or change.get("skipped"):
            self.judge_gap(change, before, last, missing, run, is_troubled)
        self.judge_user(change, seen_at, run, last, missing)

    def judge_state(self, change, run):
        if run.state is None:
            if "revision" in change:
                self.blame(change, "a deletion has a state")
            return
        recorded = self.evidence.states.get(change.get("revision"))
        if recorded is None:
            self.blame(change, "its revision is not there")
        elif not self.is_same(run.state, canonical(recorded)):
            self.blame(change, f"its state is\n    {json.dumps(recorded, sort_keys=True)} rather than\n    {json.dumps(run.state, sort_keys=True)}")

    def is_same(self, true, recorded):
        if self.key[0] != "secrets":
            return true == recorded
        data, hidden = true.get("data", {}), recorded.get("data", {})
        return ({**true, "data": None} == {**recorded, "data": None} and data.keys() == hidden.keys()
                and all(self.hides(name, data[name], hidden[name]) for name in data))

    def hides(self, name, value, token):
        """One value has one token, and one token is of one value."""
        place = (self.key, name)
        return (token.startswith(REDACTED) and value not in token and self.tokens.setdefault((place, "value", value), token) == token
                and self.tokens.setdefault((place, "token", token), value) == value)

    def judge_paths(self, change, before):
        old, new = (canonical(self.evidence.states.get(one.get("revision")) or {}) for one in (before, change))
        paths = change.get("paths", [])
        for path in paths:
            if value_at(old, path) == value_at(new, path):
                self.blame(change, f"{path} has not changed")
        for path in changed_members(old, new):
            if not change.get("morePaths") and not any((path + "/").startswith(one + "/") or (one + "/").startswith(path + "/") for one in paths):
                self.blame(change, f"{path} has changed, and is not listed")

    def judge_gap(self, change, before, before_gap, missing, run, is_troubled):
        gap = change.get("gap", {})
        self.verdict.missing += len(missing)
        if not change.get("skipped"):
            self.blame(change, f"{len(missing)} states before it are missing, and it does not say so: versions {[one.versions for one in missing]}")
            return
        self.verdict.skipped += 1
        if not is_troubled:
            self.blame(change, f"it says that states were skipped, and nothing was in the way of recording; {len(missing)} are missing")
        if before and "resourceVersion" in before and gap.get("resourceVersion") != before["resourceVersion"]:
            self.blame(change, f"its gap begins behind {gap.get('resourceVersion')} rather than {before['resourceVersion']}")
        if int(gap.get("states", 0)) > len(missing):
            self.blame(change, f"{len(missing)} states are missing, and it says {gap['states']} at least")
        self.judge_authors(change, gap, before_gap, missing, run)

    def judge_authors(self, change, gap, before_gap, missing, run):
        """Without a user, a change may have its own author among those of its gap. The user of an object that was created in the gap is its creator:
        then its last author is one of the gap's."""
        authors = {one["user"] for one in gap.get("authors", [])}
        is_of_creator = change["type"] == "Created" or "user" not in change
        true = set().union(*(one.authors for one in missing), run.authors if is_of_creator else set())
        if authors - true:
            self.misname(change, f"{sorted(authors - true)} did not write in its gap, {sorted(true)} did")
        if not gap.get("moreAuthors"):
            named = authors | {change.get("user")}
            for one in [*without_returns(before_gap, missing), *([run] if is_of_creator else [])]:
                if not one.authors & named:
                    self.blame(change, f"its gap leaves out {sorted(one.authors)}, and does not say that there are more authors")

    def misname(self, change, text):
        self.verdict.misnamed += 1
        self.blame(change, text)

    def judge_user(self, change, seen_at, run, last, missing):
        """Of an object that was created in a gap the creator is named."""
        user, created = change.get("user"), [one for one in (*missing, run) if one.uid == run.uid and one.state is not None]
        authors = created[0].authors if change["type"] == "Created" and change.get("skipped") else run.authors
        is_calm = not missing and not self.evidence.is_troubled(run.asked, seen_at)
        self.verdict.crossed += len(run.authors) > 1
        self.verdict.calm += is_calm
        if user:
            self.verdict.named += 1
            self.verdict.calm_named += is_calm
            if user not in authors:
                self.misname(change, f"{user} has not made it, but {sorted(authors)}")
        elif is_calm and self.is_contested(run, last):
            self.verdict.contested += 1
        elif is_calm:
            self.verdict.unexcused.append(f"{'/'.join(self.key)}: {sorted(run.authors)} is not named\n    {json.dumps(change)}")

    def is_contested(self, run, last):
        """Somebody else asked for a write of the object while it was as it was before: the note of that request may fit as well."""
        since = last.asked if last else 0
        requests = self.evidence.audit.by_object[self.key] + self.evidence.audit.by_object[self.key[0], ""]
        return any(write.user not in run.authors and write.received <= run.done and since <= write.answered for write in requests)


def without_returns(first, runs):
    """Those of the runs after the first one that no later one undid: writes that undo each other stay unseen if nobody noted them."""
    kept = [first]
    for run in runs:
        kept.append(run)
        same = next(n for n, one in enumerate(kept) if one and (one.uid, one.state) == (run.uid, run.state))
        del kept[same + 1:]
    return kept[1:]


ABSENT = object()


def value_at(value, pointer):
    for segment in pointer.split("/")[1:]:
        segment = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(segment, ABSENT)
        elif isinstance(value, list) and segment.isdigit() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            return ABSENT
    return value


def changed_members(old, new, path=""):
    """Pointers to members that differ, down to lists and scalars."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [path] if old != new else []
    found = []
    for name in sorted(old.keys() | new.keys()):
        found += changed_members(old.get(name, ABSENT), new.get(name, ABSENT), f"{path}/{name.replace('~', '~0').replace('/', '~1')}")
    return found


# ---- evidence that is wrong ----


def doctored(evidence, dice, users):
    """[(what is wrong with it, evidence)]: the judge must find each."""
    return [(make.__name__, made) for make in DOCTORS for made in [make(evidence, dice, users)] if made]


def pick(evidence, dice, is_fit):
    """(key, number) of a change; None if there is none."""
    fit = [(key, number) for key, listed in sorted(evidence.listed.items()) for number, change in enumerate(listed.changes)
           if is_fit(listed.changes, number, change)]
    return dice.choice(fit) if fit else None


def altered(evidence, key):
    listed = {**evidence.listed, key: copy.deepcopy(evidence.listed[key])}
    return dataclasses.replace(evidence, listed=listed), listed[key]


def one_user_is_another(evidence, dice, users):
    key, number = pick(evidence, dice, lambda _changes, _number, change: change.get("user") in users and change["type"] == "Changed")
    made, listed = altered(evidence, key)
    version = int(listed.changes[number]["resourceVersion"])
    true = next(run.authors for run in runs_of(key, evidence.lives.found[key], evidence.audit) if version in run.versions)
    listed.changes[number]["user"] = dice.choice(sorted(set(users) - true))
    return made


def one_change_is_missing(evidence, dice, _users):
    key, number = pick(evidence, dice, lambda changes, number, _change: 0 < number < len(changes) - 1 and not changes[number + 1].get("skipped"))
    made, listed = altered(evidence, key)
    del listed.changes[number], listed.seen_at[number]
    return made


def last_change_is_missing(evidence, dice, _users):
    key, _ = pick(evidence, dice, lambda _changes, _number, change: change["type"] == "Changed")
    made, listed = altered(evidence, key)
    del listed.changes[-1], listed.seen_at[-1]
    return made


def two_changes_change_places(evidence, dice, _users):
    key, number = pick(evidence, dice, lambda changes, number, _change: number + 1 < len(changes))
    made, listed = altered(evidence, key)
    listed.changes[number], listed.changes[number + 1] = listed.changes[number + 1], listed.changes[number]
    return made


def one_state_is_another(evidence, dice, _users):
    def has_another_before(changes, number, change):
        return number and change.get("revision") and changes[number - 1].get("revision") not in (None, change["revision"])

    key, number = pick(evidence, dice, has_another_before)
    made, listed = altered(evidence, key)
    listed.changes[number]["revision"] = listed.changes[number - 1]["revision"]
    return made


def one_value_is_another(evidence, dice, _users):
    key, number = pick(evidence, dice, lambda _changes, _number, change: change.get("revision"))
    name = evidence.listed[key].changes[number]["revision"]
    state = copy.deepcopy(evidence.states[name])
    state["metadata"]["labels"] = {**state["metadata"].get("labels", {}), "doctored": "yes"}
    return dataclasses.replace(evidence, states={**evidence.states, name: state})


def refused_write_is_listed(evidence, dice, _users):
    key, number = pick(evidence, dice, lambda _changes, _number, change: change["type"] == "Changed")
    made, listed = altered(evidence, key)
    phantom = {**listed.changes[number], "resourceVersion": str(int(listed.changes[number]["resourceVersion"]) + 10**6)}
    listed.changes.insert(number + 1, phantom)
    listed.seen_at.insert(number + 1, listed.seen_at[number])
    return made


def status_write_is_listed(evidence, dice, _users):
    """A version with the state of the version before it."""
    for key, listed in sorted(evidence.listed.items()):
        for run in runs_of(key, evidence.lives.found[key], evidence.audit):
            numbers = [n for n, change in enumerate(listed.changes) if change.get("resourceVersion") == str(run.versions[0])]
            if len(run.versions) > 1 and run.state is not None and numbers:
                made, altered_list = altered(evidence, key)
                altered_list.changes.insert(numbers[0] + 1, {**listed.changes[numbers[0]], "type": "Changed", "resourceVersion": str(run.versions[1])})
                altered_list.seen_at.insert(numbers[0] + 1, listed.seen_at[numbers[0]])
                return made
    return None


def gap_is_silent(evidence, dice, _users):
    """Where states are missing indeed: else the change is right without the mark."""
    for key, listed in sorted(evidence.listed.items()):
        places = {revision: n for n, run in enumerate(runs_of(key, evidence.lives.found.get(key, []), evidence.audit)) for revision in run.versions}
        for number in range(1, len(listed.changes)):
            old, new = (places.get(int(one.get("resourceVersion", "0"))) for one in listed.changes[number - 1:number + 1])
            if listed.changes[number].get("skipped") and old is not None and new is not None and new > old + 1:
                made, altered_list = altered(evidence, key)
                del altered_list.changes[number]["skipped"]
                return made
    return None


def gap_has_a_wrong_author(evidence, dice, _users):
    found = pick(evidence, dice, lambda _changes, _number, change: change.get("skipped"))
    if not found:
        return None
    made, listed = altered(evidence, found[0])
    listed.changes[found[1]].setdefault("gap", {}).setdefault("authors", []).append({"user": "nobody", "time": listed.changes[found[1]]["time"]})
    return made


def skips_without_a_reason(evidence, dice, _users):
    made = dataclasses.replace(evidence, troubles=[])
    key, number = pick(evidence, dice, lambda changes, number, _change: number > 0)
    made, listed = altered(made, key)
    listed.changes[number] |= {"skipped": True, "gap": {"resourceVersion": listed.changes[number - 1].get("resourceVersion")}}
    return made


def one_path_is_another(evidence, dice, _users):
    key, number = pick(evidence, dice, lambda changes, number, change: change["type"] == "Changed" and number)
    made, listed = altered(evidence, key)
    listed.changes[number]["paths"] = ["/metadata/name"]
    return made


DOCTORS = [one_user_is_another, one_change_is_missing, last_change_is_missing, two_changes_change_places, one_state_is_another, one_value_is_another,
           refused_write_is_listed, status_write_is_listed, gap_is_silent, gap_has_a_wrong_author, skips_without_a_reason, one_path_is_another]


# ---- reading what the plugin prints ----


def patched(value, operations):
    """By a JSON Patch (RFC 6902) of add, remove, replace and test."""
    value = copy.deepcopy(value)
    for operation in operations:
        path, _, name = operation["path"].rpartition("/")
        if not operation["path"]:
            value = copy.deepcopy(operation["value"])
            continue
        parent, name = value_at(value, path), name.replace("~1", "/").replace("~0", "~")
        kind, is_list = operation["op"], isinstance(parent, list)
        where = (len(parent) if name == "-" else int(name)) if is_list else name
        if kind == "test":
            assert parent[where] == operation["value"], operation
        elif kind == "remove":
            del parent[where]
        elif kind == "add" and is_list:
            parent.insert(where, copy.deepcopy(operation["value"]))
        elif kind in ("add", "replace"):
            assert kind == "add" or is_list or where in parent, operation
            parent[where] = copy.deepcopy(operation["value"])
        else:
            raise AssertionError(f"an operation {operation}")
    return value
