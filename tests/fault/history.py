"""Replays etcd's whole history and looks, after each revision, whether what annals promises of several objects at once holds there: who is
referred to stays, nothing is implemented of what is not there, indexes say what objects say, histories have each state and number once.

A rule is a class with check(past, step): what is wrong after that step, as (sentence, keys). A new one is a line of rules()."""

import collections
import dataclasses
import itertools

import truth

OBJECTS, REFERENCES, REFERENCED, HISTORY = (truth.PREFIX + name for name in ("objects/", "references/", "referenced/", "history/"))
PROVIDERS, DEPENDENTS, REVISIONS = (f"annals.dev/{name}/" for name in ("providers", "dependents", "controllerrevisions"))
CONFIGMAPS = "core/configmaps/"
LINKS = "example.com/links/"  # whose definition declares that they refer to ConfigMaps
FINALIZER = "annals.dev/provider-protection"
DIGEST, DUPLICATES, UPSTREAM_VERSION = "annals.dev/digest", "annals.dev/allow-duplicates", "apps/v1"
MADE_FROM = "annals.dev/made-from"
RESOURCES = {"Provider": PROVIDERS, "ControllerRevision": REVISIONS}

N_BEFORE, N_AFTER, N_SHOWN = 12, 4, 10  # steps around a violation, and violations

Changed = collections.namedtuple("Changed", "key before after")


@dataclasses.dataclass
class Step:
    """One revision of etcd: one transaction."""

    revision: int
    changes: list  # of Changed

    def objects(self, directory=""):
        """Changed objects; keys without OBJECTS."""
        for key, before, after in self.changes:
            if key.startswith(OBJECTS + directory):
                yield Changed(key.removeprefix(OBJECTS), before, after)


class Past:
    """Everything as it is at a revision. Objects are called by what is behind OBJECTS."""

    def __init__(self):
        self.keys = {}
        self.referrers = collections.defaultdict(set)  # {object: Dependents that refer to it}
        self.left = collections.defaultdict(int)  # {object: the revision at which one of these went}

    def take(self, revision, changes):
        step = Step(revision, [Changed(change.key, self.keys.get(change.key), change.value) for change in changes])
        for key, _, after in step.changes:
            if after is None:
                self.keys.pop(key, None)
            else:
                self.keys[key] = after
        for dependent, before, after in step.objects(DEPENDENTS):
            for target in references(dependent, before):
                self.referrers[target].discard(dependent)
                self.left[target] = revision
            for target in references(dependent, after):
                self.referrers[target].add(dependent)
        return step

    def get(self, name):
        return self.keys.get(OBJECTS + name)


# ---- what objects say ----


def namespace_of(name):
    return name.split("/")[2]


def references(dependent, value):
    """What a Dependent refers to."""
    named = value["spec"]["providers"] if value else []
    return [f"{RESOURCES[reference['kind']]}{namespace_of(dependent)}/{reference['name']}" for reference in named]


def is_protected(value):
    return value is not None and FINALIZER in value["metadata"].get("finalizers", [])


def is_deleting(value):
    return "deletionTimestamp" in value["metadata"]


def uid_of(value):
    return value["metadata"]["uid"] if value else None


def controller_of(value):
    owners = value["metadata"].get("ownerReferences", []) if value else []
    return next((owner for owner in owners if owner.get("controller")), None)


# ---- rules ----


class Protection:
    """What is referred to keeps its finalizer, and a Provider is there as long as a Dependent refers to it that was there before."""

    def check(self, past, step):
        for name, before, after in itertools.chain(step.objects(PROVIDERS), step.objects(REVISIONS)):
            is_gone = before is not None and after is None and name.startswith(PROVIDERS)
            if is_gone or (is_protected(before) and not is_protected(after)):
                for dependent in sorted(past.referrers[name]):
                    yield f"{name} {'is removed' if after is None else 'loses its finalizer'} while {dependent} refers to it", [name, dependent]


class Declared:
    """What a link names is there from the step on in which it names that, does not go, and does not begin to."""

    def __init__(self):
        self.referrers = collections.defaultdict(set)  # {object: links}

    def check(self, past, step):
        for link, before, after in step.objects(LINKS):
            old, new = target_of(link, before), target_of(link, after)
            self.referrers[old].discard(link)
            if new is None:
                continue
            self.referrers[new].add(link)
            value = past.get(new)
            if new != old and (value is None or is_deleting(value)):
                yield f"{link} comes to name {new}, which is {'being deleted' if value else 'not there'}", [link, new]
        for name, before, after in step.objects(CONFIGMAPS):
            if self.referrers[name] and (after is None or is_deleting(after)):
                yield f"{name} {'is removed' if after is None else 'is being deleted'} while {sorted(self.referrers[name])} name it", [name]


class Needed:
    """A Dependent of whenMissing=Refuse is born when all is there that it refers to."""

    def check(self, past, step):
        for dependent, before, after in step.objects(DEPENDENTS):
            if before is None and after["spec"]["whenMissing"] == "Refuse":
                for name in references(dependent, after):
                    target = past.get(name)
                    if target is None or is_deleting(target):
                        yield f"{dependent} is born although {name} is {'being deleted' if target else 'not there'}", [dependent, name]


class Implementations:
    """A ConfigMap whose controller is a Dependent, and which says what it was made from, implements it: all Providers are there which that refers
    to, and they remain those that it was made from. So do revisions that were protected by then."""

    def __init__(self):
        self.wanted = {}  # {uid of a Dependent: what it refers to}
        self.relied_on = {}  # {ConfigMap: {what it implements: its uid}}

    def check(self, past, step):
        for dependent, _, after in step.objects(DEPENDENTS):
            if after:
                self.wanted[uid_of(after)] = references(dependent, after)
        for name, _, after in step.objects(CONFIGMAPS):
            self.relied_on.pop(name, None)
            if is_implementation(after):
                yield from self._see(past, name, after)
        changed = {name for name, before, after in step.objects() if uid_of(before) != uid_of(after)}
        for name, targets in self.relied_on.items():
            for target in sorted(changed & targets.keys()):
                if uid_of(past.get(target)) != targets[target]:
                    yield f"{name} implements {target}, which is gone", [name, target]

    def _see(self, past, name, made):
        controller, made_from = controller_of(made), made_from_of(made)
        self.relied_on[name] = {}
        for target in self.wanted[controller["uid"]]:
            value, wanted = past.get(target), made_from.get(target)
            if target.startswith(PROVIDERS) and (value is None or uid_of(value) != wanted):
                dependent = f"{DEPENDENTS}{namespace_of(name)}/{controller['name']}"
                yield f"{name} implements {target} of uid {wanted}, and there is {uid_of(value) or 'none'}", [name, target, dependent]
            elif target.startswith(PROVIDERS) or (is_protected(value) and uid_of(value) == wanted):
                self.relied_on[name][target] = wanted


def is_implementation(value):
    controller = controller_of(value)
    return controller is not None and controller["kind"] == "Dependent" and MADE_FROM in value["metadata"].get("annotations", {})


def made_from_of(value):
    """{object: its uid}"""
    parts = [entry.split("/") for entry in value["metadata"]["annotations"][MADE_FROM].split()]
    return {f"{RESOURCES[kind]}{value['metadata']['namespace']}/{name}": uid for kind, name, uid in parts}


class Index:
    """Keys of a directory are those that the objects ask for: by resource, entries(name, object) is {key: text}."""

    def __init__(self, directory, resources):
        self.directory, self.resources = directory, resources
        self.expected = {}

    def check(self, past, step):
        touched = {key for key, _, _ in step.changes if key.startswith(self.directory)}
        for resource, entries in self.resources.items():
            for name, before, after in step.objects(resource):
                old, new = entries(name, before), entries(name, after)
                touched |= old.keys() | new.keys()
                for key in old:
                    self.expected.pop(key)
                self.expected.update(new)
        for key in sorted(touched):
            if self.expected.get(key) != past.keys.get(key):
                yield f"{key} is {past.keys.get(key)}, and objects say {self.expected.get(key)}", [key]


def reference_entries(name, value):
    return {f"{REFERENCES}{target}/{DEPENDENTS}{name.rpartition('/')[2]}": uid_of(value) for target in references(name, value)}


def target_of(link, value):
    """The ConfigMap that a link names."""
    name = value.get("spec", {}).get("target") if value else None
    return f"{CONFIGMAPS}{namespace_of(link)}/{name}" if name else None


def link_entries(name, value):
    target = target_of(name, value)
    return {f"{REFERENCES}{target}/{LINKS}{name.rpartition('/')[2]}": uid_of(value)} if target else {}


def history_entries(name, value):
    controller = controller_of(value)
    if controller is None or DIGEST not in value["metadata"].get("annotations", {}):
        return {}
    directory, own = f"{HISTORY}{namespace_of(name)}/{controller['uid']}/", name.rpartition("/")[2]
    return {f"{directory}{place}/{own}": uid_of(value) for place in places_of(value)}


def places_of(value):
    return [f"digest/{value['metadata']['annotations'][DIGEST]}", f"number/{value.get('revision', 0)}"]


class Marks:
    """Who lets an object go compares one key, so whoever comes to refer to it writes that; and it stays as long as anything refers to it."""

    def check(self, past, step):
        written = {key for key, _, after in step.changes if after is not None}
        for dependent, before, after in step.objects(DEPENDENTS):
            for target in references(dependent, after) if before is None else []:
                if REFERENCED + target not in written:
                    yield f"{dependent} comes to refer to {target}, which is not marked", [dependent, target, REFERENCED + target]
        for key, _, after in step.changes:
            target = key.removeprefix(REFERENCED)
            if after is None and key.startswith(REFERENCED) and past.referrers[target]:
                yield f"the mark of {target} is gone while {sorted(past.referrers[target])} refer to it", [target, key]


class Unique:
    """A controller has one revision of each state and each number, but for those made through upstream's API version, and those that say so."""

    def __init__(self):
        self.there = collections.defaultdict(set)  # {place in a history: revisions}

    def check(self, past, step):
        for name, before, after in step.objects(REVISIONS):
            old, new = self._places(name, before), self._places(name, after)
            for place in old - new:
                self.there[place].discard(name)
            for place in new - old:
                if self.there[place] and not may_be_twice(after):
                    yield f"{name} is the second of {place}", [name, *self.there[place]]
                self.there[place].add(name)

    def _places(self, name, value):
        return {key.rpartition("/")[0] for key in history_entries(name, value)}


def may_be_twice(value):
    metadata = value["metadata"]
    api_versions = {entry["apiVersion"] for entry in metadata.get("managedFields", [])}
    return metadata.get("annotations", {}).get(DUPLICATES) == "true" or UPSTREAM_VERSION in api_versions


class Snapshots:
    """Of controllers whose revisions snapshots alone make and remove, and always with the same limit, {uid: limit}: the current one has the highest
    number, beside it there are no more than the limit but for those that something needs, and none of these is removed.

    What something needed when the snapshot looked, it may spare. It has looked after the last one that wrote to this history, for that is guarded:
    so what nothing has needed since then counts.

    A snapshot that a server decided on before etcd was restored from a backup may have spared what something needed in the lost history. No guard
    can notice that, and the next snapshot trims it. So nothing is counted in `unnoticed`: ranges of revisions, each from a backup to the
    revision when all servers had noticed its restore."""

    def __init__(self, limits, unnoticed):
        self.limits, self.unnoticed = limits, unnoticed
        self.numbers = {uid: {} for uid in limits}  # {uid: {revision: its number}}
        self.written = {uid: 0 for uid in limits}  # at which revision of etcd a number was given last

    def check(self, past, step):
        touched = set()
        for name, before, after in step.objects(REVISIONS):
            owner = controller_of(after or before)
            if owner and owner["uid"] in self.limits:
                touched.add(owner["uid"])
                yield from self._see(past, self.numbers[owner["uid"]], name, after)
        for uid in sorted(touched):
            if not any(step.revision in revisions for revisions in self.unnoticed):
                yield from self._count(past, uid)
            if any(after for name, _, after in step.objects(REVISIONS) if name in self.numbers[uid]):
                self.written[uid] = step.revision

    def _see(self, past, numbers, name, after):
        old = numbers.pop(name, None)
        if after is None:
            if past.referrers[name]:
                yield f"{name} is trimmed while {sorted(past.referrers[name])} refer to it", [name, *past.referrers[name]]
            return
        numbers[name] = after["revision"]
        highest = max(numbers.values())
        if old != after["revision"] and (after["revision"] < highest or list(numbers.values()).count(highest) > 1):
            yield f"{name} becomes {after['revision']} of {sorted(numbers.values())}", [*numbers]

    def _count(self, past, uid):
        numbers = self.numbers[uid]
        current = max(numbers, key=numbers.get, default=None)
        idle = [name for name in numbers if name != current and not past.referrers[name] and past.left[name] <= self.written[uid]]
        if len(idle) > self.limits[uid]:
            yield f"{uid} has {len(idle)} revisions that nothing needs, beside the current one; the limit is {self.limits[uid]}", [*numbers]


def rules(limits=None, unnoticed=()):
    """All of them, at the first revision. unnoticed: see Snapshots."""
    return [
        Protection(), Declared(), Needed(), Implementations(), Marks(), Unique(), Snapshots(limits or {}, unnoticed),
        Index(REFERENCES, {DEPENDENTS: reference_entries, LINKS: link_entries}), Index(HISTORY, {REVISIONS: history_entries}),
    ]


# ---- telling ----


def describe(step, keys):
    """What it changed of them."""

    def one(changed):
        if changed.after is None:
            return f"{changed.key} removed"
        return f"{changed.key} {'changed' if changed.before else 'made'}: {shown(changed.after)}"

    return f"{step.revision:>8}  " + "\n          ".join(one(changed) for changed in step.changes if changed.key in keys)


def shown(value):
    """What matters of an object here."""
    if isinstance(value, str):
        return value
    metadata = {name: value["metadata"][name] for name in ("uid", "finalizers", "deletionTimestamp") if name in value["metadata"]}
    spec = {name: value["spec"][name] for name in ("providers", "whenMissing") if name in value.get("spec", {})}
    number = {"revision": value["revision"]} if "revision" in value else {}
    return {**metadata, **spec, **number}


class Violation:
    """What was wrong after a revision, with what else happened to those keys before and afterwards."""

    def __init__(self, step, sentence, names, earlier):
        self.revision, self.sentence = step.revision, sentence
        self.names = [*names, *(OBJECTS + name for name in names)]
        self.around = [old for old in earlier if self._concerns(old)][-N_BEFORE:] + [step]
        self.n_after = 0

    def _concerns(self, step):
        return any(key in self.names for key, _, _ in step.changes)

    def follow(self, step):
        if step.revision > self.revision and self.n_after < N_AFTER and self._concerns(step):
            self.around.append(step)
            self.n_after += 1

    def __str__(self):
        return "\n".join([f"revision {self.revision}: {self.sentence}", *(describe(step, self.names) for step in self.around if self._concerns(step))])


def replay(changes, limits=None, unnoticed=()):
    """Replays changes, which come in etcd's order, and yields violations as they are met; each goes on to learn what follows it."""
    past, found, earlier = Past(), [], collections.deque(maxlen=5000)
    checks = rules(limits, unnoticed)
    for revision, group in itertools.groupby(changes, lambda change: change.revision):
        step = past.take(revision, group)
        for violation in found[:N_SHOWN]:
            violation.follow(step)
        new = [Violation(step, sentence, names, earlier) for rule in checks for sentence, names in rule.check(past, step)]
        found += new
        earlier.append(step)
        yield from new


def report(found):
    shown = "\n\n".join(map(str, found[:N_SHOWN]))
    return f"{len(found)} violations\n\n{shown}"


def everything(gateway, read=None):
    """All changes up to now, without holding them; see truth.Gateway.changes()."""
    end = truth.PREFIX + "checked"
    last = gateway.put(end, "")
    for change in gateway.changes(read=read):
        if change.revision == last:
            return
        yield change
