"""kubectl annals restore and undo of many objects: a plan, a dry run of all of it, one question, the writes in an order that works."""

import json
import os
import time

import pytest

import processes
from recorded import V1, Recorded, redacted, state_of
from test_kubectl_annals import on_terminal

SINCE = "--since-time=2026-01-01T00:00:00Z"  # before all that is recorded by hand


@pytest.fixture
def annals(serve, etcd, certificates, folder):
    """A server without controllers, so that nothing is recorded but by a test. It notes users because of its Recorder."""
    server = serve(etcd().endpoint)
    config = processes.write_kubeconfig(folder / "kubeconfig", server.url, certificates)
    server.kubectl_env = lambda **more: {**os.environ, "KUBECONFIG": str(config), "HOME": str(folder), **more}
    made = server.post(f"{V1}/recorders", {"metadata": {"name": "all"}, "spec": {"resources": [{"groups": ["*"], "resources": ["*"]}]}})
    assert made.status == 201, made
    processes.retry_until(lambda: server.get(f"{V1}/recorders?resourceVersion=0").json["items"], "the Recorder is known")
    return server


@pytest.fixture
def namespace(annals):
    assert annals.post("/api/v1/namespaces", {"metadata": {"name": "shop"}}).status == 201
    return "shop"


@pytest.fixture
def plugin(annals, namespace):
    def run(command, *arguments, status=0):
        done = processes.run([processes.BIN, "kubectl", command, *arguments, "-n", namespace], env=annals.kubectl_env())
        assert done.returncode == status, done
        return done

    return run


class As:
    """A server as a user sees it."""

    def __init__(self, server, user):
        self.server, self.headers = server, {"Impersonate-User": user, "Impersonate-Group": "system:masters"}

    def __getattr__(self, verb):
        return lambda *arguments: getattr(self.server, verb)(*arguments, headers=self.headers)


class Written(Recorded):
    """The server says of each change who made it."""

    def __init__(self, server, *arguments, user="alice", **more):
        super().__init__(server, *arguments, **more)
        self.admin, self.server = server, As(server, user)

    def by(self, user):
        self.server = As(self.admin, user)

    def patch(self, patch, user="alice", **change):
        self.by(user)
        return super().patch(patch, **change)

    def delete(self, user="alice", **change):
        self.by(user)
        return super().delete(**change)

    def take(self, type="Changed", state=None, limit=None, **change):
        if type != "Deleted" and not state:
            body = {"metadata": {"generateName": "digest-"}, "revision": 1, "data": state_of(self.get())}
            dry = self.admin.post(f"{V1}/namespaces/{self.namespace}/controllerrevisions?dryRun=All", body)
            assert dry.status == 201, dry
            change["writeDigest"] = dry.json["metadata"]["annotations"]["annals.dev/digest"]
        return super().take(type, state, limit, **change)


@pytest.fixture
def made(annals, namespace):
    """Makes a recorded object."""

    def make(name, kind="ConfigMap", version="v1", user="alice", metadata=None, **body):
        it = Written(annals, namespace, kind, name, version=version, user=user)
        it.make(metadata=metadata or {}, **body)
        return it

    return make


def plan(text):
    """{object: (action, reason)} of a plan."""
    lines = [line.split(None, 3) for line in text.splitlines()]
    start = lines.index(["ACTION", "OBJECT", "REVISION", "REASON"])
    return {line[1]: (line[0], line[3] if len(line) > 3 else "") for line in lines[start + 1:] if len(line) > 2 and "/" in line[1]}


def items(done):
    return {item["object"]["name"]: item for item in json.loads(done.stdout)["items"]}


def reference(it, kind="ConfigMap", **more):
    return {"apiVersion": "v1", "kind": kind, "name": it["metadata"]["name"], "uid": it["metadata"]["uid"], **more}


# ---- restore ----


def test_restore__of_all(plugin, made, annals, namespace):
    all_of = [made(name, data={"x": name}) for name in ("a", "b")]
    states = [state_of(it.get()) for it in all_of]
    there = made("there", data={})
    for it in all_of:
        it.delete(user="eve")
    dry = plugin("restore", "--all", "--dry-run=server")
    assert {name: action for name, (action, _) in plan(dry.stdout).items()} == {"configmap/a": "create", "configmap/b": "create"}
    assert "by eve" in plan(dry.stdout)["configmap/a"][1] and dry.stdout.endswith("2 create (server dry run)\n")
    assert annals.get(all_of[0].path).status == 404
    assert "\n+  x: a\n" in plugin("restore", "--all", "--dry-run=server", "--diff").stdout
    asked = plugin("restore", "--all", status=1)
    assert "without a terminal, --yes is needed" in asked.stderr and annals.get(all_of[0].path).status == 404
    done = plugin("restore", "--all", "--yes")
    assert done.stdout == "configmap/a created\nconfigmap/b created\n2 created\n" and "create" in done.stderr
    assert [state_of(it.get()) for it in all_of] == states and there.get()
    for it in all_of:
        it.take("Created")
    assert plugin("restore", "--all", "-y").stdout == "nothing is to be restored\n"


def test_restore__asks_once_on_a_terminal(made, annals, namespace):
    for name in ("a", "b"):
        made(name, data={}).delete()
    for answer, status in (("n\n", 404), ("y\n", 200)):
        left, seen = on_terminal(annals, namespace, "restore", "--all", answer=answer)
        assert left == 0 and seen.count("Continue? [y/N]") == 1 and "2 create. Continue?" in seen, seen
        assert {annals.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}").status for name in ("a", "b")} == {status}


def test_restore__of_types_labels_and_times(plugin, made):
    made("red", metadata={"labels": {"color": "red"}}, data={}).delete()
    made("blue", metadata={"labels": {"color": "blue"}}, data={}).delete()
    made("red", "Service", metadata={"labels": {"color": "red"}}, spec={"ports": [{"port": 80}]}).delete()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    made("late", "Secret").delete(time=now)

    def planned(*arguments):
        return set(plan(plugin("restore", *arguments, "--dry-run=client").stdout))

    assert planned("configmaps") == {"configmap/red", "configmap/blue"}
    assert planned("configmaps,services") == {"configmap/red", "configmap/blue", "service/red"}
    assert planned("configmap/red", "service/red") == {"configmap/red", "service/red"} == planned("-l", "color in (red)")
    assert planned("cm", "-l", "color=red") == {"configmap/red"}
    assert planned("--deleted-since=10m") == {"secret/late"}
    assert planned("--all") == {"configmap/red", "configmap/blue", "service/red", "secret/late"}


@pytest.mark.parametrize("words, said", [
    ([], "--all, --deleted-since or -l"), (["--all", "cm/a"], "name none"), (["cm", "--revision=2"], "is for one object"), (["--deleted-since=soon"], "duration"),
    (["--all", "-l", "a in"], "--selector"), (["cm/a", "--without=x"], "JSON pointer")])
def test_restore__refuses_flags_that_do_not_go_together(plugin, words, said):
    assert said in plugin("restore", *words, status=2).stderr


def test_restore__goes_on_after_a_refusal(plugin, made, annals, namespace):
    kept, other = made("b", data={"x": "1"}), made("a", data={"x": "1"})
    other.take(state={**state_of(other.get()), "data": {"x": redacted("1")}})
    kept.delete()
    other.delete()
    done = plugin("restore", "--all", "-y", status=1)
    assert done.stdout == "configmap/b created\n1 created; 1 refused, 0 failed\n"
    assert "1 of 2 objects were not restored" in done.stderr and "/data/x; --skip-redacted" in plan(done.stderr)["configmap/a"][1]
    assert annals.get(other.path).status == 404 and kept.get()["data"] == {"x": "1"}
    outcome = items(plugin("restore", "cm/a", "cm/b", "-y", "-o", "json", status=1))
    assert outcome["a"]["action"] == "refuse" and "redacted" in outcome["a"]["reason"]
    assert outcome["b"]["action"] == "refuse" and "exists" in outcome["b"]["reason"], "the record says that it is deleted"


def test_restore__writes_nothing_that_was_altered(plugin, made, annals, namespace):
    it, good = made("a", data={"x": "1"}), made("b", data={})
    for each in (it, good):
        each.delete()
    place = f"{V1}/namespaces/{namespace}"
    history = annals.get(f"{place}/histories/{it.history['metadata']['name']}").json
    path = f"{place}/controllerrevisions/{history['status']['changes'][0]['revision']}"
    forged = annals.get(path).json
    assert annals.delete(path).status == 200
    forged["data"]["data"] = {"x": "forged"}
    for name in ("resourceVersion", "uid", "annotations"):
        forged["metadata"].pop(name, None)
    assert annals.post(f"{place}/controllerrevisions", forged).status == 201
    outcome = items(plugin("restore", "--all", "-y", "-o", "json", status=1))
    assert outcome["a"]["action"] == "refuse" and "is not the state that was recorded" in outcome["a"]["reason"]
    assert outcome["b"]["outcome"] == "done" and annals.get(it.path).status == 404


def test_restore__asks_the_server_before_it_asks_the_user(plugin, made):
    it, good = made("a", "Service", spec={"ports": [{"port": 80}]}), made("b", data={})
    it.take(state={**state_of(it.get()), "spec": {"ports": [{"port": 0}]}})
    it.delete()
    good.delete()
    action, reason = plan(plugin("restore", "--all", "--dry-run=server", status=1).stdout)["service/a"]
    assert action == "refuse" and "(Invalid)" in reason
    assert plugin("restore", "--all", "-y", status=1).stdout == "configmap/b created\n1 created; 1 refused, 0 failed\n"


def test_restore__links_owners_that_come_back(plugin, made, annals):
    """The ConfigMap comes before its owner and is linked in a second pass; the Service comes after its owner."""
    owner, base = made("owner", "Service", spec={"ports": [{"port": 80}]}), made("base", data={})
    refs = {"early": reference(owner.get(), "Service", controller=True), "late": reference(base.get())}
    early = made("early", metadata={"ownerReferences": [refs["early"]]}, data={})
    late = made("late", "Service", metadata={"ownerReferences": [refs["late"]]}, spec={"ports": [{"port": 80}]})
    state = state_of(late.get())
    gone = {**refs["late"], "name": "none", "uid": "u-gone"}
    late.take(state={**state, "metadata": {**state["metadata"], "ownerReferences": [refs["late"], gone]}})
    for it in (early, late, owner, base):
        it.delete()
    said = plan(plugin("restore", "--all", "-y").stderr)
    assert "its owner Service owner gets a new uid" in said["configmap/early"][1]
    assert "its owner ConfigMap none (uid u-gone) is gone" in said["service/late"][1]
    assert early.get()["metadata"]["ownerReferences"] == [reference(owner.get(), "Service", controller=True)]
    assert late.get()["metadata"]["ownerReferences"] == [reference(base.get())]
    assert owner.get()["metadata"]["uid"] != refs["early"]["uid"] and base.get()["metadata"]["uid"] != refs["late"]["uid"]


def test_restore__brings_finalizers_and_generate_name(plugin, annals, namespace):
    """As they were before controllers removed them one by one, while it was being deleted."""
    it = Recorded(annals, namespace, "ConfigMap", "a")
    it.make(metadata={"finalizers": ["example.org/a", "example.org/b"], "generateName": "a-"}, data={})
    assert it.server.delete(it.path).status in (200, 202)
    it.patch({"metadata": {"finalizers": ["example.org/b"]}}, paths=["/metadata/finalizers"])
    it.alter({"metadata": {"finalizers": None}})
    it.take("Deleted")
    assert annals.get(it.path).status == 404
    plugin("restore", "--all", "-y")
    metadata = it.get()["metadata"]
    assert metadata["finalizers"] == ["example.org/a", "example.org/b"] and metadata["generateName"] == "a-"
    it.take("Created")
    it.patch({"metadata": {"finalizers": ["example.org/c"]}, "data": {"x": "1"}})
    plugin("undo", "cm/a")
    assert it.get()["metadata"]["finalizers"] == ["example.org/c", "example.org/a", "example.org/b"], "undo removes none"
    it.alter({"metadata": {"finalizers": None}})


def test_restore__leaves_parts_out(plugin, made):
    made("a", data={"x": "1", "y": "2"}, metadata={"labels": {"z": "3"}}).delete()
    plugin("restore", "--all", "-y", "--without=/data/x,/metadata/labels")
    one = made("b", data={"x": "1", "y": "2"})
    one.delete()
    plugin("restore", "cm/b", "--without=/data/y")
    assert one.get()["data"] == {"x": "1"}
    one.take("Created")
    one.patch({"data": {"x": "2", "y": "3"}})
    plugin("undo", "cm/b", "--to-revision=1", "--without=/data/x")
    assert one.get()["data"] == {"x": "2", "y": "2"}


def test_restore__refuses_while_the_namespace_is_being_deleted(annals):
    name = f"leaving-{time.time_ns()}"
    assert annals.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    it = Recorded(annals, name, "ConfigMap", "a")
    it.make(data={})
    it.delete()
    held = {"metadata": {"name": "hold", "finalizers": ["example.org/hold"]}}
    assert annals.post(f"/api/v1/namespaces/{name}/configmaps", held).status == 201
    assert annals.patch(f"/api/v1/namespaces/{name}", {"metadata": {"finalizers": ["example.org/hold"]}}).status == 200
    annals.delete(f"/api/v1/namespaces/{name}")
    try:
        done = processes.run([processes.BIN, "kubectl", "restore", "--all", "-y", "-n", name], env=annals.kubectl_env())
        if "nothing is to be restored" not in done.stdout:
            assert done.returncode == 1 and f"namespace {name} is being deleted" in done.stderr, done
    finally:
        annals.patch(f"/api/v1/namespaces/{name}/configmaps/hold", {"metadata": {"finalizers": None}})
        annals.patch(f"/api/v1/namespaces/{name}", {"metadata": {"finalizers": None}})


# ---- undo ----


def test_undo__of_all_that_a_user_did(plugin, made, annals):
    changed, created, deleted = made("changed", data={"x": "1"}), made("created", user="eve", data={}), made("deleted", data={"x": "1"})
    twice, untouched = made("twice", data={"x": "1"}), made("untouched", data={"x": "1"})
    mixed, brief = made("mixed", data={"x": "1"}), made("brief", user="eve", data={})
    changed.patch({"data": {"x": "2"}}, user="eve")
    changed.patch({"data": {"x": "3"}}, user="eve")
    deleted.patch({"data": {"x": "2"}}, user="eve")
    deleted.delete(user="eve")
    twice.patch({"data": {"x": "2"}}, user="bob")
    twice.patch({"data": {"x": "3"}}, user="eve")
    untouched.patch({"data": {"x": "2"}}, user="bob", managers=["eve"])
    mixed.patch({"data": {"x": "2"}}, user="eve")
    mixed.patch({"data": {"y": "1"}}, user="bob", paths=["/data/y"])
    brief.delete(user="eve")
    dry = plugin("undo", "--by=eve", SINCE, "--dry-run=server", status=1)
    said = plan(dry.stdout)
    assert {name.partition("/")[2]: action for name, (action, _) in said.items()} == {
        "changed": "change", "created": "delete", "deleted": "create", "twice": "change", "mixed": "refuse", "brief": "skip"}
    assert "changed since by bob" in said["configmap/mixed"][1] and "/data/y" in said["configmap/mixed"][1] and "eve: 2 changes" in said["configmap/changed"][1]
    assert changed.get()["data"] == {"x": "3"} and annals.get(created.path).status == 200
    assert "---" not in dry.stdout
    shown = plugin("undo", "--by=eve", SINCE, "--dry-run=server", "--diff", status=1).stdout
    parts = {part.split()[0].partition("/")[2]: part for part in shown.split("\n\n")[1:-1]}
    assert set(parts) == {"changed", "created", "deleted", "twice"}
    for name, lines in (("changed", ('-  x: "3"', '+  x: "1"')), ("twice", ('-  x: "3"', '+  x: "2"')), ("deleted", ('+  x: "1"',)), ("created", ("-kind: ConfigMap",))):
        assert all(f"\n{line}\n" in parts[name] for line in lines), parts[name]
    assert "+++ configmap/created deleted" in parts["created"] and f"configmap/changed in namespace {changed.namespace}\n" in parts["changed"]
    refused = plugin("undo", "--by=eve", SINCE, "--dry-run=server", "--diff", "-o", "json", status=2)
    assert "--diff goes with -o text" in refused.stderr
    done = plugin("undo", "--by=eve", SINCE, "-y", "--diff", status=1)
    assert '+  x: "1"' in done.stderr
    assert "2 changed" in done.stdout and "1 created" in done.stdout and "1 deleted" in done.stdout and "1 refused" in done.stdout
    assert [it.get()["data"] for it in (changed, deleted, twice, untouched, mixed)] == [{"x": "1"}, {"x": "1"}, {"x": "2"}, {"x": "2"}, {"x": "2", "y": "1"}]
    assert annals.get(created.path).status == 404 and annals.get(brief.path).status == 404
    forced = plugin("undo", "cm/mixed", "--by=eve", SINCE, "-y", "--force-conflicts")
    assert "changes that are lost: bob" in forced.stderr and mixed.get()["data"] == {"x": "1"}


def test_undo__begins_at_a_time_and_names_types(plugin, made):
    it, secret = made("a", data={"x": "1"}), made("s", "Secret", metadata={"labels": {"x": "1"}})
    it.patch({"data": {"x": "2"}}, user="eve")
    secret.patch({"metadata": {"labels": {"x": "2"}}}, user="eve")
    changes = json.loads(plugin("log", "cm/a", "-o", "json").stdout)["items"]
    it.patch({"data": {"x": "3"}}, user="eve", time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    assert len(changes) == 2
    assert plugin("undo", "--by=eve", "--since=10m", "-y").stdout == "configmap/a changed\n1 changed\n"
    assert it.get()["data"] == {"x": "2"}
    assert set(plan(plugin("undo", "secrets", "--by=eve", SINCE, "--dry-run=client").stdout)) == {"secret/s"}


@pytest.mark.parametrize("words, said", [
    ([], "--by and --since"), (["cm"], "--by and --since"), (["--by=eve"], "--since"), (["--by=eve", "--since=soon"], "duration"), (["cm/a", "--since=1h"], "go with --by"),
    (["--by=eve", "--since=1h", "--to-revision=1"], "without --by"), (["--by=eve", "--since=1h", "--own"], "--own")])
def test_undo__refuses_flags_that_do_not_go_together(plugin, words, said):
    assert said in plugin("undo", *words, status=2).stderr


def test_undo__reads_the_object_itself(plugin, made):
    """A Recorder may be late: its newest revision is not the present then."""
    it = made("a", data={"x": "1"})
    it.patch({"data": {"x": "2"}}, user="eve")
    it.by("bob")
    it.alter({"data": {"y": "of somebody else"}})
    done = plugin("undo", "--by=eve", SINCE, "-y", status=1)
    assert "nobody knows by whom" in plan(done.stderr)["configmap/a"][1] and it.get()["data"] == {"x": "2", "y": "of somebody else"}
    assert "has been changed since revision 2 was recorded" in plugin("undo", "cm/a", status=1).stderr
    it.take(paths=["/data/y"])
    assert "changed since by bob" in plugin("undo", "--by=eve", SINCE, "-y", status=1).stderr


def test_gap__names_its_authors_and_refuses_to_undo_them(plugin, made):
    """eve and bob changed it while no recorder looked: their states are not kept."""
    it = made("a", data={"x": "1"})
    for user, value in (("eve", "2"), ("bob", "3"), ("alice", "4")):
        it.by(user)
        it.alter({"data": {"x": value}})
    it.take(skipped=True, gap={"states": 2}, paths=["/data/x"])
    shown = json.loads(plugin("log", "cm/a", "--by=eve", "-o", "json").stdout)["items"]
    assert [(change["change"]["user"], [author["user"] for author in change["change"]["gap"]["authors"]]) for change in shown] == [("alice", ["eve", "bob"])]
    assert "(at least 2 states skipped before, also by eve, bob)" in plugin("log", "cm/a", "--by=bob").stdout
    assert "also by eve, bob)" in plugin("history", "cm/a").stdout
    for user in ("eve", "alice"):
        refused = plugin("undo", f"--by={user}", SINCE, "-y", "--force-conflicts", status=1)
        assert f"{user} wrote it in a gap of its History" in plan(refused.stderr)["configmap/a"][1] and it.get()["data"] == {"x": "4"}
    assert "/a" not in plugin("undo", "--by=mallory", SINCE, "-y").stdout


def test_undo__replaces_what_is_immutable(plugin, made, annals):
    it = made("a", data={"x": "1"})
    it.patch({"data": {"x": "2"}, "immutable": True}, user="eve")
    uid = it.get()["metadata"]["uid"]
    refused = plugin("undo", "--by=eve", SINCE, "-y", status=1)
    assert "--replace deletes it" in plan(refused.stderr)["configmap/a"][1] and it.get()["data"] == {"x": "2"}
    dry = plugin("undo", "--by=eve", SINCE, "--replace", "--dry-run=server")
    assert plan(dry.stdout)["configmap/a"][0] == "replace" and it.get()["metadata"]["uid"] == uid
    assert plugin("undo", "--by=eve", SINCE, "--replace", "-y").stdout == "configmap/a replaced\n1 replaced\n"
    assert it.get()["data"] == {"x": "1"} and it.get()["metadata"]["uid"] != uid
    single = made("b", data={"x": "1"})
    single.patch({"data": {"x": "2"}, "immutable": True}, user="eve")
    assert plugin("undo", "cm/b", "--replace", "-y").stdout == "configmap/b replaced\n1 replaced\n"
    assert single.get()["data"] == {"x": "1"}
