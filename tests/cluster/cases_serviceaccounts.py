"""ServiceAccounts: of secrets only names are kept, lists by name and whole, a deletion that answers the object."""

from cases_configmaps import PROTOBUF, TABLE, proto_body, protobuf
from exchange import apply, delete, get, merge, post, put, strategic

ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
DEPRECATED = {"kubernetes.io/enforce-mountable-secrets": "true"}
PARTS = [{"secrets": [{"name": "a", "kind": "Secret", "namespace": "x", "uid": "u", "fieldPath": "f"}, {"kind": "x"}, {}]}, {"secrets": []}, {"secrets": None}, {"secrets": [None]}, {"secrets": {}}, {"secrets": ["a"]}, {"secrets": [{"name": 5}]}, {"secrets": [{"name": "a"}, {"name": "a"}]},
         {"secrets": [{"name": "a", "x": 1}]}, {"imagePullSecrets": [{"name": "a"}, {}, {"name": ""}, {"name": "a"}]}, {"imagePullSecrets": ["a"]}, {"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, {"automountServiceAccountToken": None},
         {"automountServiceAccountToken": "x"}, {"bogus": 1}]


def account(name, **more):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, **more}


CASES = {
    "parts": [post(ACCOUNTS, account(f"p{n}", **more)) for n, more in enumerate(PARTS)] + [get(f"{ACCOUNTS}/p{n}") for n in range(len(PARTS))] + [post(ACCOUNTS + "?fieldValidation=Strict", account(f"s{n}", **more)) for n, more in enumerate(PARTS)],
    "names": [post(ACCOUNTS, account(name)) for name in ("a.b-c", "A", "a_b", "x" * 254, "")] + [post(ACCOUNTS, {"metadata": {"generateName": "sa-"}})],
    "updates": [post(ACCOUNTS, account("u", secrets=[{"name": "a"}, {"name": "b"}], imagePullSecrets=[{"name": "i"}])), put(ACCOUNTS + "/u", account("u", secrets=[{"name": "c", "kind": "x"}])), strategic(ACCOUNTS + "/u", {"secrets": [{"name": "d"}], "imagePullSecrets": [{"name": "j"}]}),
                strategic(ACCOUNTS + "/u", {"secrets": [{"name": "c", "$patch": "delete"}]}), strategic(ACCOUNTS + "/u", {"imagePullSecrets": [{"name": "k"}]}), merge(ACCOUNTS + "/u", {"secrets": None, "automountServiceAccountToken": False}), merge(ACCOUNTS + "/u", {"metadata": {"labels": {"a b": "c"}}}),
                put(ACCOUNTS + "/none", account("none")), delete(ACCOUNTS + "/u"), delete(ACCOUNTS + "/u")],
    "apply": [apply(ACCOUNTS + "/a?fieldManager=one", account("a", secrets=[{"name": "a"}, {"name": "b", "kind": "Secret"}], imagePullSecrets=[{"name": "i"}])), apply(ACCOUNTS + "/a?fieldManager=two", account("a", secrets=[{"name": "c"}])),
              apply(ACCOUNTS + "/a?fieldManager=two", account("a", imagePullSecrets=[{"name": "j"}])), apply(ACCOUNTS + "/a?fieldManager=one", account("a", secrets=[{"name": "b"}])), apply(ACCOUNTS + "/a?fieldManager=one", account("a", secrets=[{"kind": "b"}])),
              apply(ACCOUNTS + "/a?fieldManager=one", account("a", secrets=[{"name": "b"}, {"name": "b"}])), get(ACCOUNTS + "/a")],
    "warnings": [post(ACCOUNTS, {**account("w"), "metadata": {"name": "w", "annotations": DEPRECATED}}), merge(ACCOUNTS + "/w", {"metadata": {"annotations": {"a": "b"}}}), merge(ACCOUNTS + "/w", {"metadata": {"annotations": None}}), merge(ACCOUNTS + "/w", {"metadata": {"annotations": DEPRECATED}}),
                 post(ACCOUNTS, {**account("w"), "metadata": {"name": "w", "annotations": DEPRECATED}}), post(ACCOUNTS, {**account("W"), "metadata": {"name": "W", "annotations": DEPRECATED}}), post(ACCOUNTS + "?dryRun=All", {**account("v"), "metadata": {"name": "v", "annotations": DEPRECATED}})],
    "tables": [post(ACCOUNTS, account("t1", secrets=[{"name": "a"}])), get(ACCOUNTS, headers=TABLE), get(ACCOUNTS + "?fieldSelector=metadata.name=t1"), get(ACCOUNTS + "?fieldSelector=secrets=t1"), delete(ACCOUNTS), get(ACCOUNTS)],
    "protobuf": [post(ACCOUNTS, proto_body(b"ServiceAccount", (1, protobuf((1, b"p1"))), (2, protobuf((1, b"Secret"), (3, b"s"))), (3, protobuf((1, b"i"))), (4, 0)), headers=PROTOBUF), get(ACCOUNTS + "/p1")],
}
