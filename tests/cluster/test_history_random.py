"""Five users change objects of eight kinds behind a real kube-apiserver, in every way that there is, while recorder, annals, its etcd and kube-apiserver
are killed. The judge of histories.py then compares what was recorded with what the etcd and the audit log of kube-apiserver say.

    HISTORY_CHANGES=5000 HISTORY_SEED=7 tools/run-tests.py tests/cluster -k history_random     # or: make check-histories CHANGES=5000 SEED=7
"""

import collections
import copy
import http.client
import json
import os
import pickle
import random
import threading
import time

import pytest
import yaml

import aggregated
import histories
import hooks
import kube
import processes
import stories
import truth
from installed import DEPLOY, NAMESPACE

CHANGES = int(os.environ.get("HISTORY_CHANGES", "300"))
SEED = os.environ.get("HISTORY_SEED") or "32"
USERS = ("alice", "bob", "carol", "dave", "erin")
IMPERSONATED = "erin"  # the others have certificates
IMPERSONATOR = "proxy"
ROOM = "shop"
N_NAMES = 2 + CHANGES // 1500  # objects of each kind
N_TROUBLES = max(3, CHANGES // 150)
HISTORIES, REVISIONS = (f"{stories.V1}/namespaces/{ROOM}/{plural}" for plural in ("histories", "controllerrevisions"))
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
JSON, MERGE, STRATEGIC, APPLY = (f"application/{kind}" for kind in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"))

Kind = collections.namedtuple("Kind", "group plural kind stored pointer content")


def path_of(kind):
    """(apiVersion, path)"""
    api_version = f"{kind.group}/v1" if kind.group else "v1"
    return api_version, f"/{'apis' if kind.group else 'api'}/{api_version}/namespaces/{ROOM}/{kind.plural}"


def typed(kind, name):
    """As kubectl takes it."""
    return f"{kind.plural}.v1.{kind.group}/{name}" if kind.group else f"{kind.plural}/{name}"


def pods(app, n):
    return {"selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": f"nginx:{n}"}]}}}


IMAGE = "/spec/template/spec/containers/0/image"
KINDS = [
    Kind("", "configmaps", "ConfigMap", "configmaps", "/data/colour", lambda n: {"data": {"colour": n, "text": "a\nb\n"}}),
    Kind("", "secrets", "Secret", "secrets", "/data/password", lambda n: {"data": {"password": f"{int(n):08d}", "user": "YWRtaW4="}}),
    Kind("", "services", "Service", "services/specs", "/spec/selector/app", lambda n: {"spec": {"selector": {"app": n}, "ports": [{"port": 80}]}}),
    Kind("apps", "deployments", "Deployment", "deployments", IMAGE, lambda n: {"spec": pods("web", n)}),
    Kind("apps", "statefulsets", "StatefulSet", "statefulsets", IMAGE, lambda n: {"spec": {"serviceName": "db", **pods("db", n)}}),
    Kind("batch", "cronjobs", "CronJob", "cronjobs", "/spec/schedule", lambda n: {"spec": {
        "schedule": f"{int(n) % 60} {int(n) // 60 % 24} {int(n) // 1440 % 28 + 1} * *",
        "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job:1"}]}}}}}}),
    Kind("rbac.authorization.k8s.io", "roles", "Role", "roles", "/rules/0/resourceNames/0",
         lambda n: {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [n]}]}),
    Kind("networking.k8s.io", "networkpolicies", "NetworkPolicy", "networkpolicies", "/spec/podSelector/matchLabels/app",
         lambda n: {"spec": {"podSelector": {"matchLabels": {"app": n}}}}),
]
SCALED, WITH_STATUS = ("deployments", "statefulsets"), ("services", "deployments", "statefulsets", "cronjobs")
PREFIXES = {f"/registry/{kind.stored}/{ROOM}/": kind.plural for kind in KINDS}

# All writes of these kinds, from their beginning: a killed kube-apiserver leaves requests without an end.
AUDIT_POLICY = json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitManagedFields": True, "rules": [
    {"level": "RequestResponse", "verbs": ["create", "update", "patch", "delete", "deletecollection"], "namespaces": [ROOM],
     "resources": [{"group": kind.group, "resources": [kind.plural, f"{kind.plural}/*"]} for kind in KINDS]}, {"level": "None"}]})

SECRETS = {"metadata": {"name": "more"}, "spec": {"resources": [{"groups": [""], "resources": ["secrets"]}], "historyLimit": 1000}}
REFUSED = "kubernetes.io/change-cause"  # an annotation that belongs to no state: the refused state may be that of another user's write
REFUSES = f"has(object.metadata.annotations) && '{REFUSED}' in object.metadata.annotations && object.metadata.annotations['{REFUSED}'] == 'refuse'"


class World:
    """A cluster that records, as deploy/ installs it, but for addresses; and what watches it from outside."""

    def __init__(self, folder, certificates):
        aggregated.programs()
        self.folder = folder / "cluster"
        self.folder.mkdir()
        (folder / "policy").write_text(AUDIT_POLICY)
        self.refusing = hooks.Hooks(certificates)
        self.refusing.on("/refuse", hooks.deny())
        self.cluster = aggregated.Cluster(self.folder, certificates, aggregated.ANNALS, controllers=False, flags=["--etcd-compaction-interval=0"],
                                          etcd_flags=[stories.ROOM], kube_flags=["--etcd-compaction-interval=0", "--storage-media-type=application/json",
                                                                                 f"--audit-policy-file={folder / 'policy'}"])
        self.annals, self.manager, self.recorder = self.cluster.behind["annals"], None, None
        try:
            os.symlink(processes.BIN, self.folder / "kubectl-annals")
            self.gateway = truth.Gateway(self.cluster.etcd.endpoint)
            self.lives = histories.Lives(PREFIXES)
            self.follower = stories.Follower(self.gateway, self.lives)
            self.manager = aggregated.shared(kube.controller_manager(self.cluster.kubeconfig, "deployment-controller",
                                                                     flags=["--use-service-account-credentials"]))
            self.install()
        except BaseException:
            self.stop()
            raise

    @property
    def everything(self):
        return [*self.cluster.everything, *(process for process in (self.manager, self.recorder) if process)]

    def install(self):
        cluster = self.cluster
        for name in (ROOM, NAMESPACE):
            cluster.kube.post(aggregated.NAMESPACES, {"metadata": {"name": name}})
        for user in (*USERS, IMPERSONATOR):
            cluster.bind(f"{user}-may", ("ClusterRole", "cluster-admin"), {"kind": "User", "name": user})
        for user in USERS:
            cluster.wait_allowed(user, verb="create", group="apps", resource="deployments", namespace=ROOM)
        recorder, hook = (yaml.safe_load((DEPLOY / path).read_text()) for path in ("recorders/workloads.yaml", "kustomize/components/recorder/webhook.yaml"))
        recorder["spec"]["historyLimit"] = 1000  # what is removed cannot be judged
        more = copy.deepcopy(hook)
        more["metadata"]["name"], more["webhooks"][0]["rules"] = "more", [{**hook["webhooks"][0]["rules"][0], "resources": ["secrets"]}]
        more["webhooks"][0]["clientConfig"]["service"]["path"] = f"{stories.V1}/recorders/more/admission"
        for one in (hook, more):
            one["webhooks"][0]["timeoutSeconds"] = 30  # a slow machine is no trouble
            cluster.make(WEBHOOKS, one)
        cluster.make(WEBHOOKS, {"metadata": {"name": "refuses"}, "webhooks": [
            {"name": "refuses.example.com", "clientConfig": self.refusing.at("/refuse"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
             "failurePolicy": "Ignore", "matchConditions": [{"name": "asked-for", "expression": REFUSES}],
             "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ROOM}},
             "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": sorted({kind.group for kind in KINDS}), "apiVersions": ["v1"],
                        "resources": [kind.plural for kind in KINDS], "scope": "*"}]}]})
        for one in (recorder, SECRETS):
            cluster.make(f"{stories.V1}/recorders", one)
        self.start_recorder()
        for name in ("workloads", "more"):
            processes.retry_until(lambda name=name: self.is_recording(name), f"{name} records", interval=0.1, patience=processes.LONG_PATIENCE)
        self.wait_asked()

    def is_recording(self, name):
        conditions = self.cluster.kube.get(f"{stories.V1}/recorders/{name}").json.get("status", {}).get("conditions", [])
        return any(one["type"] == "Recording" and one["status"] == "True" for one in conditions)

    def wait_asked(self):
        """kube-apiserver hears of webhooks a while after they were made."""
        def path(kind):
            return f"{aggregated.NAMESPACES}/default/{kind}"

        def is_asked(kind):
            self.cluster.kube.post(path(kind), {"metadata": {"name": "probe"}})
            self.cluster.kube.delete(f"{path(kind)}/probe")
            found = self.cluster.kube.get(f"{stories.V1}/namespaces/default/histories").json.get("items", [])
            return any(change.get("user") == "admin" for one in found if one["spec"]["subject"]["kind"].lower() + "s" == kind
                       for change in one.get("status", {}).get("changes", []))

        for kind in ("configmaps", "secrets"):
            processes.retry_until(lambda kind=kind: is_asked(kind), f"annals is asked about {kind}", interval=0.3)

    def start_recorder(self):
        self.recorder = aggregated.shared(processes.Process(
            [processes.BIN, "controllers", "--kubeconfig", self.cluster.kubeconfig, "--controllers=recorder", "--leader-elect=false"]))

    def fix(self):
        """Returns when all is as it was, but for the recorder, which may have to catch up."""
        self.cluster.kube.wait_ready()
        self.annals.replicas[0].wait_ready()
        self.annals.announce()
        self.annals.wait_available()

    def kubectl(self, *arguments, user=None, **more):
        path = f"{self.folder}:{os.environ['PATH']}"
        if user == IMPERSONATED:
            arguments, user = (*arguments, f"--as={user}"), IMPERSONATOR
        return self.cluster.kubectl(*arguments, "-n", ROOM, user=(user,) if user else None, PATH=path, **more)

    def stop(self):
        for process in (self.recorder, self.manager):
            if process:
                process.stop()
        self.cluster.stop()
        self.refusing.close()


class Reader(threading.Thread):
    """Reads the Histories all the time: each lists its last 50 changes only."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.listed, self.faults, self.is_over = client, collections.defaultdict(histories.Listed), [], False
        self.plurals = {kind.kind: kind.plural for kind in KINDS}

    def run(self):
        while not self.is_over:
            self.read()
            time.sleep(0.5)

    def read(self):
        """False: nobody answered."""
        try:
            answer = self.client.get(HISTORIES)
            items = answer.json["items"] if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return False
        for one in items or []:
            subject = one["spec"]["subject"]
            fault = self.listed[self.plurals[subject["kind"]], subject["name"]].take(one.get("status", {}), time.time())
            if fault:
                self.faults.append(f"{subject['kind']}/{subject['name']}: {fault}")
        return items is not None

    def end(self):
        self.is_over = True
        self.join()


# ---- users ----


class Away(Exception):
    """kube-apiserver did not answer."""


class User(threading.Thread):
    """Makes its share of changes. Its dice are those of the seed; what the others do meanwhile is up to the machine."""

    def __init__(self, world, crew, name, n_steps):
        super().__init__(daemon=True)
        self.world, self.crew, self.name, self.n_steps = world, crew, name, n_steps
        self.dice, self.n, self.error = random.Random(f"{SEED}/{name}"), 0, None
        self.base = 1000 * (USERS.index(name) + 1)
        self.client = world.cluster.client(IMPERSONATOR if name == IMPERSONATED else name)
        self.headers = {"Impersonate-User": name} if name == IMPERSONATED else {}

    def run(self):
        try:
            for _ in range(self.n_steps):
                self.step()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def step(self):
        kind, name, operation = self.dice.choice(KINDS), f"o{self.dice.randrange(N_NAMES)}", self.dice.choice(OPERATIONS)
        until = time.monotonic() + processes.LONG_PATIENCE
        while True:
            self.crew.may_go_on.wait()
            try:
                outcome = operation(self, kind, name)
                break
            except Away as error:
                assert time.monotonic() < until, f"{self.name} finds nobody: {error}"
                self.crew.n_failures += 1
                time.sleep(0.1)
        with self.crew.lock:
            self.crew.outcomes[operation.__name__, outcome] += 1
            self.crew.n_steps += 1

    # ---- requests ----

    def ask(self, method, kind, name, body=None, content_type="application/json", tail="", **query):
        """The answer; one that made a version is kept."""
        query = "&".join(f"{key}={value}" for key, value in query.items())
        path = path_of(kind)[1] + (f"/{name}" if name else "") + tail + (f"?{query}" if query else "")
        try:
            answer = self.client.request(method, path, body, headers={"Content-Type": content_type, **self.headers})
        except (OSError, http.client.HTTPException):
            raise Away from None
        if answer.status == 503:  # kube-apiserver begins or ends
            raise Away
        if method in ("POST", "PUT", "PATCH") and answer.status in (200, 201) and "dryRun" not in query and tail != "/scale":
            self.crew.keep(kind, name, self.name, answer.json)
        return answer

    def said(self, answer):
        return "done" if answer.status < 300 else f"{answer.status}"

    def kubectl(self, *arguments, **more):
        done = self.world.kubectl(*arguments, user=self.name, **more)
        if done.returncode and "refused" in done.stderr:  # by whoever does not listen
            raise Away(done.stderr)
        return "done" if done.returncode == 0 else "failed"

    def value(self):
        """New, or one of a few that all users take: a state that was before, or that another user asks for at the same time."""
        self.n += 1
        return str(self.base + self.n if self.dice.random() < 0.75 else self.dice.randrange(1, 4))

    def body(self, kind, name, n=None):
        metadata = {"name": name, "namespace": ROOM, "labels": {"of": "users"}}
        return {"apiVersion": path_of(kind)[0], "kind": kind.kind, "metadata": metadata, **kind.content(n or self.value())}

    # ---- operations: of an object that is not there most make one ----

    def create(self, kind, name):
        return self.said(self.ask("POST", kind, "", self.body(kind, name)))

    def changed(self, kind, name, answer):
        """What a change answered, or a creation in its place."""
        return self.create(kind, name) if answer.status == 404 else self.said(answer)

    def update(self, kind, name):
        found = self.ask("GET", kind, name)
        if found.status == 200:
            live = found.json
            merge(live, kind.content(self.value()))
            found = self.ask("PUT", kind, name, live)
        return self.changed(kind, name, found)

    def merge_patch(self, kind, name):
        return self.changed(kind, name, self.ask("PATCH", kind, name, kind.content(self.value()), MERGE))

    def strategic_patch(self, kind, name):
        return self.changed(kind, name, self.ask("PATCH", kind, name, kind.content(self.value()), STRATEGIC))

    def json_patch(self, kind, name):
        value = histories.value_at(kind.content(self.value()), kind.pointer)
        return self.changed(kind, name, self.ask("PATCH", kind, name, [{"op": "replace", "path": kind.pointer, "value": value}], JSON))

    def apply(self, kind, name):
        return self.said(self.ask("PATCH", kind, name, self.body(kind, name), APPLY, fieldManager=self.name, force="true"))

    def kubectl_apply(self, kind, name):
        return self.kubectl("apply", "-f", "-", input=json.dumps(self.body(kind, name)))

    def scale(self, kind, name):
        if kind.plural not in SCALED:
            return self.label(kind, name)
        replicas = self.dice.randrange(4)
        if self.dice.random() < 0.3:
            return self.kubectl("scale", typed(kind, name), f"--replicas={replicas}")
        return self.changed(kind, name, self.ask("PATCH", kind, name, {"spec": {"replicas": replicas}}, MERGE, tail="/scale"))

    def label(self, kind, name):
        value = self.dice.choice([None, "web", self.value()])
        return self.changed(kind, name, self.ask("PATCH", kind, name, {"metadata": {"labels": {"app": value}}}, MERGE))

    def annotate(self, kind, name):
        patch = {"metadata": {"annotations": {"example.com/by": self.dice.choice([self.name, None])}}}
        return self.changed(kind, name, self.ask("PATCH", kind, name, patch, MERGE))

    def remove(self, kind, name):
        return self.said(self.ask("DELETE", kind, name))

    def recreate(self, kind, name):
        self.ask("DELETE", kind, name)
        return self.create(kind, name)

    def remove_some(self, kind, _name):
        value = self.dice.choice(["web", "nothing"])
        return self.said(self.ask("DELETE", kind, "", labelSelector=f"app%3D{value}"))

    def rollout_undo(self, kind, name):
        return self.kubectl("rollout", "undo", f"deployment/{name}") if kind.plural == "deployments" else self.go_back(kind, name)

    def undo(self, kind, name):
        revision = [f"--to-revision={self.dice.randrange(1, 6)}"] if self.dice.random() < 0.5 else []
        return self.kubectl("annals", "undo", typed(kind, name), "--yes", "--request-timeout=5s", *revision)

    def restore(self, kind, name):
        self.ask("DELETE", kind, name)
        return self.kubectl("annals", "restore", typed(kind, name), "--yes", "--request-timeout=5s")

    def go_back(self, kind, name):
        """To the state that somebody else had made."""
        found, earlier = self.ask("GET", kind, name), self.crew.earlier(kind, name, self.dice)
        if found.status != 200 or not earlier:
            return self.changed(kind, name, found) if found.status != 200 else self.update(kind, name)
        body = {key: value for key, value in earlier.items() if key != "status"}
        metadata = {key: earlier["metadata"][key] for key in ("name", "namespace", "labels", "annotations") if key in earlier["metadata"]}
        body["metadata"] = {**metadata, "resourceVersion": found.json["metadata"]["resourceVersion"]}
        return self.said(self.ask("PUT", kind, name, body))

    # ---- operations of which nothing is recorded ----

    def refused_by_a_webhook(self, kind, name):
        """annals is asked as well, and allows it."""
        patch = {"metadata": {"annotations": {REFUSED: "refuse"}}, **kind.content(self.value())}
        answer = self.ask("PATCH", kind, name, patch, MERGE)
        return "REFUSED NOT" if answer.status < 300 else self.said(answer)

    def refused_as_stale(self, kind, name):
        found = self.ask("GET", kind, name)
        if found.status != 200:
            return self.said(found)
        live = found.json
        merge(live, kind.content(self.value()))
        live["metadata"]["resourceVersion"] = str(int(live["metadata"]["resourceVersion"]) - 1)
        answer = self.ask("PUT", kind, name, live)
        return "REFUSED NOT" if answer.status < 300 else self.said(answer)

    def refused_as_invalid(self, kind, name):
        answer = self.ask("PATCH", kind, name, {"metadata": {"labels": {"app": "not valid"}}, **kind.content(self.value())}, MERGE)
        return "REFUSED NOT" if answer.status < 300 else self.said(answer)

    def dry_run(self, kind, name):
        way = self.dice.randrange(3)
        if way == 0:
            return self.said(self.ask("POST", kind, "", self.body(kind, name), dryRun="All"))
        if way == 1:
            return self.said(self.ask("PATCH", kind, name, kind.content(self.value()), MERGE, dryRun="All"))
        return self.said(self.ask("DELETE", kind, name, dryRun="All"))

    def write_status(self, kind, name):
        if kind.plural not in WITH_STATUS:
            return self.change_cause(kind, name)
        status = {"services": {"loadBalancer": {"ingress": [{"ip": f"10.1.1.{self.dice.randrange(255)}"}]}},
                  "cronjobs": {"lastScheduleTime": f"2026-01-01T00:00:{self.dice.randrange(60):02d}Z"}}
        return self.said(self.ask("PATCH", kind, name, {"status": status.get(kind.plural, {"replicas": self.dice.randrange(9)})}, MERGE, tail="/status"))

    def change_cause(self, kind, name):
        return self.said(self.ask("PATCH", kind, name, {"metadata": {"annotations": {REFUSED: self.value()}}}, MERGE))

    def change_nothing(self, kind, name):
        found = self.ask("GET", kind, name)
        return self.said(self.ask("PUT", kind, name, found.json) if found.status == 200 else found)


OPERATIONS = [User.update, User.merge_patch, User.strategic_patch, User.json_patch, User.apply, User.scale, User.label, User.annotate] * 3 + [
    User.go_back, User.remove, User.recreate] * 2 + [
    User.kubectl_apply, User.rollout_undo, User.undo, User.restore, User.remove_some, User.refused_by_a_webhook, User.refused_as_stale,
    User.refused_as_invalid, User.dry_run, User.write_status, User.change_cause, User.change_nothing]


def merge(target, patch):
    """A merge patch without removals."""
    for name, value in patch.items():
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = value


class Crew:
    """The users, and what they were answered."""

    MEMORY = 20  # earlier objects of each name

    def __init__(self, world):
        self.lock, self.outcomes, self.n_steps, self.n_failures = threading.Lock(), collections.Counter(), 0, 0
        self.answers, self.bodies = [], collections.defaultdict(lambda: collections.deque(maxlen=self.MEMORY))
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.users = [User(world, self, name, CHANGES // len(USERS)) for name in USERS]

    def keep(self, kind, name, user, shown):
        with self.lock:
            key, version = (kind.plural, name or shown["metadata"]["name"]), int(shown["metadata"]["resourceVersion"])
            self.answers.append((key, version, user, json.dumps(histories.state_of(shown), sort_keys=True)))
            self.bodies[key].append(shown)

    def earlier(self, kind, name, dice):
        with self.lock:
            kept = list(self.bodies[kind.plural, name])
        return copy.deepcopy(dice.choice(kept)) if kept else None

    @property
    def is_over(self):
        return not any(user.is_alive() for user in self.users)

    def wait(self, is_so, what):
        processes.retry_until(lambda: self.is_over or is_so(), what, interval=0.05, patience=processes.LONG_PATIENCE * 10)

    def wait_steps(self, n):
        """Until so many steps are done, all in all."""
        self.wait(lambda: self.n_steps >= n, f"{n} steps")

    def end(self):
        for user in self.users:
            user.join()
        for user in self.users:
            if user.error:
                raise user.error


# ---- troubles ----


def kill_recorder(world, crew, dice):
    world.recorder.kill()
    crew.wait_steps(crew.n_steps + dice.randrange(1, 12))
    world.start_recorder()


def kill_annals(world, crew, dice):
    world.annals.replicas[0].kill()
    crew.wait_steps(crew.n_steps + dice.randrange(1, 8))
    world.annals.start_replica(0, wait=False)


def kill_etcd_of_annals(world, crew, dice):
    world.annals.etcd.kill()
    crew.wait_steps(crew.n_steps + dice.randrange(1, 8))
    world.annals.start_etcd()


def kill_kube(world, crew, _dice):
    before = crew.n_failures
    world.cluster.kube.kill()
    crew.wait(lambda: crew.n_failures > before, "a user to notice")
    world.cluster.start_kube(wait=False)


def kill_recorder_and_forget(world, crew, dice):
    """A new kube-apiserver has no events of before, and etcd none either: the next recorder gets 410, and lists."""
    world.recorder.kill()
    crew.wait_steps(crew.n_steps + dice.randrange(5, 15))
    kill_kube(world, crew, dice)
    world.gateway.compact(world.follower.catch_up())
    world.cluster.kube.wait_ready()
    crew.wait_steps(crew.n_steps + dice.randrange(1, 5))
    world.start_recorder()


TROUBLES = [kill_recorder, kill_annals, kill_recorder_and_forget, kill_etcd_of_annals, kill_kube]


def trouble(world, crew, reader, dice):
    """Each kind of trouble in turn, and then by the dice, between changes. Returns [(name, began, over)]: over when all that happened is recorded."""
    found, first = [], dice.sample(TROUBLES, len(TROUBLES))
    for number in range(N_TROUBLES):
        calm = max(2, (CHANGES - crew.n_steps) // (2 * (N_TROUBLES - number) + 1))
        crew.wait_steps(crew.n_steps + calm + dice.randrange(calm // 2))
        chosen, began = first[number] if number < len(first) else dice.choice(TROUBLES), time.time()
        print(f"{time.strftime('%H:%M:%S')} {chosen.__name__} after {crew.n_steps} steps", flush=True)
        chosen(world, crew, dice)
        if dice.random() < 0.6:  # else they go on while all comes back
            crew.may_go_on.clear()
        world.fix()
        found.append((chosen.__name__, began, wait_caught_up(world, reader)))
        crew.may_go_on.set()
    return found


def wait_caught_up(world, reader):
    """Until a change that is made now of each kind is recorded."""
    stamp, last = f"{time.time():.3f}", {}

    def is_made(kind):
        api_version, path = path_of(kind)
        body = {"apiVersion": api_version, "kind": kind.kind, "metadata": {"name": "calm", "labels": {"now": stamp}}, **kind.content("1")}
        answer = world.cluster.kube.patch(f"{path}/calm", {"metadata": body["metadata"]})
        answer = world.cluster.kube.post(path, body) if answer.status == 404 else answer
        if answer.status in (200, 201):
            last[kind.plural] = int(answer.json["metadata"]["resourceVersion"])
        return kind.plural in last

    def is_recorded(kind):
        changes = list(reader.listed[kind.plural, "calm"].changes)
        return changes and int(changes[-1].get("resourceVersion", "0")) >= last[kind.plural]

    for kind in KINDS:
        processes.retry_until(lambda kind=kind: is_made(kind), f"a calm {kind.kind}", interval=0.2)
    for kind in KINDS:
        processes.retry_until(lambda kind=kind: is_recorded(kind), f"the calm {kind.kind} is recorded", interval=0.1, patience=processes.LONG_PATIENCE)
    return time.time()


# ---- the end ----


def last_states(world, reader):
    """[(key, version)] of objects whose last state is not the one that was recorded last."""
    open_ends = []
    for key, versions in list(world.lives.found.items()):
        states = [version.value and (version.value["metadata"]["uid"], histories.state_of(version.value)) for version in versions]
        changes = reader.listed[key].changes if key in reader.listed else []
        if states[-1] is None:
            is_told = not changes or changes[-1]["type"] == "Deleted"
        else:
            same = [version.revision for version, state in zip(versions, states) if state == states[-1]]
            is_told = changes and int(changes[-1].get("resourceVersion", "0")) in same
        if not is_told:
            open_ends.append((key, versions[-1].revision))
    return open_ends


def wait_recorded(world, reader):
    world.follower.catch_up()
    try:
        processes.retry_until(lambda: reader.read() and not last_states(world, reader), "all is recorded", interval=0.3, patience=processes.LONG_PATIENCE)
    except TimeoutError:
        print(f"not recorded in the end: {last_states(world, reader)}")  # the judge says more


def all_states(world):
    """{name: data} of all revisions, in chunks."""
    found, tail = {}, ""
    while True:
        shown = world.cluster.kube.get(f"{REVISIONS}?limit=500{tail}").json
        found |= {one["metadata"]["name"]: one["data"] for one in shown["items"]}
        if not shown["metadata"].get("continue"):
            return found
        tail = f"&continue={shown['metadata']['continue']}"


def check_answers(evidence, answers):
    """Users saw the very versions that etcd has, and the audit log knows who made them."""
    for key, version, user, state in answers:
        kept = next((one.value for one in evidence.lives.found[key] if one.revision == version), None)
        assert kept, f"{user} was answered version {version} of {key}, which etcd never had"
        assert json.dumps(histories.state_of(kept), sort_keys=True) == state, f"version {version} of {key}"
        assert user in {write.user for write in evidence.audit.by_version[version]}, f"version {version} of {key} is not of {user}"


def check_plugin(world, evidence, dice, n):
    """verify, log, show and diff say the same."""
    verified = world.kubectl("annals", "verify", "-A")
    assert verified.returncode == 0 and " 0 altered, 0 missing" in verified.stdout + verified.stderr, verified
    lines = verified.stdout.splitlines()
    first = next(n for n, line in enumerate(lines) if " histories, " in line)
    assert all("no longer listed" in line for line in lines[first + 1:]), verified.stdout
    print("\n".join(lines[first:]))
    plurals = {kind.kind: kind.plural for kind in KINDS}
    told = collections.defaultdict(list)
    shown = world.kubectl("annals", "log", "-o", "json", "--tail=-1")
    assert shown.returncode == 0, shown.stderr
    for entry in json.loads(shown.stdout)["items"]:
        told[plurals[entry["subject"]["kind"]], entry["subject"]["name"]].append(entry["change"])
    assert told == {key: listed.changes[-len(told[key]):] for key, listed in evidence.listed.items() if listed.changes}
    fit = [(key, change) for key, changes in sorted(told.items()) for change in changes if "number" in change]
    for key, change in dice.sample(fit, min(n, len(fit))):
        check_revision(world, evidence, key, change, dice.choice([one for one in told[key] if "number" in one]))


def check_revision(world, evidence, key, change, other):
    what = typed(next(kind for kind in KINDS if kind.plural == key[0]), key[1])
    shown = world.kubectl("annals", "show", what, f"--revision={change['number']}", "-o", "json")
    assert shown.returncode == 0, f"{what} {change}: {shown.stderr}"
    state, wanted = (evidence.states[one["revision"]] for one in (change, other))
    assert histories.canonical(json.loads(shown.stdout)) == histories.canonical(state), f"{what} {change}: {shown.stdout}"
    differs = world.kubectl("annals", "diff", what, f"--revision={change['number']}", f"--to={other['number']}", "-o", "json")
    assert differs.returncode == 0, f"{what} {change} {other}: {differs.stderr}"
    operations = json.loads(differs.stdout or "[]")
    assert histories.canonical(histories.patched(state, operations)) == histories.canonical(wanted), f"{what} {change} {other}: {operations}"


def check_doctored(evidence, dice):
    """The judge can see: each piece of evidence that is made wrong is found wrong."""
    unseen = [what for what, wrong in histories.doctored(evidence, dice, USERS) if not histories.judge(wrong).faults]
    assert not unseen, f"the judge did not notice that {unseen}"


def save_evidence(evidence):
    """For a look at it: HISTORY_EVIDENCE names a file."""
    if "HISTORY_EVIDENCE" in os.environ:
        with open(os.environ["HISTORY_EVIDENCE"], "wb") as file:
            pickle.dump(evidence, file)


@pytest.fixture
def world(folder, certificates):
    made = World(folder, certificates)
    yield made
    everything = made.everything
    made.stop()
    troubles = [trouble for process in everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


@pytest.mark.long
def test_history_random__lists_what_happened_and_who_did_it(world):
    print(f"HISTORY_CHANGES={CHANGES} HISTORY_SEED={SEED}", flush=True)
    dice, crew, reader = random.Random(SEED), Crew(world), Reader(world.cluster.kube.client)
    reader.start()
    for user in crew.users:
        user.start()
    troubles = trouble(world, crew, reader, dice)
    crew.end()
    wait_recorded(world, reader)
    reader.end()
    events = aggregated.whole_lines(world.cluster.audit_log)
    evidence = histories.Evidence(world.lives, histories.Audit(events, {IMPERSONATOR: IMPERSONATED}), dict(reader.listed), all_states(world), troubles)
    for (operation, outcome), n in sorted(crew.outcomes.items()):
        print(f"{n:6} {operation} {outcome}")
    check_answers(evidence, crew.answers)
    verdict = histories.judge(evidence)
    print(verdict)
    print("\n".join([*verdict.unseen, *verdict.unexcused[:10]]))
    save_evidence(evidence)
    assert not reader.faults and not verdict.faults, "\n".join([f"{len(verdict.faults)} faults", *reader.faults[:5], *verdict.faults[:20]])
    assert not any("REFUSED NOT" in outcome for _, outcome in crew.outcomes)
    assert verdict.share > 0.995 or not verdict.unexcused and CHANGES < 1000
    assert verdict.listed > CHANGES / 4 and verdict.calm > CHANGES / 20
    check_plugin(world, evidence, dice, 8 + CHANGES // 250)
    check_doctored(evidence, dice)
