"""What is promised about a ControllerRevision's data: nobody changes it, and it comes back as it was sent, byte for byte."""

import json

import pytest

from objects import ANNALS, APPLY, APPS, BETA, API_VERSIONS, JSON_PATCH, MERGE, STRATEGIC, owner, revision, revisions

EXACT = (r'{"fraction":0.1,"exponent":1e3,"Exponent":1.50E+2,"zero":-0,"one":1.0,"slash":"a\/b","beyond64":18446744073709551616,'
         r'"digits23":12345678901234567890123,"twice":1,"twice":2,"escapes":"\u00e9\ud83d\ude00\u003c\t\n","raw":"é😀",'
         r'"nul":"\u0000","half":"\ud800","null":null,"empty":{},"list":[[],{},1.0,null]}')
SENT = '{"apiVersion":"VERSION","kind":"ControllerRevision","metadata":{"name":"a"},"revision":1,"data":DATA}'


def other(api_version):
    return APPS if api_version == ANNALS else ANNALS


def data_in(text):
    return text.partition('"data":')[2].rpartition(',"revision":')[0]


def data_of(answer):
    """The data's bytes within an answer."""
    assert answer.status < 300, answer
    return data_in(answer.text)


@pytest.fixture(params=API_VERSIONS)
def api_version(request):
    return request.param


@pytest.fixture
def stored(annals, namespace, api_version):
    """The path of a revision with data that is hard to keep."""
    made = annals.post(revisions(namespace, api_version), SENT.replace("VERSION", api_version).replace("DATA", EXACT))
    assert data_of(made) == EXACT
    return revisions(namespace, api_version) + "/a"


def everywhere(annals, namespace):
    """The data's bytes as each API version shows them, alone and in a list."""
    paths = [revisions(namespace, api_version) for api_version in (APPS, ANNALS, BETA)]
    found = {data_of(annals.get(path + "/a")) for path in paths}
    return found | {data_of(annals.get(path)) for path in paths}


# ---- byte for byte ----


def relabel_by_put(annals, path):
    return annals.put(path, annals.get(path).text.replace('"metadata":{', '"metadata":{"labels":{"n":"m"},', 1).encode())


def relabel_by_put_of_what_a_client_understood(annals, path):
    """Numbers through floating point, duplicates gone, escapes resolved: what most clients make of JSON."""
    o = annals.get(path).json
    for name in ("beyond64", "digits23"):
        o["data"][name] = int(o["data"][name])
    o["metadata"]["labels"] = {"n": "m"}
    return annals.put(path, json.dumps(o))


RELABELLINGS = {
    "put": relabel_by_put,
    "put-understood": relabel_by_put_of_what_a_client_understood,
    "merge": lambda annals, path: annals.patch(path, {"metadata": {"labels": {"n": "m"}}}),
    "strategic": lambda annals, path: annals.patch(path, {"metadata": {"labels": {"n": "m"}}}, kind=STRATEGIC),
    "json": lambda annals, path: annals.patch(path, [{"op": "add", "path": "/metadata/labels", "value": {"n": "m"}}], kind=JSON_PATCH),
    "json-that-looks-at-data": lambda annals, path: annals.patch(
        path, [{"op": "test", "path": "/data/fraction", "value": 0.1}, {"op": "add", "path": "/metadata/labels", "value": {"n": "m"}}], kind=JSON_PATCH),
    "apply": lambda annals, path: annals.patch(
        path + "?fieldManager=tests", {"apiVersion": path.split("/namespaces")[0][6:], "kind": "ControllerRevision",
                                       "metadata": {"name": "a", "labels": {"n": "m"}}}, kind=APPLY),
}


# seeds: H10
def test_every_version_shows_the_same_bytes(annals, namespace, stored):
    assert everywhere(annals, namespace) == {EXACT}


@pytest.mark.parametrize("relabel", RELABELLINGS.values(), ids=RELABELLINGS.keys())
def test_bytes_survive_a_new_label_through_the_same_version(annals, namespace, stored, relabel):
    changed = relabel(annals, stored)
    assert data_of(changed) == EXACT
    assert changed.json["metadata"]["labels"] == {"n": "m"}
    assert everywhere(annals, namespace) == {EXACT}


@pytest.mark.parametrize("relabel", RELABELLINGS.values(), ids=RELABELLINGS.keys())
def test_bytes_survive_a_new_label_through_the_other_version(annals, namespace, api_version, stored, relabel):
    changed = relabel(annals, revisions(namespace, other(api_version)) + "/a")
    assert data_of(changed) == EXACT
    assert everywhere(annals, namespace) == {EXACT}


def test_watchers_see_the_same_bytes(annals, namespace, stored):
    path = stored.rpartition("/")[0]
    with annals.watch(path + "?watch=1") as watch:
        assert data_in(watch.response.readline().decode()) == EXACT
        RELABELLINGS["merge"](annals, stored)
        assert data_in(watch.response.readline().decode()) == EXACT


def test_blanks_go_and_html_is_escaped_as_kubernetes_does(annals, namespace, api_version):
    data = '{ "b" : 1,\n  "a": [ 1 , "<&>" ] }'
    made = annals.post(revisions(namespace, api_version), SENT.replace("VERSION", api_version).replace("DATA", data))
    assert data_of(made) == r'{"b":1,"a":[1,"\u003c\u0026\u003e"]}'


def test_data_may_come_as_yaml(annals, namespace, api_version):
    text = f"apiVersion: {api_version}\nkind: ControllerRevision\nmetadata: {{name: a}}\nrevision: 1\ndata:\n  big: 12345678901234567890123\n  s: é\n"
    made = annals.post(revisions(namespace, api_version), text, headers={"Content-Type": "application/yaml"})
    assert made.status == 201
    assert made.json["data"]["s"] == "é"


# ---- immutable ----

CHANGES = {
    "other-value": {"image": "nginx:2", "size": 1},
    "member-more": {"image": "nginx:1", "size": 1, "x": None},
    "member-less": {"image": "nginx:1"},
    "empty": {},
    "list": [],
    "string": "nginx:1",
    "null": None,
}


def send(annals, path, how, data):
    """One way of asking for other data."""
    current = annals.get(path).json
    body = {**current, "data": data}
    if how == "put":
        return annals.put(path, body)
    if how == "apply":
        del body["metadata"]["managedFields"], body["metadata"]["resourceVersion"]
        return annals.patch(path + "?fieldManager=tests&force=true", body, kind=APPLY)
    return annals.patch(path, [{"op": "replace", "path": "/data", "value": data}], kind=JSON_PATCH)


@pytest.fixture
def plain(annals, namespace, api_version):
    made = annals.post(revisions(namespace, api_version), revision(api_version=api_version, data={"image": "nginx:1", "size": 1}))
    assert made.status == 201
    return revisions(namespace, api_version) + "/a"


def assert_immutable(answer):
    assert answer.status == 422, answer
    status = answer.json
    assert (status["reason"], status["details"]["kind"], status["details"]["name"]) == ("Invalid", "ControllerRevision", "a")
    causes = {(cause["reason"], cause["field"]) for cause in status["details"]["causes"]}
    assert causes == {("FieldValueInvalid", "data")}
    assert all(cause["message"].endswith(": field is immutable") for cause in status["details"]["causes"])


# seeds: H5 H11 H52
@pytest.mark.parametrize("how", ["put", "json", "apply"])
@pytest.mark.parametrize("data", CHANGES.values(), ids=CHANGES.keys())
def test_other_data_is_refused(annals, plain, how, data):
    before = annals.get(plain).body
    answer = send(annals, plain, how, data)
    assert_immutable(answer)
    assert annals.get(plain).body == before


def test_difference_beyond_floating_point_is_a_difference(annals, namespace, api_version):
    sent = SENT.replace("VERSION", api_version)
    assert annals.post(revisions(namespace, api_version), sent.replace("DATA", '{"n":9007199254740993}')).status == 201
    assert_immutable(annals.put(revisions(namespace, api_version) + "/a", sent.replace("DATA", '{"n":9007199254740992}')))
    assert_immutable(annals.put(revisions(namespace, api_version) + "/a", sent.replace("DATA", '{"n":9007199254740993.0000000000000000001}')))
    assert annals.put(revisions(namespace, api_version) + "/a", sent.replace("DATA", '{"n":9.007199254740993e15}')).status == 200
    assert data_of(annals.get(revisions(namespace, api_version) + "/a")) == '{"n":9007199254740993}'


# seeds: H5 H11
@pytest.mark.parametrize("kind, patch", [
    (MERGE, {"data": {"image": "nginx:2"}}),
    (MERGE, {"data": {"image": None}}),
    (MERGE, {"data": None}),
    (MERGE, {"data": 1}),
    (STRATEGIC, {"data": {"image": "nginx:2"}}),
    (STRATEGIC, {"data": None}),
    (STRATEGIC, {"data": {"$patch": "replace", "x": 1}}),
    (JSON_PATCH, [{"op": "replace", "path": "/data/image", "value": "nginx:2"}]),
    (JSON_PATCH, [{"op": "remove", "path": "/data/size"}]),
    (JSON_PATCH, [{"op": "remove", "path": "/data"}]),
    (JSON_PATCH, [{"op": "add", "path": "/data/x", "value": None}]),
    (JSON_PATCH, [{"op": "copy", "from": "/metadata/name", "path": "/data/name"}]),
    (JSON_PATCH, [{"op": "move", "from": "/data/image", "path": "/data/picture"}]),
])
def test_patch_of_data_is_refused(annals, plain, kind, patch):
    before = annals.get(plain).body
    assert_immutable(annals.patch(plain, patch, kind=kind))
    assert annals.get(plain).body == before


def test_patch_that_ends_where_it_began_is_none(annals, plain):
    before = annals.get(plain).body
    patch = [{"op": "add", "path": "/data/x", "value": 1}, {"op": "remove", "path": "/data/x"}]
    assert annals.patch(plain, patch, kind=JSON_PATCH).status == 200
    assert annals.get(plain).body == before


def test_apply_without_data_that_it_owned_is_refused(annals, namespace, api_version):
    path = revisions(namespace, api_version) + "/a?fieldManager=tests"
    assert annals.patch(path, revision(api_version=api_version), kind=APPLY).status == 201
    without = {key: value for key, value in revision(api_version=api_version).items() if key != "data"}
    assert_immutable(annals.patch(path, without, kind=APPLY))


@pytest.mark.parametrize("metadata", [{"uid": "x"}, {"uid": "x", "name": "b"}, {"uid": "x", "name": "a", "namespace": "elsewhere"}])
def test_apply_with_the_uid_of_what_is_gone_is_a_conflict(annals, namespace, api_version, metadata):
    """Whatever else it says: migrators of storage versions send nothing but the uid."""
    answer = annals.patch(revisions(namespace, api_version) + "/a?fieldManager=tests",
                          {"apiVersion": api_version, "kind": "ControllerRevision", "metadata": metadata}, kind=APPLY)
    assert (answer.status, answer.json["reason"]) == (409, "Conflict")
    assert answer.json["message"].endswith('"a": uid mismatch: the provided object specified uid x, and no existing object was found')


@pytest.mark.parametrize("how", ["put", "json", "apply"])
def test_same_data_in_other_words_are_accepted(annals, plain, how):
    before = annals.get(plain).json
    answer = send(annals, plain, how, {"size": 1.0, "image": "nginx:1"})
    assert answer.status == 200, answer
    assert answer.json["data"] == before["data"]
    assert data_of(answer) == '{"image":"nginx:1","size":1}'


def test_refused_dry_run_is_refused_too(annals, plain):
    assert_immutable(annals.patch(plain + "?dryRun=All", {"data": {"image": "nginx:2"}}))


# seeds: H10 H11
def test_everything_else_may_change(annals, plain):
    changed = annals.patch(plain, {"revision": 7, "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/x"]}})
    assert changed.status == 200
    assert changed.json["revision"] == 7
    assert annals.patch(plain, {"metadata": {"finalizers": None}}).status == 200


# ---- one controller ----


def controllers(*names):
    return [owner(name) for name in names]


def assert_one_controller(answer):
    assert answer.status == 422, answer
    assert "Only one reference can have Controller set to true" in answer.json["message"]
    assert "metadata.ownerReferences" in {cause["field"] for cause in answer.json["details"]["causes"]}


# seeds: R7
def test_second_controller_is_refused_on_creation(annals, namespace, api_version):
    assert_one_controller(annals.post(revisions(namespace, api_version), revision(api_version=api_version, ownerReferences=controllers("x", "y"))))


# seeds: R7 R14
@pytest.mark.parametrize("kind, patch", [
    (MERGE, {"metadata": {"ownerReferences": controllers("x", "y")}}),
    (STRATEGIC, {"metadata": {"ownerReferences": controllers("y")}}),
    (JSON_PATCH, [{"op": "add", "path": "/metadata/ownerReferences/-", "value": controllers("y")[0]}]),
    (APPLY, {"kind": "ControllerRevision", "metadata": {"name": "a", "ownerReferences": controllers("y")}}),
])
def test_loser_of_an_adoption_race_is_refused(annals, namespace, api_version, kind, patch):
    assert annals.post(revisions(namespace, api_version), revision(api_version=api_version, ownerReferences=controllers("x"))).status == 201
    if kind == APPLY:
        patch = {**patch, "apiVersion": api_version}
    answer = annals.patch(revisions(namespace, api_version) + "/a" + ("?fieldManager=tests" if kind == APPLY else ""), patch, kind=kind)
    assert_one_controller(answer)
    assert annals.get(revisions(namespace, api_version) + "/a").json["metadata"]["ownerReferences"] == controllers("x")


# seeds: R6
def test_owners_that_control_nothing_are_as_many_as_wanted(annals, namespace, api_version):
    owners = [owner("x"), owner("y", controller=False), owner("z", controller=False)]
    assert annals.post(revisions(namespace, api_version), revision(api_version=api_version, ownerReferences=owners)).status == 201
