"""What clients of Kubernetes' own kinds send and ask for: protobuf. kubectl's `create namespace` and client-go's typed clients write in no other form.

That the bytes are kube-apiserver's is for tests/unit/test_protobuf_write.c and tests/cluster; here, that they are where they should be.
"""

import base64
import gzip
import io
import itertools
import json
import random

import pytest

from objects import APPS, NAMESPACES, revision, revisions
from processes import retry_until
from protobuf_fields import PROTOBUF, decoded, every, fields, frames, only, opened, without_empty

STREAM = PROTOBUF + ";stream=watch"
META = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
META_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SEND = {"Content-Type": PROTOBUF, "Accept": "application/json"}
LISTED = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"


def varint(n):
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def part(number, value):
    """A field: a number, or bytes of any meaning."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(api_version, kind, raw):
    return b"k8s\0" + part(1, part(1, api_version) + part(2, kind)) + part(2, raw)


def revision_body(name="a", data='{"n":1.0}', number=1):
    return envelope(APPS, "ControllerRevision", part(1, part(1, name)) + part(2, part(1, data)) + part(3, number))


class Namespace:
    """kubectl on a namespace that a test makes itself."""

    def __init__(self, annals, binary, name):
        self.annals, self.binary, self.name, self.path = annals, binary, name, f"{NAMESPACES}/{name}"

    def __call__(self, *arguments):
        done = self.annals.kubectl(*arguments, binary=self.binary)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def k(annals, kubectl_binary, namespace):
    made = Namespace(annals, kubectl_binary, namespace + "-typed")
    yield made
    annals.delete(made.path)


def test_kubectl_creates_and_deletes_a_namespace(k):
    assert k("create", "namespace", k.name) == f"namespace/{k.name} created\n"
    stored = k.annals.get(k.path).json
    assert stored["status"] == {"phase": "Active"}
    assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": k.name}
    assert f'namespace "{k.name}" deleted' in k("delete", "ns", k.name)
    assert k.annals.get(k.path).status == 404


def test_kubectl_creates_a_namespace_for_show(k):
    assert k("create", "ns", k.name, "--dry-run=server") == f"namespace/{k.name} created (server dry run)\n"
    assert k.annals.get(k.path).status == 404


def test_a_controller_finishes_a_namespace(annals):
    """One of its own beside the namespace controller, which it waits for."""
    path = f"{NAMESPACES}/finished"
    assert annals.post(NAMESPACES, {"metadata": {"name": "finished"}, "spec": {"finalizers": ["example.com/mine"]}}).status == 201
    assert annals.delete(path).status == 200
    retry_until(lambda: annals.get(path).json["spec"]["finalizers"] == ["example.com/mine"], "the namespace controller's consent")
    empty = envelope("v1", "Namespace", part(1, part(1, "finished")) + part(2, b"") + part(3, b""))
    assert annals.request("PUT", path + "/finalize", empty, headers=SEND).status == 200
    assert annals.get(path).status == 404


def test_data_keeps_its_spelling(annals, namespace):
    data = '{"n":1.0, "big":18446744073709551617}'
    made = annals.request("POST", revisions(namespace), revision_body(data=data), headers=SEND)
    assert (made.status, made.headers["Content-Type"]) == (201, "application/json")
    assert data.replace(" ", "") in annals.get(f"{revisions(namespace)}/a").text


def test_an_update_in_protobuf_is_one_in_json(annals, namespace):
    annals.post(revisions(namespace), revision(data={"n": 1}))
    path = f"{revisions(namespace)}/a"
    same = annals.request("PUT", path, revision_body(data='{"n":1}', number=2), headers=SEND)
    assert (same.status, same.json["revision"]) == (200, 2)
    other = annals.request("PUT", path, revision_body(data='{"n":2}'), headers=SEND)
    assert (other.status, other.json["reason"]) == (422, "Invalid")


def test_options_of_a_deletion(annals, namespace):
    annals.post(revisions(namespace), revision())
    path = f"{revisions(namespace)}/a"
    options = {"dry run": part(5, "All"), "precondition": part(2, part(1, "another-uid")), "none": b""}
    got = {name: annals.request("DELETE", path, envelope("v1", "DeleteOptions", raw), headers=SEND).status for name, raw in options.items()}
    assert got == {"dry run": 200, "precondition": 409, "none": 200}
    assert annals.get(path).status == 404


@pytest.mark.parametrize("body, message", [
    (b"k8s\0junk", "the object provided is unrecognized (must be of type ControllerRevision): unexpected EOF (6b3873006a756e6b)"),
    (b"{}", "the object provided is unrecognized (must be of type ControllerRevision): provided data does not appear to be a protobuf message, "
            "expected prefix [107 56 115 0] ({})"),
    (envelope("v1", "Pod", b"junk"), "Pod in version \"v1\" cannot be handled as a ControllerRevision: "),
    (revision_body(data='{"n":}'), 'ControllerRevision in version "v1" cannot be handled as a ControllerRevision: ControllerRevision.data: '
                                   "invalid character '}' looking for beginning of value"),
], ids=["junk", "json", "another-kind", "opaque-part"])
def test_what_is_malformed_is_refused_with_a_sentence(annals, namespace, body, message):
    refused = annals.request("POST", revisions(namespace), body, headers=SEND)
    assert (refused.status, refused.json["reason"]) == (400, "BadRequest")
    assert refused.json["message"].startswith(message)


def test_patches_are_never_protobuf(annals, namespace):
    assert annals.request("PATCH", f"{NAMESPACES}/{namespace}", b"k8s\0", headers=SEND).status == 415


def test_other_formats_are_told_what_there_is(annals, namespace):
    refused = annals.request("POST", revisions(namespace), b"<a/>", headers={"Content-Type": "application/xml"})
    assert (refused.status, refused.json["message"]) == (415, f"{LISTED}, {PROTOBUF}")


# ---- answers ----

def name_of(item):
    return only(only(item, 1), 1).decode()


def asked(annals, path, form="", method="GET", body=None, **headers):
    answer = annals.request(method, path, body, headers={"Accept": PROTOBUF + form, "Content-Type": "application/json", **headers})
    assert answer.headers["Content-Type"] == PROTOBUF, answer
    return answer


@pytest.fixture
def configmaps(namespace):
    return f"{NAMESPACES}/{namespace}/configmaps"


def config(name, **more):
    return json.dumps({"metadata": {"name": name}, **more})


def test_an_object_is_the_same_in_both_forms(annals, configmaps):
    sent = config("a", data={"b": "1", "a": ""}, binaryData={"x": base64.b64encode(b"\xff\0").decode()}, immutable=True)
    made = asked(annals, configmaps, method="POST", body=sent)
    assert made.status == 201
    for path in (f"{configmaps}/a", f"{configmaps}/a?resourceVersion=0"):  # made, and found again
        assert asked(annals, path).body == made.body
    version, kind, message = opened(made.body)
    assert (version, kind) == ("v1", "ConfigMap")
    shown, metadata = annals.get(f"{configmaps}/a").json, only(message, 1)
    assert [only(metadata, number).decode() for number in (1, 2, 3, 5, 6)] == ["a", "", *(shown["metadata"][name] for name in ("namespace", "uid", "resourceVersion"))]
    assert fields(message)[1:] == [(2, part(1, "a") + part(2, "")), (2, part(1, "b") + part(2, "1")), (3, part(1, "x") + part(2, b"\xff\0")), (4, 1)]
    assert asked(annals, f"{configmaps}/a", method="PATCH", body='{"data":null}', **{"Content-Type": "application/merge-patch+json"}).status == 422


def test_what_was_changed_is_shown_changed(annals, configmaps):
    assert asked(annals, configmaps, method="POST", body=config("a", data={"k": "1"})).status == 201
    for value in ("2", "3"):
        changed = asked(annals, f"{configmaps}/a", method="PUT", body=config("a", data={"k": value}))
        assert asked(annals, f"{configmaps}/a").body == changed.body
        assert every(opened(changed.body)[2], 2) == [part(1, "k") + part(2, value)]
        shown_only = asked(annals, f"{configmaps}/a?dryRun=All", method="PUT", body=config("a", data={"k": "dry"}))
        assert every(opened(shown_only.body)[2], 2) == [part(1, "k") + part(2, "dry")]
        assert asked(annals, f"{configmaps}/a").body == changed.body


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("n, size", [(0, 0), (3, 10), (40, 5000)])
def test_lists(annals, configmaps, n, size, encoding):
    for i in range(n):
        assert annals.post(configmaps, {"metadata": {"name": f"c{i:03}"}, "data": {"k": "x" * size}}).status == 201
    for _ in range(2):
        answer = asked(annals, configmaps, **{"Accept-Encoding": encoding})
        is_packed = answer.headers.get("Content-Encoding") == "gzip"
        assert is_packed == (encoding == "gzip" and n * size > 128 << 10)
        if not is_packed:  # all of these are measured before the first byte is sent
            assert int(answer.headers["Content-Length"]) == len(answer.body)
        version, kind, message = opened(gzip.decompress(answer.body) if is_packed else answer.body)
        assert (version, kind) == ("v1", "ConfigMapList")
        items = every(message, 2)
        assert [name_of(item) for item in items] == [f"c{i:03}" for i in range(n)]
        assert all(every(item, 2) == [part(1, "k") + part(2, "x" * size)] for item in items)
    for i, item in enumerate(items):
        assert opened(asked(annals, f"{configmaps}/c{i:03}").body)[2] == item


def test_packed_lists_are_what_they_are_unpacked(annals, configmaps):
    """Runs of one form are not taken for those of another, and what has changed is packed anew."""
    for i in range(60):
        assert annals.post(configmaps, {"metadata": {"name": f"c{i:03}"}, "data": {"k": f"{i}-" * 2500}}).status == 201
    forms = [PROTOBUF, "application/json", PROTOBUF + META_LIST, PROTOBUF + META_LIST.replace("v=v1", "v=v1beta1")]
    annotations = {"metadata": {"annotations": {"n.io/a": "x" * 5000}}}
    for i in range(60):
        assert annals.patch(f"{configmaps}/c{i:03}", annotations).status == 200
    for _ in range(3):
        version = annals.get(configmaps).json["metadata"]["resourceVersion"]  # controllers write meanwhile, elsewhere
        same = f"{configmaps}?resourceVersion={version}&resourceVersionMatch=Exact"
        for form in forms:
            plain, packed = (annals.get(same, headers={"Accept": form, "Accept-Encoding": encoding}) for encoding in ("identity", "gzip"))
            assert packed.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(packed.body) == plain.body
        assert annals.patch(f"{configmaps}/c030", {"data": {"k": "changed"}}).status == 200


def test_a_list_in_pages(annals, configmaps):
    for name in "abc":
        annals.post(configmaps, {"metadata": {"name": name}})
    first = opened(asked(annals, f"{configmaps}?limit=2").body)[2]
    assert ([name_of(item) for item in every(first, 2)], every(only(first, 1), 4)) == (["a", "b"], [1])
    token = only(only(first, 1), 3).decode()
    last = opened(asked(annals, f"{configmaps}?limit=2&continue={token}").body)[2]
    assert ([name_of(item) for item in every(last, 2)], only(only(last, 1), 3), every(only(last, 1), 4)) == (["c"], b"", [])


def test_more_than_is_held_while_a_list_is_sent(annals, configmaps):
    """The messages are 6 MiB."""
    for i in range(12):
        assert annals.post(configmaps, {"metadata": {"name": f"c{i:03}"}, "data": {"k": chr(97 + i) * 500000}}).status == 201
    items = every(opened(asked(annals, configmaps).body)[2], 2)
    assert [(name_of(item), every(item, 2)) for item in items] == [(f"c{i:03}", [part(1, "k") + part(2, chr(97 + i) * 500000)]) for i in range(12)]


@pytest.mark.parametrize("version, list_number, item_number", [("v1", 1, 2), ("v1beta1", 2, 1)])
def test_metadata_alone(annals, namespace, version, list_number, item_number):
    """Also of kinds that have no protobuf of their own."""
    providers = f"/apis/annals.dev/v1/namespaces/{namespace}/providers"
    annals.post(providers, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"data": {}}})
    of_one = opened(asked(annals, f"{providers}/p", META.replace("v=v1", f"v={version}")).body)
    assert of_one[:2] == (f"meta.k8s.io/{version}", "PartialObjectMetadata")
    assert [number for number, _ in fields(of_one[2])] == [1] and every(only(of_one[2], 1), 11) == [part(1, "a") + part(2, "b")]
    of_all = opened(asked(annals, providers, META_LIST.replace("v=v1", f"v={version}")).body)
    assert of_all[:2] == (f"meta.k8s.io/{version}", "PartialObjectMetadataList")
    assert every(of_all[2], item_number) == [of_one[2]]
    assert only(only(of_all[2], list_number), 2).decode().isdigit()


def test_kinds_without_numbers(annals, namespace):
    """As custom resources at kube-apiserver: JSON where it is also accepted, else a refusal, which has numbers."""
    for resource, is_protobuf in ((revisions(namespace), True), (revisions(namespace).replace("apps/v1", "annals.dev/v1"), False)):
        answer = annals.get(resource, headers={"Accept": f"{PROTOBUF},application/json"})
        assert (answer.status, answer.headers["Content-Type"]) == (200, PROTOBUF if is_protobuf else "application/json")
    providers = f"/apis/annals.dev/v1/namespaces/{namespace}/providers"
    refused = asked(annals, providers)
    assert (refused.status, opened(refused.body)[:2]) == (406, ("v1", "Status"))
    accepted = annals.get(providers, headers={"Accept": f"{PROTOBUF},application/json"})
    assert (accepted.status, accepted.headers["Content-Type"]) == (200, "application/json")
    missing = asked(annals, f"{providers}/none", ",application/json")
    assert (missing.status, only(opened(missing.body)[2], 4), only(opened(missing.body)[2], 6)) == (404, b"NotFound", 404)


def test_tables_have_no_protobuf(annals):
    form = ";as=Table;g=meta.k8s.io;v=v1"
    assert annals.get(NAMESPACES, headers={"Accept": PROTOBUF + form}).status == 406
    assert annals.get(NAMESPACES, headers={"Accept": f"{PROTOBUF}{form},application/json{form}"}).json["kind"] == "Table"


def watched(annals, path, form=""):
    answer = annals.get(path, headers={"Accept": PROTOBUF + form})
    assert (answer.status, answer.headers["Content-Type"]) == (200, STREAM)
    return [(kind, *opened(body)) for kind, body in frames(io.BytesIO(answer.body).read)]


INITIAL = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"


@pytest.mark.parametrize("form, version, kind", [("", "v1", "ConfigMap"), (";stream=watch", "v1", "ConfigMap"), (META, "meta.k8s.io/v1", "PartialObjectMetadata")])
def test_a_watch(annals, configmaps, form, version, kind):
    start = annals.get(configmaps).json["metadata"]["resourceVersion"]
    annals.post(configmaps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    annals.put(f"{configmaps}/a", {"metadata": {"name": "a"}, "data": {"k": "2"}})
    shown = opened(asked(annals, f"{configmaps}/a", form.replace(";stream=watch", "")).body)
    *initial, mark = watched(annals, f"{configmaps}?{INITIAL}", form)
    assert initial == [("ADDED", *shown)]
    assert mark[:3] == ("BOOKMARK", version, kind)
    assert every(only(mark[3], 1), 12) == [part(1, "k8s.io/initial-events-end") + part(2, "true")]
    annals.delete(f"{configmaps}/a")
    assert annals.get(f"{configmaps}/a").status == 404  # a consistent read: the cache has it
    events = watched(annals, f"{configmaps}?watch=1&resourceVersion={start}&timeoutSeconds=1", form)
    assert [event[:3] for event in events] == [(kind_of_event, version, kind) for kind_of_event in ("ADDED", "MODIFIED", "DELETED")]
    assert events[1][1:] == shown
    assert [every(event[3], 2) for event in events] == [[part(1, "k") + part(2, value)] if form != META else [] for value in "122"]


def test_a_watch_that_cannot_begin(annals, configmaps):
    [[kind, *status]] = watched(annals, f"{configmaps}?{INITIAL}&resourceVersion=999999999")
    assert (kind, *status[:2], only(status[2], 6)) == ("ERROR", "v1", "Status", 504)


def test_what_deletions_answer(annals, configmaps):
    for name in "ab":
        annals.post(configmaps, {"metadata": {"name": name}})
    gone = opened(asked(annals, f"{configmaps}/a", method="DELETE").body)
    assert (gone[:2], only(gone[2], 2)) == (("v1", "Status"), b"Success")
    assert [name_of(item) for item in every(opened(asked(annals, configmaps, method="DELETE").body)[2], 2)] == ["b"]


def test_scale_and_reviews(annals, namespace):
    sets = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    annals.post(sets, {"metadata": {"name": "web"}, "spec": {"replicas": 0, "serviceName": "web", "selector": {"matchLabels": {"a": "b"}}, "template": template}})
    version, kind, scale = opened(asked(annals, f"{sets}/web/scale").body)
    assert (version, kind, only(scale, 2), only(only(scale, 3), 2)) == ("autoscaling/v1", "Scale", part(1, 0), b"a=b")
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    version, kind, review = opened(asked(annals, reviews, method="POST", body='{"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}').body)
    assert (version, kind, only(only(review, 3), 1)) == ("authorization.k8s.io/v1", "SelfSubjectAccessReview", 1)


@pytest.mark.parametrize("path, kind", [("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/apis/apps", "APIGroup"), ("/apis/apps/v1", "APIResourceList"), ("/api/v1", "APIResourceList")])
def test_discovery(annals, path, kind):
    assert opened(asked(annals, path).body)[1] == kind


# (Accept, is JSON among what it names?): upstream's router ignores order and parameters.
ACCEPTED = [(f"{PROTOBUF},application/json", True), (f"application/json;q=0.1,{PROTOBUF}", True), ("application/json;as=Table;v=v1;g=meta.k8s.io", True),
            ("text/html,*/*;q=0.1", True), (PROTOBUF, False), ("application/yaml", False), ("application/*", False), ("APPLICATION/JSON", False)]


@pytest.mark.parametrize("accept, is_accepted", ACCEPTED)
def test_paths_that_are_no_resources(annals, accept, is_accepted):
    """Each has one form. Some look at Accept before they answer."""
    version = annals.get("/version", headers={"Accept": accept})
    assert version.status == (200 if is_accepted else 406)
    if is_accepted:
        assert version.headers["Content-Type"] == "application/json" and version.text.startswith('{\n  "major": "1"')
    for path in ("/", "/index.html"):
        index = annals.get(path, headers={"Accept": accept})
        assert (index.status, index.headers["Content-Type"], index.text[:5]) == (200, "application/json", '{\n  "')
    for path in ("/healthz", "/livez", "/readyz", "/livez/ping"):
        assert (annals.get(path, headers={"Accept": accept}).status, annals.get(path).text) == (200, "ok")
    assert annals.get("/metrics", headers={"Accept": accept}).text.startswith("# HELP")


def test_openapi_says_that_its_refusals_depend_on_accept(annals):
    for path in ("/openapi/v2", "/openapi/v3/apis/apps/v1"):
        refused = annals.get(path, headers={"Accept": "text/html"})
        assert (refused.status, refused.headers["Vary"], refused.body) == (406, "Accept", b"")


def test_aggregated_discovery(annals):
    form = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = annals.get("/apis", headers={"Accept": PROTOBUF + form})
    assert answer.headers["Content-Type"] == PROTOBUF + form
    assert opened(answer.body)[:2] == ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")


def test_it_is_kept_for_the_next(annals, configmaps):
    annals.post(configmaps, {"metadata": {"name": "a"}, "data": {"k": "v"}})

    def counted():
        text = annals.get("/metrics").text
        return [float(line.split()[1]) for line in text.splitlines() if line.startswith(("annals_protobuf_found_total ", "annals_protobuf_made_total "))]

    asked(annals, f"{configmaps}/a")
    before = counted()
    for path in (f"{configmaps}/a", configmaps):
        asked(annals, path)
    after = counted()
    assert [b - a for a, b in zip(before, after)] == [2, 0]


# ---- the same in all forms ----

JSON_META, PROTOBUF_META = "application/json" + META, PROTOBUF + META
FORMS = ["application/json", PROTOBUF, JSON_META, PROTOBUF_META]
NAMES = ["a", "b", "c"]


def tier(value):
    return value["metadata"].get("labels", {}).get("tier")


def phase(value):
    return value.get("status", {}).get("phase")


# Selectors, and which objects they mean.
SELECTORS = [("", lambda value: True), ("labelSelector=tier=red", lambda value: tier(value) == "red"), ("labelSelector=!tier", lambda value: tier(value) is None),
             ("fieldSelector=metadata.name=b", lambda value: value["metadata"]["name"] == "b")]
PENDING = ("fieldSelector=status.phase=Pending", lambda value: phase(value) == "Pending")


class Story:
    """Random writes to three objects of a kind; every state of them, which all reads in all forms must show."""

    def __init__(self, annals, path, body, change, selectors, seed):
        self.annals, self.path, self.body, self.change, self.selectors = annals, path, body, change, selectors
        self.random = random.Random(seed)
        self.there = dict.fromkeys(NAMES)
        self.events = []  # (type, name, old, new), and from the first watch on: revision
        self.revisions = [int(annals.get(path).json["metadata"]["resourceVersion"])]
        self.n = 0

    # ---- writes ----

    def write(self):
        name = self.random.choice(NAMES)
        self.n += 1
        if not self.there[name]:
            self.create(name)
        else:
            self.random.choice([self.patch, self.patch, self.patch, self.delete])(name)
        answer = self.annals.get(f"{self.path}/{name}")
        old, new = self.there[name], answer.json if answer.status == 200 else None
        if old != new:
            self.events.append(({(True, False): "DELETED", (False, True): "ADDED", (True, True): "MODIFIED"}[bool(old), bool(new)], name, old, new))
        self.there[name] = new

    def labels(self):
        return {"tier": self.random.choice(["red", "blue", None])}

    def create(self, name):
        labels = {key: value for key, value in self.labels().items() if value}
        made = self.annals.post(self.path, {**self.body, "metadata": {"name": name, "labels": labels, **self.body.get("metadata", {})}})
        assert made.status == 201, made

    def patch(self, name):
        subresource, change = self.change(self.n)
        finalizers = {"finalizers": self.random.choice([["n.io/f"], None])}
        if self.there[name]["metadata"].get("deletionTimestamp"):
            finalizers = {"finalizers": None}
        elif "metadata" in self.body:
            finalizers = {}
        if subresource and self.random.random() < 0.5:
            assert self.annals.patch(f"{self.path}/{name}/{subresource}", change).status == 200
        else:
            patch = {"metadata": {"labels": self.labels(), **finalizers}, **({} if subresource else change)}
            assert self.annals.patch(f"{self.path}/{name}", patch).status == 200

    def delete(self, name):
        assert self.annals.delete(f"{self.path}/{name}?gracePeriodSeconds=0").status in (200, 202)

    # ---- reads ----

    def shown(self, value, form):
        """An object as an answer in that form should have it."""
        kept = {"metadata": value["metadata"], **({} if "Partial" in form else {name: value[name] for name in ("data", "revision") if name in value})}
        return without_empty({**kept, **({"status": {"phase": phase(value)}} if phase(value) and "Partial" not in form else {})})

    def read(self, path, form):
        form = form.replace("Metadata;", "MetadataList;") if path.startswith("?") else form
        answer = self.annals.get(self.path + path, headers={"Accept": form})
        return answer.status, decoded(answer.body) if answer.headers["Content-Type"].startswith(PROTOBUF) else answer.json

    def get(self):
        name, form = self.random.choice(NAMES), self.random.choice(FORMS)
        status, body = self.read(f"/{name}{self.random.choice(['', '?resourceVersion=0'])}", form)
        if not self.there[name]:
            assert (status, body["reason"]) == (404, "NotFound")
        else:
            assert self.shown(body, form) == self.shown(self.there[name], form), f"GET {name} as {form}"

    def list(self):
        """Now, or as it was."""
        (selector, matches), form = self.random.choice(self.selectors), self.random.choice(FORMS)
        n = self.random.randrange(len(self.revisions))
        there = {}
        for kind, name, _, new in self.events[:n] if n else self.events:
            there[name] = None if kind == "DELETED" else new
        exact = f"&resourceVersionMatch=Exact&resourceVersion={self.revisions[n]}" if n else ""
        status, body = self.read(f"?{selector}{exact}", form)
        assert status == 200, body
        wanted = [self.shown(there[name], form) for name in NAMES if there.get(name) and matches(there[name])]
        assert [self.shown(item, form) for item in body["items"] or [] if item["metadata"]["name"] in NAMES] == wanted, f"LIST {selector}{exact} as {form}"

    def expected(self, start, matches, form):
        for (kind, _, old, new), revision in zip(self.events[start:], self.revisions[start + 1:]):
            before, now = bool(old) and matches(old), bool(new) and matches(new)
            if before and not now:
                old = {**old, "metadata": {**old["metadata"], "resourceVersion": str(revision)}}
                yield "DELETED", self.shown(old, form)
            elif now:
                yield "MODIFIED" if before else "ADDED", self.shown(new, form)

    def stream(self, selector, form, revision):
        """(type, object) of the watch, without end."""
        with self.annals.watch(f"{self.path}?watch=1&resourceVersion={revision}&{selector}", headers={"Accept": form}) as watch:
            assert watch.status == 200
            if form.startswith(PROTOBUF):
                events = ((kind, decoded(body)) for kind, body in frames(watch.response.read))
            else:
                events = ((event["type"], event["object"]) for event in watch)
            yield from (event for event in events if event[1]["metadata"]["name"] in NAMES)

    def watch(self):
        (selector, matches), form = self.random.choice(self.selectors), self.random.choice(FORMS)
        start = self.random.randrange(len(self.events))
        wanted = list(self.expected(start, matches, form))
        seen = [(kind, self.shown(body, form)) for kind, body in itertools.islice(self.stream(selector, form, self.revisions[start]), len(wanted))]
        assert seen == wanted, f"WATCH {selector} from {self.revisions[start]} as {form}"

    def learn_revisions(self):
        """Deletions alone do not answer theirs: a watch in a form that is not compared with itself."""
        n = len(self.events) - len(self.revisions) + 1
        for _, body in itertools.islice(self.stream("", JSON_META, self.revisions[-1]), n):
            self.revisions.append(int(body["metadata"]["resourceVersion"]))
        for (_, _, _, new), revision in zip(self.events[-n:] if n else [], self.revisions[-n:]):
            assert not new or new["metadata"]["resourceVersion"] == str(revision)


KINDS = {
    "configmaps": (lambda namespace: f"{NAMESPACES}/{namespace}/configmaps", {"data": {"n": "0"}}, lambda n: ("", {"data": {"n": str(n)}}), SELECTORS),
    "controllerrevisions": (revisions, {"data": {"n": 1}, "revision": 1}, lambda n: ("", {"revision": n}), SELECTORS),
    # Deletion of a pod without finalizers is two changes, as at kube-apiserver.
    "pods": (lambda namespace: f"{NAMESPACES}/{namespace}/pods", {"metadata": {"finalizers": ["n.io/f"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
             lambda n: ("status", {"status": {"phase": ["Pending", "Running"][n % 2]}}), [*SELECTORS, PENDING]),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_every_form_shows_the_same(annals, namespace, kind, seed):
    """Events, GETs and LISTs, with selectors and without, of now and of earlier states: bytes that are kept for one are not shown as another."""
    path, *rest = KINDS[kind]
    story = Story(annals, path(namespace), *rest, seed)
    for _ in range(30):
        while len(story.events) < len(story.revisions):
            story.write()
        # Each read may be the first one that encodes the new state, or the one before it.
        for _ in range(2):
            story.random.choice([story.get, story.list])()
        story.learn_revisions()
        for _ in range(4):
            story.random.choice([story.get, story.list, story.watch, story.watch])()


@pytest.mark.parametrize("is_read_first", [False, True])
def test_an_object_that_leaves_a_selector(annals, namespace, is_read_first):
    """Its DELETED event has the old content and the new revision. A GET has the new content at the same revision."""
    pods = f"{NAMESPACES}/{namespace}/pods"
    made = annals.post(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}).json
    running = annals.patch(f"{pods}/p/status", {"status": {"phase": "Running"}}).json

    def read():
        assert decoded(asked(annals, f"{pods}/p").body)["status"] == {"phase": "Running"}
        [item] = decoded(asked(annals, pods).body)["items"]
        assert item["status"] == {"phase": "Running"}

    def leave():
        path = f"{pods}?watch=1&fieldSelector=status.phase=Pending&resourceVersion={made['metadata']['resourceVersion']}"
        with annals.watch(path, headers={"Accept": PROTOBUF}) as watch:
            kind, body = next(frames(watch.response.read))
        gone = decoded(body)
        assert (kind, gone["status"]) == ("DELETED", {"phase": "Pending"})
        assert gone["metadata"]["resourceVersion"] == running["metadata"]["resourceVersion"]

    for step in [read, leave, read, leave] if is_read_first else [leave, read, leave]:
        step()
