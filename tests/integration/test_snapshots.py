"""Snapshots: one state into the history of its controller, which stays within its limit, in one transaction."""

import concurrent.futures
import http.client
import io
import itertools
import json
import re

import processes
import pytest

from objects import ANNALS, APPS, owner, revision, revisions
from protobuf_fields import PROTOBUF, decoded, frames

SNAPSHOTS = "/apis/annals.dev/v1/namespaces/default/snapshots"
REVISIONS = revisions(api_version=ANNALS)
VALUE = re.compile("[bcdfghjklmnpqrstvwxz2456789]+")


def body(data, by="web", metadata=None, **spec):
    return {"metadata": metadata or {}, "spec": {"owner": owner(by), "data": data, **spec}}


def snapshot(server, data, by="web", query="", **spec):
    answer = server.post(SNAPSHOTS + query, body(data, by, **spec))
    assert answer.status == 201, answer
    return answer.json["status"]


def history(server, by="web"):
    """(number, name), the oldest first."""
    items = server.get(f"{REVISIONS}?fieldSelector=controller.uid=uid-of-{by}").json["items"]
    return sorted((item["revision"], item["metadata"]["name"]) for item in items)


def outcome(status):
    return status["result"], status["revision"]["revision"], len(status.get("trimmed", []))


# seeds: H14 H15 H16 H21
def test_states_are_created_found_again_and_rolled_back_to(server):
    first = snapshot(server, {"x": 1, "none": None})
    assert outcome(first) == ("Created", 1, 0)
    assert outcome(snapshot(server, {"none": {}, "x": 1.0})) == ("Unchanged", 1, 0)
    assert outcome(snapshot(server, {"x": 2})) == ("Created", 2, 0)
    back = snapshot(server, {"x": 1})
    assert outcome(back) == ("RolledBack", 3, 0) and back["revision"]["name"] == first["revision"]["name"]
    assert outcome(snapshot(server, {"x": 3})) == ("Created", 4, 0)
    assert [number for number, _ in history(server)] == [2, 3, 4]


def test_answer_is_the_snapshot_and_the_revision_is_as_if_posted(server):
    sent = json.dumps(body({"put": "here"}, labels={"app": "web"}, metadata={"name": "mine"}))
    sent = sent.replace('{"put": "here"}', '{"b":[1.50,null],"a":"é"}')
    answer = server.post(f"{SNAPSHOTS}?fieldManager=me", sent)
    assert answer.status == 201 and answer.json["kind"] == "Snapshot" and answer.json["apiVersion"] == ANNALS
    assert answer.json["metadata"]["name"] == "mine" and answer.json["spec"]["historyLimit"] == 10
    assert '"data":{"b":[1.50,null],"a":"é"}' in answer.text
    made = server.get(f"{REVISIONS}/{answer.json['status']['revision']['name']}")
    assert '"data":{"b":[1.50,null],"a":"é"}' in made.text
    metadata = made.json["metadata"]
    assert metadata["labels"] == {"app": "web"} and metadata["ownerReferences"] == [owner("web")]
    assert metadata["uid"] and metadata["creationTimestamp"] and metadata["annotations"]["annals.dev/digest"]
    assert [entry["manager"] for entry in metadata["managedFields"]] == ["me"]
    assert server.get(f"{SNAPSHOTS}/mine").status == 404 and server.get(SNAPSHOTS).status == 405
    snapshot(server, {"other": 1}, query="?fieldManager=you")
    snapshot(server, {"b": [1.5, None], "a": "é"}, query="?fieldManager=you")
    metadata = server.get(f"{REVISIONS}/{metadata['name']}").json["metadata"]
    assert sorted(entry["manager"] for entry in metadata["managedFields"]) == ["me", "you"]


# seeds: H26 H56
@pytest.mark.parametrize("prefix, length", [(None, 4 + 54), ("a" * 20 + "-", 63), ("1", 55), ("b" * 53, 63), ("b" * 60, 60 + 54), ("c" * 243, 253)])
def test_names_are_prefix_and_digest(server, prefix, length):
    name = snapshot(server, {"x": 1}, **({"namePrefix": prefix} if prefix else {}))["revision"]["name"]
    digest = server.get(f"{REVISIONS}/{name}").json["metadata"]["annotations"]["annals.dev/digest"]
    rest = name.removeprefix(prefix or "web-")
    assert len(name) == length and digest.startswith(rest) and VALUE.fullmatch(rest) and not name.isdigit()


# seeds: H54 H55
def test_taken_names_are_stepped_over(server):
    rehearsed = snapshot(server, {"x": 1}, query="?dryRun=All")["revision"]["name"]
    assert server.get(f"{REVISIONS}/{rehearsed}").status == 404
    names = [rehearsed]
    for i in range(3):
        taken = revision(names[-1], 1, {"other": i}, ANNALS, ownerReferences=[owner(f"other{i}")])
        assert server.post(REVISIONS, taken).status == 201
        names.append(snapshot(server, {"x": 1}, query="?dryRun=All")["revision"]["name"])
    made = snapshot(server, {"x": 1})
    assert outcome(made) == ("Created", 1, 0) and made["revision"]["name"] == names[-1] and len(set(names)) == 4
    assert snapshot(server, {"x": 1})["revision"]["name"] == names[-1]
    assert all(VALUE.fullmatch(name.removeprefix("web-")) and len(name) == 58 for name in names)


@pytest.mark.parametrize("change, field", [
    ({"owner": {**owner("web"), "controller": False}}, "spec.owner.controller"), ({"owner": {**owner("web"), "uid": ""}}, "spec.owner.uid"),
    ({"data": None}, "spec.data"), ({"data": [1]}, "spec.data"), ({"historyLimit": -1}, "spec.historyLimit"),
    ({"live": ["a", "B"]}, "spec.live[1]"), ({"live": ["a"] * 2001}, "spec.live"),
    ({"namePrefix": "A"}, "spec.namePrefix"), ({"namePrefix": "a" * 244}, "spec.namePrefix"), ({"labels": {"a b": "c"}}, "spec.labels")])
def test_wrong_snapshots_are_refused_by_field(server, change, field):
    refused = server.post(SNAPSHOTS, body(**{"data": {"x": 1}, **{k: v for k, v in change.items() if k != "owner"}}) | (
        {"spec": {**body({"x": 1})["spec"], **change}} if "owner" in change else {}))
    assert refused.status == 422, refused
    assert [cause["field"] for cause in refused.json["details"]["causes"]] == [field]


def test_no_snapshots_where_there_is_no_namespace(server):
    assert server.post(SNAPSHOTS.replace("default", "absent"), body({"x": 1})).status == 404
    assert history(server) == []


# seeds: H6 H32 H52
def test_history_is_trimmed_to_the_limit_the_oldest_first(server, store):
    names = [snapshot(server, {"x": i}, historyLimit=2)["revision"]["name"] for i in range(3)]
    fourth = snapshot(server, {"x": 3}, historyLimit=2)
    assert outcome(fourth) == ("Created", 4, 1) and fourth["trimmed"] == names[:1]
    back = snapshot(server, {"x": 1}, historyLimit=0)
    assert outcome(back) == ("RolledBack", 5, 2) and back["trimmed"] == [names[2], fourth["revision"]["name"]]
    assert history(server) == [(5, names[1])]
    assert len(store.ctl("get", "--prefix", "/annals/history/", "--keys-only").split()) == 2
    snapshot(server, {"x": 9}, historyLimit=1)
    assert snapshot(server, {"x": 9}, historyLimit=0) == {
        "result": "Unchanged", "revision": snapshot(server, {"x": 9})["revision"], "trimmed": [names[1]]}


# seeds: H9 H32
def test_what_is_needed_is_spared_and_not_counted(server):
    made = {what: snapshot(server, {"x": what})["revision"]["name"] for what in ("pod", "hash", "owned", "held", "referred", "idle")}
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert server.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "a", "labels": {"controller-revision-hash": made["pod"]}}, **pod}).status == 201
    server.patch(f"{REVISIONS}/{made['hash']}", {"metadata": {"labels": {"controller-revision-hash": "h1"}}})
    assert server.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "b", "labels": {"controller-revision-hash": "h1"}}, **pod}).status == 201
    server.patch(f"{REVISIONS}/{made['owned']}", {"metadata": {"ownerReferences": [owner("web"), owner("pod", controller=False)]}})
    server.patch(f"{REVISIONS}/{made['held']}", {"metadata": {"finalizers": ["example.com/hold"]}})
    dependents = SNAPSHOTS.replace("snapshots", "dependents")
    named = {"providers": [{"kind": "ControllerRevision", "name": made["referred"]}]}
    assert server.post(dependents, {"metadata": {"name": "d"}, "spec": named}).status == 201
    last = snapshot(server, {"x": "last"}, historyLimit=0)
    assert last["trimmed"] == [made["idle"]] and len(history(server)) == 6
    server.delete("/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0")
    server.delete(f"{dependents}/d")
    assert len(history(server)) == 6  # a read that may not be old: what follows knows of both deletions
    assert snapshot(server, {"x": "last"}, historyLimit=0)["trimmed"] == [made["pod"], made["referred"]]


def test_what_a_client_names_as_live_is_spared_too(server):
    names = [snapshot(server, {"x": i})["revision"]["name"] for i in range(4)]
    assert snapshot(server, {"x": 4}, historyLimit=1, live=[names[0], "none-of-that-name"])["trimmed"] == [names[1], names[2]]
    assert snapshot(server, {"x": 4}, historyLimit=0, live=[])["trimmed"] == [names[0], names[3]]


def test_more_than_one_transaction_can_trim(server):
    for i in range(100):
        assert server.post(REVISIONS, revision(f"r{i:03}", i, {"x": i}, ANNALS, ownerReferences=[owner("web")])).status == 201
    rehearsed = snapshot(server, {"x": "new"}, query="?dryRun=All", historyLimit=3)
    assert len(rehearsed["trimmed"]) == 97 and len(history(server)) == 100
    made = snapshot(server, {"x": "new"}, historyLimit=3)
    assert outcome(made) == ("Created", 100, 97) and made["trimmed"] == [f"r{i:03}" for i in range(97)]
    assert [number for number, _ in history(server)] == [97, 98, 99, 100]


def test_revisions_of_upstream_s_version_are_history_too(server):
    assert server.post(revisions(), revision("a", 7, {"x": 1}, APPS, ownerReferences=[owner("web")])).status == 201
    assert snapshot(server, {"x": 1.0}) == {"result": "Unchanged", "revision": {"name": "a", "revision": 7}}
    assert outcome(snapshot(server, {"x": 2})) == ("Created", 8, 0)


def test_state_that_is_being_deleted_is_waited_for(server):
    name = snapshot(server, {"x": 1})["revision"]["name"]
    server.patch(f"{REVISIONS}/{name}", {"metadata": {"finalizers": ["example.com/hold"]}})
    server.delete(f"{REVISIONS}/{name}")
    refused = server.post(SNAPSHOTS, body({"x": 1}))
    assert refused.status == 409 and f'"{name}" holds this state and is being deleted' in refused.json["message"]
    server.patch(f"{REVISIONS}/{name}", {"metadata": {"finalizers": None}})
    assert outcome(snapshot(server, {"x": 1})) == ("Created", 1, 0)


def test_no_number_above_the_highest(server):
    last = 2**63 - 1
    assert server.post(REVISIONS, revision("a", last, {"x": 1}, ANNALS, ownerReferences=[owner("web")])).status == 201
    assert outcome(snapshot(server, {"x": 1})) == ("Unchanged", last, 0)
    assert server.post(SNAPSHOTS, body({"x": 2})).status == 409


# seeds: H16
def test_many_snapshots_of_one_state_make_one_revision(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]
    for state in range(5):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda i: snapshot(servers[i % 2], {"x": state}), range(200)))
        assert [status["result"] for status in seen].count("Created") == 1
        assert {status["result"] for status in seen} == {"Created", "Unchanged"}
        assert len({status["revision"]["name"] for status in seen}) == 1
    assert [number for number, _ in history(servers[0])] == [1, 2, 3, 4, 5]


def test_many_snapshots_of_many_states_keep_order_and_limit(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda i: snapshot(servers[i % 2], {"x": i % 7}, historyLimit=3), range(200)))
    given = [status["revision"]["revision"] for status in seen if status["result"] != "Unchanged"]
    assert sorted(given) == list(range(1, len(given) + 1))  # each number once
    assert len(history(servers[0])) <= 4 and history(servers[0])[-1][0] == max(given)


def test_transaction_is_seen_as_one(server):
    """Everything that a snapshot does has one resourceVersion."""
    first = snapshot(server, {"x": 1}, historyLimit=0)["revision"]["name"]
    version = server.get(REVISIONS).json["metadata"]["resourceVersion"]
    second = snapshot(server, {"x": 2}, historyLimit=0)["revision"]["name"]
    with server.watch(f"{REVISIONS}?watch=1&resourceVersion={version}") as watch:
        events = [watch.next(), watch.next()]
    assert {(event["type"], event["object"]["metadata"]["name"]) for event in events} == {("DELETED", first), ("ADDED", second)}
    assert len({event["object"]["metadata"]["resourceVersion"] for event in events}) == 1


# ---- what leads from one revision to another ----

def diff(server, name, other, accept=None, query="", api_version=ANNALS):
    return server.get(f"{revisions(api_version=api_version)}/{name}/diff?from={other}{query}", headers={"Accept": accept} if accept else {})


@pytest.fixture
def pair(server):
    old = snapshot(server, {"image": "nginx:1", "env": [{"n": "A", "v": 1}], "gone": True})["revision"]["name"]
    new = snapshot(server, {"image": "nginx:2", "env": [{"n": "A", "v": 1}, {"n": "B", "v": 2}]})["revision"]["name"]
    return old, new


OPERATIONS = [{"op": "add", "path": "/env/1", "value": {"n": "B", "v": 2}}, {"op": "remove", "path": "/gone"},
              {"op": "replace", "path": "/image", "value": "nginx:2"}]
MERGED = {"image": "nginx:2", "env": [{"n": "A", "v": 1}, {"n": "B", "v": 2}], "gone": None}


@pytest.mark.parametrize("accept, kind, expected", [
    (None, "application/json", OPERATIONS), ("application/json", "application/json", OPERATIONS),
    ("application/json-patch+json", "application/json-patch+json", OPERATIONS),
    ("application/merge-patch+json, application/json;q=0.5", "application/merge-patch+json", MERGED)])
@pytest.mark.parametrize("api_version", [ANNALS, "annals.dev/v1beta1"])
def test_difference_is_a_patch_in_the_form_that_is_accepted(server, pair, api_version, accept, kind, expected):
    answer = diff(server, pair[1], pair[0], accept, api_version=api_version)
    assert (answer.status, answer.headers["Content-Type"], answer.json) == (200, kind, expected)
    assert diff(server, pair[0], pair[0]).json == []


HUNKS = "application/vnd.annals.hunks+json"


def lines(answer):
    """Those of all hunks, as diff -u shows them, each with its path."""
    assert (answer.status, answer.headers["Content-Type"]) == (200, HUNKS), answer
    return [(line["op"] + line["text"], line["path"]) for hunk in answer.json["hunks"] for line in hunk["lines"]]


@pytest.mark.parametrize("api_version", [ANNALS, "annals.dev/v1beta1"])
def test_difference_is_shown_line_by_line(server, pair, api_version):
    answer = diff(server, pair[1], pair[0], HUNKS, api_version=api_version)
    assert lines(answer) == [
        (" env:", "/env"), (' - "n": A', "/env/0/n"), ("   v: 1", "/env/0/v"), ("-gone: true", "/gone"), ("-image: nginx:1", "/image"),
        ('+- "n": B', "/env/1/n"), ("+  v: 2", "/env/1/v"), ("+image: nginx:2", "/image")]
    told = answer.json
    assert (told["apiVersion"], told["kind"], told["from"], told["to"]) == (ANNALS, "Hunks", *pair)
    assert (told["fromLines"], told["toLines"]) == (5, 6) and [(h["from"], h["to"]) for h in told["hunks"]] == [(1, 1)]
    assert diff(server, pair[0], pair[0], HUNKS).json["hunks"] == []


def test_difference_shows_as_many_lines_around_as_are_wanted(server):
    names = [snapshot(server, {"l": [*range(20), last]})["revision"]["name"] for last in ("a", "b")]
    for context, number in (("0", 2), ("1", 3), ("", 5), ("7", 9), ("20", 22), ("1000000", 23), ("all", 23)):
        answer = diff(server, names[1], names[0], HUNKS, f"&context={context}")
        assert len(lines(answer)) == number, context
        assert answer.json["hunks"][0]["from"] == 24 - number, context
    for context in ("-1", "1000001", "3x", "ALL"):
        answer = diff(server, names[1], names[0], HUNKS, f"&context={context}")
        assert answer.status == 400 and answer.json["message"] == "context must be a number from 0 to 1000000, or all"


def test_difference_shows_text_of_any_kind(server):
    """Nothing of it is lost, and nothing is obeyed by who shows it."""
    evil = {"a/b": {"~": "</script>\u2028\u202e"}, "text": "one\n<script>\n", "e\u001b": "\x9b"}
    names = [snapshot(server, data)["revision"]["name"] for data in ({}, evil)]
    seen = lines(diff(server, names[1], names[0], HUNKS))
    assert {path for _, path in seen} == {"", "/a~1b", "/a~1b/~0", "/text", "/e\x1b"}
    assert ("+  <script>", "/text") in seen and ('+  "~": "</script>\\L\\u202e"', "/a~1b/~0") in seen
    assert not any(ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in "\u2028\u202e" for text, _ in seen for c in text)


def test_difference_that_cannot_be_shown_line_by_line(server):
    """Little JSON is much YAML where it is nested deeply: each line is indented."""
    deep = [{"m": i} for i in range(30_000)]
    for _ in range(300):
        deep = {"d": deep}
    for name, data in (("deep", deep), ("flat", {"d": 1})):
        assert server.post(REVISIONS, revision(name, 1, data, ANNALS)).status == 201
    refused = diff(server, "deep", "flat", HUNKS)
    assert refused.status == 422 and 'difference of controllerrevisions "flat" and "deep" is too large' in refused.json["message"]
    assert diff(server, "deep", "flat").status == 200


def test_difference_of_big_revisions_line_by_line(server):
    """Many lines of which a few come and go; and nothing but differences."""
    many = [f"line {i} of a text that is long enough" for i in range(34_000)]
    other = [*many[:100], "new", *many[200:20_000], "changed", *many[20_001:]]
    for name, data in (("a", {"f": "\n".join(many)}), ("b", {"f": "\n".join(other)}), ("c", {"l": [0] * 50_000}), ("d", {"l": [1] * 50_000})):
        assert server.post(REVISIONS, revision(name, 1, data, ANNALS)).status == 201
    shown = [text for text, _ in lines(diff(server, "b", "a", HUNKS))]
    assert sum(text[0] == "-" for text in shown) == 101 and [text.strip() for text in shown if text[0] == "+"] == ["+  new", "+  changed"]
    assert len(lines(diff(server, "d", "c", HUNKS))) == 100_001


def test_difference_that_cannot_be_answered(server, pair):
    for name, other, absent in (("absent", pair[0], "absent"), (pair[0], "missing", "missing")):
        answer = diff(server, name, other)
        assert answer.status == 404 and answer.json["message"] == f'controllerrevisions.annals.dev "{absent}" not found'
    assert server.get(f"{REVISIONS}/{pair[0]}/diff").status == 400
    refused = diff(server, *pair, accept="text/html")
    assert refused.status == 406 and HUNKS in refused.json["message"]
    assert server.put(f"{REVISIONS}/{pair[0]}/diff", {}).status == 405
    assert diff(server, *pair, api_version=APPS).status == 404
    null = snapshot(server, {"a": 1, "b": [{"c": None}]})["revision"]["name"]
    assert diff(server, null, pair[0], "application/merge-patch+json").status == 406
    assert diff(server, null, pair[0], "application/json-patch+json").status == 200


def test_difference_of_big_revisions_replaces_the_whole(server):
    """Each is nearly as big as an object may be; its paths, one by one, would be as many gigabytes as it has members below a long name."""
    deep = "/" * 400_000
    for name, data in (("a", {deep: {f"m{i}": 0 for i in range(20_000)}}), ("b", {deep: {f"m{i}": 1 for i in range(20_000)}}),
                       ("c", {"l": [0] * 780_000}), ("d", {"l": [1] * 780_000})):
        assert server.post(REVISIONS, revision(name, 1, data, ANNALS)).status == 201
    for name, other in (("b", "a"), ("d", "c")):
        answer = diff(server, name, other)
        assert answer.status == 200 and [(op["op"], op["path"]) for op in answer.json] == [("replace", "")]


def test_rights_to_take_snapshots_are_enough_and_no_others(serve, store, folder):
    rule = processes.policy_rule(user="alice", namespace="default", apiGroup="annals.dev", resource="snapshots")
    server = serve(store.endpoint, *processes.user_flags(folder, ["alices,alice,1"], [rule]))
    alice = processes.Client(server.url, server.ca, token="alices")
    old, new = (snapshot(alice, {"x": i}, historyLimit=1)["revision"]["name"] for i in range(2))
    assert diff(alice, new, old).status == alice.get(REVISIONS).status == 403
    assert snapshot(alice, {"x": 0}, historyLimit=0)["trimmed"] == [new]


def test_discovery_and_openapi_show_the_difference_and_snapshots(server):
    resources = {r["name"]: r for r in server.get("/apis/annals.dev/v1").json["resources"]}
    assert resources["controllerrevisions/diff"]["verbs"] == ["get"] and resources["snapshots"]["verbs"] == ["create"]
    assert "controllerrevisions/diff" not in {r["name"] for r in server.get("/apis/apps/v1").json["resources"]}
    paths = server.get("/openapi/v3/apis/annals.dev/v1").json["paths"]
    path = paths["/apis/annals.dev/v1/namespaces/{namespace}/controllerrevisions/{name}/diff"]
    assert {"application/merge-patch+json", HUNKS} <= set(path["get"]["responses"]["200"]["content"])
    assert {"from", "context"} <= {parameter["name"] for parameter in path["parameters"]}
    assert {"get", "post", "delete"} & set(paths["/apis/annals.dev/v1/namespaces/{namespace}/snapshots"]) == {"post"}


def test_kubectl_takes_snapshots_and_shows_differences(annals, namespace, kubectl_binary):
    def take(image):
        sent = json.dumps({"apiVersion": ANNALS, "kind": "Snapshot", **body({"image": image}, metadata={"name": "web", "namespace": namespace})})
        done = annals.kubectl("create", "--validate=false", "-o", "jsonpath={.status}", "-f", "-", input=sent, binary=kubectl_binary)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["revision"]["name"]

    old, new = take("nginx:1"), take("nginx:2")
    done = annals.kubectl("get", "--raw", f"{revisions(namespace, ANNALS)}/{new}/diff?from={old}", binary=kubectl_binary)
    assert json.loads(done.stdout) == [{"op": "replace", "path": "/image", "value": "nginx:2"}]


# ---- a server that is killed in between ----


def test_history_and_index_are_whole_after_a_kill(serve, store):
    servers = [serve(store.endpoint), serve(store.endpoint)]
    answered = []

    def attempt(i):
        if i == 150:
            servers[1].kill()
        try:
            answered.append(snapshot(servers[i % 2], {"x": i % 9}, by=f"o{i % 3}", historyLimit=2))
        except (OSError, http.client.HTTPException):
            assert i % 2  # of the one that is killed

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, range(400)))
    assert len(answered) >= 200
    found = servers[0].get(REVISIONS).json["items"]
    expected = set()
    for by in range(3):
        mine = [item for item in found if item["metadata"]["ownerReferences"][0]["uid"] == f"uid-of-o{by}"]
        assert 1 <= len(mine) <= 3
        assert len({item["revision"] for item in mine}) == len({item["data"]["x"] for item in mine}) == len(mine)
        for item in mine:
            below = f"/annals/history/default/uid-of-o{by}/"
            name, digest = item["metadata"]["name"], item["metadata"]["annotations"]["annals.dev/digest"]
            expected |= {f"{below}digest/{digest}/{name}", f"{below}number/{item['revision']}/{name}"}
    assert set(store.ctl("get", "--prefix", "/annals/history/", "--keys-only").split()) == expected

# ---- watches ----


def read_all(answer):
    """[(type, object, place behind it)] of a watch that has ended."""
    if not answer.headers["Content-Type"].startswith(PROTOBUF):
        ends = itertools.accumulate(len(line) for line in answer.body.splitlines(keepends=True))
        return [(event["type"], event["object"], end) for event, end in zip(map(json.loads, answer.body.splitlines()), ends)]
    stream = io.BytesIO(answer.body)
    return [(kind, decoded(body), stream.tell()) for kind, body in frames(stream.read)]


def trim(server):
    for n in range(6):
        snapshot(server, {"x": n})
    version = server.get(REVISIONS).json["metadata"]["resourceVersion"]
    assert len(snapshot(server, {"x": 9}, historyLimit=2)["trimmed"]) == 4
    return version


def delete_all(server):
    """As the namespace controller does it at the end of a namespace."""
    for n in range(6):
        server.post(revisions(), revision(f"r{n}"))
    version = server.get(REVISIONS).json["metadata"]["resourceVersion"]
    assert server.delete(revisions()).status == 200
    return version


@pytest.mark.parametrize("form", ["application/json", PROTOBUF])
@pytest.mark.parametrize("happens", [trim, delete_all])
def test_a_watch_that_is_cut_anywhere_and_resumed_misses_nothing(server, happens, form):
    """What its client has seen depends on the byte at which the connection broke. It resumes at the last resourceVersion that it has seen."""
    for n in range(3):
        server.post(revisions(), revision(f"before-{n}"))
    start = happens(server)
    server.post(revisions(), revision("after"))
    there = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in server.get(revisions()).json["items"]}

    def watch(version):
        answer = server.get(f"{revisions()}?watch=1&timeoutSeconds=1&resourceVersion={version}", headers={"Accept": form})
        return answer, read_all(answer)

    whole, events = watch(start)
    everything = {(kind, body["metadata"]["name"], body["metadata"]["resourceVersion"]) for kind, body, _ in events}
    assert len(everything) == len(events) >= 6, "nothing comes twice without a break"
    resumed = {}
    for cut in range(len(whole.body) + 1):
        seen = [(kind, body) for kind, body, end in events if end <= cut]
        version = seen[-1][1]["metadata"]["resourceVersion"] if seen else start
        if version not in resumed:
            resumed[version] = [(kind, body) for kind, body, _ in watch(version)[1]]
        told = seen + resumed[version]
        assert {(kind, body["metadata"]["name"], body["metadata"]["resourceVersion"]) for kind, body in told} == everything, f"cut at byte {cut}"
        # As a reflector does it.
        state = {}
        for kind, body in told:
            state[body["metadata"]["name"]] = None if kind == "DELETED" else body["metadata"]["resourceVersion"]
        assert {name: version for name, version in state.items() if version} == {name: there[name] for name in there if name in state}, f"cut at byte {cut}"
