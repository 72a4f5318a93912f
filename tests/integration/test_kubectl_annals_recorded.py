"""kubectl annals and what a Recorder has recorded: any kind's revisions; undo puts back exactly what was recorded, restore makes what was deleted."""

import json
import os

import pytest
import yaml

import processes
from gate import Gate
from recorded import V1, Recorded, redacted, state_of
from test_kubectl_annals import on_terminal


@pytest.fixture
def plugin(annals, namespace):
    def run(command, *arguments, status=0, **env):
        done = processes.run([processes.BIN, "kubectl", command, *arguments, "-n", namespace], env={**annals.kubectl_env(), **env})
        assert done.returncode == status, done
        return done

    return run


@pytest.fixture
def settings(annals, namespace):
    """Red, green, blue."""
    it = Recorded(annals, namespace, "ConfigMap", "settings", managers=["kubectl"])
    it.make(data={"color": "red", "size": "1"}, metadata={"labels": {"app": "x"}})
    it.patch({"data": {"color": "green"}}, paths=["/data/color"])
    it.patch({"data": {"color": "blue", "size": None}}, paths=["/data/color", "/data/size"], cause="a colder one")
    return it


def rows(text, n=5):
    return [line.replace(" (manager", "_(manager").split(None, n) for line in text.splitlines()]


# ---- looking ----


def test_history__is_that_of_the_recorder(plugin, settings):
    table = rows(plugin("history", "cm/settings").stdout, 4)
    assert table[0] == ["REVISION", "AGE", "CURRENT", "BY", "CHANGE"]
    assert [[row[0], *row[2:]] for row in table[1:]] == [
        ["1", "no", "kubectl_(manager)", "Created"], ["2", "no", "kubectl_(manager)", "Changed /data/color"],
        ["3", "yes", "kubectl_(manager)", "Changed /data/color, /data/size"]]
    wide = plugin("history", "cm/settings", "-o", "wide").stdout.splitlines()
    names = plugin("history", "cm/settings", "-o", "name").stdout.split()
    assert wide[0].endswith("CHANGE-CAUSE   NAME") and f"   a colder one   {names[2].partition('/')[2]}" in wide[3]
    items = json.loads(plugin("history", "cm/settings", "-o", "json").stdout)["items"]
    assert [item["data"]["data"]["color"] for item in items] == ["red", "green", "blue"]
    settings.delete()
    assert [row[2] for row in rows(plugin("history", "cm/settings").stdout)[1:]] == ["no", "no", "deleted"]


def test_history__of_the_objects_own_where_asked_for(plugin, settings, annals, namespace):
    own = settings.get()
    made = annals.post(f"{V1}/namespaces/{namespace}/controllerrevisions", {
        "metadata": {"name": "own-1", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": own["metadata"]["uid"],
                                                           "controller": True}]}, "revision": 1, "data": {"data": {"color": "black"}}})
    assert made.status == 201, made
    assert plugin("history", "cm/settings", "--own", "-o", "name").stdout == "controllerrevision.annals.dev/own-1\n"
    assert yaml.safe_load(plugin("show", "cm/settings", "--own").stdout) == {"data": {"color": "black"}}
    assert plugin("undo", "cm/settings", "--own", "--to-revision=1").returncode == 0
    assert settings.get()["data"]["color"] == "black"


def test_show__is_the_recorded_state(plugin, settings):
    assert yaml.safe_load(plugin("show", "cm/settings").stdout) == state_of(settings.get())
    first = json.loads(plugin("show", "cm/settings", "--revision=1", "-o", "json").stdout)
    assert first["data"] == {"color": "red", "size": "1"} and "uid" not in first["metadata"]


TEMPLATES = [
    "{.metadata.name}", ".metadata.name", "metadata.name", "{.spec.ports[*].port}", "{.spec.ports[0].name}{\"\\n\"}", "{.spec.ports[-1].port}",
    "{.spec.ports[0:2].port}", "{.spec.ports[1:].port}", "{['metadata']['name']} is it", "{.metadata.annotations.example\\.com/a}",
    "{.metadata.annotations['example\\.com/a']}", "{range .spec.ports[*]}{.name}={.port}{'\\t'}{end}|", "{.spec.ports[?(@.port==80)].name}",
    '{.spec.ports[?(@.name=="b")].port}', "{.spec.ports[?(@.port>80)].name}", "{.spec.ports[?(@.nodePort)].name}", "{.spec.none.at.all}x",
    "{..port}", "{.spec.selector}", "{$.kind}", "{range .spec.none[*]}{.x}{end}y"]


def test_show__prints_templates_as_kubectl_does(plugin, annals, namespace):
    web = Recorded(annals, namespace, "Service", "web")
    web.make(metadata={"annotations": {"example.com/a": "yes"}},
             spec={"selector": {"app": "web"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}, {"name": "c", "port": 82}]})
    columns = "custom-columns=NAME:.metadata.name,PORTS:.spec.ports[*].port,NONE:.x.y,APP:{.spec.selector.app}"
    for template in [*(f"jsonpath={template}" for template in TEMPLATES), columns]:
        wanted = annals.kubectl("get", "service", "web", "-n", namespace, "-o", template)
        assert wanted.returncode == 0, wanted
        assert plugin("show", "svc/web", "-o", template).stdout == wanted.stdout, template
    for wrong in ("jsonpath={.a", "jsonpath={range .a[*]}x", "jsonpath={.a[}", "jsonpath={.a[?(@.b==)]}", "custom-columns=A", "custom-columns=A:.a[", "jsonpath="):
        assert "--output" in plugin("show", "svc/web", "-o", wrong, status=2).stderr
    listed = plugin("log", "svc/web", "-o", "jsonpath={range .items[*]}{.subject.name} {.change.type}{\"\\n\"}{end}").stdout
    assert listed == "web Created\n"
    assert plugin("log", "svc", "-o", "custom-columns=WHAT:.change.type", "--no-headers").stdout == "Created\n"
    assert plugin("history", "svc/web", "-o", "custom-columns=N:.revision").stdout == "N\n1\n"


def test_diff__of_any_two(plugin, settings):
    assert "-  color: green\n-  size: \"1\"\n+  color: blue\n" in plugin("diff", "cm/settings").stdout
    patch = json.loads(plugin("diff", "cm/settings", "--revision=3", "--to=1", "-o", "patch").stdout)
    assert patch == {"data": {"color": "red", "size": "1"}}


def test_revisions__are_found_by_the_numbers_they_had(plugin, settings):
    """What comes again is numbered anew; log still tells the old number."""
    settings.patch({"data": {"color": "green", "size": "1"}})
    assert [row[0] for row in rows(plugin("history", "cm/settings").stdout)[1:]] == ["1", "3", "4"]
    assert plugin("show", "cm/settings", "--revision=2").stdout == plugin("show", "cm/settings", "--revision=4").stdout
    unknown = plugin("show", "cm/settings", "--revision=7", status=1).stderr
    assert "unable to find revision 7 of configmap/settings\n" in unknown, "no limit has removed what never was"


def test_revisions__are_found_by_numbers_that_no_change_has_any_more(plugin, settings):
    settings.patch({"data": {"color": "green", "size": "1"}})
    for i in range(52):  # a History lists 50 changes
        settings.patch({"data": {"size": str(i % 2 + 7)}}, limit=100)
    settings.patch({"data": {"color": "green", "size": "1"}}, limit=100)
    newest = int(rows(plugin("history", "cm/settings").stdout)[-1][0])
    assert newest > 50
    for number in (2, 4):
        assert plugin("show", "cm/settings", f"--revision={number}").stdout == plugin("show", "cm/settings", f"--revision={newest}").stdout


# ---- undo ----


def test_undo__of_what_answers_do_not_show(plugin, annals, namespace):
    """kube-apiserver's watch shows spec.internalTrafficPolicy of an ExternalName, and its answers do not. It is recorded."""
    ext = Recorded(annals, namespace, "Service", "ext")

    def state():
        shown = state_of(ext.get())
        return {**shown, "spec": {**shown["spec"], "internalTrafficPolicy": "Cluster"}}

    ext.make(spec={"type": "ExternalName", "externalName": "a.example.com"})
    ext.take(state=state())
    ext.alter({"spec": {"externalName": "b.example.com"}})
    ext.take(state=state())
    assert "internalTrafficPolicy" not in ext.get()["spec"]
    assert plugin("undo", "svc/ext").stdout.startswith("service/ext rolled back to revision 2")
    assert ext.get()["spec"]["externalName"] == "a.example.com"
    assert "has been changed since revision 3" in plugin("undo", "svc/ext", status=1).stderr, "what really differs still does"


def test_undo__warns_of_what_is_applied(plugin, annals, namespace):
    shop = Recorded(annals, namespace, "ConfigMap", "shop")
    applied = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    shop.make(metadata=applied, data={"limit": "100"})
    shop.patch({"data": {"limit": "1"}})
    for more in (["--dry-run=server"], []):
        warned = plugin("undo", "cm/shop", *more).stderr
        assert "Warning: configmap/shop has been applied from a file" in warned and "Change the file, too" in warned
    assert shop.get()["metadata"]["annotations"] == applied["annotations"]


def test_undo__goes_back_to_what_was_before(plugin, settings):
    dry = plugin("undo", "cm/settings", "--dry-run=server")
    assert dry.stdout == "configmap/settings rolled back to revision 2 (server dry run)\n"
    assert "--- configmap/settings now\n+++ configmap/settings revision 2 (" in dry.stderr and "-  color: blue\n+  color: green\n+  size: \"1\"" in dry.stderr
    assert settings.get()["data"] == {"color": "blue"}
    done = plugin("undo", "cm/settings")
    assert done.stdout == "configmap/settings rolled back to revision 2\n" and not done.stderr
    assert settings.get()["data"] == {"color": "green", "size": "1"}
    settings.take()
    assert plugin("undo", "cm/settings").stdout == "configmap/settings rolled back to revision 3\n", "and again takes that back"
    assert settings.get()["data"] == {"color": "blue"}


def test_undo__puts_back_the_recorded_parts_alone(plugin, settings):
    """Members that came go; what is no state stays."""
    settings.alter({"metadata": {"annotations": {"kubernetes.io/change-cause": "why", "new": "1"}, "labels": {"app": "y", "more": "z"},
                                 "finalizers": ["example.org/keep"]}, "binaryData": {"b": "aGk="}, "immutable": False})
    settings.take()
    assert plugin("undo", "cm/settings", "--to-revision=1", "-o", "name").stdout == "configmap/settings\n"
    now = settings.get()
    assert now["metadata"]["annotations"] == {"kubernetes.io/change-cause": "why"} and now["metadata"].pop("finalizers") == ["example.org/keep"]
    assert state_of(now) == yaml.safe_load(plugin("show", "cm/settings", "--revision=1").stdout)
    assert "skipped rollback (it already is as revision 1 says)" in plugin("undo", "cm/settings", "--to-revision=1").stdout
    settings.alter({"metadata": {"finalizers": None}})


def test_undo__as_a_client_says_what_it_would_send(plugin, settings):
    patch = json.loads(plugin("undo", "cm/settings", "--dry-run=client", "-o", "json").stdout)
    meta = settings.get()["metadata"]
    assert patch == {"data": {"color": "green", "size": "1"}, "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}


def test_undo__leaves_what_is_ignored(plugin, annals, namespace):
    web = Recorded(annals, namespace, "Service", "web", ignore=["/metadata/annotations/a", "/spec/ports/*/targetPort", "/spec/sessionAffinity"])

    def take(type="Changed"):
        state = state_of(web.get())
        for port in state["spec"]["ports"]:
            port.pop("targetPort")
        del state["spec"]["sessionAffinity"]
        state["metadata"].pop("annotations", None)
        web.take(type, state=state)

    made = annals.post(web.collection, {"metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "ports": [
        {"name": "a", "port": 1, "targetPort": 11}, {"name": "b", "port": 2, "targetPort": 22}]}})
    assert made.status == 201, made
    take("Created")
    web.alter({"metadata": {"annotations": {"a": "1"}}, "spec": {"sessionAffinity": "ClientIP", "ports": [
        {"name": "b", "port": 3, "targetPort": 33}, {"name": "c", "port": 4, "targetPort": 44}]}})
    take()
    assert plugin("undo", "service/web").returncode == 0
    now = web.get()
    assert [(port["name"], port["port"], port["targetPort"]) for port in now["spec"]["ports"]] == [("a", 1, 1), ("b", 2, 33)]
    assert now["spec"]["sessionAffinity"] == "ClientIP" and now["metadata"]["annotations"] == {"a": "1"}


def test_undo__leaves_what_is_ignored_only_now(plugin, settings):
    settings.alter({"data": {"size": "5"}})
    state = state_of(settings.get())
    settings.take(state={**state, "data": {"color": "blue"}}, ignore=["/data/size"])
    assert plugin("undo", "cm/settings", "--to-revision=1").returncode == 0
    assert settings.get()["data"] == {"color": "red", "size": "5"}, "revision 1 had another size"


def test_undo__leaves_what_was_ignored_only_then(plugin, annals, namespace):
    it = Recorded(annals, namespace, "ConfigMap", "then", ignore=["/data/size"])
    assert annals.post(it.collection, {"metadata": {"name": "then"}, "data": {"color": "red", "size": "1"}}).status == 201
    state = state_of(it.get())
    it.take("Created", state={**state, "data": {"color": "red"}})
    it.alter({"data": {"color": "blue"}})
    it.take(state=state_of(it.get()), ignore=[])
    assert plugin("undo", "cm/then").returncode == 0
    assert it.get()["data"] == {"color": "red", "size": "1"}, "nobody knows what it was"
    # That nothing was left out is true again of the very same state: now size was not there.
    it.take(state={**state, "data": {"color": "red"}}, ignore=[])
    it.alter({"data": {"color": "green"}})
    it.take(state=state_of(it.get()), ignore=[])
    assert plugin("undo", "cm/then").returncode == 0
    assert it.get()["data"] == {"color": "red"}


def test_undo__leaves_what_was_redacted(plugin, annals, namespace):
    it = Recorded(annals, namespace, "Secret", "s")
    values = {"user": "dXNlcg==", "password": "b25l"}

    def take(type="Changed"):
        state = state_of(it.get())
        state["data"] = {name: redacted(value) for name, value in state["data"].items()}
        it.take(type, state=state)

    assert annals.post(it.collection, {"metadata": {"name": "s", "labels": {"a": "1"}}, "data": values}).status == 201
    take("Created")
    it.alter({"metadata": {"labels": {"a": "2"}}, "data": {"password": "dHdv", "more": "eA=="}})
    take()
    done = plugin("undo", "secret/s", "--dry-run=server")
    assert "/data/password" in done.stderr and "stay as they are" in done.stderr and "eA==" not in done.stderr and "dHdv" not in done.stderr
    assert '-  more: "*** (before)"' in done.stderr.replace("'", '"') and "password: '***'" in done.stderr.replace('"', "'"), done.stderr
    assert plugin("undo", "secret/s").returncode == 0
    now = it.get()
    assert now["data"] == {"user": "dXNlcg==", "password": "dHdv"} and now["metadata"]["labels"] == {"a": "1"}
    take()
    it.alter({"data": {"password": None}})
    take()
    refused = plugin("undo", "secret/s", status=1).stderr
    assert "redacted" in refused and "/data/password" in refused and "--skip-redacted" in refused
    assert it.get()["data"] == {"user": "dXNlcg=="}
    it.alter({"metadata": {"labels": {"a": "3"}}})
    take()
    assert plugin("undo", "secret/s", "--to-revision=1", "--skip-redacted").returncode == 0
    assert it.get()["data"] == {"user": "dXNlcg=="} and it.get()["metadata"]["labels"] == {"a": "1"}


def test_undo__refuses_a_digest(plugin, settings):
    state = state_of(settings.get())
    del state["data"]
    settings.alter({"data": {"size": "2"}})
    settings.take(state={**state, "annals.dev/omitted": {"digest": "d", "bytes": 300000}})
    settings.patch({"data": {"size": "3"}})
    assert "only a digest: with 300000 bytes" in plugin("undo", "cm/settings", status=1).stderr
    assert settings.get()["data"]["size"] == "3"


def test_undo__of_what_was_not_recorded(plugin, settings):
    """What was changed behind the recorder's back would be lost by going to the state before its last one."""
    settings.alter({"data": {"color": "white"}})
    done = plugin("undo", "cm/settings", status=1)
    assert "has been changed since revision 3 was recorded; --to-revision=3 takes that back" in done.stderr
    assert plugin("undo", "cm/settings", "--to-revision=3").returncode == 0
    assert settings.get()["data"] == {"color": "blue"}


def test_undo__loses_nothing_that_is_written_meanwhile(folder, serve, etcd, certificates):
    server = serve(etcd().endpoint)
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    it = Recorded(server, "default", "ConfigMap", "a")
    it.make(data={"x": "1"})
    it.patch({"data": {"x": "2"}})
    gate = Gate(server.client, certificates)
    try:
        held = gate.hold("PATCH", "/configmaps/a")
        config = processes.write_kubeconfig(folder / "kubeconfig", gate.url, certificates)
        undo = processes.Process([processes.BIN, "kubectl", "undo", "cm/a", "--kubeconfig", config])
        held.await_arrival()
        it.patch({"data": {"y": "new"}})
        held.release()
        assert undo.wait() == 0, undo.stderr.text
        assert "rolled back to revision 2" in undo.stdout.text and it.get()["data"] == {"x": "2"}, "the last change is another one now"
        it.take()
        it.alter({"data": {"x": "3"}})
        held = gate.hold("GET", "/configmaps/a")
        undo = processes.Process([processes.BIN, "kubectl", "undo", "cm/a", "--kubeconfig", config])
        held.await_arrival()
        it.take()
        held.release()
        assert undo.wait() == 0, undo.stderr.text
        assert it.get()["data"] == {"x": "2"}, "the change was being recorded"
    finally:
        gate.close()


def test_undo__leaves_out_owners_that_are_gone(plugin, settings, annals, namespace):
    owner = annals.post(settings.collection, {"metadata": {"name": "owner"}}).json

    def reference(name, uid):
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}

    there, another, gone = reference("owner", owner["metadata"]["uid"]), reference("owner", "u-before"), reference("none", "u-gone")
    state = state_of(settings.get())
    settings.take(state={**state, "metadata": {**state["metadata"], "ownerReferences": [there, another, gone]}})
    settings.alter({"data": {"size": "9"}})
    settings.take()
    done = plugin("undo", "cm/settings")
    assert "its owner ConfigMap none (uid u-gone) is gone" in done.stderr and "(uid u-before) is gone" in done.stderr
    assert settings.get()["metadata"]["ownerReferences"] == [there] and settings.get()["data"] == {"color": "blue"}


def test_undo__asks_on_a_terminal(settings, annals, namespace):
    for answer, color in (("n\n", "blue"), ("y\n", "green")):
        status, seen = on_terminal(annals, namespace, "undo", "cm/settings", answer=answer)
        assert status == 0 and "\x1b[31m-  color: blue" in seen and "Continue? [y/N]" in seen, seen
        assert settings.get()["data"]["color"] == color


# ---- restore ----


def test_restore__makes_a_deleted_object_again(plugin, settings):
    exists = plugin("restore", "cm/settings", status=1).stderr
    assert "configmap/settings exists; kubectl annals undo" in exists
    before = state_of(settings.get())
    settings.delete()
    gone = plugin("undo", "cm/settings", status=1).stderr
    assert "does not exist; kubectl annals restore configmap/settings" in gone
    assert plugin("restore", "cm/settings", "--dry-run=server").stdout == "configmap/settings restored from revision 3 (server dry run)\n"
    shown = yaml.safe_load(plugin("restore", "cm/settings", "--dry-run=client", "--revision=1", "-o", "yaml").stdout)
    assert shown["data"] == {"color": "red", "size": "1"} and settings.server.get(settings.path).status == 404
    assert plugin("restore", "cm/settings").stdout == "configmap/settings restored from revision 3\n"
    assert state_of(settings.get()) == before
    settings.take("Created")
    settings.delete()
    assert plugin("restore", "cm/settings", "--revision=1", "-o", "name").stdout == "configmap/settings\n"
    assert settings.get()["data"] == {"color": "red", "size": "1"}


def test_restore__asks_on_a_terminal(settings, annals, namespace):
    settings.delete()
    status, seen = on_terminal(annals, namespace, "restore", "cm/settings", answer="n\n")
    assert status == 0 and "configmap/settings will be recreated from revision 3. Continue? [y/N]" in seen and "was not recreated" in seen, seen
    assert "\x1b[32m+  color: blue" in seen and "--- configmap/settings now" in seen
    assert settings.server.get(settings.path).status == 404
    status, seen = on_terminal(annals, namespace, "restore", "cm/settings", answer="y\n")
    assert status == 0 and "restored from revision 3" in seen and settings.get()["data"]["color"] == "blue"
    settings.take("Created")
    settings.delete()
    status, seen = on_terminal(annals, namespace, "restore", "cm/settings", "--yes")
    assert status == 0 and "Continue?" not in seen and "+  color: blue" in seen and settings.get()["data"]["color"] == "blue"


def test_restore__shows_no_value_of_a_secret(plugin, annals, namespace):
    secret = Recorded(annals, namespace, "Secret", "shown")
    secret.make(data={"password": "c2VjcmV0"})
    secret.delete()
    done = plugin("restore", "secret/shown", "--dry-run=server")
    assert "+  password: '***" in done.stderr and "c2VjcmV0" not in done.stderr + done.stdout
    plugin("restore", "secret/shown", "-y")
    assert secret.get()["data"] == {"password": "c2VjcmV0"}


def test_restore__leaves_out_owners_that_are_gone(plugin, settings, namespace, annals):
    owner = annals.post(settings.collection, {"metadata": {"name": "owner"}}).json
    there = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    state = state_of(settings.get())
    settings.take(state={**state, "metadata": {**state["metadata"], "ownerReferences": [{**there, "uid": "u-before", "controller": True}, there]}})
    settings.delete()
    done = plugin("restore", "cm/settings")
    assert done.stderr == "its owner ConfigMap owner (uid u-before) is gone, and is left out\n"
    assert settings.get()["metadata"]["ownerReferences"] == [there]


def test_restore__does_not_make_up_what_was_redacted(plugin, settings):
    state = state_of(settings.get())
    settings.take(state={**state, "data": {"color": redacted("blue"), "plain": "x"}})
    settings.delete()
    refused = plugin("restore", "cm/settings", status=1).stderr
    assert "redacted" in refused and "/data/color" in refused and "/data/plain" not in refused
    assert settings.server.get(settings.path).status == 404
    done = plugin("restore", "cm/settings", "--skip-redacted")
    assert "left out: /data/color" in done.stderr and settings.get()["data"] == {"plain": "x"}


def test_restore__needs_a_record(plugin, annals, namespace):
    assert "nothing was recorded of configmap/none" in plugin("restore", "cm/none", status=1).stderr
    made = annals.post(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "plain"}})
    assert made.status == 201
    assert "nothing was recorded of configmap/plain" in plugin("restore", "cm/plain", status=1).stderr


def test_cluster_scoped_objects__have_histories_too(plugin, annals, namespace):
    node = Recorded(annals, namespace, "Node", f"node-{namespace}", is_namespaced=False)
    try:
        node.make(metadata={"labels": {"a": "1"}})
        node.patch({"metadata": {"labels": {"a": "2"}}})
        assert plugin("undo", f"node/{node.name}").stdout == f"node/{node.name} rolled back to revision 1\n"
        assert node.get()["metadata"]["labels"]["a"] == "1"
        node.take()
        node.delete()
        assert plugin("restore", f"node/{node.name}").returncode == 0 and node.get()["metadata"]["labels"]["a"] == "1"
    finally:
        annals.delete(node.path)


# ---- with a Recorder ----


@pytest.fixture
def recorded(annals, namespace):
    """What happens to ConfigMaps and Secrets of the namespace is recorded."""
    assert annals.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"room": namespace}}}).status == 200
    made = annals.post(f"{V1}/recorders", {"metadata": {"name": namespace}, "spec": {
        "resources": [{"groups": [""], "resources": ["configmaps", "secrets"]}], "ignore": ["/data/counter"],
        "namespaceSelector": {"matchLabels": {"room": namespace}}}})
    assert made.status == 201, made
    yield namespace
    annals.delete(f"{V1}/recorders/{namespace}")


def test_a_recorder__and_what_somebody_makes_of_it(recorded, plugin, annals, namespace):
    """Nothing waits for the recorder but log: undo looks whether it is done."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def log(n):
        processes.retry_until(lambda: len(plugin("log", "configmap/a").stdout.splitlines()) == n + 1, f"{n} changes")
        return [line.split(None, 4)[2:] for line in plugin("log", "configmap/a").stdout.splitlines()[1:]]

    assert annals.post(path, {"metadata": {"name": "a"}, "data": {"x": "1", "counter": "1"}}).status == 201
    processes.retry_until(lambda: len(plugin("log", "configmap/a").stdout.splitlines()) > 1, "that it is recorded")
    assert annals.patch(f"{path}/a", {"data": {"x": "2", "counter": "2"}}).status == 200
    assert log(2)[1][::2] == ["2", "Changed /data/x"]
    assert annals.patch(f"{path}/a", {"data": {"counter": "3"}}).status == 200
    assert plugin("undo", "cm/a").stdout == "configmap/a rolled back to revision 1, now 3\n"
    assert annals.get(f"{path}/a").json["data"] == {"x": "1", "counter": "3"}
    assert log(3)[2][::2] == ["3", "Changed /data/x"]
    assert annals.delete(f"{path}/a").status == 200
    assert log(4)[3][::2] == ["<none>", "Deleted"]
    assert plugin("restore", "cm/a").stdout == "configmap/a restored from revision 3\n"
    assert annals.get(f"{path}/a").json["data"] == {"x": "1"}


def test_a_recorder__of_secrets(recorded, plugin, annals, namespace):
    path = f"/api/v1/namespaces/{namespace}/secrets"
    assert annals.post(path, {"metadata": {"name": "s"}, "data": {"password": "b25l"}}).status == 201
    processes.retry_until(lambda: "Created" in plugin("log", "secret/s").stdout, "that it is recorded")
    assert annals.patch(f"{path}/s", {"metadata": {"labels": {"a": "1"}}, "data": {"password": "dHdv"}}).status == 200
    processes.retry_until(lambda: "/data/password" in plugin("log", "secret/s").stdout, "the change")
    assert "b25l" not in plugin("diff", "secret/s").stdout and "dHdv" not in plugin("diff", "secret/s").stdout
    done = plugin("undo", "secret/s", "--dry-run=server")
    assert "stay as they are in secret/s: /data/password" in done.stderr
    plugin("undo", "secret/s")
    now = annals.get(f"{path}/s").json
    assert now["data"] == {"password": "dHdv"} and "labels" not in now["metadata"]
    assert annals.delete(f"{path}/s").status == 200
    processes.retry_until(lambda: "Deleted" in plugin("log", "secret/s").stdout, "the deletion")
    assert "/data/password; --skip-redacted" in plugin("restore", "secret/s", status=1).stderr
