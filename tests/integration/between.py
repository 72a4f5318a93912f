"""What stands between a controller and its server: an HTTPS proxy that a test commands.

    hold("pods")       watches of pods say nothing any more, until let_go("pods")
    lose("pods")       ... and what they would have said is lost: they end, and the next one has to list again
    on_write = f       f(method, path) is called before each write; what it returns, if anything, is called when the server has answered
                       and before the controller gets the event; it may return a name of TROUBLES, as the answer instead
    fault = f          f(method, path) is called before each request that is no watch; a name of TROUBLES makes it fail that way.
                       For a Recording it is called for each namespace, as if that were in the path
"""

import http.client
import http.server
import json
import socket
import ssl
import threading
import urllib.parse

import processes

GONE = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410, "message": "too old resource version"}
STATUS = '{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":"%s","message":"%s"}'
HTML, JSON = "text/html", "application/json"
# What a client may get in place of an answer. Of "lost" the request is carried out. "cut" would be a NotFound, if it came to its end.
TROUBLES = {
    "500": (500, JSON, STATUS % (500, "InternalError", "an error on the server")),
    "403": (403, JSON, STATUS % (403, "Forbidden", "it is forbidden")),
    "429": (429, JSON, STATUS % (429, "TooManyRequests", "the server has received too many requests")),
    "503": (503, HTML, "<html><title>503 Service Temporarily Unavailable</title></html>"),
    "404": (404, "text/plain", "404 page not found\n"),
    "proxy": (404, HTML, "<html><title>404 Not Found</title></html>"),
    "route": (404, JSON, STATUS % (404, "NotFound", "the server could not find the requested resource")),
    "login": (200, HTML, "<html><title>Please log in</title></html>"),
    "empty": (200, JSON, "{}"),
    "cut": (404, JSON, STATUS % (404, "NotFound", "")),
    "lost": None,
}
# And one more, for clients that wait for a short time: no answer, before the client has gone.
NO_ANSWER = "none"
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def trouble(self, between, path, body):
        """A Recording carries changes of several namespaces: it fails if the request of one of them would."""
        if not path.endswith("/recordings"):
            return between.fault(self.command, path)
        start, _, kind = path.rpartition("/")
        namespaces = {sighting["namespace"] for sighting in json.loads(body)["spec"]["sightings"]}
        found = [between.fault(self.command, f"{start}/namespaces/{namespace}/{kind}") for namespace in sorted(namespaces)]
        return next(filter(None, found), None)

    def do_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        between = self.server.between
        path, _, query = self.path.partition("?")
        kind = path.rpartition("/")[2]
        if self.command == "GET" and urllib.parse.parse_qs(query).get("watch", [""])[0] in ("1", "true"):
            self.watch(between, kind)
            return
        if trouble := self.trouble(between, path, body):
            self.fail(between, trouble, body)
            return
        then = between.on_write(self.command, path) if self.command != "GET" else None
        response = between.ask(self.command, self.path, body, self.headers)
        answer = response.read()
        if then and (trouble := then()):
            status, _, text = TROUBLES[trouble]
            self.answer(status, text.encode(), [("Content-Type", JSON)])
            return
        self.answer(response.status, answer, response.getheaders())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # pylint: disable=invalid-name

    def fail(self, between, trouble, body):
        if trouble == "lost":
            between.ask(self.command, self.path, body, self.headers).read()
            self.close_connection = True
            return
        if trouble == NO_ANSWER:
            self.close_connection = True
            self.connection.recv(1)
            return
        status, kind, text = TROUBLES[trouble]
        if trouble == "empty" and self.command != "GET":
            status, kind, text = TROUBLES["login"]  # {} would be an answer to a write
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text) + (100 if trouble == "cut" else 0)))
        self.end_headers()
        self.wfile.write(text.encode())
        self.close_connection = trouble == "cut"

    def answer(self, status, body, headers=()):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self, between, kind):
        if between.take_loss(kind):
            self.answer(410, json.dumps(GONE).encode(), [("Content-Type", "application/json")])
            return
        response = between.ask("GET", self.path, None, self.headers)
        if response.status != 200:
            self.answer(response.status, response.read(), response.getheaders())
            return
        self.close_connection = True
        self.send_response_only(200)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with between.watching(kind, self.connection):
            while piece := response.read1(65536):
                between.wait_open(kind)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    def handle(self):
        try:
            super().handle()
        except (OSError, http.client.HTTPException, ValueError):
            pass  # one of both ends has gone, or the test is over

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class HttpsServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # a handshake that did not end well


class Watching:
    def __init__(self, between, kind, connection):
        self.between, self.entry = between, (kind, connection)

    def __enter__(self):
        with self.between.changed:
            self.between.watches.append(self.entry)

    def __exit__(self, *_):
        with self.between.changed:
            self.between.watches.remove(self.entry)


class Between:
    """url: for the controller, which needs no credentials: it is the administrator."""

    def __init__(self, server, certificates):
        self.client = server.client
        self.changed = threading.Condition()
        self.held, self.lost, self.watches = set(), set(), []
        self.on_write = lambda method, path: None
        self.fault = lambda method, path: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificates.server)
        self.https = HttpsServer(("127.0.0.1", 0), Handler)
        self.https.between = self
        self.https.socket = context.wrap_socket(self.https.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.https.server_address[1]}"
        self.thread = threading.Thread(target=self.https.serve_forever, args=[0.05], daemon=True)
        self.thread.start()

    def ask(self, method, path, body, headers):
        connection = self.client.connect(processes.LONG_PATIENCE)
        sent = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP | {"host", "authorization"}}
        connection.request(method, path, body, sent)
        return connection.getresponse()

    def watching(self, kind, connection):
        return Watching(self, kind, connection)

    def wait_open(self, kind):
        with self.changed:
            self.changed.wait_for(lambda: kind not in self.held)

    def take_loss(self, kind):
        with self.changed:
            is_lost = kind in self.lost
            self.lost.discard(kind)
            return is_lost

    def hold(self, *kinds):
        with self.changed:
            self.held |= set(kinds)

    def let_go(self, *kinds):
        with self.changed:
            self.held -= set(kinds)
            self.changed.notify_all()

    def lose(self, *kinds):
        """Of those that are held."""
        with self.changed:
            self.lost |= set(kinds)
            for kind, connection in self.watches:
                if kind in kinds:
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        self.let_go(*kinds)

    def close(self):
        self.https.shutdown()
        self.https.server_close()
        with self.changed:
            self.held.clear()
            self.changed.notify_all()
