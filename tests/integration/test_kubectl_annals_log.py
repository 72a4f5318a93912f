"""kubectl annals log: what Histories tell, of everything, of a type, of one object; once, in order, and as it happens."""

import json
import signal
import socket
import time

import pytest
import yaml

import processes
from between import Between
from recorded import V1, Recorded


@pytest.fixture
def log(annals, namespace):
    def run(*arguments, status=0):
        done = annals_log(annals, namespace, *arguments)
        assert done.returncode == status, done
        return done.stdout if status == 0 else done.stderr

    return run


def annals_log(annals, namespace, *arguments):
    return processes.run([processes.BIN, "kubectl", "log", "-n", namespace, *arguments], env=annals.kubectl_env())


def rows(text):
    return [line.split(None, 4) for line in text.splitlines()]


@pytest.fixture
def shop(annals, namespace):
    """Two ConfigMaps and a Service, changed in turn."""
    a, b = Recorded(annals, namespace, "ConfigMap", "a", managers=["kubectl-edit"]), Recorded(annals, namespace, "ConfigMap", "b")
    web = Recorded(annals, namespace, "Service", "web", managers=["helm"])
    a.make(data={"x": "1"})
    web.make(spec={"ports": [{"port": 80}]})
    b.make()
    a.patch({"data": {"x": "2"}}, managers=["alice"], paths=["/data/x"], cause="because")
    web.patch({"spec": {"ports": [{"port": 81}]}}, paths=["/spec/ports/0/port", "/spec/ports/0/targetPort", "/spec/selector/application"], morePaths=2)
    b.delete(managers=["a-controller", "kubectl"])
    return {"a": a, "b": b, "web": web}


def test_log__tells_changes_newest_last(log, shop):
    table = rows(log())
    assert table[0] == ["TIME", "OBJECT", "REVISION", "BY", "CHANGE"]
    assert [row[1:] for row in table[1:]] == [
        ["configmap/a", "1", "kubectl-edit", "Created"], ["service/web", "1", "helm", "Created"], ["configmap/b", "1", "<unknown>", "Created"],
        ["configmap/a", "2", "alice", "Changed /data/x"],
        ["service/web", "2", "helm", "Changed /spec/ports/0/port, /spec/ports/0/targetPort and 3 more"],
        ["configmap/b", "<none>", "a-controller,kubectl", "Deleted"]]
    times = [row[0] for row in table[1:]]
    assert times == sorted(times) and times[0].endswith("Z")


def test_log__of_a_type_or_an_object(log, shop):
    assert [row[1] for row in rows(log("cm"))[1:]] == ["configmap/a", "configmap/b", "configmap/a", "configmap/b"]
    assert [row[2] for row in rows(log("configmap/a"))[1:]] == ["1", "2"] == [row[2] for row in rows(log("ConfigMap", "a"))[1:]]
    assert [row[4] for row in rows(log("cm/b"))[1:]] == ["Created", "Deleted"], "also when it is gone"
    none = log("cm/c")
    assert none == "" and "resource type" in log("nothings", status=1)


def test_log__wide_tells_all(log, shop):
    lines = log("-o", "wide").splitlines()
    assert lines[0].split()[-1] == "CHANGE-CAUSE" and lines[4].endswith("   because")
    assert "/spec/selector/application and 2 more" in lines[5]


def test_log__in_all_namespaces(annals, log, shop, namespace):
    lines = [line.split(None, 5) for line in log("-A", "service").splitlines()]
    assert lines[0] == ["TIME", "NAMESPACE", "OBJECT", "REVISION", "BY", "CHANGE"]
    assert [row[2] for row in lines if row[1] == namespace] == ["service/web", "service/web"]
    node = Recorded(annals, namespace, "Node", f"node-{namespace}", is_namespaced=False)
    try:
        node.make()
        assert [row[1:3] for row in rows(log(f"node/{node.name}"))[1:]] == [[f"node/{node.name}", "1"]]
        assert processes.run([processes.BIN, "kubectl", "log", f"node/{node.name}"], env=annals.kubectl_env()).stdout.count("Created") == 1
    finally:
        annals.delete(node.path)


def test_log__selects(log, shop):
    assert [row[1] for row in rows(log("--field-selector=status.deleted=true"))[1:]] == ["configmap/b", "configmap/b"]
    assert {row[1] for row in rows(log("cm", "--field-selector", "status.by=alice"))[1:]} == {"configmap/a"}
    assert "field label not supported" in log("--field-selector=spec.x=1", status=1)


def test_log__selects_by_labels_of_the_objects(log, shop):
    shop["a"].alter({"metadata": {"labels": {"app": "x"}}})
    assert [row[1:3] for row in rows(log("cm", "-l", "app=x"))[1:]] == [["configmap/a", "1"], ["configmap/a", "2"]]
    assert log("cm", "--selector=app=y") == "" and "unable to parse" in log("cm", "-l", "a b", status=1)
    for arguments in (["-l", "app=x"], ["cm/a", "-l", "app=x"], ["cm", "-w", "-l", "app=x"]):
        assert "-l selects among the objects of a TYPE" in log(*arguments, status=1)


def test_log__can_be_short(log, shop):
    done = annals_log(shop["a"].server, shop["a"].namespace, "--tail=2")
    assert [row[1] for row in rows(done.stdout)] == ["OBJECT", "service/web", "configmap/b"]
    assert "4 older changes are not shown" in done.stderr
    shop["a"].patch({"data": {"x": "3"}}, time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    assert [row[1:3] for row in rows(log("--since=1h"))] == [["OBJECT", "REVISION"], ["configmap/a", "3"]]
    assert "--since" in log("--since=soon", status=2)


def test_log__in_other_forms(log, shop):
    listed = json.loads(log("cm/a", "-o", "json"))
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List") and listed == yaml.safe_load(log("cm/a", "-o", "yaml"))
    last, history = listed["items"][-1], shop["a"].history
    assert (last["apiVersion"], last["kind"], last["subject"]) == ("annals.dev/v1", "Change", history["spec"]["subject"])
    assert last["history"] == {"namespace": shop["a"].namespace, "name": history["metadata"]["name"]}
    now = shop["a"].server.get(f"{V1}/namespaces/{shop['a'].namespace}/histories/{history['metadata']['name']}").json
    assert [item["change"] for item in listed["items"]] == now["status"]["changes"]
    assert log("-o", "name").split() == ["configmap/a", "service/web", "configmap/b"], "by their last changes"


def test_log__does_not_let_objects_speak_to_the_terminal(log, shop):
    shop["a"].patch({"data": {"x": "3"}}, managers=["eve\x1b[2J\u202e"], paths=["/data/\x1b]0;x\x07"], cause="\x9b31m")
    for form in ("wide", "json", "yaml"):
        assert not any(c in log("-o", form) for c in "\x1b\x07\x9b\u202e")


class Follower:
    """kubectl annals log -w, as somebody reads it."""

    def __init__(self, annals, namespace, *arguments):
        self.process = processes.Process([processes.BIN, "kubectl", "log", "-w", "-n", namespace, *arguments], env=annals.kubectl_env())
        self.process.is_expected_to_end = True

    def lines(self, n):
        """As soon as there are so many: all that there are."""
        processes.retry_until(lambda: self.process.stdout.text.count("\n") >= n, f"{n} lines")
        return self.process.stdout.text.splitlines()

    def interrupt(self):
        self.process.popen.send_signal(signal.SIGINT)
        assert self.process.popen.wait(timeout=processes.PATIENCE) == -signal.SIGINT


def test_log__follows(annals, namespace, shop):
    follower = Follower(annals, namespace, "cm")
    try:
        first = follower.lines(5)
        shop["a"].patch({"data": {"x": "3"}}, paths=["/data/x"])
        shop["web"].patch({"spec": {"ports": [{"port": 82}]}})  # of another type
        shop["b"].make()
        third = Recorded(annals, namespace, "ConfigMap", "c")
        third.make()
        lines = follower.lines(8)
        assert lines[:5] == first
        assert [line.split()[1:3] for line in lines[5:]] == [["configmap/a", "3"], ["configmap/b", "1"], ["configmap/c", "1"]]
    finally:
        follower.interrupt()


def test_log__follows_in_other_forms(annals, namespace, shop):
    follower = Follower(annals, namespace, "cm/a", "-o", "yaml")
    names = Follower(annals, namespace, "-o", "name")
    try:
        names.lines(3)
        follower.lines(20)
        shop["a"].patch({"data": {"x": "3"}}, cause="the last")
        processes.retry_until(lambda: "the last" in follower.process.stdout.text, "the change")
        said = [document["change"].get("cause") for document in yaml.safe_load_all(follower.process.stdout.text)]
        assert said == [None, "because", "the last"]
        Recorded(annals, namespace, "ConfigMap", "c").make()
        assert names.lines(4) == ["configmap/a", "service/web", "configmap/b", "configmap/c"]
    finally:
        follower.interrupt()
        names.interrupt()


def test_log__follows_where_the_watch_has_lost_its_place(folder, serve, etcd, certificates):
    """What happened meanwhile is told once; so is what happened when the watch had only been cut."""
    server = serve(etcd().endpoint)
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    between = Between(server, certificates)
    try:
        config = processes.write_kubeconfig(folder / "kubeconfig", between.url, certificates)
        a, b = Recorded(server, "default", "ConfigMap", "a"), Recorded(server, "default", "ConfigMap", "b")
        a.make()
        follower = processes.Process([processes.BIN, "kubectl", "log", "-w", "--kubeconfig", config])
        processes.retry_until(lambda: between.watches, "the watch")
        between.hold("histories")
        b.make()
        for i in range(3):
            a.patch({"data": {"x": str(i)}})
        between.lose("histories")
        processes.retry_until(lambda: follower.stdout.text.count("\n") >= 6, "what happened meanwhile")
        processes.retry_until(lambda: between.watches, "the next watch")
        for _, connection in list(between.watches):
            connection.shutdown(socket.SHUT_RDWR)
        a.patch({"data": {"x": "last"}})
        processes.retry_until(lambda: follower.stdout.text.count("\n") >= 7, "what happens now")
        told = sorted(tuple(line.split()[1:3]) for line in follower.stdout.text.splitlines()[1:])
        assert told == [("configmap/a", str(n)) for n in range(1, 6)] + [("configmap/b", "1")]
        assert "interrupted" in follower.stderr.text
        follower.signal(signal.SIGINT)
        assert follower.wait() == -signal.SIGINT
    finally:
        between.close()
