"""Conversion webhooks: definitions whose versions have fields of their own. The webhook is an HTTPS server of the test's; v1 has
spec.hostPort ("host:port"), v2 has spec.host and spec.port."""

import base64
import concurrent.futures
import http.server
import json
import ssl
import threading
import time

import pytest

import processes
from between import HttpsServer

GROUP = "example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/routes.{GROUP}"
APPLY = "application/apply-patch+yaml"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIALS = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def routes(version, name=""):
    return f"/apis/{GROUP}/{version}/namespaces/default/routes" + (f"/{name}" if name else "")


def convert(item, wanted):
    """What the webhook should do."""
    made = {**item, "apiVersion": wanted}
    spec = dict(item.get("spec", {}))
    if wanted.endswith("/v1") and "host" in spec:
        spec["hostPort"] = f"{spec.pop('host')}:{spec.pop('port', 80)}"
    elif not wanted.endswith("/v1") and "hostPort" in spec:
        host, port = spec.pop("hostPort").split(":")
        spec.update(host=host, port=int(port))
    return {**made, "spec": spec}


def answer(review, objects=None, **more):
    request = review["request"]
    objects = [convert(item, request["desiredAPIVersion"]) for item in request["objects"]] if objects is None else objects
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects, **more}
    return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.hook.ports.add(self.client_address[1])
        said = self.server.hook.asked(self.path, review)
        status, body = said if isinstance(said, tuple) else (200, json.dumps(said).encode())
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Hook:
    """say: what is answered, a function of the review. asked_for: (version, names) of each review so far. ports: of those who asked."""

    def __init__(self, certificates):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*map(str, certificates.server))
        self.say, self.reviews, self.paths, self.ports, self.released = answer, [], [], set(), threading.Event()
        self.server = HttpsServer(("127.0.0.1", 0), Handler)
        self.server.hook = self
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}/convert"
        self.bundle = base64.b64encode(certificates.ca.read_bytes()).decode()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def asked(self, path, review):
        self.paths.append(path)
        self.reviews.append(review)
        return self.say(review)

    def asked_for(self):
        return [(r["request"]["desiredAPIVersion"].rpartition("/")[2], [o["metadata"]["name"] for o in r["request"]["objects"]])
                for r in self.reviews]

    def forget(self):
        self.reviews, self.paths = [], []

    def never(self, review):
        self.released.wait(processes.PATIENCE)
        return answer(review)

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hook(certificates):
    running = Hook(certificates)
    yield running
    running.close()


def schema(**spec):
    return {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": spec}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}


def definition(hook, stored="v2", reviews=("v1",), **version):
    v1 = {"name": "v1", "served": True, "schema": schema(hostPort={"type": "string", "pattern": ":"}), "subresources": {"status": {}},
          "additionalPrinterColumns": [{"name": "Address", "type": "string", "jsonPath": ".spec.hostPort"}]}
    v2 = {"name": "v2", "served": True, "subresources": {"status": {}}, **version,
          "schema": schema(host={"type": "string"}, port={"type": "integer", "maximum": 65535}, weight={"type": "integer", "default": 1})}
    for each in (v1, v2):
        each["storage"] = each["name"] == stored
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"routes.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "routes", "kind": "Route"}, "versions": [v1, v2],
                     "conversion": {"strategy": "Webhook", "webhook": {
                         "clientConfig": {"url": hook.url, "caBundle": hook.bundle}, "conversionReviewVersions": list(reviews)}}}}


def route(version, name, **spec):
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Route", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def world(server, hook):
    made = server.post(DEFINITIONS, definition(hook))
    assert made.status == 201, made.text
    server.hook = hook
    return server


def make(world, name="a", **spec):
    made = world.post(routes("v2"), route("v2", name, **(spec or {"host": "h", "port": 1})))
    assert made.status == 201, made.text
    return made.json


def test_an_object_is_shown_in_both_versions(world, hook):
    make(world)
    assert hook.reviews == []
    assert world.get(routes("v2", "a")).json["spec"] == {"host": "h", "port": 1, "weight": 1}
    assert hook.reviews == []
    shown = world.get(routes("v1", "a"))
    assert (shown.status, shown.json["apiVersion"], shown.json["spec"]) == (200, f"{GROUP}/v1", {"hostPort": "h:1"})
    review, = hook.reviews
    assert (review["kind"], review["apiVersion"], hook.paths) == ("ConversionReview", "apiextensions.k8s.io/v1", ["/convert?timeout=30s"])
    assert hook.asked_for() == [("v1", ["a"])]
    assert review["request"]["objects"][0]["spec"] == {"host": "h", "port": 1, "weight": 1}
    assert shown.json["metadata"] == world.get(routes("v2", "a")).json["metadata"]


def stored(store, name="a"):
    return json.loads(store.ctl("get", "--print-value-only", f"/annals/objects/{GROUP}/routes/default/{name}"))


def test_writes_in_a_version_that_is_not_stored(world, hook, store):
    made = world.post(routes("v1"), route("v1", "a", hostPort="h:1"))
    assert (made.status, made.json["apiVersion"], made.json["spec"], made.json["metadata"]["generation"]) == (201, f"{GROUP}/v1", {"hostPort": "h:1"}, 1)
    kept = stored(store)
    assert (kept["apiVersion"], kept["spec"]) == (f"{GROUP}/v2", {"host": "h", "port": 1, "weight": 1})
    assert hook.asked_for() == [("v2", ["a"])]

    put = world.put(routes("v1", "a"), {**made.json, "spec": {"hostPort": "h:2"}})
    assert (put.status, put.json["spec"], put.json["metadata"]["generation"]) == (200, {"hostPort": "h:2"}, 2)
    patched = world.patch(routes("v1", "a"), {"spec": {"hostPort": "i:2"}})
    assert (patched.status, patched.json["spec"], patched.json["metadata"]["generation"]) == (200, {"hostPort": "i:2"}, 3)
    assert stored(store)["spec"] == {"host": "i", "port": 2, "weight": 1}
    status = world.patch(routes("v1", "a/status"), {"status": {"ok": True}, "spec": {"hostPort": "no:9"}})
    assert (status.status, status.json["spec"], status.json["status"]) == (200, {"hostPort": "i:2"}, {"ok": True})
    same = world.patch(routes("v1", "a"), {"spec": {"hostPort": "i:2"}})
    assert same.json["metadata"]["resourceVersion"] == status.json["metadata"]["resourceVersion"]

    refused = world.patch(routes("v1", "a"), {"spec": {"hostPort": "none"}})
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (422, "spec.hostPort")
    dry = world.patch(routes("v1", "a") + "?dryRun=All", {"spec": {"hostPort": "dry:3"}})
    assert (dry.status, dry.json["spec"], stored(store)["spec"]["host"]) == (200, {"hostPort": "dry:3"}, "i")
    assert world.get(routes("v2", "a")).json["spec"] == {"host": "i", "port": 2, "weight": 1}


def test_apply_through_each_version(world):
    body = route("v1", "a", hostPort="h:1")
    made = world.patch(routes("v1", "a") + "?fieldManager=one", body, APPLY)
    assert (made.status, made.json["spec"]) == (201, {"hostPort": "h:1"})
    again = world.patch(routes("v1", "a") + "?fieldManager=one", {**body, "spec": {"hostPort": "h:2"}}, APPLY)
    assert (again.status, again.json["spec"]) == (200, {"hostPort": "h:2"}), again.text
    other = world.patch(routes("v2", "a") + "?fieldManager=two", route("v2", "a", weight=5), APPLY)
    assert (other.status, other.json["spec"]) == (200, {"host": "h", "port": 2, "weight": 5}), other.text
    assert [(m["manager"], m["apiVersion"]) for m in other.json["metadata"]["managedFields"]] == [("one", f"{GROUP}/v1"), ("two", f"{GROUP}/v2")]


def test_a_list_is_converted_in_chunks(world, hook):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: world.post(routes("v2"), route("v2", f"r{i:04}", host="h" * 900, port=i)).status, range(700)))
    assert set(made) == {201} and hook.reviews == []
    listed = world.get(routes("v1")).json
    assert [item["spec"]["hostPort"] for item in listed["items"]] == [f"{'h' * 900}:{i}" for i in range(700)]
    assert {(item["apiVersion"], item["kind"]) for item in listed["items"]} == {(f"{GROUP}/v1", "Route")}
    sizes = [len(names) for _, names in hook.asked_for()]
    assert sum(sizes) == 700 and len(sizes) > 1 and max(sizes) < 500
    assert [name for _, names in hook.asked_for() for name in names] == [f"r{i:04}" for i in range(700)]

    hook.forget()
    page = world.get(routes("v1") + "?limit=2").json
    assert [item["spec"]["hostPort"][-2:] for item in page["items"]] == [":0", ":1"] and hook.asked_for() == [("v1", ["r0000", "r0001"])]
    rest = world.get(f"{routes('v1')}?limit=2&continue={page['metadata']['continue']}").json
    assert [item["metadata"]["name"] for item in rest["items"]] == ["r0002", "r0003"]


def test_forms_of_answers(world, hook):
    make(world)
    rows = world.get(routes("v1"), headers=TABLE).json
    assert [c["name"] for c in rows["columnDefinitions"]] == ["Name", "Address"] and rows["rows"][0]["cells"] == ["a", "h:1"]
    assert world.get(routes("v1", "a"), headers=TABLE).json["rows"][0]["cells"] == ["a", "h:1"]
    assert "hostPort: h:1" in world.get(routes("v1", "a"), headers={"Accept": "application/yaml"}).text
    assert '"hostPort": "h:1"' in world.get(routes("v1", "a") + "?pretty=true").text
    hook.forget()
    assert world.get(routes("v1", "a"), headers=PARTIAL).json["metadata"]["name"] == "a"
    assert world.get(routes("v1"), headers=PARTIALS).json["items"][0]["metadata"]["name"] == "a"
    assert world.get(routes("v1") + "?labelSelector=none=here").json["items"] == []
    assert hook.reviews == []


def test_watches_show_their_version(world, hook):
    make(world)
    for i in range(20):
        make(world, f"b{i:02}", host="h", port=i)
    with world.client.watch(routes("v1") + "?watch=true&resourceVersion=0") as old, world.client.watch(routes("v2") + "?watch=true&resourceVersion=0") as new:
        first = [old.next() for _ in range(21)]
        assert [(e["type"], e["object"]["apiVersion"], e["object"]["spec"]) for e in first] == [
            ("ADDED", f"{GROUP}/v1", {"hostPort": f"h:{port}"}) for port in (1, *range(20))]
        assert hook.asked_for() == [("v1", ["a"] + [f"b{i:02}" for i in range(20)])]
        assert {new.next()["object"]["apiVersion"] for _ in range(21)} == {f"{GROUP}/v2"}
        world.patch(routes("v2", "a"), {"spec": {"port": 7}})
        gone = world.delete(routes("v2", "a"))
        assert gone.json["status"] == "Success"
        events = [old.next(), old.next()]
        assert [(e["type"], e["object"]["spec"]) for e in events] == [("MODIFIED", {"hostPort": "h:7"}), ("DELETED", {"hostPort": "h:7"})]
        versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
        assert versions[0] < versions[1]
    with world.client.watch(routes("v1") + "?watch=true&resourceVersion=0&timeoutSeconds=1", headers=TABLE) as rows:
        assert rows.next()["object"]["rows"][0]["cells"] == ["b00", "h:0"]


def test_questions_share_a_connection(world, hook):
    make(world)
    for _ in range(5):
        assert world.get(f"{routes('v1')}/a").json["spec"] == {"hostPort": "h:1"}
    assert len(hook.reviews) >= 5 and len(hook.ports) == 1


def test_deletion_asks_nobody(world, hook):
    make(world)
    make(world, "b")
    made = make(world, "held")
    world.patch(routes("v2", "held"), {"metadata": {"finalizers": ["example.com/x"]}})
    hook.say = lambda review: (500, b"no")
    hook.forget()
    assert world.delete(routes("v1", "a")).status == 200
    collection = world.delete(routes("v2"))
    assert collection.status == 200 and world.get(routes("v2", "b")).status == 404
    assert world.get(routes("v2", "held")).json["metadata"]["deletionTimestamp"] and made["metadata"]["uid"]
    assert hook.reviews == []
    hook.say = answer
    shown = world.delete(routes("v1", "held"))
    assert (shown.status, shown.json["apiVersion"], shown.json["spec"]) == (200, f"{GROUP}/v1", {"hostPort": "h:1"})
    world.patch(routes("v2", "held"), {"metadata": {"finalizers": None}})
    hook.say = lambda review: (500, b"no")
    make(world, "last")
    assert world.delete(DEFINITION).status == 200
    processes.retry_until(lambda: world.get(DEFINITION).status == 404, "the definition goes with its objects, without the webhook")


def set_stored(world, version, **more):
    present = world.get(DEFINITION).json
    for each in present["spec"]["versions"]:
        each["storage"] = each["name"] == version
    present["spec"].update(more)
    changed = world.put(DEFINITION, present)
    assert changed.status == 200, changed.text


def test_objects_stored_in_several_versions(world, hook, store, serve):
    make(world)
    set_stored(world, "v1")
    make(world, "b", host="i", port=2)
    assert (stored(store)["apiVersion"], stored(store, "b")["apiVersion"]) == (f"{GROUP}/v2", f"{GROUP}/v1")
    assert stored(store, "b")["spec"] == {"hostPort": "i:2"}
    for server in (world, serve(store.endpoint)):
        hook.forget()
        assert [item["spec"] for item in server.get(routes("v1")).json["items"]] == [{"hostPort": "h:1"}, {"hostPort": "i:2"}]
        assert [item["spec"] for item in server.get(routes("v2")).json["items"]] == [
            {"host": "h", "port": 1, "weight": 1}, {"host": "i", "port": 2, "weight": 1}]
        assert hook.asked_for() == [("v1", ["a"]), ("v2", ["b"])]
    hook.forget()
    same = world.put(routes("v2", "a"), world.get(routes("v2", "a")).json)
    assert same.status == 200 and stored(store)["apiVersion"] == f"{GROUP}/v1", "a write that changes nothing brings it into the stored version"
    assert stored(store)["spec"] == {"hostPort": "h:1"} and hook.asked_for() == [("v1", ["a"])]
    assert world.get(DEFINITION).json["status"]["storedVersions"] == ["v2", "v1"]


def test_from_none_to_a_webhook_and_back(server, hook, store):
    none = definition(hook)
    webhook = none["spec"]["conversion"]
    none["spec"]["conversion"] = {"strategy": "None"}
    assert server.post(DEFINITIONS, none).status == 201
    make(server)
    assert server.get(routes("v1", "a")).json["spec"] == {}
    set_stored(server, "v1", conversion=webhook)
    assert server.get(routes("v1", "a")).json["spec"] == {"hostPort": "h:1"}
    assert server.get(routes("v2", "a")).json["spec"] == {"host": "h", "port": 1, "weight": 1}
    set_stored(server, "v2", conversion={"strategy": "None"})
    assert server.get(routes("v2", "a")).json["spec"] == {"host": "h", "port": 1, "weight": 1}
    assert stored(store)["spec"] == {"host": "h", "port": 1, "weight": 1}


# ---- answers that are none ----

def changed(change):
    """Each object of the answer, changed."""
    return lambda review: answer(review, [change(convert(item, review["request"]["desiredAPIVersion"])) for item in review["request"]["objects"]])


def with_metadata(**more):
    return changed(lambda item: {**item, "metadata": {**item["metadata"], **more}})


OF = f"conversion webhook for {GROUP}/v2, Kind=Route"
FAILURES = {
    "status": (lambda r: (500, b"oh"), f'{OF} failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "no-json": (lambda r: (200, b"<html>"), f"{OF} failed: couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value"),
    "empty": (lambda r: (200, b""), f"{OF} failed: 0-length response with status code: 200 and content type: application/json"),
    "kind": (lambda r: {**answer(r), "kind": "Other"},
             f"{OF} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Other"),
    "no-response": (lambda r: {k: v for k, v in answer(r).items() if k != "response"}, f"{OF} failed: no response provided"),
    "message": (lambda r: answer(r, result={"status": "Failure", "message": "I will not"}), f"{OF} failed: I will not"),
    "no-result": (lambda r: answer(r, result={}), f"{OF} failed: response.result.status was '', not 'Success'"),
    "none": (lambda r: answer(r, []), f"{OF} returned 0 objects, expected 1"),
    "two": (lambda r: answer(r, 2 * [convert(r["request"]["objects"][0], r["request"]["desiredAPIVersion"])]), f"{OF} returned 2 objects, expected 1"),
    "version": (changed(lambda item: {**item, "apiVersion": f"{GROUP}/v2"}),
                f"{OF} returned invalid object at index 0: invalid groupVersion (expected {GROUP}/v1, received {GROUP}/v2)"),
    "other-kind": (changed(lambda item: {**item, "kind": "Road"}), f"{OF} returned invalid object at index 0: invalid kind (expected Route, received Road)"),
    "name": (with_metadata(name="b"), f"{OF} returned invalid object at index 0: must have the same name: a != b"),
    "namespace": (with_metadata(namespace="b"), f"{OF} returned invalid object at index 0: must have the same namespace: default != b"),
    "no-metadata": (changed(lambda item: {k: v for k, v in item.items() if k != "metadata"}),
                    f"{OF} returned invalid object at index 0: must have the same name: a != "),
    "labels": (with_metadata(labels=[]), f"{OF} returned invalid metadata: invalid metadata.labels of type []interface {{}} in converted object"),
    "label": (with_metadata(labels={"a": 1}), f"{OF} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"),
    "bad-label": (with_metadata(labels={"a": "-"}), f'{OF} returned invalid metadata: metadata.labels: Invalid value: "-": '),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_bad_answer_is_refused(world, hook, name):
    say, message = FAILURES[name]
    make(world)
    hook.say = say
    for shown in (world.get(routes("v1", "a")), world.get(routes("v1")), world.patch(routes("v1", "a"), {"spec": {"hostPort": "x:1"}})):
        assert (shown.status, shown.json.get("reason"), shown.json["message"][:len(message)]) == (500, None, message), shown.text
    with world.client.watch(routes("v1") + "?watch=true&resourceVersion=0") as watch:
        event = watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["message"][:len(message)]) == ("ERROR", 500, message)
    assert world.get(routes("v2", "a")).json["spec"]["host"] == "h"
    hook.say = answer
    assert world.get(routes("v1", "a")).json["spec"] == {"hostPort": "h:1"}


def test_another_uid_is_refused(world, hook):
    make(world)
    hook.say = lambda review: answer(review, uid="x")
    text = world.get(routes("v1", "a")).json["message"]
    assert text == f'{OF} failed: expected response.uid="{hook.reviews[0]["request"]["uid"]}", got "x"'
    hook.say = with_metadata(uid="x")
    assert "must have the same UID: " in world.get(routes("v1", "a")).json["message"]


def test_metadata_stays_but_labels_and_annotations(world, hook):
    made = make(world)
    hook.say = with_metadata(labels={"by": "hook"}, annotations={"n": "1"}, generation=77, finalizers=["a/b"], creationTimestamp="2001-01-01T00:00:00Z")
    shown = world.get(routes("v1", "a")).json["metadata"]
    assert shown == {**made["metadata"], "labels": {"by": "hook"}, "annotations": {"n": "1"}}


def test_an_old_review_has_neither_uid_nor_kind(server, hook):
    assert server.post(DEFINITIONS, definition(hook, reviews=("v9", "v1beta1", "v1"))).status == 201
    make(server)
    hook.say = lambda review: {"response": answer(review, uid="")["response"]}
    assert server.get(routes("v1", "a")).json["spec"] == {"hostPort": "h:1"}
    assert hook.reviews[0]["apiVersion"] == "apiextensions.k8s.io/v1beta1"


def test_what_a_webhook_makes_is_pruned_and_defaulted(world, hook, store):
    hook.say = changed(lambda item: {**item, "spec": {**item["spec"], "odd": 1}})
    assert world.post(routes("v1"), route("v1", "a", hostPort="h:1")).status == 201
    assert stored(store)["spec"] == {"host": "h", "port": 1, "weight": 1}
    assert world.get(routes("v1", "a")).json["spec"] == {"hostPort": "h:1"}


def test_the_nth_question_fails(world, hook):
    """A write either happens whole, or not at all: whichever of its questions fails."""
    made = world.post(routes("v1"), route("v1", "a", hostPort="h:1")).json
    for n in range(1, 9):
        hook.forget()
        hook.say = lambda review, n=n: (503, b"not now") if len(hook.reviews) == n else answer(review)
        changed_to = world.patch(routes("v1", "a"), {"spec": {"hostPort": f"n{n}:1"}})
        now = world.get(routes("v2", "a")).json
        if changed_to.status == 200:
            assert len(hook.reviews) < n and now["spec"]["host"] == f"n{n}"
            return
        assert (changed_to.status, now["metadata"]["resourceVersion"]) == (500, made["metadata"]["resourceVersion"])
    raise AssertionError("it never succeeded")


# ---- webhooks that hang, are slow or send too much ----

def test_a_webhook_that_hangs_holds_up_nobody_else(world, hook, certificates):
    make(world)
    other = Hook(certificates)
    try:
        second = json.loads(json.dumps(definition(other)).replace("routes", "roads").replace('"Route"', '"Road"'))
        assert world.post(DEFINITIONS, second).status == 201
        roads = routes("v2").replace("routes", "roads")
        assert world.post(roads, {**route("v2", "a", host="h", port=1), "kind": "Road"}).status == 201
        hook.say = hook.never
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            hanging = [pool.submit(world.get, routes("v1", "a") + "?timeout=12s") for _ in range(40)]
            processes.retry_until(lambda: len(hook.reviews) >= 8, "the webhook is asked")
            began = time.monotonic()
            assert world.get(roads.replace("/v2/", "/v1/") + "/a").json["spec"] == {"hostPort": "h:1"}
            assert world.get(routes("v2", "a")).status == 200 and world.patch(routes("v2", "a"), {"spec": {"port": 5}}).status == 200
            assert world.get("/readyz").status == 200
            assert time.monotonic() - began < 8
            assert len(hook.reviews) == 8, "no more questions than that are under way"
            answers = [each.result() for each in hanging]
        assert {each.status for each in answers} == {500}
        assert all("context deadline exceeded" in each.json["message"] for each in answers)
    finally:
        other.close()


def test_an_answer_without_end_is_cut(world, hook):
    make(world)
    hook.say = lambda review: (200, b'{"kind":"' + b"x" * (100 << 20))
    shown = world.get(routes("v1", "a"))
    assert (shown.status, "the answer is too big" in shown.json["message"]) == (500, True)
    hook.say = answer
    assert world.get(routes("v1", "a")).status == 200


def test_clients_leave_while_the_webhook_is_slow(world, hook):
    make(world)
    hook.say = hook.never
    watches = [world.client.watch(routes("v1") + "?watch=true&resourceVersion=0") for _ in range(4)]
    connections = [world.client.connect() for _ in range(4)]
    for i, connection in enumerate(connections):
        connection.request("GET", routes("v1", "a" if i % 2 else ""), headers=world.client._headers(None, None))  # pylint: disable=protected-access
    processes.retry_until(lambda: len(hook.reviews) == 8, "all are asked")
    for each in watches + connections:
        each.close()
    hook.say = answer
    hook.released.set()
    processes.retry_until(lambda: world.get(routes("v1", "a")).status == 200, "the server goes on")


def test_the_server_stops_although_a_webhook_hangs(world, hook):
    """A watch ends at once, a request in its own time."""
    make(world)
    hook.say = hook.never
    with concurrent.futures.ThreadPoolExecutor(2) as pool, world.client.watch(routes("v1") + "?watch=true&resourceVersion=0"):
        asked = pool.submit(world.get, routes("v1", "a") + "?timeout=3s")
        processes.retry_until(lambda: len(hook.reviews) == 2, "the webhook is asked")
        began = time.monotonic()
        world.stop()
        assert time.monotonic() - began < 20
        assert asked.result().status == 500


def test_what_cannot_be_reached(world, hook, certificates, folder):
    make(world)
    for config, problem in (({"url": "https://127.0.0.1:1/x", "caBundle": hook.bundle}, f'{OF} failed: Post "https://127.0.0.1:1/x?timeout=30s": '),
                            ({"url": hook.url}, f'{OF} failed: Post "{hook.url}?timeout=30s": '),
                            ({"service": {"namespace": "none", "name": "of-this-name"}}, f'{OF} failed: Post "https://of-this-name.none.svc:443/?timeout=30s": ')):
        present = world.get(DEFINITION).json
        present["spec"]["conversion"]["webhook"]["clientConfig"] = config
        assert world.put(DEFINITION, present).status == 200
        shown = world.get(routes("v1", "a"))
        assert (shown.status, shown.json["message"][:len(problem)]) == (500, problem)


def test_which_conversions_are_refused(server, hook):
    for change, field in (({"webhook": None}, "spec.conversion.webhookClientConfig"), ({"strategy": "Magic"}, "spec.conversion.strategy"),
                          ({"webhook": {"clientConfig": {"url": "http://x"}, "conversionReviewVersions": ["v1"]}}, "spec.conversion.webhookClientConfig.url"),
                          ({"webhook": {"clientConfig": {"url": hook.url}, "conversionReviewVersions": ["v7"]}}, "spec.conversion.conversionReviewVersions")):
        wrong = definition(hook)
        wrong["spec"]["conversion"].update(change)
        refused = server.post(DEFINITIONS, wrong)
        assert (refused.status, field in [c["field"] for c in refused.json["details"]["causes"]]) == (422, True), refused.text


def test_requests_that_hang_take_no_place(serve, store, hook):
    server = serve(store.endpoint, "--max-requests-inflight=10")
    assert server.post(DEFINITIONS, definition(hook)).status == 201
    make(server)
    hook.say = hook.never

    def hang(_):
        """Many at once may find no place before they have come to their question."""
        shown = server.get(routes("v1", "a") + "?timeout=4s")
        while shown.status == 429:
            shown = server.get(routes("v1", "a") + "?timeout=4s")
        return shown

    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        hanging = [pool.submit(hang, i) for i in range(30)]
        processes.retry_until(lambda: len(hook.reviews) == 8, "the webhook is asked")
        assert {server.get(routes("v2", "a")).status for _ in range(20)} == {200}
        assert {each.result().status for each in hanging} == {500}
    hook.released.set()
    hook.say = answer
    assert server.get(routes("v1", "a")).status == 200


def test_no_field_is_immutable_where_a_webhook_converts(server, hook):
    wrong = definition(hook)
    wrong["metadata"]["annotations"] = {"annals.dev/immutable": "spec.host"}
    refused = server.post(DEFINITIONS, wrong)
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (422, "metadata.annotations[annals.dev/immutable]")


def test_export_and_import_ask_nobody(world, hook, store, etcd, folder):
    make(world)
    make(world, "b")

    def annals(command, target, *flags):
        return processes.run([processes.BIN, command, f"--etcd-servers={target.endpoint}", *flags])
    file = folder / "all.jsonl"
    hook.forget()
    assert annals("export", store, f"--output={file}").returncode == 0
    fresh = etcd()
    assert annals("import", fresh, "--exact", str(file)).returncode == 0
    assert stored(fresh) == stored(store)
    assert hook.reviews == []

    set_stored(world, "v1")
    other = folder / "mixed.jsonl"
    assert annals("export", store, f"--output={other}").returncode == 0
    lines = [json.loads(line) for line in other.read_text().splitlines()]
    assert [line["apiVersion"] for line in lines if line.get("kind") == "Route"] == 2 * [f"{GROUP}/v2"]
    refused = annals("import", etcd(), str(other))
    assert refused.returncode != 0 and "routes is stored in version v1, and only a webhook makes that of version v2" in refused.stderr + refused.stdout
