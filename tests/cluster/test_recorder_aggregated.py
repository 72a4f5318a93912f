"""What changed, and who changed it, in a cluster: annals is installed with what records, behind a real kube-apiserver with controllers of
kube-controller-manager. Three users change objects with kubectl and helm; the log must name each change, its paths and its user, and each
recorded state must come back exactly."""

import base64
import collections
import json
import os

import pytest
import yaml

import kube
import processes
from aggregated import ANNALS, RBAC, Cluster, whole_lines
from installed import DEPLOY, MEMBERS, NAMESPACE, Installed
from metrics import Metrics

HELM = processes.PEERS / "helm"
ROOM = "shop"
SECRETS = ("rosebud-7361", "swordfish-9042", "xanadu-5518")
CONTROLLERS = ("clusterrole-aggregation-controller", "deployment-controller")
RECORDER = f"system:serviceaccount:{NAMESPACE}:annals-recorder"
CONTROLLER = "system:serviceaccount:kube-system:deployment-controller"
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1.28"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}
READER = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
SOMEBODY = [{"kind": "User", "name": "zoe", "apiGroup": "rbac.authorization.k8s.io"}]


def replace(path, value):
    return [{"op": "replace", "path": path, "value": value}]


# (apiVersion, kind, name, what it holds, what is changed of it): all by kubectl. A JSON patch of one value: its path is the change's.
OBJECTS = [
    ("v1", "ConfigMap", "settings", {"data": {"colour": "blue", "size": "3"}}, replace("/data/colour", "red")),
    ("v1", "ConfigMap", "greeting", {"data": {"text": "hello\nworld\n"}}, replace("/data/text", "goodbye\nworld\n")),
    ("v1", "Service", "web", {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}, replace("/spec/selector/app", "other")),
    ("v1", "ServiceAccount", "robot", {"automountServiceAccountToken": True}, replace("/automountServiceAccountToken", False)),
    ("apps/v1", "Deployment", "web", {"spec": {"replicas": 2, "selector": SELECTOR, "template": POD}},
     replace("/spec/template/spec/containers/0/image", "nginx:1.29")),
    ("apps/v1", "StatefulSet", "db", {"spec": {"serviceName": "db", "selector": SELECTOR, "template": POD}}, replace("/spec/replicas", 3)),
    ("apps/v1", "DaemonSet", "agent", {"spec": {"selector": SELECTOR, "template": POD}}, replace("/spec/template/spec/containers/0/image", "nginx:1.30")),
    ("batch/v1", "CronJob", "nightly", {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "job:1"}]}}}}}}, replace("/spec/schedule", "0 4 * * *")),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "web", {"spec": {"maxReplicas": 5, "scaleTargetRef": {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}}}, replace("/spec/maxReplicas", 9)),
    ("policy/v1", "PodDisruptionBudget", "web", {"spec": {"minAvailable": 1, "selector": SELECTOR}}, replace("/spec/minAvailable", 2)),
    ("networking.k8s.io/v1", "Ingress", "web", {"spec": {"rules": [{"host": "a.example.com", "http": {"paths": [{
        "path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}},
     replace("/spec/rules/0/host", "b.example.com")),
    ("networking.k8s.io/v1", "NetworkPolicy", "deny", {"spec": {"podSelector": SELECTOR, "policyTypes": ["Ingress"]}},
     replace("/spec/podSelector/matchLabels/app", "other")),
    ("rbac.authorization.k8s.io/v1", "Role", "reader", {"rules": READER}, replace("/rules/0/verbs/0", "list")),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "reader", {"subjects": SOMEBODY, "roleRef": {
        "kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}}, replace("/subjects/0/name", "yves")),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "shop-reader", {"rules": READER}, replace("/rules/0/verbs/0", "watch")),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "shop-reader", {"subjects": SOMEBODY, "roleRef": {
        "kind": "ClusterRole", "name": "shop-reader", "apiGroup": "rbac.authorization.k8s.io"}}, replace("/subjects/0/name", "yves")),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.shop.example.com", {"spec": {
        "group": "shop.example.com", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets", "shortNames": ["gad"]},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}},
     replace("/spec/names/shortNames/0", "gdg")),
    ("v1", "Secret", "credentials", {"stringData": {"password": SECRETS[0], "user": "admin"}},
     replace("/data/password", base64.b64encode(SECRETS[1].encode()).decode())),
]
CLUSTER_SCOPED = ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: tiny\nversion: 1.0.0\n",
    "values.yaml": "colour: green\nport: 80\n",
    "templates/all.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: released}
data: {colour: {{ .Values.colour }}}
---
apiVersion: v1
kind: Service
metadata: {name: released}
spec: {selector: {app: web}, ports: [{port: {{ .Values.port }}}]}
""",
}

# What this cluster records besides: what deploy/ leaves out, as its comments say how.
MORE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: recorder-more, labels: {annals.dev/aggregate-to-recorder: "true"}}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [replicasets], verbs: [get, list, watch]}
- {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch]}
---
apiVersion: annals.dev/v1
kind: Recorder
metadata: {name: more}
spec:
  resources:
  - {groups: [""], resources: [secrets]}
  - {groups: [apps], resources: [replicasets]}
  - {groups: [batch], resources: [jobs]}
"""


def object_of(row):
    api_version, kind, name, content, _ = row
    metadata = {"name": name} if kind in CLUSTER_SCOPED else {"name": name, "namespace": ROOM}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def id_of(row):
    return row[1], row[2]


def typed(row):
    """As kubectl takes it."""
    api_version, kind, name, *_ = row
    group, _, version = api_version.rpartition("/")
    return f"{kind.lower()}.{version}.{group}/{name}" if group else f"{kind.lower()}/{name}"


DERIVED = ("kubectl.kubernetes.io/last-applied-configuration", "kubernetes.io/change-cause", "deployment.kubernetes.io/revision",
           "deprecated.daemonset.template.generation")


def state_of(shown):
    """What of an object is recorded."""
    recorded = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers", "generateName")
    metadata = {name: value for name, value in shown["metadata"].items() if name in recorded}
    annotations = {name: value for name, value in metadata.pop("annotations", {}).items() if name not in DERIVED}
    metadata |= {"annotations": annotations} if annotations else {}
    if shown["kind"] == "CustomResourceDefinition":
        metadata.pop("finalizers", None)  # kube-apiserver's own, which it adds when it comes to it
    return {**{name: value for name, value in shown.items() if name != "status"}, "metadata": metadata}


class World:
    """A cluster with annals in it that records."""

    controllers = CONTROLLERS

    def __init__(self, folder, certificates):
        self.folder = folder
        self.cluster = Cluster(folder / "cluster", certificates, controllers=False)
        os.symlink(processes.BIN, self.cluster.folder / "kubectl-annals")
        self.manager, self.installed = None, None
        try:
            self.manager = self.shared(kube.controller_manager(self.cluster.kubeconfig, *self.controllers, flags=["--use-service-account-credentials"]))
            self.installed = Installed(self.cluster, "annals-certs-etcd-recorder")
            self.cluster.wait_available(ANNALS.kind)
            self.record()
        except BaseException:
            self.stop()
            raise
        for process in self.installed.everything:
            self.shared(process)

    @staticmethod
    def shared(process):
        process.is_shared = True
        return process

    # ---- what is recorded ----

    def record(self):
        kubectl = self.kubectl
        self.make_patient("annals-recorder")
        self.ask_about_more()
        kubectl("apply", "-f", DEPLOY / "recorders" / "workloads.yaml")
        kubectl("apply", "-f", "-", input=MORE)
        kubectl("create", "namespace", ROOM)
        for user in ("alice", "bob", "carol"):
            self.cluster.bind(f"{user}-may", ("ClusterRole", "cluster-admin"), {"kind": "User", "name": user})
            self.cluster.wait_allowed(user, verb="create", group="apps", resource="deployments", namespace=ROOM)
        processes.retry_until(lambda: "secrets" in json.dumps(self.cluster.kube.get(f"{RBAC}/clusterroles/annals-recorder-reads").json["rules"]),
                              "the recorder's rights are gathered")
        for group, resource, verb in (("", "secrets", "list"), ("apps", "deployments", "list"), ("annals.dev", "histories", "create")):
            self.cluster.wait_allowed(RECORDER, verb=verb, group=group, resource=resource)
        self.installed.start_recorder()
        for name in ("workloads", "more"):
            processes.retry_until(lambda name=name: self.is_recording(name), f"{name} records", interval=0.1, patience=processes.LONG_PATIENCE)
        for kind in ("configmap", "secret generic"):
            self.wait_asked(kind)

    def make_patient(self, name):
        """What is installed waits for a second at most, and does without. Here no user may be lost because a machine is slow."""
        hook = json.loads(self.kubectl("get", "validatingwebhookconfiguration", name, "-o", "json"))
        (one,) = hook["webhooks"]
        assert (one["failurePolicy"], one["timeoutSeconds"]) == ("Ignore", 1)
        one |= {"failurePolicy": "Fail", "timeoutSeconds": 30}
        self.kubectl("replace", "-f", "-", input=json.dumps(hook))

    def ask_about_more(self):
        hook = json.loads(self.kubectl("get", "validatingwebhookconfiguration", "annals-recorder", "-o", "json"))
        one = hook["webhooks"][0]
        rule = {"apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"], "scope": "*"}
        one["rules"] = [{**rule, "apiGroups": [""], "resources": ["secrets"]}, {**rule, "apiGroups": ["apps"], "resources": ["replicasets"]},
                        {**rule, "apiGroups": ["batch"], "resources": ["jobs"]}]
        one["clientConfig"]["service"]["path"] = "/apis/annals.dev/v1/recorders/more/admission"
        one["clientConfig"].pop("caBundle", None)
        self.kubectl("create", "-f", "-", input=json.dumps({**hook, "metadata": {"name": "recorder-more"}}))

    def is_recording(self, name):
        recorder = json.loads(self.kubectl("get", "recorder", name, "-o", "json"))
        conditions = recorder.get("status", {}).get("conditions", [])
        return any(one["type"] == "Recording" and one["status"] == "True" for one in conditions)

    def wait_asked(self, kind):
        """kube-apiserver hears of a webhook a while after it was made."""
        def is_asked():
            before = self.noted()
            self.kubectl("create", *kind.split(), "probe", "--from-literal=a=b", "-n", "default")
            self.kubectl("delete", kind.split()[0], "probe", "-n", "default")
            return self.noted() >= before + 2

        processes.retry_until(is_asked, f"annals is asked about each {kind}", interval=0.1)

    def noted(self):
        return Metrics(self.installed.annals.process).sum("annals_user_notes_total")

    # ---- users ----

    def kubectl(self, *arguments, user=None, **more):
        done = self.try_kubectl(*arguments, user=user, **more)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments, user=None, **more):
        path = f"{self.cluster.folder}:{os.environ['PATH']}"
        return self.cluster.kubectl(*arguments, user=(user,) if user else None, PATH=path, **more)

    def helm(self, *arguments, user):
        env = self.cluster._kubectl_env((user,), {})
        return processes.run([HELM, "--namespace", ROOM, *arguments], env=env, check=True)

    def states(self, rows):
        """{(kind, name): state} of those that are there."""
        shown = json.loads(self.kubectl("get", "-n", ROOM, *(typed(row) for row in rows), "-o", "json"))
        return {(one["kind"], one["metadata"]["name"]): state_of(one) for one in shown["items"]}

    def log(self):
        """{(kind, name): changes} of what is in the room, and of what is in no namespace."""
        entries = json.loads(self.kubectl("annals", "log", "-A", "-o", "json"))["items"]
        told = collections.defaultdict(list)
        for entry in entries:
            if entry["subject"].get("namespace", ROOM) == ROOM:
                told[entry["subject"]["kind"], entry["subject"]["name"]].append(entry["change"])
        return told

    def wait_told(self, expected):
        """{(kind, name): how many changes}: recording takes a moment."""
        def is_told():
            told = self.log()
            return all(len(told[key]) >= n for key, n in expected.items())

        try:
            processes.retry_until(is_told, "all changes are recorded", interval=0.2)
        except TimeoutError:
            told = self.log()
            raise AssertionError({key: (n, told[key]) for key, n in expected.items() if len(told[key]) < n}) from None

    def stop(self):
        if self.installed:
            self.installed.stop()
        if self.manager:
            self.manager.stop()
        self.cluster.stop()


@pytest.fixture
def world(certificates, folder):
    if not HELM.exists():
        pytest.skip("tests/cluster/build.sh has not been run")
    made = World(folder, certificates)
    yield made
    everything = [*made.cluster.everything, *made.installed.everything, made.manager]
    made.stop()
    troubles = [trouble for process in everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


def who(change):
    return change["type"], change.get("user"), change.get("paths", [])


def of_users(changes):
    """Without kube-apiserver's own, of the finalizers of a CustomResourceDefinition."""
    return [who(change) for change in changes if not all(path.startswith("/metadata/finalizers") for path in change.get("paths") or ["/"])]


def change_everything(world):
    """The state of each object, as alice has made it, before bob has changed it."""
    world.kubectl("apply", "-f", "-", user="alice", input=yaml.safe_dump_all([object_of(row) for row in OBJECTS]))
    made = world.states(OBJECTS)
    for row in OBJECTS:
        world.kubectl("patch", "-n", ROOM, typed(row), "--type=json", "-p", json.dumps(row[4]), user="bob")
    chart = world.folder / "tiny"
    for name, text in CHART.items():
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(text, encoding="utf-8")
    world.helm("install", "one", chart, user="carol")
    world.helm("upgrade", "one", chart, "--set", "colour=yellow,port=8080", user="carol")
    return made


def check_log_names_each_change_its_paths_and_its_user(world, states):
    world.wait_told({**{key: 2 for key in states}, ("ConfigMap", "released"): 2, ("Service", "released"): 2})
    told = world.log()
    for row in OBJECTS:
        (patch,) = row[4]
        assert of_users(told[id_of(row)]) == [("Created", "alice", []), ("Changed", "bob", [patch["path"]])], row
    assert [who(change) for change in told["ConfigMap", "released"]] == [("Created", "carol", []), ("Changed", "carol", ["/data/colour"])]
    kind, user, paths = who(told["Service", "released"][1])
    assert (kind, user, "/spec/ports/0/port" in paths) == ("Changed", "carol", True)
    kinds = {kind for kind, _ in states}
    assert len(kinds) >= 10 and len(states) + 2 >= 20
    text = world.kubectl("annals", "log", "-n", ROOM, "deployment/web")
    assert "alice" in text and "bob" in text and "/spec/template/spec/containers/0/image" in text


def check_controllers_are_users_too(world, states):
    """kube-controller-manager's deployment controller makes a ReplicaSet, and scales it."""
    world.kubectl("create", "deployment", "scaled", "-n", ROOM, "--image=nginx:1.28", user="alice")
    world.wait_told({("Deployment", "scaled"): 1})

    def changes():
        return [change for (kind, name), changes in world.log().items() if kind == "ReplicaSet" and name.startswith("scaled-") for change in changes]

    processes.retry_until(changes, "the ReplicaSet is recorded", interval=0.2)
    world.kubectl("patch", "deployment", "scaled", "-n", ROOM, "--type=merge", "-p", '{"spec":{"replicas":3}}', user="bob")
    processes.retry_until(lambda: any("/spec/replicas" in change.get("paths", []) for change in changes()), "it is scaled", interval=0.2)
    assert {change.get("user") for change in changes()} == {CONTROLLER}
    assert {change["type"] for change in changes()} == {"Created", "Changed"}


def check_who_scales_is_named(world):
    """The state that bob returns to is the one that alice made: kubectl scale writes a subresource, which the webhook hears as well."""
    world.kubectl("create", "deployment", "sleeper", "-n", ROOM, "--image=nginx:1.28", "--replicas=0", user="alice")
    for number, replicas in enumerate((1, 0, 1, 0), start=2):
        world.kubectl("scale", "deployment", "sleeper", "-n", ROOM, f"--replicas={replicas}", user="bob" if number < 4 else "carol")
        world.wait_told({("Deployment", "sleeper"): number})
    told = [who(change) for change in world.log()["Deployment", "sleeper"]]
    scaled = ["/spec/replicas"]
    assert told == [("Created", "alice", []), *[("Changed", user, scaled) for user in ("bob", "bob", "carol", "carol")]]


def check_manager_is_no_user(world):
    """Who applies chooses the name of the field manager."""
    world.kubectl("create", "configmap", "named", "-n", ROOM, "--from-literal=a=b", "--field-manager=the-ceo", user="bob")
    world.wait_told({("ConfigMap", "named"): 1})
    (change,) = world.log()["ConfigMap", "named"]
    assert (change["user"], change["managers"]) == ("bob", ["the-ceo"])
    assert world.kubectl("get", "histories", "-n", ROOM, "-o", "name", "--field-selector=status.by=the-ceo") == ""


def check_undo_and_restore_bring_back_the_recorded_state(world, states):
    """Of each object, exactly: bob's change is undone; then he deletes the object, and alice recreates it. What a Secret held is recorded
    nowhere, so it has a test of its own."""
    rows = [row for row in OBJECTS if row[1] != "Secret"]
    recorded = {id_of(row): states[id_of(row)] for row in rows}
    world.wait_told({key: 2 for key in recorded})
    for row in rows:
        world.kubectl("annals", "undo", typed(row), "-n", ROOM, "--yes", user="alice")
    assert world.states(rows) == recorded
    world.wait_told({key: 3 for key in recorded})
    world.kubectl("delete", "-n", ROOM, *(typed(row) for row in rows), user="bob")
    world.wait_told({key: 4 for key in recorded})
    for row in rows:
        world.kubectl("annals", "restore", typed(row), "-n", ROOM, user="alice")
    assert world.states(rows) == recorded
    world.wait_told({key: 5 for key in recorded})
    told = world.log()
    for row in rows:
        (patch,) = row[4]
        expected = [("Changed", "alice", [patch["path"]]), ("Deleted", "bob", []), ("Created", "alice", [])]
        assert of_users(told[id_of(row)])[2:] == expected, row


def check_a_job_is_made_again(world, states):
    """Labels of its pods and its selector name its uid. Another Job has another one, and with that it is as it was."""
    def live():
        job = json.loads(world.kubectl("get", "job", "once", "-n", ROOM, "-o", "json"))
        uid = job["metadata"]["uid"]
        return uid, json.loads(json.dumps(state_of(job)).replace(uid, "UID"))

    world.kubectl("create", "job", "once", "-n", ROOM, "--image=job:1", user="alice")
    first, made = live()
    assert "UID" in json.dumps(made["spec"]["selector"]) and "UID" in json.dumps(made["spec"]["template"])
    world.wait_told({("Job", "once"): 1})
    world.kubectl("patch", "job", "once", "-n", ROOM, "--type=merge", "-p", '{"spec":{"suspend":true}}', user="bob")
    world.wait_told({("Job", "once"): 2})
    world.kubectl("delete", "job", "once", "-n", ROOM, user="bob")
    world.wait_told({("Job", "once"): 3})
    done = world.try_kubectl("annals", "restore", "job/once", "-n", ROOM, "--revision=1", user="alice")
    assert done.returncode == 0 and "labels with the uid that it had are left out" in done.stderr, done
    again, restored = live()
    assert (again != first, restored) == (True, made)
    world.wait_told({("Job", "once"): 4})
    world.kubectl("annals", "undo", "job/once", "-n", ROOM, "--to-revision=2", "--yes", user="alice")
    assert live() == (again, {**made, "spec": {**made["spec"], "suspend": True}})


def in_base64(text):
    """What is in base64 of whatever holds the text, wherever it begins there."""
    return [base64.b64encode(b"x" * shift + text.encode())[4 if shift else 0:-4].decode() for shift in range(3)]


def exported(world):
    """All objects as annals stores them, of which some are compressed in etcd."""
    of_etcd = [argument for argument in world.installed.annals.process.arguments if str(argument).startswith("--etcd-")]
    return processes.run([processes.BIN, "export", *of_etcd], check=True).stdout


def files_with(world, *texts):
    """Of annals' etcd: what is stored, and its log."""
    folders = [world.installed.folder / name / "data" for name in MEMBERS]
    found = processes.run(["grep", "-raFl", *(word for text in texts for word in ("-e", text)), *folders])
    assert found.returncode in (0, 1), found.stderr
    return found.stdout.splitlines()


def check_secrets_are_nowhere_in_etcd(world, states):
    """Neither what they hold nor what they held, plain or in base64. That the rest of the objects is there shows that this looks at the right
    files."""
    world.kubectl("create", "secret", "generic", "late", "-n", ROOM, f"--from-literal=token={SECRETS[2]}", user="alice")
    world.wait_told({("Secret", "late"): 1, ("Secret", "credentials"): 2})
    shown = json.loads(world.kubectl("annals", "show", "secret/late", "-n", ROOM, "-o", "json"))
    assert "annals.dev/redacted:" in json.dumps(shown)
    forms = [form for secret in SECRETS for form in (secret, *in_base64(secret))]
    text = exported(world)
    assert "annals.dev/redacted:" in text and not [form for form in forms if form in text]
    assert files_with(world, "credentials") and not files_with(world, *forms)


def check_nobody_has_recorded_what_he_may_not_list(world, states):
    rules = [{"apiGroups": ["annals.dev"], "resources": ["recorders"], "verbs": ["create"]},
             {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
    world.cluster.make(f"{RBAC}/clusterroles", {"metadata": {"name": "of-dave"}, "rules": rules})
    world.cluster.bind("of-dave", ("ClusterRole", "of-dave"), {"kind": "User", "name": "dave"})
    world.cluster.wait_allowed("dave", verb="list", resource="configmaps")
    world.cluster.wait_allowed("dave", verb="create", group="annals.dev", resource="recorders")

    def recorder(name, resource):
        return {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": name}, "spec": {"resources": [{"groups": [""], "resources": [resource]}]}}

    dave = world.cluster.client("dave")
    refused = dave.post("/apis/annals.dev/v1/recorders", recorder("of-dave", "secrets"))
    assert (refused.status, "secrets" in refused.json["message"]) == (403, True), refused
    assert dave.post("/apis/annals.dev/v1/recorders", recorder("of-dave", "configmaps")).status == 201
    world.kubectl("delete", "recorder", "of-dave")


def check_recorder_has_the_rights_that_it_needs(world, states):
    """Nothing that it asks for is refused, once its rights were there, and what its own role grants it asks for."""
    events = [event for event in whole_lines(world.cluster.audit_log, RECORDER) if event["user"]["username"] == RECORDER and event.get("objectRef")]
    refused = {(event["verb"], event["objectRef"]["resource"]) for event in events if event.get("responseStatus", {}).get("code") in (401, 403)}
    assert not refused
    asked = {(event["verb"], f"{event['objectRef']['resource']}/{event['objectRef'].get('subresource', '')}".rstrip("/")) for event in events}
    granted = json.loads(world.kubectl("get", "clusterrole", "annals-recorder", "-o", "json"))["rules"]
    unused = {(verb, resource) for rule in granted for resource in rule["resources"] for verb in rule["verbs"]} - asked
    # Asked of annals itself, by a Recording; for a server without Recordings; events are of what goes wrong; histories go after a month;
    # watches begin with what is there.
    assert unused <= {("update", "histories/status"), ("create", "histories"), ("create", "snapshots"), ("get", "controllerrevisions"),
                      ("get", "histories"), ("create", "events"), ("patch", "events"), ("delete", "histories"),
                      ("list", "histories"), ("list", "recorders")}


def test_what_is_installed_records_a_cluster(world):
    """One test, for the cluster takes longer to start than all of it to check."""
    states = change_everything(world)
    check_log_names_each_change_its_paths_and_its_user(world, states)
    check_controllers_are_users_too(world, states)
    check_who_scales_is_named(world)
    check_manager_is_no_user(world)
    check_undo_and_restore_bring_back_the_recorded_state(world, states)
    check_a_job_is_made_again(world, states)
    check_secrets_are_nowhere_in_etcd(world, states)
    check_nobody_has_recorded_what_he_may_not_list(world, states)
    check_recorder_has_the_rights_that_it_needs(world, states)
