"""What differs from run to run becomes a placeholder that keeps identity and order."""

import collections
import hashlib
import json
import re

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?!\d)")
AGE = re.compile(r"(?:\d+[ydhms])+|<invalid>")
GENERATED = r"[bcdfghjklmnpqrstvwxz2456789]{5}"     # the suffix put after generateName
LONGEST_PREFIX = 58                                 # of generateName, the rest is cut off
LONG_STRING = 4096                                  # longer ones are recorded as length and hash
TIME_KEYS = ("time", "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime")


def literals(case):
    """What a case itself says, as text."""
    return json.dumps([case["steps"], case["vars"]], ensure_ascii=False)


def literal_numbers(case):
    """Those that stand in a message as they are: the caller ensures that no version is one of them."""
    return set(re.findall(r"\d+", literals(case)))


class Normalizer:
    """Replaces what differs from run to run by placeholders that keep identity and order."""

    def __init__(self, run):
        self.case = run.case
        literal = literals(run.case)
        self.literal_ids = set(UUID.findall(literal))
        self.literal_times = set(TIME.findall(literal))
        self.literal_numbers = literal_numbers(run.case)
        prefixes = {p[:LONGEST_PREFIX] for p in re.findall(r'"generateName": "([^"]+)"', literal)}
        self.refused_names = [re.compile('(?P<start>^|")(?P<prefix>%s)%s(?="|$)' % (re.escape(p), GENERATED))
                              for p in sorted(prefixes)]
        self.server = "%s:%d" % (run.client.host, run.client.port)
        self.namespace = run.unused
        self.uids, self.uid_counts = {}, collections.Counter()
        self.versions = {}              # uid label -> set of resourceVersions
        self.version_labels = {}
        self.names, self.tokens, self.times = {}, {}, {}
        for result in run.results:
            if result:
                self.learn(result.get("body"))
                for event in result.get("events", []):
                    self.learn(event)
        for label, values in self.versions.items():
            for number, value in enumerate(sorted(values), 1):
                self.version_labels[value] = "%s.%d" % (label, number)
        self.sorted_versions = sorted(self.version_labels)

    # first pass

    def learn(self, node, bookmark=False):
        if isinstance(node, list):
            for item in node:
                self.learn(item)
        elif isinstance(node, dict):
            meta = node.get("metadata")
            if isinstance(meta, dict):
                self.learn_metadata(meta, self.is_list(node, bookmark))
            if isinstance(node.get("name"), str) and isinstance(node.get("uid"), str):
                self.learn_uid(node["name"], node["uid"])
            for value in node.values():
                self.learn(value, node.get("type") == "BOOKMARK")

    @staticmethod
    def is_list(node, bookmark=False):
        return bookmark or "items" in node or "rows" in node or str(node.get("kind")).endswith("List")

    def learn_metadata(self, meta, is_list):
        name, prefix, uid = meta.get("name"), meta.get("generateName"), meta.get("uid")
        if isinstance(name, str) and isinstance(prefix, str) and name not in self.names:
            prefix = prefix[:LONGEST_PREFIX]
            if re.fullmatch(re.escape(prefix) + GENERATED, name):
                self.names[name] = "%s<generated:%d>" % (prefix, len(self.names) + 1)
        if isinstance(name, str) and isinstance(uid, str):
            self.learn_uid(name, uid)
            version = meta.get("resourceVersion")
            if not is_list and isinstance(version, str) and version.isdigit() and version != "0":
                self.versions.setdefault(self.uid_label(uid), set()).add(int(version))

    def learn_uid(self, name, uid):
        if UUID.fullmatch(uid) and uid not in self.uids and uid not in self.literal_ids:
            name = self.text(name)
            self.uid_counts[name] += 1
            self.uids[uid] = "%s#%d" % (name, self.uid_counts[name])

    def uid_label(self, uid):
        return self.uids.get(uid, uid)

    # second pass

    def apply(self, result):
        if result is None:
            return None
        out = dict(result)
        out["headers"] = self.value(result.get("headers", {}), "message")
        if "body" in result:
            out["body"] = self.value(result["body"])
        if "events" in result:
            out["events"] = [self.value(event) for event in result["events"]]
        for key in out:
            if key.startswith("lexeme:") and out[key]:
                out[key] = self.text(out[key])
        return out

    def value(self, node, key="", owner=None, bookmark=False):
        if isinstance(node, str):
            text = self.string(node, key, owner)
            if len(text) > LONG_STRING:
                text = "<%d characters, sha256 %s>" % (len(text), hashlib.sha256(text.encode()).hexdigest())
            return text
        if isinstance(node, list):
            items = [self.value(item, key if key == "message" else "") for item in node]
            if key == "managedFields" and all(isinstance(item, dict) for item in items):
                items.sort(key=lambda item: [str(item.get(k, "")) for k in
                                             ("operation", "manager", "subresource", "apiVersion")])
            return items
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("gitVersion"), str):
            return {k: "<version>" if isinstance(v, str) else v for k, v in node.items()}
        out = {}
        for name, child in node.items():
            context = None
            if name == "metadata" and isinstance(child, dict):
                context = (self.is_list(node, bookmark), child.get("uid"))
            elif key == "metadata":
                context = owner
            out[self.text(name)] = self.value(child, name, context, node.get("type") == "BOOKMARK")
        if isinstance(node.get("columnDefinitions"), list) or isinstance(node.get("rows"), list):
            self.hide_ages(out)
        return out

    def string(self, text, key, owner):
        if key == "resourceVersion" and owner and text.isdigit() and text != "0":
            return self.version(int(text), owner[0])
        if key == "uid" and text in self.uids:
            return "<uid:%s>" % self.uids[text]
        if key in ("creationTimestamp", "deletionTimestamp") and owner and TIME.fullmatch(text):
            if text in self.literal_times:
                return text
            seen = self.times.setdefault((owner[1], key), [])
            if text not in seen:
                seen.append(text)
            return "<%s>" % key if seen[0] == text else "<%s, changed>" % key
        if key in TIME_KEYS and TIME.fullmatch(text) and text not in self.literal_times:
            return "<time>"
        if key == "continue" and text:
            return "<continue:%d>" % self.tokens.setdefault(text, len(self.tokens) + 1)
        if key == "serverAddress":
            return "<server>"
        return self.text(text, True)

    def version(self, number, floor):
        if not floor and number in self.version_labels:
            return "<rv:%s>" % self.version_labels[number]
        below = [value for value in self.sorted_versions if value <= number]
        return "<rv:not before %s>" % self.version_labels[below[-1]] if below else "<rv>"

    def text(self, text, messages=False):
        text = text.replace(self.namespace, "<ns>").replace(self.server, "<server>")
        for name, label in self.names.items():
            text = text.replace(name, label)
        for pattern in self.refused_names:
            text = pattern.sub(r"\g<start>\g<prefix><generated>", text)
        text = UUID.sub(lambda m: m.group(0) if m.group(0) in self.literal_ids else
                        "<uid:%s>" % self.uids.get(m.group(0), "?"), text)
        text = re.sub(r"\bhash=[0-9A-F]{32,}", "hash=<hash>", text)
        if messages:
            text = TIME.sub(lambda m: m.group(0) if m.group(0) in self.literal_times else "<time>", text)
            if re.search(r"resource ?version", text, re.I):
                text = re.sub(r"(?<![\w.#<:-])\d+(?![\w.>-])", lambda m: self.message_number(m.group(0)), text)
        return text

    def message_number(self, digits):
        """A number in a message about resourceVersions, unless the case itself names it."""
        if digits == "0" or digits in self.literal_numbers:
            return digits
        return self.version(int(digits), True)

    @staticmethod
    def hide_ages(table):
        columns = table.get("columnDefinitions") or []
        ages = [n for n, column in enumerate(columns) if column.get("name") == "Age" or column.get("type") == "date"]
        for row in table.get("rows") or []:
            cells = row.get("cells") or []
            # a watched table sends its columns only once; the age is the last cell of every built-in table
            for index in ages or [len(cells) - 1]:
                if 0 <= index < len(cells) and isinstance(cells[index], str) and AGE.fullmatch(cells[index]):
                    cells[index] = "<age>"

    def order(self):
        return [self.version_labels[value] for value in self.sorted_versions]
