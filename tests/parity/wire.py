"""HTTP to the server that is compared, and streams read in the background."""

import http.client
import json
import socket
import ssl
import threading
import time

import processes
from jsontext import parse_json

USER_AGENT = "parity"
PATIENCE = 60  # seconds: how long a stream may take to come to what it was recorded to come to


class Client:
    """The server, asked as an administrator ("default") or by nobody ("none")."""

    timeout = 30  # seconds

    def __init__(self, url, ca, cert, key):
        self.clients = {"default": processes.Client(url, ca, cert, key), "none": processes.Client(url, ca)}
        self.host, self.port = self.clients["default"].host, self.clients["default"].port
        self.idle = {}

    def connect(self, auth):
        return self.clients[auth].connect(self.timeout)

    def start(self, connection, method, target, headers, body, chunked=False):
        """Send one request; a server may answer, and stop reading, before the body is complete."""
        headers = {key: value for key, value in headers.items() if value is not None}
        names = {key.lower() for key in headers}
        connection.putrequest(method, target, skip_accept_encoding=True)
        if "user-agent" not in names:
            connection.putheader("User-Agent", USER_AGENT)
        for key, value in headers.items():
            connection.putheader(key, value.encode("utf-8"))
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        elif body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        try:
            if chunked:
                connection.endheaders((body[start:start + 1000] for start in range(0, len(body), 1000)), encode_chunked=True)
            else:
                connection.endheaders(body)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            if not body:
                raise
        return connection.getresponse()

    def exchange(self, method, target, headers=None, body=None, auth="default", chunked=False):
        """One complete exchange, as (status, [(header, value)], body bytes)."""
        while True:
            connection = self.idle.pop(auth, None)
            reused = connection is not None
            connection = connection or self.connect(auth)
            try:
                response = self.start(connection, method, target, headers or {}, body, chunked)
                data = response.read()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                if reused:
                    continue
                raise
            except Exception:
                connection.close()
                raise
            if response.will_close:
                connection.close()
            else:
                self.idle[auth] = connection
            return response.status, response.getheaders(), data

    def close(self):
        for connection in self.idle.values():
            connection.close()
        self.idle.clear()


class Watch(threading.Thread):
    """A streaming request read in the background; events are whatever JSON values arrive."""

    def __init__(self, client, method, target, headers, auth, limits):
        super().__init__(daemon=True)
        self.limits = limits
        self.request = (method, target, headers, None)
        self.client = client
        self.connection = client.connect(auth)
        self.connection.timeout = 3600
        self.changed = threading.Condition()
        self.answered = threading.Event()
        self.status, self.headers, self.raw = None, [], b""
        self.events, self.error = [], None
        self.stopping = self.closed = False
        self.last = time.monotonic()

    def run(self):
        try:
            response = self.client.start(self.connection, *self.request)
            self.status, self.headers = response.status, response.getheaders()
            self.answered.set()
            pending = b""
            while data := response.read1(65536):
                self.raw += data
                if self.status == 200:
                    pending = self.feed(pending + data)
            if not self.stopping:
                self.closed = True
            if pending.strip():
                self.error = "stream ended inside a JSON value"
        except (OSError, ValueError, http.client.HTTPException) as error:
            if not self.stopping:
                self.error = "%s: %s" % (type(error).__name__, error)
        finally:
            self.answered.set()
            with self.changed:
                self.changed.notify_all()

    def feed(self, data):
        """Take the complete values off the front of data, return the rest."""
        try:
            text, tail = data.decode("utf-8"), b""
        except UnicodeDecodeError as error:
            text, tail = data[:error.start].decode("utf-8"), data[error.start:]
        decoder = json.JSONDecoder()
        while (text := text.lstrip()):
            try:
                _, end = decoder.raw_decode(text)
            except json.JSONDecodeError:
                break
            with self.changed:
                self.take(parse_json(text[:end]))
                self.last = time.monotonic()
                self.changed.notify_all()
            text = text[end:]
        return text.encode("utf-8") + tail

    def take(self, event):
        """Keep an event; bookmarks come when the server likes, so a step may have them dropped or merged."""
        def plain(item):
            return item.get("type") == "BOOKMARK" and not item["object"].get("metadata", {}).get("annotations")
        treatment = self.limits.get("bookmarks") if isinstance(event, dict) and plain(event) else None
        if treatment == "merge" and self.events and plain(self.events[-1]):
            self.events[-1] = event
        elif treatment != "drop":
            self.events.append(event)

    def is_told_off(self):
        """An error is the last event: the server ends the stream."""
        return bool(self.events) and isinstance(self.events[-1], dict) and self.events[-1].get("type") == "ERROR"

    def finish(self):
        """Wait for the wanted events, a moment for surplus ones, then hang up; without a number of them, and behind an error, for the end."""
        entered = time.monotonic()
        deadline = entered + PATIENCE
        wanted, linger = self.limits.get("events"), self.limits.get("linger", 0.3)
        with self.changed:
            while self.is_alive():
                now = time.monotonic()
                if wanted is not None and len(self.events) >= wanted and not self.is_told_off():
                    until = min(deadline, max(self.last, entered if wanted == 0 else 0) + linger)
                else:
                    until = deadline
                if now >= until:
                    break
                self.changed.wait(until - now)
        self.stopping = True
        try:
            self.connection.sock and self.connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join(5)
        self.connection.close()
