"""Pods, templates and claims for the tables of cases."""


def pod(name="q", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**members):
    return pod(containers=[{"name": "c", "image": "i", **members}])


def volumes(*sources):
    return pod(volumes=[{"name": f"v{n}", **source} for n, source in enumerate(sources)])


def template(own_name, spec, **metadata):
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": own_name}, "template": {"metadata": metadata, "spec": spec}}


def claim(name="q", **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def size(amount):
    return {"resources": {"requests": {"storage": amount}}}


def selector(*expressions):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}


EXEC = {"exec": {"command": ["a"]}}

# Something of everything that has defaults or is owned by its key.
FULL = {
    "serviceAccountName": "sa", "hostNetwork": True, "nodeSelector": {"a": "b"}, "imagePullSecrets": [{"name": "s"}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}],
    "initContainers": [{"name": "i", "image": "busybox:1", "restartPolicy": "Always", "resources": {"limits": {"memory": "100Mi"}}},
                       {"name": "i2", "image": "a/b@sha256:" + "0" * 64}],
    "containers": [{
        "name": "c", "image": "nginx:1.25", "command": ["a"], "args": ["b"],
        "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 443, "hostPort": 443, "hostIP": "127.0.0.1"}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k", "optional": False}}}],
        "envFrom": [{"configMapRef": {"name": "x"}}, {"secretRef": {"name": "y"}, "prefix": "P"}],
        "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": "100m"}},
        "volumeMounts": [{"name": "e", "mountPath": "/e", "readOnly": True}, {"name": "cm", "mountPath": "/cm", "subPath": "a/b"}],
        "livenessProbe": {"httpGet": {"port": "http"}}, "readinessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 0}, "startupProbe": {"grpc": {"port": 90}},
        "lifecycle": {"preStop": {"sleep": {"seconds": 3}}, "postStart": EXEC},
        "securityContext": {"runAsUser": 0, "capabilities": {"add": ["A"], "drop": ["ALL"]}, "privileged": False, "allowPrivilegeEscalation": False,
                            "seccompProfile": {"type": "RuntimeDefault"}}}],
    "volumes": [
        {"name": "e"}, {"name": "cm", "configMap": {"name": "cm", "items": [{"key": "a", "path": "b"}]}}, {"name": "s", "secret": {"secretName": "s", "optional": True}},
        {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "c"}},
                                                {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
        {"name": "h", "hostPath": {"path": "/x"}}, {"name": "pvc", "persistentVolumeClaim": {"claimName": "x"}},
        {"name": "d", "downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}]}},
        {"name": "ed", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Ki"}},
        {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": claim()["spec"]}}},
        {"name": "nfs", "nfs": {"server": "s", "path": "/p"}}, {"name": "img", "image": {"reference": "a:latest"}},
        {"name": "iscsi", "iscsi": {"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:storage.kube.sys1.xyz", "lun": 0}}],
    "affinity": {**selector({"key": "a", "operator": "In", "values": ["b"]}),
                 "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}}]}},
    "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}],
    "dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]}, "readinessGates": [{"conditionType": "x.io/y"}],
    "os": {"name": "linux"},
    "securityContext": {"runAsNonRoot": True, "fsGroup": 0, "supplementalGroups": [1, 2], "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}]},
}
