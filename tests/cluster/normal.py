"""Makes two servers' answers comparable: what each chooses by itself becomes a label that keeps identity and order."""

import base64
import json
import re

COMPARED_HEADERS = ("allow", "cache-control", "content-encoding", "content-type", "location", "retry-after", "vary", "warning",
                    "www-authenticate", "x-content-type-options")
PRESENT_HEADERS = ("audit-id", "etag", "last-modified")

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
AGE = re.compile(r"(\d+[ydhms])+|<invalid>")
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
NO_VERSIONS = ("0", "2006")  # 2006 is the year in which Go writes its layouts of times
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"  # of a generated name
LONGEST_PREFIX = 58
MANAGERS = '\\"managedFields\\":['  # within a string in a message
TIMES = ("creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime")


def is_list(node):
    return "items" in node or "rows" in node or str(node.get("kind", "")).endswith("List")


def is_bookmark(event):
    return event.get("type") == "BOOKMARK" and not (event["object"].get("metadata") or {}).get("annotations")


def parts_of(text):
    """The elements of a list of JSON, and what is behind it. Quotes may be escaped, and brackets are in pairs within strings, too."""
    parts, depth, start = [], 1, 0
    for at, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if depth == 0 or depth == 1 and char == ",":
            parts.append(text[start:at])
            start = at + 1
        if depth == 0:
            return parts, text[at:]
    return None, text


def sort_managers(text):
    """Of an object that a message shows; their order is that of times that may be the same."""
    before, start, behind = text.partition(MANAGERS)
    parts, rest = parts_of(behind)
    return before + start + ",".join(sorted(parts)) + rest if start and parts else text


def numbers_of(sent):
    """Those that stand in a message as they are: whoever replays a request looks whether a version was one of them."""
    return {*re.findall(r"\d+", sent), *NO_VERSIONS}


class Normalizer:
    """For all results that one server gave in one case. sent: everything that the case itself says, as text; prefixes: of generated names."""

    def __init__(self, results, ns, url, sent, prefixes):
        self.ns, self.url, self.sent = ns, url.partition("://")[2], sent
        self.uids, self.names = {}, {}
        self.numbers = numbers_of(sent)
        prefixes = {form[:LONGEST_PREFIX].replace(ns, "<ns>") for prefix in prefixes for form in (prefix, json.dumps(prefix, ensure_ascii=False)[1:-1])}
        self.prefixes = [re.compile(f"(?<![a-z0-9])({re.escape(prefix)}){SUFFIX}(?![a-z0-9])") for prefix in prefixes]
        versions = set()
        for result in results:
            for node in [result.body] + (result.events or []):
                self._learn(node, versions)
        self.versions = sorted(versions)

    def _learn(self, node, versions):
        if isinstance(node, list):
            for item in node:
                self._learn(item, versions)
        elif isinstance(node, dict):
            metadata = node.get("metadata")
            if isinstance(metadata, dict) and isinstance(metadata.get("uid"), str):
                version = metadata.get("resourceVersion", "")
                if version.isdigit() and version != "0":
                    versions.add(int(version))
            if isinstance(node.get("uid"), str) and UID.fullmatch(node["uid"]) and node["uid"] not in self.sent:
                self.uids.setdefault(node["uid"], f"<uid {len(self.uids) + 1}>")
            for value in node.values():
                self._learn(value, versions)

    def result(self, result):
        headers = {name: [self._text(value) for value in result.headers[name]] for name in COMPARED_HEADERS if name in result.headers}
        headers.update({name: "present" for name in PRESENT_HEADERS if name in result.headers})
        out = {"status": result.status, "headers": headers, "layout": result.layout}
        if result.events is None:
            out["body"] = self._value(result.body, "", False)
        else:
            out["events"] = [self._value(event, "", False) for event in result.events if not is_bookmark(event)]
        return out

    def _list(self, items, key, floor):
        items = [self._value(item, key, floor) for item in items]
        # kube's own order is that of Go's maps, or of times that may be the same.
        is_unordered = key == "managedFields" or any(isinstance(item, dict) and item.get("reason") == "FieldManagerConflict" for item in items)
        return sorted(items, key=str) if is_unordered else items

    def _value(self, node, key, floor):
        if isinstance(node, str):
            return self._string(node, key, floor)
        if isinstance(node, list):
            return self._list(node, key, floor)
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("gitVersion"), str):
            return {name: "<version>" for name in node}
        if isinstance(node.get("rows"), list):
            node = {**node, "rows": [hide_age(row) for row in node["rows"]]}
        if key != "metadata":
            metadata = node.get("metadata")
            floor = is_list(node) or (isinstance(metadata, dict) and "uid" not in metadata)
        return {self._text(name): self._value(value, name, floor) for name, value in node.items()}

    def _string(self, text, key, floor):
        if key == "resourceVersion" and text.isdigit() and text != "0":
            return self._version(int(text), floor)
        if key in TIMES and TIME.fullmatch(text) and text not in self.sent:
            return "<time>"
        if key == "continue" and text:
            return self._token(text)
        if key == "serverAddress":
            return "<server>"
        return self._text(text)

    def _version(self, number, floor):
        """An object's place among all versions of the case; for others, behind which of them they are."""
        below = [rank for rank, version in enumerate(self.versions, 1) if version <= number]
        exact = not floor and number in self.versions
        return f"<version {'' if exact else '>= '}{below[-1] if below else 0}>"

    def _token(self, text):
        """Where the next page begins, and as of which version, which other cases move on."""
        try:
            token = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            version, start = token["rv"], token["start"].lstrip("/")
        except (AttributeError, KeyError, TypeError, ValueError):
            return "<continue unreadable>"
        return f"<continue {self._text(start)} {self._version(version, True) if version > 0 else version}>"

    def _text(self, text):
        text = text.replace(self.ns, "<ns>").replace(self.url, "<server>")
        for prefix in self.prefixes:
            text = prefix.sub(self._generated, text)
        text = UID.sub(lambda match: self.uids.get(match[0], match[0] if match[0] in self.sent else "<uid>"), text)
        text = TIME.sub(lambda match: match[0] if match[0] in self.sent else "<time>", text)
        text = re.sub(r"\bhash=[0-9A-F]{32,}", "hash=<hash>", text)
        text = re.sub(r"^(  - )(?:\d+[dhms])+$", r"\1<age>", text, flags=re.M)  # of a table in YAML
        if re.search(r"resource ?version", text, re.I):
            text = NUMBER.sub(lambda match: match[0] if match[0] in self.numbers else self._version(int(match[0]), True), text)
        return sort_managers(text)

    def _generated(self, match):
        return f"{match[1]}<generated {self.names.setdefault(match[0], len(self.names) + 1)}>"


def hide_age(row):
    cells = ["<age>" if isinstance(cell, str) and AGE.fullmatch(cell) else cell for cell in row.get("cells") or []]
    return {**row, "cells": cells}
