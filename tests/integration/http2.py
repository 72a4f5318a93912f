"""HTTP/2 as tests need it: a session, in which each frame can be sent and seen, and a connection that is used as those of http.client are.

Frames are made here and not by a library: tests say what no library would, and a drain's GOAWAY must not end what goes on.
"""

import collections
import http.client
import socket
import ssl
import struct

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL,
 COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY, HTTP_1_1_REQUIRED) = range(14)
WINDOW = 65535  # at the beginning
FRAME_SIZE = 16384
GENEROUS = 1 << 20  # the window of a client that reads its answers
ABSENT = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host")  # fields that HTTP/2 has not


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(**values):
    """settings(INITIAL_WINDOW_SIZE=0)"""
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", globals()[name], value) for name, value in values.items()))


def window_update(stream, more):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", more))


def rst_stream(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def ping(data=b"12345678", flags=0):
    return frame(PING, flags, 0, data)


Frame = collections.namedtuple("Frame", "kind flags stream payload")
Goaway = collections.namedtuple("Goaway", "last code text")


class Stream:
    """A request and what has come of it so far."""

    def __init__(self, number, window):
        self.number, self.window = number, window
        self.status, self.headers, self.trailers = None, [], []
        self.body = bytearray()  # what nobody has taken yet
        self.is_over, self.reset = False, None  # the code of RST_STREAM
        self.n_unreturned = 0
        self.room = 0  # how many bytes it may still be sent

    def header(self, name):
        return next((value for key, value in self.headers if key == name), None)


class Session:
    """A connection that speaks HTTP/2. Not for several threads.

    window: how much may come of each stream until a test opens it with let_come(); None: it is given back as it comes."""

    def __init__(self, sock, window=None, preface=True, authority=None, **options):
        self.sock, self.window = sock, window
        self.authority = authority or "%s:%d" % sock.getpeername()[:2]
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder(max_header_list_size=1 << 20)
        self.received = bytearray()
        self.streams, self.next_stream = {}, 1
        self.settings, self.goaways, self.pongs, self.n_frames = {}, [], [], collections.Counter()
        self.is_closed = self.is_head = False
        self.send_window, self.initial_window, self.max_frame = WINDOW, WINDOW, FRAME_SIZE
        self.n_unreturned = 0
        self.room = WINDOW  # how many bytes we may still be sent, of all streams
        self.fragments = None
        if preface:
            first = PREFACE + settings(ENABLE_PUSH=0, INITIAL_WINDOW_SIZE=GENEROUS if window is None else window, **options)
            self.write(first + (window_update(0, GENEROUS * 16) if window is None else b""))

    # ---- bytes ----

    def write(self, data):
        self.sock.sendall(data)

    def send(self, kind, flags=0, stream=0, payload=b""):
        self.write(frame(kind, flags, stream, payload))

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _take_frame(self):
        if len(self.received) < 9:
            return None
        size = int.from_bytes(self.received[:3], "big")
        if len(self.received) < 9 + size:
            return None
        kind, flags, stream = struct.unpack(">BBI", self.received[3:9])
        payload = bytes(self.received[9:9 + size])
        del self.received[:9 + size]
        return Frame(kind, flags, stream & 0x7fffffff, payload)

    def _receive(self):
        """Some bytes more; False behind the last one."""
        piece = b"" if self.is_closed else self.sock.recv(65536)
        self.is_closed = not piece
        self.received += piece
        return bool(piece)

    def read(self):
        """The next frame, dealt with; None at the end of the connection."""
        one = self.take_unread()
        if one:
            self.handle(one)
        return one

    def take_unread(self):
        """The next frame, not dealt with; None at the end of the connection."""
        while not (one := self._take_frame()):
            if not self._receive():
                return None
        return one

    def read_what_is_there(self):
        timeout = self.sock.gettimeout()
        self.sock.settimeout(0)
        try:
            while self._receive():
                pass
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            self.is_closed = True
        finally:
            self.sock.settimeout(timeout)
        while one := self._take_frame():
            self.handle(one)

    def wait(self, condition):
        """Reads until it holds; whether it does, at the end of the connection."""
        while not (result := condition()):
            if not self.read():
                return condition()
        return result

    # ---- what comes ----

    def handle(self, one):
        self.n_frames[one.kind] += 1
        handler = {DATA: self._on_data, HEADERS: self._on_headers, CONTINUATION: self._on_continuation, RST_STREAM: self._on_reset,
                   SETTINGS: self._on_settings, PING: self._on_ping, GOAWAY: self._on_goaway, WINDOW_UPDATE: self._on_window}.get(one.kind)
        assert self.fragments is None or one.kind == CONTINUATION, f"{one} within a header block"
        if handler:
            handler(one)

    @staticmethod
    def _unpadded(one):
        return one.payload[1:len(one.payload) - one.payload[0]] if one.flags & PADDED else one.payload

    def _on_data(self, one):
        stream = self.streams[one.stream]
        assert stream.status and not stream.is_over, f"DATA of stream {one.stream}, which has not begun or is over"
        stream.body += self._unpadded(one)
        stream.is_over = bool(one.flags & END_STREAM)
        if self.window is None:
            self._give_back(stream, len(one.payload))
            return
        stream.room -= len(one.payload)
        self.room -= len(one.payload)
        assert not one.payload or stream.room >= 0 and self.room >= 0, f"{one.kind} of stream {one.stream} is larger than a window"

    def let_come(self, more, stream=None):
        """Opens a stream's window, or the connection's."""
        (stream or self).room += more
        self.write(window_update(stream.number if stream else 0, more))

    def _give_back(self, stream, n):
        """Opens both windows, now and then."""
        self.n_unreturned += n
        stream.n_unreturned += n
        more = b""
        if self.n_unreturned > GENEROUS:
            more += window_update(0, self.n_unreturned)
            self.n_unreturned = 0
        if stream.n_unreturned > GENEROUS // 2 and not stream.is_over:
            more += window_update(stream.number, stream.n_unreturned)
            stream.n_unreturned = 0
        if more:
            try:
                self.write(more)
            except OSError:
                pass  # what is still to be read comes first

    def _on_headers(self, one):
        block = self._unpadded(one)
        self.fragments = (one, block[5:] if one.flags & HAS_PRIORITY else block)
        self._end_headers(one.flags)

    def _on_continuation(self, one):
        self.fragments = (self.fragments[0], self.fragments[1] + one.payload)
        self._end_headers(one.flags)

    def _end_headers(self, flags):
        if not flags & END_HEADERS:
            return
        (first, block), self.fragments = self.fragments, None
        fields = [(bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in self.decoder.decode(block, raw=True)]
        stream = self.streams[first.stream]
        assert not stream.is_over, f"HEADERS of stream {first.stream}, which is over"
        if stream.status:
            stream.trailers = fields
        else:
            assert fields[0][0] == ":status" and all(name[0] != ":" and name == name.lower() for name, _ in fields[1:]), fields
            if fields[0][1][0] != "1":
                stream.status, stream.headers = int(fields[0][1]), fields[1:]
        stream.is_over = bool(first.flags & END_STREAM)

    def _on_reset(self, one):
        stream = self.streams[one.stream]
        # An answer in front of the body ends with NO_ERROR: that is only to stop the sender.
        stream.reset = int.from_bytes(one.payload, "big")
        stream.is_over = True

    def _on_settings(self, one):
        if one.flags & ACK:
            return
        for at in range(0, len(one.payload), 6):
            name, value = struct.unpack_from(">HI", one.payload, at)
            self.settings[name] = value
            if name == INITIAL_WINDOW_SIZE:
                for stream in self.streams.values():
                    stream.window += value - self.initial_window
                self.initial_window = value
            elif name == MAX_FRAME_SIZE:
                self.max_frame = value
            elif name == HEADER_TABLE_SIZE:
                self.encoder.header_table_size = min(value, 4096)
        self._write_if_open(frame(SETTINGS, ACK))

    def _on_ping(self, one):
        if one.flags & ACK:
            self.pongs.append(one.payload)
        else:
            self._write_if_open(ping(one.payload, ACK))

    def _write_if_open(self, data):
        try:
            self.write(data)
        except OSError:
            pass  # what is still to be read comes first

    def _on_goaway(self, one):
        last, code = struct.unpack_from(">II", one.payload)
        self.goaways.append(Goaway(last & 0x7fffffff, code, one.payload[8:]))

    def _on_window(self, one):
        more = int.from_bytes(one.payload, "big") & 0x7fffffff
        if one.stream == 0:
            self.send_window += more
        elif one.stream in self.streams:
            self.streams[one.stream].window += more

    # ---- requests ----

    def new_stream(self):
        stream = self.streams[self.next_stream] = Stream(self.next_stream, self.initial_window)
        stream.room = self.window or 0
        self.next_stream += 2
        return stream

    def head(self, method, path, headers=(), scheme="https"):
        return [(":method", method), (":scheme", scheme), (":authority", self.authority), (":path", path), *headers]

    def header_frames(self, stream, block, flags=END_STREAM):
        """Of a block that is not larger than a frame: one."""
        pieces = [block[at:at + self.max_frame] for at in range(0, len(block), self.max_frame)] or [b""]
        frames = b""
        for i, piece in enumerate(pieces):
            last = END_HEADERS if i == len(pieces) - 1 else 0
            frames += frame(CONTINUATION, last, stream, piece) if i else frame(HEADERS, last | flags, stream, piece)
        return frames

    def block(self, fields):
        return self.encoder.encode([(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields], huffman=False)

    def begin(self, method, path, headers=(), is_over=True, write=True, fields=None):
        """A request whose body, if any, comes later; its frames are in .frames if nothing is to be written. fields: all of them."""
        stream = self.new_stream()
        block = self.block(self.head(method, path, headers) if fields is None else fields)
        stream.frames = self.header_frames(stream.number, block, END_STREAM if is_over else 0)
        if write:
            self.write(stream.frames)
        return stream

    def send_body(self, stream, body, is_over=True):
        """Waits for windows. Stops where the server has answered and wants no more."""
        at = 0
        while at < len(body):
            if not self.wait(lambda: min(stream.window, self.send_window) > 0 or stream.is_over) or stream.is_over:
                return
            n = min(stream.window, self.send_window, self.max_frame, len(body) - at)
            is_last = at + n == len(body)
            self.send(DATA, END_STREAM if is_last and is_over else 0, stream.number, body[at:at + n])
            stream.window -= n
            self.send_window -= n
            at += n
        if not body and is_over:
            self.send(DATA, END_STREAM, stream.number)

    def finish(self, stream):
        """Reads until its answer is there; the stream. One that the connection leaves behind is not over."""
        self.wait(lambda: stream.is_over)
        return stream

    def get(self, path, headers=()):
        return self.finish(self.begin("GET", path, headers))

    def post(self, path, body, headers=()):
        stream = self.begin("POST", path, [("content-type", "application/json"), *headers], is_over=False)
        self.send_body(stream, body)
        return self.finish(stream)

    def round_trip(self, data=b"roundtri"):
        """Returns when the server has read all that was sent before; whether it has."""
        n = self.pongs.count(data)
        self.write(ping(data))
        return self.wait(lambda: self.pongs.count(data) > n)


def dial(client, alpn=("h2",), timeout=60):
    """A TLS connection as the client makes them; alpn: the names it offers, or None."""
    context = client.make_context(alpn)
    sock = socket.create_connection((client.host, client.port), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(sock, server_hostname=client.host)


def connect(client, timeout=60, **options):
    """A session with the server."""
    sock = dial(client, timeout=timeout)
    assert sock.selected_alpn_protocol() == "h2", sock.selected_alpn_protocol()
    return Session(sock, **options)


class Response:
    """As http.client's."""

    version = 20

    def __init__(self, session, stream):
        self.session, self.stream, self.status = session, stream, stream.status
        self.reason = http.client.responses.get(self.status, "")
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in stream.headers:
            self.headers[name] = value

    @property
    def will_close(self):
        return bool(self.session.goaways) or self.session.is_closed

    def getheader(self, name, default=None):
        return ", ".join(self.headers.get_all(name, [])) or default

    def getheaders(self):
        return list(self.headers.items())

    def _take(self, n):
        taken = bytes(self.stream.body[:n])
        del self.stream.body[:n]
        return taken

    @property
    def is_whole(self):
        return self.stream.is_over and self.stream.reset in (None, NO_ERROR)

    def read(self, n=None):
        self.session.wait(lambda: self.stream.is_over or n is not None and len(self.stream.body) >= n)
        if not self.is_whole and (n is None or len(self.stream.body) < n):
            raise http.client.IncompleteRead(self._take(None))
        taken = self._take(n)
        length = self.headers.get("Content-Length")
        assert n is not None or length is None or self.session.is_head or int(length) == len(taken), f"{len(taken)} bytes rather than {length}"
        return taken

    def read1(self, n=65536):
        self.session.wait(lambda: self.stream.is_over or self.stream.body)
        if not self.stream.body and not self.is_whole:
            raise http.client.IncompleteRead(b"")
        return self._take(n)

    def readline(self):
        self.session.wait(lambda: self.stream.is_over or b"\n" in self.stream.body)
        return self._take(self.stream.body.find(b"\n") + 1 or None)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Connection(http.client.HTTPSConnection):
    """As its base, over HTTP/2 where the server agrees to it. A server that does not know ALPN, a test's own, is spoken to as ever."""

    session = None

    def connect(self):
        super().connect()
        if self.sock.selected_alpn_protocol() == "h2":
            self.session = Session(self.sock, authority=f"{self.host}:{self.port}")

    def close(self):
        self.session = None
        super().close()

    def _open(self):
        """Whether it is HTTP/2. One that is used again must not have been ended meanwhile."""
        if self.session:
            self.session.read_what_is_there()
            if self.session.goaways or self.session.is_closed:
                self.close()
                if not self.auto_open:
                    raise http.client.RemoteDisconnected("the server has ended the connection")
        if self.sock is None:
            if not self.auto_open:
                raise http.client.NotConnected()
            self.connect()
        return self.session is not None

    def request(self, method, url, body=None, headers={}, *, encode_chunked=False):  # pylint: disable=dangerous-default-value
        if not self._open():
            super().request(method, url, body, headers, encode_chunked=encode_chunked)
            return
        fields = [(name.lower(), (value.decode("latin-1") if isinstance(value, bytes) else str(value)).strip()) for name, value in headers.items()]
        if "accept-encoding" not in (name for name, _ in fields):
            fields.append(("accept-encoding", "identity"))
        self.start(method, url, fields, body)

    def start(self, method, url, fields, body=None):
        """fields: pairs."""
        session = self.session
        for name, value in fields:
            if name == "host":
                session.authority = value
        sent = [(name, value) for name, value in fields if name not in ABSENT]
        names = {name for name, _ in sent}
        pieces = iter(body or ())
        if isinstance(body, (bytes, str)):
            body = body.encode("latin-1") if isinstance(body, str) else body
            pieces = iter([body])
            if "content-length" not in names:
                sent.append(("content-length", str(len(body))))
        session.is_head = method == "HEAD"
        self.stream = session.begin(method, url, sent, is_over=body is None)
        try:
            for piece in pieces:
                session.send_body(self.stream, piece, is_over=False)
            if body is not None and not self.stream.is_over:
                session.send_body(self.stream, b"")
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            pass  # there may be an answer, all the same

    def putrequest(self, method, url, skip_host=False, skip_accept_encoding=False):
        if not self._open():
            super().putrequest(method, url, skip_host, skip_accept_encoding)
            return
        self.pending = (method, url, [] if skip_accept_encoding else [("accept-encoding", "identity")])

    def putheader(self, header, *values):
        if not self.session:
            super().putheader(header, *values)
            return
        texts = [value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values]
        self.pending[2].append((header.lower(), ", ".join(texts)))

    def endheaders(self, message_body=None, *, encode_chunked=False):
        if not self.session:
            super().endheaders(message_body, encode_chunked=encode_chunked)
            return
        self.start(*self.pending, message_body)

    def getresponse(self):
        if not self.session:
            return super().getresponse()
        session, stream = self.session, self.stream
        session.wait(lambda: stream.status or stream.is_over or any(goaway.last < stream.number for goaway in session.goaways))
        if not stream.status:
            raise http.client.RemoteDisconnected(f"no answer: stream reset {stream.reset}, {session.goaways}")
        return Response(session, stream)

