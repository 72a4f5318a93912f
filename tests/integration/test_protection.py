"""Providers stay while Dependents refer to them, and Dependents are made into ConfigMaps: the two controllers, within `annals up`."""

import concurrent.futures
import json
import re

import pytest

from processes import retry_until

V1 = "/apis/annals.dev/v1/namespaces/default"
PROVIDERS, DEPENDENTS, REVISIONS = f"{V1}/providers", f"{V1}/dependents", f"{V1}/controllerrevisions"
MAPS = "/api/v1/namespaces/default/configmaps"
MADE_FROM = "annals.dev/made-from"

PROVIDER = "apiVersion: annals.dev/v1\nkind: Provider\nmetadata: {name: colours}\nspec: {data: {primary: red}}\n"
DEPENDENT = "apiVersion: annals.dev/v1\nkind: Dependent\nmetadata: {name: painter}\nspec: {providers: [{name: colours}]}\n"


@pytest.fixture
def server(up):
    return up()


def make_provider(server, name="p", data=None):
    made = server.post(PROVIDERS, {"metadata": {"name": name}, "spec": {"data": data or {"a": 1}}})
    assert made.status == 201, made
    return made.json["metadata"]["uid"]


def make_dependent(server, name="d", *references):
    made = server.post(DEPENDENTS, {"metadata": {"name": name}, "spec": {"providers": list(references) or [{"name": "p"}]}})
    assert made.status == 201, made
    return made.json["metadata"]["uid"]


def delete(server, path, body=None):
    answer = server.delete(path, body)
    assert answer.status == 200, answer


def await_gone(server, path):
    retry_until(lambda: server.get(path).status == 404, f"{path} is gone")


def status(server, name="d"):
    return server.get(f"{DEPENDENTS}/{name}").json["status"]


def await_phase(server, phase, name="d"):
    retry_until(lambda: status(server, name).get("phase") == phase, f"{name} is {phase}")


def conditions(server, name="d"):
    return {c["type"]: (c["status"], c["reason"]) for c in status(server, name)["conditions"]}


def await_data(server, data, name="d"):
    def is_so():
        answer = server.get(f"{MAPS}/{name}")
        return answer.status == 200 and {key: json.loads(text) for key, text in answer.json.get("data", {}).items()} == data
    retry_until(is_so, f"{name} holds {data}")


def counters(server):
    """The controllers' own."""
    found = re.findall(r"^annals_(\w+)_total (\d+)$", server.get("/metrics").text, re.M)
    return {name: int(n) for name, n in found}


def test_a_dependent_is_told_what_its_provider_provides(server):
    """All of it with kubectl, as users do."""
    assert server.kubectl("create", "-f", "-", input=DEPENDENT).returncode == 0
    await_phase(server, "Pending", "painter")
    assert conditions(server, "painter")["Ready"] == ("False", "ProviderAbsent")
    assert server.get(f"{MAPS}/painter").status == 404
    assert server.kubectl("create", "-f", "-", input=PROVIDER).returncode == 0
    assert server.kubectl("wait", "--for=condition=Ready", "dependent/painter", "--timeout=60s").returncode == 0
    await_data(server, {"colours": {"primary": "red"}}, "painter")
    assert status(server, "painter")["implementation"] == {"kind": "ConfigMap", "name": "painter"}

    assert server.kubectl("patch", "provider", "colours", "--type=merge", "-p", '{"spec":{"data":{"primary":"blue"}}}').returncode == 0
    await_data(server, {"colours": {"primary": "blue"}}, "painter")

    assert server.kubectl("delete", "provider", "colours", "--wait=false").returncode == 0
    assert "Terminating" in server.kubectl("get", "providers").stdout
    assert server.kubectl("delete", "dependent", "painter").returncode == 0
    await_gone(server, f"{PROVIDERS}/colours")
    assert server.get(f"{MAPS}/painter").status == 404


def test_what_is_implemented_keeps_its_deleted_provider(server):
    uid, owner = make_provider(server), make_dependent(server)
    await_phase(server, "Implemented")
    made = server.get(f"{MAPS}/d").json["metadata"]
    assert made["annotations"] == {MADE_FROM: f"Provider/p/{uid}"}
    assert made["ownerReferences"] == [{"apiVersion": "annals.dev/v1", "kind": "Dependent", "name": "d", "uid": owner, "controller": True, "blockOwnerDeletion": True}]
    delete(server, f"{PROVIDERS}/p")
    make_dependent(server, "late", {"name": "p"}, {"name": "absent"})
    await_phase(server, "Broken", "late")
    assert conditions(server, "late") == {"Ready": ("False", "ProviderTerminating"), "Broken": ("True", "ProviderTerminating")}
    assert server.get(f"{MAPS}/late").status == 404
    assert status(server)["phase"] == "Implemented"
    for name in ("d", "late"):
        assert server.get(f"{PROVIDERS}/p").status == 200
        delete(server, f"{DEPENDENTS}/{name}")
    await_gone(server, f"{PROVIDERS}/p")
    await_gone(server, f"{MAPS}/d")


def test_several_objects_make_one_implementation(server):
    make_dependent(server, "d", {"name": "p"}, {"kind": "ControllerRevision", "name": "r"})
    make_provider(server)
    await_phase(server, "Pending")
    made = server.post(REVISIONS, {"metadata": {"name": "r"}, "revision": 1, "data": {"b": 2}})
    assert made.status == 201
    retry_until(lambda: conditions(server)["Ready"] == ("False", "ProviderUnprotected"), "a revision that nothing keeps is not relied on")
    delete(server, f"{REVISIONS}/r")
    made = server.post(REVISIONS, {"metadata": {"name": "r", "labels": {"annals.dev/protect": "true"}}, "revision": 1, "data": {"b": 2}})
    assert made.status == 201
    await_data(server, {"p": {"a": 1}, "revision_r": {"b": 2}})

    assert server.patch(f"{REVISIONS}/r", {"metadata": {"labels": None}}).status == 200
    delete(server, f"{REVISIONS}/r")
    assert server.get(f"{REVISIONS}/r").json["metadata"]["deletionTimestamp"]
    delete(server, f"{DEPENDENTS}/d")
    await_gone(server, f"{REVISIONS}/r")


def test_a_configmap_of_somebody_else_is_left_alone(server):
    assert server.post(MAPS, {"metadata": {"name": "d"}, "data": {"mine": "yes"}}).status == 201
    make_provider(server)
    make_dependent(server)
    await_phase(server, "Pending")
    retry_until(lambda: conditions(server)["Ready"] == ("False", "NameTaken"), "the name is taken")
    assert server.get(f"{MAPS}/d").json["data"] == {"mine": "yes"}
    delete(server, f"{DEPENDENTS}/d")
    await_gone(server, f"{DEPENDENTS}/d")
    assert server.get(f"{MAPS}/d").json["data"] == {"mine": "yes"}


@pytest.mark.parametrize("harm", ["change", "removal"])
def test_an_implementation_that_was_harmed_is_fixed(server, harm):
    make_provider(server)
    make_dependent(server)
    await_data(server, {"p": {"a": 1}})
    if harm == "change":
        assert server.patch(f"{MAPS}/d", {"data": {"p": None, "q": "0"}}).status == 200
    else:
        delete(server, f"{MAPS}/d")
    await_data(server, {"p": {"a": 1}})


def test_what_does_not_fit_is_said(server):
    make_provider(server, data={"a": "x" * (1 << 20)})
    make_dependent(server)
    retry_until(lambda: status(server).get("conditions") and conditions(server)["Ready"] == ("False", "Unfit"), "it does not fit")
    assert server.patch(f"{PROVIDERS}/p", {"spec": {"data": {"a": 1}}}).status == 200
    await_data(server, {"p": {"a": 1}})


def test_controllers_that_start_again_take_up_what_is_there(up, folder):
    first = up(dir=folder / "data")
    make_provider(first)
    make_dependent(first)
    await_phase(first, "Implemented")
    delete(first, f"{PROVIDERS}/p")
    version = first.get(f"{MAPS}/d").json["metadata"]["resourceVersion"]
    assert first.stop() == 0

    again = up(dir=folder / "data")
    retry_until(lambda: counters(again).get("dependent_implemented"), "it has been looked at")
    assert again.get(f"{MAPS}/d").json["metadata"]["resourceVersion"] == version
    assert status(again)["phase"] == "Implemented"
    delete(again, f"{DEPENDENTS}/d")
    await_gone(again, f"{PROVIDERS}/p")
    await_gone(again, f"{MAPS}/d")


def test_namespace_with_both_goes(server):
    assert server.post("/api/v1/namespaces", {"metadata": {"name": "x"}}).status == 201
    there = V1.replace("default", "x")
    for plural, spec in (("providers", {"data": {}}), ("dependents", {"providers": [{"name": "o"}]})):
        assert server.post(f"{there}/{plural}", {"metadata": {"name": "o"}, "spec": spec}).status == 201
    retry_until(lambda: server.get(f"{there}/dependents/o").json["status"].get("phase") == "Implemented", "it is implemented")
    delete(server, "/api/v1/namespaces/x")
    await_gone(server, "/api/v1/namespaces/x")


def test_many_dependents_cost_few_requests(server):
    """As many as there are workers may look at once; not as many as there are Dependents."""
    n, few = 500, 10
    make_provider(server)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: make_dependent(server, f"d{i}"), range(n)))
    retry_until(lambda: counters(server)["dependent_implemented"] >= n and all(d["status"].get("phase") == "Implemented" for d in server.get(DEPENDENTS).json["items"]),
                "all are implemented", interval=0.5)
    made = counters(server)
    assert made["dependent_provider_gets"] <= few
    assert made["dependent_spared_gets"] >= n - few

    delete(server, f"{PROVIDERS}/p")
    delete(server, DEPENDENTS)
    await_gone(server, f"{PROVIDERS}/p")
    assert server.get(DEPENDENTS).json["items"] == [] and server.get(f"{MAPS}?labelSelector=annals.dev/implements").json["items"] == []
    retry_until(lambda: counters(server)["provider_finalization_released"] == 1, "the release to be counted, when it has been answered")
    assert 1 <= counters(server)["provider_finalization_live_lists"] <= few
