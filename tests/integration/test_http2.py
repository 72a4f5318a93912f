"""HTTP/2: who speaks it, many requests at once, windows, what is refused, and the end of a connection. Attacks are in test_http2_attacks.py."""

import json
import os
import signal
import socket
import ssl

import pytest

pytest.importorskip("hpack")

import http2
import processes
from http2 import DATA, END_STREAM
from objects import revision, revisions
from processes import PATIENCE, retry_until

MAX_BODY = 3 << 20
FINAL = (1 << 31) - 1  # the last stream of a GOAWAY that only warns


@pytest.fixture
def path(annals, namespace):
    return revisions(namespace)


@pytest.fixture
def session(annals):
    with http2.connect(annals.client) as opened:
        yield opened


def send_all(session, streams):
    """In one go."""
    session.write(b"".join(stream.frames for stream in streams))


# ---- who speaks it ----


@pytest.mark.parametrize("offered, chosen", [(["h2"], "h2"), (["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"), (None, None)],
                         ids=["h2", "h2-first", "h2-last", "http1", "nothing"])
def test_http2__is_spoken_where_it_is_offered(annals, offered, chosen):
    with http2.dial(annals.client, offered) as sock:
        assert sock.selected_alpn_protocol() in (chosen, None if chosen != "h2" else chosen)
        if chosen == "h2":
            assert http2.Session(sock).get("/version").status == 200
        else:
            sock.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")


class ByHand:
    """A TLS connection whose handshake is made step by step."""

    def __init__(self, client, alpn=("h2",)):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = client.make_context(alpn).wrap_bio(self.incoming, self.outgoing, server_hostname=client.host)
        self.sock = socket.create_connection((client.host, client.port), timeout=PATIENCE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.hello = self.outgoing.read()

    def drive(self, step):
        """The result of a step, which reads and writes as it needs to."""
        while True:
            try:
                result = step()
                break
            except ssl.SSLWantReadError:
                self.flush()
                self.incoming.write(self.sock.recv(65536) or pytest.fail("the server has closed the connection"))
        self.flush()
        return result

    def flush(self):
        self.sock.sendall(self.outgoing.read())

    # As a socket, for a session.

    def sendall(self, data):
        self.drive(lambda: self.tls.write(data))

    def recv(self, n):
        return self.drive(lambda: self.tls.read(n))

    def getpeername(self):
        return self.sock.getpeername()

    def close(self):
        self.sock.close()


@pytest.mark.parametrize("cuts", [(1,), (5,), (6,), (60,), (-1,), (1, 5, 9, 43, 44, 100)])
def test_http2__client_hello_comes_in_pieces(annals, cuts):
    for alpn in (["h2"], ["http/1.1"]):
        client = ByHand(annals.client, alpn)
        at = 0
        for cut in [*(cut % len(client.hello) for cut in cuts), len(client.hello)]:
            client.sock.sendall(client.hello[at:cut])
            at = cut
            assert annals.anonymous.get("/livez").status == 200  # others come between
        client.drive(client.tls.do_handshake)
        if alpn == ["h2"]:
            assert client.tls.selected_alpn_protocol() == "h2"
            assert http2.Session(client).get("/version").status == 200
        else:
            client.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        client.close()


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
def test_http2__silence_ends_connections_and_takes_no_processor(etcd, serve):
    server = serve(etcd().endpoint)
    before = processor_seconds(server.pid)

    def plain(data):
        sock = socket.create_connection((server.client.host, server.client.port), timeout=PATIENCE)
        sock.sendall(data)
        return sock

    hello = ByHand(server.client).hello
    silent = [plain(hello[:1]), plain(hello[:5]), plain(hello[:len(hello) // 2]), plain(hello)]
    silent += [http2.dial(server.client) for _ in range(2)]
    silent[-1].sendall(http2.PREFACE[:10])
    for sock in silent:
        assert server.get("/livez").status == 200
        try:
            while sock.recv(65536):
                pass
        except OSError:
            pass
        sock.close()
    # A thread that looks again and again would have taken all of the time.
    assert processor_seconds(server.pid) - before < 5


def test_http2__curl_speaks_it(annals):
    key = [f"--cacert={annals.ca}", f"--cert={annals.dir}/admin.crt", f"--key={annals.dir}/admin.key"]
    arguments = [word for pair in key for word in pair.split("=")]
    if "HTTP2" not in processes.run(["curl", "--version"]).stdout:
        pytest.skip("this curl does not speak HTTP/2")
    done = processes.run(["curl", "-sS", "--http2", *arguments, "-w", "%{http_version} %{http_code}", "-o", "/dev/null", f"{annals.url}/version"])
    assert done.stdout == "2 200", done


def test_http2__kubectl_speaks_it(annals):
    done = annals.kubectl("get", "namespaces", "-o", "name", GODEBUG="http2debug=1")
    assert "namespace/default" in done.stdout
    assert "Transport received HEADERS" in done.stderr, done.stderr


def test_http2__client_speaks_what_it_was_told(annals):
    connection = annals.client.connect()
    connection.request("GET", "/version")
    assert connection.getresponse().version == (20 if processes.IS_HTTP2 else 11)
    connection.close()


def test_http2__can_be_switched_off(etcd, serve):
    server = serve(etcd().endpoint, "--disable-http2-serving")
    with http2.dial(server.client, ["h2", "http/1.1"]) as sock:
        assert sock.selected_alpn_protocol() in ("http/1.1", None)
        sock.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")


# ---- many at once ----


def test_http2__requests_share_a_connection(annals, session, path):
    bodies = [json.dumps(revision(f"r{i:02}", data={"n": i})).encode() for i in range(60)]
    streams = [session.begin("POST", path, [("content-type", "application/json")], is_over=False, write=False) for _ in bodies]
    pieces = [http2.frame(DATA, 0, stream.number, body[:20]) for stream, body in zip(streams, bodies)]
    pieces += [http2.frame(DATA, END_STREAM, stream.number, body[20:]) for stream, body in reversed(list(zip(streams, bodies)))]
    session.write(b"".join(stream.frames for stream in streams) + b"".join(pieces))
    for i, stream in enumerate(streams):
        session.finish(stream)
        assert (stream.status, json.loads(stream.body)["metadata"]["name"]) == (201, f"r{i:02}")
    reads = [session.begin("GET", f"{path}/r{i:02}", write=False) for i in range(60)]
    send_all(session, reads)
    for i, stream in enumerate(reads):
        session.finish(stream)
        assert (stream.status, json.loads(stream.body)["data"]) == (200, {"n": i})
        assert int(stream.header("content-length")) == len(stream.body)


def test_http2__hundred_watches_share_a_connection(annals, session, path):
    watches = [session.begin("GET", f"{path}?watch=1&labelSelector=n%21%3D{i}", write=False) for i in range(99)]
    send_all(session, watches)
    assert session.wait(lambda: all(stream.status == 200 for stream in watches))
    session.post(path, json.dumps(revision("seen", labels={"n": "7"})).encode())
    reached = [stream for i, stream in enumerate(watches) if i != 7]
    assert session.wait(lambda: all(stream.body.endswith(b"\n") for stream in reached))
    assert {(event["type"], event["object"]["metadata"]["name"]) for event in (json.loads(stream.body) for stream in reached)} == {("ADDED", "seen")}
    # Each can be left by itself, and its place is free again.
    for stream in watches[:50]:
        session.write(http2.rst_stream(stream.number))
    for _ in range(100):
        assert session.get(path + "/seen").status == 200
    assert not watches[7].body and not any(stream.is_over for stream in watches[50:])


def test_http2__stream_beyond_the_limit_is_refused_and_harms_none(etcd, serve):
    server = serve(etcd().endpoint, "--http2-max-streams-per-connection=7")
    with http2.connect(server.client) as session:
        session.round_trip()
        assert session.settings[http2.MAX_CONCURRENT_STREAMS] == 7
        watches = [session.begin("GET", f"{revisions()}?watch=1") for _ in range(7)]
        assert session.wait(lambda: all(stream.status == 200 for stream in watches))
        refused = session.get("/version")
        assert (refused.status, refused.reset) == (None, http2.REFUSED_STREAM)
        session.write(http2.rst_stream(watches[0].number))
        retry_until(lambda: session.get("/version").status == 200, "a place of seven", interval=0.2)
        assert not any(stream.is_over for stream in watches)


def test_http2__limit_is_higher_for_an_aggregator(etcd, serve, certificates):
    limits = []
    for flags in ([], [f"--requestheader-client-ca-file={certificates.ca}"]):
        server = serve(etcd().endpoint, *flags)
        with http2.connect(server.client) as session:
            session.round_trip()
            limits.append(session.settings[http2.MAX_CONCURRENT_STREAMS])
    assert limits == [100, 1000]


def test_http2__small_answers_pass_a_large_one(annals, path):
    for i in range(12):
        annals.post(path, revision(f"r{i:02}", data={"text": str(i) * 200000}))
    with http2.connect(annals.client, window=1 << 30) as session:
        large = session.begin("GET", path)
        assert session.wait(lambda: session.room == 0)
        small = [session.begin("GET", path + "/nowhere") for _ in range(20)]
        # Heads need no window: when they are here, all answers wait side by side.
        assert session.wait(lambda: all(stream.status == 404 for stream in small))
        session.let_come(100 << 20)
        assert session.wait(lambda: all(stream.is_over for stream in small))
        assert not large.is_over
        assert len(json.loads(session.finish(large).body)["items"]) == 12


@pytest.mark.parametrize("query, accept", [("", "application/yaml"), ("?pretty=true", "application/json")], ids=["yaml", "indented"])
def test_http2__small_answers_pass_one_that_takes_long_to_write(annals, path, query, accept):
    # Depth makes indented JSON long, and numbers make YAML slow: both take many times the 5 ms of a turn.
    data = [[1] * 300_000] if accept == "application/yaml" else json.loads("[" * 60 + ",".join("1" * 200_000) + "]" * 60)
    assert annals.post(path, revision(data={"a": data})).status == 201
    with http2.connect(annals.client, window=1 << 30) as session:
        session.let_come(100 << 20)
        large = session.begin("GET", path + "/a" + query, [("accept", accept)], write=False)
        small = [session.begin("GET", path + "/nowhere", write=False) for _ in range(20)]
        send_all(session, [large, *small])
        assert session.wait(lambda: all(stream.is_over for stream in small))
        assert large.status is None
        session.finish(large)
        assert large.status == 200 and int(large.header("content-length")) == len(large.body)
        assert large.body.count(b"1") > 200_000


# ---- windows ----


def test_http2__answer_keeps_to_windows(annals, path):
    annals.post(path, revision(data={"text": "x" * 3000}))
    whole = annals.get(path + "/a").body
    with http2.connect(annals.client, window=100) as session:
        stream = session.begin("GET", path + "/a")
        taken = 100
        while not stream.is_over:
            assert session.wait(lambda: len(stream.body) == taken or stream.is_over)  # not a byte more, or room becomes negative
            if not stream.is_over:
                session.let_come(7 if taken < 200 else 1000, stream)
                taken = min(len(whole), taken + (7 if taken < 200 else 1000))
        assert bytes(stream.body) == whole
        # A window of none, which a setting opens for all streams at once.
        session.write(http2.settings(INITIAL_WINDOW_SIZE=0))
        session.window = 0
        streams = [session.begin("GET", path + "/a") for _ in range(3)]
        assert session.wait(lambda: all(stream.status for stream in streams)) and session.round_trip()
        assert not any(stream.body for stream in streams)
        for stream in streams:
            stream.room = 5000
        session.let_come(20000)
        session.write(http2.settings(INITIAL_WINDOW_SIZE=5000))
        for stream in streams:
            assert bytes(session.finish(stream).body) == whole


def test_http2__bodies_come_in_while_handlers_wait(etcd, serve):
    """A window that opened only when a handler has its body would let one that waits stop all others of the connection."""
    store = etcd()
    server = serve(store.endpoint)
    n, body = 12, json.dumps(revision("{}", data={"text": "x" * 500000}))
    with http2.connect(server.client) as session:
        assert session.get(revisions()).status == 200
        store.signal(signal.SIGSTOP)
        streams = []
        for i in range(n):
            stream = session.begin("POST", revisions(), [("content-type", "application/json")], is_over=False)
            session.send_body(stream, body.replace("{}", f"r{i}", 1).encode())
            streams.append(stream)
        assert session.get("/version").status == 200
        store.signal(signal.SIGCONT)
        for stream in streams:
            assert session.finish(stream).status in (201, 429, 503, 504), stream.body


def test_http2__body_comes_in_small_frames(session, path):
    body = json.dumps(revision(data={"text": "words " * 2000})).encode()
    stream = session.begin("POST", path, [("content-type", "application/json")], is_over=False)
    session.write(b"".join(http2.frame(DATA, 0, stream.number, body[at:at + 97]) for at in range(0, len(body), 97)) + http2.frame(DATA, END_STREAM, stream.number))
    assert session.finish(stream).status == 201
    padded = session.begin("PUT", path + "/a", [("content-type", "application/json")], is_over=False)
    session.send(DATA, END_STREAM | http2.PADDED, padded.number, b"\xff" + body[:16000] + bytes(255))
    assert session.finish(padded).status == 200


# ---- single requests ----


def test_http2__head_has_no_body(annals, session, path):
    for target in ("/version", "/livez", path, "/nowhere"):
        stream = session.finish(session.begin("HEAD", target))
        assert (stream.status, bytes(stream.body), stream.reset) == (annals.request("HEAD", target).status, b"", None)
        if stream.status == 200:
            assert stream.header("content-length") in (None, session.get(target).header("content-length"))


def test_http2__trailers_are_let_go_by(session, path):
    stream = session.begin("POST", path, [("content-type", "application/json")], is_over=False)
    session.send_body(stream, json.dumps(revision()).encode(), is_over=False)
    session.write(session.header_frames(stream.number, session.block([("grpc-status", "0")])))
    assert session.finish(stream).status == 201


def status_of(session, stream):
    """What comes of a request: its status; or "reset"."""
    session.finish(stream)
    return stream.status or ("reset" if stream.reset is not None else "closed")


@pytest.mark.parametrize("length", ["announced", "unknown"])
def test_http2__body_has_a_limit(session, path, length):
    headers = [("content-type", "application/json")] + ([("content-length", str(MAX_BODY + 1))] if length == "announced" else [])
    stream = session.begin("POST", path, headers, is_over=False)
    session.send_body(stream, b"x" * (MAX_BODY + 1))
    assert session.finish(stream).status == 413
    assert json.loads(stream.body)["reason"] == "RequestEntityTooLarge"
    assert session.get("/version").status == 200


@pytest.mark.parametrize("headers, status", [
    ([("x", "y" * 30000)], 200), ([("x", "y" * 40000)], 431), ([(f"x{i}", "y" * 400) for i in range(90)], 431),
    ([(f"x{i}", "y") for i in range(90)], 200), ([(f"x{i}", "y") for i in range(120)], 431), ([("x", "y")] * 5000, 431),
], ids=["largest", "long", "long-together", "most", "many", "very-many"])
def test_http2__head_has_limits(annals, session, headers, status):
    # A server may also end a connection that asks for too much; it must not do so for others.
    came = status_of(session, session.begin("GET", "/version", headers))
    assert came == status or status == 431 and len(headers) == 5000 and came in ("reset", "closed"), came
    assert annals.get("/version").status == 200


def head(**changes):
    fields = {"method": "GET", "scheme": "https", "authority": "x", "path": "/version", **changes}
    return [(f":{name}", value) for name, value in fields.items() if value is not None]


@pytest.mark.parametrize("fields, statuses", [
    (head(), (200,)), (head(authority=None) + [("host", "x")], (200,)), (head(authority=None), (200, 400, "reset")),
    (head(method=None), (400, "reset")), (head(path=None), (400, "reset")), (head(scheme=None), (400, "reset")), (head(path=""), (400, "reset")),
    (head(path="version"), (400, 404, "reset")), (head() + [(":path", "/livez")], (400, "reset")), ([("x", "y")] + head(), (400, "reset")),
    (head() + [("X", "y")], (400, "reset")), (head() + [("x y", "z")], (400, "reset")), (head() + [("x", "y\0z")], (400, "reset")),
    (head() + [("x", "y\r\nz: a")], (400, "reset")), (head() + [("connection", "close")], (400, "reset")),
    (head() + [("transfer-encoding", "chunked")], (400, "reset")), (head() + [("content-length", "x")], (400, "reset")),
    (head() + [("content-length", "7")], (400, "reset")), (head(method="GET\0"), (400, "reset")), (head(path="/ver sion"), (400, 404, "reset")),
    (head(path="/version\r\nx: y"), (400, "reset")), (head(method="CONNECT", path=None, scheme=None), (400, 405, "reset")),
    (head(path="/version?" + "a&" * 1000), (200,)), (head(path="/" + "x" * 40000), (414, 431)),
    (head() + [("host", "other")], (400, "reset", 200)),
], ids=["right", "host", "no-authority", "no-method", "no-path", "no-scheme", "empty-path", "path-without-slash", "two-paths", "pseudo-behind", "upper-case",
        "blank-in-name", "nul", "line-break", "connection", "transfer-encoding", "length-no-number", "length-without-body", "nul-in-method", "blank-in-path",
        "line-break-in-path", "connect", "many-arguments", "long-path", "other-host"])
def test_http2__heads_are_taken_literally(session, fields, statuses):
    stream = session.begin("GET", "/version", fields=fields)
    assert status_of(session, stream) in statuses
    assert session.get("/version").status == 200  # it was that stream's fault alone


@pytest.mark.parametrize("announced", [3, 30])
def test_http2__body_is_as_long_as_it_says(session, path, announced):
    stream = session.begin("POST", path, [("content-type", "application/json"), ("content-length", str(announced))], is_over=False)
    session.send_body(stream, b"0123456789")
    assert status_of(session, stream) in (400, "reset")
    assert session.get("/version").status == 200


@pytest.mark.parametrize("target, status", [("/apis/apps/v1/namespaces/default/../default/controllerrevisions", 404),
                                            ("/apis/apps/v1/namespaces/default%2F%63ontrollerrevisions", 200), ("/nowhere", 404)])
def test_http2__targets_mean_the_same(annals, session, target, status):
    assert (session.get(target).status, annals.get(target).status) == (status, status)


# ---- who it is ----


def put(path, text):
    """As programs that rotate files do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_http2__certificate_is_judged_again_on_a_live_connection(etcd, folder, certificates):
    users = folder / "users.crt"
    others = processes.Certificates(folder / "others", "others")
    put(users, certificates.ca.read_text())
    server = processes.Serve(etcd().endpoint, certificates, f"--client-ca-file={users}")
    with http2.connect(server.client) as session:
        watch = session.begin("GET", revisions() + "?watch=1")
        assert session.wait(lambda: watch.status == 200)
        for ca, status in ((others.ca, 401), (certificates.ca, 200)):
            assert session.get(revisions()).status == (200 if status == 401 else 401)
            put(users, ca.read_text())
            retry_until(lambda: session.get(revisions()).status == status, f"{status} on the same connection", interval=0.05)
        assert not watch.is_over and not session.goaways


def test_http2__requests_of_a_connection_have_their_own_users(annals, path):
    alice = [("impersonate-user", "alice")]
    with http2.connect(annals.client) as session:
        streams = [session.begin("GET", path, alice if i % 2 else [], write=False) for i in range(40)]
        send_all(session, streams)
        assert [session.finish(stream).status for stream in streams] == [200, 403] * 20
    for headers, status in (([], 403), ([("authorization", "Bearer nonsense")], 401)):
        with http2.connect(annals.anonymous) as session:
            assert session.get(path, headers).status == status


# ---- under load, and the end ----


def test_http2__ping_is_answered_beside_anything(annals, path):
    for i in range(10):
        annals.post(path, revision(f"r{i}", data={"text": str(i) * 100000}))
    with http2.connect(annals.client, window=1 << 30) as session:
        lists = [session.begin("GET", f"{path}?labelSelector=a%21%3D{i}", write=False) for i in range(30)]
        send_all(session, lists)
        assert session.wait(lambda: session.room == 0)  # 30 MB wait for a window
        for i in range(50):
            assert session.round_trip(b"ping%04d" % i)
        session.let_come(1 << 30)
        for stream in lists:
            assert len(json.loads(session.finish(stream).body)["items"]) == 10


def test_http2__no_request_is_lost_when_the_server_ends(etcd, serve):
    store = etcd()
    server = serve(store.endpoint)
    with http2.connect(server.client) as session:
        watch = session.begin("GET", revisions() + "?watch=1")
        assert session.wait(lambda: watch.status == 200)
        store.signal(signal.SIGSTOP)
        held = session.begin("POST", revisions(), [("content-type", "application/json")], is_over=False)
        session.send_body(held, json.dumps(revision("held")).encode())
        assert session.round_trip()
        server.signal(signal.SIGTERM)
        assert session.wait(lambda: session.goaways) and session.goaways[0][:2] == (FINAL, http2.NO_ERROR)
        # What is asked before the client has heard of the end counts, until the server has said which request was the last.
        asked = []
        while session.goaways[-1].last == FINAL and not session.is_closed:
            try:
                asked.append(session.begin("GET", "/version"))
            except OSError:
                break
            session.wait(lambda: asked[-1].is_over or session.goaways[-1].last != FINAL)
        store.signal(signal.SIGCONT)
        while session.read():
            pass
        last = session.goaways[-1]
        assert last.code == http2.NO_ERROR and last.last != FINAL and last.last >= held.number
        assert held.status == 201 and held.is_over and held.reset is None
        assert watch.is_over and watch.reset is None and watch.body.endswith((b"\n", b""))
        for stream in asked:
            assert (stream.is_over and stream.status == 200) == (stream.number <= last.last), (stream.number, last)
    assert server.wait() == 0


def test_http2__idle_connections_do_not_delay_the_end(etcd, serve):
    server = serve(etcd().endpoint)
    sessions = [http2.connect(server.client) for _ in range(10)]
    watches = [(session, session.begin("GET", revisions() + "?watch=1")) for session in sessions[:5] for _ in range(10)]
    assert all(session.wait(lambda: stream.status == 200) for session, stream in watches)
    assert all(session.get("/livez").status == 200 for session in sessions)
    assert server.stop() == 0
    for session in sessions:
        while session.read():
            pass
        assert session.goaways and session.goaways[-1].code == http2.NO_ERROR
        session.close()
    assert all(stream.is_over and stream.reset is None for _, stream in watches)


def test_http2__connections_are_sent_away_by_chance(etcd, serve):
    """So that clients spread over replicas again. One request in fifty; none in 3,000 would be a chance of 10^-26."""
    server = serve(etcd().endpoint, "--goaway-chance=0.02")
    with http2.connect(server.client) as session:
        for _ in range(3000):
            assert session.get("/version").status == 200
            if session.goaways:
                break
        assert session.goaways[0].code == http2.NO_ERROR
        while session.read():  # the server ends it by itself once nothing is under way
            pass


def test_http2__refuses_a_chance_that_is_too_high(certificates):
    cert, key = certificates.server
    server = processes.Process([processes.BIN, "serve", "--standalone", "--etcd-servers=unix:///nowhere", f"--tls-cert-file={cert}",
                                f"--tls-private-key-file={key}", "--goaway-chance=0.03"])
    assert server.wait() != 0
    assert "goaway-chance" in server.stderr.text
