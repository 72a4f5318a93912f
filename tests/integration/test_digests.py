"""The digest of revisions that were created through apps/v1. Versions of annals.dev show it in every form, as that of any revision; apps/v1 shows what
kube-apiserver would, to the byte; and etcd has none."""

import gzip
import itertools
import json
import os
import re

import pytest
import yaml

from objects import ANNALS, APPLY, APPS, BETA, JSON_PATCH, MERGE, STRATEGIC, owner, revision, revisions
import processes

DIGEST = "annals.dev/digest"
POINTER = "/metadata/annotations/annals.dev~1digest"
AT_APPS, AT_ANNALS = revisions(), revisions(api_version=ANNALS)
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL, PARTIALS = ("application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1" % end for end in ("", "List"))
MORE = {
    "plain": {},
    "labels": {"labels": {"l": "x"}, "ownerReferences": [owner("web")]},
    "before": {"labels": {"l": "x"}, "annotations": {"a.example.com/x": "}\",{"}, "finalizers": ["example.com/keep"]},
    "behind": {"annotations": {"kubernetes.io/change-cause": "why"}},
}
DATA = {name: {"n": 1.0, "spec": {"of": name, "gone": None}} for name in MORE}


def make(server, name, api_version=APPS, number=1, data=None, **metadata):
    made = server.post(revisions(api_version=api_version), revision(name, number, data or {"of": name}, api_version, **metadata))
    assert made.status == 201, made
    return made.json


@pytest.fixture
def wanted(server):
    """Revisions made through apps/v1, and the digests of their data, as annals.dev has made them of twins."""
    for name, metadata in MORE.items():
        make(server, name, data=DATA[name], **metadata)
    twins = {name: make(server, f"twin-{name}", ANNALS, data=data)["metadata"]["annotations"][DIGEST] for name, data in DATA.items()}
    for name in MORE:
        assert server.delete(f"{AT_ANNALS}/twin-{name}").status == 200
    assert len(set(twins.values())) == len(MORE)
    return twins


def digests(objects):
    return {each["metadata"]["name"]: each["metadata"].get("annotations", {}).get(DIGEST) for each in objects}


def stored(store, name):
    return store.ctl("get", f"/annals/objects/annals.dev/controllerrevisions/default/{name}", "--print-value-only").rstrip("\n")


def exchange(server, path, **headers):
    answer = server.get(path, headers=headers)
    assert answer.status == 200, answer
    return gzip.decompress(answer.body) if answer.headers["Content-Encoding"] == "gzip" else answer.body


FORMS = [("", {}), ("?pretty=true", {}), ("", {"Accept": TABLE}), ("?includeObject=Object", {"Accept": TABLE}), ("", {"Accept": PARTIAL}),
         ("", {"Accept": "application/yaml"}), ("", {"Accept-Encoding": "gzip"})]


def everything(server, version):
    """What apps/v1 shows, byte by byte, but for ages. Lists as of that version: other objects are written meanwhile."""
    exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
    reads = [(f"{AT_APPS}/{name}{query}", headers) for name in MORE for query, headers in FORMS]
    reads += [(f"{AT_APPS}?{exact}{query.replace('?', '&')}", {name: value.replace("Metadata;", "MetadataList;") for name, value in headers.items()}) for query, headers in FORMS]
    return {(path, str(headers)): re.sub(rb'"[0-9]+s"\]', b"", exchange(server, path, **headers)) for path, headers in reads}


@pytest.mark.parametrize("api_version", [ANNALS, BETA])
def test_every_form_shows_it_at_our_version_and_none_at_upstreams(server, store, wanted, api_version):
    version = server.get(AT_APPS).json["metadata"]["resourceVersion"]
    before, texts = everything(server, version), {name: stored(store, name) for name in MORE}
    at = revisions(api_version=api_version)
    for name in MORE:
        assert digests([json.loads(exchange(server, f"{at}/{name}"))]) == {name: wanted[name]}
        assert digests([json.loads(exchange(server, f"{at}/{name}?pretty=true"))]) == {name: wanted[name]}
        assert digests([yaml.safe_load(exchange(server, f"{at}/{name}", Accept="application/yaml"))]) == {name: wanted[name]}
        assert digests([json.loads(exchange(server, f"{at}/{name}", Accept=PARTIAL))]) == {name: wanted[name]}
        for include in ("Metadata", "Object"):
            table = json.loads(exchange(server, f"{at}/{name}?includeObject={include}", Accept=TABLE))
            assert digests(row["object"] for row in table["rows"]) == {name: wanted[name]}
    assert digests(json.loads(exchange(server, at))["items"]) == wanted
    assert digests(json.loads(exchange(server, f"/apis/{api_version}/controllerrevisions"))["items"]) == wanted
    assert digests(yaml.safe_load(exchange(server, at, Accept="application/yaml"))["items"]) == wanted
    assert digests(json.loads(exchange(server, at, Accept=PARTIALS))["items"]) == wanted
    assert digests(row["object"] for row in json.loads(exchange(server, at, Accept=TABLE))["rows"]) == wanted
    assert set(digests(json.loads(exchange(server, at + "?labelSelector=l%3Dx"))["items"])) == {"labels", "before"}
    assert digests(json.loads(exchange(server, at + "?fieldSelector=metadata.name%3Dbehind"))["items"]) == {"behind": wanted["behind"]}
    assert everything(server, version) == before and not any(DIGEST.encode() in body for body in before.values())
    assert {name: stored(store, name) for name in MORE} == texts


def test_what_is_shown_is_what_would_have_been_stored(server, wanted):
    """Member by member, in the same order."""
    for name, metadata in MORE.items():
        make(server, f"ours-{name}", ANNALS, data=DATA[name], **{**metadata, "ownerReferences": []})
        shown, ours = ((json.loads(exchange(server, f"{AT_ANNALS}/{each}"))["metadata"]) for each in (name, f"ours-{name}"))
        assert list(shown["annotations"].items()) == list(ours["annotations"].items())
        assert [member for member in shown if member != "ownerReferences"] == list(ours)


def test_pages_show_it(server, wanted):
    found, token = {}, ""
    while True:
        page = json.loads(exchange(server, f"{AT_ANNALS}?limit=1&continue={token}"))
        found.update(digests(page["items"]))
        token = page["metadata"].get("continue")
        if not token:
            break
        make(server, f"zz-{len(found)}")
    assert found == wanted


def test_long_lists_have_it_streamed_packed_and_at_an_earlier_version(server):
    for number in range(120):
        make(server, f"r-{number:03}", number=number, data={"filler": f"{number:04}" * 300})
    version = json.loads(exchange(server, AT_APPS))["metadata"]["resourceVersion"]
    make(server, "later")
    exact = f"?resourceVersion={version}&resourceVersionMatch=Exact"
    apps = exchange(server, AT_APPS + exact)
    packed = exchange(server, AT_APPS + exact, **{"Accept-Encoding": "gzip"})
    ours = server.get(AT_ANNALS + exact)
    assert int(ours.headers["Content-Length"]) == len(ours.body)
    assert exchange(server, AT_ANNALS + exact, **{"Accept-Encoding": "gzip"}) == ours.body
    assert exchange(server, AT_ANNALS + exact, **{"Accept-Encoding": "gzip"}) == ours.body
    assert exchange(server, AT_APPS + exact) == apps == packed and DIGEST.encode() not in apps
    shown = ours.json["items"]
    assert len(set(digests(shown).values()) - {None}) == len(shown) == 120
    for each in shown:
        del each["metadata"]["annotations"]
    assert shown == json.loads(apps)["items"]


def test_a_large_one_is_shown_plain_and_packed(server):
    make(server, "large", data={"filler": "0123456789" * 90_000})
    make(server, "twin", ANNALS, data={"filler": "0123456789" * 90_000})
    for encoding in ("identity", "gzip"):
        shown = [json.loads(exchange(server, f"{AT_ANNALS}/{name}", **{"Accept-Encoding": encoding})) for name in ("large", "twin")]
        assert len(set(digests(shown).values())) == 1 and DIGEST in shown[0]["metadata"]["annotations"]


WATCHED = {"object": ({}, lambda shown: shown), "metadata": ({"Accept": PARTIAL}, lambda shown: shown),
           "table": ({"Accept": TABLE}, lambda shown: shown["rows"][0]["object"])}


@pytest.mark.parametrize("form", WATCHED)
def test_watches_from_an_old_version_show_it(server, form):
    headers, take = WATCHED[form]
    version = json.loads(exchange(server, AT_APPS))["metadata"]["resourceVersion"]
    make(server, "a", labels={"l": "x"})
    make(server, "b", ANNALS)
    server.patch(f"{AT_APPS}/a", {"metadata": {"labels": {"l": "y"}}})
    server.patch(f"{AT_APPS}/a", {"revision": 5})
    server.delete(f"{AT_APPS}/a")
    digest = make(server, "twin", ANNALS, data={"of": "a"})["metadata"]["annotations"][DIGEST]
    for api_version, wanted in ((ANNALS, digest), (BETA, digest), (APPS, None)):
        query = f"{revisions(api_version=api_version)}?watch=1&resourceVersion={version}"
        with server.watch(f"{query}&fieldSelector=metadata.name%3Da", headers=headers) as watch:
            events = [watch.next() for _ in range(4)]
        assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
        assert [digests([take(event["object"])]) for event in events] == [{"a": wanted}] * 4
        with server.watch(f"{query}&labelSelector=l%3Dx", headers=headers) as watch:
            events = [watch.next() for _ in range(2)]
        assert [(event["type"], digests([take(event["object"])])) for event in events] == [("ADDED", {"a": wanted}), ("DELETED", {"a": wanted})]


def test_a_watch_that_begins_with_what_is_there_shows_it(server, wanted):
    with server.watch(f"{AT_ANNALS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true") as watch:
        assert digests(watch.next()["object"] for _ in MORE) == wanted
        assert DIGEST not in watch.next()["object"]["metadata"]["annotations"]


# ---- writes ----


def test_what_is_sent_back_as_it_was_read_changes_nothing(server, store, wanted):
    for name in MORE:
        text, got = stored(store, name), server.get(f"{AT_ANNALS}/{name}").json
        for again in (server.put(f"{AT_ANNALS}/{name}", got),
                      server.patch(f"{AT_ANNALS}/{name}", {}),
                      server.patch(f"{AT_ANNALS}/{name}", {"metadata": {"annotations": {DIGEST: wanted[name]}}}),
                      server.patch(f"{AT_ANNALS}/{name}", {"metadata": {"annotations": {DIGEST: "lie"}}}, STRATEGIC),
                      server.patch(f"{AT_ANNALS}/{name}", {"metadata": {"annotations": {DIGEST: None}}}),
                      server.patch(f"{AT_ANNALS}/{name}", [{"op": "test", "path": POINTER, "value": wanted[name]}], JSON_PATCH),
                      server.patch(f"{AT_ANNALS}/{name}", [{"op": "remove", "path": POINTER}], JSON_PATCH)):
            assert (again.status, again.json) == (200, got)
        assert stored(store, name) == text


PATCHES = {
    "merge": (MERGE, {"metadata": {"annotations": {"x": "1"}}}),
    "strategic": (STRATEGIC, {"metadata": {"annotations": {"x": "1"}}}),
    "json": (JSON_PATCH, [{"op": "add", "path": "/metadata/annotations/x", "value": "1"}]),
    "apply": (APPLY + "?fieldManager=me", {"apiVersion": ANNALS, "kind": "ControllerRevision", "metadata": {"annotations": {"x": "1", DIGEST: "lie"}}}),
}


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("patch", PATCHES)
def test_answers_of_patches_show_it(server, store, wanted, patch, dry_run):
    kind, _, query = PATCHES[patch][0].partition("?")
    for name in MORE:
        text = stored(store, name)
        changed = server.patch(f"{AT_ANNALS}/{name}?{query}{'&dryRun=All' if dry_run else ''}", PATCHES[patch][1], kind)
        assert changed.status == 200, changed
        assert changed.json["metadata"]["annotations"] == {**MORE[name].get("annotations", {}), DIGEST: wanted[name], "x": "1"}
        assert list(changed.json["metadata"]["annotations"]) == sorted(changed.json["metadata"]["annotations"])
        assert '"annals.dev/digest":' not in stored(store, name) and (stored(store, name) == text) == dry_run
        assert digests([server.get(f"{AT_APPS}/{name}").json]) == {name: None}
        if not dry_run:
            assert server.get(f"{AT_ANNALS}/{name}").json == changed.json


def test_answers_of_puts_and_deletions_show_it(server, store, wanted):
    for name in MORE:
        got = server.get(f"{AT_ANNALS}/{name}").json
        for query in ("?dryRun=All", ""):
            put = server.put(f"{AT_ANNALS}/{name}{query}", {**got, "revision": 9})
            assert (put.status, put.json["revision"], digests([put.json])) == (200, 9, {name: wanted[name]})
        assert DIGEST not in json.loads(stored(store, name))["metadata"].get("annotations", {})
        managers = [entry["fieldsV1"] for entry in put.json["metadata"]["managedFields"]]
        assert DIGEST not in json.dumps(managers)
    kept = server.delete(f"{AT_ANNALS}/before")
    assert (kept.status, kept.json["kind"], digests([kept.json])) == (200, "ControllerRevision", {"before": wanted["before"]})
    server.patch(f"{AT_ANNALS}/before", {"metadata": {"finalizers": None}})
    assert digests(server.delete(AT_ANNALS).json["items"]) == {name: digest for name, digest in wanted.items() if name != "before"}


def test_who_sends_it_to_upstreams_version_asks_for_it(server, wanted):
    asked = server.patch(f"{AT_APPS}/plain", {"metadata": {"annotations": {DIGEST: "lie"}}})
    assert digests([asked.json]) == {"plain": wanted["plain"]} == digests([server.get(f"{AT_APPS}/plain").json])
    assert digests([server.get(f"{AT_ANNALS}/plain").json]) == {"plain": wanted["plain"]}


# ---- what others have stored, and other servers ----


def test_restarts_and_what_others_have_stored(server, store, serve, wanted):
    """Blanks and another order, as no annals writes it."""
    elsewhere = json.loads(stored(store, "before"))
    elsewhere["metadata"] = {"finalizers": ["x.io/y"], "annotations": {"z": "1", "a": "2"}, "name": "foreign", "namespace": "default", "uid": "u"}
    store.ctl("put", "/annals/objects/annals.dev/controllerrevisions/default/foreign", json.dumps(elsewhere, indent=1))
    wanted = {**wanted, "foreign": wanted["before"]}
    assert digests(server.get(AT_ANNALS).json["items"]) == wanted
    server.stop()
    again = serve(store.endpoint)
    assert digests(again.get(AT_APPS).json["items"]) == dict.fromkeys(wanted)
    assert digests(again.get(AT_ANNALS).json["items"]) == wanted


def test_what_may_be_made_is_counted_from_the_start(server, wanted):
    """Servers write when they like. Where one has, nothing can be said, and it is done again with another object."""
    def held():
        """Bytes of all objects, and the revision that the cache shows."""
        values = dict(line.split(" ") for line in server.get("/metrics").text.splitlines() if re.match("annals_cache_(bytes|revision) ", line))
        return float(values["annals_cache_bytes"]), int(values["annals_cache_revision"])

    def count(name):
        nothing = held()
        make(server, name)
        made = held()
        assert server.get(f"{AT_ANNALS}/{name}").json["metadata"]["annotations"][DIGEST]
        read = held()
        assert server.delete(f"{AT_APPS}/{name}").status == 200
        gone = held()
        if [revision - nothing[1] for _, revision in (made, read, gone)] != [1, 1, 2]:
            return False
        assert made[0] > nothing[0] and read == made and gone[0] == nothing[0]
        return True

    names = (f"more-{number}" for number in itertools.count())
    processes.retry_until(lambda: count(next(names)), "nobody else writes")
