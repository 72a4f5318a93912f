"""The fake kubelet: pods come up without containers, as their annotations say, in `annals up --fake-nodes` and beside any server."""

import json
import re

import pytest

from processes import BIN, Process, policy_rule, retry_until, run, user_flags

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CONTAINERS = [{"name": "c", "image": "registry.example/i:1"}]
ORDER = "fake-node.annals.dev/"


WATCHER = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}", certificate-authority: {ca}}}}}]
users: [{{name: u, user: {{token: watcher-token}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


@pytest.fixture
def server(up):
    return up("--fake-nodes=2")


def make_pod(server, name, orders=None, finalizers=(), **spec):
    metadata = {"name": name, "annotations": {ORDER + what: value for what, value in (orders or {}).items()}, "finalizers": list(finalizers)}
    made = server.post(PODS, {"metadata": metadata, "spec": {"containers": CONTAINERS, **spec}})
    assert made.status == 201, made
    return made.json


def pod(server, name):
    return server.get(f"{PODS}/{name}").json


def status(server, name):
    return pod(server, name)["status"]


def condition(server, name, kind="Ready"):
    return next((c["status"] for c in status(server, name).get("conditions", []) if c["type"] == kind), None)


def await_phase(server, name, phase):
    retry_until(lambda: status(server, name).get("phase") == phase, f"{name} is {phase}")


def await_ready(server, name, value="True"):
    retry_until(lambda: condition(server, name) == value, f"{name} is ready: {value}")


def await_gone(server, name):
    retry_until(lambda: server.get(f"{PODS}/{name}").status == 404, f"{name} is gone")


def order(server, name, what, value):
    assert server.patch(f"{PODS}/{name}", {"metadata": {"annotations": {ORDER + what: value}}}).status == 200


def versions(server):
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in server.get(PODS).json["items"]}


def test_pods_come_up_and_go(server):
    for i in range(20):
        make_pod(server, f"p{i}")
    make_pod(server, "placed", nodeName="fake-1")
    for name in ("placed", *(f"p{i}" for i in range(20))):
        await_ready(server, name)
    pods = [p for p in server.get(PODS).json["items"] if p["metadata"]["name"] != "placed"]
    assert {p["spec"]["nodeName"] for p in pods} == {"fake-0", "fake-1"}, "each in its turn"
    assert pod(server, "placed")["spec"]["nodeName"] == "fake-1"
    assert server.delete(f"{PODS}/placed").status == 200
    assert {p["status"]["phase"] for p in pods} == {"Running"}
    assert len({p["status"]["podIP"] for p in pods}) == 20
    assert len({p["status"]["hostIP"] for p in pods}) == 2
    for i in range(20):
        assert server.delete(f"{PODS}/p{i}").status == 200
    for i in range(20):
        await_gone(server, f"p{i}")


def node_readiness(server):
    nodes = server.get(NODES).json["items"]
    return {node["metadata"]["name"]: next((c["status"] for c in node["status"].get("conditions", []) if c["type"] == "Ready"), None) for node in nodes}


def test_nodes_are_there_and_stay_ready(server):
    def are_ready():
        return node_readiness(server) == {"fake-0": "True", "fake-1": "True"}

    retry_until(are_ready, "both nodes are ready")
    assert server.get(LEASES).json["items"] == [], "nobody waits for them"
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    assert server.patch(f"{NODES}/fake-0/status", unknown, kind="application/strategic-merge-patch+json").status == 200
    retry_until(are_ready, "it says again that it is ready")
    retry_until(lambda: [server.get(f"{LEASES}/{name}").status for name in ("fake-0", "fake-1")] == [200, 200], "who misses one is shown that all are alive")
    assert server.get(f"{LEASES}/fake-1").json["spec"]["holderIdentity"] == "fake-1"
    assert server.delete(f"{NODES}/fake-1").status == 200
    retry_until(are_ready, "it is registered again")
    assert server.post(NODES, {"metadata": {"name": "fake-2"}}).status == 201
    retry_until(lambda: node_readiness(server).get("fake-2") == "True", "it is looked after, whoever made it")
    assert server.delete(f"{NODES}/fake-2").status == 200
    retry_until(are_ready, "it is not recreated")


def test_kubectl_waits_for_pods_that_come_up(server, kubectl_binary):
    def kubectl(*arguments):
        done = server.kubectl(*arguments, binary=kubectl_binary)
        assert done.returncode == 0, done
        return done.stdout

    def await_condition(condition):
        kubectl("wait", "pod", "web", f"--for=condition={condition}", "--timeout=60s")

    retry_until(lambda: len(node_readiness(server)) == 2, "the nodes are there")
    kubectl("run", "web", "--image=nginx:1", "--restart=Never")
    await_condition("Ready")
    assert re.search(r"^web +1/1 +Running +0 ", kubectl("get", "pods", "--no-headers"), re.M)
    assert re.findall(r"^(fake-\d) +Ready", kubectl("get", "nodes", "--no-headers"), re.M) == ["fake-0", "fake-1"]
    kubectl("annotate", "pod", "web", ORDER + "ready=false")
    await_condition("Ready=false")
    kubectl("annotate", "pod", "web", ORDER + "ready-")
    await_condition("Ready")
    kubectl("delete", "pod", "web", "--grace-period=30", "--timeout=60s")
    assert server.get(PODS).json["items"] == []


def scheduled(server, name):
    return next((c for c in status(server, name).get("conditions", []) if c["type"] == "PodScheduled"), {})


def await_unschedulable(server, name, message):
    retry_until(lambda: scheduled(server, name).get("message") == message, f"{name}: {message}")
    found = scheduled(server, name)
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    assert "nodeName" not in pod(server, name)["spec"] and status(server, name)["phase"] == "Pending"


def await_nodes(server):
    retry_until(lambda: node_readiness(server) == {"fake-0": "True", "fake-1": "True"}, "both nodes are ready")


def change_node(server, name, **spec):
    assert server.patch(f"{NODES}/{name}", {"spec": spec}).status == 200


def test_pods_get_the_nodes_that_they_select(server):
    await_nodes(server)
    assert server.patch(f"{NODES}/fake-1", {"metadata": {"labels": {"disk": "ssd"}}}).status == 200
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}]}
    for i in range(4):
        make_pod(server, f"fast{i}", nodeSelector={"disk": "ssd"})
        make_pod(server, f"slow{i}", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
    make_pod(server, "nowhere", nodeSelector={"disk": "tape"})
    for i in range(4):
        await_ready(server, f"fast{i}")
        await_ready(server, f"slow{i}")
        assert pod(server, f"fast{i}")["spec"]["nodeName"] == "fake-1"
        assert pod(server, f"slow{i}")["spec"]["nodeName"] == "fake-0"
    await_unschedulable(server, "nowhere", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.")
    assert server.patch(f"{NODES}/fake-0", {"metadata": {"labels": {"disk": "tape"}}}).status == 200
    await_ready(server, "nowhere")
    assert pod(server, "nowhere")["spec"]["nodeName"] == "fake-0"
    assert scheduled(server, "nowhere")["status"] == "True" and "reason" not in scheduled(server, "nowhere")


def test_pods_keep_away_from_nodes_that_are_cordoned_or_tainted(server, kubectl_binary):
    await_nodes(server)
    assert server.kubectl("cordon", "fake-0", binary=kubectl_binary).returncode == 0
    for i in range(4):
        make_pod(server, f"p{i}")
    for i in range(4):
        await_ready(server, f"p{i}")
        assert pod(server, f"p{i}")["spec"]["nodeName"] == "fake-1"
    change_node(server, "fake-1", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    make_pod(server, "kept-away")
    make_pod(server, "tolerant", tolerations=[{"key": "k", "operator": "Exists"}])
    await_ready(server, "tolerant")
    assert pod(server, "tolerant")["spec"]["nodeName"] == "fake-1"
    await_unschedulable(server, "kept-away", "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.")
    assert server.kubectl("uncordon", "fake-0", binary=kubectl_binary).returncode == 0
    await_ready(server, "kept-away")
    assert pod(server, "kept-away")["spec"]["nodeName"] == "fake-0"


def states_until_gone(events):
    for event in events:
        shown = event["object"]
        yield event["type"], shown["status"]["phase"], shown["metadata"].get("deletionGracePeriodSeconds")
        if event["type"] == "DELETED":
            return


def test_deleted_pod_terminates_before_it_is_gone(server):
    make_pod(server, "p", terminationGracePeriodSeconds=7)
    await_ready(server, "p")
    with server.watch(f"{PODS}?watch=true&resourceVersion={pod(server, 'p')['metadata']['resourceVersion']}") as events:
        assert server.delete(f"{PODS}/p").status == 200
        assert pod(server, "p")["metadata"]["deletionGracePeriodSeconds"] == 7, "it is there, and terminating"
        seen = list(states_until_gone(events))
    assert list(dict.fromkeys(state[:2] for state in seen)) == [("MODIFIED", "Running"), ("MODIFIED", "Succeeded"), ("DELETED", "Succeeded")]
    assert ("MODIFIED", "Running", 7) in seen and ("MODIFIED", "Succeeded", 7) in seen


def test_namespace_says_how_long_its_pods_take_to_stop(server):
    assert server.patch("/api/v1/namespaces/default", {"metadata": {"annotations": {ORDER + "stop-after": "1h"}}}).status == 200
    make_pod(server, "p")
    make_pod(server, "quick", {"stop-after": "0s"})
    await_ready(server, "p")
    await_ready(server, "quick")
    for name in "p", "quick":
        assert server.delete(f"{PODS}/{name}").status == 200
    await_gone(server, "quick")
    make_pod(server, "later")
    await_ready(server, "later")
    assert status(server, "p")["phase"] == "Running" and "deletionTimestamp" in pod(server, "p")["metadata"]
    assert server.delete(f"{PODS}/p?gracePeriodSeconds=0").status == 200
    await_gone(server, "p")


PROBED = [{**CONTAINERS[0], "readinessProbe": {"exec": {"command": ["true"]}}}]


@pytest.mark.parametrize("where", ["/api/v1/namespaces/default", f"{NODES}/fake-0"])
def test_probes_that_are_commands_wait_for_their_answer(up, where):
    server = up("--fake-nodes=1")
    make_pod(server, "asked", containers=PROBED)
    await_ready(server, "asked")  # also: the node is there
    assert server.patch(where, {"metadata": {"annotations": {ORDER + "probes": "manual"}}}).status == 200
    await_ready(server, "asked", "False")
    make_pod(server, "new", containers=PROBED)
    make_pod(server, "plain")
    await_ready(server, "plain")
    await_ready(server, "new", "False")
    order(server, "new", "ready", "true")
    await_ready(server, "new")
    assert condition(server, "asked") == "False"
    assert server.patch(where, {"metadata": {"annotations": {ORDER + "probes": None}}}).status == 200
    await_ready(server, "asked")


def test_pods_of_other_nodes_are_left_alone(server):
    made = make_pod(server, "other", nodeName="real")
    make_pod(server, "ours")
    await_ready(server, "ours")
    assert pod(server, "other") == made


def test_readiness_is_broken_and_fixed(server):
    make_pod(server, "p")
    await_ready(server, "p")
    began = status(server, "p")["containerStatuses"][0]["state"]["running"]["startedAt"]
    order(server, "p", "ready", "false")
    await_ready(server, "p", "False")
    assert status(server, "p")["phase"] == "Running"
    order(server, "p", "ready", None)
    await_ready(server, "p")
    assert status(server, "p")["containerStatuses"][0]["state"]["running"]["startedAt"] == began


@pytest.mark.parametrize("phase, code", [("Failed", 1), ("Succeeded", 0)])
def test_pod_ends_for_good(server, phase, code):
    make_pod(server, "p", restartPolicy="Never")
    await_ready(server, "p")
    order(server, "p", "phase", phase)
    await_phase(server, "p", phase)
    ended = status(server, "p")
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    order(server, "p", "phase", None)
    make_pod(server, "later")  # was seen after that order
    await_ready(server, "later")
    assert status(server, "p") == ended


def test_pod_waits_until_it_is_told_otherwise(server):
    make_pod(server, "p", {"phase": "Pending"})
    retry_until(lambda: condition(server, "p") == "False", "it has been taken up")
    assert status(server, "p")["phase"] == "Pending" and "podIP" not in status(server, "p")
    order(server, "p", "phase", None)
    await_ready(server, "p")


def test_pod_starts_and_stops_in_its_time(server):
    """That it is slow is seen by what stands there meanwhile: a watch shows each state."""
    with server.watch(f"{PODS}?watch=true") as events:
        made = make_pod(server, "p", {"start-after": "300ms", "stop-after": "300ms"})
        await_ready(server, "p")
        assert server.delete(f"{PODS}/p").status == 200
        await_gone(server, "p")
        seen = []
        for event in events:
            shown = event["object"]
            assert shown["metadata"]["uid"] == made["metadata"]["uid"]
            ready = next((c["status"] for c in shown["status"].get("conditions", []) if c["type"] == "Ready"), None)
            state = (shown["status"]["phase"], ready, "deletionTimestamp" in shown["metadata"])
            seen += [state] if state not in seen else []
            if event["type"] == "DELETED":
                break
    assert seen == [("Pending", None, False), ("Pending", "False", False), ("Running", "True", False), ("Running", "True", True), ("Succeeded", "False", True)]


def test_stopped_pod_that_is_held_is_told_to_have_ended(server):
    make_pod(server, "p", finalizers=["example.com/mine"])
    await_ready(server, "p")
    assert server.delete(f"{PODS}/p").status == 200
    await_ready(server, "p", "False")
    retry_until(lambda: pod(server, "p")["metadata"]["deletionGracePeriodSeconds"] == 0, "no grace is left")
    held = pod(server, "p")
    assert "terminated" in held["status"]["containerStatuses"][0]["state"]
    make_pod(server, "later")
    await_ready(server, "later")
    assert pod(server, "p") == held, "it is not deleted again and again"
    assert server.patch(f"{PODS}/p", {"metadata": {"finalizers": None}}).status == 200
    await_gone(server, "p")


def test_restart_changes_nothing(up):
    """All pods are looked at again, and are found to be as they should be."""
    first = up("--fake-nodes=2")
    for i in range(5):
        make_pod(first, f"p{i}")
    make_pod(first, "broken", {"ready": "false"})
    make_pod(first, "failed", {"phase": "Failed"}, restartPolicy="Never")
    for i in range(5):
        await_ready(first, f"p{i}")
    await_ready(first, "broken", "False")
    await_phase(first, "failed", "Failed")
    before, addresses = versions(first), {status(first, f"p{i}")["podIP"] for i in range(5)}
    assert first.stop() == 0

    again = up("--fake-nodes=1", dir=first.dir)
    make_pod(again, "new")
    await_ready(again, "new")
    assert status(again, "new")["podIP"] not in addresses
    after = versions(again)
    assert {name: after[name] for name in before} == before


def writes(server, verb, subresource):
    """Requests about pods that have changed something."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in server.get("/metrics").text.splitlines()
               if line.startswith("apiserver_request_total{") and 'resource="pods"' in line and f'verb="{verb}"' in line and 'code="20' in line
               and f'subresource="{subresource}"' in line)


def test_pod_costs_one_write_for_each_thing_that_happens_to_it(server):
    n = 100
    for i in range(n):
        make_pod(server, f"p{i}")
    retry_until(lambda: len(server.get(f"{PODS}?fieldSelector=status.phase%3DRunning").json["items"]) == n, "all run")
    assert len({p["status"]["podIP"] for p in server.get(PODS).json["items"]}) == n
    assert server.delete(PODS).status == 200
    retry_until(lambda: not server.get(PODS).json["items"], "all are gone")
    assert writes(server, "POST", "binding") == n
    assert writes(server, "PATCH", "status") == 3 * n, "that it runs, that its deletion has been observed, and that it has ended"
    assert writes(server, "DELETE", "") == n + 1


def test_beside_a_server_and_not_by_itself(up):
    """Nobody gets it who has not asked for it; as a process of its own it works like that of `annals up`."""
    server = up("--controllers=*")
    kubeconfig = server.kubeconfig
    make_pod(server, "p")
    others = Process([BIN, "controllers", "--kubeconfig", kubeconfig])
    assert others.stderr.wait("running")
    ours = Process([BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=fake-kubelet", "--fake-nodes=3"])
    await_ready(server, "p")
    assert others.stop() == 0 and ours.stop() == 0
    make_pod(server, "q")
    assert server.delete(f"{PODS}/p").status == 200
    again = Process([BIN, "controllers", "--kubeconfig", kubeconfig, "--fake-nodes=1"])
    await_ready(server, "q")
    await_gone(server, "p")
    assert again.stop() == 0


def test_refusals_are_told(up, folder):
    """Of a user who may look and do nothing: once for each object, while it goes on trying."""
    rule = policy_rule(user="watcher", namespace="*", apiGroup="*", resource="*", readonly=True)
    server = up(*user_flags(folder, ["watcher-token,watcher,1"], [rule]))
    (folder / "kubeconfig").write_text(WATCHER.format(url=server.url, ca=server.ca))
    make_pod(server, "p")
    ours = Process([BIN, "controllers", "--kubeconfig", folder / "kubeconfig", "--controllers=fake-kubelet"])
    assert ours.stderr.wait(r'fake-kubelet: fake-0: .*User "watcher" cannot create.*; trying again')
    assert server.post(NODES, {"metadata": {"name": "fake-0"}}).status == 201
    assert ours.stderr.wait(r'fake-kubelet: default/p: .*User "watcher" cannot create.*; trying again')
    assert ours.stop() == 0


@pytest.mark.parametrize("flags, sentence", [
    (["--fake-nodes=2", "--controllers=-fake-kubelet"], "--fake-nodes needs fake-kubelet, which --controllers switches off"),
    (["--fake-nodes=5001"], "--fake-nodes"),
    (["--fake-nodes=-1"], "--fake-nodes"),
])
def test_flags_that_make_no_sense(flags, sentence):
    refused = run([BIN, "up", *flags])
    assert refused.returncode == 2 and sentence in refused.stderr, refused
