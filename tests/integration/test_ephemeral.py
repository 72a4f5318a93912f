"""`annals up` as a test server: in memory, on a directory that goes with it, and reported to programs."""

import base64
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from processes import BIN, NO_DEFAULT_OBJECTS, PATIENCE, Client, children, etcd_binaries, retry_until, run, wait_gone

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
MEMORY = ["--ephemeral", "--store=memory", "-o", "json"]
STORES = ["memory", pytest.param("etcd", marks=pytest.mark.skipif(not etcd_binaries(), reason="there is no etcd here"))]


def anonymous_memory(pid):
    return int(re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) << 10


def revision(name, data=None):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "data": data or {}, "revision": 1}


class Ephemeral:
    """One that is started by another process, its parent, as a test runner would start it. news: its line of JSON."""

    def __init__(self, folder, *flags, parent=("sh", "-c", '"$@" & echo $!; wait', "sh")):
        self.parent = subprocess.Popen([*parent, BIN, "up", "--ephemeral", "-o", "json", *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}, text=True)
        self.pid = int(self.parent.stdout.readline())
        self.news = json.loads(self.parent.stdout.readline())
        self.remover = next(child for child in children(self.pid) if "etcd" not in pathlib.Path(f"/proc/{child}/comm").read_text())
        self.etcds = [child for child in children(self.pid) if child != self.remover]

    def wait_gone(self):
        for pid in [self.pid, self.remover, *self.etcds]:
            wait_gone(pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.parent.kill()
        self.parent.communicate(timeout=PATIENCE)  # which ends when all who have its output have ended
        self.wait_gone()


@pytest.fixture
def start(folder):
    return lambda *flags, **more: Ephemeral(folder, *flags, **more)


def client_of(news, folder):
    ca = folder / f"ca-{news['pid']}"
    ca.write_text(news["ca"])
    return Client(news["url"], ca, token=news["token"])


# ---- what it tells ----


def test_line_has_all_that_a_program_needs(start, folder):
    with start("--store=memory") as server:
        news = server.news
        assert set(news) == {"url", "pid", "directory", "kubeconfig", "store", "version", "token", "ca", "clientCertificate", "clientKey"}
        assert news["pid"] == server.pid and news["store"] == "memory"
        assert pathlib.Path(news["directory"]).parent == folder
        assert client_of(news, folder).get("/readyz").status == 200
        whoami = client_of(news, folder).post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                              {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
        assert whoami.json["status"]["userInfo"]["username"] == "annals-admin"
        assert "system:masters" in whoami.json["status"]["userInfo"]["groups"]
        kubeconfig = pathlib.Path(news["kubeconfig"]).read_text()
        for name, content in {"certificate-authority-data": "ca", "client-certificate-data": "clientCertificate", "client-key-data": "clientKey"}.items():
            assert f"{name}: {base64.b64encode(news[content].encode()).decode()}\n" in kubeconfig
        assert pathlib.Path(news["directory"]).stat().st_mode & 0o777 == 0o700
        assert (pathlib.Path(news["directory"]) / "tokens.csv").stat().st_mode & 0o777 == 0o600


def test_token_of_the_user_is_the_only_one(start, folder):
    tokens = folder / "tokens.csv"
    tokens.write_text('mine,alice,1,"system:masters"\n')
    with start("--store=memory", "--token-auth-file", tokens) as server:
        assert "token" not in server.news
        assert client_of({**server.news, "token": "mine"}, folder).get("/api/v1/namespaces").status == 200


@pytest.mark.parametrize("form", ["text", "json"])
def test_descriptor_gets_one_line_and_its_end(folder, form):
    out = folder / "kubeconfig.copy"
    reading, writing = os.pipe()
    with os.fdopen(reading) as news, subprocess.Popen([BIN, "up", "--ephemeral", "--store=memory", "-o", form, f"--ready-fd={writing}", "--kubeconfig-out", out],
                                                      pass_fds=[writing], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}, text=True) as server:
        os.close(writing)
        said = news.read()
        assert said.count("\n") == 1 and said.endswith("\n")
        url = json.loads(said)["url"] if form == "json" else said.strip()
        assert re.fullmatch(r"https://127\.0\.0\.1:\d+", url)
        assert f"server: {url}\n" in out.read_text() and out.stat().st_mode & 0o777 == 0o600
        server.send_signal(signal.SIGTERM)
        printed = server.communicate(timeout=PATIENCE)[0]
    assert server.returncode == 0
    assert printed == said if form == "json" else "Nothing is kept" in printed
    assert list(folder.iterdir()) == [out]


def test_start_that_fails_says_so_and_closes_the_descriptor(folder):
    reading, writing = os.pipe()
    with os.fdopen(reading) as news, subprocess.Popen([BIN, *["up", *MEMORY], f"--ready-fd={writing}", "--kubeconfig-out=/nowhere/kubeconfig"], pass_fds=[writing],
                                                      stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}, text=True) as server:
        os.close(writing)
        assert news.read() == ""
        assert "--kubeconfig-out /nowhere/kubeconfig: No such file or directory" in server.communicate(timeout=PATIENCE)[1]
    assert server.returncode == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("flags, why", [
    (["--ephemeral", "--data-dir=/x"], "--ephemeral keeps nothing"),
    (["--ephemeral", "--etcd-servers=http://127.0.0.1:1"], "--ephemeral keeps nothing"),
    (["--store=memory", "--etcd=/bin/true"], "--store=memory uses no etcd"),
    (["--store=memory", "--etcd-servers=http://127.0.0.1:1"], "--store=memory uses no etcd"),
    (["--store=disk"], "--store disk: must be etcd or memory"),
    (["--store=memory", "--memory-limit-mib=0"], "must be at least 1"),
    (["--ephemeral", "-o", "yaml"], "--output yaml: must be text or json"),
    (["--ephemeral", "-o", "json", "--ui"], "--ui prints a link for people"),
    (["--ephemeral", "--ready-fd=99"], "--ready-fd 99: no such file descriptor is open"),
    (["--ephemeral", "--kubeconfig-out=/dev/stdout"], "--kubeconfig-out /dev/stdout: what is there is no regular file"),
])
def test_misuse_is_told(flags, why):
    done = run([BIN, "up", *flags])
    assert done.returncode == 2 and why in done.stderr


# ---- nothing remains ----


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGALRM])
def test_nothing_remains_however_it_ends(start, folder, number, store):
    with start(f"--store={store}") as server:
        assert bool(server.etcds) == (store == "etcd")
        os.kill(server.pid, number)
        server.wait_gone()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("store", STORES)
def test_it_ends_with_its_parent(start, folder, store):
    with start(f"--store={store}") as server:
        server.parent.kill()
        server.wait_gone()
    assert list(folder.iterdir()) == []


THREAD = """
import subprocess, sys, threading
def start():
    print(subprocess.Popen(sys.argv[1:]).pid, flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
threading.Event().wait()
"""


def test_it_outlives_the_thread_that_started_it(start, folder):
    """Test runners start servers on threads that come and go; the kernel's PR_SET_PDEATHSIG knows only threads."""
    with start("--store=memory", parent=[sys.executable, "-c", THREAD]) as server:
        assert client_of(server.news, folder).get("/readyz").status == 200
        server.parent.kill()
        server.wait_gone()
    assert not list(folder.glob("annals-ephemeral*"))


def test_next_start_removes_what_nobody_could(start, folder):
    """Killed with its remover, as with a container; what lives, and what is too young to be judged, is left alone."""
    with start("--store=memory") as alive:
        with start("--store=memory") as dead:
            os.kill(dead.remover, signal.SIGKILL)
            wait_gone_or_zombie(dead.remover)
            os.kill(dead.pid, signal.SIGKILL)
        assert pathlib.Path(dead.news["directory"]).exists()
        young = folder / "annals-ephemeral.young"
        young.mkdir()
        strange = folder / "annals-ephemeral"
        strange.mkdir()
        hour_ago = time.time() - 3600
        for directory in (alive.news["directory"], dead.news["directory"], strange):
            os.utime(directory, (hour_ago, hour_ago))
        with start("--store=memory") as third:
            assert set(folder.glob("annals-ephemeral*")) == {young, strange, *(pathlib.Path(server.news["directory"]) for server in (alive, third))}


def test_closed_standard_files_are_not_mistaken(start, folder):
    """What is opened in their place would be written to, and the remover would take its pipe for standard input."""
    copy = folder / "kubeconfig"
    with start("--store=memory", "--kubeconfig-out", copy, parent=("sh", "-c", '"$@" <&- 2>&- & echo $!; wait', "sh")) as server:
        assert client_of(server.news, folder).get("/readyz").status == 200
        assert os.readlink(f"/proc/{server.pid}/fd/2") == "/dev/null"
        assert pathlib.Path(server.news["directory"]).is_dir() and copy.is_file()


def wait_gone_or_zombie(pid):
    retry_until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "it has been killed")


def test_many_start_side_by_side(start, folder):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        servers = list(pool.map(lambda _: start("--store=memory"), range(8)))
    try:
        assert len({server.news["url"] for server in servers}) == len({server.news["token"] for server in servers}) == 8
        for number, server in enumerate(servers):
            client = client_of(server.news, folder)
            assert client.post(REVISIONS, revision(f"of-{number}")).status == 201
            assert [item["metadata"]["name"] for item in client.get(REVISIONS).json["items"]] == [f"of-{number}"]
    finally:
        for server in servers:
            server.__exit__()


# ---- in memory ----


def test_memory_needs_no_etcd_and_keeps_nothing(up):
    first = up("--store=memory")
    assert "Nothing is kept: objects are in memory" in first.stdout.text
    assert first.post(REVISIONS, revision("lost")).status == 201
    assert not (first.dir / "etcd").exists() and not children(first.pid)
    assert first.stop() == 0
    second = up("--store=memory")
    assert second.get(REVISIONS).json["items"] == []
    assert second.ca.read_bytes() == first.ca.read_bytes()


def test_data_of_etcd_are_not_used_and_that_is_told(up):
    first = up()
    first.post(REVISIONS, revision("kept"))
    first.stop()
    memory = up("--store=memory")
    assert memory.stderr.wait("is not used with --store=memory")
    assert memory.get(REVISIONS).json["items"] == []
    memory.stop()
    assert [item["metadata"]["name"] for item in up().get(REVISIONS).json["items"]] == ["kept"]


def test_watch_from_an_old_revision_and_410_behind_a_compaction(up):
    """40 revisions of 1 MB fit neither into 24 MiB nor into the window of the watch cache: a watch from the oldest has to list again."""
    server = up("--store=memory", "--memory-limit-mib=24", NO_DEFAULT_OBJECTS)
    path = "/api/v1/namespaces/default/configmaps"
    made = server.post(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it"}, "data": {"n": "0"}})
    assert made.status == 201
    first = made.json["metadata"]["resourceVersion"]
    with server.watch(f"{path}?watch=1&resourceVersion={first}") as watch:
        for number in range(40):
            assert server.patch(f"{path}/it", {"data": {"n": str(number), "ballast": "x" * 1000000}}).status == 200
            assert watch.next()["object"]["data"]["n"] == str(number)
    listed = server.get(f"{path}?resourceVersion={first}&resourceVersionMatch=Exact")
    assert (listed.status, listed.json["reason"]) == (410, "Expired")
    assert server.get(f"{path}/it").json["data"]["n"] == "39"


def test_full_memory_is_told_as_a_full_etcd_is(up):
    server = up("--store=memory", "--memory-limit-mib=4", "-v=1")
    path = "/api/v1/namespaces/default/configmaps"
    answers = []
    while not answers or answers[-1].status == 201:
        assert len(answers) < 8
        answers.append(server.post(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"n-{len(answers)}"}, "data": {"x": "x" * 900000}}))
    refusal = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "etcdserver: mvcc: database space exceeded", "code": 500}
    assert answers[-1].json == refusal and len(answers) > 2
    assert server.get(f"{path}/n-{len(answers) - 1}").status == 404
    assert server.stderr.wait("the store has the alarm NOSPACE: the store in memory has no room")
    assert "[+]etcd-alarms ok, but the store in memory has no room" in server.get("/readyz?verbose").text
    for number in range(len(answers) - 1):
        assert server.get(f"{path}/n-{number}").status == 200
        assert server.delete(f"{path}/n-{number}").status == 200
    assert server.post(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}).status == 201
    assert server.stderr.wait("the store's alarm NOSPACE is over")


@pytest.mark.long
@pytest.mark.parametrize("size, is_history", [(1000, False), (100_000, False), (50_000, True)])
def test_memory_that_is_held_is_what_counts(up, size, is_history):
    """Small objects cost mostly what is around them, large ones their text, and history goes before writes are refused. In memory that is no file's.
    rest: of requests, connections and the like, which has nothing to do with the limit."""
    limit, rest, workers, path = 48 << 20, 5 << 20, 4, "/api/v1/namespaces/default/configmaps"
    server = up("--store=memory", f"--memory-limit-mib={limit >> 20}")
    if any(name in pathlib.Path(f"/proc/{server.pid}/maps").read_text() for name in ("libasan", "libtsan")):
        pytest.skip("a sanitizer keeps what has been freed")
    before = anonymous_memory(server.pid)

    def fill(worker):
        with server.client.on_one_connection() as client:
            for number in itertools.count():
                name = f"n-{worker}-{0 if is_history else number}"
                data = {"data": {"x": chr(97 + number % 26) * size}}
                if is_history and number:
                    answer = client.patch(f"{path}/{name}", data)
                    assert answer.status == 200, answer
                else:
                    answer = client.post(path, {"metadata": {"name": name}, **data})
                if answer.status == 500 or number * workers * size > 3 * limit:
                    return answer.status

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        assert set(pool.map(fill, range(workers))) == ({200} if is_history else {500})
    held = anonymous_memory(server.pid) - before
    print(f"{held / 2**20:.1f} MiB of {limit >> 20}")
    assert held < limit * 1.1 + rest, f"{held >> 20} MiB"
    assert is_history or held > limit * 0.85, f"{held >> 20} MiB"


def test_what_expires_is_gone(up):
    """Leases of the store: Events live for --event-ttl."""
    server = up("--store=memory", "--event-ttl=1s")
    path = "/api/v1/namespaces/default/events"
    with server.watch(f"{path}?watch=1") as watch:
        made = server.post(path, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal"})
        assert made.status == 201, made
        assert [watch.next()["type"] for _ in range(2)] == ["ADDED", "DELETED"]


def test_controllers_recorder_and_fake_nodes_work_on_it(up):
    """A StatefulSet comes up on a simulated node, and its changes are recorded."""
    server = up("--store=memory", "--fake-nodes=1")
    server.post("/apis/annals.dev/v1/recorders", {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "all"},
                                                  "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}]}})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    assert server.post(sets, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
                              "spec": {"serviceName": "web", "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}}).status == 201
    retry_until(lambda: server.get(f"{sets}/web").json["status"].get("readyReplicas") == 2, "both pods are ready")
    retry_until(lambda: any(condition["type"] == "Recording" and condition["status"] == "True"
                            for condition in server.get("/apis/annals.dev/v1/recorders/all").json.get("status", {}).get("conditions", [])), "it records")
    maps = "/api/v1/namespaces/default/configmaps"
    server.post(maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}})
    server.patch(f"{maps}/m", {"data": {"a": "2"}})
    retry_until(lambda: len([item for item in server.get("/apis/annals.dev/v1/namespaces/default/controllerrevisions").json["items"]
                             if "1" in json.dumps(item["data"]) and '"m"' in json.dumps(item)]) >= 1, "the states of m are kept")
    server.delete(f"{sets}/web")
    retry_until(lambda: server.get("/api/v1/namespaces/default/pods").json["items"] == [], "the pods are collected")
