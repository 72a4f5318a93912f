"""The checker of histories itself: what it must let pass, and what it must see, each for one reason."""

import pytest

import history
import truth

PROVIDER, OTHER = f"{history.PROVIDERS}default/p", f"{history.PROVIDERS}default/q"
REVISION, SECOND = f"{history.REVISIONS}default/r", f"{history.REVISIONS}default/s"
DEPENDENT, CONFIGMAP = f"{history.DEPENDENTS}default/d", f"{history.CONFIGMAPS}default/d"
LINK, TARGET = f"{history.LINKS}default/l", f"{history.CONFIGMAPS}default/t"
KEPT = [history.FINALIZER]
LIMITS = {"limited": 1}


def owned_by(kind, name, uid):
    return [{"kind": kind, "name": name, "uid": uid, "controller": True}]


def body(uid, **metadata):
    return {"metadata": {"namespace": "default", "uid": uid, **metadata}}


def provider(uid="up", finalizers=KEPT, name=PROVIDER, **metadata):
    return [(history.OBJECTS + name, body(uid, finalizers=finalizers, **metadata))]


def dependent(*targets, when="Wait", uid="ud", index=True, mark=True):
    kinds = {directory: kind for kind, directory in history.RESOURCES.items()}
    named = [{"kind": kinds[target.rpartition("default/")[0]], "name": target.rpartition("/")[2]} for target in targets or [PROVIDER]]
    value = {**body(uid), "spec": {"providers": named, "whenMissing": when}}
    entries = list(history.reference_entries(DEPENDENT, value).items()) if index else []
    marks = [(history.REFERENCED + target, uid) for target in targets or [PROVIDER]] if mark else []
    return [(history.OBJECTS + DEPENDENT, value)] + entries + marks


def configmap(*made_from, uid="ud"):
    annotations = {history.MADE_FROM: " ".join(made_from)} if made_from else {}
    return [(history.OBJECTS + CONFIGMAP, body("uc", annotations=annotations, ownerReferences=owned_by("Dependent", "d", uid)))]


def revision(number=1, digest="x", name=REVISION, index=True, owner="uo", api_version="annals.dev/v1", finalizers=(), **annotations):
    owners = owned_by("StatefulSet", "web", owner) if owner else []
    more = {"annotations": {history.DIGEST: digest, **annotations}, "ownerReferences": owners, "managedFields": [{"apiVersion": api_version}]}
    value = {**body(name, finalizers=list(finalizers), **more), "revision": number}
    return [(history.OBJECTS + name, value)] + (list(history.history_entries(name, value).items()) if index else [])


def kept(number):
    """What a snapshot of a new state makes."""
    return revision(number, f"x{number}", f"{REVISION}{number}", owner="limited")


def target(**metadata):
    return [(history.OBJECTS + TARGET, body("ut", **metadata))]


def link(name="t", index=True):
    value = {**body("ul"), "spec": {"target": name}}
    return [(history.OBJECTS + LINK, value)] + (list(history.link_entries(LINK, value).items()) if index else [])


def gone(writes):
    return [(key, None) for key, _ in writes if not key.startswith(history.REFERENCED)]


def found(steps, unnoticed=()):
    """The steps are revisions 2, 3 ...: (revision, sentence) of each violation."""
    changes = [truth.Change(number, key, value) for number, writes in enumerate(steps, 2) for key, value in writes]
    return [(violation.revision, violation.sentence) for violation in history.replay(changes, LIMITS, unnoticed)]


FILLED = configmap("Provider/p/up")
BARE = provider(finalizers=[])
ALLOWED = {history.DUPLICATES: "true"}

GOOD = {
    "nothing": [],
    "a whole life": [provider(), dependent(), configmap(), FILLED, gone(FILLED), gone(dependent()), gone(provider())],
    "a whole life of a link": [target(), link(), target(labels={"a": "b"}), gone(link()), target(deletionTimestamp="now"), gone(target())],
    "a link that names nothing": [[(history.OBJECTS + LINK, body("ul"))]],
    "who waits may refer to nothing": [dependent(), gone(dependent())],
    "a finalizer goes before anybody refers": [provider(), BARE, gone(BARE), dependent()],
    "an empty place is no implementation": [dependent(), configmap()],
    "what other finalizers do": [provider(), dependent(), provider(finalizers=KEPT + ["example.com/more"]), provider()],
    "a revision that never was protected": [revision(owner=""), dependent(REVISION), gone(revision(owner=""))],
    "a ConfigMap of somebody else": [[(history.OBJECTS + CONFIGMAP, body("uc"))]],
    "two revisions of one controller": [revision(), revision(2, "y", SECOND), gone(revision())],
    "the same state of two controllers": [revision(), revision(name=SECOND, owner="other")],
    "upstream's api_version": [revision(), revision(name=SECOND, api_version="apps/v1")],
    "snapshots that trim": [kept(1), kept(2), kept(3) + gone(kept(1)), gone(kept(2)) + kept(4)],
    "snapshots that spare what is needed": [kept(1), dependent(f"{REVISION}1"), kept(2), kept(3), gone(kept(2)) + kept(4)],
    "snapshots that spare what was needed when they looked": [
        kept(1), dependent(f"{REVISION}1"), kept(2), gone(dependent(f"{REVISION}1")), kept(3), gone(kept(1) + kept(2)) + kept(4)],
    "a snapshot that rolls back": [kept(1), kept(2), gone(kept(1)[2:]) + revision(3, "x1", f"{REVISION}1", owner="limited")],
    "duplicates that are asked for": [revision(), revision(name=SECOND, **ALLOWED)],
}

BAD = {
    "a finalizer goes while somebody refers": ([provider(), dependent(), BARE], 4, "loses its finalizer"),
    "a Provider goes with its finalizer": ([provider(), dependent(), gone(provider())], 4, "is removed"),
    "a Provider goes without one": ([BARE, dependent(), gone(BARE)], 4, "is removed"),
    "a protected revision": ([revision(owner="", finalizers=KEPT), dependent(REVISION), revision(owner="")], 4, "loses its finalizer"),
    "who refuses is born without": ([dependent(when="Refuse")], 2, "is not there"),
    "who refuses is born too late": ([provider(deletionTimestamp="now"), dependent(when="Refuse")], 3, "is being deleted"),
    "one of many is missing": ([provider(), dependent(PROVIDER, OTHER, when="Refuse")], 3, "providers/default/q is not there"),
    "implemented without its Provider": ([dependent(), FILLED], 3, "and there is none"),
    "implemented of another": ([provider(uid="new"), dependent(), FILLED], 4, "there is new"),
    "implemented of one of two": ([provider(), dependent(PROVIDER, OTHER), FILLED], 4, "providers/default/q of uid None"),
    "an implementation remains": ([provider(), dependent(), FILLED, gone(dependent()), gone(provider())], 6, "which is gone"),
    "a link to nothing": ([link()], 2, "is not there"),
    "a link that comes too late": ([target(deletionTimestamp="now"), link()], 3, "is being deleted"),
    "a link that moves to nothing": ([target(), link(), link("u") + gone(link())[1:]], 4, "is not there"),
    "what a link names goes": ([target(), link(), gone(target())], 4, "is removed while"),
    "what a link names begins to go": ([target(), link(), target(deletionTimestamp="now")], 4, "is being deleted while"),
    "no entry of a link": ([target(), link(index=False)], 3, "references/core/"),
    "no entry": ([dependent(index=False)], 2, "references/"),
    "an entry too many": ([dependent(), gone(dependent()[:1])], 3, "objects say None"),
    "an entry without an object": ([dependent()[1:2]], 2, "objects say None"),
    "an entry with another uid": ([dependent(), [(dependent()[1][0], "else")]], 3, "is else"),
    "no mark": ([dependent(mark=False)], 2, "which is not marked"),
    "a mark that goes": ([dependent(), [(history.REFERENCED + PROVIDER, None)]], 3, "the mark of"),
    "a second revision of a state": ([revision(), revision(2, "x", SECOND)], 3, "digest/x"),
    "a second revision of a number": ([revision(), revision(1, "y", SECOND)], 3, "number/1"),
    "a number that changes to another's": ([revision(), revision(2, "y", SECOND), [*revision(1, "y", SECOND), gone(revision(2, "", SECOND))[2]]], 4, "number/1"),
    "one more than the limit": ([kept(1), kept(2), kept(3)], 4, "the limit is 1"),
    "one more that nothing needs any more": (
        [kept(1), dependent(f"{REVISION}1"), kept(2), gone(dependent(f"{REVISION}1")), kept(3), kept(4) + gone(kept(2))], 7, "the limit is 1"),
    "trimmed while it is needed": ([kept(1), dependent(f"{REVISION}1"), kept(2), gone(kept(1))], 5, "is trimmed while"),
    "a number that is not the highest": ([kept(2), kept(1)], 3, "becomes 1 of [1, 2]"),
    "no entry in the history": ([revision(index=False)], 2, "history/"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_histories_pass(name):
    assert found(GOOD[name]) == []


@pytest.mark.parametrize("unnoticed, violated", [(range(3, 5), []), (range(3, 4), [4])])
def test_nothing_is_counted_until_a_restore_is_noticed(unnoticed, violated):
    steps = [kept(1), kept(2), kept(3), gone(kept(1)) + gone(kept(2)) + kept(4)]
    assert [number for number, _ in found(steps, [unnoticed])] == violated


@pytest.mark.parametrize("name", BAD)
def test_bad_histories_are_seen_at_their_revision_and_for_their_reason(name):
    steps, revision_, words = BAD[name]
    violations = found(steps)
    assert violations and {number for number, _ in violations} == {revision_}, violations
    assert any(words in sentence for _, sentence in violations), violations


def test_violations_show_what_happened_around_them():
    changes = [truth.Change(number, key, value) for number, writes in enumerate([provider(), dependent(), BARE, provider()], 2) for key, value in writes]
    text = history.report(list(history.replay(changes)))
    assert text.startswith("1 violations\n\nrevision 4: ")
    assert [line.split()[0] for line in text.splitlines() if line[:8].strip().isdigit()] == ["2", "3", "4", "5"]
