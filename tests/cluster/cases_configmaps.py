"""ConfigMaps: what they may hold, what stays once they are immutable, every way to write them, Tables, protobuf."""

from exchange import apply, delete, get, json_patch, merge, post, put, strategic, watch

CMS = "/api/v1/namespaces/{ns}/configmaps"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
KEYS = ["a", "A.b-c_d", "..a", ".", "..", ".a", "a/b", "a b", "", "ä", "x" * 253, "x" * 254, "x" * 253 + "/", "a\n", "..."]
BASE64 = ["", "YQ==", "YQ==\n", "Y\nQ\r==", "YR==", "YQ=", "YQ", "YQ===", "YQ==x", "Y=Q=", "=", "a", "ab!d", "abcd=", "abcdefg", "YQ=\n=", "\n", "ab==cd==", "YQ=x", " YQ==", "é", "+/+/", "-_-_", None, 5, {}, True]
BAD_TYPES = [{"data": []}, {"data": "x"}, {"data": {"a": 1}}, {"data": {"a": None}}, {"data": {"a": {}}}, {"data": {"a": True}}, {"data": None}, {"data": {}}, {"binaryData": []}, {"binaryData": {}}, {"binaryData": None},
             {"immutable": "true"}, {"immutable": None}, {"immutable": 1}, {"immutable": False}, {"immutable": True}, {"spec": {}}, {"Data": {"a": "b"}}, {"stringData": {"a": "b"}}, {"data": {"a": "b"}, "extra": 1}]


def config(name, data=None, **more):
    out = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}
    return out if data is None else {**out, "data": data}


def protobuf(*fields):
    """A message: (number, bytes or int) each."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def proto_body(kind, *fields, api_version=b"v1"):
    return b"k8s\0" + protobuf((1, protobuf((1, api_version), (2, kind))), (2, protobuf(*fields)))


PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}


def pair(key, value):
    return protobuf((1, key), (2, value))


CASES = {
    "keys": [post(CMS, config(f"k{n}", {key: "v"})) for n, key in enumerate(KEYS)] + [post(CMS, config(f"b{n}", binaryData={key: "YQ=="})) for n, key in enumerate(KEYS)]
        + [post(CMS, config("both", {"a": "1", "b": "2"}, binaryData={"b": "YQ=="})), post(CMS, config("both", {"a b": "1"}, binaryData={"a b": "YQ=="}))],
    "base64": [post(CMS, config(f"b{n}", binaryData={"k": text})) for n, text in enumerate(BASE64)] + [get(CMS)],
    "types": [post(CMS, {**config(f"t{n}"), **more}) for n, more in enumerate(BAD_TYPES)] + [get(f"{CMS}/t{n}") for n in range(len(BAD_TYPES))]
        + [post(CMS + "?fieldValidation=Strict", {**config(f"s{n}"), **more}) for n, more in enumerate(BAD_TYPES)],
    "sizes": [post(CMS + "?dryRun=All", config(f"s{n}", {"a": "x" * n})) for n in (1048576, 1048577)]
        + [post(CMS + "?dryRun=All", config("b", binaryData={"a": "QUFB" * 349525 + more})) for more in ("QQ==", "QUE=")]
        + [post(CMS + "?dryRun=All", config("c", {"a": "x" * 1048575}, binaryData={"b": text})) for text in ("QQ==", "QUE=")]
        + [post(CMS + "?dryRun=All", config("d", {"..": "x" * 1048577}))],
    "names": [post(CMS, config(name)) for name in ("a.b-c", "A", "a_b", "x" * 253, "x" * 254, "")] + [post(CMS, {"metadata": {"generateName": "cm-"}, "data": {"k": "v"}})],
    "immutable": [post(CMS, config("i", {"a": "1"}, binaryData={"b": "YQ=="}, immutable=True)), put(CMS + "/i", config("i", {"a": "1"}, binaryData={"b": "YQ=="}, immutable=True)),
                  put(CMS + "/i", config("i", {"a": "1"}, binaryData={"b": "YR=="}, immutable=True)), put(CMS + "/i", config("i", {"a": "2"}, binaryData={"b": "YQ=="}, immutable=True)),
                  put(CMS + "/i", config("i", {"a": "1"}, binaryData={"b": "YQ=="})), put(CMS + "/i", config("i", {"a": "1"}, binaryData={"b": "YQ=="}, immutable=False)), put(CMS + "/i", config("i")),
                  put(CMS + "/i", config("i", {"..": "1"})), merge(CMS + "/i", {"data": {"a": None}}), merge(CMS + "/i", {"immutable": None}), merge(CMS + "/i", {"metadata": {"labels": {"a": "b"}}}),
                  merge(CMS + "/i", {"metadata": {"labels": {"a b": "b"}}, "data": {"c": "d"}}), strategic(CMS + "/i", {"binaryData": {"c": "YQ=="}}), json_patch(CMS + "/i", [{"op": "replace", "path": "/data/a", "value": "x"}]),
                  apply(CMS + "/i?fieldManager=m", config("i", {"a": "1"})), apply(CMS + "/i?fieldManager=m&force=true", config("i", {"a": "2"})), delete(CMS + "/i"),
                  post(CMS, config("j", immutable=False)), put(CMS + "/j", config("j", {"a": "1"}, immutable=True)), put(CMS + "/j", config("j", {"a": "2"}, immutable=True)), get(CMS + "/j")],
    "updates": [post(CMS, config("u", {"a": "1", "b": "2"})), put(CMS + "/u", config("u", {"a": "3"})), put(CMS + "/u", config("u")), put(CMS + "/u", config("u", {"a b": "x"})), put(CMS + "/none", config("none")),
                put(CMS + "/u", {**config("u", {"a": "4"}), "metadata": {"name": "u", "resourceVersion": "1"}}), put(CMS + "/u", {**config("u", {"a": "4"}), "metadata": {"name": "u", "resourceVersion": "{rv:u}"}}),
                merge(CMS + "/u", {"data": {"b": "5", "a": None}}), merge(CMS + "/u", {"data": None}), merge(CMS + "/u", {"data": {"x y": "1"}}), merge(CMS + "/u", {"data": {"n": 1}}), strategic(CMS + "/u", {"data": {"s": "t", "$patch": "replace"}}),
                strategic(CMS + "/u", {"data": {"s2": "t"}, "binaryData": {"b": "YR=="}}), strategic(CMS + "/u", {"data": {"s2": None}}), json_patch(CMS + "/u", [{"op": "add", "path": "/data/j", "value": "k"}]),
                json_patch(CMS + "/u", [{"op": "add", "path": "/binaryData/..", "value": "k"}]), json_patch(CMS + "/u", [{"op": "add", "path": "/binaryData", "value": {"q": "x"}}]), get(CMS + "/u"), delete(CMS + "/u"), get(CMS + "/u")],
    "apply": [apply(CMS + "/a?fieldManager=one", config("a", {"a": "1", "b": "2"})), apply(CMS + "/a?fieldManager=two", config("a", {"b": "3"})), apply(CMS + "/a?fieldManager=two&force=true", config("a", {"b": "3"}, binaryData={"x": "YQ=="})),
              apply(CMS + "/a?fieldManager=one", config("a", {"a": "1"})), apply(CMS + "/a?fieldManager=one", config("a")), apply(CMS + "/a?fieldManager=two", config("a", {}, immutable=False)), apply(CMS + "/a?fieldManager=two", config("a", {"b c": "x"})),
              apply(CMS + "/a?fieldManager=two", config("a", {"b": 5})), merge(CMS + "/a?fieldManager=three", {"data": {"z": "y"}}), put(CMS + "/a?fieldManager=four", config("a", {"z": "y", "w": "v"})), get(CMS + "/a")],
    "tables": [post(CMS, config("t1", {"a": "1", "b": "2"}, binaryData={"c": "YQ=="})), post(CMS, config("t2")), get(CMS, headers=TABLE), get(CMS + "/t1", headers=TABLE), get(CMS + "?includeObject=Object", headers=TABLE),
               get("/api/v1/configmaps?fieldSelector=metadata.namespace={ns}", headers=TABLE)],
    "selectors": [post(CMS, {**config("s1"), "metadata": {"name": "s1", "labels": {"app": "x"}}}), post(CMS, config("s2")), get(CMS + "?labelSelector=app"), get(CMS + "?fieldSelector=metadata.name=s2"), get(CMS + "?fieldSelector=data.a=b"),
                  get(CMS + "?fieldSelector=type=b"), get(CMS + "?limit=1"), delete(CMS + "?labelSelector=app"), get(CMS), delete(CMS)],
    "watch": [watch(CMS + "?resourceVersion=0", [post(CMS, config("w", {"a": "1"})), merge(CMS + "/w", {"data": {"a": "2"}}), delete(CMS + "/w")])],
    "protobuf": [post(CMS, proto_body(b"ConfigMap", (1, protobuf((1, b"p1"))), (2, pair(b"k", b"v")), (2, pair(b"j", b"w")), (3, pair(b"b", b"\xff\x00")), (4, 1)), headers=PROTOBUF), get(CMS + "/p1"),
                 post(CMS, proto_body(b"ConfigMap", (1, protobuf((1, b"p2"))), (2, pair(b"a b", b"v"))), headers=PROTOBUF), post(CMS, proto_body(b"Secret", (1, protobuf((1, b"p2")))), headers=PROTOBUF),
                 put(CMS + "/p1", proto_body(b"ConfigMap", (1, protobuf((1, b"p1"))), (4, 0)), headers=PROTOBUF), post(CMS, proto_body(b"ConfigMap", (1, protobuf((1, b"p3"))), (2, b"\x0a\x01k"), (3, b""), (9, b"x")), headers=PROTOBUF), get(CMS)],
    "owners": [post(CMS, config("o1")), post(CMS, {"metadata": {"name": "o2", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o1", "uid": "{uid:o1}", "controller": True}]}}),
               post(CMS, {"metadata": {"name": "o3", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o1", "uid": "{uid:o1}", "controller": True}, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y", "controller": True}]}}),
               post("/api/v1/namespaces/{ns}-none/configmaps", config("x")), post(CMS, {**config("x"), "metadata": {"name": "x", "namespace": "other"}}), post("/api/v1/configmaps", config("x"))],
}
