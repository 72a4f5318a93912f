"""Requests as data, and what sends them to one server and writes down its answers.

A step is made by get(), post(), merge(), watch() and so on. Its path and body may name what the server chose earlier:

    {ns}            the namespace of the case           {crs} {cms} {pts} {nss}   collections in that namespace; all namespaces
    {rv:a} {uid:a}  of the object a as last seen        {rv0:a}         as first seen
    {continue}      the last continue token             {listrv}        the resourceVersion of the last list
"""

import dataclasses
import gzip
import http.client
import json
import re
import threading
import time
import urllib.parse

import protobuf

PATIENCE = 60  # seconds; a broken test ends
http.client._MAXHEADERS = 1000  # each warning is one
PATHS = {"crs": "/apis/apps/v1/namespaces/{ns}/controllerrevisions", "allcrs": "/apis/apps/v1/controllerrevisions",
         "nss": "/api/v1/namespaces", "cms": "/api/v1/namespaces/{ns}/configmaps", "pts": "/api/v1/namespaces/{ns}/podtemplates"}
PLACEHOLDER = re.compile(r"\{(ns|crs|allcrs|nss|cms|pts|continue|listrv|(?:rv|rv0|uid):[^{}]*)\}")
TIMEOUT = re.compile(r"\btimeoutSeconds=(\d+)")
KEPT_IN_PATHS = "/?&=%:;,.+-_~!*'()@$#[]{}|^\\\"<>`"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclasses.dataclass
class Step:
    method: str
    path: str
    body: object = None  # str and bytes are sent as they are
    headers: dict = dataclasses.field(default_factory=dict)  # a header None is left out
    auth: str = "admin"  # or "none", or a token
    during: list = None  # of a watch: the steps made while it is open
    deviates: object = None  # a deviations.Deviation

    @property
    def title(self):
        body = "" if self.body is None else " " + (self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False, default=repr))
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers.items())
        return f"{self.method} {self.path}{headers}{body[:600]}"


def get(path, **more):
    return Step("GET", path, **more)


def gets(*paths, **more):
    return [get(path, **more) for path in paths]


def post(path, body, **more):
    return Step("POST", path, body, **more)


def put(path, body, **more):
    return Step("PUT", path, body, **more)


def delete(path, body=None, **more):
    return Step("DELETE", path, body, **more)


def _patch(kind):
    def make(path, body, headers=None, **more):
        return Step("PATCH", path, body, {"Content-Type": kind, **(headers or {})}, **more)

    return make


merge, strategic, json_patch, apply = map(_patch, (MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH, APPLY_PATCH))


def watch(path, during=(), **more):
    """Ends by timeoutSeconds, which is added where the path has none: the server decides when all is sent."""
    if "timeoutSeconds" not in path:
        path += ("&" if "?" in path else "?") + "timeoutSeconds=3"
    return Step("GET", path, during=list(during), **more)


def revision(name, data=None, revision=1, **metadata):
    """A ControllerRevision."""
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, **metadata},
            "data": {"k": "v"} if data is None else data, "revision": revision}


def create(name, *arguments, **metadata):
    return post("{crs}", revision(name, *arguments, **metadata))


def namespace(name, **metadata):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


class Memory:
    """What {rv:a} and its like stand for."""

    def __init__(self, ns):
        self.values = {"ns": ns}

    def _lookup(self, match):
        name = match[1]
        return self.expand(PATHS[name]) if name in PATHS else self.values.get(name, "missing-" + name.replace(":", "-"))

    def expand(self, text):
        return PLACEHOLDER.sub(self._lookup, text)

    def expand_all(self, node):
        if isinstance(node, str):
            return self.expand(node)
        if isinstance(node, list):
            return [self.expand_all(item) for item in node]
        if isinstance(node, dict):
            return {self.expand(name): self.expand_all(value) for name, value in node.items()}
        return node

    def learn(self, body):
        metadata = body.get("metadata") if isinstance(body, dict) else None
        if not isinstance(metadata, dict):
            return
        name, version = metadata.get("name"), metadata.get("resourceVersion")
        if name and version:
            self.values[f"rv:{name}"] = version
            self.values.setdefault(f"rv0:{name}", version)
        elif version:
            self.values["listrv"] = version
        if name and metadata.get("uid"):
            self.values[f"uid:{name}"] = metadata["uid"]
        if metadata.get("continue"):
            self.values["continue"] = metadata["continue"]


def parse(text):
    """JSON with floats as they are spelled and members that occur twice in sight."""

    def members(pairs):
        out = {}
        for name, value in pairs:
            while name in out:
                name += " (again)"
            out[name] = value
        return out

    return json.loads(text, object_pairs_hook=members, parse_float=lambda digits: f"number {digits}",
                      parse_int=lambda digits: int(digits) if digits != "-0" else "number -0")


def parse_events(text):
    events, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        end = decoder.raw_decode(text)[1]
        events.append(parse(text[:end]))
        text = text[end:]
    return events


@dataclasses.dataclass
class Result:
    status: int
    headers: dict  # lower-case name: values
    body: object  # parsed JSON, text, or the first bytes of what is neither
    events: list = None
    layout: str = ""


def layout_of(text):
    shape = "indented" if re.match(r"\{\n +\"", text) else "compact" if text.startswith('{"') else "other"
    return shape + (", newline at the end" if text.endswith("\n") else "")


def read_body(data, content_type):
    if content_type == protobuf.MEDIA_TYPE:
        return protobuf.read(data), "protobuf"
    if content_type == protobuf.MEDIA_TYPE + ";stream=watch":
        return None, "protobuf"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data[:4].hex(), "binary"
    try:
        return parse(text), layout_of(text)
    except ValueError:
        return text, "text"


def unhurried(play, slowest=16):
    """play(slowness) -> (result, is_rushed): repeated with watches twice as long where one was too short for what happened meanwhile. The result."""
    slowness = 1
    while True:
        result, is_rushed = play(slowness)
        if not is_rushed or slowness >= slowest:
            return result
        slowness *= 2


class Player:
    """Runs steps against one server in a namespace of its own. Watches last `slowness` times as long as they say. is_rushed: one has ended, or nearly,
    before what happened meanwhile was done, so that it may be without the last events."""

    def __init__(self, server, ns, slowness=1):
        self.server, self.memory, self.slowness = server, Memory(ns), slowness
        self.connections, self.is_rushed = {}, False

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def play(self, steps):
        """(step, result) in the order in which the steps are written; a watch stands before what happens during it."""
        out = []
        for step in steps:
            if step.during is None:
                out.append((step, self._exchange(step)))
            else:
                out += self._watch(step)
        return out

    def _watch(self, step):
        connection, began = self._connect(step.auth), time.monotonic()
        seconds = int(TIMEOUT.search(step.path)[1]) * self.slowness
        try:
            response = self._start(connection, dataclasses.replace(step, path=TIMEOUT.sub(f"timeoutSeconds={seconds}", step.path)))
            texts = []
            reader = threading.Thread(target=lambda: texts.append(response.read()))
            reader.start()
            during = self.play(step.during)
            self.server.get("/livez/ping")  # whoever answers has had time for the watch, too
            self.is_rushed |= response.status == 200 and time.monotonic() - began > seconds / 2
            reader.join(PATIENCE)
            result = self._result(response, texts[0])
            if result.status == 200:
                is_protobuf = result.layout == "protobuf"
                result.events = protobuf.events(texts[0]) if is_protobuf else parse_events(texts[0].decode())
                result.body, result.layout = None, ""
            return [(step, result)] + during
        finally:
            connection.close()

    def _connect(self, auth):
        client = self.server.anonymous if auth != "admin" else self.server.client
        return client.connect(PATIENCE)

    def _exchange(self, step):
        result = self._ask(step)
        self.memory.learn(result.body)
        return result

    def _ask(self, step):
        connection = self.connections.pop(step.auth, None) or self._connect(step.auth)
        try:
            response = self._start(connection, step)
            data = response.read()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            connection.close()  # an idle connection may end at any time
            connection = self._connect(step.auth)
            response = self._start(connection, step)
            data = response.read()
        if response.will_close:
            connection.close()
        else:
            self.connections[step.auth] = connection
        return self._result(response, data)

    def _body(self, step):
        if step.body is None or isinstance(step.body, bytes):
            return step.body
        if isinstance(step.body, str):
            return self.memory.expand(step.body).encode()
        return json.dumps(self.memory.expand_all(step.body), ensure_ascii=False, separators=(",", ":")).encode()

    def _start(self, connection, step):
        body = self._body(step)
        headers = {"Accept": "application/json", "User-Agent": "side-by-side"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if step.auth not in ("admin", "none"):
            headers["Authorization"] = step.auth
        headers.update(step.headers)
        path = urllib.parse.quote(self.memory.expand(step.path), safe=KEPT_IN_PATHS)
        connection.putrequest(step.method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, self.memory.expand(value).encode())
        if body is not None or step.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        return connection.getresponse()

    @staticmethod
    def _result(response, data):
        headers = {}
        for name, value in response.getheaders():
            headers.setdefault(name.lower(), []).append(value.encode("latin-1").decode("utf-8", "replace"))
        if headers.get("content-encoding") == ["gzip"]:
            data = gzip.decompress(data)
        body, layout = read_body(data, headers.get("content-type", [""])[0])
        return Result(response.status, headers, body, None, layout)
