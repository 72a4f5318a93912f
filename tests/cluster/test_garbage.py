"""One list of scenarios for three pairs: kube-apiserver with kube-controller-manager's garbage collector, kube-apiserver with ours, and annals with
kube-controller-manager's garbage and namespace controllers, ours being off. All must end the same way."""

import itertools
import pathlib
import shutil
import tempfile

import pytest

import garbage
import kube
import processes

KUBE_CONTROLLER_MANAGER = processes.PEERS / "kube-controller-manager"

names = (f"gc-{n}" for n in itertools.count(1))


def controller_manager(kubeconfig):
    """Its default of 20 requests a second would make the tests wait for nothing else."""
    return processes.Process([KUBE_CONTROLLER_MANAGER, f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
                              "--controllers=garbage-collector-controller,namespace-controller", "--authentication-skip-lookup",
                              "--kube-api-qps=1000", "--kube-api-burst=2000"])


def our_controllers(kubeconfig):
    return processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=garbagecollector,namespace"])


def kube_apiserver(etcd, certificates, folder):
    return kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver")


def annals(etcd, certificates, _folder):
    return processes.Serve(etcd.endpoint, certificates)


PAIRS = {
    "kube-apiserver with kube-controller-manager": (kube_apiserver, controller_manager),
    "kube-apiserver with annals controllers": (kube_apiserver, our_controllers),
    "annals with kube-controller-manager": (annals, controller_manager),
}


@pytest.fixture(scope="module", params=PAIRS)
def server(request, certificates):
    make_server, make_controllers = PAIRS[request.param]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    started = [processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)]
    try:
        started.append(make_server(started[0], certificates, folder))
        started.append(make_controllers(kube.write_kubeconfig(folder / "kubeconfig", started[1], certificates)))
        for process in started:
            process.is_shared = True
        yield started[1]
        for process in reversed(started):
            process.stop()
        troubles = [trouble for process in started for trouble in process.troubles()]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def heap(server):
    own, other = next(names), next(names)
    for name in (own, other):
        assert server.post(garbage.NAMESPACES, {"metadata": {"name": name}}).status == 201
    return garbage.Heap(server.client, own, other)


@pytest.mark.parametrize("play", garbage.SCENARIOS, ids=lambda play: play.__name__)
def test_scenario(heap, play):
    play(heap)


def test_namespaces_are_emptied(heap):
    heap.chain("abc", block=True)
    assert heap.client.delete(f"{garbage.NAMESPACES}/{heap.namespace}").status == 200
    processes.retry_until(lambda: heap.client.get(f"{garbage.NAMESPACES}/{heap.namespace}").status == 404, "the namespace is gone")
    assert not heap.client.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3D" + heap.namespace).json["items"]
