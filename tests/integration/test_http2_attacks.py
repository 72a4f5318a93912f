"""What a client may do to a server over HTTP/2 to take its memory or its processor. Each attack ends, at the server's wish, after a number of
frames that is known; none makes the server larger than CEILING; and others are served all the while.

A flood is written by one thread, and nothing of what comes back is read before the end, as attackers do."""

import json
import pathlib
import re
import signal
import struct

import pytest

pytest.importorskip("hpack")

import http2
import processes
from http2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PRIORITY, frame
from objects import revision, revisions

MIB = 1 << 20
FLOOD = 200000  # frames; who has not been stopped until then is never stopped
BATCH = 500
SHORT = 3  # seconds, for who would otherwise write for as long as the server lets it wait


@pytest.fixture
def path(annals, namespace):
    return revisions(namespace)


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


def is_sanitized(pid):
    """A sanitizer keeps what has been freed, and shadows of everything."""
    return re.search(r"lib[at]san", pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")) is not None


class Guard:
    """Looks after the server while it is attacked."""

    def __init__(self, annals):
        self.annals, self.before = annals, resident(annals.pid)
        self.ceiling = (768 if is_sanitized(annals.pid) else 64) * MIB
        self.connection = annals.client.connect()
        self.other = http2.connect(annals.client)

    def check(self):
        """Others are served, on old connections and on new ones; and the server has not grown."""
        assert self.annals.get("/apis/apps/v1/namespaces/default/controllerrevisions").status == 200
        assert self.other.get("/apis/apps/v1/namespaces/default/controllerrevisions").status == 200
        grown = resident(self.annals.pid) - self.before
        assert grown < self.ceiling, f"{grown >> 20} MiB more"

    def close(self):
        self.check()
        self.other.close()


@pytest.fixture
def guard(annals):
    watching = Guard(annals)
    yield watching
    watching.close()


def flood(session, frames, guard, n=FLOOD):
    """Frames, without reading what comes back, until the server takes no more. frames(i): the next bytes, of one attempt."""
    try:
        for sent in range(0, n, BATCH):
            session.write(b"".join(frames(i) for i in range(sent, sent + BATCH)))
            if sent % (BATCH * 100) == 0:
                guard.check()
    except OSError:
        pass


def verdict(session):
    """The code of the last GOAWAY when the server has closed the connection. None: it had no last words, or they did not come through, because it had
    not read everything."""
    try:
        while one := session.take_unread():
            if one.kind == http2.GOAWAY:
                session.handle(one)
    except TimeoutError:
        pytest.fail("the server does not close the connection")
    except OSError:
        pass
    return session.goaways[-1].code if session.goaways else None


def check_stopped(session, frames, guard, codes=(http2.ENHANCE_YOUR_CALM,)):
    """The server closes the connection, and says why if it can. It may let the rest go by for a moment, so that it is heard."""
    flood(session, frames, guard)
    code = verdict(session)
    assert code is None or code in codes, code


@pytest.fixture(params=["known", "stranger"])
def session(request, annals):
    """Of somebody with a good certificate, and of anybody."""
    client = annals.client if request.param == "known" else annals.anonymous
    with http2.connect(client, window=1 << 20) as opened:
        assert opened.get("/version").status == 200
        opened.number = opened.next_stream
        yield opened


def next_number(session):
    session.number += 2
    return session.number - 2


def request_block(session, path="/version", method="GET", more=()):
    """Without an index: each can be sent any number of times."""
    fields = [(name.encode(), value.encode()) for name, value in session.head(method, path, more)]
    return b"".join(b"\x00" + bytes([len(name)]) + name + length_of(len(value)) + value for name, value in fields)


def length_of(n):
    """HPACK's, of a string."""
    if n < 127:
        return bytes([n])
    rest, coded = n - 127, b"\x7f"
    while rest >= 128:
        coded += bytes([rest % 128 + 128])
        rest //= 128
    return coded + bytes([rest])


# ---- streams that are made and thrown away ----


def test_http2_attacks__rapid_reset(annals, guard):
    """CVE-2023-44487: a request costs its sender nothing, since a stream that is reset no longer counts."""
    with http2.connect(annals.anonymous, window=1 << 20) as session:
        session.number = session.next_stream
        block = request_block(session, revisions())

        def one(_):
            number = next_number(session)
            return frame(HEADERS, END_HEADERS | END_STREAM, number, block) + http2.rst_stream(number)

        check_stopped(session, one, guard)


def cancelled(session, path):
    """The frames of a request that is given up at once, as Go's transport writes them at times: with a PING, and with the window's rest."""
    stream = session.begin("GET", path, write=False)
    return stream.frames + http2.rst_stream(stream.number) + http2.ping(b"are you?") + http2.window_update(0, 1)


def test_http2_attacks__a_known_client_may_cancel(annals, namespace, path, guard):
    """An aggregator passes on what its users cancel. Its other streams go on, however often one user does that."""
    watch_list = f"{path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with http2.connect(annals.client) as session:
        watch = session.begin("GET", f"{path}?watch=true")
        assert session.wait(lambda: watch.status)
        for i in range(100):
            session.write(b"".join(cancelled(session, watch_list) for _ in range(100)))
            assert session.round_trip(), session.goaways
            if i % 20 == 0:
                guard.check()
        assert session.get(path).status == 200
        assert annals.post(path, revision("seen")).status == 201
        assert session.wait(lambda: b"\n" in watch.body), session.goaways
        assert json.loads(watch.body)["object"]["metadata"]["name"] == "seen"
        assert not session.goaways


def test_http2_attacks__a_known_client_is_not_free_to_send_resets(annals, guard):
    """One for each stream that it has opened."""
    with http2.connect(annals.client, window=1 << 20) as session:
        number = session.begin("GET", "/version").number
        check_stopped(session, lambda _: http2.rst_stream(number), guard, (http2.ENHANCE_YOUR_CALM, http2.PROTOCOL_ERROR))


def bad_window(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + http2.window_update(number, 0)


def window_overflow(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + http2.window_update(number, (1 << 31) - 1)


def data_behind_the_end(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + frame(DATA, 0, number, b"x")


def head_behind_the_end(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK)


def short_priority(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + frame(PRIORITY, 0, number, b"1234")


def depends_on_itself(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK) + frame(PRIORITY, 0, number, struct.pack(">IB", number, 1))


def body_too_long(number):
    return frame(HEADERS, END_HEADERS, number, POST_BLOCK) + frame(DATA, END_STREAM, number, b"xxxx")


def malformed_head(number):
    return frame(HEADERS, END_HEADERS | END_STREAM, number, BLOCK + b"\x00\x01X\x01y")


BLOCK = POST_BLOCK = None


@pytest.mark.parametrize("attempt", [bad_window, window_overflow, data_behind_the_end, head_behind_the_end, short_priority, depends_on_itself, body_too_long,
                                     malformed_head], ids=lambda attempt: attempt.__name__)
def test_http2_attacks__made_you_reset(session, guard, attempt):
    """CVE-2025-8671: the client lets the server reset the stream, which counts for the server as if the client had."""
    global BLOCK, POST_BLOCK
    BLOCK = request_block(session, revisions())
    POST_BLOCK = request_block(session, revisions(), "POST", [("content-length", "2")])
    errors = (http2.ENHANCE_YOUR_CALM, http2.PROTOCOL_ERROR, http2.STREAM_CLOSED, http2.FLOW_CONTROL_ERROR, http2.FRAME_SIZE_ERROR)
    if attempt is depends_on_itself:  # with priorities off it may be a frame like any other
        flood(session, lambda _: attempt(next_number(session)), guard, 50 * BATCH)
        return
    check_stopped(session, lambda _: attempt(next_number(session)), guard, errors)


def test_http2_attacks__handlers_that_a_client_leaves_behind_are_limited(etcd, serve):
    """As many as it may have streams. Then it gets no more, but those that it has are finished."""
    store = etcd()
    server = serve(store.endpoint, "--http2-max-streams-per-connection=20")
    guard = Guard(server)
    with http2.connect(server.client) as session:
        assert session.get(revisions()).status == 200
        watch = session.begin("GET", f"{revisions()}?watch=true")
        assert session.wait(lambda: watch.status)
        store.signal(signal.SIGSTOP)
        n_running = 0
        for _ in range(100):
            try:
                stream = session.begin("GET", revisions())
                session.write(http2.rst_stream(stream.number))
                if not session.round_trip():
                    break
            except OSError:
                break
            n_running = max(n_running, under_way(server))
            if session.goaways and session.goaways[-1].code:
                break
        assert 20 <= n_running <= 40
        assert session.goaways[-1].code == http2.ENHANCE_YOUR_CALM
        store.signal(signal.SIGCONT)
        processes.retry_until(lambda: under_way(server) == 0, "the end of what was given up")
        assert server.post(revisions(), revision("seen")).status == 201
        assert session.wait(lambda: b"\n" in watch.body) and not watch.is_over
    guard.close()


def under_way(server):
    """Reading requests that wait for the store."""
    match = re.search(r'apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)', server.get("/metrics").text)
    return int(match[1]) if match else 0


# ---- frames without end ----


@pytest.mark.parametrize("size", [0, 1, 16000])
def test_http2_attacks__continuation_without_end(session, guard, size):
    """CVE-2024-27316: a head that never ends."""
    session.write(frame(HEADERS, END_STREAM, next_number(session), request_block(session)))
    block = b"\x00\x01x" + length_of(size) + b"y" * size
    piece = frame(CONTINUATION, 0, session.number - 2, block if size else b"")
    check_stopped(session, lambda _: piece, guard, (http2.ENHANCE_YOUR_CALM, http2.PROTOCOL_ERROR, http2.INTERNAL_ERROR, http2.COMPRESSION_ERROR))


def test_http2_attacks__empty_data(session, guard):
    """CVE-2019-9518"""
    number = next_number(session)
    session.write(frame(HEADERS, END_HEADERS, number, request_block(session, revisions(), "POST")))
    check_stopped(session, lambda _: frame(DATA, 0, number), guard, (http2.ENHANCE_YOUR_CALM, http2.STREAM_CLOSED, http2.PROTOCOL_ERROR))


def test_http2_attacks__padding_alone(session, guard):
    """A body that never comes. The windows that it is given are read by nobody, and then the server reads no more, either."""
    number = next_number(session)
    session.write(frame(HEADERS, END_HEADERS, number, request_block(session, revisions(), "POST")))
    piece = frame(DATA, http2.PADDED, number, b"\xff" + bytes(255))
    session.sock.settimeout(SHORT)
    flood(session, lambda _: piece, guard)


@pytest.mark.parametrize("piece", [http2.settings(INITIAL_WINDOW_SIZE=1000), http2.settings(), http2.settings(**{"HEADER_TABLE_SIZE": 0, "MAX_FRAME_SIZE": 16384})],
                         ids=["window", "empty", "table"])
def test_http2_attacks__settings(session, guard, piece):
    """CVE-2019-9515: each wants an answer, which nobody reads."""
    check_stopped(session, lambda _: piece, guard)


def test_http2_attacks__ping(session, guard):
    """CVE-2019-9512"""
    check_stopped(session, lambda i: http2.ping(struct.pack(">Q", i)), guard)


@pytest.mark.parametrize("whose", ["connection", "stream"])
def test_http2_attacks__window_updates(session, guard, whose):
    number = next_number(session)
    session.write(frame(HEADERS, END_HEADERS, number, request_block(session, revisions(), "POST")))
    piece = http2.window_update(0 if whose == "connection" else number, 1)
    check_stopped(session, lambda _: piece, guard)


def test_http2_attacks__priority(session, guard):
    """CVE-2019-9513: a tree that is rebuilt again and again."""
    check_stopped(session, lambda i: frame(PRIORITY, 0, 2 * i + 1001, struct.pack(">IB", 2 * i + 999, i % 256)), guard,
                  (http2.ENHANCE_YOUR_CALM, http2.PROTOCOL_ERROR))


@pytest.mark.parametrize("kind", [0x20, 0xfe])
def test_http2_attacks__unknown_frames(session, guard, kind):
    check_stopped(session, lambda _: frame(kind, 0, 0, b"x"), guard)


def test_http2_attacks__acknowledgements(session, guard):
    check_stopped(session, lambda _: frame(http2.SETTINGS, http2.ACK), guard, (http2.ENHANCE_YOUR_CALM, http2.PROTOCOL_ERROR))


# ---- heads ----


def test_http2_attacks__header_bomb(session, guard):
    """One byte stands for four kilobytes, thousands of times."""
    value = b"b" * 4000
    bomb = request_block(session) + b"\x40\x01x" + length_of(len(value)) + value + b"\xbe" * 12000
    again = request_block(session) + b"\xbe" * 12000
    session.write(frame(HEADERS, END_HEADERS | END_STREAM, next_number(session), bomb))
    flood(session, lambda _: frame(HEADERS, END_HEADERS | END_STREAM, next_number(session), again), guard, 2000)


def test_http2_attacks__header_bomb_is_refused(annals):
    with http2.connect(annals.client) as session:
        value = b"b" * 4000
        bomb = request_block(session) + b"\x40\x01x" + length_of(len(value)) + value + b"\xbe" * 12000
        stream = session.new_stream()
        session.write(frame(HEADERS, END_HEADERS | END_STREAM, stream.number, bomb))
        session.finish(stream)
        assert stream.status == 431 or stream.reset is not None or session.goaways


# ---- who takes and does not give ----


@pytest.fixture
def large(annals, path):
    """A collection of 4 MiB."""
    for i in range(8):
        assert annals.post(path, revision(f"r{i}", data={"text": str(i) * (MIB // 2)})).status == 201
    return path


@pytest.mark.parametrize("window", [0, 1 << 30], ids=["no-window", "unread"])
def test_http2_attacks__large_answers_nobody_takes(annals, large, guard, window):
    """200 answers of 4 MiB on two connections, each of its own make: with windows of nothing, and with large ones of who does not read."""
    sessions = [http2.connect(annals.client, window=window) for _ in range(2)]
    for session in sessions:
        if window:
            session.let_come((1 << 30) - 1)
        for i in range(100):
            session.begin("GET", f"{large}?labelSelector=a%21%3D{i}")
    guard.check()
    for session in sessions:
        if window:
            continue
        assert session.round_trip()
        assert session.wait(lambda: all(stream.status or stream.is_over for stream in session.streams.values()))
        guard.check()
    for session in sessions:
        session.close()


def test_http2_attacks__streams_without_bodies(annals, guard):
    """All places of many connections are taken, and nothing comes. Its own connections alone are hurt."""
    sessions = [http2.connect(annals.client) for _ in range(20)]
    for session in sessions:
        streams = [session.begin("POST", revisions(), [("content-type", "application/json"), ("content-length", "100000")], is_over=False, write=False)
                   for _ in range(100)]
        session.write(b"".join(stream.frames for stream in streams))
        assert session.round_trip()
    guard.check()
    for session in sessions:
        session.close()


def test_http2_attacks__bodies_that_never_end(annals, guard):
    """Each of them nearly as large as may be: 100 connections would fill 300 MiB, one could fill as much."""
    body = json.dumps(revision(data={"x": "y" * (5 * MIB // 2)})).encode()
    with http2.connect(annals.client) as session:
        streams = []
        for _ in range(60):
            stream = session.begin("POST", revisions(), [("content-type", "application/json")], is_over=False)
            session.send_body(stream, body, is_over=False)
            streams.append(stream)
        assert session.round_trip()
        guard.check()


def test_http2_attacks__bodies_of_strangers_are_not_kept(annals, guard):
    with http2.connect(annals.anonymous) as session:
        for _ in range(60):
            stream = session.begin("POST", revisions(), [("content-type", "application/json")], is_over=False)
            session.send_body(stream, b"x" * (2 * MIB), is_over=False)
        assert session.round_trip() or session.goaways


def test_http2_attacks__small_pieces(annals, path, guard):
    """CVE-2019-9511, 9517: a large answer through a window of one byte at a time, which nobody reads."""
    annals.post(path, revision(data={"text": "x" * MIB}))
    with http2.connect(annals.client, window=0) as session:
        stream = session.begin("GET", path + "/a")
        assert session.wait(lambda: stream.status)
        session.let_come(MIB)
        session.sock.settimeout(SHORT)
        flood(session, lambda _: http2.window_update(stream.number, 1), guard, 20000)


@pytest.mark.long
def test_http2_attacks__who_does_not_go_on_is_closed(annals, large):
    """Each by a deadline of the server's: an answer that is not taken, a body that does not come, a head that does not end."""
    unread = http2.connect(annals.client, window=0)
    answer = unread.begin("GET", large)
    assert unread.wait(lambda: answer.status == 200)
    silent = http2.connect(annals.client)
    body = silent.begin("POST", revisions(), [("content-type", "application/json"), ("content-length", "100")], is_over=False)
    half = http2.connect(annals.client)
    half.send(HEADERS, END_STREAM, 1, request_block(half))
    for session, stream in ((unread, answer), (silent, body)):
        session.sock.settimeout(processes.LONG_PATIENCE)
        session.finish(stream)
        assert stream.is_over or session.is_closed
    half.sock.settimeout(processes.LONG_PATIENCE)
    verdict(half)
    assert half.is_closed
