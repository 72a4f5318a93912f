"""The page's server, and whoever asks it: `kubectl annals ui` as a process, and requests byte by byte, as no browser makes them."""

import http.server
import json
import re
import socket
import threading

import processes

LINK = r"http://127\.0\.0\.1:(\d+)(/annals/ui/)#token=([0-9a-f]{64})"


class Reply:
    def __init__(self, head, body):
        first, *fields = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.fields = [tuple(field.split(": ", 1)) for field in fields]
        self.headers = {name.lower(): value for name, value in self.fields}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Connection:
    """One connection, on which everything is said and read by the test."""

    def __init__(self, port, address="127.0.0.1"):
        self.socket = socket.create_connection((address, port), timeout=processes.PATIENCE)
        self.rest = b""

    def say(self, text):
        self.socket.sendall(text.encode("latin-1"))

    def _more(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise EOFError(self.rest[:200])
        self.rest += piece

    def until(self, mark):
        while mark not in self.rest:
            self._more()
        text, _, self.rest = self.rest.partition(mark)
        return text

    def exactly(self, n):
        while len(self.rest) < n:
            self._more()
        text, self.rest = self.rest[:n], self.rest[n:]
        return text

    def head(self):
        return Reply(self.until(b"\r\n\r\n"), b"")

    def chunk(self):
        """Of a stream; b"" is its end."""
        n = int(self.until(b"\r\n"), 16)
        piece = self.exactly(n)
        assert self.exactly(2) == b"\r\n"
        return piece

    def chunks(self):
        while True:
            piece = self.chunk()
            if not piece:
                return
            yield piece

    def answer(self):
        reply = self.head()
        if reply.headers.get("transfer-encoding") == "chunked":
            reply.body = b"".join(self.chunks())
        elif reply.status != 304:
            reply.body = self.exactly(int(reply.headers["content-length"]))
        return reply

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page:
    """Who has a link."""

    def __init__(self, link):
        match = re.fullmatch(LINK, link)
        self.link = link
        self.port, self.root, self.token = int(match[1]), match[2], match[3]
        self.host = f"127.0.0.1:{self.port}"
        self.session = None

    def head(self, path, method="GET", host=None, headers=(), body=""):
        """path: below the root, or all of it."""
        target = path if path.startswith(("/", "http:")) else self.root + path
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}"]
        fields = dict(headers)
        if self.session and "X-Annals-Session" not in fields:
            fields["X-Annals-Session"] = self.session
        if body:
            fields["Content-Length"] = str(len(body))
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join(lines) + "\r\n\r\n" + body

    def connect(self, address="127.0.0.1"):
        return Connection(self.port, address)

    def say(self, text, address="127.0.0.1"):
        with self.connect(address) as connection:
            connection.say(text)
            return connection.answer()

    def ask(self, path, address="127.0.0.1", **more):
        return self.say(self.head(path, **more), address)

    def exchange(self, token=None):
        return self.ask("session", method="POST", headers={"X-Annals-Token": token or self.token})

    def enter(self):
        reply = self.exchange()
        assert reply.status == 200, reply
        self.session = reply.json["session"]
        return self

    def stream(self, path, **more):
        """A connection on which the head has been read."""
        connection = self.connect()
        connection.say(self.head(path, **more))
        reply = connection.head()
        assert reply.status == 200, reply
        return connection


def start(kubeconfig, *flags, env=None):
    """The process, and a page of it that has been let in."""
    process = processes.Process([processes.BIN, "kubectl", "ui", "--kubeconfig", kubeconfig, *flags], env=env)
    link = process.stdout.wait(LINK)
    if not link:
        raise AssertionError(f"it ended with {process.wait()}:\n{process.stderr.text}")
    return process, Page(link[0]).enter()


DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": True, "verbs": ["get", "list", "watch"]}]},
    "/apis": {"kind": "APIGroupList", "groups": []},
}


class Upstream:
    """An API server that answers GETs of /api/v1/pods as the test says; it serves nothing but pods."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                found = DISCOVERY.get(self.path)
                if found is None:
                    answer(self)
                    return
                body = json.dumps(found).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True)
        self.thread.start()

    def kubeconfig(self, folder):
        path = folder / "upstream.kubeconfig"
        path.write_text(json.dumps({
            "current-context": "mine", "contexts": [{"name": "mine", "context": {"cluster": "c", "user": "u", "namespace": "here"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.url}}], "users": [{"name": "u", "user": {"token": "secret-token"}}]}))
        return path

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
