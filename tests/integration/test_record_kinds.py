"""Recorders and Histories as kubectl makes, shows and refuses them."""

import base64
import json

import processes
import pytest

from objects import ANNALS, APPLY, JSON_PATCH, MERGE

V1 = "/apis/annals.dev/v1"
RECORDERS = f"{V1}/recorders"


def recorder(name, *rules, **spec):
    rules = rules or ({"groups": ["apps"], "resources": ["statefulsets"]},)
    return {"apiVersion": ANNALS, "kind": "Recorder", "metadata": {"name": name}, "spec": {"resources": list(rules), **spec}}


def history(name, kind="StatefulSet", group="apps", **subject):
    return {"apiVersion": ANNALS, "kind": "History", "metadata": {"name": name},
            "spec": {"subject": {"group": group, "kind": kind, "name": name, **subject}}}


@pytest.fixture(scope="module")
def annals(tmp_path_factory):
    """Nothing is recorded: what is asked here is about what is stored."""
    server = processes.Up(tmp_path_factory.mktemp("kinds") / "data", "--controllers=*,-recorder")
    server.is_shared = True
    yield server
    assert server.stop() == 0
    assert not server.troubles()


@pytest.fixture
def kubectl(annals):
    """What kubectl prints."""

    def call(*arguments, sent=None, fails=False):
        done = annals.kubectl(*arguments, input=json.dumps(sent) if sent else None)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return call


@pytest.fixture
def name(annals, namespace):
    """Of a Recorder: they are in no namespace."""
    yield namespace
    annals.delete(f"{RECORDERS}/{namespace}")


def rows(text):
    return [line.split() for line in text.splitlines()]


def causes(answer):
    assert answer.status == 422, answer
    return [cause["field"] for cause in answer.json["details"]["causes"]]


def test_recorder_by_kubectl(kubectl, annals, name):
    assert "salt" in kubectl("explain", "recorder.spec") and "JSON pointers" in kubectl("explain", "rec.spec.ignore")
    kubectl("create", "-f", "-", sent=recorder(name, {"groups": ["apps", ""], "resources": ["statefulsets"]}, {"groups": [""], "resources": ["*"]}))
    table = rows(kubectl("get", "rec", name))
    assert table[0] == ["NAME", "RESOURCES", "RECORDING", "OBJECTS", "REVISIONS", "REFUSED", "AGE"]
    assert table[1][:6] == [name, "statefulsets.apps,statefulsets,*", "Unknown", "0", "0", "0"]
    spec = json.loads(kubectl("get", "recorder", name, "-o", "json"))["spec"]
    assert len(base64.b64decode(spec["salt"])) == 16 and (spec["secretData"], spec["historyLimit"]) == ("Redact", 10)
    assert (spec["maxObjectBytes"], spec["keepDeleted"], spec["namespace"]) == (262144, "720h0m0s", "default")
    kubectl("replace", "-f", "-", sent=recorder(name, historyLimit=0))
    kept = annals.get(f"{RECORDERS}/{name}").json
    assert (kept["spec"]["salt"], kept["spec"]["historyLimit"], kept["metadata"]["generation"]) == (spec["salt"], 0, 2)
    applied = annals.patch(f"{RECORDERS}/{name}?fieldManager=me&force=true", recorder(name, historyLimit=4), kind=APPLY)
    assert applied.status == 200 and applied.json["spec"]["salt"] == spec["salt"]


def test_recorder_that_is_made_again_has_the_same_salt(annals, name):
    def salt(of=name, *rules, **spec):
        made = annals.post(RECORDERS, recorder(of, *rules, **spec))
        assert made.status == 201, made
        assert annals.delete(f"{RECORDERS}/{of}").status == 200
        return made.json["spec"]["salt"]

    others = {"groups": ["apps"], "resources": ["deployments"]}
    first = salt()
    assert salt() == salt(historyLimit=3, redact=["/spec/replicas"]) == first
    # Another name, and other resources, of which the maker may not be allowed to know anything.
    assert len({first, salt(f"{name}-2"), salt(name, others)}) == 3
    given = base64.b64encode(bytes(range(16))).decode()
    assert salt(salt=given) == given and salt() == first


def test_recorder_of_each_server_has_the_same_salt(etcd, serve):
    store = etcd()
    one, other = serve(store.endpoint), serve(store.endpoint)
    salts = []
    for server in (one, other, serve(etcd().endpoint)):
        made = server.post(RECORDERS, recorder("r"))
        assert made.status == 201 and server.delete(f"{RECORDERS}/r").status == 200
        salts.append(made.json["spec"]["salt"])
    assert salts[0] == salts[1] != salts[2]
    assert processes.run([processes.BIN, "fsck", "--etcd-servers", store.endpoint]).returncode == 0


def test_recorder_is_refused_by_field(kubectl, annals, name):
    assert 'spec.resources[0].groups[0]: Invalid value: "annals.dev": annals does not record its own objects' in kubectl(
        "create", "-f", "-", sent=recorder(name, {"groups": ["annals.dev"], "resources": ["histories"]}), fails=True)
    for spec, field in (({"ignore": ["spec"]}, "spec.ignore[0]"), ({"redact": ["/kind"]}, "spec.redact[0]"), ({"keepDeleted": "soon"}, "spec.keepDeleted"),
                        ({"historyLimit": 1001}, "spec.historyLimit"), ({"maxObjectBytes": 1}, "spec.maxObjectBytes"), ({"secretData": "x"}, "spec.secretData"),
                        ({"salt": "AAAA"}, "spec.salt"), ({"objectSelector": {"matchLabels": {"a b": "c"}}}, "spec.objectSelector.matchLabels")):
        assert causes(annals.post(RECORDERS, recorder(name, **spec))) == [field]
    made = annals.post(RECORDERS, recorder(name))
    assert made.status == 201
    for change in ({"salt": base64.b64encode(bytes(16)).decode()}, {"namespace": "other"}):
        assert causes(annals.patch(f"{RECORDERS}/{name}", {"spec": change})) == [f"spec.{field}" for field in change]


def test_recorder_names_what_is_served_here(annals, name):
    for named, field in (({"groups": ["apps"], "resources": ["statefulsets", "gadgets"]}, "spec.resources[0].resources[1]"),
                         ({"groups": ["example.com"], "resources": ["*"]}, "spec.resources[0].resources[0]"),
                         ({"groups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"]}, "spec.resources[0].resources[0]")):
        refused = annals.post(RECORDERS, recorder(name, named))
        assert causes(refused) == [field] and "no such resource is served here that can be watched" in refused.json["message"]
    assert annals.post(RECORDERS, recorder(name, {"groups": ["*"], "resources": ["statefulsets", "*"]})).status == 201


def test_recorder_is_applied_with_its_defaults(annals, name):
    applied = annals.patch(f"{RECORDERS}/{name}?fieldManager=me", recorder(name), kind=APPLY)
    assert applied.status == 201, applied
    assert (applied.json["spec"]["historyLimit"], applied.json["spec"]["maxObjectBytes"]) == (10, 262144) and applied.json["spec"]["salt"]
    assert annals.patch(f"{RECORDERS}/{name}?fieldManager=me", recorder(name, historyLimit=0), kind=APPLY).json["spec"]["historyLimit"] == 0
    assert annals.patch(f"{RECORDERS}/{name}?fieldManager=me", recorder(name), kind=APPLY).json["spec"]["historyLimit"] == 10


# ---- users may only record what they can read themselves ----


@pytest.fixture
def users(serve, etcd, folder):
    """alice may do all with Recorders, and read config maps."""
    rules = [processes.policy_rule(user="alice", namespace="*", apiGroup="annals.dev", resource="recorders"),
             processes.policy_rule(user="alice", namespace="*", apiGroup="", resource="configmaps", readonly=True)]
    server = serve(etcd().endpoint, *processes.user_flags(folder, ["alices,alice,1"], rules))
    server.alice = processes.Client(server.url, server.ca, token="alices")
    return server


MAPS, SECRETS = {"groups": [""], "resources": ["configmaps"]}, {"groups": [""], "resources": ["configmaps", "secrets"]}


def lacks(answer, *resources, name="r"):
    """403, in kube's words, for each of the resources."""
    cannot = [f'User "alice" cannot {verb} resource "{resource}" in API group "{group}" at the cluster scope, which {field} needs'
              for group, resource, field in resources for verb in ("list", "watch")]
    wanted = f'recorders.annals.dev "{name}" is forbidden: ' + "; ".join(cannot)
    return (answer.status, answer.json["reason"], answer.json["message"]) == (403, "Forbidden", wanted)


def test_recorder_needs_the_right_to_read_what_it_names(users):
    alice, secrets = users.alice, ("", "secrets", "spec.resources[0].resources[1]")
    for query in ("?", "?dryRun=All"):
        assert lacks(alice.post(RECORDERS + query, recorder("r", SECRETS)), secrets)
        assert lacks(alice.patch(f"{RECORDERS}/r{query}&fieldManager=me", recorder("r", SECRETS), kind=APPLY), secrets)
    everything = alice.post(RECORDERS, recorder("r", {"groups": ["", "*"], "resources": ["*"]}))
    assert lacks(everything, ("", "*", "spec.resources[0].resources[0]"), ("*", "*", "spec.resources[0].resources[0]"))
    assert users.get(f"{RECORDERS}/r").status == 404
    assert alice.post(RECORDERS, recorder("r", MAPS)).status == 201


def test_recorder_needs_it_for_each_change_of_its_spec(users):
    alice, path, secrets = users.alice, f"{RECORDERS}/r", ("", "secrets", "spec.resources[0].resources[1]")
    assert users.post(RECORDERS, recorder("r", SECRETS)).status == 201
    present = alice.get(path).json
    changed = {**present, "spec": {**present["spec"], "historyLimit": 5}}
    for query in ("?", "?dryRun=All"):
        assert lacks(alice.put(path + query, changed), secrets)
        assert lacks(alice.patch(path + query, {"spec": {"redact": ["/a"]}}, kind=MERGE), secrets)
        assert lacks(alice.patch(path + query, [{"op": "replace", "path": "/spec/historyLimit", "value": 5}], kind=JSON_PATCH), secrets)
        assert lacks(alice.patch(f"{path}{query}&fieldManager=me&force=true", recorder("r", SECRETS, historyLimit=5), kind=APPLY), secrets)
    assert users.get(path).json["metadata"]["generation"] == 1
    labelled = {**present, "metadata": {**present["metadata"], "labels": {"a": "b"}}}
    assert alice.put(path, labelled).status == alice.patch(path, {"metadata": {"labels": {"c": "d"}}}).status == 200
    assert alice.patch(f"{path}/status", {"status": {"observedGeneration": 1}}).status == 200
    assert alice.patch(path, {"spec": {"resources": [MAPS]}}).status == 200  # what it names no more needs nothing
    assert alice.delete(path).status == 200


def test_recorder_of_much_says_the_first_that_is_missing(users):
    named = {"groups": [""], "resources": ["pods", "services", "nodes", "secrets"]}
    refused = users.alice.post(RECORDERS, recorder("r", *[named] * 16))
    assert refused.status == 403 and refused.json["message"].count("cannot") == 8 and refused.json["message"].endswith("; and 120 more")


def test_status_of_a_recorder_is_written_apart(annals, name):
    assert annals.post(RECORDERS, recorder(name) | {"status": {"observedGeneration": 7}}).json["status"] == {}
    followed = [{"group": "apps", "version": "v1", "resource": "statefulsets", "objects": 3, "revisions": 5, "refused": 1, "lastError": "no room"}]
    told = annals.patch(f"{RECORDERS}/{name}/status", {"status": {"observedGeneration": 1, "resources": followed}, "spec": {"historyLimit": 1}})
    assert told.status == 200 and told.json["status"]["resources"] == followed and told.json["spec"]["historyLimit"] == 10
    assert annals.patch(f"{RECORDERS}/{name}", {"status": {"observedGeneration": 9}}).json["status"]["observedGeneration"] == 1
    wrong = {"status": {"conditions": [{"type": "Recording", "status": "Maybe", "reason": "R", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}}
    assert causes(annals.patch(f"{RECORDERS}/{name}/status", wrong)) == ["status.conditions[0].status"]


def test_history_by_kubectl(kubectl, annals, namespace):
    assert "changes" in kubectl("explain", "history.status") and "JSON pointers" in kubectl("explain", "hist.status.changes.paths")
    kubectl("create", "-n", namespace, "-f", "-", sent=history("web", namespace=namespace))
    kubectl("create", "-n", namespace, "-f", "-", sent=history("system:x", "ClusterRole", "rbac.authorization.k8s.io") | {"metadata": {"name": "x"}})
    table = rows(kubectl("get", "hist", "web", "-n", namespace))
    assert table[0] == ["NAME", "SUBJECT", "REVISIONS", "CHANGED", "BY", "DELETED"]
    assert table[1] == ["web", "statefulset.apps/web", "0", "<none>", "<none>", "<none>"]

    def found(selector):
        return kubectl("get", "histories", "-n", namespace, "-o", "name", f"--field-selector={selector}").split()

    assert found("spec.subject.kind=StatefulSet") == found("spec.subject.name=web,status.deleted=false") == ["history.annals.dev/web"]
    assert found(f"spec.subject.namespace={namespace}") == found("spec.subject.group=apps") == ["history.annals.dev/web"]
    assert len(found("status.by=")) == 2 and found("status.deleted=true") == []
    path = f"{V1}/namespaces/{namespace}/histories"
    assert causes(annals.post(path, history("other", namespace="else"))) == ["spec.subject.namespace"]
    assert causes(annals.patch(f"{path}/web", {"spec": {"subject": {"name": "x"}}})) == ["spec"]


def test_status_of_a_history_is_only_read(annals, namespace):
    path = f"{V1}/namespaces/{namespace}/histories"
    assert annals.post(path, history("web") | {"status": {"totalChanges": 4, "digest": "d"}}).json["status"] == {"revisions": 0, "totalChanges": 0}
    assert annals.get(f"{path}/web/status").status == 200
    assert [annals.put(f"{path}/web/status", history("web")).status, annals.patch(f"{path}/web/status", {}).status] == [405, 405]
    patched = annals.patch(f"{path}/web", {"status": {"totalChanges": 4}, "metadata": {"labels": {"a": "b"}}}).json
    assert patched["status"]["totalChanges"] == 0 and patched["metadata"]["labels"] == {"a": "b"}
    assert annals.delete(f"{path}/web").status == 200
