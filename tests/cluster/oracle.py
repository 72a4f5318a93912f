"""The differential oracle of StatefulSets: one random program runs against kube-apiserver with kube-controller-manager, and against annals with its
own controller. Fake kubelets of ours simulate the nodes of both. After every step both come to rest, and all that can be seen is compared.

A program is what its seed says: a list of steps, each of them a function of the plane. What is compared after each, per set: creations and
deletions of pods in their order, the pods, the revisions (name, number, data, owner), the status; at the end events.

Rest is detected by a pulse: a write that changes nothing but the set's generation. A pass that has observed it, and before and after which all is
the same, had nothing to do. Caches of pods may lag behind those of sets, so a difference counts only where it is found again with more pulses.
"""

import collections
import concurrent.futures
import itertools
import json
import random
import threading
import time

import kube
import processes

SETS = "/apis/apps/v1/namespaces/{}/statefulsets"
REVISIONS = "/apis/apps/v1/namespaces/{}/controllerrevisions"
PODS = "/api/v1/namespaces/{}/pods"
KINDS = {"sets": "/apis/apps/v1/statefulsets", "revisions": "/apis/apps/v1/controllerrevisions", "pods": "/api/v1/pods"}
ORDER = "fake-node.annals.dev/"
HASH = "controller-revision-hash"
STRATEGIC = "application/strategic-merge-patch+json"
# What annals adds (docs/reference/deviations.md): a label, and an event of a name that somebody else's pod has.
OUR_LABELS = {"statefulset-template-revision"}
TELLING_EVENTS = 10  # of one program: beyond, client-go folds them into each other, or drops them

numbers = itertools.count(1)


class Mirror(threading.Thread):
    """What a watch shows of all objects of a kind; and the order in which pods came and began to go."""

    def __init__(self, plane, kind):
        super().__init__(daemon=True)
        self.plane, self.kind, self.path = plane, kind, KINDS[kind]
        listed = plane.client.get(self.path).json
        self.position = listed["metadata"]["resourceVersion"]
        assert not listed["items"], "the plane is not new"
        self.failure = None

    def run(self):
        try:
            while not self.plane.is_over:
                self._follow()
        except (OSError, ValueError) as error:
            if not self.plane.is_over:
                self.failure = error

    def _follow(self):
        with self.plane.client.watch(f"{self.path}?watch=1&resourceVersion={self.position}&allowWatchBookmarks=true") as events:
            self.plane.watches.append(events)
            while line := events.response.readline():
                event = json.loads(line)
                assert event["type"] != "ERROR", event
                it = event["object"]
                self.position = it["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.plane.take(self.kind, event["type"], it)


class Place:
    """A namespace as the mirrors show it."""

    def __init__(self):
        self.there = {kind: {} for kind in KINDS}
        self.sequence = []
        self.going = set()  # uids whose deletion is in the sequence


class Plane:
    """A server, a controller of StatefulSets, a fake kubelet."""

    def __init__(self, name, server, kubeconfig, start_controller):
        self.name, self.server, self.client, self.kubeconfig = name, server, server.client, kubeconfig
        self._start_controller = start_controller
        # Processes end with the thread that started them: this one lasts.
        self.starter = concurrent.futures.ThreadPoolExecutor(1)
        self.is_over, self.watches = False, []
        self.places = collections.defaultdict(Place)
        self.changed = threading.Condition()
        self.lock = threading.Lock()  # of the controller
        self.mirrors = [Mirror(self, kind) for kind in KINDS]
        for mirror in self.mirrors:
            mirror.start()
        self.kubelet = processes.Process([processes.BIN, "controllers", "--kubeconfig", kubeconfig, "--controllers=fake-kubelet", "--fake-nodes=2"])
        self.controller = self.starter.submit(start_controller).result()

    def take(self, kind, what, it):
        meta = it["metadata"]
        with self.changed:
            place = self.places[meta["namespace"]]
            if kind == "pods":
                self._note(place, what, it)
            if what == "DELETED":
                place.there[kind].pop(meta["name"], None)
            else:
                place.there[kind][meta["name"]] = it
            self.changed.notify_all()

    @staticmethod
    def _note(place, what, pod):
        meta = pod["metadata"]
        if what == "ADDED":
            place.sequence.append(("create", meta["name"], meta.get("labels", {}).get(HASH)))
        if (what == "DELETED" or "deletionTimestamp" in meta) and meta["uid"] not in place.going:
            place.going.add(meta["uid"])
            place.sequence.append(("delete", meta["name"], meta.get("labels", {}).get(HASH)))

    def wait(self, condition, what, patience=processes.LONG_PATIENCE):
        deadline = time.monotonic() + patience
        with self.changed:
            while not (result := condition()):
                left = deadline - time.monotonic()
                if left <= 0 or any(mirror.failure for mirror in self.mirrors):
                    raise TimeoutError(f"{self.name}: waited in vain: {what}, {[mirror.failure for mirror in self.mirrors]}")
                self.changed.wait(min(left, 1))
            return result

    def restart_controller(self):
        with self.lock:
            self.controller.kill()
            self.controller = self.starter.submit(self._start_controller).result()

    def stop(self):
        self.is_over = True
        for process in (self.controller, self.kubelet):
            process.kill()
        for watch in self.watches:
            if watch.connection.sock:
                watch.connection.sock.close()
        self.starter.shutdown()


class Planes:
    """Both, each on an etcd of its own. binary, env: of our controller."""

    def __init__(self, folder, certificates, binary=processes.BIN, env=None):
        etcds = [processes.Etcd(folder / name, kube.NEWEST_ETCD) for name in ("k", "a")]
        their_server = kube.KubeApiserver(etcds[0].endpoint, certificates, folder / "kube")
        our_server = processes.Serve(etcds[1].endpoint, certificates)
        processes.retry_until(lambda: our_server.get("/api/v1/namespaces/kube-public").status == 200, "the first namespaces")
        theirs, ours = (kube.write_kubeconfig(folder / f"{name}.kubeconfig", server, certificates) for name, server in (("kube", their_server), ("annals", our_server)))
        self.kube = Plane("kube", their_server, theirs, lambda: kube.controller_manager(
            theirs, "statefulset-controller", "garbage-collector-controller", flags=["--concurrent-statefulset-syncs=10"]))
        self.annals = Plane("annals", our_server, ours, lambda: processes.Process(
            [binary, "controllers", "--kubeconfig", ours, "--controllers=statefulset,garbagecollector"], env=env))
        self.both = (self.kube, self.annals)
        self.processes = [*etcds, their_server, our_server]

    @property
    def everything(self):
        return self.processes + [process for plane in self.both for process in (plane.kubelet, plane.controller)]

    def stop(self):
        for plane in self.both:
            plane.stop()
        for process in reversed(self.processes):
            process.kill()


# ---- a namespace of one plane in which a program runs ----


def is_ready(pod):
    return any((c["type"], c["status"]) == ("Ready", "True") for c in pod.get("status", {}).get("conditions") or [])


def is_idle(pod):
    """Has the fake kubelet finished with it?"""
    meta, status = pod["metadata"], pod.get("status", {})
    annotations = meta.get("annotations") or {}
    order = annotations.get(ORDER + "phase")
    if "deletionTimestamp" in meta:
        return False
    if status.get("phase") in ("Failed", "Succeeded"):
        return True
    if order == "Pending":
        return status.get("phase") == "Pending" and bool(status.get("conditions"))
    return order is None and status.get("phase") == "Running" and is_ready(pod) == (annotations.get(ORDER + "ready") != "false")


def version(it):
    return it["metadata"]["resourceVersion"]


class Stage:
    def __init__(self, plane, namespace, slowness):
        self.plane, self.client, self.namespace, self.slowness = plane, plane.client, namespace, slowness
        self.place = plane.places[namespace]
        self.n_told = 0
        made = self.client.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        assert made.status == 201, made

    def path(self, kind, name=""):
        return {"sets": SETS, "revisions": REVISIONS, "pods": PODS}[kind].format(self.namespace) + (f"/{name}" if name else "")

    def all(self, kind):
        with self.plane.changed:
            return dict(self.place.there[kind])

    def patch(self, kind, name, body, how="application/merge-patch+json"):
        return self.client.patch(self.path(kind, name), body, kind=how)

    # ---- rest ----

    def _versions(self):
        """Of all but sets, which the pulse changes."""
        return {(kind, name): version(it) for kind in ("pods", "revisions") for name, it in self.place.there[kind].items()}

    def _is_idle(self):
        return all(map(is_idle, self.place.there["pods"].values()))

    def _pulse(self, name):
        policy = self.all("sets")[name]["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"]
        other = {"Retain": "Delete", "Delete": "Retain"}[policy]
        answer = self.patch("sets", name, {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": other}}})
        assert answer.status == 200, answer
        generation = answer.json["metadata"]["generation"]

        def is_observed():
            it = self.place.there["sets"].get(name)
            return it and it.get("status", {}).get("observedGeneration", 0) >= generation

        self.plane.wait(is_observed, f"{self.namespace}/{name} is observed")

    def rest(self):
        n_stable = 0
        deadline = time.monotonic() + processes.LONG_PATIENCE
        while n_stable < self.slowness:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.plane.name}: {self.namespace} does not come to rest")
            self.plane.wait(self._is_idle, f"the kubelet's work in {self.namespace}")
            with self.plane.changed:
                before = self._versions()
            for name in sorted(self.all("sets")):
                self._pulse(name)
            with self.plane.changed:
                is_same = self._versions() == before and self._is_idle()
            n_stable = n_stable + 1 if is_same and self._is_true() else 0

    def _is_true(self):
        """Do the mirrors show what is there?"""
        for kind in ("pods", "revisions"):
            listed = {it["metadata"]["name"]: version(it) for it in self.client.get(self.path(kind)).json["items"]}
            if listed != {name: version(it) for name, it in self.all(kind).items()}:
                return False
        return {it["metadata"]["name"] for it in self.client.get(self.path("sets")).json["items"]} == set(self.all("sets"))

    # ---- what can be seen ----

    def shown(self, is_race):
        sets, pods, revisions = (self.all(kind) for kind in ("sets", "pods", "revisions"))
        names = {it["metadata"]["uid"]: name for name, it in sets.items()}
        with self.plane.changed:
            told = self.place.sequence[self.n_told:]
            self.n_told = len(self.place.sequence)
        is_ordered = all(it["spec"]["podManagementPolicy"] == "OrderedReady" for it in sets.values())
        return {
            "sequence": [list(step) for step in (told if is_ordered and not is_race else sorted(told, key=str))],
            "status": {name: self._status(it) for name, it in sets.items()},
            "pods": {name: {"labels": labels_of(pod), "owner": self._owner(pod, names), "image": pod["spec"]["containers"][0]["image"],
                            "phase": pod["status"].get("phase"), "ready": is_ready(pod), "hostname": pod["spec"].get("hostname")} for name, pod in pods.items()},
            "revisions": {name: {"number": r["revision"], "data": r["data"], "owner": self._owner(r, names), "labels": labels_of(r),
                                 "annotations": r["metadata"].get("annotations") or {}} for name, r in revisions.items()},
        }

    @staticmethod
    def _status(it):
        return {name: value for name, value in it.get("status", {}).items() if name != "observedGeneration"}

    @staticmethod
    def _owner(it, names):
        refs = it["metadata"].get("ownerReferences") or []
        return [[ref["kind"], names.get(ref["uid"], "another"), ref.get("controller"), ref.get("blockOwnerDeletion")] for ref in refs]

    def events(self):
        listed = self.client.get(f"/api/v1/namespaces/{self.namespace}/events").json["items"]
        said = collections.Counter()
        for e in listed:
            is_ours = e["reason"] == "FailedCreate" and "already exists" in e["message"]
            if e["involvedObject"]["kind"] == "StatefulSet" and not is_ours:
                said[(e["type"], e["reason"], e["message"])] += e.get("count", 1)
        return said


def labels_of(it):
    return {name: value for name, value in (it["metadata"].get("labels") or {}).items() if name not in OUR_LABELS}


# ---- programs ----

SETS_OF_A_PROGRAM = ("web", "db")
IMAGES = ("i:1", "i:2", "i:3", "i:4")


def template(app, image, annotations=None, env=None):
    container = {"name": "c", "image": image, **({"env": env} if env else {})}
    meta = {"labels": {"app": app}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}


class Step:
    """words: what it is, for people; do(stage) returns something to compare, the status of the answer mostly.
    is_race: it makes several changes, between which the controller acts, or does not.
    may_detour: pods may come back in the old revision first, and restart once more (docs/reference/deviations.md)."""

    def __init__(self, words, do, is_race=False, may_detour=False):
        self.words, self.do, self.is_race, self.may_detour, self.then_kill = words, do, is_race, may_detour, False

    def __repr__(self):
        return self.words + (", and the controller is killed" if self.then_kill else "")


class Maker:
    """Makes the steps of a program from its seed. It knows what has been asked for, never what came of it."""

    def __init__(self, seed, has_kills):
        self.random = random.Random(seed)
        self.has_kills = has_kills
        self.sets = ["web"] if self.random.random() < 0.7 else list(SETS_OF_A_PROGRAM)
        self.specs = {}

    def program(self, n_steps):
        steps = [self.step_create(name) for name in self.sets]
        while len(steps) < n_steps:
            step = self.choose()
            step.then_kill = self.has_kills and self.random.random() < 0.3
            steps.append(step)
        return steps

    def choose(self):
        choices = {"image": 6, "scale": 4, "partition": 2, "undo": 2, "strategy": 1, "limit": 1, "delete_pod": 3, "break_template": 2, "break_pod": 2,
                   "fix_pods": 2, "fail_pod": 2, "release_pod": 1, "unrelease": 1, "orphan_pod": 2, "orphan_set": 1, "delete_revision": 1, "start": 1,
                   "squat": 1, "env": 1, "annotate_set": 1, "image_and_scale": 2, "relabel_pod_revision": 1, "remove_all_pods": 1}
        kind = self.random.choices(list(choices), list(choices.values()))[0]
        return getattr(self, "step_" + kind)(self.random.choice(self.sets))

    def pod(self, name):
        spec = self.specs[name]
        return f"{name}-{spec['start'] + self.random.randint(0, max(spec['replicas'], 1))}"

    # steps

    def make_body(self, name):
        r = self.random
        spec = {"replicas": r.randint(0, 4), "selector": {"matchLabels": {"app": name}}, "serviceName": name, "template": template(name, r.choice(IMAGES)),
                "podManagementPolicy": r.choice(["OrderedReady"] * 3 + ["Parallel"])}
        if r.random() < 0.3:
            spec["updateStrategy"] = {"type": "RollingUpdate"}  # and no rollingUpdate: another rule for new pods
        elif r.random() < 0.2:
            spec["updateStrategy"] = {"type": "OnDelete"}
        if r.random() < 0.5:
            spec["revisionHistoryLimit"] = r.randint(0, 3)
        if r.random() < 0.15:
            spec["ordinals"] = {"start": r.randint(1, 3)}
        self.specs[name] = {"replicas": spec["replicas"], "start": spec.get("ordinals", {}).get("start", 0),
                            "is_parallel": spec["podManagementPolicy"] == "Parallel", "image": spec["template"]["spec"]["containers"][0]["image"]}
        return {"metadata": {"name": name}, "spec": spec}

    def step_create(self, name):
        body = self.make_body(name)
        return Step(f"create {name} {json.dumps(body['spec'])}", lambda stage: stage.client.post(stage.path("sets"), body).status)

    def patch(self, name, words, spec, how=STRATEGIC):
        return Step(f"{words} of {name}", lambda stage: stage.patch("sets", name, {"spec": spec}, how).status)

    def step_image(self, name):
        image = self.random.choice(IMAGES)
        self.specs[name]["image"] = image
        meta = {"annotations": {ORDER + "ready": None, ORDER + "phase": None}}
        return self.patch(name, f"image {image}", {"template": {"metadata": meta, "spec": {"containers": [{"name": "c", "image": image}]}}})

    def step_env(self, name):
        env = [{"name": "A", "value": self.random.choice("xy")}]
        return self.patch(name, f"env {env}", {"template": {"spec": {"containers": [{"name": "c", "env": env}]}}})

    def step_scale(self, name):
        replicas = self.random.randint(0, 5)
        self.specs[name]["replicas"] = replicas
        return self.patch(name, f"scale to {replicas}", {"replicas": replicas})

    def step_image_and_scale(self, name):
        replicas, image = self.random.randint(0, 5), self.random.choice(IMAGES)
        self.specs[name].update(replicas=replicas, image=image)
        step = self.patch(name, f"image {image} and scale to {replicas}", {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}})
        step.may_detour = self.specs[name]["is_parallel"]
        return step

    def step_partition(self, name):
        partition = self.random.choice([0, 0, 1, 2, 3, 9])
        return self.patch(name, f"partition {partition}", {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}},
                          "application/merge-patch+json")

    def step_strategy(self, name):
        strategy = self.random.choice([{"type": "OnDelete", "rollingUpdate": None}, {"type": "RollingUpdate", "rollingUpdate": None}])
        return self.patch(name, f"strategy {strategy}", {"updateStrategy": strategy}, "application/merge-patch+json")

    def step_limit(self, name):
        limit = self.random.choice([0, 1, 2, 10])
        return self.patch(name, f"limit {limit}", {"revisionHistoryLimit": limit})

    def step_start(self, name):
        start = self.random.randint(0, 3)
        self.specs[name]["start"] = start
        return self.patch(name, f"start {start}", {"ordinals": {"start": start}}, "application/merge-patch+json")

    def step_undo(self, name):
        """As kubectl: to the second highest number."""

        def undo(stage):
            uid = stage.client.get(stage.path("sets", name)).json["metadata"].get("uid")
            history = [r for r in stage.client.get(stage.path("revisions")).json["items"]
                       if any(ref["uid"] == uid and ref.get("controller") for ref in r["metadata"].get("ownerReferences") or [])]
            if len(history) < 2:
                return "nothing to go back to"
            back = sorted(history, key=lambda r: r["revision"])[-2]
            return stage.patch("sets", name, back["data"], STRATEGIC).status

        return Step(f"undo {name}", undo)

    def step_break_template(self, name):
        image = self.random.choice(IMAGES)
        order = self.random.choice([{ORDER + "ready": "false"}, {ORDER + "phase": "Pending"}])
        return self.patch(name, f"image {image} which breaks ({order})", {"template": {"metadata": {"annotations": order}, "spec": {"containers": [{"name": "c", "image": image}]}}})

    def annotate(self, name, words, annotations):
        pod = self.pod(name)
        return Step(f"{words} {pod}", lambda stage: stage.patch("pods", pod, {"metadata": {"annotations": annotations}}).status)

    def step_break_pod(self, name):
        return self.annotate(name, "break", {ORDER + "ready": "false"})

    def step_fail_pod(self, name):
        return self.annotate(name, "fail", {ORDER + "phase": self.random.choice(["Failed", "Succeeded"])})

    def step_fix_pods(self, name):
        def fix(stage):
            pods = sorted(pod for pod in stage.all("pods") if pod.startswith(name + "-"))
            for pod in pods:  # one after the other: a pod that the controller deletes meanwhile may be gone
                stage.patch("pods", pod, {"metadata": {"annotations": {ORDER + "ready": None, ORDER + "phase": None}}})

        return Step(f"fix the pods of {name}", fix, is_race=True)

    def step_delete_pod(self, name):
        pod = self.pod(name)
        return Step(f"delete {pod}", lambda stage: stage.client.delete(stage.path("pods", pod)).status)

    def step_remove_all_pods(self, name):

        def remove(stage):
            selector = f"?labelSelector=app%3D{name}"
            return stage.client.delete(stage.path("pods") + selector).status

        return Step(f"delete all pods of {name}", remove, is_race=True)

    def step_release_pod(self, name):
        pod = self.pod(name)
        return Step(f"release {pod}", lambda stage: stage.patch("pods", pod, {"metadata": {"labels": {"app": "released"}}}).status)

    def step_unrelease(self, name):
        """What does not match gets its label back, or goes."""
        is_back = self.random.random() < 0.5

        def end(stage):
            pods = sorted(n for n, pod in stage.all("pods").items() if n.startswith(name + "-") and pod["metadata"].get("labels", {}).get("app") != name)
            if is_back:
                return [stage.patch("pods", pod, {"metadata": {"labels": {"app": name}}}).status for pod in pods]
            return [stage.client.delete(stage.path("pods", pod)).status for pod in pods]

        return Step(f"{'give back' if is_back else 'delete'} what was released of {name}", end, is_race=True)

    def step_orphan_pod(self, name):
        pod = self.pod(name)
        return Step(f"orphan {pod}", lambda stage: stage.patch("pods", pod, {"metadata": {"ownerReferences": None}}).status)

    def step_relabel_pod_revision(self, name):
        pod = self.pod(name)
        return Step(f"take the revision's label off {pod}", lambda stage: stage.patch("pods", pod, {"metadata": {"labels": {HASH: None}}}).status)

    def step_squat(self, name):
        pod = self.pod(name)
        body = {"metadata": {"name": pod, "labels": {"app": self.random.choice([name, "squatter"])}}, "spec": {"containers": [{"name": "c", "image": "squat"}]}}
        return Step(f"squat on {pod}", lambda stage: stage.client.post(stage.path("pods"), body).status)

    def step_annotate_set(self, name):
        value = str(self.random.randint(1, 3))
        return Step(f"annotate {name}", lambda stage: stage.patch("sets", name, {"metadata": {"annotations": {"kubernetes.io/change-cause": value}}}).status)

    def step_delete_revision(self, name):
        which = self.random.randint(0, 2)

        def delete(stage):
            names = sorted(n for n in stage.all("revisions") if n.startswith(name + "-"))
            return stage.client.delete(stage.path("revisions", names[which % len(names)])).status if names else "there is none"

        return Step(f"delete revision {which} of {name}", delete)

    def step_orphan_set(self, name):
        body = self.make_body(name)

        def orphan(stage):
            uid = stage.client.get(stage.path("sets", name)).json["metadata"].get("uid")
            deleted = stage.client.delete(stage.path("sets", name), {"propagationPolicy": "Orphan"})

            def is_gone():
                others = [it for kind in ("pods", "revisions") for it in stage.place.there[kind].values()]
                return name not in stage.place.there["sets"] and not any(
                    ref["uid"] == uid for it in others for ref in it["metadata"].get("ownerReferences") or [])

            stage.plane.wait(is_gone, f"{name} is gone and its pods are orphans")
            return deleted.status, stage.client.post(stage.path("sets"), body).status

        return Step(f"orphan {name}, create it again {json.dumps(body['spec'])}", orphan)


# ---- comparison ----


def differences(one, other, path=""):
    """Where two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [found for name in sorted(set(one) | set(other)) for found in differences(one.get(name), other.get(name), f"{path}.{name}")]
    return [] if one == other else [f"{path}: kube {json.dumps(one)}\n      annals {json.dumps(other)}"]


class Run:
    """One program on both planes."""

    def __init__(self, planes, seed, has_kills=False, n_steps=10, slowness=1):
        self.planes, self.seed, self.has_kills, self.slowness = planes, seed, has_kills, slowness
        self.steps = Maker(seed, has_kills).program(n_steps)
        self.namespace = f"p{seed}-{next(numbers)}"
        self.done = []

    def _do(self, stage, step):
        result = step.do(stage)
        if step.then_kill:
            stage.plane.restart_controller()
        stage.rest()
        shown = {"answer": result, **stage.shown(step.is_race)}
        return {**shown, "sequence": None} if step.may_detour else shown

    def _both(self, call, stages):
        """Side by side."""
        results = [None, None]

        def run(i):
            try:
                results[i] = call(stages[i])
            except BaseException as error:  # pylint: disable=broad-except
                results[i] = error

        other = threading.Thread(target=run, args=[1])
        other.start()
        run(0)
        other.join()
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    def go(self):
        """None, or what differs, in words."""
        stages = [Stage(plane, self.namespace, self.slowness) for plane in self.planes.both]
        try:
            for step in self.steps:
                self.done.append(step)
                results = self._both(lambda stage, step=step: self._do(stage, step), stages)
                # Of JSON: tuples and lists are the same.
                if found := differences(*json.loads(json.dumps(results))):
                    return self.tell(found)
            found = None if self.has_kills else self._compare_events(stages)
            return found and self.tell(found)
        except TimeoutError as error:
            return self.tell([str(error)])
        finally:
            for stage in stages:
                stage.client.delete(f"/api/v1/namespaces/{self.namespace}/pods")
                stage.client.delete(stage.path("sets"))

    def _compare_events(self, stages):
        """They come later than the changes that they report, and client-go folds many into one, or drops them."""
        def found():
            theirs, ours = (stage.events() for stage in stages)
            if max(sum(events.values()) for events in (theirs, ours)) > TELLING_EVENTS:
                theirs, ours = ({event[:2] for event in events} for events in (theirs, ours))
            return differences({str(e): 1 for e in theirs}, {str(e): 1 for e in ours}, "events")

        try:
            processes.retry_until(lambda: not found(), "the same events", interval=0.2, patience=10)
            return None
        except TimeoutError:
            return found()

    def tell(self, found):
        return "\n".join([f"program {self.seed}{' with kills' if self.has_kills else ''}, step {len(self.done)}:",
                          *(f"  {i}. {step}" for i, step in enumerate(self.done, 1)), *(f"    {line}" for line in found)])


def judge(planes, seed, has_kills=False, tries=3):
    """None, or a difference that is there each time."""
    for slowness in range(1, tries + 1):
        found = Run(planes, seed, has_kills, slowness=slowness).go()
        if not found:
            return None
    return found
