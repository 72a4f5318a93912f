"""Lists, pages of lists, and watches: what is shown as of which revision."""

import base64
import json
import re
import signal
import time

import pytest

from objects import ANNALS, APPS, API_VERSIONS, NAMESPACES, owner, revision, revisions
from processes import NO_CONTROLLERS, retry_until

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
BOOKMARKS = "&allowWatchBookmarks=true"
INITIAL = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" + BOOKMARKS


@pytest.fixture(params=API_VERSIONS)
def api_version(request):
    return request.param


@pytest.fixture
def path(annals, namespace, api_version):
    return revisions(namespace, api_version)


def names(answer):
    assert answer.status == 200, answer
    return [item["metadata"]["name"] for item in answer.json["items"]]


def version_of(answer):
    return answer.json["metadata"]["resourceVersion"]


def create(annals, path, *names, **metadata):
    """The resourceVersion of the last."""
    api_version = path.split("/namespaces")[0][6:]
    for number, name in enumerate(names, 1):
        made = annals.post(path, revision(name, number, api_version=api_version, **metadata))
        assert made.status == 201, made
    return version_of(made)


# ---- lists ----


def test_empty_list_has_a_version(annals, path, api_version):
    empty = annals.get(path).json
    assert (empty["kind"], empty["apiVersion"], empty["items"]) == ("ControllerRevisionList", api_version, [])
    assert int(empty["metadata"]["resourceVersion"]) > 0


def test_list_is_sorted_by_name_and_kept_to_its_namespace(annals, namespace, path, api_version):
    create(annals, path, "c", "a", "b")
    assert names(annals.get(path)) == ["a", "b", "c"]
    everywhere = annals.get(f"/apis/{api_version}/controllerrevisions").json["items"]
    assert [item["metadata"]["name"] for item in everywhere if item["metadata"]["namespace"] == namespace] == ["a", "b", "c"]
    assert names(annals.get(revisions("nowhere", api_version))) == []


# seeds: H3
@pytest.mark.parametrize("selector, expected", [
    ("app=web", ["a", "b"]), ("app==web,tier", ["b"]), ("app!=web", ["c", "d"]), ("app in (web,db)", ["a", "b", "c"]),
    ("app notin (web)", ["c", "d"]), ("!app", ["d"]), ("tier", ["b"]), ("app=web,!tier", ["a"]), ("", ["a", "b", "c", "d"]), ("n>1", ["b"]), ("app=nothing", []),
])
def test_label_selectors(annals, path, selector, expected):
    create(annals, path, "a", labels={"app": "web", "n": "1"})
    create(annals, path, "b", labels={"app": "web", "tier": "front", "n": "2"})
    create(annals, path, "c", labels={"app": "db"})
    create(annals, path, "d")
    assert names(annals.get(f"{path}?labelSelector={selector.replace(' ', '%20').replace('>', '%3E')}")) == expected


# seeds: H3 R3
@pytest.mark.parametrize("selector, expected", [
    ("metadata.name=a", ["a"]), ("metadata.name!=a", ["b"]), ("metadata.name=a,metadata.name=b", []),
    ("revision=1", ["a", "b"]), ("controller.name=web", ["b"]), ("controller.uid=uid-of-web", ["b"]), ("controller.name=", ["a"]),
    ("data.kind=Pod", ["c"]), ("data.apiVersion=v1,data.kind!=Job", ["c"]),
])
def test_field_selectors_of_annals(annals, namespace, selector, expected):
    path = revisions(namespace, ANNALS)
    create(annals, path, "a")
    create(annals, path, "b", ownerReferences=[owner("web")])
    if selector.startswith("data."):
        annals.post(path, revision("c", 9, {"apiVersion": "v1", "kind": "Pod"}, api_version=ANNALS))
    assert names(annals.get(f"{path}?fieldSelector={selector.replace('=', '%3D')}")) == expected


def pages(annals, path, limit, query=""):
    token, found = "", []
    while True:
        answer = annals.get(f"{path}?limit={limit}{query}&continue={token}")
        assert answer.status == 200, answer
        found.append(answer.json)
        token = answer.json["metadata"].get("continue")
        if not token:
            return found


def test_pages_are_one_snapshot(annals, path):
    create(annals, path, *"abcdefg")
    first = annals.get(path + "?limit=3").json
    assert ([item["metadata"]["name"] for item in first["items"]], first["metadata"]["remainingItemCount"]) == (["a", "b", "c"], 4)
    annals.delete(path + "/e")
    create(annals, path, "bb", "ff")
    second = annals.get(f"{path}?limit=3&continue={first['metadata']['continue']}").json
    assert ([item["metadata"]["name"] for item in second["items"]], second["metadata"]["remainingItemCount"]) == (["d", "e", "f"], 1)
    last = annals.get(f"{path}?limit=3&continue={second['metadata']['continue']}").json
    assert [item["metadata"]["name"] for item in last["items"]] == ["g"]
    assert "continue" not in last["metadata"] and "remainingItemCount" not in last["metadata"]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 100, 0, -1])
def test_pages_hold_everything_once(annals, path, limit):
    create(annals, path, *"abcdef")
    found = pages(annals, path, limit)
    assert [item["metadata"]["name"] for page in found for item in page["items"]] == list("abcdef")
    assert len(found) == (1 if limit < 1 else -(-6 // limit))


def test_pages_of_a_selection_do_not_count_the_rest(annals, path):
    """Whether the last page is the last, the selection does not tell: an empty one may follow."""
    create(annals, path, *"abcd", labels={"l": "x"})
    create(annals, path, *"efgh")
    found = pages(annals, path, 2, "&labelSelector=l%3Dx")
    assert [item["metadata"]["name"] for page in found for item in page["items"]] == ["a", "b", "c", "d"]
    assert all("remainingItemCount" not in page["metadata"] for page in found)


def test_pages_as_tables(annals, path):
    create(annals, path, *"abc")
    page = annals.get(path + "?limit=2", headers=TABLE).json
    assert ([row["cells"][0] for row in page["rows"]], page["metadata"]["remainingItemCount"]) == (["a", "b"], 1)
    assert [row["cells"][0] for row in annals.get(f"{path}?continue={page['metadata']['continue']}", headers=TABLE).json["rows"]] == ["c"]


def test_versions_choose_the_snapshot(annals, path):
    old = create(annals, path, "a")
    create(annals, path, "b")
    annals.delete(path + "/a")
    assert names(annals.get(f"{path}?resourceVersion={old}&resourceVersionMatch=Exact")) == ["a"]
    assert names(annals.get(f"{path}?resourceVersion={old}&limit=9")) == ["a"]
    for query in ("", "?resourceVersion=0", f"?resourceVersion={old}", f"?resourceVersion={old}&resourceVersionMatch=NotOlderThan"):
        assert names(annals.get(path + query)) == ["b"]
    assert annals.get(f"{path}/b?resourceVersion=0").status == 200
    assert annals.get(f"{path}/b?resourceVersion={old}").status == 200


def test_compacted_versions_are_410(up):
    a = up("--etcd-compaction-interval=1s")
    path = revisions("default")
    page = a.get(NAMESPACES + "?limit=1").json["metadata"]  # the older one of both, so that it is gone when the other is
    old = create(a, path, "a")

    def is_gone():
        a.patch(path + "/a", {"metadata": {"labels": {"n": str(is_gone.n)}}})
        is_gone.n += 1
        return a.get(f"{path}?resourceVersion={old}&resourceVersionMatch=Exact").status == 410

    is_gone.n = 0
    retry_until(is_gone, "compaction", interval=0.1)
    answer = a.get(f"{path}?resourceVersion={old}&resourceVersionMatch=Exact")
    assert (answer.json["reason"], answer.json["code"]) == ("Expired", 410)

    answer = a.get(f"{NAMESPACES}?limit=1&continue={page['continue']}")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")
    rest = a.get(f"{NAMESPACES}?continue={answer.json['metadata']['continue']}")
    assert names(rest) == ["kube-node-lease", "kube-public", "kube-system"]


def test_continue_tokens_are_kubernetes_own(annals, path):
    """And name the version, so that another one is refused."""
    create(annals, path, "a", "b")
    token = annals.get(path + "?limit=1").json["metadata"]["continue"]
    refused = annals.get(f"{path}?continue={token}&resourceVersion=1")
    assert (refused.status, refused.json["message"]) == (400, "specifying resource version is not allowed when using continue")
    said = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert said["v"] == "meta.k8s.io/v1" and said["start"].endswith("a\0")


# ---- watches ----


def next_events(watch, n):
    return [watch.next() for _ in range(n)]


def summary(event):
    return event["type"], event["object"]["metadata"].get("name")


def test_watch_from_now_shows_what_is_there_and_what_comes(annals, path, api_version):
    create(annals, path, "b", "a")
    with annals.watch(path + "?watch=1") as watch:
        assert (watch.status, watch.response.headers["Content-Type"]) == (200, "application/json")
        assert [summary(e) for e in next_events(watch, 2)] == [("ADDED", "a"), ("ADDED", "b")]
        create(annals, path, "c")
        annals.patch(path + "/c", {"revision": 5})
        annals.delete(path + "/c")
        events = next_events(watch, 3)
        assert [summary(e) for e in events] == [("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c")]
        assert {e["object"]["apiVersion"] for e in events} == {api_version}
        versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
        assert versions == sorted(set(versions))
        assert (events[1]["object"]["revision"], events[2]["object"]["revision"]) == (5, 5)


def test_watch_from_a_revision_shows_what_came_after(annals, path):
    before = create(annals, path, "a")
    create(annals, path, "b")
    annals.delete(path + "/a")
    with annals.watch(f"{path}?watch=1&resourceVersion={before}") as watch:
        assert [summary(e) for e in next_events(watch, 2)] == [("ADDED", "b"), ("DELETED", "a")]


def test_watch_from_any_revision_begins_with_what_is_known(annals, path):
    create(annals, path, "a")
    with annals.watch(path + "?watch=1&resourceVersion=0") as watch:
        assert summary(watch.next()) == ("ADDED", "a")


def test_list_and_watch_from_it_miss_nothing(annals, path):
    create(annals, path, "a")
    listed = annals.get(path)
    create(annals, path, "b")
    with annals.watch(f"{path}?watch=1&resourceVersion={version_of(listed)}") as watch:
        create(annals, path, "c")
        assert [summary(e) for e in next_events(watch, 2)] == [("ADDED", "b"), ("ADDED", "c")]


def test_watch_of_a_selection_shows_who_comes_and_goes(annals, path):
    create(annals, path, "a", "b")
    with annals.watch(path + "?watch=1&labelSelector=l%3Dx") as watch:
        annals.patch(path + "/a", {"metadata": {"labels": {"l": "x"}}})
        came = watch.next()
        annals.patch(path + "/b", {"revision": 7})
        annals.patch(path + "/a", {"metadata": {"labels": {"l": "y"}}})
        went = watch.next()
        assert [summary(came), summary(went)] == [("ADDED", "a"), ("DELETED", "a")]
        assert went["object"]["metadata"]["labels"] == {"l": "x"}
        assert went["object"]["metadata"]["resourceVersion"] == annals.get(path + "/a").json["metadata"]["resourceVersion"]


def test_watch_of_one_name(annals, path):
    create(annals, path, "a", "b")
    with annals.watch(path + "?watch=1&fieldSelector=metadata.name%3Db") as watch:
        annals.patch(path + "/a", {"revision": 7})
        annals.patch(path + "/b", {"revision": 7})
        assert [summary(e) for e in next_events(watch, 2)] == [("ADDED", "b"), ("MODIFIED", "b")]


def test_what_happens_through_one_version_is_seen_through_the_other(annals, namespace):
    with annals.watch(revisions(namespace, ANNALS) + "?watch=1") as watch:
        create(annals, revisions(namespace, APPS), "a")
        event = watch.next()
        assert (summary(event), event["object"]["apiVersion"]) == (("ADDED", "a"), ANNALS)


def test_old_watch_paths(annals, namespace, api_version):
    create(annals, revisions(namespace, api_version), "a", "b")
    with annals.watch(f"/apis/{api_version}/watch/namespaces/{namespace}/controllerrevisions/b") as watch:
        assert summary(watch.next()) == ("ADDED", "b")


def test_initial_events_end_with_a_bookmark(annals, path, api_version):
    version = create(annals, path, "a", "b")
    with annals.watch(path + INITIAL) as watch:
        assert [summary(e) for e in next_events(watch, 2)] == [("ADDED", "a"), ("ADDED", "b")]
        mark = watch.next()
        assert mark["type"] == "BOOKMARK"
        assert (mark["object"]["kind"], mark["object"]["apiVersion"]) == ("ControllerRevision", api_version)
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(mark["object"]["metadata"]["resourceVersion"]) >= int(version)
        create(annals, path, "c")
        assert summary(watch.next()) == ("ADDED", "c")


def test_initial_events_may_be_declined(annals, path):
    create(annals, path, "a")
    with annals.watch(path + INITIAL.replace("Events=true", "Events=false")) as watch:
        create(annals, path, "b")
        assert summary(watch.next()) == ("ADDED", "b")


def test_bookmark_comes_before_the_end(annals, path):
    """Where something has changed, two seconds before the end; and then the end."""
    before, after = create(annals, path, "a"), create(annals, path, "b")
    assert names(annals.get(path)) == ["a", "b"]
    with annals.watch(f"{path}?watch=1&timeoutSeconds=3&resourceVersion={before}&labelSelector=no%3Done{BOOKMARKS}") as watch:
        events = list(watch)
    assert [summary(e) for e in events] == [("BOOKMARK", None)]
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) >= int(after)


def test_bookmark_comes_before_the_end_of_a_server_that_was_late(up):
    a, path = up(NO_CONTROLLERS), revisions()
    before, after = create(a, path, "a"), create(a, path, "b")
    with a.watch(f"{path}?watch=1&timeoutSeconds=3&resourceVersion={before}&labelSelector=no%3Done{BOOKMARKS}") as watch:
        over = time.monotonic() + 4
        a.signal(signal.SIGSTOP)
        retry_until(lambda: time.monotonic() > over, "the watch's end")
        a.signal(signal.SIGCONT)
        events = list(watch)
    assert [summary(e) for e in events] == [("BOOKMARK", None)]
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) >= int(after)


def test_watch_ends_when_asked(annals, path):
    create(annals, path, "a")
    with annals.watch(path + "?watch=1&timeoutSeconds=1") as watch:
        assert [summary(e) for e in watch] == [("ADDED", "a")]


def test_watch_as_table_has_its_columns_once(annals, path):
    create(annals, path, "a", "b")
    with annals.watch(path + "?watch=1", headers=TABLE) as watch:
        first, second = next_events(watch, 2)
    assert first["object"]["kind"] == "Table"
    assert [column["name"] for column in first["object"]["columnDefinitions"]][:2] == ["Name", "Controller"]
    assert second["object"]["columnDefinitions"] is None
    assert [first["object"]["rows"][0]["cells"][0], second["object"]["rows"][0]["cells"][0]] == ["a", "b"]


def test_watch_of_metadata_alone(annals, path):
    create(annals, path, "a")
    with annals.watch(path + "?watch=1", headers={"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}) as watch:
        event = watch.next()
    assert (event["object"]["kind"], sorted(event["object"])) == ("PartialObjectMetadata", ["apiVersion", "kind", "metadata"])


def test_watch_from_too_long_ago_is_told_in_the_stream(up):
    a = up("--etcd-compaction-interval=1s")
    path = revisions("default")
    create(a, path, "a")

    def is_gone():
        a.patch(path + "/a", {"metadata": {"labels": {"n": str(is_gone.n)}}})
        is_gone.n += 1
        with a.watch(path + "?watch=1&resourceVersion=1&timeoutSeconds=1") as watch:
            is_gone.events = list(watch)
        return is_gone.events and is_gone.events[0]["type"] == "ERROR"

    is_gone.n = 0
    retry_until(is_gone, "compaction")
    error, = is_gone.events
    assert (error["object"]["kind"], error["object"]["code"], error["object"]["reason"]) == ("Status", 410, "Expired")
    asked, now = re.fullmatch(r"too old resource version: (\d+) \((\d+)\)", error["object"]["message"]).groups()
    assert asked == "1" and int(now) > 1


def test_watch_of_the_future_waits_for_it(up, api_version):
    a, path = up(NO_CONTROLLERS), revisions("default", api_version)
    names = [f"b{i:03}" for i in range(100)]
    future = int(create(a, path, "a")) + 80  # the server writes its StorageVersions, too
    with a.watch(f"{path}?watch=1&resourceVersion={future}") as watch:
        versions = {name: int(create(a, path, name)) for name in names}
        first = next(name for name in names if versions[name] > future)
        assert first != names[0] and summary(watch.next()) == ("ADDED", first)


def test_big_objects_come_whole(annals, path, api_version):
    with annals.watch(path + "?watch=1") as watch:
        for i in range(5):
            annals.post(path, revision(f"r{i}", data={"text": str(i) * 300000}, api_version=api_version))
        assert [len(e["object"]["data"]["text"]) for e in next_events(watch, 5)] == [300000] * 5


def test_many_watchers_see_the_same(annals, path):
    watches = [annals.watch(path + "?watch=1") for _ in range(50)]
    create(annals, path, *"abcde")
    annals.delete(path)
    lines = {tuple(watch.response.readline() for _ in range(10)) for watch in watches}
    for watch in watches:
        watch.close()
    assert len(lines) == 1
    assert [json.loads(line)["type"] for line in lines.pop()] == ["ADDED"] * 5 + ["DELETED"] * 5
