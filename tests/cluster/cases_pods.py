"""Pods and templates of pods: defaults, ownership, what is refused, deletion in two steps, status."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch
from pods import EXEC, FULL, container, pod, selector, template, volumes

PODS = "/api/v1/namespaces/{ns}/pods"
TEMPLATES = "/api/v1/namespaces/{ns}/podtemplates"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def table(path):
    return get(path, headers=TABLE, deviates=deviations.COLUMN_TEXTS)


def patched(*bodies):
    return [strategic(f"{PODS}/q", body, deviates=deviations.GO_DIFFERENCE) for body in bodies]


def sysctls(*names, **spec):
    return pod(securityContext={"sysctls": [{"name": name, "value": "1"} for name in names]}, **spec)


def bound(name="q", node="n", **members):
    """A node for the pod."""
    metadata = {"name": name, **members.pop("metadata", {})}
    return post(f"{PODS}/{name}/binding{members.pop('query', '')}", {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}, **members})


def env(source):
    return container(env=[{"name": "a", "valueFrom": source}])


REFUSED = {
    "containers": [pod(containers=[]), pod(containers=None), *(pod(containers=[c]) for c in ({"name": "c"}, {"image": "i"}, {"name": "A", "image": "i"})),
                   pod(containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]), container(image=" x"), container(image=""),
                   container(imagePullPolicy="x"), container(terminationMessagePolicy="x"), pod(initContainers=[{"name": "c", "image": "i"}]),
                   pod(initContainers=[{"name": "d", "image": "i", "livenessProbe": EXEC}]), pod(initContainers=[{"name": "d"}]),
                   pod(ephemeralContainers=[{"name": "e", "image": "i"}])],
    "ports": [container(ports=ports) for ports in (
        [{}], [{"containerPort": 70000}], [{"containerPort": 1, "name": "A"}], [{"containerPort": 1, "name": "a-very-long-port-name"}],
        [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}], [{"containerPort": 1, "protocol": "X"}], [{"containerPort": 1, "hostPort": -1}],
        [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}],
        [{"containerPort": 1, "name": "-a"}, {"containerPort": 2, "name": "1"}, {"containerPort": 3, "name": "a--b"}])]
        + [pod(hostNetwork=True, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}])],
    "environment": [container(env=[{"name": ""}]), container(env=[{"name": "a=b"}]), env({}),
                    container(env=[{"name": "a", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
                    *(env({"fieldRef": {"fieldPath": path}}) for path in ("metadata.foo", "metadata.labels", "metadata.labels['x']", "")),
                    env({"resourceFieldRef": {"resource": "x"}}), env({"configMapKeyRef": {"name": "", "key": ""}}), env({"secretKeyRef": {"name": "A", "key": "/"}}),
                    *(container(envFrom=[source]) for source in ({}, {"configMapRef": {}}, {"configMapRef": {"name": "x"}, "secretRef": {"name": "y"}}))],
    "mounts": [container(volumeMounts=mounts) for mounts in (
        [{"name": "x", "mountPath": "/x"}], [{}], [{"name": "x", "mountPath": "/x"}] * 2, [{"name": "x", "mountPath": "/x", "subPath": "/a"}],
        [{"name": "x", "mountPath": "/x", "subPath": "../a"}])],
    "resources": [container(resources=resources) for resources in (
        {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}, {"limits": {"cpu": "-1"}}, {"limits": {"foo": "1"}}, {"limits": {"storage": "1"}},
        {"requests": {"a.b/c": "1"}}, {"limits": {"a.b/c": "2"}, "requests": {"a.b/c": "1"}}, {"limits": {"cpu": "x"}}, {"limits": {"cpu": {}}}, {"limits": 1})],
    "probes": [container(livenessProbe=probe) for probe in (
        {}, {"exec": {}}, {**EXEC, "tcpSocket": {"port": 1}}, {"httpGet": {"port": 0}}, {"httpGet": {"port": "", "scheme": "x"}}, {"httpGet": {"port": True}},
        {"tcpSocket": {"port": 70000}, "timeoutSeconds": -1, "successThreshold": 2})]
        + [container(readinessProbe={"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 1}),
           container(readinessProbe={"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}}),
           container(lifecycle={"preStop": {}}), container(lifecycle={"preStop": {"sleep": {"seconds": 100}}})],
    "security": [container(securityContext={"runAsUser": -1}), container(securityContext={"seccompProfile": {"type": "x"}}),
                 container(securityContext={"seccompProfile": {"type": "Localhost"}}), pod(shareProcessNamespace=True, hostPID=True),
                 pod(securityContext={"fsGroup": -1, "runAsUser": -5, "supplementalGroups": [-1]}),
                 *(pod(securityContext=security) for security in (
                     {"appArmorProfile": {}}, {"appArmorProfile": {"type": "x"}}, {"appArmorProfile": {"type": "Localhost"}},
                     *({"appArmorProfile": {"type": kind, "localhostProfile": name}}
                       for kind, name in (("Localhost", ""), ("Localhost", " a"), ("Localhost", "a" * 4096), ("Localhost", "a"), ("Unconfined", "a"), ("x", "a"))),
                     {"supplementalGroupsPolicy": "x"}, {"supplementalGroupsPolicy": ""}, {"seLinuxChangePolicy": "x"}, {"seLinuxChangePolicy": "MountOption"},
                     {"fsGroupChangePolicy": ""})),
                 *(pod(hostUsers=False, **{shared: True}) for shared in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace")),
                 pod(hostUsers=False, initContainers=[{"name": "d", "image": "i", "volumeDevices": [{"name": "x", "devicePath": "/x"}]}],
                     volumes=[{"name": "x", "persistentVolumeClaim": {"claimName": "x"}}])],
    "sysctls": [*(sysctls(name) for name in (
                    "", "a", "kernel.shmmax", "foo-", "-foo", "bar..", "kernel.shm_rmid_forced", "a/b", "A", "a b", "a.b/c.d_e-f", "a*", ".", "/", "a" * 253, "a" * 254)),
                sysctls("kernel.sem", "kernel.sem"), sysctls("foo-", "foo-", "", ""), sysctls("net.a", "net/a"),
                *(sysctls(name, hostNetwork=True) for name in ("net.core.somaxconn", "net/core/somaxconn", "kernel.sem", "net", "netx.a", "net.a*", "NET.a", "")),
                *(sysctls(name, hostIPC=True) for name in (
                    "kernel.sem", "kernel.shm", "kernel/shmmax", "kernel.shm.x", "kernel.msgmni", "fs.mqueue.x", "fs/mqueue/x", "fs.mqueue", "net.a", "kernel.sem*")),
                sysctls("net.a", "net.a", "kernel.msg", hostNetwork=True, hostIPC=True), sysctls("fs/mqueue/a.b", "net/ipv4/conf/eno2.100/x", hostIPC=True, hostNetwork=True)],
    "volumes": [volumes(source) for source in (
        {"hostPath": {}}, {"hostPath": {"path": "/..", "type": "x"}}, {"hostPath": {"path": "/a"}, "emptyDir": {}}, {"secret": {}},
        {"secret": {"secretName": "a", "defaultMode": 1000, "items": [{}]}},
        {"secret": {"secretName": "a", "items": [{"key": "a", "path": "/x"}, {"key": "a", "path": "..x"}, {"key": "a", "path": "a/../b", "mode": -1}]}},
        {"configMap": {}}, {"nfs": {"server": "", "path": "x"}}, {"persistentVolumeClaim": {}}, {"emptyDir": {"sizeLimit": "-1"}}, {"ephemeral": {}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 1}}]}}, {"projected": {"sources": [{"secret": {}, "configMap": {"name": "a"}}]}},
        {"downwardAPI": {"items": [{"path": "a"}]}}, {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
        {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}}, {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, {"image": {}}, {"csi": {}})]
        + [pod(volumes=[{"emptyDir": {}}]), pod(volumes=[{"name": "A"}]), pod(volumes=[{"name": "a"}, {"name": "a"}])],
    "scalars": [pod(**spec) for spec in (
        {"restartPolicy": "x"}, {"dnsPolicy": "x"}, {"dnsPolicy": "None"}, {"dnsPolicy": "None", "dnsConfig": {}}, {"nodeSelector": {"a b": "c d"}},
        {"readinessGates": [{"conditionType": "a b"}]}, {"schedulingGates": [{"name": "a"}] * 2}, {"schedulingGates": [{"name": "a"}], "nodeName": "x"},
        {"serviceAccountName": "A"}, {"nodeName": "A b"}, {"hostname": "A"}, {"subdomain": "a.b"}, {"activeDeadlineSeconds": 0}, {"priorityClassName": "nope"},
        {"priority": 5}, {"preemptionPolicy": "x"}, {"runtimeClassName": "x"}, {"os": {"name": "x"}}, {"os": {}}, {"priorityClassName": "system-node-critical"})],
    "placement": [pod(tolerations=[toleration]) for toleration in (
        {}, {"key": "a b"}, {"key": "a", "operator": "x"}, {"key": "a", "operator": "Exists", "value": "b"}, {"key": "a", "effect": "x"},
        {"key": "a", "tolerationSeconds": 1}, {"key": "a", "operator": "Gt", "value": "1"})]
        + [pod(affinity=affinity) for affinity in (
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
            *({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}} for field in (
                {"key": "metadata.name", "operator": "In", "values": ["n"]}, {"key": "x", "operator": "Exists"}, {"key": "metadata.name", "operator": "In", "values": ["A b", "c"]})),
            selector({"key": "a", "operator": "In"}, {"key": "", "operator": "x"}, {"key": "a", "operator": "Exists", "values": ["a b"]}),
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
            {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}},
            {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 101, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}, "namespaces": ["A"]}}]}})]
        + [pod(topologySpreadConstraints=[{}]), pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}] * 2)],
    "shapes": [{}, pod(name="A"), *(pod(**spec) for spec in ({"containers": 1}, {"nodeSelector": {"a": 1}}, {"nodeSelector": 1})),
               container(livenessProbe={"httpGet": {"path": 1}}), volumes({"configMap": {"name": 1}}), container(imagePullPolicy=1),
               {"metadata": {"name": "q"}, "status": {"conditions": [{"lastProbeTime": "x"}]}}],
}


def applied(**members):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"},
            "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}],
                                     "resources": {"limits": {"cpu": "1000m"}}, **members}]}}


RUNNING = {"status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}],
                      "containerStatuses": [{"name": "c", "ready": True, "restartCount": 2, "image": "i", "imageID": "x",
                                             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}

CASES = {
    **{f"refused-{name}": [post(f"{PODS}?dryRun=All", body) for body in bodies] for name, bodies in REFUSED.items()},
    "templates-refused": [post(TEMPLATES, template("t", body.get("spec", {}), labels={"a b": "c"}, annotations={"x y": "z"}))
                          for body in (bodies[0] for bodies in REFUSED.values())] + [post(TEMPLATES, {"metadata": {"name": "t"}})],
    "templates": [post(TEMPLATES, template("t", FULL, labels={"a": "b"}, name="x")), put(f"{TEMPLATES}/t", template("t", pod()["spec"])),
                  strategic(f"{TEMPLATES}/t", {"template": {"spec": {"containers": [{"name": "d", "image": "j:latest"}]}}}),
                  json_patch(f"{TEMPLATES}/t", [{"op": "replace", "path": "/template/spec/containers/0/image", "value": "k"}]),
                  table(TEMPLATES), delete(f"{TEMPLATES}/t")],
    "defaults": [post(PODS, pod("full", **FULL)), post(PODS, pod("plain")), post(PODS, pod("gated", schedulingGates=[{"name": "x.io/g"}])),
                 post(PODS, pod("critical", priorityClassName="system-cluster-critical", serviceAccount="sa")),
                 *(post(PODS, pod(f"image{n}", containers=[{"name": "c", "image": image}])) for n, image in enumerate(("i:1", "a.b/c", "I", "a:latest@sha256:" + "0" * 64))),
                 *(post(PODS, pod(f"amount{n}", containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": amount}}}]))
                   for n, amount in enumerate(("1000m", 0.5, "0.1m", "1e3", "+5", "1.500", "1024Mi", "1.5Gi", "0"))),
                 table(PODS), delete(PODS)],
    "apply": [apply(f"{PODS}/q?fieldManager={manager}", body, deviates=deviations.GO_DIFFERENCE) for manager, body in (
        ("m", applied()), ("m", applied()), ("m", applied(image="j")), ("n", applied()), ("n", applied(image="j")),
        ("m", applied(env=[{"name": "B", "value": "2"}])), ("m", {**applied(), "status": {"phase": "Running"}}))],
    "updates": [post(PODS, pod(initContainers=[{"name": "i", "image": "x"}], tolerations=[{"key": "a", "operator": "Exists"}]))] + patched(
        {"spec": {"containers": [{"name": "c", "image": "k"}]}}, {"spec": {"initContainers": [{"name": "i", "image": "k"}]}},
        {"spec": {"containers": [{"name": "c", "image": " k"}]}}, {"spec": {"containers": [{"name": "c", "imagePullPolicy": "Never"}]}},
        {"spec": {"containers": [{"name": "d", "image": "k"}]}}, {"spec": {"nodeName": "x"}}, {"spec": {"activeDeadlineSeconds": 10}},
        {"spec": {"activeDeadlineSeconds": 20}}, {"spec": {"activeDeadlineSeconds": 5}}, {"spec": {"activeDeadlineSeconds": None}},
        {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}, {"spec": {"terminationGracePeriodSeconds": 1}}, {"spec": {"schedulingGates": [{"name": "x"}]}},
        {"spec": {"priority": 1}}, {"spec": {"restartPolicy": "Never"}}, {"spec": {"enableServiceLinks": None, "priority": None, "preemptionPolicy": None, "dnsPolicy": None}},
        {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Running"}}, {"spec": {"volumes": [{"name": "z"}]}})
        + [json_patch(f"{PODS}/q", [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "z", "operator": "Exists"}}]), put(f"{PODS}/q", pod()), get(f"{PODS}/q")],
    "types": [post(PODS, pod())] + [strategic(f"{PODS}/q?dryRun=All", {"spec": spec}) for spec in (
        "x", {"containers": "x"}, {"containers": [{"name": "c", "image": 5}]}, {"containers": [{"name": "c", "ports": [{"containerPort": "x"}]}]},
        {"containers": [{"name": "c", "ports": [{"containerPort": 1.5}]}]}, {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": True}}}]},
        {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": 1.5}}}]}, {"containers": [{"name": "c", "resources": {"limits": {"cpu": "x"}}}]},
        {"containers": [{"name": "c", "resources": {"limits": 5}}]}, {"containers": [{"name": "c", "env": 5}]}, {"containers": [{"name": "c", "imagePullPolicy": 5}]},
        {"restartPolicy": 5}, {"restartPolicy": True}, {"hostNetwork": "x"}, {"nodeSelector": "x"}, {"nodeSelector": {"a": 5}}, {"terminationGracePeriodSeconds": "x"},
        {"securityContext": {"sysctls": {"a": "b"}}}, {"activeDeadlineSeconds": True})],
    "status": [post(PODS, pod()), strategic(f"{PODS}/q/status", RUNNING),
               strategic(f"{PODS}/q/status", {"status": {"conditions": [{"type": "Initialized", "status": "True", "observedGeneration": 3}]}}),
               *(strategic(f"{PODS}/q/status", {"status": status}) for status in (
                   {"qosClass": "Guaranteed"}, {"conditions": [{"type": "a b", "status": "True"}]}, {"nominatedNodeName": "A b"}, {"podIP": "10.0.0.2"},
                   {"phase": "Failed", "reason": "Evicted"})),
               strategic(f"{PODS}/q/status", {"spec": {"nodeName": "x"}, "metadata": {"labels": {"s": "t"}}, "status": {"message": "m"}}), put(f"{PODS}/q/status", pod()),
               get(f"{PODS}/q/status"), strategic(f"{PODS}/q/status", RUNNING), table(PODS),
               *gets(*(f"{PODS}?fieldSelector={fields}" for fields in ("status.phase=Running,spec.hostNetwork=false", "status.podIP=10.0.0.1", "spec.nodeName=",
                                                                     "spec.restartPolicy!=Always", "spec.foo=1")))],
    "sysctls": [post(PODS, {**sysctls("kernel.sem", "net.a"), "metadata": {"name": "q"}}), merge(f"{PODS}/q", {"metadata": {"labels": {"a": "b"}}}),
                *(merge(f"{PODS}/q", {"spec": {"securityContext": security}}, deviates=deviations.GO_DIFFERENCE) for security in (
                    {"sysctls": None}, {"sysctls": [{"name": "-", "value": ""}]}, {"sysctls": [{"name": "kernel.sem", "value": "2"}] * 2})),
                post(TEMPLATES, template("t", sysctls("bar..", "net.a", hostNetwork=True)["spec"]))],
    "bindings": [post(PODS, pod(nodeSelector={"a": "b"})), bound(query="?dryRun=All"), get(f"{PODS}/q"), bound("none"), bound(node=""), bound(target={}), bound(target={"kind": "Pod", "name": "x"}),
                 bound(metadata={"name": "other"}), bound(metadata={"name": ""}), bound(metadata={"namespace": "other"}), bound(kind="Pod"), bound(apiVersion="v2"), bound(spec={}),
                 bound(query="?fieldValidation=Strict", spec={}), bound(target=5), bound(target={"name": 5}), bound(query="?dryRun=x"), bound(metadata={"uid": "{uid:q}x"}),
                 bound(metadata={"resourceVersion": "1"}), *gets(f"{PODS}/q/binding", f"{PODS}?fieldSelector=spec.nodeName="), put(f"{PODS}/q/binding", pod()), post(f"{PODS}/q/binding", ""),
                 post(f"{PODS}/q/binding", {}), post(f"{PODS}/q", pod()), post(f"{PODS}/q/status", pod()),
                 watch(f"{PODS}?resourceVersion=0", [bound(metadata={"uid": "{uid:q}", "resourceVersion": "{rv:q}", "annotations": {"x": "y", "a": "b"}, "labels": {"l": "m"}})]),
                 get(f"{PODS}/q"), bound(), bound(node="m"), get(f"{PODS}?fieldSelector=spec.nodeName=n"), merge(f"{PODS}/q", {"spec": {"nodeName": "m"}}, deviates=deviations.GO_DIFFERENCE),
                 delete(f"{PODS}/q"), bound(), delete(f"{PODS}/q?gracePeriodSeconds=0"), bound(),
                 post(PODS, pod("gated", schedulingGates=[{"name": "x.io/g"}])), bound("gated"), merge(f"{PODS}/gated", {"spec": {"schedulingGates": None}}), bound("gated"), get(f"{PODS}/gated"),
                 post(PODS, pod("full", nodeName="n")), bound("full"), post(PODS, pod("seen")),
                 strategic(f"{PODS}/seen/status", {"status": {"nominatedNodeName": "m", "conditions": [
                     {"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}]}}),
                 merge(f"{PODS}/seen", {"metadata": {"labels": {"l": "old", "k": "kept"}}}), bound("seen", metadata={"labels": {"l": "new"}}), get(f"{PODS}/seen"),
                 post(PODS, pod("true")), strategic(f"{PODS}/true/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
                 bound("true"), get(f"{PODS}/true")],
    "deletion-seen": [post(PODS, pod("u")), post(PODS, pod("n", nodeName="node1")), post(PODS, pod("f", nodeName="node1")), post(PODS, pod("c")),
                      merge(f"{PODS}/f", {"metadata": {"finalizers": ["x.io/y"]}}),
                      watch(f"{PODS}?resourceVersion=0", [
                          delete(f"{PODS}/u"), delete(f"{PODS}/n"), delete(f"{PODS}/n?gracePeriodSeconds=0"), delete(f"{PODS}/f?gracePeriodSeconds=0"),
                          merge(f"{PODS}/f", {"metadata": {"finalizers": None}}), delete(f"{PODS}?labelSelector=!a")])],
    "deletion": [post(PODS, pod("n", nodeName="node1")), delete(f"{PODS}/n"), delete(f"{PODS}/n"), delete(f"{PODS}/n?gracePeriodSeconds=40"),
                 delete(f"{PODS}/n?gracePeriodSeconds=10"), table(f"{PODS}/n"), merge(f"{PODS}/n", {"metadata": {"labels": {"a": "b"}}}),
                 delete(f"{PODS}/n?gracePeriodSeconds=0"), get(f"{PODS}/n"),
                 post(PODS, pod("f", nodeName="node1")), merge(f"{PODS}/f", {"metadata": {"finalizers": ["x.io/y"]}}), delete(f"{PODS}/f", {"gracePeriodSeconds": 5}),
                 delete(f"{PODS}/f?gracePeriodSeconds=0"), merge(f"{PODS}/f", {"metadata": {"finalizers": None}}), get(f"{PODS}/f"),
                 post(PODS, pod("o", nodeName="node1")), strategic(f"{PODS}/o/status", {"status": {"phase": "Succeeded"}}), delete(f"{PODS}/o"), get(f"{PODS}/o"),
                 post(PODS, pod("m", nodeName="node1", terminationGracePeriodSeconds=-3)), delete(f"{PODS}/m?dryRun=All"), delete(f"{PODS}/m")],
}
