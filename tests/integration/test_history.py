"""One revision for each state and each number of a controller: the index beside the objects, and who is refused."""

import concurrent.futures

import pytest

from objects import ANNALS, APPS, JSON_PATCH, owner, revision, revisions

ALLOWED = {"annals.dev/allow-duplicates": "true"}


def make(server, name, number, data, api_version=ANNALS, by="web", query="", **metadata):
    references = [owner(by)] if by else []
    body = revision(name, number, data, api_version, ownerReferences=references, **metadata)
    return server.post(revisions(api_version=api_version) + query, body)


def index(store):
    """Entries, as (owner, what, name)."""
    keys = store.ctl("get", "--prefix", "/annals/history/default/", "--keys-only").split()
    parts = [key.removeprefix("/annals/history/default/").split("/") for key in keys]
    return sorted((uid, what if what == "digest" else int(value), name) for uid, what, value, name in parts if what != "digest") + \
        sorted((uid, "digest", name) for uid, what, _, name in parts if what == "digest")


def causes(answer):
    return [(cause["reason"], cause["field"], cause["message"]) for cause in answer.json["details"].get("causes", [])]


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
def test_second_revision_of_a_state_or_number_is_refused_and_the_first_named(server, query):
    assert make(server, "a", 1, {"x": 1}).status == 201
    same = make(server, "b", 2, {"x": 1.0, "gone": None}, query=query)
    assert (same.status, same.json["reason"]) == (409, "Conflict")
    assert causes(same) == [("FieldValueDuplicate", "data", 'controllerrevisions "a" has the same data')]
    assert '"a" of the same controller has the same data' in same.json["message"]
    number = make(server, "b", 1, {"x": 2}, query=query)
    assert number.status == 409 and causes(number) == [("FieldValueDuplicate", "revision", 'controllerrevisions "a" has revision 1')]
    assert make(server, "b", 2, {"x": 2}, query=query).status == 201


def test_other_controllers_and_none_and_other_namespaces_are_other_histories(server):
    server.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
    for name, by in (("a", "web"), ("b", "db"), ("c", None), ("d", None)):
        assert make(server, name, 1, {"x": 1}, by=by).status == 201
    other = revision("a", 1, {"x": 1}, ANNALS, ownerReferences=[owner("web")])
    assert server.post(revisions("other", ANNALS), other).status == 201


def test_uids_with_slashes_do_not_meet(server):
    strange = {**owner("web"), "uid": "u"}
    assert server.post(revisions(api_version=ANNALS), revision("n", 1, {"x": 1}, ANNALS, ownerReferences=[strange])).status == 201
    strange["uid"] = "u/number/1"
    assert server.post(revisions(api_version=ANNALS), revision("m", 1, {"x": 1}, ANNALS, ownerReferences=[strange])).status == 201


def test_numbers_stay_apart_by_every_verb(server, store):
    for number, name in enumerate("abc", 1):
        assert make(server, name, number, {"x": name}).status == 201
    path = f"{revisions(api_version=ANNALS)}/a"
    assert server.patch(path, {"revision": 3}).status == 409
    assert server.patch(path, [{"op": "replace", "path": "/revision", "value": 2}], JSON_PATCH).status == 409
    body = server.get(path).json
    assert server.put(path, {**body, "revision": 2}).status == 409
    assert server.patch(path, {"metadata": {"labels": {"a": "b"}}}).status == 200
    assert server.patch(path, {"revision": 4}).status == 200
    assert [entry for entry in index(store) if entry[1] != "digest"] == [("uid-of-web", n, name) for n, name in ((2, "b"), (3, "c"), (4, "a"))]
    assert make(server, "d", 1, {"x": "d"}).status == 201


def test_who_says_so_may_have_duplicates(server):
    assert make(server, "a", 1, {"x": 1}).status == 201
    assert make(server, "b", 1, {"x": 1}, annotations=ALLOWED).status == 201
    assert make(server, "c", 1, {"x": 2}).status == 409


def test_upstream_s_version_stays_as_it_is_but_counts(server, store):
    assert make(server, "a", 1, {"x": 1}, APPS).status == 201
    assert make(server, "b", 1, {"x": 1}, APPS).status == 201
    assert len(index(store)) == 4
    assert make(server, "c", 1, {"x": 2}).status == 409
    assert make(server, "c", 2, {"x": 1}).status == 409
    assert server.patch(f"{revisions(api_version=APPS)}/a", {"revision": 7}).status == 200
    assert server.patch(f"{revisions(api_version=ANNALS)}/b", {"metadata": {"labels": {"a": "b"}}}).status == 200  # what is there already may stay


def test_index_follows_adoption_and_orphans(server, store):
    path = f"{revisions(api_version=ANNALS)}/a"
    assert make(server, "a", 1, {"x": 1}, by=None).status == 201
    assert index(store) == []
    assert server.patch(path, {"metadata": {"ownerReferences": [owner("web")]}}).status == 200
    assert index(store) == [("uid-of-web", 1, "a"), ("uid-of-web", "digest", "a")]
    assert server.patch(path, {"metadata": {"ownerReferences": [owner("db")]}}).status == 200
    assert index(store) == [("uid-of-db", 1, "a"), ("uid-of-db", "digest", "a")]
    assert make(server, "b", 1, {"x": 1}).status == 201
    refused = server.patch(path, {"metadata": {"ownerReferences": [owner("web")]}})
    assert refused.status == 409 and causes(refused)[0][1] == "data"
    assert server.patch(path, {"metadata": {"ownerReferences": None}}).status == 200
    assert [entry[0] for entry in index(store)] == ["uid-of-web"] * 2
    assert server.patch(path, {"metadata": {"ownerReferences": [owner("web", controller=False)]}}).status == 200
    assert server.delete(f"{revisions(api_version=ANNALS)}/b").status == 200
    assert index(store) == []


def test_removal_takes_the_entries_along_whichever_way_it_goes(server, store):
    for number, name in enumerate("abcd", 1):
        held = {"finalizers": ["example.com/hold"]} if name == "a" else {}
        assert make(server, name, number, {"x": name}, APPS if name == "b" else ANNALS, **held).status == 201
    assert server.delete(f"{revisions(api_version=ANNALS)}/a").status == 200
    assert len(index(store)) == 8  # it is still there
    assert server.patch(f"{revisions(api_version=ANNALS)}/a", {"metadata": {"finalizers": None}}).status == 200
    assert server.delete(f"{revisions(api_version=ANNALS)}/b").status == 200
    assert len(index(store)) == 4
    assert server.delete(revisions(api_version=ANNALS)).status == 200
    assert index(store) == []


def test_dry_run_leaves_no_entry(server, store):
    assert make(server, "a", 1, {"x": 1}, query="?dryRun=All").status == 201
    assert index(store) == []


def test_of_many_who_make_the_same_one_wins(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]

    def attempt(i):
        return make(servers[i % 2], f"r{i}", i if i % 3 else 0, {"x": i % 5}).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(attempt, range(200)))
    assert set(statuses) == {201, 409}
    made = servers[0].get(revisions(api_version=ANNALS)).json["items"]
    assert len(made) == statuses.count(201) == len({r["data"]["x"] for r in made}) == len({r["revision"] for r in made}) == 5
    assert len(index(store)) == 10
