"""kubectl v1.36 says the same of every kind as of kube-apiserver's: made, shown, changed, compared and deleted in the ways that people use."""

import json

import pytest

import both
import kube
import processes

# One object of each kind, and a change to it.
POD_SPEC = {"containers": [{"name": "main", "image": "nginx:1", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}],
                            "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}}}]}
KINDS = {
    "configmap": ("v1", {"data": {"a": "1", "text": "x\ny\n"}}, {"data": {"a": "2"}}),
    "secret": ("v1", {"data": {"a": "MQ=="}, "stringData": {"b": "2"}}, {"stringData": {"a": "3"}}),
    "serviceaccount": ("v1", {"imagePullSecrets": [{"name": "pull"}]}, {"automountServiceAccountToken": False}),
    "podtemplate": ("v1", {"template": {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}},
                    {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}),
    "pod": ("v1", {"spec": POD_SPEC}, {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}),
    "persistentvolumeclaim": ("v1", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
                              {"metadata": {"labels": {"grown": "no"}}}),
    "service": ("v1", {"spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]}},
                {"spec": {"ports": [{"port": 81, "name": "more"}]}}),
    "statefulset": ("apps/v1", {"spec": {"selector": {"matchLabels": {"app": "web"}}, "serviceName": "web",
                                         "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC},
                                         "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                                             "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}},
                    {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}}),
    "lease": ("coordination.k8s.io/v1", {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2024-01-02T03:04:05.123456Z"}},
              {"spec": {"holderIdentity": "you"}}),
    "event": ("v1", {"involvedObject": {"kind": "Pod", "name": "web-0", "namespace": "NAMESPACE"}, "reason": "Seen", "message": "it is there",
                     "type": "Normal", "count": 3}, {"count": 4}),
}
NAMES = {"configmap": "ConfigMap", "secret": "Secret", "serviceaccount": "ServiceAccount", "podtemplate": "PodTemplate", "pod": "Pod",
         "persistentvolumeclaim": "PersistentVolumeClaim", "service": "Service", "statefulset": "StatefulSet", "lease": "Lease", "event": "Event"}


class Kind(both.Both):
    """Both, with an object of one kind: its resource, its manifest."""

    def __init__(self, twins, folder, resource):
        super().__init__(twins, folder)
        version, content, self.change = KINDS[resource]
        self.resource, self.version = resource, version
        text = json.dumps({"apiVersion": version, "kind": NAMES[resource], "metadata": {"name": "one", "labels": {"app": "web"}}, **content})
        self.manifest = text.replace("NAMESPACE", self.namespace)

    def release(self):
        """Claims are born with a finalizer that here nobody takes off."""
        self("patch", self.resource, "one", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


@pytest.fixture(params=list(KINDS))
def k(request, twins, folder):
    return Kind(twins, folder, request.param)


def test_kubectl__explain_lists_the_same_fields(k):
    """What fields are for is said in words of our own, and what values they may have is not in the schema."""
    def fields(server):
        text = processes.run([kube.KUBECTL, "explain", k.resource, "--recursive"], env=k.env(server), check=True).stdout
        return [line for line in text[text.index("FIELDS:"):].splitlines() if "enum: " not in line]

    assert fields(k.servers[0]) == fields(k.servers[1])


def test_kubectl__makes_shows_changes_and_deletes(k):
    k("create", "-f", "-", input=k.manifest)
    for form in ("wide", "yaml", "custom-columns=N:.metadata.name,L:.metadata.labels.app"):
        k("get", k.resource, "-o", form)
    k("label", k.resource, "one", "tier=front")
    k("annotate", k.resource, "one", "note=it is so", "other=x")
    k("patch", k.resource, "one", "-p", json.dumps(k.change))
    k("patch", k.resource, "one", "--type=merge", "-p", '{"metadata":{"labels":{"app":null}}}')
    assert "edited" in k("edit", k.resource, "one", EDITOR="sed -i s/front/edited/")
    k("get", k.resource, "one", "-o", "json")
    k("describe", k.resource, "one")
    k.release()
    k("replace", "--force", "-f", "-", input=k.manifest)
    k("get", k.resource, "one", "--show-labels")
    k.release()
    k("delete", k.resource, "--all", "--now")


def test_kubectl__applies_in_both_ways(k):
    changed = json.dumps({**json.loads(k.manifest), **{name: value for name, value in k.change.items() if name not in ("template", "spec")}})
    k("apply", "-f", "-", input=k.manifest)
    k("diff", "-f", "-", input=changed)
    k("apply", "-f", "-", input=changed)
    k("apply", "--server-side", "-f", "-", input=k.manifest)
    k("diff", "--server-side", "-f", "-", input=changed)
    k("get", k.resource, "one", "-o", "yaml", "--show-managed-fields")
    k.release()
    k("delete", "-f", "-", "--now", input=k.manifest)


@pytest.fixture
def both_of(twins, folder):
    return both.Both(twins, folder)


def test_kubectl__generators(both_of, certificates):
    k = both_of
    cert, key = certificates.server
    creations = [["configmap", "made", "--from-literal=a=1", f"--from-file=ca={certificates.ca}"], ["secret", "generic", "made", "--from-literal=a=1"],
                 ["secret", "tls", "tls", f"--cert={cert}", f"--key={key}"], ["serviceaccount", "robot"],
                 ["secret", "docker-registry", "pull", "--docker-username=u", "--docker-password=p", "--docker-server=r.test"]]
    for creation in creations:
        k("create", *creation)
        k("create", *creation, "--dry-run=server", "-o", "yaml")
    k("get", "configmaps,secrets,serviceaccounts")


def test_kubectl__runs_pods(both_of):
    k = both_of
    k("run", "web", "--image=nginx:1", "--labels=app=web", "--env=A=1", "--port=80")
    k("run", "web", "--image=nginx:1", "--dry-run=server", "-o", "yaml")
    k("set", "image", "pod/web", "web=nginx:2")
    k("get", "pod", "web", "-o", "yaml")
    k("patch", "pod", "web", "-p", '{"spec":{"containers":[{"name":"other","image":"x"}]}}')
    k("delete", "pod", "web", "--force", "--grace-period=0")


def test_kubectl__prunes_what_is_no_longer_applied(both_of):
    k = both_of
    one, two = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"set": "x"}}} for name in ("one", "two"))
    prune = ("apply", "--prune", "-l", "set=x", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    k(*prune, input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, two]}))
    assert "configmap/two pruned" in k(*prune, input=json.dumps(one))
    k("get", "configmaps", "-l", "set=x", "-o", "name")


def test_kubectl__waits(both_of):
    k = both_of
    k("wait", "--for=jsonpath={.status.phase}=Active", f"namespace/{k.namespace}")
    k("create", "configmap", "here")
    k("wait", "--for=create", "configmap/here")
    k("wait", "--for=condition=Ready", "configmap/none", "--timeout=1s")
    waiting = k.start("wait", "--for=delete", "configmap/here", "--timeout=60s")
    k("delete", "configmap", "here")
    assert [process.wait() for process in waiting] == [0, 0]


def test_kubectl__waits_for_a_condition_of_a_pod(both_of):
    k = both_of
    k("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": POD_SPEC}))
    waiting = k.start("wait", "--for=condition=Ready", "pod/one", "--timeout=60s")
    k("patch", "pod", "one", "--subresource=status", "-p", '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}')
    assert [process.wait() for process in waiting] == [0, 0]
    k("get", "pods", "-o", "wide")
    k("get", "pods", "--field-selector", "status.phase=Running")


def test_kubectl__events(both_of):
    k = both_of
    k("create", "configmap", "subject")
    version, content, _ = KINDS["event"]
    manifest = {"apiVersion": version, "kind": "Event", "metadata": {"name": "one"}, "lastTimestamp": "2024-01-02T03:04:05Z", **content}
    k("create", "-f", "-", input=json.dumps(manifest).replace("NAMESPACE", k.namespace))
    k("events", "--types=Normal")
    k("events", "--for", "pod/web-0")
    k("get", "events", "--field-selector", "reason=Seen")


def test_kubectl__auth(both_of):
    k = both_of
    k("auth", "whoami")
    k("auth", "whoami", "--as=alice", "--as-group=dev", "-o", "yaml")
    assert k("auth", "can-i", "create", "configmaps") == "yes\n"
    assert k("auth", "can-i", "create", "configmaps", "--as=mallory", "--as-group=guests") == "no\n"
    k("auth", "can-i", "get", "pods/status", "--as=mallory")
    k("auth", "can-i", "get", "/metrics")
    k("get", "configmaps", "--as=mallory")


def test_kubectl__lists_what_is_served(alone):
    """Of which kube-apiserver has more, and annals its own."""
    versions = processes.run([kube.KUBECTL, "api-versions"], env=alone.env, check=True).stdout.split()
    assert versions == sorted(versions) and {"annals.dev/v1", "annals.dev/v1beta1", "apps/v1", "v1"} <= set(versions)
    resources = processes.run([kube.KUBECTL, "api-resources", "--no-headers", "-o", "wide", "--sort-by=name"], env=alone.env, check=True).stdout.splitlines()
    lines = [line.split() for line in resources]
    assert ["controllerrevisions", "apps/v1", "true", "ControllerRevision", "create,delete,deletecollection,get,list,patch,update,watch"] in lines
    assert ["namespaces", "ns", "v1", "false", "Namespace", "create,delete,get,list,patch,update,watch"] in lines
    for kind in ("controllerrevisions.v1.annals.dev", "ns"):
        assert processes.run([kube.KUBECTL, "get", kind, "--all-namespaces=true"], env=alone.env).returncode == 0


def test_kubectl__looks_after_nodes(both_of):
    """Nodes are everybody's: this one has a name of its own, and nothing is done to all of them."""
    k = both_of
    name = f"node-{k.namespace}"
    k("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {
        "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}, "status": {"capacity": {"cpu": 4, "pods": 10}}}))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}}
    k("patch", "node", name, "--subresource=status", "-p", json.dumps(ready))
    k("wait", "--for=condition=Ready", f"node/{name}")
    k("cordon", name)
    k("get", "no", name, "-o", "wide")
    k("uncordon", name)
    k("taint", "node", name, "node.kubernetes.io/not-ready-", "own=x:NoExecute")
    k("label", "node", name, "node-role.kubernetes.io/worker=")
    k("get", "nodes", name)
    k("describe", "node", name)
    k("drain", name, "--disable-eviction", "--force")
    k("delete", "node", name)


def test_kubectl__shows_volumes_and_classes(both_of):
    """They are everybody's, too."""
    k = both_of
    volume, storage = f"volume-{k.namespace}", f"class-{k.namespace}"
    k("create", "-f", "-", input=json.dumps({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": storage}, "provisioner": "x.io/p",
                                             "parameters": {"a": "b"}, "mountOptions": ["ro"], "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]}))
    k("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume, "finalizers": ["kubernetes.io/pv-protection"]}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage, "csi": {"driver": "d.x", "volumeHandle": "h"},
        "claimRef": {"namespace": k.namespace, "name": "c"}}}))
    for resource, name in (("pv", volume), ("sc", storage)):
        k("get", resource, name, "-o", "wide")
        k("get", resource, name, "-o", "yaml")
        k("describe", resource, name)
        k("label", resource, name, "a=b")
    k("patch", "pv", volume, "-p", '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}')
    k("patch", "pv", volume, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    k("delete", "pv", volume)
    k("delete", "sc", storage)
