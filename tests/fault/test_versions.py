"""The checkers of storage versions themselves: what they must let pass, and what they must see, each for one reason."""

import json

import pytest

import stored
import versions
from versions import Answer

V1, BETA = "annals.dev/v1", "annals.dev/v1beta1"
PROVIDER, DEPENDENT = versions.OBJECTS + "annals.dev/providers/default/p", versions.OBJECTS + "annals.dev/dependents/default/d"
NEVER = 2**62


def replica(name, version, **more):
    return [(versions.REPLICAS + name, versions.registration({**dict.fromkeys(versions.GROUPS, version), **more}))]


def seen(name, revision):
    return [(versions.SEEN + name, str(revision))]


def left(name):
    return [(versions.REPLICAS + name, None)]


def put(version, mark, uid="u", key=PROVIDER, **more):
    metadata = {"name": "p", "uid": uid, "annotations": {"mark": str(mark)}}
    value = {"kind": "Provider", "apiVersion": version, "metadata": metadata, "spec": {}, **more}
    return [(key, json.dumps(value, separators=(",", ":")))]


def removed(key=PROVIDER):
    return [(key, None)]


def shown(name, version, since, until=None):
    return Answer(name, "providers", since, until or since, version)


def found(steps, answers=()):
    """The steps are revisions 2, 3 ...: the violations' sentences."""
    changes = [versions.Raw(number, key, text) for number, step in enumerate(steps, 2) for key, text in step]
    return [violation.sentence for violation in versions.Replay(changes).check(answers)]


A, B = replica("a", BETA), replica("b", V1)
OF_OTHERS = replica("b", V1, dependents=BETA)
A_LATER = replica("a", V1)
SEEN = seen("a", 4)
BEGIN = [A, put(BETA, 1), B]  # revisions 2, 3, 4

GOOD = {
    "nothing": ([], []),
    "one that begins": ([A, put(BETA, 1), put(BETA, 2), removed(), put(BETA, 3, "new")], [shown("a", BETA, 2), shown("a", BETA, 6)]),
    "two that differ, and one has seen it": ([*BEGIN, SEEN, put(V1, 2), put(BETA, 3)], [shown("a", BETA, 4), shown("a", None, 6)]),
    "what is shown until it is seen": ([*BEGIN, SEEN], [shown("a", BETA, 4, NEVER)]),
    "from one to the other": (
        [A, put(BETA, 1), B, SEEN, put(V1, 2), put(BETA, 3), left("a"), put(V1, 3), A_LATER, put(V1, 4)],
        [shown("a", BETA, 3), shown("a", BETA, 2, 5), shown("b", None, 5), shown("b", V1, 8), shown("b", V1, 11), shown("a", V1, 10)]),
    "an old one that comes late, and is seen": ([B, put(V1, 1), A, seen("b", 4), put(BETA, 2)], []),
    "a registration that changes for another kind": ([*BEGIN, SEEN, OF_OTHERS, put(V1, 2)], []),
    "who takes no part is not asked": ([A, put(BETA, 1), replica("b", ""), put(BETA, 2)], [shown("a", BETA, 5), shown("b", None, 5)]),
    "there and back": (
        [A, put(BETA, 1), left("a"), B, put(V1, 1), left("b"), A, put(BETA, 1)], [shown("a", BETA, 3), shown("b", V1, 6), shown("a", BETA, 9)]),
    "a newcomer gives up": ([*BEGIN, SEEN, put(V1, 2), left("b"), put(BETA, 3)], [shown("a", BETA, 4), shown("a", BETA, 8)]),
    "what v1beta1 cannot express": (
        [A, put(BETA, 1, key=DEPENDENT, kind="Dependent", spec={"providerName": "x", "whenMissing": "Wait"},
                **{"annals.dev/hub": {"spec": {"providers": [{"kind": "Provider", "name": "x"}, {"kind": "Provider", "name": "y"}], "whenMissing": "Wait"}}}),
         left("a"), B,
         put(V1, 1, key=DEPENDENT, kind="Dependent", spec={"providers": [{"kind": "Provider", "name": "x"}, {"kind": "Provider", "name": "y"}], "whenMissing": "Wait"})], []),
    "what v1beta1 says otherwise": (
        [A, put(BETA, 1, key=DEPENDENT, kind="Dependent", spec={"providerName": "x", "whenMissing": "Wait"}), left("a"), B,
         put(V1, 1, key=DEPENDENT, kind="Dependent", spec={"providers": [{"kind": "Provider", "name": "x"}], "whenMissing": "Wait"})], []),
}

BAD = {
    "written by nobody": ([put(BETA, 1)], [], "is written in"),
    "written in a version that is nobody's": ([A, put(V1, 1)], [], "is written in"),
    "written before all have seen it": ([*BEGIN, put(V1, 2)], [], "is written in"),
    "written when less than that has been seen": ([*BEGIN, seen("a", 3), put(V1, 2)], [], "is written in"),
    "written by an old one that nobody has seen": ([B, put(V1, 1), A, put(BETA, 2)], [], "is written in"),
    "written by one whose lease has ended": ([*BEGIN, SEEN, left("a"), put(BETA, 2)], [], "is written in"),
    "written by one who takes no part": ([replica("b", ""), put(BETA, 1)], [], "is written in"),
    "rewritten before all agree": ([*BEGIN, SEEN, put(V1, 1)], [], "is what all agreed on last"),
    "rewritten for nothing": ([A, put(BETA, 1), put(BETA, 1)], [], "was in annals.dev/v1beta1 before"),
    "rewritten as something else": ([A, put(BETA, 1), left("a"), B, put(V1, 1, spec={"data": {}})], [], "loses its spec"),
    "rewritten with another spelling": ([A, put(BETA, 1, data=1.0), left("a"), B, put(V1, 1, data=1)], [], "loses its data 1.0"),
    "something is lost on the way": ([A, put(BETA, 1, status={"a": 1}), left("a"), B, put(V1, 1)], [], "loses its status"),
    "back after it was deleted": ([A, put(BETA, 1), removed(), put(BETA, 2)], [], "is back, and was deleted"),
    "an earlier state": ([A, put(BETA, 1), put(BETA, 2), put(BETA, 1)], [], "is again what it was as 1"),
    "shown by one that is not registered": ([A, put(BETA, 1), left("a")], [shown("a", BETA, 4)], "is nothing that it may show"),
    "shown before it was registered": ([put(V1, 0, key=versions.OBJECTS + "core/x/y"), A], [shown("a", BETA, 2)], "is nothing that it may show"),
    "shown what it does not write": ([A], [shown("a", V1, 2)], "is nothing that it may show"),
    "shown although it has seen another": ([*BEGIN, SEEN], [shown("a", BETA, 5)], "is nothing that it may show"),
    "shown by the other": ([*BEGIN, SEEN], [shown("b", V1, 5)], "is nothing that it may show"),
    "stored after another was shown": ([A, B, left("a"), put(BETA, 1)], [shown("b", V1, 4)], "are stored in annals.dev/v1beta1 at 5, after"),
    "shown after another": ([A, B, left("b")], [shown("b", V1, 3), shown("a", BETA, 4)], "version='annals.dev/v1beta1'), after Answer(replica='b'"),
    "shown after another was stored": ([*BEGIN, put(V1, 2)], [shown("a", BETA, 5)], "after annals.dev/v1 was stored at 5"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_histories_pass(name):
    assert found(*GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_bad_histories_are_seen_for_their_reason(name):
    steps, answers, words = BAD[name]
    sentences = found(steps, answers)
    assert any(words in sentence for sentence in sentences), sentences


ALONE = ["written before all have seen it", "rewritten before all agree", "rewritten for nothing", "rewritten as something else", "an earlier state",
         "back after it was deleted", "shown by one that is not registered", "shown although it has seen another"]


@pytest.mark.parametrize("name", ALONE)
def test_they_are_seen_for_no_other_reason(name):
    assert len(found(*BAD[name][:2])) == 1


def test_members_are_as_they_are_spelled():
    assert stored.members('{"a":1.0e0,"b,":"\\u0061}","c":{"d":[{}]},"e":null}') == {"a": "1.0e0", "b,": '"\\u0061}"', "c": '{"d":[{}]}', "e": "null"}
    assert stored.members("{}") == {}
