"""kubectl annals log: what Histories tell, of everything, of a type, of one object; once, in order, and as it happens."""

import base64
import json
import pathlib
import shutil
import signal
import socket
import tempfile
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
    """Columns are two blanks apart, or one where the left one is wide; only BY may have a blank."""
    return [line.replace(" (manager", "_(manager").split(None, 4) for line in text.splitlines()]


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
        ["configmap/a", "1", "kubectl-edit_(manager)", "Created"], ["service/web", "1", "helm_(manager)", "Created"], ["configmap/b", "1", "<unknown>", "Created"],
        ["configmap/a", "2", "alice_(manager)", "Changed /data/x"],
        ["service/web", "2", "helm_(manager)", "Changed /spec/ports/0/port, /spec/ports/0/targetPort and 3 more"],
        ["configmap/b", "<none>", "a-controller,kubectl_(managers)", "Deleted"]]
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
    assert log("cm", "--field-selector", "status.by=alice") == "", "a manager is no user"
    assert "field label not supported" in log("--field-selector=spec.x=1", status=1)


def test_log__selects_by_labels_of_the_objects(log, shop):
    shop["a"].alter({"metadata": {"labels": {"app": "x"}}})
    assert [row[1:3] for row in rows(log("cm", "-l", "app=x"))[1:]] == [["configmap/a", "1"], ["configmap/a", "2"]]
    assert log("cm", "--selector=app=y") == "" and "unable to parse" in log("cm", "-l", "a b", status=1)
    assert {row[1] for row in rows(log("svc,cm", "-l", "app=x"))[1:]} == {"configmap/a"}
    assert "-l selects among the objects of a TYPE" in log("-l", "app=x", status=2)
    for arguments in (["cm/a", "-l", "app=x"], ["cm", "a", "-l", "app=x"]):
        assert "name cannot be provided when a selector is specified" in log(*arguments, status=2)


def test_log__of_several_types_and_objects(log, shop):
    everything = rows(log())[1:]
    assert rows(log("configmaps,svc"))[1:] == everything == rows(log("cm/a", "svc/web", "cm/b"))[1:]
    assert {row[1] for row in rows(log("cm", "a", "b"))[1:]} == {"configmap/a", "configmap/b"}
    assert {row[1] for row in rows(log("cm/a", "service/web"))[1:]} == {"configmap/a", "service/web"}
    assert {row[1] for row in rows(log("cm,svc", "web"))[1:]} == {"service/web"}, "of each type the one with this name"
    assert [row[1:3] for row in rows(log("cm,nodes", "--path=/data/x"))[1:]] == [["configmap/a", "2"]], "a type without a namespace looks in all"
    assert "there is no need to specify a resource type" in log("cm", "svc/web", status=1)
    assert "resource type" in log("cm,nothings", status=1)


def test_log__says_who_and_what(log, shop):
    for manager in ("alice", "kubectl", "alice (manager)"):
        assert log("--by", manager) == "", "a client chooses the name of its manager"
    assert [row[1:3] for row in rows(log("--path=/data/x"))[1:]] == [["configmap/a", "2"]] == [row[1:3] for row in rows(log("--path=/data"))[1:]]
    shop["a"].patch({"data": {"x": "3"}}, managers=["root"], paths=["/data/x"])
    assert [row[2] for row in rows(log("--path=/data/x"))[1:]] == ["2", "3"]
    done = annals_log(shop["a"].server, shop["a"].namespace, "--path=/spec/type")
    assert "1 changes list only some of their paths, and may be of /spec/type, too" in done.stderr
    assert "--path must be a JSON pointer" in log("--path=data", status=2)


def test_log__shows_differences(log, shop):
    text = log("cm/a", "-p", "--no-headers")
    created, changed = text.split("\n\n")[:2]
    assert created.splitlines()[0].endswith("Created") and "+  x: \"1\"" in created and "\n-" not in created.replace("\n--- ", "")
    assert changed.splitlines()[0].endswith("Changed /data/x") and "-  x: \"1\"\n+  x: \"2\"" in changed
    deleted = log("cm/b", "-p").split("\n\n")[1]
    assert deleted.splitlines()[0].endswith("Deleted") and "-  name: b" in deleted
    shop["a"].patch({"data": {"x": "3"}}, limit=1)
    assert "(a revision that this needs is not kept any more: no Recorder records it now)" in log("cm/a", "-p")
    assert "\x1b[32m+  x: \"3\"" in log("cm/a", "-p", "--color=always")
    assert "--patch goes with" in log("-p", "-o", "json", status=2)


def test_log__shows_no_value_of_a_secret(annals, log, namespace):
    key = Recorded(annals, namespace, "Secret", "key")
    key.make(stringData={"password": "swordfish"})
    key.patch({"stringData": {"password": "herring"}}, paths=["/data/password"])
    text = log("secret/key", "-p")
    assert text.count("*** (") >= 2
    for plain in ("swordfish", "herring"):
        assert plain not in text and base64.b64encode(plain.encode()).decode() not in text


def test_log__of_a_time(log, shop):
    times = [row[0] for row in rows(log())[1:]]
    assert [row[0] for row in rows(log(f"--since-time={times[2]}"))[1:]] == times[2:]
    assert [row[0] for row in rows(log(f"--until={times[2]}"))[1:]] == times[:2]
    assert [row[0] for row in rows(log(f"--since-time={times[1]}", f"--until={times[3]}"))[1:]] == times[1:3]
    shop["a"].patch({"data": {"x": "3"}}, time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 20 * 3600)))
    assert [row[2] for row in rows(log("--since=1d"))[1:]] == ["3"] == [row[2] for row in rows(log("--since=0d21h"))[1:]]
    assert log("--since=19h") == "" and len(rows(log("--until=19h"))) == 8 and len(rows(log("--until=1d"))) == 7
    for wrong in (["--since=1x"], ["--since=d"], ["--since=-1d"], ["--since=1h", f"--since-time={times[0]}"], ["--since-time=yesterday"],
                  ["--until=soon"], ["--until=1h", "-f"]):
        assert wrong[-1].split("=")[0] in log(*wrong, status=2)


def test_log__of_the_last_minutes_asks_for_the_objects_that_have_changed(folder, serve, etcd, certificates):
    """A minute in the past, an hour, and what another clock calls the future; and all of them where the server does not know the fields."""
    server = serve(etcd().endpoint)
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    between, asked = Between(server, certificates), []
    config = processes.write_kubeconfig(folder / "kubeconfig", between.url, certificates)
    objects = {}
    for name, ago in (("now", 0), ("minutes", 20 * 60), ("hours", 20 * 3600), ("days", 20 * 86400), ("ahead", -120)):
        objects[name] = Recorded(server, "default", "ConfigMap", name)
        objects[name].make()
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
        objects[name].patch({"data": {"x": "1"}}, time=when)

    def shown(*arguments):
        asked.clear()
        done = processes.run([processes.BIN, "kubectl", "log", "-A", "--kubeconfig", config, "-o", "name", *arguments], check=True)
        return {line.rpartition("/")[2] for line in done.stdout.splitlines()}

    def is_list(path):
        return path == "/apis/annals.dev/v1/histories"

    try:
        between.fault = lambda _, path: asked.append(path) if is_list(path) else None
        for since, expected, at_most in (("1m", {"now", "ahead"}, 8), ("40m", {"now", "ahead", "minutes"}, 47), ("30h", {"now", "ahead", "minutes", "hours"}, 32),
                                         ("90d", set(objects), 1)):
            assert shown(f"--since={since}") == expected and 1 <= len(asked) <= at_most, (since, asked)
        assert shown("--since=40m", "--field-selector=spec.subject.name=minutes") == {"minutes"}
        assert shown("--since=40m", "--by=nobody") == set()
        objects["days"].patch({"data": {"x": "2"}}, time="2019-01-02T03:04:05Z")
        assert "days" not in shown("--since=30h") and "days" in shown("--since=90d"), "the latest time is that of an earlier change"
        between.fault = lambda _, path: (asked.append(path), "500" if len(asked) == 1 else None)[1] if is_list(path) else None
        assert shown("--since=40m") == {"now", "ahead", "minutes"} and len(asked) == 2, asked
    finally:
        between.close()


def test_log__can_be_short(log, shop):
    done = annals_log(shop["a"].server, shop["a"].namespace, "--tail=2")
    assert [row[1] for row in rows(done.stdout)] == ["OBJECT", "service/web", "configmap/b"]
    assert "4 older changes are not shown" in done.stderr
    shop["a"].patch({"data": {"x": "3"}}, time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    assert [row[1:3] for row in rows(log("--since=1h"))] == [["OBJECT", "REVISION"], ["configmap/a", "3"]]
    assert "--since" in log("--since=soon", status=2)
    done = annals_log(shop["a"].server, shop["a"].namespace, "--tail=0")
    assert (done.stdout, done.stderr) == ("", ""), "as kubectl logs"
    assert len(rows(log("--tail=-1", "--no-headers"))) == 7 and "--tail" in log("--tail=-2", status=2)


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


@pytest.fixture(scope="module")
def quiet():
    """A server whose Recorders are this test's alone."""
    server = processes.Up(pathlib.Path(tempfile.mkdtemp(prefix="annals-")), "--store=memory")
    yield server
    server.stop()
    shutil.rmtree(server.dir, ignore_errors=True)


def test_log__says_why_there_is_nothing(quiet):
    def why(*arguments, **more):
        done = processes.run([processes.BIN, "kubectl", "log", *arguments], env=quiet.kubectl_env(**more))
        assert (done.returncode, done.stdout) == (0, ""), done
        return done.stderr

    def record(name, **spec):
        made = quiet.post(f"{V1}/recorders", {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": name}, "spec": spec})
        assert made.status == 201, made
        processes.retry_until(lambda: "True" in str(quiet.get(f"{V1}/recorders/{name}").json.get("status", {}).get("conditions")), "it records")

    secrets, short = [{"groups": [""], "resources": ["secrets"]}], [{"groups": [""], "resources": ["serviceaccounts"]}]
    assert why() == why("cm") == why("cm/a") == "No changes found: there is no Recorder, so nothing is recorded.\n"
    record("others", resources=secrets, namespaceSelector={"matchLabels": {"team": "x"}})
    record("chosen", resources=secrets, objectSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]})
    assert quiet.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}}).status == 201
    assert quiet.post("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s", "labels": {"app": "z"}}}).status == 201
    assert why("cm/a") == "No changes found: no Recorder names configmaps (kubectl get recorders).\n" == why("configmaps")
    assert why("cm/none") == "No changes found: it does not exist, and nothing of it is recorded.\n"
    assert why() == "No changes found in namespace default.\n"
    record("short", resources=short, keepDeleted="1m0s")
    gone = "No changes found: it does not exist, and nothing of it is recorded.\nThe History of a deleted object is removed after a time: "
    assert why("sa/gone") == f"{gone}spec.keepDeleted of Recorder short is 1m0s.\n"
    assert why("secret/gone") == f"{gone}spec.keepDeleted of Recorder chosen is 720h0m0s.\n"
    said = why("secret/s")
    assert "Recorder others selects other namespaces (spec.namespaceSelector)" in said
    assert "Recorder chosen selects other objects (spec.objectSelector)" in said
    assert why("secrets") == "No changes found: Recorder chosen names secrets, and has recorded none.\n"
    assert quiet.post("/api/v1/namespaces/default/secrets", {"metadata": {"name": "t", "labels": {"app": "x"}}}).status == 201
    processes.retry_until(lambda: quiet.get(f"{V1}/namespaces/default/histories").json["items"], "a History")
    assert why("secrets", "--by=nobody") == "No changes found: 1 changes are recorded, and none of them is what the flags ask for.\n"


def test_log__names_the_limits_that_have_removed_something(quiet):
    """What a History does not list any more, and revisions that its Recorder does not keep."""
    path = "/api/v1/namespaces/default/endpoints"
    made = quiet.post(f"{V1}/recorders", {"metadata": {"name": "three"}, "spec": {
        "resources": [{"groups": [""], "resources": ["endpoints"]}], "historyLimit": 3, "objectSelector": {"matchLabels": {"app": "x"}}}})
    assert made.status == 201, made
    processes.retry_until(lambda: "True" in str(quiet.get(f"{V1}/recorders/three").json.get("status", {}).get("conditions")), "it records")

    def recorded(n):
        histories = quiet.get(f"{V1}/namespaces/default/histories?fieldSelector=spec.subject.name=e").json["items"]
        return histories and histories[0]["status"]["totalChanges"] == n

    def run(command, *arguments, status=0):
        done = processes.run([processes.BIN, "kubectl", command, *arguments], env=quiet.kubectl_env())
        assert done.returncode == status, done
        return done

    assert quiet.post(path, {"metadata": {"name": "e", "labels": {"app": "x"}}}).status == 201
    processes.retry_until(lambda: recorded(1), "the first state")
    for i in range(2, 54):
        assert quiet.patch(f"{path}/e", {"metadata": {"labels": {"step": str(i)}}}).status == 200
        processes.retry_until(lambda: recorded(i), f"state {i}")
    nothing = run("log", "endpoints/e", "--by=nobody")
    assert nothing.stderr == ("No changes found: 50 changes are recorded, and none of them is what the flags ask for.\n"
                              "3 older changes are not listed any more: a History lists its last 50 changes, and 64 KiB of them.\n")
    limit = "spec.historyLimit of Recorder three is 3"
    differences = run("log", "endpoints/e", "-p", "--no-headers").stdout
    assert differences.count(f"(a revision that this needs is not kept any more: {limit})") == 46
    assert differences.count("(the change before this one is not listed any more: a History lists its last 50 changes") == 1
    assert differences.count("+    step: ") == 3
    assert f"unable to find revision 7 of endpoints/e: it is not kept any more ({limit})" in run("show", "endpoints/e", "--revision=7", status=1).stderr
    assert "it is not kept" not in run("show", "endpoints/e", "--revision=700", status=1).stderr
    assert "nothing was recorded of endpoints/none (spec.keepDeleted of Recorder three is 720h0m0s)" in run("restore", "endpoints/none", status=1).stderr


class Follower:
    """kubectl annals log -w, as somebody reads it."""

    def __init__(self, annals, namespace, *arguments, flag="-w"):
        self.process = processes.Process([processes.BIN, "kubectl", "log", flag, "-n", namespace, *arguments], env=annals.kubectl_env())
        self.process.is_expected_to_end = True

    def lines(self, n):
        """As soon as there are so many: all that there are."""
        processes.retry_until(lambda: self.process.stdout.text.count("\n") >= n, f"{n} lines")
        return self.process.stdout.text.splitlines()

    def interrupt(self):
        self.process.popen.send_signal(signal.SIGINT)
        assert self.process.popen.wait(timeout=processes.PATIENCE) == -signal.SIGINT


@pytest.mark.parametrize("flag", ["-f", "--follow", "-w", "--watch"])
def test_log__follows(annals, namespace, shop, flag):
    follower = Follower(annals, namespace, "cm", flag=flag)
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


def test_log__follows_objects_with_labels(annals, namespace, shop):
    shop["a"].alter({"metadata": {"labels": {"app": "x"}}})
    follower = Follower(annals, namespace, "cm,svc", "-l", "app=x")
    try:
        follower.lines(3)
        shop["web"].patch({"spec": {"ports": [{"port": 82}]}})  # without such a label
        shop["a"].patch({"data": {"x": "3"}}, paths=["/data/x"])
        follower.lines(4)
        shop["web"].alter({"metadata": {"labels": {"app": "x"}}})
        shop["web"].patch({"spec": {"ports": [{"port": 83}]}})
        follower.lines(5)
        shop["a"].alter({"metadata": {"labels": {"app": "y"}}})
        shop["a"].patch({"data": {"x": "4"}}, paths=["/data/x"])
        follower.lines(6)
        shop["a"].patch({"data": {"x": "5"}}, paths=["/data/x"])  # it has lost the label by then
        shop["web"].delete()
        lines = follower.lines(7)
        assert [line.split()[1] for line in lines[1:]] == ["configmap/a"] * 3 + ["service/web", "configmap/a", "service/web"], lines
    finally:
        follower.interrupt()


def test_log__follows_with_differences(annals, namespace, shop):
    follower = Follower(annals, namespace, "cm/a", "-p")
    try:
        processes.retry_until(lambda: "revision 2" in follower.process.stdout.text, "what is recorded")
        shop["a"].patch({"data": {"x": "3"}}, paths=["/data/x"])
        processes.retry_until(lambda: "+  x: \"3\"" in follower.process.stdout.text, "the difference")
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
    """Changes made meanwhile are printed once; so is what happened when the watch had only been cut."""
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
