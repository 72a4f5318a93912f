"""Leases: what leader election writes, how MicroTimes are spelled, PUT that creates, and never without a resourceVersion."""

from cases_configmaps import PROTOBUF, TABLE, proto_body, protobuf
from exchange import apply, delete, get, json_patch, merge, post, put, strategic

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
TIMES = ["2020-01-02T03:04:05.678901Z", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.6Z", "2020-01-02T03:04:05.678901234Z", "2020-01-02T03:04:05.678901+02:00", "2020-01-02T03:04:05,5Z", "0001-01-01T00:00:00Z", "", None, 5, "x", "2020-13-02T03:04:05.678901Z",
         "2020-01-02 03:04:05.678901Z"]
SPECS = [{}, {"holderIdentity": ""}, {"holderIdentity": "a"}, {"holderIdentity": 5}, {"holderIdentity": None}, {"leaseDurationSeconds": 0}, {"leaseDurationSeconds": -1}, {"leaseDurationSeconds": 1}, {"leaseDurationSeconds": "1"},
         {"leaseDurationSeconds": 2147483648}, {"leaseTransitions": -1}, {"leaseTransitions": 0}, {"leaseTransitions": None}, {"leaseDurationSeconds": 0, "leaseTransitions": -1}, {"strategy": "x"}, {"strategy": "OldestEmulationVersion"},
         {"preferredHolder": "x"}, {"strategy": "OldestEmulationVersion", "preferredHolder": "x"}, {"strategy": 5}, {"bogus": 1}, [], "x", None]


def lease(name, spec=None, **metadata):
    out = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, **metadata}}
    return out if spec is None else {**out, "spec": spec}


HELD = {"holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": "2020-01-02T03:04:05.000001Z", "renewTime": "2020-01-02T03:04:06.000000Z", "leaseTransitions": 0}

CASES = {
    "times": [post(LEASES, lease(f"t{n}", {"renewTime": time})) for n, time in enumerate(TIMES)] + [merge(LEASES + "/t0", {"spec": {"acquireTime": time}}) for time in TIMES] + [get(LEASES)],
    "specs": [post(LEASES, lease(f"s{n}", spec)) for n, spec in enumerate(SPECS)] + [post(LEASES, {"metadata": {"name": "none"}})] + [get(f"{LEASES}/s{n}") for n in (1, 2, 11, 15, 17)],
    "names": [post(LEASES, lease(name)) for name in ("a.b-c", "A", "a_b", "x" * 254, "")],
    "put-creates": [put(LEASES + "/p", lease("p", HELD)), put(LEASES + "/p", lease("p", HELD)), put(LEASES + "/p", lease("p", HELD, resourceVersion="0")), put(LEASES + "/p", lease("p", HELD, resourceVersion="{rv:p}")),
                    put(LEASES + "/p", lease("p", {**HELD, "holderIdentity": "two"}, resourceVersion="{rv0:p}")), put(LEASES + "/p", lease("p", {**HELD, "holderIdentity": "three"}, resourceVersion="{rv:p}")),
                    put(LEASES + "/p", lease("p", {**HELD, "holderIdentity": "four"}, resourceVersion="{rv0:p}")), put(LEASES + "/q", lease("q", HELD, resourceVersion="5")), put(LEASES + "/r", lease("r", HELD, uid="abc")),
                    put(LEASES + "/s?dryRun=All", lease("s", HELD)), put(LEASES + "/s", lease("s", {"leaseDurationSeconds": 0})), put(LEASES + "/s", lease("t", HELD)), put(LEASES + "/s", lease("s", HELD, generation=5, creationTimestamp="2020-01-01T00:00:00Z")),
                    put("/apis/coordination.k8s.io/v1/namespaces/{ns}-none/leases/s", lease("s", HELD)), put(LEASES + "/A_b", lease("A_b", HELD)), put(LEASES + "/u", lease("u", HELD, labels={"a b": "c"}, finalizers=["bad"])),
                    put(LEASES + "/v?fieldManager=m", lease("v", HELD, managedFields=[])), put(LEASES + "/w?fieldValidation=Strict", {**lease("w", HELD), "x": 1}), get(LEASES)],
    "updates": [post(LEASES, lease("u", HELD)), merge(LEASES + "/u", {"spec": {"leaseTransitions": -1}}), merge(LEASES + "/u", {"spec": {"holderIdentity": None}}), merge(LEASES + "/u", {"spec": None}), merge(LEASES + "/u", {"spec": {"holderIdentity": ""}}),
                merge(LEASES + "/u", {"spec": {"strategy": "x", "preferredHolder": "y"}}), strategic(LEASES + "/u", {"spec": {"leaseDurationSeconds": 5}}), json_patch(LEASES + "/u", [{"op": "add", "path": "/spec/renewTime", "value": "2020-01-02T03:04:05.5Z"}]),
                merge(LEASES + "/u", {"metadata": {"labels": {"a b": "c"}}, "spec": {"leaseDurationSeconds": 0}}), put(LEASES + "/u", lease("u", {"leaseDurationSeconds": 0}, resourceVersion="{rv:u}")), delete(LEASES + "/u")],
    "apply": [apply(LEASES + "/a?fieldManager=one", lease("a", HELD)), apply(LEASES + "/a?fieldManager=two", lease("a", {"holderIdentity": "two"})), apply(LEASES + "/a?fieldManager=two&force=true", lease("a", {"holderIdentity": "two", "leaseTransitions": 1})),
              apply(LEASES + "/a?fieldManager=two", lease("a", {"renewTime": "2020-01-02T03:04:05.5Z"})), apply(LEASES + "/a?fieldManager=two", lease("a", {"strategy": "x"})), get(LEASES + "/a")],
    "tables": [post(LEASES, lease("t1", HELD)), post(LEASES, lease("t2")), get(LEASES, headers=TABLE), get(LEASES + "/t1", headers=TABLE), get(LEASES + "?fieldSelector=spec.holderIdentity=one"), get(LEASES + "?fieldSelector=metadata.name=t1")],
    "protobuf": [post(LEASES, proto_body(b"Lease", (1, protobuf((1, b"p1"))), (2, protobuf((1, b"me"), (2, 15), (3, protobuf((1, 1577934245), (2, 678901000))), (4, protobuf((1, 1577934245), (2, 678901999))), (5, 0))), api_version=b"coordination.k8s.io/v1"), headers=PROTOBUF),
                 put(LEASES + "/p2", proto_body(b"Lease", (1, protobuf((1, b"p2"))), (2, protobuf((1, b""))), api_version=b"coordination.k8s.io/v1"), headers=PROTOBUF), get(LEASES)],
}
