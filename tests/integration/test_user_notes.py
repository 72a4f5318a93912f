"""Who made a change: what the webhook of Recorders is asked becomes notes, in the server and in etcd."""

import base64
import concurrent.futures
import json
import signal
import time

import processes
import pytest

from metrics import Metrics

NOTES = "/annals/user-notes/"
RECORDER = {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "all"},
            "spec": {"resources": [{"groups": ["*"], "resources": ["*"]}]}}
HOOK = "/apis/annals.dev/v1/recorders/all/admission"


@pytest.fixture
def store(etcd):
    return etcd()


@pytest.fixture
def server(serve, store):
    started = serve(store.endpoint)
    assert started.post("/apis/annals.dev/v1/recorders", RECORDER).status == 201
    processes.retry_until(lambda: started.get("/apis/annals.dev/v1/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    return started


def config(data, name="one", uid="1", **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "uid": uid, **metadata}, "data": data}


def review(user, new=None, old=None, operation=None, dry_run=False, resource="configmaps"):
    """As kube-apiserver asks."""
    operation = operation or ("CREATE" if not old else "UPDATE" if new else "DELETE")
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                        "resource": {"group": "", "version": "v1", "resource": resource}, "name": "one", "namespace": "default",
                        "operation": operation, "userInfo": {"username": user, "groups": ["system:authenticated"]},
                        "object": new, "oldObject": old, "dryRun": dry_run, "options": {}}}


def ask(server, body, path=HOOK):
    answer = server.post(path, body)
    assert answer.status == 200, answer
    assert answer.json == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": body["request"]["uid"], "allowed": True}}


def ask_for_all(server, body):
    """And the note has reached etcd: one that is slow is not waited for."""
    def is_sent():
        before = noted(server, "failed_total") + noted(server, "dropped_total")
        ask(server, body)
        return noted(server, "failed_total") + noted(server, "dropped_total") == before

    processes.retry_until(is_sent, "etcd has taken the note")


def notes(store):
    """{key: user} in etcd; each is under a lease of minutes."""
    found = json.loads(store.ctl("get", "--prefix", NOTES, "-w", "json")).get("kvs", [])
    assert all(one.get("lease") for one in found)
    return {base64.b64decode(one["key"]).decode(): base64.b64decode(one["value"]).decode() for one in found}


def noted(server, which="total"):
    return Metrics(server).sum(f"annals_user_notes_{which}")


def test_user_of_a_state_is_noted(server, store):
    ask_for_all(server, review("alice", config({"a": "1"})))
    (key, user), = notes(store).items()
    assert user == "alice" and len(key) == len(NOTES) + 54 + 1 + 16
    lease = json.loads(store.ctl("get", key, "-w", "json"))["kvs"][0]["lease"]
    assert 250 < json.loads(store.ctl("lease", "timetolive", f"{lease:x}", "-w", "json"))["granted-ttl"] < 400


def test_state_is_what_counts(server, store):
    """The same state is the same note, whatever else is in the object; another user, or another state, is another note."""
    ask_for_all(server, review("alice", config({"a": "1"})))
    first, = notes(store)
    ask_for_all(server, review("alice", config({"a": "1"}, resourceVersion="7", generation=3), old=config({"a": "0"})))
    assert list(notes(store)) == [first]
    ask_for_all(server, review("bob", config({"a": "1"})))
    same = [key for key in notes(store) if key.startswith(first[:-16])]
    assert len(same) == 2 and set(notes(store).values()) == {"alice", "bob"}
    ask_for_all(server, review("alice", config({"a": "2"})))
    assert len(notes(store)) == 3


@pytest.mark.parametrize("body", [
    review("alice", config({"a": "1"}), dry_run=True),
    review("alice", config({"a": "1"}, annotations={"kubernetes.io/change-cause": "why"}), old=config({"a": "1"})),
    review("alice", old=config({"a": "1"}, deletionTimestamp="2026-01-01T00:00:00Z")),
    review("", config({"a": "1"})),
    review("x" * 513, config({"a": "1"})),
    review("alice", operation="CONNECT"),
], ids=["dry-run", "same-state", "deleted-before", "nobody", "endless-name", "no-object"])
def test_nothing_is_noted(server, store, body):
    ask(server, body)
    assert notes(store) == {} and noted(server) == 0


def test_without_its_recorder_nothing_is_noted(server, store):
    ask(server, review("alice", config({"a": "1"})), path=HOOK.replace("/all/", "/other/"))
    assert notes(store) == {} and noted(server) == 0


def test_user_of_a_deletion_is_noted(server, store):
    ask_for_all(server, review("alice", old=config({"a": "1"}, uid="one")))
    ask_for_all(server, review("alice", old=config({"a": "2"}, uid="one")))
    assert list(notes(store).values()) == ["alice"]
    ask_for_all(server, review("alice", old=config({"a": "1"}, uid="other")))
    assert len(notes(store)) == 2


def test_note_of_a_secret_does_not_leave_the_server(server, store):
    ask(server, review("alice", {**config({"a": "MQ=="}), "kind": "Secret"}, resource="secrets"))
    assert notes(store) == {} and noted(server) == 1


@pytest.mark.parametrize("change, code", [
    ({"apiVersion": "admission.k8s.io/v1beta1"}, 400),
    ({"kind": "Review"}, 400),
    ({"request": None}, 400),
    ({"request": {"operation": "CREATE"}}, 400),
])
def test_what_is_no_review_is_refused(server, change, code):
    answer = server.post(HOOK, {**review("alice", config({})), **change})
    assert (answer.status, answer.json["kind"]) == (code, "Status"), answer
    assert server.post(HOOK, "no JSON", headers={"Content-Type": "application/json"}).status == 400
    assert server.get(HOOK).status == 405


def test_strangers_note_nothing(server, certificates, store):
    """A note names a user: only who may create recorders/admission makes one. By default those are kube-apiserver and administrators."""
    stranger = processes.Client(server.url, certificates.ca, *certificates.client("mallory"))
    answer = stranger.post(HOOK, review("alice", config({"a": "1"})))
    assert (answer.status, "recorders/admission" in answer.text or 'resource "recorders"' in answer.text) == (403, True), answer
    assert notes(store) == {} and noted(server) == 0


def test_flood_ends_in_memory(server, store):
    """No more notes go to etcd than a burst and so many a second; each is answered."""
    def one(number):
        ask(server, review("alice", config({"a": str(number)})))

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(1200)))
    lasted = time.monotonic() - began
    sent, dropped = noted(server, "sent_total"), noted(server, "dropped_total")
    assert noted(server) == sent + dropped == 1200
    assert len(notes(store)) <= sent <= 500 + 50 * (lasted + 1)


def test_etcd_that_hangs_holds_nobody_up(server, store):
    """It is not asked again for a while; nothing but the note for other replicas is lost."""
    ask_for_all(server, review("alice", config({"a": "1"})))
    store.signal(signal.SIGSTOP)
    try:
        for number in range(20):
            ask(server, review("alice", config({"b": str(number)})))
    finally:
        store.signal(signal.SIGCONT)
    assert noted(server) >= 21 and noted(server, "failed_total") + noted(server, "dropped_total") >= 20


def test_what_webhooks_are_asked_is_discovered(server):
    resources = {one["name"]: one for one in server.get("/apis/annals.dev/v1").json["resources"]}
    assert resources["recorders/admission"] == {"name": "recorders/admission", "singularName": "", "namespaced": False, "group": "admission.k8s.io",
                                                "version": "v1", "kind": "AdmissionReview", "verbs": ["create"]}
