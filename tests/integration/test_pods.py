"""Pods, templates of pods and claims as kubectl's users meet them. What kube-apiserver answers is compared in tests/cluster."""

import concurrent.futures
import json

import pytest

import processes


@pytest.fixture
def k(annals, namespace, kubectl_binary):
    def run(*arguments, **more):
        done = annals.kubectl("--namespace", namespace, *arguments, binary=kubectl_binary, **more)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    run.path = f"/api/v1/namespaces/{namespace}"
    run.stored = lambda resource, name: annals.get(f"{run.path}/{resource}/{name}").json
    run.binary = kubectl_binary
    return run


def manifest(k, name, *arguments):
    return k("run", name, "--image=nginx:1.25", "--dry-run=client", "-o", "json", *arguments)


def test_run__fills_in_what_kube_does(k):
    k("run", "web", "--image=nginx:1.25", "--port=80", "--labels=app=web")
    stored = k.stored("pods", "web")
    assert stored["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert stored["spec"]["restartPolicy"] == "Always"
    assert len(stored["spec"]["tolerations"]) == 2
    assert stored["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert k("get", "po", "--no-headers").split()[:4] == ["web", "0/1", "Pending", "0"]
    assert "pod/web" in k("get", "all", "-o", "name")
    assert "Containers:" in k("describe", "pod", "web")


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client", "server"])
def test_apply__twice_changes_nothing(k, how):
    pod = manifest(k, "web", "--port=80", "--env=A=1")
    k("apply", *how, "-f", "-", input=pod)
    before = k.stored("pods", "web")["metadata"]["resourceVersion"]
    k("apply", *how, "-f", "-", input=pod)
    assert k.stored("pods", "web")["metadata"]["resourceVersion"] == before
    changed = json.loads(pod)
    changed["spec"]["containers"][0]["image"] = "nginx:1.26"
    k("apply", *how, "-f", "-", input=json.dumps(changed))
    assert k.stored("pods", "web")["spec"]["containers"][0]["image"] == "nginx:1.26"


def test_set_image_and_label__are_strategic(k):
    k("run", "web", "--image=nginx:1.25", "--port=80")
    k("set", "image", "pod/web", "web=nginx:1.26")
    k("label", "pod", "web", "tier=front")
    container = k.stored("pods", "web")["spec"]["containers"][0]
    assert container["image"] == "nginx:1.26" and container["ports"]
    assert k.stored("pods", "web")["metadata"]["generation"] == 2


def test_status__is_merged_by_key_and_shown(k):
    processes.require_kubectl(k.binary, 1, 24)  # --subresource
    k("run", "web", "--image=nginx:1.25")
    for patch in ({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}, {"type": "Initialized", "status": "True"}]},
                  {"conditions": [{"type": "Ready", "status": "True"}],
                   "containerStatuses": [{"name": "web", "ready": True, "restartCount": 3, "image": "i", "imageID": "i", "state": {"running": {}}}]}):
        k("patch", "pod", "web", "--subresource=status", "--type=strategic", "-p", json.dumps({"status": patch}))
    conditions = {c["type"]: c["status"] for c in k.stored("pods", "web")["status"]["conditions"]}
    assert conditions == {"Ready": "True", "Initialized": "True"}
    assert k("get", "pods", "--no-headers").split()[:4] == ["web", "1/1", "Running", "3"]
    k("wait", "--for=condition=Ready", "pod/web", "--timeout=30s")
    assert k("get", "pods", "--field-selector=status.phase=Running", "-o", "name").split() == ["pod/web"]
    assert k("get", "pods", "--field-selector=status.phase=Pending", "-o", "name").split() == []


def test_delete__leaves_time_to_those_that_run(k, annals):
    k("run", "idle", "--image=i")
    k("run", "busy", "--image=i", "--overrides", json.dumps({"spec": {"nodeName": "node1"}}))
    k("delete", "pod", "idle", "busy", "--wait=false")
    assert annals.get(f"{k.path}/pods/idle").status == 404
    deleting = k.stored("pods", "busy")["metadata"]
    assert deleting["deletionGracePeriodSeconds"] == 30 and deleting["generation"] == 2
    assert k("get", "pods", "--no-headers").split()[2] == "Terminating"
    k("label", "pod", "busy", "a=b")
    k("delete", "pod", "busy", "--grace-period=0", "--force")
    assert annals.get(f"{k.path}/pods/busy").status == 404


def test_delete__watchers_see_when_it_was_deleted(k, annals):
    """Also of what nobody had to stop; clients know by it that it was deleted, and when."""
    k("run", "idle", "--image=i")
    with annals.watch(f"{k.path}/pods?watch=1&resourceVersion={k.stored('pods', 'idle')['metadata']['resourceVersion']}") as seen:
        k("delete", "pod", "idle")
        for kind in ("MODIFIED", "DELETED"):
            event = seen.next()
            metadata = event["object"]["metadata"]
            assert event["type"] == kind and metadata["deletionTimestamp"] and metadata["deletionGracePeriodSeconds"] == 0


def test_explain__knows_the_whole_of_a_pod(k):
    assert "imagePullPolicy" in k("explain", "pods.spec.containers")
    assert "scheme" in k("explain", "podtemplates.template.spec.containers.livenessProbe.httpGet")
    assert "storageClassName" in k("explain", "pvc.spec")


def test_template__counts_its_changes(k, annals):
    pod = json.loads(manifest(k, "x"))
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod["spec"]}}
    k("apply", "-f", "-", input=json.dumps(template))
    assert k("get", "podtemplates", "--no-headers").split() == ["t", "x", "nginx:1.25", "a=b"]
    template["template"]["spec"]["containers"][0]["image"] = "other"
    k("apply", "-f", "-", input=json.dumps(template))
    k("label", "podtemplate", "t", "c=d")
    assert k.stored("podtemplates", "t")["metadata"]["generation"] == 2


def test_claim__waits_for_whoever_uses_it(k, annals):
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}
    k("create", "-f", "-", input=json.dumps(claim))
    assert k.stored("persistentvolumeclaims", "data")["spec"]["resources"]["requests"]["storage"] == "1Gi"
    pod = json.loads(manifest(k, "x"))
    pod["spec"].update(nodeName="n", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    k("create", "-f", "-", input=json.dumps(pod))
    k("delete", "pvc", "data", "--wait=false")
    assert k("get", "pvc", "--no-headers").split()[:2] == ["data", "Terminating"]
    k("patch", "pvc", "data", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert annals.get(f"{k.path}/persistentvolumeclaims/data").status == 404


def test_binding__one_of_several_schedulers_wins(annals, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert annals.post(path, pod).status == 201
    nodes = [f"node{n}" for n in range(8)]

    def bind(node):
        return annals.post(f"{path}/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}})

    with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
        answers = dict(zip(nodes, pool.map(bind, nodes)))
    winners = [node for node, answer in answers.items() if answer.status == 201]
    assert len(winners) == 1
    assert annals.get(f"{path}/p").json["spec"]["nodeName"] == winners[0]
    for node in set(nodes) - set(winners):
        assert (answers[node].status, answers[node].json["details"]["name"]) == (409, "p")
        assert f'pod p is already assigned to node "{winners[0]}"' in answers[node].json["message"]


def test_ephemeral_containers__come_and_stay(k, annals):
    k("run", "web", "--image=nginx:1.25")
    path = f"{k.path}/pods/web/ephemeralcontainers"
    strategic = "application/strategic-merge-patch+json"

    def patch(*containers, **more):
        return annals.patch(path, {**more, "spec": {"ephemeralContainers": list(containers)}}, kind=strategic)

    debugger = {"name": "debugger", "image": "busybox", "targetContainerName": "web", "stdin": True}
    added = patch(debugger, metadata={"labels": {"mine": "no"}})
    assert added.status == 200 and added.json["metadata"]["generation"] == 2
    assert "mine" not in added.json["metadata"]["labels"], "nothing else changes"
    assert added.json["spec"]["ephemeralContainers"] == [
        {**debugger, "imagePullPolicy": "Always", "resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}]
    assert annals.get(path).json == k.stored("pods", "web") == added.json
    assert [c["name"] for c in patch({"name": "second", "image": "busybox"}).json["spec"]["ephemeralContainers"]] == ["second", "debugger"]

    def refused(answer):
        assert answer.status == 422, answer
        return {cause["field"]: cause["message"] for cause in answer.json["details"]["causes"]}

    assert "may not be changed" in refused(patch({"name": "debugger", "image": "other"}))["spec.ephemeralContainers"]
    stored = k.stored("pods", "web")
    del stored["spec"]["ephemeralContainers"][0]
    assert "\"second\" may not be removed" in refused(annals.put(path, stored))["spec.ephemeralContainers"]
    wrong = {"name": "web", "image": "i", "targetContainerName": "nobody", "ports": [{"containerPort": 80}], "livenessProbe": {"exec": {"command": ["x"]}}}
    causes = refused(patch(wrong))
    assert causes["spec.ephemeralContainers[0].ports"] == causes["spec.ephemeralContainers[0].livenessProbe"] == \
        "Forbidden: cannot be set for an Ephemeral Container"
    assert causes["spec.ephemeralContainers[0].targetContainerName"] == 'Not found: "nobody"'
    assert causes["spec.ephemeralContainers[0].name"] == 'Duplicate value: "web"'
    assert k.stored("pods", "web")["metadata"]["generation"] == 3
