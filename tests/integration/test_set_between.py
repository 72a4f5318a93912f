"""A StatefulSet's controller whose view is late, wrong or lost, which dies between two writes, or which is not alone. All its requests go through
a proxy (between.py), so that each of these happens exactly where a test wants it."""

import itertools
import threading

import pytest

import processes
from between import Between
from processes import retry_until, write_kubeconfig
from sets import CARRIERS, CONTROLLERREVISIONS, PODTEMPLATES, Room, World, controller_of, is_going, is_ready, template
from test_controllers import Controllers

pytestmark = pytest.mark.long_file


class Controller(Controllers):
    """The one of StatefulSets, as a process of its own."""

    def __init__(self, kubeconfig, carrier=CONTROLLERREVISIONS, *flags):
        super().__init__(kubeconfig, "--controllers=statefulset", f"--statefulset-history={carrier}", *flags)

    def metric(self, name):
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), None)


@pytest.fixture(scope="module")
def world():
    """Without a controller of sets."""
    found = World(CONTROLLERREVISIONS, "--controllers=*,-statefulset")
    yield found
    found.close()


@pytest.fixture
def between(world, certificates, folder):
    found = Between(world.server, certificates)
    found.config = write_kubeconfig(folder / "kubeconfig", found.url, certificates)
    yield found
    found.close()


@pytest.fixture
def room(world, between):
    """Its controller is still to be started."""
    found = Room(world.server)
    yield found
    found.leave()


def passes(controller):
    return controller.metric("annals_statefulset_passes_total")


def skips(controller):
    return controller.metric("statefulset_controller_stale_sync_skips_total") or 0


def template_of(revision):
    return revision["data"]["spec"]["template"] if "data" in revision else revision["template"]


class Births:
    """The pods that have come, by their names, from the first on: uids in order."""

    def __init__(self, room):
        self.room, self.since = room, room.server.get(room.path("pods")).json["metadata"]["resourceVersion"]

    def seen(self):
        """Up to now: until something that is made now has come, too."""
        born = {}
        last = self.room.create({"metadata": {"generateName": "last-"}, "spec": {**template()["spec"], "nodeName": "elsewhere"}}, kind="pods")
        with self.room.server.watch(f"{self.room.path('pods')}?watch=true&resourceVersion={self.since}") as events:
            for event in events:
                meta = event["object"]["metadata"]
                if meta["uid"] == last["metadata"]["uid"]:
                    return born
                if event["type"] == "ADDED" and not meta["name"].startswith("last-"):
                    born.setdefault(meta["name"], []).append(meta["uid"])
        raise AssertionError("the watch has ended")


# ---- late and lost ----


# seeds: R32
def test_what_it_has_written_itself_is_awaited_before_it_goes_on(room, between):
    """The pods' events are held back: the pod that was made is not made twice, and no other one, until the cache has it."""
    controller = Controller(between.config)
    births = Births(room)
    room.make("first", replicas=0)
    room.settle("first")
    between.hold("pods")
    room.make(replicas=3, podManagementPolicy="Parallel")
    room.until(lambda: len(room.pods()) == 3, "all are made")
    # Whatever wakes it now, it does not act.
    for n in range(5):
        before = skips(controller)
        room.image(f"i:{n + 2}")
        retry_until(lambda before=before: skips(controller) > before, "a pass is put off")
    assert {name: len(uids) for name, uids in births.seen().items()} == {"web-0": 1, "web-1": 1, "web-2": 1}
    # Another set is not held up by that, as long as it has written nothing (its own writes are its own).
    room.spec("first", revisionHistoryLimit=3)
    room.until(lambda: room.is_observed("first"), "the other set")
    between.let_go("pods")
    room.settle()
    assert {name: len(uids) for name, uids in births.seen().items()} == {"web-0": 2, "web-1": 2, "web-2": 2}


# seeds: R31 R30
@pytest.mark.parametrize("kinds", [("pods",), ("controllerrevisions",), ("statefulsets",), ("pods", "controllerrevisions", "statefulsets")],
                         ids="+".join)
def test_events_that_are_lost_freeze_nothing(room, between, kinds):
    """While it hears nothing pods are deleted, changed and made by others; then it has to list again, and the set comes to rest."""
    Controller(between.config)
    room.running(replicas=3)
    room.image("i:2")
    room.settle()
    between.hold(*kinds)
    room.delete("pods", "web-2", gracePeriodSeconds=0)
    room.change("pods", "web-1", {"metadata": {"labels": {"app": "else"}}})
    room.delete("controllerrevisions", room.history()[0]["metadata"]["name"])
    room.image("i:3")
    room.spec(replicas=2)
    between.lose(*kinds)
    room.change("pods", "web-1", {"metadata": {"labels": {"app": "web"}}})
    room.settle()
    assert room.images() == {"web-0": "i:3", "web-1": "i:3"}


# seeds: R16
@pytest.mark.parametrize("comes_again", [False, True], ids=["gone", "another-of-that-name"])
def test_a_set_that_was_deleted_unheard_takes_nothing_back(room, between, comes_again):
    """It is deleted with orphans while the controller does not hear of it: neither pods nor revisions are given back to it."""
    controller = Controller(between.config)
    old = room.running(replicas=2)
    history = [r["metadata"]["name"] for r in room.history()]
    between.hold("statefulsets")
    room.delete("statefulsets", "web", policy="Orphan")
    room.until_gone("statefulsets", "web")
    before = passes(controller), controller.metric("annals_statefulset_adoptions_total")
    if comes_again:
        room.make(replicas=2)
    # An orphan's label changes: the controller takes the set for present, and tries.
    room.change("pods", "web-1", {"metadata": {"labels": {"some": "label"}}})
    retry_until(lambda: controller.metric("annals_statefulset_adoptions_total") > before[1], "it wants to adopt")
    owners = [controller_of(thing) for thing in [*room.pods().values(), *(room.one("controllerrevisions", name) for name in history)]]
    assert owners == [None] * 3
    between.let_go("statefulsets")
    if comes_again:
        new = room.settle()
        assert {controller_of(pod) for pod in room.pods().values()} == {new["metadata"]["uid"]} != {old["metadata"]["uid"]}


# seeds: R24 R32
@pytest.mark.parametrize("answer", ["lost", "500"])
@pytest.mark.parametrize("write", ["deletion", "creation"])
def test_a_write_whose_answer_is_lost_is_awaited_like_any_other(room, between, write, answer):
    """The pods' events are held back, too: what it would do by the pods that it knows of is not done before it has heard of the write.
    A server that answers 500 may have carried it out as well."""
    controller = Controller(between.config)
    room.running(replicas=3)
    lost = threading.Event()

    def lose():
        lost.set()
        if answer == "500":
            return answer
        raise ConnectionResetError  # the server has carried it out

    method, path = ("DELETE", room.path("pods", "web-2")) if write == "deletion" else ("POST", room.path("pods"))
    between.on_write = lambda *about: lose if about == (method, path) and not lost.is_set() else None
    between.hold("pods")
    if write == "deletion":
        room.image("i:2")
    else:
        room.spec(replicas=4)
    assert lost.wait(processes.PATIENCE)
    # By the pods of before there is another one to make, which has to wait for web-2; or one to take away, while web-3 is not there yet.
    before = skips(controller)
    room.spec(**({"replicas": 4} if write == "deletion" else {"replicas": 3, "template": template("i:2")}))
    room.until(lambda: skips(controller) > before or room.is_observed(), "it looks at the set")
    found = room.pods()
    assert "web-3" not in found if write == "deletion" else not any(map(is_going, found.values())) and len(found) == 4
    between.let_go("pods")
    room.settle()


def test_a_status_is_written_though_the_set_has_changed_unheard(room, between):
    """Its own view of the set is too old for the write, and stays so: the status is of the same generation as the last one."""
    Controller(between.config)
    room.running(replicas=2)
    between.hold("statefulsets")
    room.patch("web", {"metadata": {"annotations": {"some": "change"}}})
    room.order("web-1", "ready", "false")
    room.until(lambda: room.get()["status"].get("readyReplicas") == 1, "the status says that a pod is not ready")
    between.let_go("statefulsets")
    room.order("web-1", "ready", None)
    room.settle()


def test_a_pod_that_was_replaced_unheard_is_missed(room, between):
    """A stranger's pod has its name. All that comes of it is one event: that the pod of that name has another uid."""
    Controller(between.config)
    room.running(replicas=2)
    between.hold("pods")
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.until_gone("pods", "web-1")
    stranger = {"metadata": {"name": "web-1", "labels": {"app": "else"}}, "spec": {**template()["spec"], "nodeName": "elsewhere"}}
    uid = room.create(stranger, kind="pods")["metadata"]["uid"]
    between.lose("pods")
    room.until(lambda: room.get()["status"].get("replicas") == 1, "the set knows that it has one pod less")
    assert room.one("pods", "web-1")["metadata"]["uid"] == uid
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.settle()


# seeds: R24 H32
def test_a_revision_that_it_has_deleted_is_no_reason_to_delete_another(room, between):
    """The event of the deletion is held back, and an older revision is needed no more: one beyond the limit is one."""
    room.carrier = PODTEMPLATES
    Controller(between.config, PODTEMPLATES)
    room.running(replicas=1, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    for n in (2, 3, 4):
        room.image(f"i:{n}")
        room.until(room.is_observed, "it is kept")
    first, second, *rest = [r["metadata"]["name"] for r in room.history()]
    between.hold("podtemplates")
    room.spec(revisionHistoryLimit=3)
    room.until_gone("podtemplates", second)
    room.spec(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    room.settle()  # no pod is of the first one any more
    room.pulse()
    room.pulse()  # a pass trims behind its status
    assert [r["metadata"]["name"] for r in room.history()] == [first, *rest]
    between.let_go("podtemplates")
    room.pulse()
    assert [r["metadata"]["name"] for r in room.history()] == [first, *rest]


# seeds: R16 U28
def test_an_orphan_that_is_going_is_no_ready_predecessor(room, between):
    """It does not know that the orphan has been deleted when it adopts it."""
    controller = Controller(between.config)
    room.make("other", replicas=0)
    room.settle("other")
    labels = {"app": "web", "statefulset.kubernetes.io/pod-name": "web-0", "apps.kubernetes.io/pod-index": "0"}
    room.create({"metadata": {"name": "web-0", "labels": labels, "finalizers": ["test/stays"]}, "spec": template()["spec"]}, kind="pods")
    room.until(lambda: is_ready(room.one("pods", "web-0")), "it runs")
    # Until the cache has that: events come in order.
    room.spec("other", replicas=1)
    room.settle("other")
    between.hold("pods")
    room.delete("pods", "web-0")
    before = skips(controller)
    web = room.make(replicas=2)
    room.until(lambda: controller_of(room.one("pods", "web-0")) == web["metadata"]["uid"], "it is adopted")
    room.until(lambda: skips(controller) > before or room.is_observed(), "the first pass")
    assert "web-1" not in room.pods()
    between.let_go("pods")
    room.until(room.is_observed, "it knows")
    assert "web-1" not in room.pods()
    room.change("pods", "web-0", {"metadata": {"finalizers": None}})
    room.settle()


# ---- others are quicker ----


# seeds: R1 R2
@pytest.mark.parametrize("reason", ["update", "scaling"])
def test_a_pod_that_is_orphaned_before_its_deletion_arrives_stays(room, between, reason):
    controller = Controller(between.config)
    web = room.running(replicas=2)
    orphaned = threading.Event()

    def before_write(method, path):
        if (method, path) == ("DELETE", room.path("pods", "web-1")) and not orphaned.is_set():
            room.change("pods", "web-1", {"metadata": {"ownerReferences": None, "labels": {"app": "else"}}})
            orphaned.set()

    between.on_write = before_write
    uid = room.one("pods", "web-1")["metadata"]["uid"]
    room.spec(**({"replicas": 1} if reason == "scaling" else {"template": template("i:2")}))
    assert orphaned.wait(processes.PATIENCE)
    if reason == "scaling":
        room.settle()
    else:
        room.until(lambda: room.events(reason="FailedCreate"), "it needs the name")
    found = room.one("pods", "web-1")
    assert (found["metadata"]["uid"], is_going(found)) == (uid, False)
    assert controller_of(room.one("pods", "web-0")) == web["metadata"]["uid"]
    assert not room.events(reason="FailedDelete") and not room.events(reason="SuccessfulDelete")
    assert "web-1" not in controller.stderr.text or reason == "update"


# seeds: R1 R2
def test_a_pod_that_changes_just_before_its_deletion_is_looked_at_again(room, between):
    """As a kubelet's report does: the deletion is refused, nobody hears of it, and the next one comes at once."""
    Controller(between.config)
    room.running(replicas=2)
    changes = itertools.count()

    def before_write(method, path):
        if (method, path) == ("DELETE", room.path("pods", "web-1")) and next(changes) < 12:
            room.annotate("pods", "web-1", change=str(next(changes)))

    between.on_write = before_write
    room.image("i:2")
    room.settle()
    assert next(changes) >= 12
    assert room.images() == {"web-0": "i:2", "web-1": "i:2"}
    assert not room.events(reason="FailedDelete")



@pytest.mark.parametrize("meanwhile", ["gone", "another", "released"])
def test_release_of_what_has_changed_meanwhile_is_no_error(room, between, meanwhile):
    controller = Controller(between.config)
    room.running(replicas=2)
    begun, done = threading.Event(), threading.Event()

    def before_write(method, path):
        if (method, path) != ("PATCH", room.path("pods", "web-1")) or begun.is_set():
            return
        begun.set()
        if meanwhile == "released":
            room.change("pods", "web-1", {"metadata": {"ownerReferences": None}})
        else:
            room.delete("pods", "web-1", gracePeriodSeconds=0)
            room.until_gone("pods", "web-1")
        if meanwhile == "another":
            room.create({"metadata": {"name": "web-1", "labels": {"app": "else"}}, "spec": template()["spec"]}, kind="pods")
        done.set()

    between.on_write = before_write
    room.change("pods", "web-1", {"metadata": {"labels": {"app": "else"}}})
    assert done.wait(processes.PATIENCE)
    if meanwhile != "gone":
        room.until(lambda: controller_of(room.one("pods", "web-1")) is None, "it is nobody's")
        room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.settle()
    told = [line for line in controller.stderr.text.splitlines() if "web-1" in line]
    assert not [line for line in told if "already exists" not in line]  # which it is: it blocks the ordinal


# seeds: R14
def test_the_loser_of_an_adoption_goes_on(room, between):
    """Between its decision and its patch somebody else has taken the orphan."""
    Controller(between.config)
    other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "11111111-2222-3333-4444-555555555555", "controller": True}
    for i in range(2):
        room.create({"metadata": {"name": f"web-{i}", "labels": {"app": "web"}}, "spec": template()["spec"]}, kind="pods")
    lost = threading.Event()

    def before_write(method, path):
        if (method, path) == ("PATCH", room.path("pods", "web-1")) and not lost.is_set():
            room.change("pods", "web-1", {"metadata": {"ownerReferences": [other]}})
            lost.set()

    between.on_write = before_write
    room.make(replicas=2, podManagementPolicy="Parallel")
    assert lost.wait(processes.PATIENCE)
    room.until(lambda: room.get().get("status", {}).get("readyReplicas") == 1, "it goes on with the other")
    assert controller_of(room.one("pods", "web-1")) == other["uid"]
    room.delete("pods", "web-1", gracePeriodSeconds=0)
    room.settle()


# ---- it dies ----


# seeds: R1 R8 U58
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_it_may_die_between_any_two_writes(room, between, carrier, answered):
    """A set comes up, is updated and scaled; at its n-th write the controller dies, before or after the server has had it, and another one goes
    on. In the end all is as if nobody had died: no pod too many, no revision twice, and nothing of others was touched."""
    room.carrier = carrier
    others = [{"metadata": {"name": "web-x", "labels": {"app": "web"}}}, {"metadata": {"name": "lone-0", "labels": {"app": "else"}}}]
    foreign = {pod["metadata"]["name"]: room.create({**pod, "spec": {**template()["spec"], "nodeName": "elsewhere"}}, kind="pods") for pod in others}
    writes = itertools.count()
    lives = []

    def before_write(method, path):
        if f"/{room.namespace}/" not in path or path.endswith("/events") or "/events/" in path:
            return None
        if next(writes) % 2 == 0:
            return None
        if not answered:
            lives[-1].signal(9)
            raise ConnectionResetError  # the server never hears of it
        return lambda: lives[-1].signal(9)

    between.on_write = before_write
    stop = threading.Event()

    def keep_alive():
        while not stop.is_set():
            lives.append(Controller(between.config, carrier))
            while lives[-1].popen.poll() is None and not stop.wait(0.02):
                pass
        lives[-1].stop()

    keeper = threading.Thread(target=keep_alive)
    births = Births(room)
    keeper.start()
    try:
        room.running(replicas=2)
        room.image("i:2")
        room.settle()
        room.spec(replicas=1)
        room.settle()
        room.pulse()
    finally:
        stop.set()
        keeper.join()
    assert len(lives) > 5
    assert [template_of(r)["spec"]["containers"][0]["image"] for r in room.history()] == ["i:1", "i:2"]
    assert {name: len(uids) for name, uids in births.seen().items() if name.startswith("web-") and name != "web-x"} == {"web-0": 2, "web-1": 2}
    assert {name: room.one("pods", name) for name in foreign} == foreign


# ---- it is not alone ----


# seeds: R2 R14
def test_two_at_once_do_not_fight(room, between):
    """Without election: both do all. One may know less than the other, and yet they come to rest where one alone would."""
    crowd = [Controller(between.config) for _ in range(2)]
    sets = [room.running(replicas=3), room.running("par", replicas=4, podManagementPolicy="Parallel")]
    for name in ("web", "par"):
        room.image("i:2", name)
    for name in ("web", "par"):
        room.settle(name)
    for name in ("web", "par"):
        room.spec(name, replicas=2)
    for name, it in zip(("web", "par"), sets):
        room.settle(name)
        assert room.images(name) == {f"{name}-{i}": "i:2" for i in range(2)}
        assert {controller_of(pod) for pod in room.pods(name).values()} == {it["metadata"]["uid"]}
        assert [template_of(r)["spec"]["containers"][0]["image"] for r in room.history(name)] == ["i:1", "i:2"]
    for controller in crowd:
        retry_until(lambda controller=controller: passes(controller), "both are at work")
    for name in ("web", "par"):
        room.pulse(name)
    # And then nothing moves any more.
    before = room.all("pods")
    for name in ("web", "par"):
        room.pulse(name)
    assert room.all("pods") == before


# seeds: R2
def test_the_next_leader_goes_on_in_mid_update(room, between):
    quick = ["--leader-elect", "--leader-elect-retry-period=100ms"]
    births = Births(room)
    first = Controller(between.config, CONTROLLERREVISIONS, *quick)
    room.running(replicas=3)
    second = Controller(between.config, CONTROLLERREVISIONS, *quick)
    reached = threading.Event()
    between.on_write = lambda method, path: reached.set() if (method, path) == ("DELETE", room.path("pods", "web-1")) else None
    room.image("i:2")
    assert reached.wait(processes.PATIENCE)
    first.stop()
    room.settle()
    assert {name: len(uids) for name, uids in births.seen().items()} == {"web-0": 2, "web-1": 2, "web-2": 2}
    retry_until(lambda: passes(second), "the other is at work")
