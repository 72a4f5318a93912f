"""Watches through kube-apiserver: everything comes, at once and in order; they resume, begin with what exists, carry bookmarks, and end in time.
What is behind kube-apiserver is asked the same straight: the events must be the same."""

import itertools
import json
import urllib.parse

import pytest

import processes
from watchers import is_initial_end


class Collection:
    """Of a namespace, both ways."""

    def __init__(self, cluster, behind):
        self.kind, self.namespace = behind.kind, cluster.make_namespace()
        self.kube, self.straight = cluster.kube, behind.replicas[0]

    def path(self, name="", **query):
        return self.kind.path(self.namespace, name) + ("?" + urllib.parse.urlencode(query) if query else "")

    def make(self, name, **metadata):
        made = self.kube.post(self.path(), self.kind.body(name, **metadata))
        assert made.status == 201, made
        return made.json

    def label(self, name, value):
        done = self.kube.patch(self.path(name), {"metadata": {"labels": {"a": value}}})
        assert done.status == 200, done
        return done.json

    def delete(self, name):
        assert self.kube.delete(self.path(name)).status == 200

    def version(self):
        return self.kube.get(self.path()).json["metadata"]["resourceVersion"]

    def watches(self, headers=None, **query):
        """One through kube-apiserver, one straight."""
        return [server.watch(self.path(watch="1", timeoutSeconds="300", **query), headers) for server in (self.kube, self.straight)]


@pytest.fixture
def collection(cluster, behind):
    return Collection(cluster, behind)


def words(event):
    """TYPE NAME VALUE-OF-LABEL."""
    metadata = event["object"]["metadata"]
    return f"{event['type']} {metadata.get('name', '')} {metadata.get('labels', {}).get('a', '')}".strip()


def ageless(event):
    """Without ages, which are those of the moment in which a Table is made."""
    table = event["object"]
    ages = {number for number, column in enumerate(table.get("columnDefinitions") or []) if column["name"] == "Age"}
    for row in table.get("rows", []):
        row["cells"] = [cell for number, cell in enumerate(row["cells"]) if number not in ages]
    return event


def read(watches, count):
    """The next events of both, which must be the same."""
    events = [[ageless(watch.next()) for _ in range(count)] for watch in watches]
    assert events[0] == events[1]
    return events[0]


def close(watches):
    for watch in watches:
        watch.close()


def test_watch__tells_each_change(collection):
    watches = collection.watches(resourceVersion=collection.version())
    collection.make("one")
    assert [words(event) for event in read(watches, 1)] == ["ADDED one"]
    collection.label("one", "x")
    collection.make("two")
    collection.delete("one")
    assert [words(event) for event in read(watches, 3)] == ["MODIFIED one x", "ADDED two", "DELETED one x"]
    close(watches)


def test_watch__resumes_where_it_was(collection):
    collection.make("one")
    watches = collection.watches(resourceVersion=collection.version())
    collection.label("one", "x")
    last = read(watches, 1)[0]["object"]["metadata"]["resourceVersion"]
    close(watches)
    collection.label("one", "y")
    collection.make("two")
    watches = collection.watches(resourceVersion=last)
    assert [words(event) for event in read(watches, 2)] == ["MODIFIED one y", "ADDED two"]
    close(watches)


def test_watch__begins_with_what_exists(collection):
    collection.make("one")
    collection.make("two", labels={"a": "x"})
    watches = collection.watches(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
    for watch in watches:
        first = [watch.next(), watch.next()]
        assert sorted(map(words, first)) == ["ADDED one", "ADDED two x"]
        end = watch.next()
        assert is_initial_end(end) and int(end["object"]["metadata"]["resourceVersion"]) >= max(int(one["object"]["metadata"]["resourceVersion"]) for one in first)
    collection.label("one", "y")
    assert [words(event) for event in read(watches, 1)] == ["MODIFIED one y"]
    close(watches)


def test_watch__carries_bookmarks_before_it_ends(collection):
    """A watcher without events, since none of its objects has changed, gets a bookmark: 2 s before the end, unless its server is idle just then."""
    collection.make("one")
    start = collection.version()
    changed = collection.label("one", "x")["metadata"]["resourceVersion"]

    def are_told():
        watches = [server.watch(collection.path(watch="1", allowWatchBookmarks="true", labelSelector="a=none", resourceVersion=start, timeoutSeconds="4"))
                   for server in (collection.kube, collection.straight)]
        collection.label("one", "y")
        told = [list(watch) for watch in watches]
        close(watches)
        assert {event["type"] for event in itertools.chain(*told)} <= {"BOOKMARK"}
        return all(events and int(events[-1]["object"]["metadata"]["resourceVersion"]) >= int(changed) for events in told)

    processes.retry_until(are_told, "bookmarks, both ways")


def test_watch__selects(collection):
    watches = collection.watches(labelSelector="a=x", resourceVersion=collection.version())
    collection.make("one")
    collection.make("two", labels={"a": "x"})
    collection.label("two", "y")
    assert [words(event) for event in read(watches, 2)] == ["ADDED two x", "DELETED two x"]
    close(watches)


def test_watch__in_other_forms(collection):
    collection.make("one", labels={"a": "x"})
    for form in ("Table", "PartialObjectMetadata"):
        watches = collection.watches({"Accept": f"application/json;as={form};v=v1;g=meta.k8s.io"}, resourceVersion="0")
        event = read(watches, 1)[0]
        assert (event["type"], event["object"]["kind"]) == ("ADDED", form)
        close(watches)


def test_watch__ends_in_time(collection):
    for server in (collection.kube, collection.straight):
        with server.watch(collection.path(watch="1", timeoutSeconds="1", resourceVersion=collection.version())) as watch:
            assert list(watch) == []


def test_list__pages_and_exact_versions(collection):
    for number in range(5):
        collection.make(f"n{number}")
    version = collection.version()
    collection.delete("n1")
    for server in (collection.kube, collection.straight):
        pages, token = [], ""
        while not pages or token:
            page = server.get(collection.path(limit="2", **({"continue": token} if token else {}))).json
            pages.append([item["metadata"]["name"] for item in page["items"]])
            token = page["metadata"].get("continue")
        assert pages == [["n0", "n2"], ["n3", "n4"]]
        then = server.get(collection.path(resourceVersion=version, resourceVersionMatch="Exact")).json
        assert len(then["items"]) == 5, json.dumps(then)
