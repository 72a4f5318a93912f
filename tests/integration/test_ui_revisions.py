"""The page's data about an object's revisions, and how two of them differ: of any kind, recorded or the object's own."""

import os

import pytest

import processes
from gate import Gate
from recorded import V1, Recorded, redacted
from ui_page import Page, lines

APPS = "/apis/apps/v1"


@pytest.fixture
def page(annals, namespace):
    return Page(env=annals.kubectl_env(), namespace=namespace)


@pytest.fixture
def settings(annals, namespace):
    """Red, green, blue."""
    it = Recorded(annals, namespace, "ConfigMap", "settings", managers=["kubectl"])
    it.make(data={"color": "red", "size": "1"})
    it.patch({"data": {"color": "green"}}, paths=["/data/color"], managers=["alice"])
    it.patch({"data": {"color": "blue", "size": None}}, paths=["/data/color", "/data/size"], cause="a colder one")
    return it


def own(owner):
    return [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "controller": True}]


def make(server, path, **body):
    made = server.post(path, body)
    assert made.status == 201, made
    return made.json


def test_revisions_are_those_of_the_history(page, settings, namespace):
    told = page.get("revisions", type="configmap", namespace=namespace, name="settings")
    assert told.status == 200 and told.headers["Content-Type"] == "application/json", told
    assert told.json["source"] == "history"
    items = told.json["items"]
    assert [(item["number"], item["by"], item["cause"], item["isCurrent"]) for item in items] == [
        (1, "kubectl (manager)", "", False), (2, "alice (manager)", "", False), (3, "kubectl (manager)", "a colder one", True)]
    assert all(item["name"] and item["time"].endswith("Z") for item in items)
    settings.delete()
    assert page.get("revisions", type="cm", name="settings").json["items"][-1]["isCurrent"], "in the namespace of the page; also of what is gone"


def test_revisions_are_the_objects_own_where_nothing_was_recorded(page, annals, namespace):
    owner = make(annals, f"/api/v1/namespaces/{namespace}/configmaps", metadata={"name": "plain"}, data={"a": "1"})
    assert page.get("revisions", type="configmap", name="plain").json == {"items": [], "source": "own"}
    for number in (1, 2):
        make(annals, f"{V1}/namespaces/{namespace}/controllerrevisions", revision=number, data={"data": {"a": str(number)}}, metadata={
            "name": f"plain-{number}", "ownerReferences": own(owner), "annotations": {"kubernetes.io/change-cause": f"cause {number}"}})
    told = page.get("revisions", type="configmap", name="plain").json
    assert told["source"] == "own"
    assert [(item["number"], item["name"], item["cause"], item["by"], item["isCurrent"]) for item in told["items"]] == [
        (1, "plain-1", "cause 1", "", False), (2, "plain-2", "cause 2", "", True)]
    difference = page.get("diff", type="configmap", name="plain", from_="1", to="2").json
    assert lines(difference) == [('-  a: "1"', "/data/a"), ('+  a: "2"', "/data/a")] and difference["from"] == "plain-1"


def test_own_revisions_of_what_is_recorded_too(page, settings, annals, namespace):
    make(annals, f"{V1}/namespaces/{namespace}/controllerrevisions", revision=7, data={"data": {}},
         metadata={"name": "own-7", "ownerReferences": own(settings.get())})
    told = page.get("revisions", type="configmap", name="settings", own="true").json
    assert (told["source"], [item["number"] for item in told["items"]]) == ("own", [7])


def test_difference_of_two(page, settings, annals, namespace):
    difference = page.get("diff", type="configmap", namespace=namespace, name="settings", from_="1", to="3")
    assert difference.status == 200, difference
    assert lines(difference.json) == [("-  color: red", "/data/color"), ('-  size: "1"', "/data/size"), ("+  color: blue", "/data/color")]
    names = [item["name"] for item in page.get("revisions", type="configmap", name="settings").json["items"]]
    servers = annals.get(f"{V1}/namespaces/{namespace}/controllerrevisions/{names[2]}/diff?from={names[0]}",
                         headers={"Accept": "application/vnd.annals.hunks+json"})
    assert servers.json == difference.json, "the same, to the letter"


def test_difference_with_more_around(page, settings):
    few = page.get("diff", type="cm", name="settings", from_="1", to="2", context="0").json["hunks"]
    assert [len(hunk["lines"]) for hunk in few] == [2]
    [everything] = page.get("diff", type="cm", name="settings", from_="1", to="2", context="all").json["hunks"]
    assert len(everything["lines"]) == 9 and everything["lines"][0]["text"] == "apiVersion: v1"
    assert "context must be a number" in page.get("diff", type="cm", name="settings", from_="1", to="2", context="x").json["message"]


def test_difference_to_nothing_is_all_of_it(page, settings):
    whole = page.get("diff", type="cm", name="settings", to="1").json
    assert (whole["fromLines"], whole["from"]) == (0, "") and len(lines(whole)) == whole["toLines"] == 8
    assert page.get("diff", type="cm", name="settings", from_="1", to="1").json["hunks"] == []


def test_redacted_values_stay_so(page, annals, namespace):
    it = Recorded(annals, namespace, "Secret", "keys", managers=["kubectl"])
    for value in ("b25l", "dHdv"):
        hidden = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": namespace}, "data": {"k": redacted(value)}}
        if value == "b25l":
            make(annals, it.collection, metadata={"name": "keys"}, data={"k": value})
            it.take("Created", state=hidden)
        else:
            it.alter({"data": {"k": value}})
            it.take(state=hidden)
    difference = page.get("diff", type="secret", name="keys", from_="1", to="2")
    assert len(lines(difference.json)) == 2 and "b25l" not in difference.text and "dHdv" not in difference.text


@pytest.mark.parametrize("query, status, said", [
    ({"type": "configmap", "name": "absent"}, 404, 'configmaps "absent" not found'), ({"type": "nothing", "name": "x"}, 422, "resource type"),
    ({"type": "configmap"}, 422, "is not TYPE/NAME"), ({}, 422, "is not TYPE/NAME"),
    *(({"type": "cm", "name": "x", **wrong}, 422, "this is not the name of an object") for wrong in (
        {"name": "a/b"}, {"name": ".."}, {"name": "."}, {"name": "a\0b"}, {"namespace": ".."}, {"namespace": "../.."}))])
def test_what_is_not_there_is_said(page, query, status, said):
    for path in ("revisions", "diff"):
        refused = page.get(path, **query)
        assert refused.status == status and said in refused.json["message"], refused
        assert refused.json["kind"] == "Status"


@pytest.mark.parametrize("query", [{"from_": "1"}, {"from_": "1", "to": "9"}, {"from_": "9", "to": "1"}, {"from_": "-1", "to": "1"},
                                   {"from_": "x", "to": "1"}, {"from_": "1", "to": "99999999999999999999"}])
def test_revisions_that_are_not_there_are_said(page, settings, query):
    refused = page.get("diff", type="cm", name="settings", **query)
    assert refused.status == 422 and "revision" in refused.json["message"], refused


def test_revisions_need_a_session(page, settings):
    for path in ("revisions?type=cm&name=settings", "diff?type=cm&name=settings&from=1&to=2"):
        assert page.request("GET", path, has_session=False).status == 401
        assert page.request("GET", path, headers={"X-Annals-Session": "0" * 64}).status == 401
        assert page.request("POST", path, "").status == 405


def test_revisions_are_asked_for_as_the_user(annals, namespace, settings):
    """A user who may not read them gets a message."""
    page = Page("--as=nobody", env=annals.kubectl_env(), namespace=namespace)
    refused = page.get("revisions", type="cm", name="settings")
    assert refused.status == 403 and 'User "nobody" cannot' in refused.json["message"], refused


def test_revisions_of_a_statefulset_are_its_own(page, annals, namespace):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    owner = make(annals, f"{APPS}/namespaces/{namespace}/statefulsets", metadata={"name": "web"}, spec={
        "serviceName": "web", "replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template})
    for number in (1, 2):
        data = {"spec": {"template": {**template, "$patch": "replace", "spec": {"containers": [{"name": "c", "image": f"i:{number}"}]}}}}
        make(annals, f"{APPS}/namespaces/{namespace}/controllerrevisions", revision=100 + number, data=data,
             metadata={"name": f"mine-{number}", "ownerReferences": own(owner)})
    told = page.get("revisions", type="statefulset.apps", name="web", own="true").json
    assert {"mine-1", "mine-2"} <= {item["name"] for item in told["items"]}
    difference = page.get("diff", type="sts", name="web", own="true", from_="101", to="102").json
    assert lines(difference) == [("-      - image: i:1", "/spec/template/spec/containers/0/image"),
                                 ("+      - image: i:2", "/spec/template/spec/containers/0/image")]


def test_a_404_of_somebody_else_is_no_absence(folder, serve, etcd, certificates):
    server = serve(etcd().endpoint)
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    make(server, "/api/v1/namespaces/default/configmaps", metadata={"name": "plain"})
    gate = Gate(server.client, certificates)
    try:
        page = Page("--kubeconfig", processes.write_kubeconfig(folder / "kubeconfig", gate.url, certificates), env=dict(os.environ))
        assert page.get("revisions", type="cm", name="plain").status == 200
        assert page.get("revisions", type="cm", name="absent").status == 404
        gate.lose("/configmaps/")
        lost = page.get("revisions", type="cm", name="plain")
        assert lost.status == 502 and "404 page not found" in lost.json["message"], lost
    finally:
        gate.close()
