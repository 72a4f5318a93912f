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

from jsontext import canonical, edit, lexeme, parse_json, resolve
from wire import PATIENCE, Watch

HEADERS = ("Allow", "Cache-Control", "Content-Encoding", "Content-Type", "Location", "Retry-After", "Vary", "Warning",
           "WWW-Authenticate", "X-Content-Type-Options")
PRESENCE_HEADERS = ("Audit-Id", "ETag", "Last-Modified")
VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
COLLECTION = re.compile(r"^(/api/v1|/apis/[^/]+/[^/]+)/namespaces/([^/?]+)/([a-z]+)(?=[/?]|$)")

UNTIL_SECONDS = 5  # how long a step with "until" is repeated


def is_exchange(step):
    return "method" in step


def is_fulfilled(document, pointer, value):
    """A condition of "until": the value at a pointer, None for nothing there, "*" for anything."""
    try:
        found = resolve(document, pointer)
    except (LookupError, ValueError):
        return value is None
    return value == "*" or canonical(found) == canonical(value)


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
        self.created = []  # paths of objects without a namespace, other than namespaces
        self.results = [None] * len(case["steps"])

    def expand(self, text):
        def value(match):
            name = match.group(1)
            if name in self.vars:
                found = self.vars[name]
                return found if isinstance(found, str) else json.dumps(found)
            if name in self.case["vars"]:
                found = self.case["vars"][name]
                return self.expand(found) if isinstance(found, str) else json.dumps(self.expand_json(found))
            return match.group(0)
        return VARIABLE.sub(value, text)

    def expand_json_of(self, name):
        found = self.case["vars"].get(name, "")
        return found if isinstance(found, str) else self.expand_json(found)

    def expand_json(self, node):
        if isinstance(node, str):
            if match := VARIABLE.fullmatch(node):
                name = match.group(1)
                found = self.vars[name] if name in self.vars else self.expand_json_of(name)
                if not isinstance(found, str):
                    return found
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
            try:
                value = edit(value, self.expand_json(step["edit"]))
            except (LookupError, ValueError, TypeError, AttributeError):
                pass  # the server gave something else to edit, which the comparison shows
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
                if step.get("setup"):
                    self.check_setup(index)
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
        wanted = self.expand_json(step.get("until", {}))
        deadline = time.monotonic() + UNTIL_SECONDS
        while True:
            try:
                status, received, data = self.client.exchange(step["method"], target, headers, body, auth,
                                                              step.get("chunked", False))
                result = self.document(step, status, received, data)
            except (OSError, http.client.HTTPException) as error:
                result, data = {"error": type(error).__name__}, b""
            self.note_created(step["method"], path, result)
            if all(is_fulfilled(result, pointer, value) for pointer, value in wanted.items()):
                break
            if time.monotonic() > deadline:
                result["until"] = "never"
                break
            time.sleep(0.05)
        self.results[index] = result
        self.capture(step, result, data)

    def check_setup(self, index):
        """A step that only prepares must succeed, else the whole case fails. Its answer is not compared."""
        step, result = self.case["steps"][index], self.results[index]
        if "until" in result or (not step.get("until") and result.get("status") not in range(200, 300)):
            answer = canonical(result.get("body", result))[:300]
            raise RuntimeError("step %d: %s %s: no setup: %s" % (index + 1, step["method"], step["path"], answer))
        if isinstance(result.get("body"), dict):
            # its uids and versions still get their names
            result["body"] = {key: result["body"][key] for key in ("kind", "metadata", "items") if key in result["body"]}

    def note_created(self, method, path, result):
        """Remembers objects without a namespace, to remove them afterwards."""
        path, body = path.split("?")[0], result.get("body")
        if result.get("status") != 201 or not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
            return
        name = body["metadata"].get("name")
        if name and isinstance(name, str) and not body["metadata"].get("namespace") and body.get("kind") != "Namespace":
            self.created.append(path.rstrip("/") + "/" + name if method == "POST" else path)

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
        definitions = [path for path in self.created if "/customresourcedefinitions/" in path]
        try:
            for path in reversed([path for path in self.created if path not in definitions]):
                self.delete(path)
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
            for path in definitions:  # their objects are gone, the server does the rest
                self.client.exchange("DELETE", path)
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
        except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError, AttributeError) as error:
            print("warning: %s: cleaning up: %s" % (self.case["name"], error), file=sys.stderr)

    def delete(self, path):
        self.client.exchange("DELETE", path)
        status, _, data = self.client.exchange("GET", path, {"Accept": "application/json"})
        if status == 200 and b'"finalizers"' in data:
            self.post(path, {"metadata": {"finalizers": None}}, "PATCH", "application/merge-patch+json")
