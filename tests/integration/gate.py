"""A gate before a server, where requests and events can be made to wait, so that a test decides what happens first."""

import http.server
import re
import socketserver
import ssl
import threading

import processes


class Held:
    """Requests that wait: those of a method whose path with its query matches. release() lets them and all later ones go on."""

    def __init__(self, method, pattern):
        self.method, self.pattern = method, re.compile(pattern)
        self.arrived, self.released = threading.Event(), threading.Event()

    def await_arrival(self):
        assert self.arrived.wait(processes.PATIENCE), f"no {self.method} of {self.pattern.pattern} came"

    def release(self):
        self.released.set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    gate = None

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ValueError):  # one side is gone
            self.close_connection = True

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.gate.pass_request(self.command, self.path)
        if self.gate.is_lost(self.path):
            self.send_response(404)
            self.whole(b"404 page not found\n")
            return
        connection = self.gate.client.connect()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length", "connection")}
        connection.request(self.command, self.path, body or None, headers)
        response = connection.getresponse()
        self.send_response(response.status)
        for name in ("Content-Type", "Retry-After"):
            if response.getheader(name):
                self.send_header(name, response.getheader(name))
        if "watch=" in self.path and response.status == 200:
            self.stream(response)
        else:
            self.whole(response.read())
        connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def whole(self, body):
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.gate.note(self.command, self.path)

    def stream(self, response):
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while line := response.readline():
            self.gate.pass_event(self.path)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def get_request(self):  # the handshake belongs to the connection's own thread
        connection, address = super().get_request()
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_):
        pass  # a client that went


class Gate:
    """https://127.0.0.1:PORT, which leads to a server as its administrator."""

    def __init__(self, client, certificates):
        self.client = client
        self.holds, self.closed, self.answered, self.lost = [], set(), [], []
        self.changed = threading.Condition()
        self.server = Threads(("127.0.0.1", 0), type("GateHandler", (Handler,), {"gate": self}))
        self.server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.context.load_cert_chain(*map(str, certificates.server))
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        for held in self.holds:
            held.release()
        self.open_events()
        self.server.shutdown()
        self.server.server_close()

    # ---- requests ----

    def hold(self, method, pattern):
        held = Held(method, pattern)
        self.holds.append(held)
        return held

    def lose(self, *patterns):
        """From now on such paths are answered 404 by somebody who is no API server, as by an ingress without a route."""
        self.lost = [re.compile(pattern) for pattern in patterns]

    def is_lost(self, path):
        return any(pattern.search(path) for pattern in self.lost)

    def pass_request(self, method, path):
        for held in self.holds:
            if held.method == method and held.pattern.search(path) and "watch=" not in path:
                held.arrived.set()
                held.released.wait()

    def note(self, method, path):
        with self.changed:
            self.answered.append((method, path))
            self.changed.notify_all()

    def await_answered(self, method, pattern, n=1):
        """That many requests have had their answers."""
        def so_many():
            return sum(m == method and bool(re.search(pattern, path)) for m, path in self.answered) >= n
        with self.changed:
            assert self.changed.wait_for(so_many, processes.PATIENCE), f"not {n} {method} of {pattern} in {self.answered}"

    # ---- events ----

    def hold_events(self, plural):
        """From now on watches of it tell nothing."""
        with self.changed:
            self.closed.add(plural)

    def open_events(self):
        with self.changed:
            self.closed.clear()
            self.changed.notify_all()

    def pass_event(self, path):
        plural = path.partition("?")[0].rpartition("/")[2]
        with self.changed:
            self.changed.wait_for(lambda: plural not in self.closed)
