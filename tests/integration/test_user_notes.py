"""Who made a change: what the webhook of Recorders is asked becomes notes, in the server and in etcd."""

import base64
import concurrent.futures
import itertools
import json
import signal
import time

import processes
import pytest

from metrics import Metrics

NOTES = "/annals/user-notes/"
RECORDER = {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "all"},
            "spec": {"resources": [{"groups": ["*"], "resources": ["*"]}]}}
HISTORIES = "/apis/annals.dev/v1/namespaces/default/histories"
HOOK = "/apis/annals.dev/v1/recorders/all/admission"


@pytest.fixture
def server(serve, store):
    started = serve(store.endpoint)
    assert started.post("/apis/annals.dev/v1/recorders", RECORDER).status == 201
    processes.retry_until(lambda: started.get("/apis/annals.dev/v1/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    return started


def config(data, name="one", uid="1", **metadata):
    metadata = {"resourceVersion": "7", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "uid": uid, **metadata}, "data": data}


def scale(replicas, version="7"):
    """0 is left out, as by kube-apiserver."""
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "one", "namespace": "default", "uid": "1", "resourceVersion": version},
            "spec": {"replicas": replicas} if replicas else {}}


def review(user, new=None, old=None, operation=None, dry_run=False, resource="configmaps", subresource=None):
    """As kube-apiserver asks."""
    operation = operation or ("CREATE" if not old else "UPDATE" if new else "DELETE")
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                        "resource": {"group": "", "version": "v1", "resource": resource}, "name": "one", "namespace": "default",
                        "operation": operation, **({"subResource": subresource} if subresource else {}), "userInfo": {"username": user, "groups": ["system:authenticated"]},
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
    return {key: value["user"] for key, value in whole_notes(store).items()}


def whole_notes(store):
    found = json.loads(store.ctl("get", "--prefix", NOTES, "-w", "json")).get("kvs", [])
    assert all(one.get("lease") for one in found)
    return {base64.b64decode(one["key"]).decode(): json.loads(base64.b64decode(one["value"])) for one in found}


def noted(server, which="total"):
    return Metrics(server).sum(f"annals_user_notes_{which}")


def test_user_of_a_state_is_noted(server, store):
    ask_for_all(server, review("alice", config({"a": "1"})))
    (key, user), = notes(store).items()
    assert user == "alice" and key.startswith(f"{NOTES}1/{0:020}/") and len(key) == len(f"{NOTES}1/{0:020}/") + 54 + 1 + 16
    lease = json.loads(store.ctl("get", key, "-w", "json"))["kvs"][0]["lease"]
    assert 250 < json.loads(store.ctl("lease", "timetolive", f"{lease:x}", "-w", "json"))["granted-ttl"] < 400


def test_write_is_what_counts(server, store):
    """The same state after the same version is the same note, whatever else is in the object; anything else is another note."""
    ask_for_all(server, review("alice", config({"a": "1"}), old=config({"a": "0"})))
    first, = notes(store)
    ask_for_all(server, review("alice", config({"a": "1"}, generation=3), old=config({"a": "0"})))
    assert list(notes(store)) == [first]
    ask_for_all(server, review("bob", config({"a": "1"}), old=config({"a": "0"})))
    same = [key for key in notes(store) if key.startswith(first[:-16])]
    assert len(same) == 2 and set(notes(store).values()) == {"alice", "bob"}
    others = [review("alice", config({"a": "2"}), old=config({"a": "0"})), review("alice", config({"a": "1"})),
              review("alice", config({"a": "1"}), old=config({"a": "0"}, resourceVersion="8")),
              review("alice", config({"a": "1"}), old=config({"a": "0"}, uid="2"))]
    for number, other in enumerate(others):
        ask_for_all(server, other)
        assert len(notes(store)) == 3 + number


def test_scale_is_noted(server, store):
    ask_for_all(server, review("alice", scale(3), old=scale(1), resource="deployments", subresource="scale"))
    ask_for_all(server, review("alice", scale(0), old=scale(1), resource="deployments", subresource="scale"))
    assert len(notes(store)) == 2
    ask(server, review("alice", scale(1), old=scale(1), resource="deployments", subresource="scale"))
    ask(server, review("alice", scale(1), resource="deployments", subresource="scale"))
    assert noted(server) == 2


@pytest.mark.parametrize("body", [
    review("alice", config({"a": "1"}), dry_run=True),
    review("alice", config({"a": "1"}, annotations={"kubernetes.io/change-cause": "why"}), old=config({"a": "1"})),
    review("alice", old=config({"a": "1"}, deletionTimestamp="2026-01-01T00:00:00Z")),
    review("", config({"a": "1"})),
    review("x" * 513, config({"a": "1"})),
    review("alice", operation="CONNECT"),
    review("alice", config({"a": "1"}, uid="")),
    review("alice", config({"a": "1"}), old=config({"a": "2"}, resourceVersion="")),
], ids=["dry-run", "same-state", "deleted-before", "nobody", "endless-name", "no-object", "no-uid", "no-version"])
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


# ---- who made a change ----


@pytest.fixture
def digest(server):
    """The digest of a state, as the server has it: that of a revision with the state as data."""
    def of(state):
        path = "/apis/annals.dev/v1/namespaces/default/controllerrevisions"
        body = {"apiVersion": "annals.dev/v1", "kind": "ControllerRevision", "metadata": {"generateName": "digest-"}, "revision": 1, "data": state}
        return server.post(path, body).json["metadata"]["annotations"]["annals.dev/digest"]

    return of


class Told:
    """A History of a ConfigMap, and a recorder that has seen it change. after: the version that the write replaced."""

    numbers = itertools.count(1)

    def __init__(self, server, uid="1"):
        self.name, self.uid, self.version = f"configmap.one-{next(self.numbers)}", uid, None
        made = server.post(HISTORIES, {"metadata": {"name": self.name}, "spec": {"subject": {
            "group": "", "kind": "ConfigMap", "namespace": "default", "name": self.name}}})
        assert made.status == 201, made
        self.owner = {"apiVersion": "annals.dev/v1", "kind": "History", "name": self.name, "uid": made.json["metadata"]["uid"], "controller": True}
        self.version = made.json["metadata"]["resourceVersion"]

    def change(self, server, type, data=None, digest=None, after=None, **more):
        """The user that the History names; None: nobody."""
        more |= {"afterResourceVersion": after} if after else {}
        said = {"type": type, "time": "2026-01-02T03:04:05Z", "historyResourceVersion": self.version, **more}
        said |= {} if type == "Deleted" else {"uid": self.uid, "apiVersion": "v1", **({"writeDigest": digest} if digest else {})}
        answer = server.post("/apis/annals.dev/v1/namespaces/default/snapshots",
                             {"spec": {"owner": self.owner, "change": said, **({"data": data} if data else {})}})
        assert answer.status == 201, answer
        self.version = answer.json["status"]["history"]["resourceVersion"]
        self.last = server.get(f"{HISTORIES}/{self.name}").json["status"]["changes"][-1]
        return self.last.get("user")

    def authors(self):
        """Of the gap before the last change; "+": there may be others."""
        gap = self.last.get("gap", {})
        assert all(author["time"] for author in gap.get("authors", []))
        return [author["user"] for author in gap.get("authors", [])] + ["+"] * gap.get("moreAuthors", False)


def state(data):
    """Of config(data)."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}, "data": data}


def test_change_has_the_user_who_asked_for_it(server, digest):
    """The server says who: of that very write, and not what a client says."""
    ask(server, review("alice", config({"a": "1"})))
    ask(server, review("bob", config({"a": "2"}), old=config({"a": "1"})))
    ask(server, review("carol", old=config({"a": "2"})))
    told = Told(server)
    assert told.change(server, "Created", {"a": "1"}, digest(state({"a": "1"}))) == "alice"
    assert told.change(server, "Changed", {"a": "2"}, digest(state({"a": "2"})), "7") == "bob"
    assert told.change(server, "Changed", {"a": "3"}, digest(state({"a": "3"})), "7", user="mallory") is None
    assert told.change(server, "Changed", {"a": "1"}) is None
    assert told.change(server, "Changed", {"a": "2"}, "of no form", "7") is None
    assert told.change(server, "Changed", {"a": "2"}, digest(state({"a": "2"})), "8") is None, "a later return to that state"
    assert told.change(server, "Changed", {"a": "2"}, digest(state({"a": "2"}))) is None, "by somebody unknown, of many"
    assert told.change(server, "Deleted") == "carol"
    assert noted(server, "found_total") == 3


def test_return_to_a_state_has_the_user_of_that_write(server, digest):
    """A rollback within minutes, while a controller writes the same again without an effect: each change has its own user."""
    first, second = config({"a": "1"}), config({"a": "2"}, resourceVersion="8")
    ask(server, review("alice", first))
    ask(server, review("bob", second, old=first))
    ask(server, review("carol", config({"a": "1"}, resourceVersion="8"), old=second))
    ask(server, review("robot", config({"a": "1"}, resourceVersion="9"), old=config({"a": "1"}, resourceVersion="9")))
    ask(server, review("robot", config({"a": "2"}, resourceVersion="9"), old=config({"a": "1"}, resourceVersion="9")))
    told, one, two = Told(server), digest(state({"a": "1"})), digest(state({"a": "2"}))
    assert told.change(server, "Created", {"a": "1"}, one) == "alice"
    assert told.change(server, "Changed", {"a": "2"}, two, "7") == "bob"
    assert told.change(server, "Changed", {"a": "1"}, one, "8") == "carol"
    assert told.change(server, "Changed", {"a": "2"}, two, "9") == "robot"


def test_scale_names_who_scaled(server, digest):
    """alice creates with 0 replicas, bob scales to 1 and back to 0: the last change is bob's."""
    def workload(replicas):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}, "spec": {"replicas": replicas, "x": [4]}}

    def scaled(before, after, version, user="bob"):
        ask(server, review(user, scale(after, version), old=scale(before, version), resource="deployments", subresource="scale"))

    ask(server, review("alice", {**workload(0), "metadata": {**workload(0)["metadata"], "uid": "1"}}))
    scaled(0, 1, "7")
    scaled(1, 0, "8")
    told, only = Told(server), ["/spec/replicas"]
    assert told.change(server, "Created", workload(0), digest(workload(0))) == "alice"
    assert told.change(server, "Changed", workload(1), digest(workload(1)), "7", paths=only) == "bob"
    assert told.change(server, "Changed", workload(0), digest(workload(0)), "8", paths=only) == "bob"
    scaled(0, 5, "9")
    assert told.change(server, "Changed", workload(6), digest(workload(6)), "9", paths=only) is None, "to another number"
    assert told.change(server, "Changed", workload(5), digest(workload(5)), "9", paths=[*only, "/spec/x"]) is None, "a scale changes nothing else"
    assert told.change(server, "Changed", workload(5), digest(workload(5)), "9", paths=only, morePaths=1) is None
    assert told.change(server, "Changed", workload(5), digest(workload(5)), "9", paths=["/spec/x/7"]) is None, "there is no such value"
    scaled(0, 5, "9", "alice")
    assert told.change(server, "Changed", workload(5), digest(workload(5)), "9", paths=only) is None, "two have asked for it"


def test_two_users_of_one_state_are_not_told_apart(server, digest):
    for user in ("alice", "bob"):
        ask(server, review(user, config({"a": "1"})))
        ask(server, review(user, old=config({"a": "1"})))
    told = Told(server)
    assert told.change(server, "Created", {"a": "1"}, digest(state({"a": "1"}))) is None
    assert told.change(server, "Deleted") is None


def test_deletion_of_another_object_of_that_name_has_another_user(server, digest):
    ask(server, review("alice", old=config({"a": "1"}, uid="first")))
    told = Told(server, uid="second")
    assert told.change(server, "Created", {"a": "1"}) is None
    assert told.change(server, "Deleted") is None


def test_each_replica_finds_what_any_has_noted(server, serve, store, digest):
    other = serve(store.endpoint)
    ask_for_all(server, review("alice", config({"a": "1"})))
    assert Told(other).change(other, "Created", {"a": "1"}, digest(state({"a": "1"}))) == "alice"
    ask_for_all(other, review("bob", config({"a": "1"})))
    told = Told(server)
    assert told.change(server, "Created", {"a": "1"}, digest(state({"a": "1"}))) is None
    ask_for_all(server, review("carol", old=config({"a": "1"})))
    assert told.change(other, "Deleted") == "carol"


def test_notes_outlive_their_server(server, serve, store, digest):
    ask_for_all(server, review("alice", config({"a": "1"})))
    wanted = digest(state({"a": "1"}))
    server.stop()
    other = serve(store.endpoint)
    assert Told(other).change(other, "Created", {"a": "1"}, wanted) == "alice"


def test_note_that_has_expired_names_nobody(server, serve, store, digest):
    """Its lease is over: etcd has removed it, and another replica never heard of it."""
    ask_for_all(server, review("alice", config({"a": "1"})))
    key, = notes(store)
    lease = json.loads(store.ctl("get", key, "-w", "json"))["kvs"][0]["lease"]
    store.ctl("lease", "revoke", f"{lease:x}")
    other = serve(store.endpoint)
    assert Told(other).change(other, "Created", {"a": "1"}, digest(state({"a": "1"}))) is None


# ---- who wrote while no recorder saw it ----


class Gap(Told):
    """alice created the object in version 7, and that was recorded. Then come writes without a recorder."""

    def __init__(self, server, digest):
        super().__init__(server)
        self.server, self.digest = server, digest
        ask(server, review("alice", config({"a": "1"})))
        assert self.change(server, "Created", {"a": "1"}, digest(state({"a": "1"})), resourceVersion="7") == "alice"

    def asked(self, user, before, after, version):
        ask(self.server, review(user, config({"a": after}), old=config({"a": before}, resourceVersion=version)))

    def found(self, a, version="20", server=None, **more):
        """The recorder sees this state. The user, and the others."""
        more = {"skipped": True, "resourceVersion": version, **more}
        return self.change(server or self.server, "Changed", {"a": a}, self.digest(state({"a": a})), **more), self.authors()


@pytest.fixture
def gap(server, digest):
    return Gap(server, digest)


def test_gap_has_the_names_of_all_who_wrote_in_it(gap):
    """Three people change the object; status is written in between. The last one made the change, and the others are named, too."""
    gap.asked("alice", "1", "2", "7")
    gap.asked("bob", "2", "3", "9")
    gap.asked("carol", "3", "4", "12")
    assert gap.found("4") == ("carol", ["alice", "bob"])


def test_gap_where_nobody_else_wrote_has_one_user(gap):
    gap.asked("alice", "1", "2", "7")
    gap.asked("alice", "2", "3", "8")
    assert gap.found("3") == ("alice", [])
    gap.asked("bob", "3", "4", "25")
    assert gap.found("4", "26") == ("bob", []), "the next gap begins where this one ended"


def test_gap_with_a_missing_note_invents_nobody(gap):
    gap.asked("alice", "1", "2", "7")
    gap.asked("bob", "2", "3", "9")
    gap.asked("carol", "4", "5", "12")
    assert gap.found("5") == (None, ["alice", "carol", "+"])
    assert gap.found("6", "22") == (None, ["+"])


def test_refused_requests_are_no_authors(gap):
    gap.asked("mallory", "1", "evil", "7")
    gap.asked("alice", "1", "2", "7")
    gap.asked("mallory", "2", "evil", "9")
    gap.asked("bob", "2", "3", "10")
    gap.asked("mallory", "3", "evil", "11")
    assert gap.found("3") == ("bob", ["alice"])


def test_client_cannot_name_authors(gap):
    gap.asked("alice", "1", "2", "7")
    forged = {"resourceVersion": "7", "authors": [{"user": "mallory", "time": "2026-01-02T03:04:05Z"}], "moreAuthors": True}
    assert gap.found("2", gap=forged) == ("alice", [])
    said = {"type": "Changed", "time": "2026-01-02T03:04:05Z", "historyResourceVersion": gap.version, "uid": "1", "apiVersion": "v1",
            "skipped": True, "gap": forged}
    answer = gap.server.post("/apis/annals.dev/v1/namespaces/default/snapshots?fieldValidation=Strict",
                             {"spec": {"owner": gap.owner, "change": said, "data": {}}})
    assert answer.status == 400 and "authors" in answer.json["message"], answer


def test_deleted_in_a_gap(gap):
    gap.asked("bob", "1", "2", "8")
    ask(gap.server, review("carol", old=config({"a": "2"}, resourceVersion="9")))
    assert gap.change(gap.server, "Deleted", skipped=True) == "carol"
    assert gap.authors() == ["bob"]


def test_deleted_in_a_gap_by_one_of_two(gap):
    """Both asked for it, and one of them found that the object had gone."""
    gap.asked("alice", "1", "2", "8")
    for user in ("bob", "carol"):
        ask(gap.server, review(user, old=config({"a": "2"}, resourceVersion="9")))
    assert gap.change(gap.server, "Deleted", skipped=True) is None
    assert gap.authors() == ["alice", "+"]


def test_made_again_in_a_gap(gap, digest):
    """Another object may have come and gone before it, so there may be others."""
    gap.uid = "2"
    ask(gap.server, review("bob", config({"a": "1"}, uid="2")))
    ask(gap.server, review("carol", config({"a": "2"}, uid="2", resourceVersion="11"), old=config({"a": "1"}, uid="2", resourceVersion="10")))
    assert gap.change(gap.server, "Created", {"a": "2"}, digest(state({"a": "2"})), resourceVersion="12", skipped=True) == "bob"
    assert gap.authors() == ["carol", "+"]


def test_other_replicas_know_the_authors_of_a_gap(gap, server, serve, store):
    for user, before, after, version in (("alice", "1", "2", "7"), ("bob", "2", "3", "9")):
        ask_for_all(server, review(user, config({"a": after}), old=config({"a": before}, resourceVersion=version)))
    assert gap.found("3", server=serve(store.endpoint)) == ("bob", ["alice"])


def test_scale_in_a_gap_is_not_certain(gap):
    """It shows no state, so nothing says that it was carried out."""
    gap.asked("alice", "1", "2", "7")
    ask(gap.server, review("bob", scale(1, "9"), old=scale(0, "9"), resource="deployments", subresource="scale"))
    assert gap.found("3") == (None, ["+"])


# ---- standalone: the server sees who writes ----

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def served_state(server, name):
    """What a recorder makes of the object."""
    shown = server.get(f"{CONFIGMAPS}/{name}").json
    metadata = {key: value for key, value in shown["metadata"].items() if key in ("name", "namespace", "labels", "annotations", "ownerReferences")}
    return {**shown, "metadata": metadata}


def test_server_notes_who_writes(server, certificates, digest, folder, serve, store):
    policy = folder / "policy"
    policy.write_text("".join(json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {
        "user": user, "namespace": "*", "resource": "*", "apiGroup": "*"}}) + "\n" for user in ("alice", "bob")))
    own = serve(store.endpoint, f"--authorization-policy-file={policy}")
    processes.retry_until(lambda: own.get("/apis/annals.dev/v1/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    alice, bob = (processes.Client(own.url, certificates.ca, *certificates.client(user)) for user in ("alice", "bob"))

    made = alice.post(CONFIGMAPS, {"metadata": {"name": "one"}, "data": {"a": "1"}})
    assert made.status == 201, made
    told, before = Told(own, uid=made.json["metadata"]["uid"]), made.json["metadata"]["resourceVersion"]
    assert told.change(own, "Created", {"a": "1"}, digest(served_state(own, "one"))) == "alice"
    assert bob.patch(f"{CONFIGMAPS}/one", {"data": {"a": "2"}}).status == 200
    assert alice.patch(f"{CONFIGMAPS}/one", {"metadata": {"annotations": {"kubernetes.io/change-cause": "why"}}}).status == 200
    state_now = {**served_state(own, "one")}
    state_now["metadata"].pop("annotations")
    assert told.change(own, "Changed", {"a": "2"}, digest(state_now), before) == "bob"
    assert own.get(f"{HISTORIES}?fieldSelector=status.by=bob").json["items"]
    assert alice.delete(f"{CONFIGMAPS}/one?dryRun=All").status == 200
    assert bob.delete(f"{CONFIGMAPS}/one").status == 200
    assert told.change(own, "Deleted") == "bob"


@pytest.mark.parametrize("resource, value", [("configmaps", "x"), ("secrets", "eA==")])
def test_writes_of_one_server_have_their_users_at_another(server, serve, store, digest, resource, value):
    """The note comes in the transaction of the write, and has no digest of the state. So it is not late, and betrays no secret."""
    other = serve(store.endpoint)
    made = server.post(f"/api/v1/namespaces/default/{resource}", {"metadata": {"name": "one"}, "data": {"a": value}})
    assert made.status == 201, made
    told, path = Told(other, uid=made.json["metadata"]["uid"]), f"/api/v1/namespaces/default/{resource}/one"
    assert told.change(other, "Created", {"a": "1"}, digest(state({"a": "1"}))) == "admin"
    for number in range(20):
        before = server.get(path).json["metadata"]["resourceVersion"]
        assert server.patch(path, {"metadata": {"labels": {"n": str(number % 2)}}}).status == 200
        assert told.change(other, "Changed", {"a": number}, digest(state({"a": str(number)})), before) == "admin"
    assert server.delete(path).status == 200
    assert told.change(other, "Deleted") == "admin"


@pytest.mark.parametrize("resource, values", [("configmaps", "123"), ("secrets", ["MQ==", "Mg==", "Mw=="])])
def test_server_knows_who_wrote_in_a_gap(server, certificates, digest, folder, serve, store, resource, values):
    """Of a Secret, no digest is in etcd: versions are links enough."""
    policy = folder / f"policy-{resource}"
    policy.write_text("".join(json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {
        "user": user, "namespace": "*", "resource": "*", "apiGroup": "*"}}) + "\n" for user in ("alice", "bob")))
    own, path = serve(store.endpoint, f"--authorization-policy-file={policy}"), f"/api/v1/namespaces/default/{resource}"
    processes.retry_until(lambda: own.get("/apis/annals.dev/v1/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    alice, bob = (processes.Client(own.url, certificates.ca, *certificates.client(user)) for user in ("alice", "bob"))
    made = alice.post(path, {"metadata": {"name": "one"}, "data": {"a": values[0]}})
    told = Told(server, uid=made.json["metadata"]["uid"])
    assert told.change(server, "Created", {"a": "1"}, digest(state({"a": "1"})), resourceVersion=made.json["metadata"]["resourceVersion"]) == "alice"
    assert bob.patch(f"{path}/one", {"data": {"a": values[1]}}).status == 200
    last = alice.patch(f"{path}/one", {"data": {"a": values[2]}}).json["metadata"]["resourceVersion"]
    assert told.change(server, "Changed", {"a": "3"}, digest(state({"a": "3"})), resourceVersion=last, skipped=True) == "alice"
    assert told.authors() == ["bob"]
    assert bob.patch(f"{path}/one", {"data": {"a": values[0]}}).status == 200
    assert alice.delete(f"{path}/one").status == 200
    assert told.change(server, "Deleted", skipped=True) == "alice"
    assert told.authors() == ["bob"]
    mine = [note for note in whole_notes(store).values() if note["uid"] == told.uid]
    assert len(mine) == 5 and all(("to" in note or "from" in note) == (resource == "configmaps") for note in mine)


def test_write_that_was_refused_is_no_note(server, certificates):
    before = noted(server)
    assert server.post(CONFIGMAPS, {"metadata": {"name": "Not A Name"}}).status == 422
    assert server.post(f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "dry"}}).status == 201
    assert server.post("/apis/annals.dev/v1/namespaces/default/providers", {"metadata": {"name": "p"}, "spec": {"data": {}}}).status == 201
    assert noted(server) == before
    assert server.post(CONFIGMAPS, {"metadata": {"name": "one"}}).status == 201
    assert noted(server) == before + 1


def test_whoever_takes_the_last_finalizer_off_has_not_deleted_it(server, certificates, digest, serve, store, folder):
    made = server.post(CONFIGMAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}, "data": {"a": "1"}})
    told = Told(server, uid=made.json["metadata"]["uid"])
    assert told.change(server, "Created", {"a": "1"}, digest(served_state(server, "held"))) == "admin"
    assert server.delete(f"{CONFIGMAPS}/held").status == 200
    before = noted(server)
    assert server.patch(f"{CONFIGMAPS}/held", {"metadata": {"finalizers": None}}).status == 200
    assert noted(server) == before
    assert told.change(server, "Deleted") == "admin"


def test_without_a_recorder_of_the_kind_nothing_is_noted(serve, store):
    own = serve(store.endpoint)
    only = {**RECORDER, "spec": {"resources": [{"groups": [""], "resources": ["services"]}, {"groups": ["apps"], "resources": ["*"]}]}}
    assert own.post("/apis/annals.dev/v1/recorders", only).status == 201
    processes.retry_until(lambda: own.get("/apis/annals.dev/v1/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    assert own.post(CONFIGMAPS, {"metadata": {"name": "one"}}).status == 201
    assert noted(own) == 0
    assert own.post("/api/v1/namespaces/default/services", {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}}).status == 201
    assert noted(own) == 1
