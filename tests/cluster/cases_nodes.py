"""Nodes: with and without a status, defaults, what is refused, what may change, who owns what, tables."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch

NODES = "/api/v1/nodes"
OWN = f"{NODES}/n-{{ns}}"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
# What admission adds where it is absent.
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def node(name="n-{ns}", status=None, labels=None, **spec):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"case": "{ns}", **(labels or {})}}, "spec": {"taints": [NOT_READY], **spec}}
    return body if status is None else {**body, "status": status}


def tried(*bodies):
    return [post(f"{NODES}?dryRun=All", body) for body in bodies]


def tainted(*taints):
    return node(taints=[NOT_READY, *taints])


def table(path, **more):
    return get(path, headers=TABLE, deviates=deviations.COLUMN_TEXTS, **more)


READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "m", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}
INFO = {"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1", "osImage": "Debian", "containerRuntimeVersion": "containerd://1",
        "kubeletVersion": "v1.36.0", "kubeProxyVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64", "swap": {"capacity": 1024}}
FULL = {"capacity": {"cpu": "4000m", "memory": "8Gi", "pods": 110, "x.io/gpu": "2"}, "conditions": [READY],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "1.2.3.4"}, {"type": "Hostname", "address": "n"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}, "nodeInfo": INFO, "images": [{"names": ["a", "b"], "sizeBytes": 5}, {"sizeBytes": 6}],
        "volumesInUse": ["v"], "volumesAttached": [{"name": "v", "devicePath": "/d"}], "phase": "Running",
        "runtimeHandlers": [{"name": ""}, {"name": "r", "features": {"recursiveReadOnlyMounts": False, "userNamespaces": True}}],
        "features": {"supplementalGroupsPolicy": True}, "declaredFeatures": ["A", "B/c"]}


def status(body, **more):
    return strategic(f"{OWN}/status", {"status": body}, **more)


CASES = {
    "created": tried(
        node(), node(status={}), node(status=FULL), node(labels={"node-role.kubernetes.io/worker": ""}), node(unschedulable=True), node(unschedulable=False),
        node(podCIDR="10.1.0.0/24"), node(podCIDRs=["10.1.0.0/24"]), node(podCIDR="10.1.0.0/24", podCIDRs=["10.2.0.0/24"]),
        node(podCIDRs=["10.1.0.0/24", "fd00::/64"]), node(podCIDR="", podCIDRs=[]), node(providerID="p", externalID="e"),
        node(configSource={"configMap": {"namespace": "n", "name": "c", "kubeletConfigKey": "k"}}), node(configSource={}),
        node(status={"allocatable": {"cpu": "1"}}), node(status={"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}), node(status={"capacity": {}}), node(status={"config": {"error": "e"}}),
        node(status={"nodeInfo": {}}), node(status={"conditions": [{"type": "x", "status": "y"}]}), {**node(), "status": None}),
    "refused": tried(
        {}, {"metadata": {"name": "n-{ns}"}, "spec": {"taints": [NOT_READY]}}, node("A"), node(""), node("a_b"), node("a.b", labels={"a b": "c"}),
        tainted({}), tainted({"key": "a"}), tainted({"key": "a b", "effect": "NoSchedule"}), tainted({"key": "a", "effect": "x", "value": "c d"}),
        tainted({"key": "a", "effect": "NoExecute", "value": "v" * 64 + " "}), tainted(NOT_READY), tainted({**NOT_READY, "timeAdded": "2026-01-01T00:00:00Z", "value": "v"}),
        tainted({"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}), tainted(*[{"key": "a", "effect": "NoExecute", "value": v} for v in "xyz"]),
        *(node(podCIDR=text) for text in ("x", "10.0.0.0", "10.0.0.1/24", "010.0.0.0/24", "10.0.0.0/024", "10.0.0.0/33", "::ffff:10.0.0.0/120", "fd00::1/64", "10.0.0.0/-1",
                                          "10.0.0/24", "10.0.0.0/", "/24", "256.0.0.0/8", "::/129", "g::/64")),
        node(podCIDRs=["10.1.0.0/24", "10.2.0.0/24"]), node(podCIDRs=["10.1.0.0/24", "fd00::/64", "10.3.0.0/24"]), node(podCIDRs=["x"]),
        node(podCIDRs=["fd00::/64", "fd01::/64"]),
        node(status={"capacity": {"cpu": "-1"}}), node(status={"allocatable": {"x.io/gpu": "1500m"}}), node(status={"capacity": {"cpu": "x"}}),
        node(status={"nodeInfo": {"swap": {"capacity": 0}}}), node(status={"nodeInfo": {"swap": {"capacity": -5}}}), node(status={"nodeInfo": {"swap": {}}}),
        *(node(status={"declaredFeatures": names}) for names in (["a"], ["B", "A"], ["A", "A"], ["A/"], ["A//b"], [""], ["A", "", "B"], ["A" * 254], ["A-b"])),
        node(status={"addresses": [{"type": "InternalIP", "address": "x"}] * 2})),
    "shapes": tried(*({"metadata": {"name": "n-{ns}"}, **body} for body in (
        {"spec": 1}, {"spec": {"podCIDRs": "x"}}, {"spec": {"taints": {}}}, {"spec": {"taints": [{"key": 1}]}}, {"spec": {"unschedulable": "x"}},
        {"spec": {"podCIDRs": [1]}}, {"status": {"capacity": 1}}, {"status": {"capacity": {"cpu": {}}}}, {"status": {"conditions": [{"lastHeartbeatTime": "x"}]}},
        {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": "x"}}}}, {"status": {"images": [{"sizeBytes": 1.5}]}}, {"status": {"nodeInfo": {"swap": {"capacity": "x"}}}},
        {"status": {"volumesInUse": [1]}}))) + [post(f"{NODES}?fieldValidation=Strict", {**node(), "spec": {"taint": [], "podCidr": ""}, "statuz": {}})],
    "admitted": [post(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-{ns}"}}, deviates=deviations.NOT_READY_TAINT),
                 get(OWN, deviates=deviations.NOT_READY_TAINT), delete(OWN)],
    "life": [post(NODES, node(status=FULL)), table(OWN), get(f"{OWN}/status"), merge(OWN, {"spec": {"unschedulable": True}}), table(OWN),
             merge(OWN, {"spec": {"podCIDR": "10.1.0.0/24"}}), merge(OWN, {"spec": {"podCIDR": "10.2.0.0/24"}}), merge(OWN, {"spec": {"podCIDR": None}}),
             merge(OWN, {"spec": {"podCIDR": None, "podCIDRs": None}}), merge(OWN, {"spec": {"podCIDRs": ["10.1.0.0/24", "fd00::/64"]}}),
             strategic(OWN, {"spec": {"podCIDRs": ["fd00::/64"]}}), merge(OWN, {"spec": {"providerID": "p"}}), merge(OWN, {"spec": {"providerID": "q"}}),
             merge(OWN, {"spec": {"externalID": "e"}}), merge(OWN, {"spec": {"configSource": {"configMap": {"name": "x"}}}}),
             strategic(OWN, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}), strategic(OWN, {"spec": {"taints": [{"key": "a b", "effect": "x"}]}}),
             json_patch(OWN, [{"op": "add", "path": "/spec/taints/-", "value": {"key": "b", "effect": "NoSchedule"}}]), merge(OWN, {"status": {"phase": "x"}}),
             put(OWN, node()), put(OWN, node(podCIDR="10.1.0.0/24", providerID="p")), merge(OWN, {"metadata": {"labels": {"kubernetes.io/role": "old", "node-role.kubernetes.io/b": "",
                                                                                                                      "node-role.kubernetes.io/a": "x", "node-role.kubernetes.io/": ""}}}),
             table(OWN), table(f"{NODES}?labelSelector=case={{ns}}"), delete(OWN), get(OWN)],
    "status": [post(NODES, node()), table(OWN), status(FULL), table(OWN), status({"conditions": [{"type": "Ready", "status": "False"}, {"type": "DiskPressure", "status": "True"}]}),
               table(OWN), status({"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}, {"type": "InternalDNS", "address": "d"}]}),
               status({"addresses": [{"$patch": "replace"}, {"type": "Hostname", "address": "d"}, {"type": "Hostname", "address": "e"}]}),
               merge(f"{OWN}/status", {"status": {"addresses": [{"type": "Hostname", "address": "d"}] * 2}}), status({"capacity": {"cpu": "-1"}}),
               status({"declaredFeatures": ["b"]}), status({"config": {"error": "x"}}), status({"nodeInfo": {"swap": {"capacity": -1}}}), status({"images": None, "volumesInUse": []}),
               strategic(f"{OWN}/status", {"spec": {"unschedulable": True, "podCIDR": "x"}, "metadata": {"labels": {"s": "t"}}, "status": {"phase": "Pending"}}),
               merge(f"{OWN}/status", {"spec": {"taints": [{"key": "a b", "effect": "x"}]}}), put(f"{OWN}/status", node(status={"phase": "p"})),
               merge(f"{OWN}/status", {"status": None}), get(OWN), delete(f"{OWN}?dryRun=All"), delete(OWN)],
    "types": [post(NODES, node())] + [strategic(f"{OWN}/status?dryRun=All", {"status": body}) for body in (
        "x", {"conditions": "x"}, {"conditions": [{"status": "True"}]}, {"capacity": {"cpu": True}}, {"addresses": [5]}, {"nodeInfo": []}, {"images": [{"names": "x"}]})]
        + [delete(OWN)],
    "apply": [apply(f"{OWN}?fieldManager={manager}{force}", body) for manager, force, body in (
        ("a", "", node()), ("a", "", node(unschedulable=True)), ("b", "", node(unschedulable=False)), ("b", "&force=true", node(unschedulable=False)),
        ("a", "", node(taints=[NOT_READY, {"key": "x", "effect": "NoSchedule"}])), ("c", "", node(podCIDR="10.1.0.0/24")), ("c", "", node(podCIDR="10.1.0.0/24", status={"phase": "x"})))]
        + [apply(f"{OWN}/status?fieldManager={manager}", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-{ns}"}, "status": body}) for manager, body in (
            ("k", {"conditions": [READY], "capacity": {"cpu": "1000m"}}), ("l", {"conditions": [{"type": "Other", "status": "True"}], "capacity": {"memory": "1Gi"}}),
            ("l", {"conditions": [{"type": "Ready", "status": "False"}]}), ("k", {"addresses": [{"type": "Hostname", "address": "h"}]}))] + [get(OWN), delete(OWN)],
    "lists": [post(NODES, node("a-{ns}")), post(NODES, node("b-{ns}", unschedulable=True)), *gets(*(f"{NODES}?labelSelector=case={{ns}}&fieldSelector={fields}" for fields in (
        "spec.unschedulable=true", "spec.unschedulable=false", "spec.unschedulable!=true", "spec.unschedulable=", "metadata.name=a-{ns}", "spec.podCIDR=x", "metadata.namespace=x",
        "name=a-{ns}"))), get(f"{NODES}?labelSelector=case={{ns}}&limit=1"),
        watch(f"{NODES}?resourceVersion=0&labelSelector=case={{ns}}&fieldSelector=spec.unschedulable=true", [
            merge(f"{NODES}/a-{{ns}}", {"spec": {"unschedulable": True}}), merge(f"{NODES}/b-{{ns}}", {"spec": {"unschedulable": None}}), delete(f"{NODES}/a-{{ns}}")]),
        delete(f"{NODES}?labelSelector=case={{ns}}"), get(f"{NODES}?labelSelector=case={{ns}}")],
    "finalizers": [post(NODES, node()), merge(OWN, {"metadata": {"finalizers": ["x"]}}), merge(OWN, {"metadata": {"finalizers": ["x.io/y"]}}), delete(OWN),
                   merge(f"{OWN}/status", {"status": {"phase": "x"}}), merge(OWN, {"metadata": {"finalizers": None}}), get(OWN)],
}
