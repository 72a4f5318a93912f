"""Answers in Kubernetes' protobuf, as trees like those of JSON as far as servers choose what is in them: metadata and Statuses. All else stays
bytes, so that two servers' answers are compared to the byte. Nothing is guessed: numbers have the meanings of apimachinery's generated.proto."""

import datetime
import struct

from protobuf_fields import fields

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
PREFIX = b"k8s\0"


def plain(value):
    return value if isinstance(value, int) else value.hex()


def text(value):
    return value.decode()


def time(value):
    """Seconds, and a fraction of 0; Go's zero time is empty."""
    known = dict(fields(value))
    if list(known) != [1, 2] or known[2]:
        return value.hex()
    return datetime.datetime.fromtimestamp(known[1], datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def message(names):
    """A reader: {number: (name, reader)} names fields; others are lists named by their numbers. `order` says which are there, in which order; empty texts are only there."""

    def read(value):
        out = {"order": [number for number, _ in fields(value)]}
        for number, inner in fields(value):
            name, reader = names.get(number, (str(number), plain))
            if number not in names or reader in REPEATED:
                out.setdefault(name, []).append(reader(inner))
            elif reader is not text or inner:
                out[name] = reader(inner)
        return out

    return read


CAUSE = message({1: ("reason", text), 2: ("message", text), 3: ("field", text)})
ENTRY = message({1: ("manager", text), 2: ("operation", text), 4: ("time", time), 7: ("fieldsV1", plain)})
REPEATED = {CAUSE, ENTRY}
DETAILS = message({1: ("name", text), 2: ("group", text), 3: ("kind", text), 4: ("causes", CAUSE), 6: ("uid", text)})
OBJECT_META = message({1: ("name", text), 2: ("generateName", text), 3: ("namespace", text), 5: ("uid", text), 6: ("resourceVersion", text),
                       8: ("creationTimestamp", time), 9: ("deletionTimestamp", time), 17: ("managedFields", ENTRY)})
LIST_META = message({2: ("resourceVersion", text), 3: ("continue", text)})
STATUS = message({1: ("metadata", LIST_META), 2: ("status", text), 3: ("message", text), 4: ("reason", text), 5: ("details", DETAILS), 6: ("code", int)})


def read_object(value):
    return {"metadata": OBJECT_META(dict(fields(value))[1]), "fields": [[number, plain(inner)] for number, inner in fields(value)[1:]]}


def read_list(value, meta_number=1):
    return {"order": [number for number, _ in fields(value)], "metadata": LIST_META(dict(fields(value))[meta_number]),
            "items": [read_object(inner) for number, inner in fields(value) if number != meta_number]}


def read_fields(value):
    return {"fields": [[number, plain(inner)] for number, inner in fields(value)]}


def reader_of(api_version, kind):
    if kind == "Status":
        return STATUS
    if kind.startswith("API"):
        return read_fields
    if kind == "PartialObjectMetadataList" and api_version.endswith("v1beta1"):
        return lambda value: read_list(value, 2)
    return read_list if kind.endswith("List") else read_object


def read(body):
    """What is in an envelope, which has its empty fields, too."""
    assert body.startswith(PREFIX), body[:20]
    envelope = fields(body[len(PREFIX):])
    assert [number for number, _ in envelope] == [1, 2, 3, 4] and envelope[2][1] == envelope[3][1] == b"", envelope[2:]
    api_version, kind = (value.decode() for _, value in fields(envelope[0][1]))
    return {"apiVersion": api_version, "kind": kind, **reader_of(api_version, kind)(envelope[1][1])}


def events(body):
    """Those of a watch: each has its length in four bytes before it, and its object in an envelope, as opaque bytes."""
    out = []
    while body:
        [n] = struct.unpack(">I", body[:4])
        assert len(body) >= 4 + n, "an event ends early"
        (first, kind), (second, opaque) = fields(body[4:4 + n])
        [(third, envelope)] = fields(opaque)
        assert (first, second, third) == (1, 2, 1)
        out.append({"type": kind.decode(), "object": read(envelope)})
        body = body[4 + n:]
    return out
