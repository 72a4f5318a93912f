"""The figures of seed 004, with the interleaving forced. Each holds with and without the server's own guard of references: the pattern
is for Dependents that may be in another etcd cluster than Providers. And what comes of the incorrect optimization."""

import os
import pathlib
import signal
import threading

import pytest

from gate import Gate
from metrics import under_way
from processes import BIN, Process, Up, retry_until, write_kubeconfig

BROKEN = pathlib.Path(BIN).parent / "tests" / "broken" / "annals-broken"
V1 = "/apis/annals.dev/v1/namespaces/default"
PROVIDERS, DEPENDENTS, MAPS = f"{V1}/providers", f"{V1}/dependents", "/api/v1/namespaces/default/configmaps"
FINALIZER = "annals.dev/provider-protection"
ELSEWHERE = "--controllers=*,-provider-finalization,-dependent"
LIST = r"/dependents\?fieldSelector=[^&]*providers.p%3D"


@pytest.fixture(params=["guarded", "unguarded"])
def server(request, folder):
    return Up(folder / "data", ELSEWHERE, binary=BIN if request.param == "guarded" else BROKEN)


@pytest.fixture
def gates(certificates, server):
    made = []

    def make():
        made.append(Gate(server.client, certificates))
        return made[-1]

    yield make
    for gate in made:
        gate.close()


class Controller(Process):
    """One controller, which comes through a gate."""

    def __init__(self, folder, gate, certificates, name, binary=BIN):
        self.gate = gate
        config = write_kubeconfig(folder / f"{name}.kubeconfig", gate.url, certificates)
        super().__init__([binary, "controllers", "--kubeconfig", config, f"--controllers={name}", "--metrics-port=0"])


@pytest.fixture
def finalization(folder, gates, certificates):
    return lambda binary=BIN: Controller(folder, gates(), certificates, "provider-finalization", binary)


@pytest.fixture
def implementation(folder, gates, certificates):
    return lambda: Controller(folder, gates(), certificates, "dependent")


def make_provider(server, name="p"):
    made = server.post(PROVIDERS, {"metadata": {"name": name}, "spec": {"data": {"a": 1}}})
    assert made.status == 201 and made.json["metadata"]["finalizers"] == [FINALIZER], made


def make_dependent(server, name, *providers, **spec):
    made = server.post(DEPENDENTS, {"metadata": {"name": name}, "spec": {"providers": [{"name": p} for p in providers], **spec}})
    assert made.status == 201, made


def delete(server, path):
    assert server.delete(path).status == 200


def is_there(server, path):
    return server.get(path).status == 200


def await_gone(server, path):
    retry_until(lambda: not is_there(server, path), f"{path} is gone")


def phase(server, name):
    return server.get(f"{DEPENDENTS}/{name}").json["status"].get("phase")


def reason(server, name):
    conditions = server.get(f"{DEPENDENTS}/{name}").json["status"]["conditions"]
    return next(c["reason"] for c in conditions if c["type"] == "Ready")


def is_kept(server):
    return FINALIZER in server.get(f"{PROVIDERS}/p").json["metadata"].get("finalizers", [])


def await_known(server, controller):
    """The controller has all objects in its cache, and acts on them."""
    make_provider(server, "known")
    delete(server, f"{PROVIDERS}/known")
    await_gone(server, f"{PROVIDERS}/known")
    controller.gate.await_answered("PATCH", "/providers/known$")  # the object may be gone before the answer is written down
    controller.gate.answered.clear()


def know_provider(server, finalizing, implementing):
    """The implementer knows the Provider, and gets no event of its end."""
    await_known(server, finalizing)
    make_provider(server)
    make_dependent(server, "first", "p")
    retry_until(lambda: phase(server, "first") == "Implemented", "the Provider is known")
    delete(server, f"{DEPENDENTS}/first")
    await_gone(server, f"{DEPENDENTS}/first")
    implementing.gate.hold_events("providers")


class Implementations:
    """All that were ever made, as a watch tells: names of Dependents."""

    def __init__(self, server):
        version = server.get(MAPS).json["metadata"]["resourceVersion"]
        self.watch = server.watch(f"{MAPS}?watch=1&resourceVersion={version}")

    def until(self, server, marker):
        assert server.post(MAPS, {"metadata": {"name": marker}}).status == 201
        made = []
        while True:
            meta = self.watch.next()["object"]["metadata"]
            if meta["name"] == marker:
                return made
            if "annals.dev/made-from" in meta.get("annotations", {}):
                made.append(meta["name"])


@pytest.mark.parametrize("server", ["guarded"], indirect=True)
def test_figure_0_deletion_and_reference_at_once(server):
    """Both are decided before either is carried out; but each is a transaction that names what it was decided on."""
    make_provider(server)
    answers = {}
    steps = {"delete": lambda: server.delete(f"{PROVIDERS}/p"),
             "create": lambda: server.post(DEPENDENTS, {"metadata": {"name": "d"}, "spec": {"providers": [{"name": "p"}], "whenMissing": "Refuse"}})}
    threads = [threading.Thread(target=lambda name=name: answers.__setitem__(name, steps[name]())) for name in steps]
    etcd = server.etcd_pid
    os.kill(etcd, signal.SIGSTOP)
    try:
        for thread in threads:
            thread.start()
        retry_until(lambda: under_way(server, "mutating") >= len(steps), "both are under way, perhaps beside a controller's write")
    finally:
        os.kill(etcd, signal.SIGCONT)
    for thread in threads:
        thread.join()
    assert answers["delete"].status == 200
    assert answers["create"].status in (201, 409)
    assert is_there(server, f"{DEPENDENTS}/d") == (answers["create"].status == 201)
    freed = server.patch(f"{PROVIDERS}/p", {"metadata": {"finalizers": None}})
    assert freed.status == (409 if answers["create"].status == 201 else 200)


def refer_unseen(server, controller):
    """Figure 1: the Dependent is not yet in the controller's cache when the Provider's deletion is."""
    await_known(server, controller)
    make_provider(server)
    controller.gate.hold_events("dependents")
    make_dependent(server, "d1", "p")
    delete(server, f"{PROVIDERS}/p")


def test_figure_1_finalizer_is_kept_by_what_the_server_knows(server, finalization):
    controller = finalization()
    refer_unseen(server, controller)
    controller.gate.await_answered("GET", LIST, 3)  # it asks again and again
    assert is_kept(server)
    assert ("PATCH", f"{PROVIDERS}/p") not in controller.gate.answered

    controller.gate.open_events()
    delete(server, f"{DEPENDENTS}/d1")
    await_gone(server, f"{PROVIDERS}/p")


def test_figure_2_finalizer_goes_and_implementation_never_starts(server, finalization, implementation, request):
    seen = Implementations(server)
    finalizing, implementing = finalization(), implementation()
    know_provider(server, finalizing, implementing)
    asked = implementing.gate.hold("GET", r"/providers/p$")
    removal = finalizing.gate.hold("PATCH", r"/providers/p$")
    assert seen.until(server, "marker-1")[-1] == "first"

    delete(server, f"{PROVIDERS}/p")
    removal.await_arrival()  # the list showed no Dependent
    if "unguarded" in request.node.name:
        make_dependent(server, "d1", "p")
        asked.await_arrival()
        removal.release()
        await_gone(server, f"{PROVIDERS}/p")
    else:  # with the guard, the finalizer would be kept
        removal.release()
        await_gone(server, f"{PROVIDERS}/p")
        make_dependent(server, "d1", "p")
        asked.await_arrival()
    asked.release()
    retry_until(lambda: phase(server, "d1") == "Pending", "the Dependent has been looked at")
    assert reason(server, "d1") == "ProviderAbsent"
    assert "d1" not in seen.until(server, "marker-2")


def test_figure_3_finalizer_is_kept_and_implementation_avoided(server, finalization, implementation):
    seen = Implementations(server)
    finalizing, implementing = finalization(), implementation()
    know_provider(server, finalizing, implementing)
    listing = finalizing.gate.hold("GET", LIST)
    assert seen.until(server, "marker-1")[-1] == "first"

    delete(server, f"{PROVIDERS}/p")
    listing.await_arrival()
    make_dependent(server, "d1", "p")
    listing.release()
    retry_until(lambda: phase(server, "d1") == "Broken", "the Dependent says that it is broken")
    assert reason(server, "d1") == "ProviderTerminating"
    assert "d1" not in seen.until(server, "marker-2")
    assert is_kept(server)

    implementing.gate.open_events()
    delete(server, f"{DEPENDENTS}/d1")
    await_gone(server, f"{PROVIDERS}/p")


@pytest.mark.parametrize("server", ["unguarded"], indirect=True)
def test_incorrect_optimization_lets_go_of_what_is_in_use(server, finalization):
    refer_unseen(server, finalization(BROKEN))
    await_gone(server, f"{PROVIDERS}/p")
    assert is_there(server, f"{DEPENDENTS}/d1")


@pytest.mark.long
@pytest.mark.parametrize("server", ["guarded"], indirect=True)
def test_server_guards_against_the_incorrect_optimization(server, finalization):
    controller = finalization(BROKEN)
    refer_unseen(server, controller)
    controller.gate.await_answered("PATCH", r"/providers/p$", 3)
    assert is_kept(server)
