"""Many writers of one object: they take turns, so that nobody's work is lost and memory stays small."""

import concurrent.futures
import json
import pathlib
import re
import signal
import socket
import time

import pytest

from metrics import Metrics, under_way
from objects import ANNALS, APPLY, JSON_PATCH, MERGE, revision, revisions
from processes import retry_until
from test_operation import Held

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATH = f"{CONFIG_MAPS}/shared"


def at_once(requests):
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        return [future.result() for future in [pool.submit(request) for request in requests]]


def peak(server):
    """MiB; nothing where a sanitizer needs memory of its own."""
    maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
    if "libtsan" in maps or "libasan" in maps:
        return 0
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{server.pid}/status").read_text())[1]) >> 10

def test_a_large_object_keeps_the_name_of_its_manager_while_its_creation_waits(server):
    """The body's tree is dropped while a refusal is confirmed, and read again; what the URL and the headers said is not."""
    kept = {"immutable": True, "metadata": {"name": "large"}}
    for fields in ({"data": {"a": "x" * ((1 << 20) + 1)}}, {"binaryData": {"b": "QUFB" * 349525 + "QUE="}},
                   {"data": {"a": "x" * (1 << 20)}, "binaryData": {"b": "QQ=="}}):
        refused = server.post(f"{CONFIG_MAPS}?dryRun=All", {**kept, **fields}, headers={"User-Agent": "side-by-side"})
        assert (refused.status, refused.json["message"]) == (422, 'ConfigMap "large" is invalid: []: Too long: may not be more than 1048576 bytes')


def test_patches_without_a_version_all_succeed_and_all_count(serve, server, store):
    other = serve(store.endpoint)
    assert server.post(CONFIG_MAPS, {"metadata": {"name": "shared"}}).status == 201
    answers = at_once([lambda i=i: (server, other)[i % 8 == 0].patch(PATH, {"data": {f"k{i}": "x"}}) for i in range(200)])
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json["metadata"]["resourceVersion"] for answer in answers}) == 200
    assert set(server.get(PATH).json["data"]) == {f"k{i}" for i in range(200)}


def test_big_object_is_patched_by_many_in_the_memory_of_a_few(server):
    """A tree of it takes 25 MiB. Each of the writers would have one for each race that it loses."""
    data = {f"k{i}": {"a": i, "b": "x"} for i in range(20_000)}
    path = f"{revisions(api_version=ANNALS)}/big"
    assert server.post(revisions(api_version=ANNALS), revision("big", 1, data, ANNALS)).status == 201
    kinds = [(MERGE, lambda i: {"metadata": {"labels": {f"k{i}": "x"}}}),
             (JSON_PATCH, lambda i: [{"op": "add", "path": "/metadata/labels", "value": {f"k{i}": "x"}}]),
             (APPLY, lambda i: {"apiVersion": ANNALS, "kind": "ControllerRevision", "metadata": {"name": "big", "annotations": {f"k{i}": "x"}}})]
    patches = [lambda i=i: server.patch(path + ("?fieldManager=a" if kinds[i % 3][0] == APPLY else ""), kinds[i % 3][1](i), kinds[i % 3][0])
               for i in range(40)]
    assert {answer.status for answer in at_once(patches)} == {200}
    assert server.get(path).json["data"] == data
    assert peak(server) < 400


def without_age(table):
    """A second may begin between two requests."""
    return re.sub(rb'"\d+s"', b'"-"', table)


def test_what_a_big_write_answers_is_what_it_stored(server):
    """Its tree is gone while etcd is asked: the answer is made of its text, in every form."""
    path = f"{revisions(api_version=ANNALS)}/big"
    body = revision("big", 1, {f"k{i}": {"a": i, "b": "x"} for i in range(5_000)}, ANNALS)
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    made = server.post(revisions(api_version=ANNALS), body)
    assert made.status == 201 and made.json == server.get(path).json
    for form in (None, table, {"Accept": "application/yaml"}, {"Accept-Encoding": "gzip"}, {"User-Agent": "curl/8"}):
        answer = server.request("PUT", path, {**body, "metadata": {"name": "big", "labels": {"form": "a"}}}, headers=form)
        same = server.request("GET", path, headers=form)
        assert answer.status == 200 and without_age(answer.body) == without_age(same.body)
        assert server.put(path, body).status == 200
    for api_version in ("annals.dev/v1beta1", "apps/v1"):
        path = f"{revisions(api_version=api_version)}/big"
        answer = server.patch(path, {"metadata": {"labels": {"api_version": api_version.replace("/", "-")}}})
        assert answer.status == 200 and answer.json == server.get(path).json
    gone = server.delete(path)
    assert gone.status == 200 and gone.json["details"]["uid"] == made.json["metadata"]["uid"]


@pytest.fixture
def held(server, store):
    """A server on an etcd that has been stopped, and a writer that waits for it."""
    assert server.post(CONFIG_MAPS, {"metadata": {"name": "shared"}}).status == 201
    assert server.post(CONFIG_MAPS, {"metadata": {"name": "other"}}).status == 201
    assert server.get(PATH).status == 200
    retry_until(lambda: under_way(server, "mutating") == 0, "nothing to be under way")
    store.signal(signal.SIGSTOP)
    writer = Held(lambda: server.patch(PATH, {"data": {"first": "x"}}))
    retry_until(lambda: under_way(server, "mutating") == 1, "the writer that is held")
    yield writer
    store.signal(signal.SIGCONT)


def test_writer_whose_client_has_gone_leaves_the_queue(server, store, held):
    body = json.dumps({"data": {"gone": "x"}})
    sock = server.client.context.wrap_socket(socket.create_connection((server.client.host, server.client.port)), server_hostname="127.0.0.1")
    sock.sendall(f"PATCH {PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: {MERGE}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    retry_until(lambda: under_way(server, "mutating") == 2, "the second writer")
    third = Held(lambda: server.patch(PATH, {"data": {"third": "x"}}))
    retry_until(lambda: under_way(server, "mutating") == 3, "the third writer")
    sock.close()
    retry_until(lambda: under_way(server, "mutating") == 2, "the second writer to be gone, while etcd stands still")
    store.signal(signal.SIGCONT)
    assert {held.wait().status, third.wait().status} <= {200, 504}  # 504: etcd stood still for long
    assert set(server.get(PATH).json["data"]) <= {"first", "third"}


def test_writer_whose_time_is_over_leaves_the_queue_and_has_written_nothing(server, store, held):
    late = server.patch(f"{PATH}?timeout=1s", {"data": {"late": "x"}})
    assert (late.status, late.json["reason"]) == (504, "Timeout")
    assert late.json["message"] == "Timeout: request did not complete within requested timeout - context deadline exceeded"
    store.signal(signal.SIGCONT)
    assert held.wait().status in (200, 504)
    assert set(server.get(PATH).json.get("data", {})) <= {"first"}


def test_object_too_large_with_managed_fields_is_stored_without_them(server):
    """As kube-apiserver does it, but for apply, which cannot do without."""
    # About 0.8 MiB of data; who owns each member is as much again, and etcd takes 1.5 MiB.
    data = {"a-name-of-forty-bytes-or-so-that-is-%08d" % i: "xx" for i in range(16_000)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": data}
    refused = server.patch(f"{PATH}?fieldManager=m", body, APPLY)
    assert refused.status == 500 and "request is too large" in refused.json["message"]
    made = server.post(CONFIG_MAPS, body)
    assert made.status == 201 and "managedFields" not in made.json["metadata"] and made.json["data"] == data
    for answer in (server.put(PATH, {**body, "data": {**data, "b": "y"}}), server.patch(PATH, {"data": {"c": "z"}}),
                   server.patch(PATH, [{"op": "add", "path": "/data/d", "value": "z"}], JSON_PATCH)):
        assert answer.status == 200 and "managedFields" not in answer.json["metadata"]
    assert server.get(PATH).json["data"] == {**data, "b": "y", "c": "z", "d": "z"}


# ---- what requests may hold, all together ----


def big(name):
    return json.dumps(revision(name, 1, {f"k{i}": {"a": i, "b": "x"} for i in range(35_000)}, ANNALS)).encode()


def held_bytes(server, sort):
    return Metrics(server).sum(f"annals_{sort}_request_bytes")


def send_half(server, body):
    """A write of which only the head and half of the body come."""
    sock = server.client.context.wrap_socket(socket.create_connection((server.client.host, server.client.port)), server_hostname="127.0.0.1")
    head = f"POST {revisions(api_version=ANNALS)} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body[:len(body) // 2])
    return sock


def test_big_writes_hold_no_more_than_their_budget_and_the_rest_comes_again(serve, store):
    server = serve(store.endpoint, "--max-mutating-requests-inflight-mib=12")
    bodies = [big(f"r{i}") for i in range(8)]
    assert server.post(revisions(api_version=ANNALS), bodies[0]).status == 201
    retry_until(lambda: under_way(server, "mutating") == 0, "nothing to be under way")
    store.signal(signal.SIGSTOP)
    writers = [Held(lambda body=body: server.post(revisions(api_version=ANNALS), body)) for body in bodies[1:]]
    retry_until(lambda: sum(writer.answer is not None for writer in writers) >= 5, "those to be refused that are too many")
    assert 0 < held_bytes(server, "mutating") <= 12 << 20
    refused = [writer.answer for writer in writers if writer.answer]
    assert {(answer.status, answer.headers["Retry-After"], answer.json["reason"]) for answer in refused} == {(429, "1", "TooManyRequests")}
    # Reads and health have nothing to do with it.
    assert server.get("/livez").status == server.get(f"{revisions(api_version=ANNALS)}?resourceVersion=0&limit=1").status == 200
    store.signal(signal.SIGCONT)
    assert 429 in {writer.wait().status for writer in writers} <= {201, 429, 504}  # 504: etcd stood still for long
    retry_until(lambda: held_bytes(server, "mutating") == 0, "all to be given back")
    for body in bodies:
        assert server.post(revisions(api_version=ANNALS), body).status in (201, 409)


def test_bodies_count_as_they_arrive(serve, store):
    body = big("half")
    # Four times a body counts. Each has room beside six halves, but not beside seven.
    server = serve(store.endpoint, f"--max-mutating-requests-inflight-mib={17 * len(body) >> 20}")
    first = [send_half(server, body) for _ in range(7)]
    retry_until(lambda: held_bytes(server, "mutating") >= 7 * 4 * (len(body) // 2 - 16_384), "the halves")
    assert server.post(revisions(api_version=ANNALS), body).status == 429
    assert server.post(CONFIG_MAPS, {"metadata": {"name": "small"}}).status == 201
    for sock in first:
        sock.close()
    retry_until(lambda: held_bytes(server, "mutating") == 0, "what they held")
    assert server.post(revisions(api_version=ANNALS), body).status == 201


def test_no_more_answers_of_a_connection_give_way_than_the_next_one_needs(serve, store):
    """A connection's share is half of the budget: three answers of 1 MiB do not fit into it."""
    pytest.importorskip("hpack")
    import http2

    server = serve(store.endpoint, "--max-requests-inflight-mib=5")
    path = revisions(api_version=ANNALS) + "/large"
    assert server.post(revisions(api_version=ANNALS), revision("large", api_version=ANNALS, data={"a": "x" * (1 << 20)})).status == 201
    with http2.connect(server.client, window=0) as slow:

        def begin():
            stream = slow.begin("GET", path + "?resourceVersion=0")
            slow.wait(lambda: stream.status)
            return stream

        first, second = begin(), begin()
        time.sleep(1.5)  # so long without progress, an answer gives way
        third = begin()
        assert (first.status, second.status, third.status) == (200, 200, 200)
        slow.wait(lambda: first.reset)
        slow.round_trip()
        assert (first.reset, second.reset, third.reset) == (http2.CANCEL, None, None)
        assert Metrics(server).sum("annals_answers_evicted_total") == 1


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
def test_answers_in_memory_hold_no_more_than_their_budget(serve, store, accept):
    """What does not move gives way to what is asked for later, so nobody is locked out."""
    pytest.importorskip("hpack")
    import http2

    server = serve(store.endpoint, "--max-requests-inflight-mib=6")
    path = revisions(api_version=ANNALS) + "/large"
    large = 1 << 20
    assert server.post(revisions(api_version=ANNALS), revision("large", api_version=ANNALS, data={"a": "x" * large})).status == 201
    slow = http2.connect(server.client, window=0)
    for _ in range(12):
        slow.begin("GET", path + "?resourceVersion=0", [("accept", accept)])
    retry_until(lambda: held_bytes(server, "read") >= 2 * large, "answers that nobody takes")
    answers = []

    def ask():
        answers.append(server.get(path + "?resourceVersion=0", headers={"Accept": accept}))
        assert held_bytes(server, "read") <= 6 << 20
        return answers[-1].status == 200

    retry_until(ask, "an answer for who reads")
    assert {answer.status for answer in answers} <= {200, 429}
    assert all(answer.headers["Retry-After"] == "1" for answer in answers if answer.status == 429)
    slow.close()
    retry_until(lambda: held_bytes(server, "read") == 0, "what they held")
