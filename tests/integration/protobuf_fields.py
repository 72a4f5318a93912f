"""Messages of protobuf: their fields by number, and objects as JSON would have them.

Numbers are those of generated.proto of k8s.io/api and k8s.io/apimachinery."""

import base64
import datetime
import json
import struct

PROTOBUF = "application/vnd.kubernetes.protobuf"


def fields(message):
    """[(number, value)]: a number, or bytes."""
    out, at = [], 0

    def cut_varint():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = message[at], at + 1
            n, shift = n | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return n

    while at < len(message):
        tag = cut_varint()
        if tag & 7 == 1:  # a double
            out.append((tag >> 3, message[at:at + 8]))
            at += 8
            continue
        value = cut_varint()
        if tag & 7 == 2:
            assert at + value <= len(message), "a message ends early"
            value, at = message[at:at + value], at + value
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
        out.append((tag >> 3, value))
    return out


def every(message, number):
    return [value for found, value in fields(message) if found == number]


def only(message, number):
    [value] = every(message, number)
    return value


def opened(body):
    """(apiVersion, kind, message) of an envelope."""
    assert body[:4] == b"k8s\0" and body[-4:] == b"\x1a\0\x22\0", body
    meta, raw = only(body[4:], 1), only(body[4:], 2)
    return only(meta, 1).decode(), only(meta, 2).decode(), raw


# ---- as JSON ----
# A reader makes a value of JSON from a field. Fields that no table names are left out.


def text(value):
    return value.decode()


def flag(value):
    return bool(value)


def integer(value):
    return value - (1 << 64) if value >> 63 else value


def time(value):
    seconds = dict(fields(value)).get(1, 0)
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def raw_json(value):
    return json.loads(dict(fields(value)).get(1, b"null"))


def coded(value):
    return base64.b64encode(value).decode()


class Many:
    """A repeated field."""

    def __init__(self, reader):
        self.reader = reader

    def add(self, out, name, value):
        out.setdefault(name, []).append(self.reader(value))


class Map(Many):
    def add(self, out, name, value):
        entry = dict(fields(value))
        out.setdefault(name, {})[entry[1].decode()] = self.reader(entry[2])


def reader_of(**names):
    """name=(number, reader)"""
    table = {number: (name, reader) for name, (number, reader) in names.items()}

    def read(value):
        out = {}
        for found, inner in fields(value):
            name, reader = table.get(found, (None, None))
            if isinstance(reader, Many):
                reader.add(out, name, inner)
            elif name:
                out[name] = reader(inner)
        return out

    return read


OWNER = reader_of(kind=(1, text), name=(3, text), uid=(4, text), apiVersion=(5, text), controller=(6, flag), blockOwnerDeletion=(7, flag))
MANAGED = reader_of(manager=(1, text), operation=(2, text), apiVersion=(3, text), time=(4, time), fieldsType=(6, text), fieldsV1=(7, raw_json), subresource=(8, text))
META = reader_of(name=(1, text), generateName=(2, text), namespace=(3, text), uid=(5, text), resourceVersion=(6, text), generation=(7, integer),
               creationTimestamp=(8, time), deletionTimestamp=(9, time), deletionGracePeriodSeconds=(10, integer), labels=(11, Map(text)),
               annotations=(12, Map(text)), ownerReferences=(13, Many(OWNER)), finalizers=(14, Many(text)), managedFields=(17, Many(MANAGED)))
LIST_META = (1, reader_of(resourceVersion=(2, text), **{"continue": (3, text)}, remainingItemCount=(4, integer)))
KINDS = {
    "ConfigMap": reader_of(metadata=(1, META), data=(2, Map(text)), binaryData=(3, Map(coded)), immutable=(4, flag)),
    "ControllerRevision": reader_of(metadata=(1, META), data=(2, raw_json), revision=(3, integer)),
    "PartialObjectMetadata": reader_of(metadata=(1, META)),
    "Pod": reader_of(metadata=(1, META), status=(3, reader_of(phase=(1, text)))),
    "Status": reader_of(status=(2, text), message=(3, text), reason=(4, text), code=(6, integer),
                      details=(5, reader_of(name=(1, text), group=(2, text), kind=(3, text), uid=(6, text), retryAfterSeconds=(5, integer)))),
}


def without_empty(value):
    """Protobuf writes texts and numbers that are not set, and JSON does not. Both forms mean the same without them. Data is the client's own."""
    if not isinstance(value, dict):
        return [without_empty(item) for item in value] if isinstance(value, list) else value
    small = {name: inner if name in ("fieldsV1", "data") else without_empty(inner) for name, inner in value.items()}
    return {name: inner for name, inner in small.items() if inner not in ("", 0, None, {}, [])}


def decoded(body):
    """An answer, as far as the tables above know its kind."""
    api_version, kind, inner = opened(body)
    if kind.endswith("List"):
        read = reader_of(metadata=LIST_META, items=(2, Many(KINDS[kind.removesuffix("List")])))
        return {"kind": kind, "apiVersion": api_version, "items": [], **without_empty(read(inner))}
    return {"kind": kind, "apiVersion": api_version, **without_empty(KINDS[kind](inner))}


def frames(read):
    """The events of a watch: [(type, envelope)]. read(n): the next n bytes of the stream, or less at its end."""
    while len(head := read(4)) == 4:
        [n] = struct.unpack(">I", head)
        event = read(n)
        if len(event) < n:
            return
        yield only(event, 1).decode(), only(only(event, 2), 1)
