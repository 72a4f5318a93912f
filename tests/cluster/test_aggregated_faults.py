"""kube-apiserver, annals behind it and the etcds of both die, and come back in any order. Nothing that was acknowledged is lost, watches go on,
APIServices are available again; and whoever wants something else of kube-apiserver notices nothing, no more than with sample-apiserver."""

import itertools
import pathlib
import shutil
import signal
import tempfile

import pytest

import aggregated
import both
import processes
import through
import truth
import watchers
import writers
from test_aggregated_namespaces import Heap, conditions, wait_gone
from transitions import Form
from world import Crew, rounds

NAMESPACES = aggregated.NAMESPACES


@pytest.fixture(scope="module")
def cluster(certificates):
    """One to be hurt: annals with two replicas, and sample-apiserver."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        hurt = aggregated.Cluster(path, certificates, *aggregated.programs(), n_replicas=2)
        yield hurt
        hurt.stop()
        troubles = [trouble for process in hurt.everything for trouble in process.troubles()]
    finally:
        shutil.rmtree(path, ignore_errors=True)
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def annals(cluster):
    return cluster.behind["annals"]


def fix(cluster):
    """Returns when all is as it was."""
    cluster.kube.wait_ready()
    for behind in cluster.behind.values():
        for replica in behind.replicas:
            replica.wait_ready()
        behind.announce()
        behind.wait_available()


# ---- what has been acknowledged, and the events of watchers ----

# Each trouble returns what is to be started then, in that order.


def kill_replica(cluster, _crew):
    """The other one goes on: kube-apiserver finds it as soon as the connection is gone."""
    annals = cluster.behind["annals"]
    annals.replicas[0].kill()
    annals.lead()
    return [lambda: annals.start_replica(0, wait=False)]


def kill_replicas(cluster, crew):
    annals = cluster.behind["annals"]
    for replica in annals.replicas:
        replica.kill()
    crew.wait_failures()
    return [lambda: annals.start_replica(0, wait=False), lambda: annals.start_replica(1, wait=False)]


def kill_etcd(cluster, crew):
    annals = cluster.behind["annals"]
    annals.etcd.kill()
    crew.wait_failures()
    return [annals.start_etcd]


def kill_kube(cluster, crew):
    cluster.kube.kill()
    crew.wait_failures()
    return [lambda: cluster.start_kube(wait=False)]


def kill_etcd_of_kube(cluster, _crew):
    cluster.etcd.kill()
    processes.retry_until(lambda: cluster.kube.get("/readyz").status == 500, "kube-apiserver without etcd")
    return [cluster.start_etcd]


def kill_all(cluster, crew):
    cluster.etcd.kill()
    kube_is_back, = kill_kube(cluster, crew)
    fixes = [cluster.start_etcd, kube_is_back]
    annals = cluster.behind["annals"]
    for process in annals.everything:
        process.kill()
    return fixes + [annals.start_etcd, lambda: annals.start_replica(1, wait=False), lambda: annals.start_replica(0, wait=False)]


def kill_all_and_begin_with_the_last(cluster, crew):
    return kill_all(cluster, crew)[::-1]


TROUBLES = [kill_replica, kill_etcd, kill_kube, kill_replicas, kill_etcd_of_kube, kill_all, kill_all_and_begin_with_the_last]


def test_faults__acknowledged_writes_survive_and_watches_go_on(cluster, annals):
    world, gateway = through.World(cluster), truth.Gateway(annals.etcd.endpoint)
    members = [through.Writer(world, number, 0) for number in range(3)]
    watching = [through.Watcher(world, number, Form("all"), start) for number, start in enumerate(("list", "watch-list", "zero"))]
    with Crew(watching).at_work() as audience:
        for _, trouble in zip(rounds(least=len(TROUBLES)), itertools.cycle(TROUBLES)):
            crew = Crew(members)
            with crew.at_work():
                crew.wait_successes(10)
                for start in trouble(cluster, crew):
                    start()
                fix(cluster)
                crew.wait_successes(5)
            straight = [through.Session(through.Straight(annals, number), 0) for number in range(2)]
            writers.check_what_is_there([through.Session(world, 0), *straight], members)
        told = truth.Truth(gateway.history())
        watchers.settle(audience, told)
    writers.check_history(told, members)
    for watcher in watching:
        watchers.check(told, watcher)


# ---- other groups ----

OTHERS = [("get", "pods", "-A"), ("get", "all", "-n", "kube-public"), ("get", "configmaps", "-n", "kube-system", "-o", "name"), ("get", "crd"),
          ("explain", "pods.spec.hostname"), ("create", "configmap", "x", "--dry-run=server")]
LISTS = [("api-resources", "-o", "name"), ("api-versions",)]
OWN = [("get", "RES.GROUP", "-A"), ("get", "RES.GROUP,configmaps", "-n", "kube-public"), ("get", "--raw", "/apis/GROUP/VERSION")]


class Looking:
    """kubectl, in a cluster whose server behind it may be in trouble."""

    def __init__(self, cluster, behind):
        self.cluster, self.behind, self.kind = cluster, behind, behind.kind

    def _run(self, command):
        for what, by in (("RES", self.kind.resource), ("GROUP", self.kind.group), ("VERSION", self.kind.versions[0])):
            command = [word.replace(what, by) for word in command]
        done = self.cluster.kubectl(*command)
        return done.returncode, both.plain(done.stdout), both.plain(done.stderr)

    def _without_own(self, outcome):
        status, stdout, stderr = outcome
        return status, [line for line in stdout.splitlines() if self.kind.group not in line], stderr

    def others(self):
        """What it says of other groups. It has not been here before: what it would remember hides the server's words."""
        shutil.rmtree(self.cluster.folder / ".kube", ignore_errors=True)
        return [(command, self._without_own(self._run(command))) for command in LISTS] + [(command, self._run(command)) for command in OTHERS]

    def own(self):
        """What it says of ours, without its names."""
        said = []
        for command in OWN:
            status, _, text = self._run(command)
            said.append((command, status, text.replace(self.kind.group, "GROUP").replace(self.kind.resource, "RES")))
        return said


def pause(behind):
    for replica in behind.replicas:
        replica.signal(signal.SIGSTOP)


def kill(behind):
    for replica in behind.replicas:
        replica.signal(signal.SIGCONT)
        replica.kill()
    behind.lead()


def tell(behind):
    behind.announce()
    behind.wait_available(False)


def test_faults__others_notice_nothing(cluster):
    """While it hangs, once it is dead, and when kube-apiserver has noticed. What is said of its own kinds is what is said with sample-apiserver."""
    said = {}
    for name, behind in cluster.behind.items():
        looking = Looking(cluster, behind)
        as_ever = looking.others()
        assert {status for _, (status, _, _) in as_ever} == {0}
        pause(behind)
        assert looking.others() == as_ever
        for trouble in (kill, tell):
            trouble(behind)
            assert looking.others() == as_ever
            said[name] = looking.own()
            assert all(status for _, status, _ in said[name])
        for number in range(len(behind.replicas)):
            behind.start_replica(number)
        fix(cluster)
        assert looking.others() == as_ever
    assert said["annals"] == said.get("wardle", said["annals"])


# ---- what remains ----


def straight(cluster, behind, user, number=0):
    return processes.Client(behind.replicas[number].url, cluster.certificates.ca, *cluster.user(user))


def test_faults__discovery_remains_without_etcd(cluster, annals):
    namespace, kind = cluster.make_namespace(), annals.kind
    cluster.make(kind.path(namespace), kind.body("one"))
    documents = ("/apis/annals.dev/v1", "/apis/annals.dev/v1beta1", "/apis/annals.dev", "/openapi/v3/apis/annals.dev/v1")
    annals.wait_described()
    annals.etcd.kill()
    for replica in annals.replicas:
        processes.retry_until(lambda replica=replica: "[-]etcd failed" in replica.get("/readyz").text, "/readyz without etcd")
    fresh = annals.replicas[1]
    fresh.kill()
    annals.start_replica(1, wait=False)
    processes.retry_until(lambda: annals.replicas[1].get(documents[0]).status == 200, "discovery of one that has never seen etcd")
    for server in (cluster.kube, *annals.replicas):
        assert {server.get(path).status for path in documents} == {200}
        refused = server.get(kind.path(namespace, "one"))
        assert (refused.status, refused.json["reason"], refused.headers["Retry-After"]) == (503, "ServiceUnavailable", "1")
    assert [replica.get("/livez").status for replica in annals.replicas] == [200, 200]
    annals.announce()
    assert cluster.kubectl("api-resources").returncode == 0
    assert cluster.kube.delete(f"{NAMESPACES}/{namespace}").status == 200
    processes.retry_until(lambda: conditions(cluster, namespace).get("NamespaceDeletionContentFailure", ("",))[0] == "True",
                          "the condition, after ten attempts at each kind, one in a second", patience=processes.LONG_PATIENCE)
    assert [annals.available(name)[0] for name in annals.names] == ["True", "True"]
    annals.start_etcd()
    fix(cluster)
    wait_gone(cluster.kube, f"{NAMESPACES}/{namespace}")


def test_faults__fails_closed_without_kube(cluster, annals):
    """Who has not been seen lately is not let in, whether the replica has been there before or has just been started; both say that they live."""
    kind, user = annals.kind, "somebody"
    cluster.bind("somebody-may-all", ("ClusterRole", "cluster-admin"), {"kind": "User", "name": user})
    processes.retry_until(lambda: cluster.client(user).get(kind.path("default")).status == 200, "the binding")
    cluster.kube.kill()
    annals.replicas[0].kill()
    annals.start_replica(0, wait=False)
    for number, replica in enumerate(annals.replicas):
        assert straight(cluster, annals, user, number).get(kind.path("kube-public")).status in (500, 503)
        assert replica.anonymous.get("/livez").status == 200
    assert annals.replicas[0].anonymous.get("/readyz").status == 500
    cluster.start_kube()
    fix(cluster)
    for number in range(2):
        assert straight(cluster, annals, user, number).get(kind.path("kube-public")).status == 200


def test_faults__dependents_are_kept_while_their_owner_cannot_be_asked(cluster, annals):
    """The garbage collector is started when nobody answers for the owner's kind, and has to ask about it."""
    heap = Heap(cluster, annals)
    owner = heap.make(annals.kind.kind, "owner")
    heap.make("ConfigMap", "dependent", owner)
    cluster.controllers.kill()
    kill(annals)
    tell(annals)
    cluster.start_controllers()
    heap.make("ConfigMap", "late", owner)
    gone = heap.make("ConfigMap", "gone")
    heap.make("ConfigMap", "collected", gone)
    heap.delete("ConfigMap", "gone", "Background")
    heap.becomes("ConfigMap", "collected", None)
    for number in range(len(annals.replicas)):
        annals.start_replica(number)
    fix(cluster)
    heap.sentinel()
    assert [heap.words("ConfigMap", name) for name in ("dependent", "late")] == ["owner", "owner"]
    heap.delete(annals.kind.kind, "owner", "Background")
    for name in ("dependent", "late"):
        heap.becomes("ConfigMap", name, None)
