"""StatefulSets under users who do anything at any time, while the server, etcd, the controllers and the fake kubelet are killed: the invariants
(invariants.py) hold at every moment, and all sets come to rest afterwards. Over both carriers of their histories.

    FAULT_SECONDS=600 SETS_SEED=7 tools/run-tests.py tests/fault -k sets
"""

import contextlib
import itertools
import json
import os
import random
import threading
import time

import pytest

import doorway
import invariants
import processes
import world
from metrics import under_way
from session import Session, rest_a_moment

SEED = int(os.environ.get("SETS_SEED", "0")) or random.randrange(1, 10**6)
N_CLIENTS, N_SETS = 16, 12
ORDER = "fake-node.annals.dev/"
APPS, BETA = "/apis/apps/v1", "/apis/annals.dev/v1beta1"
NAMESPACE = "/namespaces/default/"
PODS = "/api/v1" + NAMESPACE + "pods"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
IMAGES = ("i:1", "i:2", "i:3", "i:4")


def sets(api_version, name=""):
    return f"{api_version}{NAMESPACE}statefulsets" + (f"/{name}" if name else "")


class User:
    """Does one thing after the other to some set; a member of a crew."""

    def __init__(self, there, number, watched, carrier):
        self.there, self.number, self.watched, self.carrier = there, number, watched, carrier
        self.random = random.Random(f"{SEED}/{number}")
        self.session = Session(there, number % len(there.servers))
        self.successes = self.failures = 0

    def ask(self, *arguments, **more):
        reply = self.session.ask(*arguments, **more)
        if reply.outcome in ("lost", "refused"):
            raise ConnectionError
        return reply

    def step(self):
        self.there.may_act.wait()
        # Of the same set more often than not, so that users meet.
        name = f"set-{min(self.random.randrange(N_SETS), self.random.randrange(N_SETS))}"
        choices = {self.look: 30, self.fix_pod: 10, self.clear: 6, self.change_image: 4, self.scale: 4, self.partition: 1, self.limit: 1, self.delete_pod: 2,
                   self.break_pod: 1, self.fail_pod: 1, self.release_pod: 0.5, self.orphan_pod: 1, self.delete_set: 0.5, self.squat: 0.3, self.delete_revision: 0.5}
        try:
            if self.ask("GET", sets(APPS, name)).outcome != "ok":
                self.create(name)
            self.random.choices(list(choices), list(choices.values()))[0](name)
            self.successes += 1
        except ConnectionError:
            self.failures += 1
            rest_a_moment()
            self.session.number = (self.session.number + 1) % len(self.there.servers)

    # ---- sets ----

    def create(self, name):
        r = self.random
        template = {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": r.choice(IMAGES)}]}}
        spec = {"replicas": r.randint(0, 4), "serviceName": name, "selector": {"matchLabels": {"app": name}}, "template": template}
        api_version = r.choice([APPS, BETA])
        if api_version == APPS:
            spec.update(podManagementPolicy=r.choice(["OrderedReady"] * 3 + ["Parallel"]), revisionHistoryLimit=r.randint(0, 3))
        else:
            spec.update(revisionHistoryLimit=r.randint(2, 4))
        self.ask("POST", sets(api_version), {"apiVersion": api_version.removeprefix("/apis/"), "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec})

    def patch_set(self, name, spec, kind=MERGE):
        self.ask("PATCH", sets(APPS, name), {"spec": spec}, content_type=kind)

    def change_image(self, name):
        container = {"name": "c", "image": self.random.choice(IMAGES)}
        order = {ORDER + "ready": "false"} if self.random.random() < 0.15 else {ORDER + "ready": None}
        self.patch_set(name, {"template": {"metadata": {"annotations": order}, "spec": {"containers": [container]}}}, STRATEGIC)

    def scale(self, name):
        self.patch_set(name, {"replicas": self.random.randint(0, 5)})

    def partition(self, name):
        self.patch_set(name, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": self.random.choice([0, 0, 1, 2])}}})

    def limit(self, name):
        self.patch_set(name, {"revisionHistoryLimit": self.random.randint(2, 4)})

    def delete_set(self, name):
        policy = self.random.choice(["Orphan", "Orphan", "Background", "Foreground"])
        self.ask("DELETE", sets(APPS, name), {"propagationPolicy": policy})

    # ---- pods and revisions ----

    def look(self, name):
        self.pods(name)

    def clear(self, name):
        """What nobody controls is in the way."""
        for pod in self.pods(name):
            if not any(ref.get("controller") for ref in pod["metadata"].get("ownerReferences") or []):
                self.delete(PODS, pod)

    def pods(self, name):
        reply = self.ask("GET", PODS)
        return [it for it in (reply.body or {}).get("items", []) if it["metadata"]["name"].startswith(name + "-")] if reply.outcome == "ok" else []

    def one(self, items):
        return self.random.choice(items) if items else None

    def patch_pod(self, pod, meta):
        if pod:
            self.watched.changing(pod)
            body = {"metadata": {"uid": pod["metadata"]["uid"], **meta}}
            self.ask("PATCH", f"{PODS}/{pod['metadata']['name']}", body, content_type=MERGE)

    def delete(self, path, it):
        self.watched.deleting(it)
        self.ask("DELETE", f"{path}/{it['metadata']['name']}", {"preconditions": {"uid": it["metadata"]["uid"]}})

    def delete_pod(self, name):
        if pod := self.one(self.pods(name)):
            self.delete(PODS, pod)

    def break_pod(self, name):
        self.patch_pod(self.one(self.pods(name)), {"annotations": {ORDER + "ready": "false"}})

    def fail_pod(self, name):
        self.patch_pod(self.one(self.pods(name)), {"annotations": {ORDER + "phase": self.random.choice(["Failed", "Succeeded"])}})

    def fix_pod(self, name):
        for pod in self.pods(name):
            if (pod["metadata"].get("annotations") or {}).get(ORDER + "ready"):
                self.patch_pod(pod, {"annotations": {ORDER + "ready": None}})

    def release_pod(self, name):
        pod = self.one(self.pods(name))
        self.patch_pod(pod, {"labels": {"app": self.random.choice([name, "released"])}})

    def orphan_pod(self, name):
        self.patch_pod(self.one(self.pods(name)), {"ownerReferences": None})

    def squat(self, name):
        """A name that a set may need: with its labels, or others."""
        pod = {"metadata": {"name": f"{name}-{self.random.randint(0, 5)}", "labels": {"app": self.random.choice([name, "squatter"])}},
               "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "squat"}]}}
        self.ask("POST", PODS, pod)

    def revisions_path(self):
        return (APPS if self.carrier == "controllerrevisions" else "/api/v1") + NAMESPACE + self.carrier

    def delete_revision(self, name):
        reply = self.ask("GET", self.revisions_path())
        mine = [it for it in (reply.body or {}).get("items", []) if it["metadata"]["name"].startswith(name + "-")] if reply.outcome == "ok" else []
        if mine:
            self.delete(self.revisions_path(), self.random.choice(mine))


class Stage(world.World):
    """Two servers behind one port, controllers and a fake kubelet that come through it."""

    def __init__(self, folder, certificates, carrier):
        self.carrier, self.doorway = carrier, doorway.Doorway()
        self.controllers = self.kubelet = None
        self.may_act = threading.Event()
        self.may_act.set()
        super().__init__(folder, certificates)
        self.kubeconfig = processes.write_kubeconfig(folder / "kubeconfig", self.doorway.url, certificates)
        self.start_controllers()
        self.start_kubelet()

    def start_server(self, number, wait=True):
        super().start_server(number, wait)
        self.lead()

    def lead(self, without=None):
        self.doorway.lead_to(*(server.client.port for server in self.servers if server and server is not without))

    def start_controllers(self):
        self.controllers = processes.Process([processes.BIN, "controllers", "--kubeconfig", self.kubeconfig, "--controllers=statefulset,garbagecollector",
                                              f"--statefulset-history={self.carrier}"])

    def start_kubelet(self):
        self.kubelet = processes.Process([processes.BIN, "controllers", "--kubeconfig", self.kubeconfig, "--controllers=fake-kubelet", "--fake-nodes=2"])

    def connect(self):
        """To a server that is there, for the invariants' watches and lists."""
        there = [server for server in self.servers if server.popen.poll() is None]
        return random.choice(there or self.servers).client

    def __exit__(self, failure, *rest):
        for process in (self.controllers, self.kubelet):
            process.kill()
        super().__exit__(failure, *rest)
        self.doorway.close()

    @contextlib.contextmanager
    def quiet(self):
        """Users wait."""
        self.may_act.clear()
        try:
            yield
        finally:
            self.may_act.set()

    def succeed(self):
        """Begins when what the dead have sent is done, as one that waits for a lease does: nobody could know of it otherwise."""
        for server in self.servers:
            processes.retry_until(lambda server=server: under_way(server, "mutating") == 0, f"no write is under way in {server.url}", interval=0.02)
        self.start_controllers()

    # ---- troubles: each is over when it returns ----

    def kill_server(self, number):
        number %= len(self.servers)
        self.lead(without=self.servers[number])
        self.servers[number].kill()
        self.start_server(number)

    def kill_etcd(self, _number):
        self.etcd.kill()
        self.start_etcd()
        self.wait_ready()

    def kill_controllers(self, _number):
        with self.quiet():
            self.controllers.kill()
            self.succeed()

    def kill_kubelet(self, _number):
        self.kubelet.kill()
        self.start_kubelet()

    def kill_all(self, number):
        with self.quiet():
            self.controllers.kill()
            self.kubelet.kill()
            self.kill_server(number)
            self.succeed()
        self.start_kubelet()


def is_settled(it):
    status, replicas = it.get("status", {}), it["spec"]["replicas"]
    return (status.get("observedGeneration") == it["metadata"]["generation"] and status.get("currentRevision") == status.get("updateRevision")
            and all(status.get(name, 0) == replicas for name in ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas")))


def settle(stage, watched):
    """Users fix what they have broken, and take away what is in the way. Then everything comes to rest."""
    user = User(stage, 0, watched, stage.carrier)
    fixed = set()

    def is_at_rest():
        try:
            listed = user.ask("GET", sets(APPS)).body["items"]
            for it in listed:
                name = it["metadata"]["name"]
                if it["metadata"]["uid"] not in fixed:
                    user.patch_set(name, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                                          "template": {"metadata": {"annotations": {ORDER + "ready": None}}}})
                    fixed.add(it["metadata"]["uid"])
                user.fix_pod(name)
            strangers = [pod for pod in user.ask("GET", PODS).body["items"] if not any(ref.get("controller") for ref in pod["metadata"].get("ownerReferences") or [])]
            for pod in strangers:
                user.delete(PODS, pod)
            return listed and not strangers and all(map(is_settled, listed)) and not any("deletionTimestamp" in it["metadata"] for it in listed)
        except ConnectionError:
            return False

    try:
        processes.retry_until(is_at_rest, "all sets are at rest", interval=0.3, patience=processes.LONG_PATIENCE)
    except TimeoutError:
        listed = user.ask("GET", sets(APPS)).body["items"]
        shown = "\n".join(f"{it['metadata']['name']} {json.dumps(it['metadata'])} {json.dumps(it['spec'])} {json.dumps(it['status'])}" for it in listed if not is_settled(it))
        pods = [(pod["metadata"]["name"], pod["metadata"].get("labels"), pod["metadata"].get("annotations"), pod["status"].get("phase")) for pod in user.ask("GET", PODS).body["items"]]
        raise AssertionError(f"not at rest:\n{shown}\n{pods}\n{stage.controllers.stderr.text[-3000:]}") from None


def judge_rest(watched):
    """All that has happened, and how it has ended. A history is trimmed behind the status, so the end may take a moment to come."""
    judged = []

    def is_over():
        judged.append(watched.judge())
        judged[-1].rest()
        return not any(violation.startswith("at rest") for violation in judged[-1].violations)

    with contextlib.suppress(TimeoutError):
        processes.retry_until(is_over, "what holds at rest", interval=0.5)
    watched.is_judged = True
    assert not judged[-1].violations, invariants.show(judged[-1].violations)
    return judged[-1]


# seeds: D8 R1 U6 U10 U58 U75 H16 H19 H21 H25 H32 H35 R8 R9 R10
@pytest.mark.parametrize("carrier", ["controllerrevisions", "podtemplates"])
def test_sets__keep_their_invariants_whoever_is_killed(folder, certificates, carrier):
    print(f"SETS_SEED={SEED}")
    with Stage(folder, certificates, carrier) as stage:
        watched = invariants.Invariants(stage.connect, "default", carrier)
        with watched:
            crew = world.Crew([User(stage, number, watched, carrier) for number in range(N_CLIENTS)])
            troubles = itertools.cycle([stage.kill_controllers, stage.kill_server, stage.kill_kubelet, stage.kill_etcd, stage.kill_all])
            with crew.at_work():
                for number in world.rounds(least=5):
                    crew.wait_successes(10)
                    next(troubles)(number)
            began = time.monotonic()
            settle(stage, watched)
            found = judge_rest(watched)
            n_done = sum(member.successes for member in crew.members)
            print(f"{n_done} operations, {dict(found.counts)}, at rest after {time.monotonic() - began:.1f} s")
            assert found.counts["created"] and not any(stream.failure for stream in watched.streams)
