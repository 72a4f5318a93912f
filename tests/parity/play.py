"""One execution of one case."""

import gzip
import http.client
import json
import random
import re
import string
import sys
import time
import urllib.parse

from jsontext import edit, lexeme, parse_json, resolve
from wire import PATIENCE, Watch

HEADERS = ("Allow", "Cache-Control", "Content-Encoding", "Content-Type", "Location", "Retry-After", "Vary", "Warning",
           "WWW-Authenticate", "X-Content-Type-Options")
PRESENCE_HEADERS = ("Audit-Id", "ETag", "Last-Modified")
VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
COLLECTION = re.compile(r"^(/api/v1|/apis/[^/]+/[^/]+)/namespaces/([^/?]+)/([a-z]+)(?=[/?]|$)")


def is_exchange(step):
    return "method" in step


class Run:
    """One execution of one case: sends its steps and collects their raw results."""

    def __init__(self, client, case, hooks):
        self.client, self.case, self.hooks = client, case, hooks
        suffix = "".join(random.choices(string.ascii_lowercase, k=8))
        self.namespaces = ["parity-" + suffix] if case.get("namespace", True) else []
        if case.get("extra_namespaces"):
            self.namespaces += ["parity-%s-%d" % (suffix, n + 2) for n in range(case["extra_namespaces"])]
        self.unused = "parity-" + suffix
        self.vars = {"ns": self.unused, "server": "%s:%d" % (client.host, client.port)}
        for number, name in enumerate(self.namespaces[1:], 2):
            self.vars["ns%d" % number] = name
        self.collections = set()
        self.results = [None] * len(case["steps"])

    def expand(self, text):
        def value(match):
            name = match.group(1)
            if name in self.vars:
                found = self.vars[name]
                return found if isinstance(found, str) else json.dumps(found)
            if name in self.case["vars"]:
                return self.expand(self.case["vars"][name])
            return match.group(0)
        return VARIABLE.sub(value, text)

    def expand_json(self, node):
        if isinstance(node, str):
            if (match := VARIABLE.fullmatch(node)) and not isinstance(self.vars.get(match.group(1), ""), str):
                return self.vars[match.group(1)]
            return self.expand(node)
        if isinstance(node, list):
            return [self.expand_json(item) for item in node]
        if isinstance(node, dict):
            return {self.expand(key): self.expand_json(value) for key, value in node.items()}
        return node

    def body(self, step):
        if "text" in step:
            parts = step["text"] if isinstance(step["text"], list) else [step["text"]]
            text = "".join(p["repeat"] * p["times"] if isinstance(p, dict) else self.expand(p) for p in parts)
            return text.encode("utf-8")
        if "body" not in step:
            return None
        value = self.expand_json(step["body"])
        if "edit" in step:
            value = edit(value, self.expand_json(step["edit"]))
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")

    def execute(self):
        try:
            for name in self.namespaces:
                namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                status, _, data = self.post("/api/v1/namespaces", namespace)
                if status != 201:
                    raise RuntimeError("cannot create namespace: %d %s" % (status, data[:300].decode(errors="replace")))
            watches = {}
            for index, step in enumerate(self.case["steps"]):
                if step.get("wait"):
                    time.sleep(step["wait"])
                    self.settle()
                if step.get("hook"):
                    self.hooks[step["hook"]]()
                if "join" in step:
                    number, watch = watches.pop(step["join"])
                    self.end_watch(number, watch)
                if is_exchange(step):
                    self.step(index, step, watches)
            for number, watch in watches.values():
                self.end_watch(number, watch)
        finally:
            self.clean()
        return self.results

    def settle(self):
        """Reads that may not be old: what they saw, those that may be old see, too."""
        for prefix, namespace, resource in sorted(self.collections):
            self.client.exchange("GET", "%s/namespaces/%s/%s" % (prefix, namespace, resource), {"Accept": "application/json"})

    def step(self, index, step, watches):
        path = self.expand(step["path"])
        target = urllib.parse.quote(path, safe="/?&=%:;,.+-_~!*'()@$#[]{}|^\\\"<>`")
        headers = {"Accept": "application/json"}
        body = self.body(step)
        if body is not None:
            headers["Content-Type"] = "application/json"
        for key, value in step.get("headers", {}).items():
            headers[key] = None if value is None else self.expand(value)
        if match := COLLECTION.match(path):
            self.collections.add(match.groups())
        auth = step.get("auth", "default")
        if "watch" in step:
            watch = Watch(self.client, step["method"], target, headers, auth, step["watch"])
            watch.start()
            watch.answered.wait(PATIENCE)
            watches[step["watch"].get("as", str(index))] = (index, watch)
            return
        try:
            status, received, data = self.client.exchange(step["method"], target, headers, body, auth,
                                                          step.get("chunked", False))
            self.results[index] = self.document(step, status, received, data)
        except (OSError, http.client.HTTPException) as error:
            self.results[index] = {"error": type(error).__name__}
            data = b""
        self.capture(step, self.results[index], data)

    def capture(self, step, document, data):
        for name, pointer in step.get("capture", {}).items():
            if pointer == "@text":
                self.vars[name] = data.decode("utf-8", "replace")
                continue
            try:
                self.vars[name] = resolve(document.get("body", document.get("events")), pointer)
            except (LookupError, ValueError, TypeError):
                self.vars[name] = "missing-" + name

    def end_watch(self, index, watch):
        watch.finish()
        step = self.case["steps"][index]
        if watch.status == 200 and not watch.error:
            self.results[index] = self.document(step, watch.status, watch.headers, None)
            self.results[index].update({"events": watch.events, "closed": watch.closed})
        elif watch.status:
            self.results[index] = self.document(step, watch.status, watch.headers, watch.raw)
        else:
            self.results[index] = {}
        if watch.error:
            self.results[index]["error"] = watch.error
        self.capture(step, self.results[index], watch.raw)

    @staticmethod
    def document(step, status, received, data):
        """What is compared: status, interesting headers, body in a form fit for comparison."""
        headers = {}
        for name in HEADERS:
            values = [value.encode("latin-1").decode("utf-8", "replace") for key, value in received
                      if key.lower() == name.lower()]
            if values:
                headers[name] = values if len(values) > 1 else values[0]
        for name in PRESENCE_HEADERS:
            if any(key.lower() == name.lower() for key, _ in received):
                headers[name] = "<present>"
        document = {"status": status, "headers": headers}
        if data is None:
            return document
        if headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            text = data.decode("utf-8")
            if "\0" in text:
                raise ValueError
        except ValueError:
            document["body"] = {"binary": data[:4].hex()}
            return document
        try:
            document["body"] = parse_json(text)
        except ValueError:
            keep = re.compile(step.get("lines", ""))
            document["body"] = [line for line in text.split("\n") if keep.search(line)]
            return document
        for show in step.get("show", []):
            if show == "layout":
                first = text[:2]
                document["layout"] = ("indented" if re.match(r"\{\n +\"", text) else "compact" if first == '{"' else
                                      first) + (", final newline" if text.endswith("\n") else "")
            elif show == "managers":
                document["managers"] = [[entry.get("manager"), entry.get("operation")]
                                        for entry in document["body"]["metadata"].get("managedFields", [])]
            elif show.startswith("lexeme:"):
                document[show] = lexeme(text, show[7:])
        return document

    def post(self, target, value, method="POST", kind="application/json"):
        return self.client.exchange(method, target, {"Content-Type": kind, "Accept": "application/json"},
                                    json.dumps(value).encode())

    def clean(self):
        """Delete what the case left behind, with or without controllers running on the server."""
        try:
            for prefix, namespace, resource in sorted(self.collections):
                if not namespace.startswith(self.unused):
                    continue
                collection = "%s/namespaces/%s/%s" % (prefix, namespace, resource)
                self.client.exchange("DELETE", collection)
                status, _, data = self.client.exchange("GET", collection, {"Accept": "application/json"})
                for item in json.loads(data).get("items", []) if status == 200 else []:
                    if item["metadata"].get("finalizers"):
                        self.post(collection + "/" + item["metadata"]["name"], {"metadata": {"finalizers": None}},
                                  "PATCH", "application/merge-patch+json")
            for name in self.namespaces + [self.expand(name) for name in self.case.get("cleanup", [])]:
                path = "/api/v1/namespaces/" + name
                self.client.exchange("DELETE", path)
                status, _, data = self.client.exchange("GET", path, {"Accept": "application/json"})
                if status == 200:
                    value = json.loads(data)
                    if value["metadata"].get("finalizers"):
                        self.post(path, {"metadata": {"finalizers": None}}, "PATCH", "application/merge-patch+json")
                        status, _, data = self.client.exchange("GET", path, {"Accept": "application/json"})
                        if status != 200:
                            continue
                        value = json.loads(data)
                    value["spec"] = {"finalizers": []}
                    self.post(path + "/finalize", value, "PUT")
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            print("warning: %s: cleaning up: %s" % (self.case["name"], error), file=sys.stderr)
