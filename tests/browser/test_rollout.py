"""Rollouts, what uses what, and workloads: real StatefulSets on fake nodes, as they move."""

import json

from chromium import LIVE
from sets import BROKEN, label, reference

V1 = "/apis/annals.dev/v1"


def pods(page):
    """{revision: {pod: state}}, by what stands on the page."""
    return page.evaluate("""Object.fromEntries([...document.querySelectorAll('[data-testid=rollout-revision]')].map((r) => [r.dataset.number,
        Object.fromEntries([...r.querySelectorAll('[data-testid=rollout-pod]')].map((p) => [p.dataset.pod, p.dataset.state]))]))""")


def wait_pods(page, expected):
    page.until(lambda: {number: there for number, there in pods(page).items() if there} == expected, f"the pods are {expected}")


def test_a_rollout_as_it_goes(look, room):
    """Each pod is where it is, one that is not Ready holds the rest up, and says so; undo ends it."""
    room.running("web", replicas=2)
    page = look(f"/rollout/apps/StatefulSet/{room.namespace}/web")
    wait_pods(page, {"1": {"web-0": "ready", "web-1": "ready"}})
    page.wait(LIVE)
    room.image("i:2", annotations=BROKEN)
    page.until(lambda: {number: set(there) for number, there in pods(page).items() if there} == {"1": {"web-0"}, "2": {"web-1"}}, "one of them is new")
    page.until(lambda: pods(page)["1"]["web-0"] == "ready" and pods(page)["2"]["web-1"] != "ready", "the new one is not Ready")
    assert page.text("[data-testid=rollout-why]")
    live = room.pods("web")
    assert {name: label(pod, "controller-revision-hash") for name, pod in live.items()} == {
        pod: name for name, number in zip(page.attributes("[data-testid=rollout-revision]", "data-name"), page.attributes("[data-testid=rollout-revision]", "data-number"))
        for pod in pods(page)[number]}
    room.image("i:3", annotations=dict.fromkeys(BROKEN))
    room.delete("pods", "web-1")
    wait_pods(page, {"3": {"web-0": "ready", "web-1": "ready"}})
    page.wait("document.querySelector('[data-testid=rollout-why]').dataset.state == 'complete'")
    room.spec("web", replicas=1)
    wait_pods(page, {"3": {"web-0": "ready"}})


def test_what_a_revision_changed(look, room):
    """From the rollout to the difference of the set's own revisions."""
    room.running("web", replicas=1)
    room.image("i:2")
    room.settle("web")
    page = look(f"/rollout/apps/StatefulSet/{room.namespace}/web")
    page.click("[data-testid=rollout-diff]")
    page.wait_for("[data-testid=history-title]")
    texts = "[...document.querySelectorAll('[data-testid=diff] .list-row:not([hidden]) [data-testid=diff-line]')].map((e) => e.dataset.op + e.querySelector('.code').textContent.trim())"
    page.until(lambda: [text for text in page.evaluate(texts) if "image:" in text] and {"-- image: i:1", "+- image: i:2"} <= set(page.evaluate(texts))
               or {"-image: i:1", "+image: i:2"} <= set(page.evaluate(texts)), "the images differ")
    assert "own=true" in page.address


def test_a_set_that_is_not_there(look, room):
    page = look(f"/rollout/apps/StatefulSet/{room.namespace}/nobody")
    page.wait_text("[data-testid=rollout]", "nobody")
    page.wait_text("[data-testid=rollout] .message", "There is no")
    room.make("nobody")
    wait_pods(page, {"1": {"nobody-0": "ready"}})
    room.delete("statefulsets", "nobody")
    page.wait_text("[data-testid=rollout] .message", "was deleted")


def test_workloads_are_listed(look, room):
    room.running("web", replicas=1)
    room.running("db", replicas=1)
    page = look(f"/workloads?namespace={room.namespace}")
    rows = "[data-testid=workload-row]:not([hidden])"
    page.until(lambda: sorted(text.split()[0] for text in page.texts(rows)) == ["db", "web"], "both are listed")
    page.fill("[data-testid=filter-text]", "web")
    page.until(lambda: page.count(rows) == 1, "one of them is left")
    page.click(f"{rows} a")
    page.wait_for("[data-testid=rollout]")
    wait_pods(page, {"1": {"web-0": "ready"}})


# ---- use ----


def provide(room, name):
    made = room.server.post(f"{V1}/namespaces/{room.namespace}/providers", {"metadata": {"name": name}, "spec": {"data": {"color": "red"}}})
    assert made.status == 201, made


def depend(room, name, *providers):
    made = room.server.post(f"{V1}/namespaces/{room.namespace}/dependents", {"metadata": {"name": name}, "spec": {"providers": [{"kind": "Provider", "name": each} for each in providers]}})
    assert made.status == 201, made


def users(page):
    return page.attributes("[data-testid=usage-row]", "data-name")


def why(page):
    return page.attributes("[data-testid=usage-why]", "data-state")


def test_why_a_deletion_waits(look, room):
    provide(room, "colors")
    page = look(f"/usage/providers/{room.namespace}/colors")
    page.until(lambda: why(page) == ["complete"] and users(page) == [], "nothing uses it")
    depend(room, "painter", "colors")
    page.until(lambda: users(page) == ["dependent/painter"] and why(page) == ["moving"], "its use is shown")
    depend(room, "other", "colors")
    page.until(lambda: users(page) == ["dependent/other", "dependent/painter"], "both are shown")
    assert room.server.delete(f"{V1}/namespaces/{room.namespace}/providers/colors").status in (200, 202)
    page.until(lambda: why(page) == ["waiting"], "the deletion waits")
    assert "painter" in page.text("[data-testid=usage-why]") and "other" in page.text("[data-testid=usage-why]")
    for name in ("painter", "other"):
        assert room.server.delete(f"{V1}/namespaces/{room.namespace}/dependents/{name}").status in (200, 202)
    page.wait_text("main .message", "is gone")


def test_providers_are_listed(look, room):
    provide(room, "colors")
    provide(room, "shapes")
    page = look("/usage")
    page.wait(f"{json.dumps(['colors', 'shapes'])}.every((name) => document.querySelector('[data-testid=usage]').innerText.includes(name))")


def test_what_was_made_from_a_revision(look, room):
    room.running("web", replicas=2)
    revision = room.history("web")[0]["metadata"]["name"]
    page = look(f"/usage/controllerrevisions/{room.namespace}/{revision}")
    page.until(lambda: users(page) == ["pod/web-0", "pod/web-1"], "its pods are shown")


def test_what_was_made_from_a_revision_of_a_daemonset(look, room):
    """Its pods are labelled with the end of the revision's name alone, and so may be somebody else's."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", **room.create({"metadata": {"name": "agent"}}, kind="configmaps")}
    room.create({"metadata": {"name": "agent-b7d", "ownerReferences": [reference(owner)]}, "revision": 1, "data": {"a": 1}}, kind="controllerrevisions")
    for name, owners in (("agent-x", [reference(owner)]), ("other-y", [])):
        meta = {"name": name, "labels": {"controller-revision-hash": "b7d"}, "ownerReferences": owners}
        room.create({"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}, kind="pods")
    page = look(f"/usage/controllerrevisions/{room.namespace}/agent-b7d")
    page.until(lambda: users(page) == ["pod/agent-x"], "its pod is shown, and no other")
