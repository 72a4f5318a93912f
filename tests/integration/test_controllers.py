"""Controllers, in `annals up` and as `annals controllers`, and the informers they live by (tests/probe shows those from outside)."""

import concurrent.futures
import http.client
import json
import pathlib
import random
import re
import select
import socket
import threading

import pytest

import processes
from processes import BIN, Process, retry_until, write_kubeconfig

PROBE = pathlib.Path(BIN).parent / "tests" / "probe" / "client_probe"
NAMESPACES = "/api/v1/namespaces"
# A renewal may take half of its deadline, on a busy machine, too.
LEASE_S = 6
QUICK = [f"--leader-elect-lease-duration={LEASE_S}s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=200ms"]


def make_namespace(server, name):
    assert server.post(NAMESPACES, {"metadata": {"name": name}}).status == 201


def path_of(namespace, kind, group="api/v1"):
    return f"/{group}/namespaces/{namespace}/{kind}"


def make_map(server, namespace, name, n="0", **metadata):
    made = server.post(path_of(namespace, "configmaps"), {"metadata": {"name": name, **metadata}, "data": {"n": n}})
    assert made.status == 201, made
    return made.json


def is_gone(server, name):
    return server.get(f"{NAMESPACES}/{name}").status == 404


def conditions(server, name):
    status = server.get(f"{NAMESPACES}/{name}").json.get("status", {})
    return {c["type"]: c for c in status.get("conditions", [])}


def await_gone(server, name):
    retry_until(lambda: is_gone(server, name), f"namespace {name} is gone")


# ---- namespaces ----

CONTENT = {
    "configmaps": {"data": {"a": "b"}},
    "secrets": {"stringData": {"a": "b"}},
    "serviceaccounts": {},
    "podtemplates": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
    "pods": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    "controllerrevisions": {"revision": 1, "data": {"a": "b"}},
    "leases": {"spec": {"holderIdentity": "x"}},
}
GROUPS = ["api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1"]


def fill(server, namespace):
    """An object of each kind that is served; their paths."""
    made = []
    for group in GROUPS:
        served = server.get(f"/{group}")
        names = [r["name"] for r in served.json["resources"]] if served.status == 200 else []
        for kind in CONTENT:
            if kind in names:
                path = path_of(namespace, kind, group)
                answer = server.post(path, {"metadata": {"name": "x"}, **CONTENT[kind]})
                assert answer.status == 201, answer
                made.append(f"{path}/x")
    return made


def test_kubectl_deletes_a_namespace_with_all_that_is_in_it(up, kubectl_binary):
    a = up()
    make_namespace(a, "full")
    make_namespace(a, "other")
    content = fill(a, "full")
    kept = fill(a, "other")
    assert len(content) >= 3
    done = a.kubectl("delete", "namespace", "full", binary=kubectl_binary)
    assert done.returncode == 0, done.stderr
    assert is_gone(a, "full")
    assert [a.get(path).status for path in content] == [404] * len(content)
    assert [a.get(path).status for path in kept] == [200] * len(kept)


def test_finalizers_of_content_are_waited_for_and_told(up):
    a = up()
    make_namespace(a, "held")
    make_map(a, "held", "free")
    make_map(a, "held", "x", finalizers=["example.com/one", "example.com/two"])
    make_map(a, "held", "y", finalizers=["example.com/one"])
    assert a.delete(f"{NAMESPACES}/held").status == 200

    retry_until(lambda: conditions(a, "held").get("NamespaceFinalizersRemaining", {}).get("status") == "True", "the conditions")
    told = conditions(a, "held")
    assert [(told[name]["status"], told[name]["reason"], told[name]["message"]) for name in told] == [
        ("False", "ResourcesDiscovered", "All resources successfully discovered"),
        ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ("False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        ("True", "SomeResourcesRemain", "Some resources are remaining: configmaps. has 2 resource instances"),
        ("True", "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "
         "example.com/one in 2 resource instances, example.com/two in 1 resource instances"),
    ]
    assert a.get(path_of("held", "configmaps/free")).status == 404
    assert a.get(f"{NAMESPACES}/held").json["spec"]["finalizers"] == ["kubernetes"]

    for name in ("x", "y"):
        assert a.patch(path_of("held", f"configmaps/{name}"), {"metadata": {"finalizers": None}}).status == 200
    await_gone(a, "held")


def test_finalizers_of_the_namespace_keep_it_when_it_is_empty(up):
    a = up()
    assert a.post(NAMESPACES, {"metadata": {"name": "x"}, "spec": {"finalizers": ["example.com/mine"]}}).status == 201
    make_map(a, "x", "m")
    assert a.delete(f"{NAMESPACES}/x").status == 200
    retry_until(lambda: a.get(f"{NAMESPACES}/x").json["spec"].get("finalizers") == ["example.com/mine"], "only its own is left")
    assert a.get(path_of("x", "configmaps/m")).status == 404
    left = a.get(f"{NAMESPACES}/x").json
    left["spec"]["finalizers"] = []
    assert a.put(f"{NAMESPACES}/x/finalize", left).status == 200
    await_gone(a, "x")


def test_deletion_that_was_under_way_goes_on_after_a_restart(up, folder):
    a = up("--controllers=-namespace")
    make_namespace(a, "x")
    make_map(a, "x", "m")
    assert a.delete(f"{NAMESPACES}/x").status == 200
    assert a.stop() == 0
    b = up(dir=a.dir)
    await_gone(b, "x")


# ---- what every namespace has ----

DEFAULTS = {"serviceaccounts/default", "configmaps/kube-root-ca.crt"}


def defaults_of(server, namespace):
    return {name: server.get(path_of(namespace, name)) for name in DEFAULTS}


def await_defaults(server, namespace):
    retry_until(lambda: all(a.status == 200 for a in defaults_of(server, namespace).values()), f"the objects of namespace {namespace}")


@pytest.mark.parametrize("store", ["etcd", "memory"])
def test_each_namespace_gets_its_account_and_the_ca(up, store):
    a = up(f"--store={store}")
    for namespace in "default", "kube-system", "kube-public", "kube-node-lease":
        await_defaults(a, namespace)
    make_namespace(a, "x")
    await_defaults(a, "x")
    found = a.get(path_of("x", "configmaps/kube-root-ca.crt")).json
    assert found["data"] == {"ca.crt": (a.dir / "ca.crt").read_text()}
    assert "CA bundle" in found["metadata"]["annotations"]["kubernetes.io/description"]
    assert a.delete(f"{NAMESPACES}/x").status == 200
    await_gone(a, "x")


def test_service_of_the_server_has_the_shape_of_kube_apiserver(up):
    a = up()
    path = path_of("default", "services/kubernetes")
    retry_until(lambda: a.get(path).status == 200, "the service")
    service = a.get(path).json
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    port = int(a.url.rsplit(":", 1)[1])
    assert service["spec"] == {
        "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}], "sessionAffinity": "None", "type": "ClusterIP"}
    assert a.delete(path).status == 200
    retry_until(lambda: a.get(path).status == 200, "the service again")
    assert a.get(path).json["metadata"]["uid"] != service["metadata"]["uid"]


def test_objects_of_a_namespace_come_back(up):
    a = up()
    await_defaults(a, "default")
    before = {name: found.json["metadata"]["uid"] for name, found in defaults_of(a, "default").items()}
    for name in DEFAULTS:
        assert a.delete(path_of("default", name)).status == 200
    await_defaults(a, "default")
    assert all(before[name] != found.json["metadata"]["uid"] for name, found in defaults_of(a, "default").items())

    ca = path_of("default", "configmaps/kube-root-ca.crt")
    right = a.get(ca).json["data"]
    assert a.patch(ca, {"data": {"ca.crt": "", "mine": "x"}, "metadata": {"labels": {"mine": "kept"}}}).status == 200
    retry_until(lambda: a.get(ca).json["data"] == right, "the CA is back")
    assert a.get(ca).json["metadata"]["labels"] == {"mine": "kept"}


def test_objects_of_namespaces_are_for_up_alone(up):
    a = up("--controllers=")
    assert queues(a.get("/metrics").text) == set()
    config = a.kubeconfig
    beside = Process([BIN, "controllers", "--kubeconfig", config, "--metrics-port=0"])
    make_namespace(a, "x")
    assert a.delete(f"{NAMESPACES}/x").status == 200
    await_gone(a, "x")
    assert defaults_of(a, "default")["serviceaccounts/default"].status == 404
    assert beside.stop() == 0
    named = Process([BIN, "controllers", "--kubeconfig", config, "--controllers=default-objects,kubernetes-service"])
    await_defaults(a, "default")
    assert named.stop() == 0


def test_the_service_of_the_cluster_needs_no_other_default_objects(up):
    """As where kube-apiserver runs alone: it makes the Service, and nobody makes ServiceAccounts."""
    a = up("--controllers=*,-default-objects")
    retry_until(lambda: a.get(path_of("default", "services/kubernetes")).status == 200, "the Service")
    assert defaults_of(a, "default")["serviceaccounts/default"].status == 404


def queues(text):
    return set(re.findall(r'^workqueue_depth\{name="(.*?)"\} \d+$', text, re.MULTILINE))


def test_controllers_can_be_switched_off_and_run_beside(up):
    a = up("--controllers=*,-namespace")
    b = up(dir=a.dir.parent / "second")
    retry_until(lambda: "namespace" in queues(b.get("/metrics").text), "the queue's metrics")
    assert "namespace" not in queues(a.get("/metrics").text)

    make_namespace(a, "x")
    make_map(a, "x", "m")
    assert a.delete(f"{NAMESPACES}/x").status == 200
    beside = Process([BIN, "controllers", "--kubeconfig", a.kubeconfig, "--controllers=namespace"])
    await_gone(a, "x")
    assert beside.stop() == 0


def test_requests_of_controllers_are_told_apart(up, folder):
    log = folder / "access.log"
    a = up("--access-log", log, "--logging-format=json")
    make_namespace(a, "x")
    assert a.delete(f"{NAMESPACES}/x").status == 200
    await_gone(a, "x")
    assert a.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    finalized = [line for line in lines if line["path"] == f"{NAMESPACES}/x/finalize"]
    assert [(line["user"], line["status"]) for line in finalized] == [("system:annals-controllers", 200)]


# ---- annals controllers ----


class Controllers(Process):
    """`annals controllers`; its metrics are served."""

    def __init__(self, kubeconfig, *flags):
        super().__init__([BIN, "controllers", "--kubeconfig", kubeconfig, "--metrics-port=0", *flags])
        found = self.stderr.wait(r"metrics on \S+ port (\d+)")
        assert found, self.stderr.text
        self.host, self.port = "127.0.0.1", int(found[1])

    def get(self, path):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=processes.PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_leading(self):
        return 'leader_election_master_status{name="annals-controllers"} 1' in self.get("/metrics")[1]


def has_leases(server):
    return server.get("/apis/coordination.k8s.io/v1").status == 200


@pytest.fixture
def beside(etcd, serve, certificates, folder):
    """A server without controllers, and a kubeconfig for them."""
    server = serve(etcd().endpoint)
    server.config = write_kubeconfig(folder / "kubeconfig", server.url, certificates)
    return server


def test_controllers_serve_metrics_and_health(beside):
    c = Controllers(beside.config)
    assert c.get("/healthz") == (200, "ok")
    assert "namespace" in queues(c.get("/metrics")[1])
    assert c.get("/else")[0] == 404
    assert c.stop() == 0


def test_controllers_wait_for_a_server_that_is_not_there(beside, folder, certificates):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        nowhere = write_kubeconfig(folder / "nowhere", f"https://127.0.0.1:{s.getsockname()[1]}", certificates)
        c = Controllers(nowhere)
        assert c.stderr.wait("namespace-controller: cannot begin yet: ")
        assert c.stop() == 0


def outage_lines(controllers):
    return [line for line in controllers.stderr.text.splitlines()
            if re.search(r"cannot (watch|list|go on)|watches|following", line)]


def test_outage_is_told_in_one_line_and_its_end_in_another(etcd, serve, certificates, folder):
    """etcd is gone, and the server begins again without it: each watch is refused, more than once."""
    store = etcd()
    port = processes.free_port()
    server = serve(store.endpoint, f"--secure-port={port}")
    c = Controllers(write_kubeconfig(folder / "kubeconfig", server.url, certificates))
    assert c.stderr.wait("collecting garbage")
    assert outage_lines(c) == []
    store.kill()
    server.kill()
    serve(store.endpoint, f"--secure-port={port}", wait=False)
    assert c.stderr.wait("watches cannot go on")
    etcd(store.dir)
    assert c.stderr.wait("watches go on again")
    assert c.stop() == 0
    lines = outage_lines(c)
    assert len(lines) == 2, c.stderr.text
    n_lost, n_all = map(int, re.search(r"controllers: (\d+) of (\d+) watches cannot go on, will go on trying: ", lines[0]).groups())
    assert 1 < n_lost <= n_all
    assert re.search(r"controllers: all \d+ watches go on again", lines[1])


def anonymous_memory(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", text)[1]) << 10


def test_collector_keeps_600_bytes_of_an_object(up):
    """What is collected last has been shown behind all others. The rest of the ceiling is for what does not grow with them."""
    n, rest = 2000, 3 << 19
    beside = up("--store=memory", processes.NO_CONTROLLERS)
    c = Controllers(beside.kubeconfig, "--controllers=garbage-collector-controller")
    assert c.stderr.wait("collecting garbage")
    if "libasan" in pathlib.Path(f"/proc/{c.pid}/maps").read_text() or "libtsan" in pathlib.Path(f"/proc/{c.pid}/maps").read_text():
        pytest.skip("a sanitizer keeps what has been freed")

    def make_owned(name, owner):
        make_map(beside, "default", name, labels={"app": "web", "tier": "front"}, annotations={"note": "x" * 200}, ownerReferences=[owner])

    def make_all(name, n):
        first = make_map(beside, "default", f"{name}-owner")["metadata"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"{name}-owner", "uid": first["uid"]}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: make_owned(f"{name}-{number}", owner), range(n)))
        make_owned(f"{name}-last", {**owner, "uid": "of-nobody"})
        retry_until(lambda: beside.get(path_of("default", f"configmaps/{name}-last")).status == 404, "the last one is collected")

    make_all("first", 100)
    before = anonymous_memory(c.pid)
    make_all("then", n)
    used = anonymous_memory(c.pid) - before
    assert used < n * 600 + rest, f"{used} bytes for {n} objects"


def test_annals_up_keeps_one_kib_of_an_object_beside_its_text(up):
    """docs/how-to/limits.md: of everything that runs there, the cache, all controllers and the recorder."""
    n, rest = 4000, 2 << 20
    server = up()
    if "libasan" in pathlib.Path(f"/proc/{server.pid}/maps").read_text() or "libtsan" in pathlib.Path(f"/proc/{server.pid}/maps").read_text():
        pytest.skip("a sanitizer keeps what has been freed")

    def make_all(name, n):
        """Over one connection. Returns the bytes of the answers; what is collected last has been shown behind all others."""
        connection, size = server.client.connect(), 0
        for i in range(n):
            body = {"metadata": {"name": f"{name}-{i}", "labels": {"app": "web"}}, "data": {"text": random.randbytes(512).hex()}}
            connection.request("POST", path_of("default", "configmaps"), json.dumps(body), {"Content-Type": "application/json", "Accept": "application/json"})
            answer = connection.getresponse()
            size += len(answer.read())
            assert answer.status == 201
        connection.close()
        make_map(server, "default", f"{name}-last", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": f"of-{name}"}])
        retry_until(lambda: server.get(path_of("default", f"configmaps/{name}-last")).status == 404, "the last one is collected")
        return size

    make_all("first", 300)
    before = anonymous_memory(server.pid)
    size = make_all("then", n)
    retry_until(lambda: anonymous_memory(server.pid) - before < size + n * 1024 + rest, "memory to be what it may be")
    used = anonymous_memory(server.pid) - before
    assert used > size / 2, "the objects are not where they are looked for"
    print(f"{used / n:.0f} bytes for each object of {size / n:.0f}")


def own_address():
    """One that is not of loopback, though of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no other address")
        return probe.getsockname()[0]


def test_metrics_are_where_others_reach_them_when_asked_to(beside):
    """There, connections that say nothing keep nobody away."""
    address = own_address()
    near = Controllers(beside.config)
    with pytest.raises(OSError):
        socket.create_connection((address, near.port), timeout=processes.PATIENCE)
    near.stop()
    c = Controllers(beside.config, "--metrics-bind-address=0.0.0.0")
    c.host = address
    silent = [socket.create_connection((address, c.port)) for _ in range(64)]
    status, text = c.get("/metrics")
    assert status == 200 and "workqueue_depth" in text
    used = re.compile(r'workqueue_adds_total\{name="[^"]*"\} \d+')
    assert used.search(text)
    make_namespace(beside, "counted")
    assert beside.delete(f"{NAMESPACES}/counted").status == 200
    retry_until(lambda: used.findall(c.get("/metrics")[1]) != used.findall(text), "metrics that are written again")
    for one in silent:
        one.close()
    assert c.stop() == 0


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_another_takes_over_when_the_leader_is_gone(beside, how):
    if not has_leases(beside):
        pytest.skip("no leases are served")
    crowd = [Controllers(beside.config, "--leader-elect", *QUICK) for _ in range(2)]
    first = retry_until(lambda: next((c for c in crowd if c.is_leading()), None), "a leader")
    second = crowd[1 - crowd.index(first)]
    assert not (second.is_leading() and first.is_leading())
    make_namespace(beside, "x")
    make_map(beside, "x", "m")
    assert beside.delete(f"{NAMESPACES}/x").status == 200
    await_gone(beside, "x")

    getattr(first, how)()
    retry_until(second.is_leading, "the other leads")
    make_namespace(beside, "y")
    assert beside.delete(f"{NAMESPACES}/y").status == 200
    await_gone(beside, "y")
    lease = beside.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/annals-controllers").json["spec"]
    assert lease["leaseTransitions"] >= 1 and lease["leaseDurationSeconds"] == LEASE_S
    assert second.stop() == 0
    lease = beside.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/annals-controllers").json["spec"]
    assert lease["holderIdentity"] == ""


def test_leader_that_cannot_renew_steps_down(etcd, serve, certificates, folder):
    server = serve(etcd().endpoint)
    if not has_leases(server):
        pytest.skip("no leases are served")
    line = Line(server.url)
    near = Controllers(write_kubeconfig(folder / "near", server.url, certificates), "--leader-elect", *QUICK)
    retry_until(near.is_leading, "the leader")
    far = Controllers(write_kubeconfig(folder / "far", line.url, certificates), "--leader-elect", *QUICK)
    assert near.stop() == 0
    retry_until(far.is_leading, "the leader behind the line")
    line.cut()
    retry_until(lambda: not far.is_leading(), "it steps down")
    assert far.stderr.wait("not the leader any more: stopping")
    line.fix()
    retry_until(far.is_leading, "the leader again")
    line.close()


def test_connection_that_fell_silent_is_left(beside, certificates, folder):
    """Requests and watches share it, so that all of them would wait."""
    if not has_leases(beside):
        pytest.skip("no leases are served")
    line = Line(beside.url)
    c = Controllers(write_kubeconfig(folder / "far", line.url, certificates), "--leader-elect", *QUICK)
    retry_until(c.is_leading, "the leader")
    line.silence()
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/annals-controllers"
    before = beside.get(lease).json["spec"]
    retry_until(lambda: beside.get(lease).json["spec"]["renewTime"] > before["renewTime"], "it is renewed over a new connection")
    assert beside.get(lease).json["spec"]["leaseTransitions"] == before["leaseTransitions"] and c.is_leading()
    line.close()


# ---- informers ----


class Line:
    """TCP to a server, which can be cut, slowed down, and led elsewhere."""

    def __init__(self, url):
        self.lead_to(url)
        self.lock = threading.Lock()
        self.connections, self.is_cut, self.delay = [], False, 0
        self.silent = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, url):
        self.target = ("127.0.0.1", int(url.rpartition(":")[2]))

    def cut(self):
        with self.lock:
            self.is_cut = True
            for end in self.connections:
                shut(end)
            self.connections = []

    def fix(self):
        with self.lock:
            self.is_cut = False

    def silence(self):
        """What is connected stays so, and nothing comes through any more; as with a firewall that has forgotten a connection."""
        with self.lock:
            self.silent += self.connections

    def close(self):
        self.cut()
        shut(self.listener)
        self.listener.close()

    def _accept(self):
        try:
            while True:
                self._lead(self.listener.accept()[0])
        except OSError:
            pass  # it was closed

    def _lead(self, near):
        with self.lock:
            try:
                far = None if self.is_cut else socket.create_connection(self.target)
            except OSError:
                far = None
            if far is None:
                near.close()
                return
            self.connections += [near, far]
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=[source, sink], daemon=True).start()

    def _pump(self, source, sink):
        """A slow line brings a few bytes at a time, so that lines and frames are torn."""
        try:
            while piece := source.recv(65536):
                step = 97 if self.delay else len(piece)
                for at in range(0, len(piece), step):
                    if sink not in self.silent:
                        sink.sendall(piece[at:at + step])
                    if self.delay:
                        select.select([], [], [], self.delay)
        except OSError:
            pass
        shut(source)
        shut(sink)


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Probe(Process):
    """An informer of all ConfigMaps, what it holds, and the proof that none of its objects ever got older."""

    def __init__(self, kubeconfig, *words):
        super().__init__([PROBE, kubeconfig, "inform", "", "v1", "configmaps", *words])

    def events(self):
        return [line.split(" ") for line in self.stdout.text.splitlines()]

    def state(self):
        """{NAMESPACE/NAME: data.n}"""
        found, seen = {}, {}
        for what, *words in self.events():
            if what in ("add", "update", "delete"):
                name, version, n = words[0], int(words[1]), words[-1]
                assert version >= seen.get(name, 0), f"{name} went back in time"
                assert (name in found) == (what != "add"), f"{what} of {name}"
                seen[name] = version
                found[name] = n
                if what == "delete":
                    del found[name]
        return found

    def agrees_with(self, server):
        items = server.get("/api/v1/configmaps").json["items"]
        return self.state() == {f"{o['metadata']['namespace']}/{o['metadata']['name']}": o.get("data", {}).get("n", "") for o in items}


@pytest.mark.parametrize("words", [[], ["pages"], ["metadata"]], ids=["watch-list", "pages", "metadata"])
def test_informer_follows(beside, words):
    for i in range(3):
        make_map(beside, "default", f"early-{i}")
    probe = Probe(beside.config, *words)
    assert probe.stdout.wait(r"^synced 3$")
    made = make_map(beside, "default", "late", "1")
    made["data"]["n"] = "2"
    assert beside.put(path_of("default", "configmaps/late"), made).status == 200
    assert beside.delete(path_of("default", "configmaps/early-0")).status == 200
    assert probe.stdout.wait(r"^delete default/early-0 ")
    assert set(probe.state()) == {"default/early-1", "default/early-2", "default/late"}
    if words != ["metadata"]:
        assert probe.state()["default/late"] == "2"
    assert probe.stop() == 0


def test_informer_lists_page_by_page(beside):
    for i in range(501):
        make_map(beside, "default", f"m-{i}", str(i))
    probe = Probe(beside.config, "pages")
    assert probe.stdout.wait(r"^synced 501$")
    assert probe.agrees_with(beside)
    assert probe.stop() == 0


def change(server, round_):
    """Some are made, some changed, some deleted."""
    for i in range(4):
        make_map(server, "default", f"r{round_}-{i}", str(i))
    assert server.patch(path_of("default", f"configmaps/r{round_}-0"), {"data": {"n": "new"}}).status == 200
    assert server.delete(path_of("default", f"configmaps/r{round_}-1")).status == 200
    if round_:
        assert server.delete(path_of("default", f"configmaps/r{round_ - 1}-2")).status == 200


def test_informer_survives_restarts_of_the_server(etcd, serve, certificates, folder):
    store = etcd()
    server = serve(store.endpoint)
    line = Line(server.url)
    probe = Probe(write_kubeconfig(folder / "config", line.url, certificates))
    assert probe.stdout.wait(r"^synced 0$")
    for round_ in range(3):
        change(server, round_)
        server.kill() if round_ % 2 else server.stop()
        server = serve(store.endpoint)
        line.lead_to(server.url)
    make_map(server, "default", "last")
    assert probe.stdout.wait(r"^add default/last ")
    retry_until(lambda: probe.agrees_with(server), "the same state")
    line.close()
    assert probe.stop() == 0


@pytest.mark.parametrize("words", [[], ["pages"]], ids=["watch-list", "pages"])
def test_informer_lists_again_after_compaction(etcd, serve, certificates, folder, words):
    store = etcd()
    server = serve(store.endpoint)
    line = Line(server.url)
    probe = Probe(write_kubeconfig(folder / "config", line.url, certificates), *words)
    change(server, 0)
    assert probe.stdout.wait(r"^synced ")
    retry_until(lambda: probe.agrees_with(server), "the same state")

    line.cut()
    change(server, 1)
    server.stop()
    revision = json.loads(store.ctl("endpoint", "status", "-w", "json"))[0]["Status"]["header"]["revision"]
    store.ctl("compact", str(revision))
    server = serve(store.endpoint)
    line.lead_to(server.url)
    line.fix()
    assert probe.stdout.wait(r"^delete default/r0-2 \d+ guess")
    change(server, 2)
    retry_until(lambda: probe.agrees_with(server), "the same state")
    line.close()
    assert probe.stop() == 0


@pytest.mark.long
def test_informer_follows_over_a_slow_line_that_breaks(etcd, serve, certificates, folder):
    server = serve(etcd().endpoint)
    line = Line(server.url)
    line.delay = 0.0005
    probe = Probe(write_kubeconfig(folder / "config", line.url, certificates))
    for round_ in range(4):
        change(server, round_)
        line.cut()
        line.fix()
    retry_until(lambda: probe.agrees_with(server), "the same state")
    line.close()
    assert probe.stop() == 0


def test_discovery_of_the_client_is_that_of_the_server(beside):
    lines = processes.run([PROBE, beside.config, "discover"], check=True).stdout.splitlines()
    seen = {line.split(" ")[0]: line.split(" ")[1:] for line in lines}
    served = {"/v1": beside.get("/api/v1").json}
    for group in beside.get("/apis").json["groups"]:
        for version in group["versions"]:
            served[version["groupVersion"]] = beside.get(f"/apis/{version['groupVersion']}").json
    expected = {f"{version}/{r['name']}": [r["kind"], "namespaced" if r["namespaced"] else "cluster"]
                for version, found in served.items() for r in found["resources"] if "/" not in r["name"]}
    assert {name: words[:2] for name, words in seen.items()} == expected
