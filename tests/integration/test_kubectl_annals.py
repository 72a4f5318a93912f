"""kubectl annals: kubectl finds the plugin on PATH, and the plugin finds revisions, goes back to one, and says who keeps an object."""

import json
import os
import pathlib
import pty
import re
import socket
import subprocess

import pytest
import yaml

import processes

REVISIONS = "/apis/annals.dev/v1/namespaces/{}/controllerrevisions"


@pytest.fixture
def plugin(annals, namespace, folder, kubectl_binary):
    """kubectl annals ..., in the test's namespace."""
    os.symlink(processes.BIN, folder / "kubectl-annals")

    def run(*arguments):
        return annals.kubectl("annals", *arguments, "-n", namespace, binary=kubectl_binary, PATH=f"{folder}:{os.environ['PATH']}")

    return run


def make(annals, namespace, kind, name, version="annals.dev/v1", **more):
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **more.pop("metadata", {})}, **more}
    made = annals.post(f"{path}/namespaces/{namespace}/{kind.lower()}s", body)
    assert made.status == 201, made
    return made.json


def own(owner):
    return [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "controller": True}]


@pytest.fixture
def settings(annals, namespace):
    """A ConfigMap as it is now, and two revisions of its data: any kind can have a history."""
    owner = make(annals, namespace, "ConfigMap", "settings", version="v1", data={"color": "green", "size": "2"})
    for number, data in ((1, {"color": "red", "size": "1"}), (2, {"color": "green", "size": "2"})):
        make(annals, namespace, "ControllerRevision", f"settings-{number}", revision=number, data={"data": data},
             metadata={"ownerReferences": own(owner), "annotations": {"kubernetes.io/change-cause": f"cause {number}"}})
    return owner


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_history__shows_revisions_oldest_first(plugin, settings, annals, namespace):
    other = make(annals, namespace, "ConfigMap", "other", version="v1")
    make(annals, namespace, "ControllerRevision", "other-1", revision=1, data={"data": {}}, metadata={"ownerReferences": own(other)})
    done = plugin("history", "configmap/settings")
    assert done.returncode == 0, done
    table = rows(done.stdout)
    assert table[0] == ["REVISION", "NAME", "AGE", "LIVE", "CURRENT", "CHANGE-CAUSE"]
    assert [[row[0], row[1], row[3], row[4], " ".join(row[5:])] for row in table[1:]] == [
        ["1", "settings-1", "no", "no", "cause 1"], ["2", "settings-2", "no", "yes", "cause 2"]]


@pytest.mark.parametrize("name", ["cm/settings", "configmaps/settings", "ConfigMap/settings"])
def test_history__takes_every_name_of_a_kind(plugin, settings, name):
    listed = json.loads(plugin("history", name, "-o", "json").stdout)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["settings-1", "settings-2"]


# What moves the cursor, sets titles, answers as the keyboard would, and turns text around: as C0, as C1, in UTF-8.
EVIL = "x\x1b]0;pwned\x07\x1b[2J\x9b31m\x7f\u202egnp.exe\u2066\r\nNAME  forged"
SEEN = r"x\u001b]0;pwned\u0007\u001b[2J\u009b31m\u007f\u202egnp.exe\u2066\r\nNAME  forged"


def is_obeyed(text):
    """Whether a terminal would find anything in it but text and lines."""
    return any(ord(c) < 0x20 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0 or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for c in text)


@pytest.fixture
def evil(annals, namespace):
    """As settings, but whoever wrote it wants to be read in a terminal."""
    owner = make(annals, namespace, "ConfigMap", "settings", version="v1", data={"color": EVIL})
    for number in (1, 2):
        make(annals, namespace, "ControllerRevision", f"settings-{number}", revision=number,
             data={"data": {"color": f"{number}{EVIL}", EVIL: "y", "plain": f"{number} \u202egnp"}},
             metadata={"ownerReferences": own(owner), "annotations": {"kubernetes.io/change-cause": EVIL}})
    return owner


def test_history__does_not_let_objects_speak_to_the_terminal(plugin, evil):
    done = plugin("history", "cm/settings")
    assert [line.split(None, 5)[5] for line in done.stdout.splitlines()[1:]] == [SEEN, SEEN]
    assert not is_obeyed(done.stdout)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_history__keeps_what_is_escaped_in_other_forms(plugin, evil, form):
    done = plugin("history", "cm/settings", "-o", form)
    assert not is_obeyed(done.stdout)
    read = json.loads(done.stdout) if form == "json" else yaml.safe_load(done.stdout)
    assert [item["metadata"]["annotations"]["kubernetes.io/change-cause"] for item in read["items"]] == [EVIL, EVIL]
    assert [item["data"]["data"]["plain"] for item in read["items"]] == ["1 \u202egnp", "2 \u202egnp"]


def test_diff__does_not_let_objects_speak_to_the_terminal(plugin, evil):
    done = plugin("diff", "cm/settings", "--revision=1")
    assert done.returncode == 0 and "-" in done.stdout
    assert not is_obeyed(done.stdout)
    assert r"pwned" in done.stdout and r"\u202egnp" in done.stdout.lower()


def test_messages__of_servers_do_not_speak_to_the_terminal(plugin, folder):
    """A server may be anybody's."""
    done = plugin("history", "cm/settings\x1b[2J\x9b")
    assert done.returncode == 1 and done.stderr
    assert not is_obeyed(done.stderr)


def test_history__shows_what_is_live(plugin, settings, annals, namespace):
    make(annals, namespace, "Pod", "settings-0", version="v1", spec={"containers": [{"name": "c", "image": "i"}]},
         metadata={"labels": {"controller-revision-hash": "settings-1"}, "ownerReferences": own(settings)})
    make(annals, namespace, "Pod", "stranger", version="v1", spec={"containers": [{"name": "c", "image": "i"}]},
         metadata={"labels": {"controller-revision-hash": "settings-2"}})
    assert [row[3] for row in rows(plugin("history", "cm/settings").stdout)] == ["LIVE", "yes", "no"]


def test_diff__is_a_unified_difference_of_yaml(plugin, settings):
    done = plugin("diff", "configmap/settings", "--revision=1")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- configmap/settings revision 1 (settings-1)", "+++ configmap/settings revision 2 (settings-2)"]
    assert lines[2:] == ["@@ -1,3 +1,3 @@", " data:", "-  color: red", "-  size: \"1\"", "+  color: green", "+  size: \"2\""]
    assert plugin("diff", "configmap/settings", "--revision=2", "--to=2").stdout == ""
    back = plugin("diff", "configmap/settings", "--revision=2", "--to=1").stdout
    assert "-  color: green" in back and "+  color: red" in back


def test_diff__as_a_patch_is_the_servers(plugin, settings, annals, namespace):
    theirs = annals.get(f"{REVISIONS.format(namespace)}/settings-2/diff?from=settings-1", headers={"Accept": "application/json-patch+json"})
    assert theirs.status == 200, theirs
    ours = json.loads(plugin("diff", "configmap/settings", "--revision=1", "-o", "json").stdout)
    assert ours == theirs.json and len(ours) == 2


def test_diff__is_of_the_last_change_by_default(plugin, settings):
    assert plugin("diff", "cm/settings").stdout == plugin("diff", "cm/settings", "--revision=1", "--to=2").stdout
    assert json.loads(plugin("diff", "cm/settings", "-o", "patch").stdout) == {"data": {"color": "green", "size": "2"}}
    assert json.loads(plugin("diff", "cm/settings", "--revision=2", "--to=1", "-o", "patch").stdout) == {"data": {"color": "red", "size": "1"}}


def test_diff__of_revisions_and_objects_as_words(plugin, settings, annals, namespace):
    wanted = plugin("diff", "cm/settings", "--revision=1", "--to=2").stdout
    assert wanted and plugin("diff", "cm/settings", "1", "2").stdout == wanted == plugin("diff", "cm", "settings", "1").stdout
    other = make(annals, namespace, "ConfigMap", "others", "v1")
    make(annals, namespace, "ControllerRevision", "others-1", metadata={"ownerReferences": own(other)}, revision=7, data={"data": {"color": "blue"}})
    text = plugin("diff", "cm/settings", "cm/others").stdout
    assert "--- configmap/settings revision 2" in text and "+++ configmap/others revision 7" in text and "+  color: blue" in text
    for wrong in (["cm/settings", "x"], ["cm/settings", "1", "x"], ["cm/settings", "1", "2", "3"], ["cm/settings", "1", "--to=2"], ["cm/settings", "-1"]):
        assert plugin("diff", *wrong).returncode == 2


def test_show__is_what_a_revision_holds(plugin, settings):
    assert plugin("show", "cm/settings").stdout == "data:\n  color: green\n  size: \"2\"\n"
    assert json.loads(plugin("show", "cm/settings", "--revision=1", "-o", "json").stdout) == {"data": {"color": "red", "size": "1"}}
    missing = plugin("show", "cm/settings", "--revision=3")
    assert missing.returncode == 1 and "unable to find revision 3" in missing.stderr


def test_names__are_printed_for_other_programs(plugin, settings):
    listed = plugin("history", "cm/settings", "-o", "name").stdout.split()
    assert listed == ["controllerrevision.annals.dev/settings-1", "controllerrevision.annals.dev/settings-2"]
    assert plugin("undo", "cm/settings", "--dry-run=server", "-o", "name").stdout == "configmap/settings\n"


def on_terminal(annals, namespace, *arguments, answer="", **env):
    """What somebody sees who sits there, and how it ends."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([processes.BIN, "kubectl", *arguments, "-n", namespace], stdin=theirs, stdout=theirs, stderr=theirs,
                             env={**annals.kubectl_env(), "TERM": "xterm", **env})
    os.close(theirs)
    os.write(ours, answer.encode())
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:
        pass  # its end
    os.close(ours)
    return child.wait(timeout=processes.PATIENCE), seen.decode()


def test_diff__has_colours_on_a_terminal(annals, namespace, settings):
    status, seen = on_terminal(annals, namespace, "diff", "cm/settings")
    assert status == 0 and "\x1b[31m-  color: red\x1b[0m" in seen and "\x1b[32m+  color: green\x1b[0m" in seen
    assert "\x1b" not in on_terminal(annals, namespace, "diff", "cm/settings", NO_COLOR="1")[1]
    assert "\x1b" not in on_terminal(annals, namespace, "diff", "cm/settings", TERM="dumb")[1]
    assert "\x1b" not in on_terminal(annals, namespace, "diff", "cm/settings", "--color=never")[1]
    assert "\x1b[32m+" in on_terminal(annals, namespace, "diff", "cm/settings", "--color=always", NO_COLOR="1")[1]


def test_diff__has_colours_elsewhere_when_told(plugin, settings):
    assert "\x1b" not in plugin("diff", "cm/settings").stdout
    assert "\x1b[32m+  color: green\x1b[0m" in plugin("diff", "cm/settings", "--color=always").stdout
    done = plugin("diff", "cm/settings", "--color=red")
    assert done.returncode == 2 and "--color must be auto, always or never" in done.stderr


@pytest.mark.parametrize("answer,color", [("n\n", "green"), ("\n", "green"), ("y\n", "red"), ("Yes\n", "red")])
def test_undo__asks_who_can_answer(annals, namespace, settings, answer, color):
    status, seen = on_terminal(annals, namespace, "undo", "cm/settings", answer=answer)
    assert status == 0 and "configmap/settings will be restored to revision 1. Continue? [y/N]" in seen and "-  color: green" in seen, seen
    assert annals.get(f"/api/v1/namespaces/{namespace}/configmaps/settings").json["data"]["color"] == color
    assert ("was left as it is" in seen) == (color == "green")


def test_undo__does_not_ask_who_has_answered(annals, namespace, settings):
    status, seen = on_terminal(annals, namespace, "undo", "cm/settings", "--yes")
    assert status == 0 and "Continue?" not in seen and "rolled back to revision 1" in seen
    assert annals.get(f"/api/v1/namespaces/{namespace}/configmaps/settings").json["data"]["color"] == "red"


def test_flags__say_where_and_who(folder, serve, etcd):
    """No kubeconfig is needed; and whom one acts as is who is refused."""
    (folder / "tokens").write_text("root-token,root,1,system:masters\neve-token,eve,2\n")
    server = serve(etcd().endpoint, "--token-auth-file", folder / "tokens")
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    where = ["--server", server.url, "--certificate-authority", server.ca]

    def run(*more):
        env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
        return processes.run([processes.BIN, "kubectl", "history", "cm/x", *more], env=env)

    assert 'configmaps "x" not found' in run(*where, "--token=root-token").stderr
    assert 'configmaps "x" not found' in run("-s", server.url + "/", "--insecure-skip-tls-verify", "--token", "root-token").stderr
    assert 'User "eve" cannot get' in run(*where, "--token=eve-token").stderr
    assert 'User "bob" cannot get' in run(*where, "--token=root-token", "--as=bob").stderr
    assert 'configmaps "x" not found' in run(*where, "--token=root-token", "--as=bob", "--as-group=a", "--as-group=system:masters").stderr
    assert "cannot be asked" in run("--server", server.url, "--token=root-token").stderr, "who is it?"
    assert "--as-group needs --as" in run(*where, "--as-group=a").stderr
    assert "one line each" in run(*where, "--as=a\r\nX-Remote-User: root").stderr


@pytest.mark.parametrize("kubeconfig, more", [
    (None, []), ("", []), ("one", []), ("one:two", []), ("two:one", []), ("missing:two", []), ("two::missing", []), ("users:two:one", []),
    ("one:two", ["--context=2"]), ("one", ["--kubeconfig=two"]), ("missing", []), ("missing:gone", []), (":", []), ("one", ["--kubeconfig=missing"]),
    ("one", ["--context=2"])])
def test_kubeconfigs__are_those_of_kubectl(folder, kubectl_binary, kubeconfig, more):
    """The server that the plugin asks is the one that kubectl would; nobody listens there."""
    def write(name, *items, current=None):
        lists = {f"{kind}s": [{"name": key, kind: value} for k, key, value in items if k == kind] for kind in ("context", "cluster", "user")}
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **lists, **({"current-context": current} if current else {})}))

    def context(n):
        return [("context", n, {"cluster": n, "user": n}), ("cluster", n, {"server": f"http://127.0.0.1:{n}"}), ("user", n, {"token": n})]

    write(".kube/config", *context("7"), current="7")
    write("one", *context("1"), ("cluster", "2", {"server": "http://127.0.0.1:9"}), current="1")
    write("two", *context("2"), *context("1"), current="2")
    write("users", ("user", "2", {"token": "of-users"}))
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    if kubeconfig is not None:
        env["KUBECONFIG"] = ":".join(name and str(folder / name) for name in kubeconfig.split(":"))
    flags = [flag.replace("--kubeconfig=", f"--kubeconfig={folder}/") for flag in more]

    def asked(command):
        done = processes.run([*command, *flags, "--request-timeout=5s"], env=env)
        assert done.returncode == 1, done
        return set(re.findall(r"127\.0\.0\.1(?::| port )(\d+)", done.stderr)) - {"8080"}  # where kubectl looks when it knows of no server

    assert asked([processes.BIN, "kubectl", "log"]) == asked([kubectl_binary, "get", "cm"])


def test_flags__say_how_long_a_request_may_take(plugin, folder, settings):
    for known in ("10", "10s", "2m", "0"):
        assert plugin("history", "cm/settings", f"--request-timeout={known}").returncode == 0
    for unknown in ("soon", "-1", "-1s", "100000h", "99999999999999"):
        assert "--request-timeout must be a duration" in plugin("history", "cm/settings", f"--request-timeout={unknown}").stderr
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"--server=http://127.0.0.1:{silent.getsockname()[1]}"
        done = processes.run([processes.BIN, "kubectl", "history", "cm/x", where, "--request-timeout=100ms"], env={"HOME": str(folder)})
    assert done.returncode == 1 and "timed out" in done.stderr


def test_undo__goes_back_to_the_one_before(plugin, settings, annals, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/settings"
    dry = plugin("undo", "configmap/settings", "--dry-run=server")
    assert dry.stdout == "configmap/settings rolled back to revision 1 (server dry run)\n"
    assert annals.get(path).json["data"]["color"] == "green"
    assert plugin("undo", "configmap/settings").stdout == "configmap/settings rolled back to revision 1\n"
    assert annals.get(path).json["data"] == {"color": "red", "size": "1"}
    assert "skipped rollback" in plugin("undo", "configmap/settings", "--to-revision=1").stdout
    assert plugin("undo", "configmap/settings", "--to-revision=2").returncode == 0
    assert annals.get(path).json["data"] == {"color": "green", "size": "2"}
    missing = plugin("undo", "configmap/settings", "--to-revision=7")
    assert missing.returncode == 1 and "unable to find revision 7 of configmap/settings" in missing.stderr


# seeds: R3
def test_who_uses__names_what_refers_to_a_provider(plugin, annals, namespace):
    make(annals, namespace, "Provider", "db", spec={"data": {}})
    free = plugin("who-uses", "provider/db")
    assert free.returncode == 0, free
    assert "provider.annals.dev/db is not being deleted" in free.stdout and "nothing uses it" in free.stdout
    assert "a deletion would begin, and end when its finalizers have been removed" in free.stdout
    make(annals, namespace, "Dependent", "web", spec={"providers": [{"kind": "Provider", "name": "db"}]})
    used = plugin("who-uses", "provider/db")
    assert "finalizers: annals.dev/provider-protection" in used.stdout
    assert "a deletion would not be carried out: " in used.stdout and "InUse: dependents.annals.dev \"web\" refers to it" in used.stdout
    assert rows(used.stdout)[-1][0] == "dependent/web"
    assert annals.delete(f"/apis/annals.dev/v1/namespaces/{namespace}/providers/db").status == 200
    assert "provider.annals.dev/db is being deleted since 20" in plugin("who-uses", "provider/db").stdout


# seeds: R3
def test_who_uses__names_what_refers_to_a_revision(plugin, annals, namespace):
    make(annals, namespace, "ControllerRevision", "r1", revision=1, data={}, metadata={"labels": {"annals.dev/protect": "true"}})
    make(annals, namespace, "Dependent", "web", spec={"providers": [{"kind": "ControllerRevision", "name": "r1"}]})
    assert [row[0] for row in rows(plugin("who-uses", "controllerrevisions.annals.dev/r1").stdout)][-1] == "dependent/web"
    listed = json.loads(plugin("who-uses", "controllerrevision/r1", "-o", "json").stdout)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["web"]
    assert plugin("who-uses", "configmap/x").returncode == 1


@pytest.mark.parametrize("arguments,status,said", [
    (["history", "configmap/absent"], 1, 'Error from server (NotFound): configmaps "absent" not found'),
    (["history", "nothings/x"], 1, 'the server doesn\'t have a resource type "nothings"'),
    (["history", "configmap"], 1, "is not TYPE/NAME"),
    (["history"], 2, "give one object"), (["history", "cm/a", "--to=1"], 2, "to"), (["diff", "cm/a", "-o", "xml"], 2, "--output"),
    (["undo", "cm/a", "--dry-run=never"], 2, "--dry-run"), (["nothing", "cm/a"], 2, "no command nothing")])
def test_misuse__is_explained(plugin, arguments, status, said):
    done = plugin(*arguments)
    assert done.returncode == status and said in done.stderr, done


def test_help__of_a_command(plugin):
    assert plugin("help", "log").stdout == plugin("log", "--help").stdout != ""
    wrong = plugin("help", "lgo")
    assert wrong.returncode == 2 and "there is no command lgo" in wrong.stderr and "log" in wrong.stderr


def test_version__is_that_of_the_plugin_and_of_the_server(plugin, annals, folder):
    server = annals.get("/version").json["gitVersion"]
    text = plugin("version").stdout
    assert re.fullmatch(rf"Client Version: v\d+\.\d+\.\d+\nServer Version: {re.escape(server)}\n", text)
    assert plugin("version", "--client").stdout == text.splitlines(True)[0]
    both = json.loads(plugin("version", "-o", "json").stdout)
    assert text.split()[2] == both["clientVersion"]["gitVersion"] and both["serverVersion"]["gitVersion"] == server
    alone = processes.run([processes.BIN, "kubectl", "version"], env={"HOME": str(folder), "KUBECONFIG": str(folder / "missing")})
    assert alone.returncode == 1 and alone.stdout == text.splitlines(True)[0] and "$KUBECONFIG names no file" in alone.stderr


def test_help__is_there_under_both_names(folder):
    os.symlink(processes.BIN, folder / "kubectl-annals")
    for command in ([folder / "kubectl-annals"], [processes.BIN, "kubectl"]):
        done = processes.run([*command, "--help"])
        assert done.returncode == 0 and all(name in done.stdout for name in ("history", "show", "diff", "undo", "who-uses"))
        summaries = [re.match(r"  [\w-]+  +", line)[0] for line in done.stdout.splitlines() if line.startswith("  ")]
        assert len(summaries) == 11 and len({len(each) for each in summaries}) == 1, "the summaries begin in one column"
        assert "--to-revision" in processes.run([*command, "undo", "--help"]).stdout
    assert (pathlib.Path(processes.BIN).parent / "kubectl-annals").exists()
