"""One list of scenarios for three pairs: kube-apiserver with kube-controller-manager's garbage collector, kube-apiserver with ours, and annals with
kube-controller-manager's garbage and namespace controllers, ours being off. All must end the same way."""

import itertools
import pathlib
import shutil
import tempfile
import uuid

import pytest

import garbage
import kube
import processes

names = (f"gc-{n}" for n in itertools.count(1))


def our_controllers(kubeconfig):
    return processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=garbagecollector,namespace"])


def kube_apiserver(etcd, certificates, folder):
    return kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver")


def annals(etcd, certificates, _folder):
    return processes.Serve(etcd.endpoint, certificates)


PAIRS = {
    "kube-apiserver with kube-controller-manager": (kube_apiserver, kube.controller_manager),
    "kube-apiserver with annals controllers": (kube_apiserver, our_controllers),
    "annals with kube-controller-manager": (annals, kube.controller_manager),
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


@pytest.mark.parametrize("scenario", garbage.SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(heap, scenario):
    scenario(heap)


def test_namespaces_are_emptied(heap):
    heap.chain("abc", block=True)
    assert heap.client.delete(f"{garbage.NAMESPACES}/{heap.namespace}").status == 200
    processes.retry_until(lambda: heap.client.get(f"{garbage.NAMESPACES}/{heap.namespace}").status == 404, "the namespace is gone")
    assert not heap.client.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3D" + heap.namespace).json["items"]


# ---- kinds that come later, and know no strategic patches ----

WIDGETS = "/apis/example.com/v1/namespaces/{}/widgets"
DEFINITION = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}


@pytest.fixture
def widgets(server, heap):
    """The path of a collection of a kind that is defined now."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert server.post(definitions, DEFINITION).status == 201
    path = WIDGETS.format(heap.namespace)
    processes.retry_until(lambda: server.get(path).status == 200, "widgets are served")
    yield path
    assert server.delete(f"{definitions}/widgets.example.com").status == 200


def make_widget(server, path, name, *owners, **meta):
    made = server.post(path, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "ownerReferences": owners, **meta}})
    assert made.status == 201, made
    return {**made.json["metadata"], "kind": "Widget", "apiVersion": "example.com/v1"}


def owned_by(widget, block=False):
    return garbage.owner(widget, block, kind="Widget", apiVersion="example.com/v1")


@pytest.mark.parametrize("server", [name for name, (make_server, _) in PAIRS.items() if make_server is kube_apiserver], indirect=True)
def test_kinds_may_come_later(server, heap, widgets):
    """All that is patched is a widget here, which refuses strategic patches: trimming, orphaning, unblocking, finalizers."""
    a, b, x = (heap.make(name) for name in "abx")
    make_widget(server, widgets, "first", garbage.owner(a, name="nobody"))
    processes.retry_until(lambda: server.get(f"{widgets}/first").status == 404, "the collector has learned of widgets", interval=0.2,
                          patience=processes.LONG_PATIENCE)
    make_widget(server, widgets, "gone", garbage.owner(a))
    make_widget(server, widgets, "trimmed", garbage.owner(a), garbage.owner(x))
    make_widget(server, widgets, "orphaned", garbage.owner(b))
    top = make_widget(server, widgets, "top")
    middle = make_widget(server, widgets, "middle", owned_by(top, True))
    circle = {"metadata": {"ownerReferences": [owned_by(middle, True)]}}
    assert server.patch(f"{widgets}/top", circle).status == 200
    heap.make("c", owned_by(middle, True))
    make_widget(server, widgets, "last", garbage.owner({"name": "last", "uid": str(uuid.uuid4())}))
    processes.retry_until(lambda: server.get(f"{widgets}/last").status == 404, "the collector has heard of all widgets")
    heap.delete("a")
    heap.delete("b", "Orphan")
    assert server.delete(f"{widgets}/top", {"propagationPolicy": "Foreground"}).status == 200

    def state():
        return {item["metadata"]["name"]: garbage.words_of(item["metadata"]) for item in server.get(widgets).json["items"]}

    processes.retry_until(lambda: state() == {"trimmed": "x", "orphaned": ""}, "the collector", interval=0.02)
    heap.becomes(x="")
