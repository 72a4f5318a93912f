"""Requests that are right: every verb, forms of answers, limits of HTTP itself, over raw sockets where a client library is too polite."""

import gzip
import json
import re
import socket
import ssl
import zlib

import pytest

from metrics import Metrics
from objects import ANNALS, APPLY, APPS, BETA, API_VERSIONS, JSON_PATCH, MERGE, NAMESPACES, STRATEGIC, revision, revisions
from processes import PATIENCE, run

MAX_BODY = 3 << 20
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


@pytest.fixture(params=API_VERSIONS)
def api_version(request):
    return request.param


@pytest.fixture
def path(annals, namespace, api_version):
    return revisions(namespace, api_version)


# ---- verbs ----


def test_life_of_an_object(annals, path, api_version):
    made = annals.post(path, revision(api_version=api_version, labels={"n": "1"}))
    assert made.status == 201
    meta = made.json["metadata"]
    assert (made.json["apiVersion"], made.json["kind"], meta["name"]) == (api_version, "ControllerRevision", "a")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert annals.get(path + "/a").json == made.json

    put = annals.put(path + "/a", {**made.json, "revision": 2})
    assert (put.status, put.json["revision"]) == (200, 2)
    assert int(put.json["metadata"]["resourceVersion"]) > int(meta["resourceVersion"])
    for number, (kind, patch) in enumerate([(MERGE, {"revision": 3}), (STRATEGIC, {"revision": 4}),
                                            (JSON_PATCH, [{"op": "replace", "path": "/revision", "value": 5}])], 3):
        patched = annals.patch(path + "/a", patch, kind=kind)
        assert (patched.status, patched.json["revision"]) == (200, number)
    applied = annals.patch(path + "/a?fieldManager=me", {"apiVersion": api_version, "kind": "ControllerRevision", "metadata": {"name": "a", "labels": {"m": "2"}}}, kind=APPLY)
    assert (applied.status, applied.json["metadata"]["labels"]) == (200, {"m": "2", "n": "1"})
    assert applied.json["metadata"]["uid"] == meta["uid"]
    assert [item["metadata"]["name"] for item in annals.get(path).json["items"]] == ["a"]

    gone = annals.delete(path + "/a")
    assert (gone.status, gone.json["kind"], gone.json["status"], gone.json["details"]["uid"]) == (200, "Status", "Success", meta["uid"])
    assert annals.get(path + "/a").status == 404
    assert annals.get(path).json["items"] == []


def test_names_are_made_up_when_asked(annals, path, api_version):
    body = revision(api_version=api_version, generateName="web-")
    del body["metadata"]["name"]
    names = {annals.post(path, body).json["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(re.fullmatch("web-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_collection_is_deleted_as_it_was_listed(annals, path, api_version):
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        annals.post(path, revision(name, api_version=api_version, labels={"l": label}))
    gone = annals.delete(path + "?labelSelector=l%3Dx")
    assert (gone.status, [item["metadata"]["name"] for item in gone.json["items"]]) == (200, ["a", "c"])
    assert [item["metadata"]["name"] for item in annals.get(path).json["items"]] == ["b"]


def test_write_that_changes_nothing_is_none(annals, path, api_version):
    before = annals.post(path, revision(api_version=api_version)).json
    for answer in (annals.put(path + "/a", before), annals.patch(path + "/a", {}), annals.patch(path + "/a", [], kind=JSON_PATCH)):
        assert (answer.status, answer.json) == (200, before)


# ---- finalizers, preconditions, dry run ----


def test_finalizers_hold_what_is_deleted(annals, path, api_version):
    annals.post(path, revision(api_version=api_version, finalizers=["example.com/one", "example.com/two"]))
    held = annals.delete(path + "/a")
    assert held.status == 200
    assert held.json["metadata"]["deletionGracePeriodSeconds"] == 0
    stamp = held.json["metadata"]["deletionTimestamp"]
    assert annals.delete(path + "/a").json["metadata"]["deletionTimestamp"] == stamp
    again = annals.post(path, revision(api_version=api_version))
    assert (again.status, again.json["message"].startswith("object is being deleted: ")) == (409, True)
    more = annals.patch(path + "/a", {"metadata": {"finalizers": ["example.com/one", "example.com/two", "example.com/three"]}})
    assert more.status == 422 and "no new finalizers can be added" in more.json["message"]
    assert annals.patch(path + "/a", {"metadata": {"finalizers": ["example.com/two"]}}).status == 200
    last = annals.patch(path + "/a", {"metadata": {"finalizers": None}})
    assert (last.status, "finalizers" in last.json["metadata"]) == (200, False)
    assert annals.get(path + "/a").status == 404


@pytest.mark.parametrize("policy, finalizer", [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_is_left_to_the_collector(annals, path, api_version, policy, finalizer):
    annals.post(path, revision(api_version=api_version, finalizers=["example.com/hold"]))
    held = annals.delete(f"{path}/a?propagationPolicy={policy}")
    assert (held.status, held.json["metadata"]["finalizers"]) == (200, ["example.com/hold", finalizer])
    background = annals.delete(path + "/a?propagationPolicy=Background")
    assert (background.status, background.json["metadata"]["finalizers"]) == (200, ["example.com/hold"])
    assert annals.patch(path + "/a", {"metadata": {"finalizers": None}}).status == 200
    assert annals.get(path + "/a").status == 404


def test_preconditions_that_hold(annals, path, api_version):
    meta = annals.post(path, revision(api_version=api_version)).json["metadata"]
    options = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
    assert annals.put(path + "/a", revision(number=2, api_version=api_version, resourceVersion=meta["resourceVersion"])).status == 200
    assert annals.delete(path + "/a", options).status == 409
    options["preconditions"]["resourceVersion"] = annals.get(path + "/a").json["metadata"]["resourceVersion"]
    assert annals.delete(path + "/a", options).status == 200


def test_dry_run_answers_as_if_and_stores_nothing(annals, path, api_version):
    made = annals.post(path + "?dryRun=All", revision(api_version=api_version))
    assert (made.status, made.json["metadata"]["name"]) == (201, "a")
    assert made.json["metadata"]["uid"] and "resourceVersion" not in made.json["metadata"]
    assert annals.get(path + "/a").status == 404
    assert annals.patch(path + "/b?dryRun=All&fieldManager=me", revision("b", api_version=api_version), kind=APPLY).status == 201

    before = annals.post(path, revision(api_version=api_version)).json
    assert annals.put(path + "/a?dryRun=All", revision(number=2, api_version=api_version)).json["revision"] == 2
    assert annals.patch(path + "/a?dryRun=All", {"revision": 3}).json["revision"] == 3
    assert annals.delete(path + "/a?dryRun=All").json["status"] == "Success"
    assert annals.delete(path + "?dryRun=All").status == 200
    assert annals.get(path).json["items"] == [{key: before[key] for key in before if key not in ("kind", "apiVersion")}]


# ---- forms ----


def test_yaml_in_and_out(annals, path, api_version):
    text = f"apiVersion: {api_version}\nkind: ControllerRevision\nmetadata: {{name: a}}\nrevision: 1\ndata: {{image: 'nginx:1'}}\n"
    made = annals.post(path, text, headers={"Content-Type": "application/yaml", "Accept": "application/yaml"})
    assert (made.status, made.headers["Content-Type"]) == (201, "application/yaml")
    assert made.text.startswith(f"apiVersion: {api_version}\ndata:\n  image: nginx:1\nkind: ControllerRevision\nmetadata:\n")
    again = annals.put(path + "/a", made.text, headers={"Content-Type": "application/yaml"})
    assert (again.status, again.json) == (200, annals.get(path + "/a").json)
    listed = annals.get(path, headers={"Accept": "application/yaml"})
    assert "\nitems:\n- data:\n    image: nginx:1\n" in listed.text
    missing = annals.get(path + "/b", headers={"Accept": "application/yaml"})
    assert (missing.status, "\nreason: NotFound\n" in missing.text) == (404, True)


@pytest.mark.parametrize("query", ["export=true", "export=", "export=x"])
def test_export_is_no_more(annals, path, api_version, query):
    annals.post(path, revision(api_version=api_version))
    refused = annals.get(f"{path}/a?{query}")
    assert (refused.status, refused.json["message"]) == (400, "the export parameter, deprecated since v1.14, is no longer supported")
    assert annals.get(f"{path}/a?export=false").status == annals.get(f"{path}?{query}").status == 200


WRONG_TYPES = {"cannot restore map from string": {"metadata": {"labels": "x"}}, "cannot restore slice from map": {"metadata": {"finalizers": {}}},
               "cannot restore struct from: string": {"metadata": "x"}, "cannot convert int64 to string": {"metadata": {"labels": {"a": 5}}},
               "unrecognized type: int64": {"revision": "x"}}


@pytest.mark.parametrize("words", WRONG_TYPES)
def test_strategic_patch_with_a_value_of_a_wrong_type(annals, path, api_version, words):
    annals.post(path, revision(api_version=api_version, labels={"a": "b"}))
    refused = annals.patch(path + "/a", WRONG_TYPES[words], kind=STRATEGIC)
    assert (refused.status, refused.json["reason"]) == (422, "Invalid")
    assert refused.json["message"].startswith(' "" is invalid: patch: Invalid value: "map[') and refused.json["message"].endswith(f'": {words}')


def test_pretty_is_for_people(annals, path, api_version):
    annals.post(path, revision(api_version=api_version))
    plain = annals.get(path + "/a")
    assert plain.body.endswith(b"}\n") and plain.body.count(b"\n") == 1
    for pretty in (annals.get(path + "/a?pretty=true"), annals.get(path + "/a", headers={"User-Agent": "curl/8"})):
        assert pretty.text.startswith('{\n  "kind": "ControllerRevision",\n')
        assert pretty.json == plain.json
    assert annals.get(path + "/a?pretty=false", headers={"User-Agent": "curl/8"}).body == plain.body
    assert annals.get(path + "?pretty=1").text.startswith('{\n  "kind": "ControllerRevisionList",\n')


def test_table_of_one_and_of_many(annals, path, api_version):
    annals.post(path, revision(api_version=api_version, number=3))
    annals.post(path, revision("b", api_version=api_version))
    one, many = annals.get(path + "/a", headers=TABLE).json, annals.get(path, headers=TABLE).json
    names = [column["name"] for column in many["columnDefinitions"]]
    assert names == ["Name", "Controller", "Revision"] + (["Live", "Size"] if api_version == ANNALS else []) + ["Age"]
    assert (one["kind"], one["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    # Each answer tells the age at its own moment.
    ages = [table["rows"][0]["cells"].pop() for table in (one, many)]
    assert all(re.fullmatch(r"\d+s|\d+m(\d+s)?", age) for age in ages)
    assert one["rows"][0] == many["rows"][0]
    assert many["rows"][0]["cells"][:3] == ["a", "<none>", 3]
    assert many["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    whole = annals.get(path + "?includeObject=Object", headers=TABLE).json["rows"]
    assert [row["object"]["data"] for row in whole] == [{"image": "nginx:1"}] * 2
    assert annals.get(path + "?includeObject=None", headers=TABLE).json["rows"][0]["object"] is None


def test_metadata_alone(annals, path, api_version):
    made = annals.post(path, revision(api_version=api_version)).json
    partial = annals.get(path + "/a", headers=PARTIAL).json
    assert partial == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]}
    listed = annals.get(path, headers=PARTIAL_LIST).json
    assert (listed["kind"], listed["items"]) == ("PartialObjectMetadataList", [partial])


@pytest.mark.parametrize("accept, content_type", [
    (None, "application/json"), ("*/*", "application/json"), ("application/yaml", "application/yaml"),
    ("application/cbor,application/json", "application/json"),
    ("application/json;as=Table;g=meta.k8s.io;v=v9,application/json", "application/json"),
])
def test_first_acceptable_form_is_taken(annals, path, api_version, accept, content_type):
    annals.post(path, revision(api_version=api_version))
    answer = annals.get(path + "/a", headers={"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"]) == (200, content_type)
    assert b"Table" not in answer.body


def test_big_answers_are_packed_when_asked(annals, path, api_version):
    made = annals.post(path, revision(api_version=api_version, data={"text": "words " * 40000})).json
    version = annals.get(path).json["metadata"]["resourceVersion"]
    for where in (path + "/a", f"{path}?resourceVersion={version}&resourceVersionMatch=Exact"):
        packed = annals.get(where, headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        plain = annals.get(where)
        assert plain.headers["Content-Encoding"] is None
        assert gzip.decompress(packed.body) == plain.body
        assert len(packed.body) < len(plain.body) / 10
    annals.post(path, revision("small", api_version=api_version))
    assert annals.get(path + "/small", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"] is None
    assert made["data"] == annals.get(path + "/a").json["data"]


def test_only_big_answers_are_packed_however_big_their_objects_are(annals, path, api_version):
    """The rows of a Table leave most of their objects out."""
    for i in range(8):
        annals.post(path, revision(f"r{i}", api_version=api_version, data={"text": str(i) * 200_000}))

    def settled(body):
        """Without what differs between two lists: ages, and the list's version, which grows with everybody's writes."""
        return re.sub(rb'"\d+s"|(?<=resourceVersion)("?: ?)"\d+"', b"", body)

    def ask(query, accept):
        packed = annals.get(path + query, headers={"Accept": accept, "Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] in (None, "gzip")
        is_packed = packed.headers["Content-Encoding"] == "gzip"
        plain = annals.get(path + query, headers={"Accept": accept}).body
        body = gzip.decompress(packed.body) if is_packed else packed.body
        assert settled(body) == settled(plain)
        assert is_packed == (len(plain) >= 128 << 10)
        return is_packed

    assert not ask("", TABLE["Accept"])
    assert not ask("?includeObject=None", TABLE["Accept"])
    assert not ask("", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    assert ask("?includeObject=Object", TABLE["Accept"])
    assert ask("", "application/yaml")


def test_list_longer_than_any_buffer_arrives_whole(annals, path, api_version):
    for i in range(40):
        annals.post(path, revision(f"r{i:02}", api_version=api_version, data={"text": str(i) * 20000}))
    answer = annals.get(path)
    assert len(answer.body) == int(answer.headers["Content-Length"]) > 1 << 20
    assert [item["metadata"]["name"] for item in answer.json["items"]] == [f"r{i:02}" for i in range(40)]


def test_packed_list_is_one_stream_and_is_packed_once(annals, path, api_version):
    """Whoever reads it: some clients stop at the end of the first gzip member."""
    for i in range(40):
        annals.post(path, revision(f"r{i:02}", api_version=api_version, data={"text": "".join(f"{i * k:x}," for k in range(2000))}))
    at = f"{path}?resourceVersion={annals.get(path).json['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
    plain = annals.get(at).body
    reader = zlib.decompressobj(31)
    packed = annals.get(at, headers={"Accept-Encoding": "gzip"}).body
    assert reader.decompress(packed) == plain and reader.eof and not reader.unused_data
    made = Metrics(annals).sum("annals_list_gzip_made_total")
    by_curl = run(["curl", "--silent", "--show-error", "--compressed", "--user-agent", "test", "--cacert", annals.ca,
                   "--cert", annals.dir / "admin.crt", "--key", annals.dir / "admin.key", annals.url + at], check=True)
    assert by_curl.stdout.encode() == plain
    assert Metrics(annals).sum("annals_list_gzip_made_total") == made


def test_every_answer_has_an_audit_id_of_its_own(annals, path):
    ids = {annals.get(where).headers["Audit-Id"] for where in (path, path + "/b", "/version", "/apis", "/livez", "/nowhere", path)}
    assert len(ids) == 7 and all(re.fullmatch("[0-9a-f-]{36}", i) for i in ids)


def test_deprecated_version_warns_where_objects_are(annals, namespace):
    path = revisions(namespace, BETA)
    for answer in (annals.post(path, revision(api_version=BETA)), annals.get(path), annals.get(path + "/a"), annals.patch(path + "/a", {"revision": 2}),
                   annals.get(path + "/b"), annals.delete(path + "/a")):
        assert answer.headers.get_all("Warning") == ['299 - "annals.dev/v1beta1 ControllerRevision is deprecated; use annals.dev/v1 ControllerRevision"']
    for api_version in API_VERSIONS:
        assert annals.get(revisions(namespace, api_version)).headers.get_all("Warning") is None


# ---- limits ----


def sized(n, api_version):
    """A revision of exactly n bytes."""
    text = json.dumps(revision("big", api_version=api_version, data={"x": ""}))
    return text.replace('""', '"' + "z" * (n - len(text)) + '"')


def test_bodies_have_a_limit(annals, path, api_version):
    over = annals.post(path, sized(MAX_BODY + 1, api_version))
    assert (over.status, over.json["reason"], over.json["message"]) == (413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}")
    largest = annals.post(path + "?dryRun=All", sized(MAX_BODY, api_version))
    assert largest.status == 201
    assert annals.post(path, sized(1 << 20, api_version)).status == 201
    assert len(annals.get(path + "/big").json["data"]["x"]) > 1000000


def test_object_larger_than_etcd_takes_is_refused_and_nothing_breaks(annals, path, api_version):
    refused = annals.post(path, sized(MAX_BODY, api_version))
    assert refused.status in (413, 500) and "large" in refused.json["message"]
    assert annals.get(path + "/big").status == 404
    assert annals.post(path, revision(api_version=api_version)).status == 201


def nested(n):
    return "[" * n + "]" * n


def test_json_has_a_depth(annals, path, api_version):
    text = json.dumps(revision(api_version=api_version, data={"d": 1}))
    assert annals.post(path + "?dryRun=All", text.replace('{"d": 1}', '{"d":' + nested(500) + "}")).status == 201
    for depth in (600, 100000):
        refused = annals.post(path, text.replace('{"d": 1}', '{"d":' + nested(depth) + "}"))
        assert (refused.status, "exceeded max depth" in refused.json["message"]) == (400, True)


@pytest.mark.parametrize("filler", ["[],", "0,", '{"a":0},', '"",'])
def test_many_tiny_values_do_not_fill_the_memory(annals, path, api_version, filler):
    """3 MiB of almost nothing become hundreds of MiB in a naive tree, and a multiple of that under TSan."""
    body = json.dumps(revision(api_version=api_version, data={"d": 1})).replace('"d": 1', '"d":[' + filler * ((MAX_BODY - 400) // len(filler)) + "0]")
    before = resident(annals)
    answer = annals.post(path + "?dryRun=All", body)
    assert answer.status in (201, 400, 413), answer
    assert is_thread_sanitized(annals) or resident(annals) - before < 256 << 20


def is_thread_sanitized(annals):
    with open(f"/proc/{annals.pid}/maps") as maps:
        return "libtsan" in maps.read()


def resident(annals):
    with open(f"/proc/{annals.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) << 10


def raw(server):
    """A TLS connection on which anything can be said."""
    sock = socket.create_connection((server.client.host, server.client.port), timeout=PATIENCE)
    return server.client.context.wrap_socket(sock, server_hostname=server.client.host)


def say(server, text):
    """Everything that comes back until the server closes, or 3 answers are there."""
    with raw(server) as sock:
        sock.sendall(text if isinstance(text, bytes) else text.encode())
        received = b""
        while received.count(b"HTTP/1.1 ") < 3:
            try:
                piece = sock.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                break
            if not piece:
                break
            received += piece
        return received.decode(errors="replace")


def statuses(text):
    return [int(code) for code in re.findall(r"HTTP/1\.1 (\d\d\d)", text)]


END = "Host: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("request_head, status", [
    ("GET /livez HTTP/1.1\r\n" + END, 200),
    ("GET /livez HTTP/1.0\r\nHost: x\r\n\r\n", 200),
    ("GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
    ("GET /livez HTTP/1.1\r\nHost: y\r\n" + END, 400),
    ("GET /livez HTTP/1.1\r\nA : b\r\n" + END, 400),
    ("GET /livez HTTP/1.1\r\nA: b\r\n c\r\n" + END, 400),
    ("POST /livez HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" + END, 400),
    ("POST /livez HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + END, 400),
    ("POST /livez HTTP/1.1\r\nContent-Length: x\r\n" + END, 400),
    ("POST /livez HTTP/1.1\r\nContent-Length: -1\r\n" + END, 400),
    ("POST /livez HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n" + END, 501),
    ("GET /" + "x" * 40000 + " HTTP/1.1\r\n" + END, 414),
    ("GET /livez HTTP/1.1\r\nX: " + "x" * 40000 + "\r\n" + END, 431),
    ("GET /livez HTTP/1.1\r\n" + "".join(f"X{i}: x\r\n" for i in range(1000)) + END, 431),
    ("GET /livez?" + "&a" * 1000 + " HTTP/1.1\r\n" + END, 200),
    ("GET http://x/livez HTTP/1.1\r\n" + END, 200),
    ("GET\0X /livez HTTP/1.1\r\n" + END, 400),
    ("GET /livez HTTP/1.1\r\nCookie: a=b\r\nContent-Length: 18446744073709551616\r\n" + END, 400),
    ("POST /version HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + END + "0\n\r\n", 400),
], ids=["right", "http-1.0", "no-host", "two-hosts", "blank-before-colon", "folded", "length-and-chunked", "two-lengths", "length-no-number",
        "length-negative", "gzip-chunked", "long-target", "long-header", "many-headers", "many-arguments",
        "absolute-form", "nul-in-method", "huge-length-and-cookie", "bare-lf-in-chunk"])
def test_requests_are_taken_literally(annals, request_head, status):
    assert statuses(say(annals, request_head)) == [status]


@pytest.mark.parametrize("garbage", ["\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0" * 100, "GET\r\n\r\n", "GET /livez HTTP/9.9\r\nHost: x\r\n\r\n"])
def test_garbage_harms_nobody(annals, garbage):
    with raw(annals) as sock:
        sock.sendall(garbage.encode())
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
    assert annals.get("/livez").status == 200


def test_plain_http_gets_nothing(annals):
    with socket.create_connection((annals.client.host, annals.client.port), timeout=PATIENCE) as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not sock.recv(65536).startswith(b"HTTP")


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated")
@pytest.mark.parametrize("version, accepted", [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)])
def test_tls_versions(annals, version, accepted):
    context = ssl.create_default_context(cafile=str(annals.ca))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with socket.create_connection((annals.client.host, annals.client.port), timeout=PATIENCE) as sock:
        try:
            context.wrap_socket(sock, server_hostname=annals.client.host).close()
        except (ssl.SSLError, ConnectionResetError):
            assert not accepted
        else:
            assert accepted


def test_requests_in_one_go_are_answered_in_order(annals):
    one = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /version HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\n" + END
    text = say(annals, one)
    assert statuses(text) == [200, 200, 200]
    assert text.index("gitVersion") < text.rindex("HTTP/1.1 200")


def test_connection_is_used_again(annals, path):
    connection = annals.client.connect()
    for i in range(50):
        connection.request("GET", path if i % 2 else "/nowhere")
        response = connection.getresponse()
        response.read()
        assert response.status == (200 if i % 2 else 404)
    connection.close()


def test_body_in_chunks(annals, path, api_version):
    text = json.dumps(revision(api_version=api_version)).encode()
    connection = annals.client.connect()
    connection.request("POST", path, iter([text[:7], text[7:50], text[50:]]), {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 201
    connection.close()


def test_too_much_is_refused_before_it_is_sent(annals, path):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {MAX_BODY + 1}\r\nExpect: 100-continue\r\n\r\n"
    with raw(annals) as sock:
        sock.sendall(head.encode())
        assert statuses(sock.recv(65536).decode()) == [413]


def test_too_much_in_chunks_is_refused(annals, path):
    connection = annals.client.connect()
    connection.request("POST", path, (b"x" * 65536 for _ in range(50)), {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize("target, status", [
    ("/apis/apps/v1/namespaces/default/controllerrevisions/", 200),
    ("/apis/apps/v1/namespaces/default//controllerrevisions", 404),
    ("/apis/apps/v1/namespaces/default/../default/controllerrevisions", 404),
    ("/apis/apps/v1/namespaces/default%2F%63ontrollerrevisions", 200),
    ("/apis/apps/v1/namespaces/default/controllerrevisions/%2e", 400),
    ("/apis/apps/v1/namespaces/default/controllerrevisions/a%00b", 404),
    ("/apis/apps/v1/namespaces/default/controllerrevisions/%zz", 400),
    ("/apis/apps/v1/namespaces/default/controllerrevisions?labelSelector=app=web;v=1", 200),
    ("/apis/apps/v1/namespaces/default/controllerrevisions?%zz", 200),
])
def test_targets_mean_what_they_mean_to_kubernetes(annals, target, status):
    assert annals.get(target).status == status


def test_api_never_redirects_nor_upgrades(annals, path):
    for target in (path, path + "/", "/apis", "/apis/", "/openapi/v3", "/openapi/v3/apis/apps/v1?hash=wrong"):
        answer = annals.get(target, headers={"Upgrade": "websocket", "Connection": "Upgrade"})
        assert not 300 <= answer.status < 400 and answer.status != 101
