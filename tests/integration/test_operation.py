"""What an operator relies on: health, metrics, the access log, limits on what is under way, and an orderly end."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import threading

import pytest

import processes
from metrics import Metrics, under_way
from objects import BETA, NAMESPACES, revision, revisions
from processes import NO_CONTROLLERS, retry_until

PATH = revisions()
AUDIT_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


# ---- version and health ----


def test_version_says_what_and_from_where(annals):
    version = annals.get("/version").json
    assert (version["major"], version["minor"]) == ("1", "36")
    assert re.fullmatch(r"v1\.36\.\d+\+annals\..+", version["gitVersion"])
    assert re.fullmatch(r"[0-9a-f]{40}|", version["gitCommit"])
    assert version["platform"].startswith("linux/")


@pytest.mark.parametrize("path, checks", [("/livez", ["ping", "etcd"]), ("/readyz", ["ping", "etcd", "etcd-readiness", "etcd-alarms", "namespaces", "storage-versions", "shutdown"]), ("/healthz", ["ping", "etcd"])])
def test_health_is_ok_and_names_its_checks(annals, path, checks):
    retry_until(lambda: annals.get(path).status == 200, "the server to be well")
    assert (annals.get(path).status, annals.get(path).text) == (200, "ok")
    report = annals.get(path + "?verbose").text
    assert report == "".join(f"[+]{check} ok\n" for check in checks) + f"{path[1:]} check passed\n"
    for check in checks:
        assert (annals.get(f"{path}/{check}").status, annals.get(f"{path}/{check}").text) == (200, "ok")
    assert annals.get(f"{path}/nothing").status == 404


def test_checks_may_be_left_out(annals):
    report = annals.get("/readyz?verbose&exclude=etcd&exclude=nothing").text
    assert "[+]etcd excluded: ok\n" in report
    assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in report


def test_lost_etcd_is_a_matter_of_readiness_alone(folder, etcd, serve):
    store = etcd()
    server = serve(store.endpoint, "--replica-lease-duration=60s")
    store.kill()
    retry_until(lambda: "[-]etcd failed: the connection to etcd is lost\n" in server.get("/readyz").text, "not ready")
    answer = server.get("/readyz")
    assert answer.status == 500 and answer.text.endswith("readyz check failed\n")
    one = server.get("/readyz/etcd")
    assert (one.status, one.text) == (500, "internal server error: the connection to etcd is lost\n")
    assert server.get("/livez").status == 200
    assert server.get("/readyz?exclude=etcd&exclude=etcd-readiness").status == 200
    assert 'annals_cache_connected 0\n' in server.get("/metrics").text


# ---- metrics ----


REVISIONS = {"group": "apps", "version": "v1", "resource": "controllerrevisions"}


def watching(server):
    return Metrics(server).sum("apiserver_longrunning_requests", scope="namespace", **REVISIONS)


def wait_for_quiet(server):
    """Nobody watches or clears a namespace any more because of an earlier test; what that did is counted."""
    retry_until(lambda: not any("deletionTimestamp" in each["metadata"] for each in server.get(NAMESPACES).json["items"]), "namespaces to go")
    retry_until(lambda: watching(server) == 0, "watches to end")


def test_metrics_count_requests(annals, namespace):
    wait_for_quiet(annals)
    before = Metrics(annals)
    path = revisions(namespace)
    for name in "abc":
        annals.post(path, revision(name))
    annals.post(path, revision("a"))
    annals.post(path + "?dryRun=All", revision("d"))
    annals.get(path)
    annals.get(path + "/a")
    annals.get(path + "/nothing")
    with annals.watch(path + "?watch=1") as watch:
        watch.next()
        assert watching(annals) == 1
    annals.delete(path)
    of = REVISIONS

    def more(name, **labels):
        return after.sum(name, **labels) - before.sum(name, **labels)

    def counted():
        """A request is counted when it is over, a moment after its answer has come."""
        metrics = Metrics(annals)
        n = [sum(each.sum("apiserver_request_total", scope=scope, **of) for scope in ("namespace", "resource")) for each in (before, metrics)]
        return n[1] == n[0] + 10 and metrics

    retry_until(lambda: watching(annals) == 0, "the watch's end")
    after = retry_until(counted, "ten requests to be counted")
    assert more("apiserver_request_total", verb="POST", code="201", dry_run="", **of) == 3
    assert more("apiserver_request_total", verb="POST", code="201", dry_run="All", **of) == 1
    assert more("apiserver_request_total", verb="POST", code="409", **of) == 1
    assert more("apiserver_request_total", verb="GET", code="404", scope="resource", **of) == 1
    assert more("apiserver_request_total", verb="LIST", code="200", scope="namespace", **of) == 1
    assert more("apiserver_request_total", verb="DELETE", scope="namespace", code="200", **of) == 1
    assert more("apiserver_request_duration_seconds_count", verb="POST", **of) == 5


def test_metrics_have_buckets_that_add_up(annals):
    metrics = Metrics(annals)
    series = {}
    for (name, labels), value in metrics.samples.items():
        if name == "apiserver_request_duration_seconds_bucket":
            bound = dict(labels)["le"]
            series.setdefault(labels - {("le", bound)}, []).append((float(bound), value))
    assert series
    for labels, buckets in series.items():
        values = [value for _, value in sorted(buckets)]
        assert values == sorted(values) and sorted(buckets)[-1][0] == float("inf")
        assert values[-1] == metrics.samples["apiserver_request_duration_seconds_count", labels]


def test_metrics_tell_of_cache_connections_and_process(annals, namespace):
    annals.post(revisions(namespace), revision())
    metrics = Metrics(annals)
    assert metrics.sum("annals_cache_connected") == 1
    assert metrics.sum("process_resident_memory_bytes") > 1 << 20
    assert metrics.sum("process_start_time_seconds") > 1.6e9
    assert any(family.startswith("annals_http_") for family in metrics.families())
    assert {"apiserver_request_total", "apiserver_current_inflight_requests", "apiserver_longrunning_requests"} <= metrics.families()


# ---- the access log ----


def words(line):
    """A line in text form as a dictionary."""
    return {key: json.loads(value) if value.startswith('"') else value for key, value in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)', line)}


@pytest.fixture(params=["text", "json"])
def logged(request, up, folder):
    """A server with an access log, and a function that ends the server and reads the log."""
    log = folder / "access.log"
    a = up("--access-log", log, "--logging-format", request.param, NO_CONTROLLERS)

    def lines():
        assert a.stop() == 0
        read = words if request.param == "text" else json.loads
        return [{key: str(value) for key, value in read(line).items()} for line in log.read_text().splitlines()]

    return a, lines


def test_access_log_tells_who_did_what(logged):
    a, lines = logged
    made = a.post(PATH, revision(), headers={"User-Agent": 'odd "agent"\\ = é'.encode().decode("latin-1")})
    a.get(PATH + "/a?secret=x")
    a.anonymous.get(PATH)
    a.get("/nowhere")
    with a.watch(PATH + "?watch=1&timeoutSeconds=1") as watch:
        list(watch)
    found = [line for line in lines() if "controllerrevisions" in line["path"] or line["path"] == "/nowhere"]
    # A line comes when its request is over, a moment after the answer.
    assert sorted((line["method"], line["verb"], line["path"], line["status"], line["user"]) for line in found) == [
        ("GET", "get", PATH + "/a", "200", "annals-admin"),
        ("GET", "get", "/nowhere", "404", "annals-admin"),
        ("GET", "list", PATH, "403", "system:anonymous"),
        ("GET", "watch", PATH, "200", "annals-admin"),
        ("POST", "create", PATH, "201", "annals-admin"),
    ]
    create, watched = (next(line for line in found if line["verb"] == verb) for verb in ("create", "watch"))
    assert create["audit"] == made.headers["Audit-Id"]
    assert int(create["bytes"]) == len(made.body)
    assert float(create["duration_ms"]) >= float(create["storage_ms"]) > 0
    assert float(watched["duration_ms"]) > 900  # the second runs from when the watch is read, a moment after its head
    assert re.match(r"127\.0\.0\.1:\d+$", create["peer"])
    assert 'odd "agent"\\ = ' in create["agent"]


def test_access_log_is_one_line_a_request_whatever_is_sent(logged):
    a, lines = logged
    for i, agent in enumerate(["a\tb", "status=200 user=root", '"', "x" * 5000]):
        assert a.get(f"/livez/{i}", headers={"User-Agent": agent}).status == 404
    assert a.get("/livez/%0astatus=200%00").status == 404
    found = [line for line in lines() if line["path"].startswith("/livez/")]
    assert [line["status"] for line in found] == ["404"] * 5
    assert all(line["user"] == "annals-admin" for line in found)
    assert all(len(line["agent"]) < 1000 for line in found)


def test_client_that_went_away_is_noted(logged):
    a, lines = logged
    watch = a.watch(PATH + "?watch=1")
    watch.close()
    retry_until(lambda: Metrics(a).sum("apiserver_longrunning_requests") == 0, "the watch's end")
    line, = [line for line in lines() if line["verb"] == "watch"]
    assert line["cut"].lower() == "true"


# ---- limits on what is under way ----


class Held:
    """A request in a thread of its own, whose answer comes later."""

    def __init__(self, request, *arguments):
        self.answer = self.error = None
        self.thread = threading.Thread(target=self._run, args=[request, arguments], daemon=True)
        self.thread.start()

    def _run(self, request, arguments):
        try:
            self.answer = request(*arguments)
        except (OSError, http.client.HTTPException) as error:
            self.error = error

    def wait(self):
        self.thread.join(60)
        assert self.error is None, self.error
        return self.answer


def wait_idle(server):
    """A request is under way until a moment after its answer has come."""
    retry_until(lambda: under_way(server, "readOnly") == under_way(server, "mutating") == 0, "requests to be over")


@pytest.fixture
def stopped(etcd, serve):
    """A server for one read and one write at a time, and its etcd, which a test may stop and set going again."""
    store = etcd()
    server = serve(store.endpoint, "--max-requests-inflight=1", "--max-mutating-requests-inflight=1")
    assert server.post(PATH, revision()).status == 201
    assert server.get(PATH + "/a").status == 200  # so that the cache has it, whatever etcd does from now on
    wait_idle(server)
    yield server, store
    if store.popen.poll() is None:
        store.signal(signal.SIGCONT)


@pytest.mark.parametrize("kind, hold, another", [
    ("readOnly", lambda s: s.get(PATH + "/a"), lambda s: s.get(PATH + "/a?resourceVersion=0")),
    ("mutating", lambda s: s.post(PATH, revision("b")), lambda s: s.patch(PATH + "/a", {"revision": 2})),
])
def test_one_too_many_is_429(stopped, kind, hold, another):
    server, store = stopped
    store.signal(signal.SIGSTOP)
    held = Held(hold, server)
    retry_until(lambda: under_way(server, kind) == 1, "the request that is held")
    refused = another(server)
    assert (refused.status, refused.headers["Retry-After"], refused.json["reason"]) == (429, "1", "TooManyRequests")
    assert refused.json["details"]["retryAfterSeconds"] == 1
    assert Metrics(server).sum("apiserver_rejected_requests_total") == 1

    # Nothing of this touches the other sort, discovery, health, or watches.
    other = server.get(PATH + "/a?resourceVersion=0") if kind == "mutating" else server.post(PATH + "?dryRun=All", "{")
    assert other.status in (200, 400)
    assert (server.get("/apis").status, server.get("/livez").status) == (200, 200)
    with server.watch(PATH + "?watch=1&resourceVersion=0") as watch:
        assert watch.next()["type"] == "ADDED"

    store.signal(signal.SIGCONT)
    assert held.wait().status in (200, 201)
    wait_idle(server)
    assert another(server).status == 200
    wait_idle(server)


def test_one_watch_too_many_is_429(etcd, serve):
    server = serve(etcd().endpoint, "--max-watches-inflight=1")
    server.post(PATH, revision())
    before = Metrics(server).sum("apiserver_request_terminations_total")
    with server.watch(PATH + "?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        refused = server.get(PATH + "?watch=1")
        assert (refused.status, refused.headers["Retry-After"], refused.json["reason"]) == (429, "1", "TooManyRequests")
        assert (server.get(PATH).status, server.post(PATH, revision("b")).status) == (200, 201)
        assert Metrics(server).sum("apiserver_request_terminations_total", verb="WATCH", code="429") == before + 1
    retry_until(lambda: server.get(PATH + "?watch=1&timeoutSeconds=1").status == 200, "the first watch's end")


LIMIT = 8  # the least that has a reserve: an eighth of it


@pytest.fixture
def shared_with_bob(etcd, serve, folder):
    """A server for LIMIT requests of each sort at a time, its etcd, and bob, who may do everything, but is no administrator."""
    rule = processes.policy_rule(user="bob", namespace="*", apiGroup="*", resource="*", nonResourcePath="*")
    store = etcd()
    server = serve(store.endpoint, f"--max-requests-inflight={LIMIT}", f"--max-mutating-requests-inflight={LIMIT}", f"--max-watches-inflight={LIMIT}",
                   *processes.user_flags(folder, ["of-bob,bob,uid-of-bob"], [rule]))
    bob = processes.Client(server.url, server.ca, token="of-bob")
    for client in (server, bob):  # so that nobody has to be asked about while etcd stands still
        assert client.post(PATH, revision(f"of-{'bob' if client is bob else 'admin'}")).status == 201
        assert client.get(PATH).status == 200
    wait_idle(server)
    yield server, store, bob
    if store.popen.poll() is None:
        store.signal(signal.SIGCONT)


@pytest.mark.parametrize("kind, ask", [
    ("readOnly", lambda client, i: client.get(PATH)),
    ("mutating", lambda client, i: client.post(PATH, revision(f"held-{i}"))),
])
def test_administrators_have_an_eighth_more_places(shared_with_bob, kind, ask):
    """When others have taken all places there is one for system:masters, and no more than that."""
    server, store, bob = shared_with_bob
    store.signal(signal.SIGSTOP)
    held = [Held(ask, bob, i) for i in range(LIMIT)]
    retry_until(lambda: under_way(server, kind) == LIMIT, "every place to be taken")
    assert ask(bob, "refused").status == 429
    held.append(Held(ask, server, LIMIT))
    retry_until(lambda: under_way(server, kind) == LIMIT + 1 or held[-1].answer, "the place of the administrator")
    assert held[-1].answer is None
    assert (ask(bob, "refused").status, ask(server, "refused").status) == (429, 429)
    store.signal(signal.SIGCONT)
    assert {each.wait().status for each in held} == {200 if kind == "readOnly" else 201}


def test_administrators_have_an_eighth_more_watches(shared_with_bob):
    server, _, bob = shared_with_bob
    path = PATH + "?watch=1"
    watches = [bob.watch(path) for _ in range(LIMIT)]
    assert bob.get(path).status == 429
    with server.watch(path) as watch:
        assert watch.next()["type"] == "ADDED"
        assert (bob.get(path).status, server.get(path).status) == (429, 429)
    for watch in watches:
        watch.close()


# ---- the end ----


def is_listening(server):
    try:
        socket.create_connection((server.client.host, server.client.port), timeout=5).close()
        return True
    except OSError:
        return False


def test_what_is_under_way_is_answered_before_the_end(stopped):
    server, store = stopped
    with server.watch(PATH + "?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        store.signal(signal.SIGSTOP)
        read, write = Held(server.get, PATH + "/a"), Held(server.post, PATH, revision("b"))
        retry_until(lambda: under_way(server, "readOnly") == under_way(server, "mutating") == 1, "the requests that are held")
        server.signal(signal.SIGTERM)
        assert server.stderr.wait("draining")
        retry_until(lambda: not is_listening(server), "the end of listening")
        assert list(watch) == []  # the stream ends as streams end, or this raises
        assert server.popen.poll() is None
        store.signal(signal.SIGCONT)
        assert (read.wait().status, write.wait().status) == (200, 201)
    assert server.wait() == 0
    assert "/controllerrevisions/default/b" in store.ctl("get", "/annals/", "--prefix", "--keys-only")


def test_idle_connections_do_not_delay_the_end(etcd, serve):
    server = serve(etcd().endpoint)
    idle = [server.client.connect() for _ in range(10)]
    for connection in idle:
        connection.request("GET", "/livez")
        connection.getresponse().read()
    silent = socket.create_connection((server.client.host, server.client.port))
    watches = [server.watch(NAMESPACES + "?watch=1") for _ in range(20)]
    for watch in watches:
        assert watch.next()["type"] == "ADDED"
    assert server.stop() == 0
    for watch in watches:
        for event in watch:
            assert event["type"] == "ADDED"
    silent.close()


UNGUARDED = pathlib.Path(processes.BIN).parent / "tests" / "broken" / "annals-unguarded"


def leave_straggler(server):
    """A connection that never ends, whatever anybody does."""
    client = server.client
    connection = client.connect()
    connection.request("POST", PATH + "?fieldManager=never-woken", json.dumps(revision("b")), {"Content-Type": "application/json"})
    retry_until(lambda: under_way(server, "mutating") == 1, "a request that hangs")
    return connection


def test_connection_that_never_ends_does_not_keep_the_server(folder, etcd, serve):
    store = etcd()
    log = folder / "access.log"
    server = serve(store.endpoint, "--request-timeout=1s", f"--access-log={log}", binary=UNGUARDED, env={**os.environ, "ANNALS_UNGUARDED": "wake"})
    retry_until(lambda: "/replicas/" in store.ctl("get", "/annals/", "--prefix", "--keys-only"), "the registration")
    straggler = leave_straggler(server)
    assert server.get("/version").status == 200
    assert server.stop() == 0
    assert "connections remain that do not end" in server.stderr.text
    assert "path=/version" in log.read_text()
    assert "/replicas/" not in store.ctl("get", "/annals/", "--prefix", "--keys-only")
    straggler.close()


def test_connection_that_never_ends_does_not_keep_its_etcd(up):
    server = up("--request-timeout=1s", binary=UNGUARDED, env={**os.environ, "ANNALS_UNGUARDED": "wake"})
    straggler, etcd_pid = leave_straggler(server), server.etcd_pid
    assert server.stop() == 0
    assert not processes.is_alive(etcd_pid)
    assert "connections remain that do not end" in server.stderr.text
    straggler.close()


def test_streams_of_every_kind_end_cleanly(etcd, serve):
    server = serve(etcd().endpoint)
    assert server.post(revisions(api_version=BETA), revision(api_version=BETA)).status == 201
    watches = [server.watch(PATH + query, headers=headers) for query, headers in [
        ("?watch=1", None), ("?watch=1&allowWatchBookmarks=true", None), ("?watch=1", {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}),
        ("?watch=1&labelSelector=no%3Done", None)]]
    for watch in watches[:3]:
        assert watch.next()["type"] == "ADDED"
    server.signal(signal.SIGTERM)
    for watch in watches:
        assert [event["type"] for event in watch if event["type"] != "BOOKMARK"] == []
    assert server.wait() == 0


def test_readiness_goes_before_service_does(etcd, serve):
    server = serve(etcd().endpoint, "--shutdown-delay-duration=5s")
    server.signal(signal.SIGTERM)
    retry_until(lambda: "[-]shutdown failed: the server is shutting down\n" in server.get("/readyz").text, "not ready")
    assert server.get("/readyz").status == 500
    assert (server.get("/livez").status, server.get(NAMESPACES).status) == (200, 200)
    assert server.post(PATH, revision()).status == 201
    assert server.wait() == 0


def test_no_descriptor_is_left_behind(etcd, serve):
    """Connections, watches and refused requests give everything back."""
    server = serve(etcd().endpoint)

    def descriptors():
        return len(os.listdir(f"/proc/{server.pid}/fd"))

    server.get("/livez")
    before = descriptors()
    for _ in range(30):
        server.get(PATH)
        server.post(PATH, "{")
        server.watch(PATH + "?watch=1").close()
        socket.create_connection((server.client.host, server.client.port)).close()
    retry_until(lambda: descriptors() <= before + 2, "descriptors to be closed")
