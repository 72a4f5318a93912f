"""Histories as a Recorder makes them, made by hand: so that a test knows what is recorded, and when."""

import hashlib
import itertools
import json
import time

V1 = "/apis/annals.dev/v1"
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
DERIVED = ("kubectl.kubernetes.io/last-applied-configuration", "kubernetes.io/change-cause")
REDACTED = "annals.dev/redacted:"


def history_name(kind, namespace, name, group=""):
    """docs/explanation/history.md, for names that are DNS subdomains."""
    text = json.dumps([group, kind, namespace, name], separators=(",", ":"))
    rest, digits = int(hashlib.sha256(text.encode()).hexdigest(), 16), ""
    for _ in range(54):
        rest, digit = divmod(rest, 27)
        digits = ALPHABET[digit] + digits
    return f"{kind.lower()}.{name}-{digits[:10]}"


def redacted(value):
    return REDACTED + hashlib.sha256(value.encode()).hexdigest()[:32]


def state_of(it):
    """Without what a Recorder would leave out by its own rules."""
    metadata = {name: it["metadata"][name] for name in ("name", "namespace", "labels", "ownerReferences", "finalizers", "generateName") if it["metadata"].get(name)}
    annotations = {name: value for name, value in it["metadata"].get("annotations", {}).items() if name not in DERIVED}
    if annotations:
        metadata["annotations"] = annotations
    rest = {name: value for name, value in it.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": it["apiVersion"], "kind": it["kind"], "metadata": metadata, **rest}


class Recorded:
    """One object, whose states are recorded when a test says so."""

    seconds = itertools.count(1767323045)  # no two changes have one time

    def __init__(self, server, namespace, kind, name, version="v1", is_namespaced=True, **change):
        self.server, self.namespace, self.kind, self.name, self.version = server, namespace, kind, name, version
        self.is_namespaced, self.change = is_namespaced, change
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        self.collection = f"{prefix}/namespaces/{namespace}/{kind.lower()}s" if is_namespaced else f"{prefix}/{kind.lower()}s"
        self.path = f"{self.collection}/{name}"
        group = version.rpartition("/")[0]
        subject = {"group": group, "kind": kind, "namespace": namespace if is_namespaced else "", "name": name}
        made = server.post(f"{V1}/namespaces/{namespace}/histories", {
            "metadata": {"name": history_name(kind, subject["namespace"], name, group)}, "spec": {"subject": subject}})
        assert made.status == 201, made
        self.history, self.last = made.json, None
        self.seen = made.json["metadata"]["resourceVersion"]

    def get(self):
        answer = self.server.get(self.path)
        assert answer.status == 200, answer
        return answer.json

    def make(self, **body):
        metadata = {"name": self.name, **body.pop("metadata", {})}
        made = self.server.post(self.collection, {"apiVersion": self.version, "kind": self.kind, "metadata": metadata, **body})
        assert made.status == 201, made
        return self.take("Created")

    def patch(self, patch, **change):
        """Another state, and its record."""
        self.alter(patch)
        return self.take("Changed", **change)

    def alter(self, patch):
        answer = self.server.patch(self.path, patch)
        assert answer.status == 200, answer

    def delete(self, **change):
        answer = self.server.delete(self.path)
        assert answer.status in (200, 202), answer
        return self.take("Deleted", **change)

    def take(self, type="Changed", state=None, limit=None, **change):
        """limit: how many revisions stay besides the last one."""
        said = {"type": type, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(next(self.seconds))),
                "historyResourceVersion": self.seen, **self.change, **change}
        spec = {"owner": {"apiVersion": "annals.dev/v1", "kind": "History", "name": self.history["metadata"]["name"],
                          "uid": self.history["metadata"]["uid"], "controller": True}, "change": said, **({"historyLimit": limit} if limit else {})}
        if type != "Deleted":
            live = self.get()
            version = live["metadata"]["resourceVersion"]
            said.update(uid=live["metadata"]["uid"], apiVersion=live["apiVersion"], resourceVersion=version)
            if self.last and type == "Changed":
                said.setdefault("afterResourceVersion", self.last)
            self.last = version
            spec["data"] = state or state_of(live)
        answer = self.server.post(f"{V1}/namespaces/{self.namespace}/snapshots", {"spec": spec})
        assert answer.status == 201, answer
        self.seen = answer.json["status"]["history"]["resourceVersion"]
        return answer.json["status"]
