"""Secrets: what each type demands, texts that become bytes, what never changes."""

import base64

from cases_configmaps import BASE64, KEYS, PROTOBUF, TABLE, pair, proto_body, protobuf
from exchange import apply, delete, get, json_patch, merge, post, put, strategic

SECRETS = "/api/v1/namespaces/{ns}/secrets"


def secret(name, data=None, **more):
    out = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **more}
    return out if data is None else {**out, "data": data}


def b64(text):
    return base64.b64encode(text.encode()).decode()


TYPED = [("kubernetes.io/service-account-token", [{}]), ("kubernetes.io/dockercfg", [{}, {".dockercfg": ""}, {".dockercfg": "{}"}, {".dockercfg": "null"}, {".dockercfg": "[]"}, {".dockercfg": "5"}, {".dockercfg": '"x"'}, {".dockercfg": "true"}, {".dockercfg": "{x}"}, {".dockercfg": "{"}, {".dockerconfigjson": "{}"}]),
         ("kubernetes.io/dockerconfigjson", [{}, {".dockerconfigjson": '{"auths":{}}'}, {".dockerconfigjson": "x"}, {".dockerconfigjson": "[{}]"}]),
         ("kubernetes.io/basic-auth", [{}, {"username": "u"}, {"password": ""}, {"other": "x"}]), ("kubernetes.io/ssh-auth", [{}, {"ssh-privatekey": ""}, {"ssh-privatekey": "k"}]),
         ("kubernetes.io/tls", [{}, {"tls.crt": "a"}, {"tls.key": "b"}]), ("bootstrap.kubernetes.io/token", [{}]), ("my.io/type", [{}]), ("Bad Type!", [{}]), ("", [{"a": "b"}])]
BAD_TYPES = [{"data": []}, {"data": {"a": 1}}, {"data": {"a": {}}}, {"data": None}, {"stringData": {"a": 1}}, {"stringData": {"a": None}}, {"stringData": None}, {"stringData": {}}, {"stringData": []}, {"type": 5}, {"type": None}, {"immutable": "x"}, {"binaryData": {"a": "YQ=="}}, {"string_data": {}}]

CASES = {
    "keys": [post(SECRETS, secret(f"k{n}", {key: "YQ=="})) for n, key in enumerate(KEYS)] + [post(SECRETS, secret(f"s{n}", stringData={key: "v"})) for n, key in enumerate(KEYS)],
    "base64": [post(SECRETS, secret(f"b{n}", {"k": text})) for n, text in enumerate(BASE64)] + [get(SECRETS)],
    "types": [post(SECRETS, secret(f"t{n}-{k}", {key: b64(value) for key, value in data.items()}, type=kind)) for n, (kind, all) in enumerate(TYPED) for k, data in enumerate(all)]
        + [post(SECRETS, {**secret("sa", type="kubernetes.io/service-account-token"), "metadata": {"name": "sa", "annotations": {"kubernetes.io/service-account.name": name}}}) for name in ("", "x")] + [get(SECRETS)],
    "wrong-types": [post(SECRETS, {**secret(f"w{n}"), **more}) for n, more in enumerate(BAD_TYPES)] + [get(SECRETS)] + [post(SECRETS + "?fieldValidation=Strict", {**secret(f"v{n}"), **more}) for n, more in enumerate(BAD_TYPES)],
    "sizes": [post(SECRETS + "?dryRun=All", secret("b", {"a": "QUFB" * 349525 + more})) for more in ("QQ==", "QUE=")] + [post(SECRETS + "?dryRun=All", secret("c", stringData={"a": "x" * n})) for n in (1048576, 1048577)],
    "string-data": [post(SECRETS, secret("s", {"a": "YQ==", "c": "Yw=="}, stringData={"c": "3", "b": "é", "0": ""})), get(SECRETS + "/s"), put(SECRETS + "/s", secret("s", stringData={"x": "y"})), merge(SECRETS + "/s", {"stringData": {"m": "n", "x": None}}),
                    merge(SECRETS + "/s", {"stringData": {"a b": "n"}}), strategic(SECRETS + "/s", {"stringData": {"q": "r", "m": "o"}}), json_patch(SECRETS + "/s", [{"op": "add", "path": "/stringData", "value": {"j": "k"}}]),
                    json_patch(SECRETS + "/s", [{"op": "add", "path": "/stringData/j", "value": "k"}]), apply(SECRETS + "/s?fieldManager=m", secret("s", stringData={"m": "n"})), apply(SECRETS + "/s?fieldManager=m&force=true", secret("s", {"z": "eg=="}, stringData={"m": "n", "z": "zz"})),
                    apply(SECRETS + "/s?fieldManager=m", secret("s", {"z": "eg=="})), apply(SECRETS + "/new?fieldManager=m", secret("new", {"a": "YQ=="}, stringData={"b": "c"})), apply(SECRETS + "/new?fieldManager=m", secret("new", {"a": "YQ=="}, stringData={"b": "d"})),
                    apply(SECRETS + "/new?fieldManager=m", secret("new", {"a": "YQ=="})), post(SECRETS, secret("i", stringData={"a": "b"}, immutable=True)), put(SECRETS + "/i", secret("i", stringData={"a": "b"}, immutable=True)), put(SECRETS + "/i", secret("i", stringData={"a": "c"}, immutable=True)), get(SECRETS)],
    "immutable": [post(SECRETS, secret("i", {"a": "MQ=="}, immutable=True)), put(SECRETS + "/i", secret("i", {"a": "MQ=="}, immutable=True)), put(SECRETS + "/i", secret("i", {"a": "Mg=="}, immutable=True)), put(SECRETS + "/i", secret("i", {"a": "MQ=="})),
                  put(SECRETS + "/i", secret("i", {"a": "Mg=="}, immutable=False, type="x")), merge(SECRETS + "/i", {"metadata": {"labels": {"a": "b"}}}), merge(SECRETS + "/i", {"metadata": {"labels": {"a b": "b"}}, "type": "y", "data": None}), merge(SECRETS + "/i", {"type": None}),
                  post(SECRETS, secret("t", {"username": ""}, type="kubernetes.io/basic-auth")), put(SECRETS + "/t", secret("t", {"username": ""})), merge(SECRETS + "/t", {"data": {"username": None}}), merge(SECRETS + "/t", {"type": ""}), merge(SECRETS + "/t", {"data": {"x": "!"}}), delete(SECRETS + "/t")],
    "apply": [apply(SECRETS + "/a?fieldManager=one", secret("a", {"a": "MQ==", "b": "Mg=="})), apply(SECRETS + "/a?fieldManager=two", secret("a", {"b": "Mw=="})), apply(SECRETS + "/a?fieldManager=two", secret("a", {"b": "Mh=="})), apply(SECRETS + "/a?fieldManager=two", secret("a", {"b": "Mg==\n"})),
              apply(SECRETS + "/a?fieldManager=one", secret("a", type="Opaque")), apply(SECRETS + "/a?fieldManager=one", secret("a", type="other")), get(SECRETS + "/a")],
    "tables": [post(SECRETS, secret("t1", {"a": "MQ==", "b": "Mg=="})), post(SECRETS, secret("t2", type="my.io/x")), get(SECRETS, headers=TABLE), get(SECRETS + "/t2", headers=TABLE)]
        + [get(SECRETS + "?fieldSelector=" + selector) for selector in ("type=Opaque", "type!=Opaque", "type=my.io/x,metadata.name=t2", "type=", "data=x", "metadata.name=t1")] + [get("/api/v1/secrets?fieldSelector=type=my.io/x,metadata.namespace={ns}"), delete(SECRETS + "?fieldSelector=type=my.io/x"), get(SECRETS)],
    "protobuf": [post(SECRETS, proto_body(b"Secret", (1, protobuf((1, b"p1"))), (2, pair(b"k", b"\xff\x00v")), (3, b"my.io/x"), (4, pair(b"s", b"text")), (5, 1)), headers=PROTOBUF), get(SECRETS + "/p1"),
                 put(SECRETS + "/p1", proto_body(b"Secret", (1, protobuf((1, b"p1")))), headers=PROTOBUF), post(SECRETS, proto_body(b"ConfigMap", (1, protobuf((1, b"p2")))), headers=PROTOBUF), get(SECRETS)],
}
