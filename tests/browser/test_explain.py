"""What the views say in words, of objects of any kind: the modules' own functions, called in a browser without a server behind them."""

import functools
import http.server
import json
import pathlib
import shlex
import subprocess

import pytest

from sites import serving

PAGE = pathlib.Path(__file__).resolve().parents[2] / "cli" / "ui" / "page"
RUNNING, READY = {"phase": "Running"}, {"conditions": [{"type": "Ready", "status": "True"}]}


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".js": "text/javascript", ".svg": "image/svg+xml"}

    def do_GET(self):
        if self.path == "/":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b'<!DOCTYPE html><link rel="icon" href="icon.svg"><title>modules</title><main id="main" tabindex="-1"><button>a</button></main>')
        else:
            super().do_GET()

    def log_message(self, *_args):
        pass


@pytest.fixture(scope="module")
def files():
    with serving(functools.partial(Files, directory=PAGE)) as address:
        yield address + "/"


@pytest.fixture(scope="module")
def call(chromium_process, files):
    """call("views/workload.js", "podState", pod): what that function of that module answers."""
    page = chromium_process.open(files)

    def of(module, function, *args):
        arguments = ", ".join(json.dumps(arg) for arg in args)
        return page.evaluate(f"import('/{module}').then((m) => m.{function}({arguments}))")

    of.page = page
    yield of
    assert page.close() == []



def pod(name, revision="", status=None, owner=None, **metadata):
    labels = {"controller-revision-hash": revision} if revision else {}
    owner = owner or {"kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}
    return {"metadata": {"name": name, "uid": f"{name}-uid", "labels": labels, "ownerReferences": [owner], **metadata}, "status": {**RUNNING, **(READY if status is None else status)}}


def waiting(reason, message=""):
    return {"phase": "Pending", "containerStatuses": [{"ready": False, "state": {"waiting": {"reason": reason, "message": message}}}]}


# ---- pods ----


@pytest.mark.parametrize(("status", "metadata", "state", "text"), [
    (READY, {}, "ready", "Ready"),
    ({}, {}, "starting", "not Ready"),
    (waiting("ContainerCreating"), {}, "pending", "ContainerCreating"),
    (waiting("ImagePullBackOff", "no such image"), {}, "broken", "ImagePullBackOff"),
    ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]}, {}, "broken", "Unschedulable"),
    ({"containerStatuses": [{"ready": False, "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}, {}, "broken", "OOMKilled"),
    ({"phase": "Failed", "reason": "Evicted"}, {}, "failed", "failed: Evicted"),
    ({"phase": "Succeeded"}, {}, "succeeded", "has ended"),
    (READY, {"deletionTimestamp": "2026-01-02T03:04:05Z"}, "leaving", "is being deleted"),
])
def test_what_a_pod_is(call, status, metadata, state, text):
    found = call("views/workload.js", "podState", pod("web-0", status=status, **metadata))
    assert (found["state"], found["text"]) == (state, text)


def test_which_revision_a_pod_is_of(call):
    """StatefulSets name the revision in the label, DaemonSets its end; a Deployment's pods have a ReplicaSet, sets in PodTemplates a number."""
    revisions = [{"name": "web-1", "number": 1}, {"name": "web-abc", "number": 2}]
    workload = {"metadata": {"name": "web"}}

    def of(**what):
        return call("views/workload.js", "revisionOf", what, workload, revisions)

    assert of(hash="web-abc") == "web-abc"
    assert of(hash="abc") == "web-abc"
    assert of(hash="web-abc", owner={"kind": "ReplicaSet", "name": "web-9"}) == "web-9"
    assert of(hash="", generation="1") == "web-1"
    assert of(hash="gone", generation="1") == "gone"


def test_selectors(call):
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "NotIn", "values": ["c"]},
        {"key": "y", "operator": "Exists"}, {"key": "z", "operator": "DoesNotExist"}]}
    assert call("views/workload.js", "selectorText", selector) == "app=web,tier in (a,b),x notin (c),y,!z"
    assert call("views/workload.js", "listed", [f"web-{i}" for i in range(6)]) == "web-0, web-1, web-2 and 3 more"


# ---- what a rollout waits for ----


def progress(call, kind="StatefulSet", spec=None, status=None, groups=(), **metadata):
    """groups: (number, is_target, pods) each."""
    described = [{"name": f"web-{number}", "number": number, "isTarget": target,
                  "pods": [call("views/workload.js", "podState", each) for each in pods]} for number, target, pods in groups]
    workload = {"metadata": {"name": "web", "generation": 2, **metadata}, "spec": spec or {}, "status": {"observedGeneration": 2, **(status or {})}}
    return call("views/workload.js", "progressOf", {"kind": kind, "object": workload, "groups": described})


def said(found):
    return found["state"], found["text"]


def test_a_set_that_is_complete(call):
    found = progress(call, spec={"replicas": 2}, groups=[(3, True, [pod("web-0"), pod("web-1")]), (2, False, [])])
    assert said(found) == ("complete", "All 2 pods run revision 3 and are Ready.")
    assert (found["done"], found["wanted"]) == (2, 2)


def test_a_set_that_goes_on(call):
    found = progress(call, spec={"replicas": 3}, groups=[(3, True, [pod("web-2")]), (2, False, [pod("web-0"), pod("web-1")])])
    assert said(found) == ("moving", "web-1 is replaced next.")
    assert (found["done"], found["wanted"]) == (1, 3)
    slow = progress(call, spec={"replicas": 2, "minReadySeconds": 9}, status={"readyReplicas": 2, "availableReplicas": 1},
                    groups=[(3, True, [pod("web-1")]), (2, False, [pod("web-0")])])
    assert "minReadySeconds" in slow["text"]


def test_a_set_that_waits_for_a_pod(call):
    new = [pod("web-1", status=waiting("ImagePullBackOff", "no such image."))]
    found = progress(call, spec={"replicas": 2}, groups=[(3, True, new), (2, False, [pod("web-0")])])
    assert said(found) == ("waiting", "web-1 is not Ready (ImagePullBackOff): no such image.")


def test_a_set_whose_pod_is_missing(call):
    found = progress(call, spec={"replicas": 3, "ordinals": {"start": 5}}, groups=[(3, True, [pod("web-7")]), (2, False, [pod("web-5")])])
    assert said(found) == ("moving", "web-6 is to be made.")


def test_a_broken_pod_of_a_revision_that_nobody_wants(call):
    """Upstream's controller waits for it for ever; annals' replaces it where the set says so."""
    groups = [(4, True, []), (3, False, [pod("web-1", status=waiting("ImagePullBackOff"))]), (2, False, [pod("web-0")])]
    state, text = said(progress(call, spec={"replicas": 2}, groups=groups))
    assert state == "broken" and "revision 3" in text and text.endswith("delete it.")
    state, text = said(progress(call, spec={"replicas": 2}, groups=groups, annotations={"annals.dev/replace-broken-pods": "true"}))
    assert state == "moving" and "replaces it" in text


def test_a_set_with_a_partition(call):
    spec = {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
    found = progress(call, spec=spec, groups=[(3, True, [pod("web-2")]), (2, False, [pod("web-1"), pod("web-0")])])
    assert said(found) == ("waiting", "The partition 2 keeps web-0 and web-1 at revision 2. All others are updated.")
    assert (found["done"], found["wanted"]) == (1, 1)


def test_a_set_that_is_updated_by_hand(call):
    found = progress(call, spec={"replicas": 2, "updateStrategy": {"type": "OnDelete"}}, groups=[(3, True, [pod("web-1")]), (2, False, [pod("web-0")])])
    assert found["state"] == "waiting" and found["text"].startswith("1 pod is of an older revision")


def test_a_change_that_nobody_has_seen_yet(call):
    found = progress(call, spec={"replicas": 1}, groups=[(3, True, [pod("web-0")])], generation=3)
    assert said(found) == ("moving", "The controller has not looked at the latest change yet.")
    found = progress(call, spec={"replicas": 1}, groups=[(3, True, [pod("web-0")])], generation=3, deletionTimestamp="2026-01-02T03:04:05Z",
                     finalizers=["foregroundDeletion"])
    assert said(found) == ("waiting", "It is being deleted, and waits for its finalizers: foregroundDeletion.")


DEPLOYMENTS = [
    ({"paused": True}, {}, "waiting", "It is paused"),
    ({}, {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]}, "broken", "exceeded quota."),
    ({}, {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}, "broken", "no progress for 600 s"),
    ({}, {"updatedReplicas": 1, "replicas": 3}, "moving", "1 of 2 pods is of revision 3."),
    ({}, {"updatedReplicas": 2, "replicas": 3}, "moving", "1 pod of older revisions is still to go."),
    ({}, {"updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}, "moving", "1 of 2 updated pods is available."),
    ({}, {"updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}, "complete", "All 2 pods run revision 3 and are Ready."),
]


@pytest.mark.parametrize(("spec", "status", "state", "part"), DEPLOYMENTS)
def test_deployments(call, spec, status, state, part):
    owner = {"kind": "ReplicaSet", "name": "web-3", "uid": "r", "controller": True}
    groups = [(3, True, [pod("web-a", owner=owner), pod("web-b", owner=owner)]), (2, False, [])]
    found = progress(call, "Deployment", {"replicas": 2, **spec}, status, groups)
    assert found["state"] == state and part in found["text"]


def test_daemonsets(call):
    groups = [(3, True, [pod("web-a")]), (2, False, [pod("web-b")])]
    status = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberAvailable": 2}
    assert said(progress(call, "DaemonSet", {}, status, groups)) == ("moving", "1 of 2 pods is of revision 3.")
    groups = [(3, True, [pod("web-a"), pod("web-b")])]
    status = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}
    assert said(progress(call, "DaemonSet", {}, status, groups)) == ("complete", "All 2 pods run revision 3 and are Ready.")


# ---- why a deletion waits ----

PROTECTED = {"finalizers": ["annals.dev/provider-protection"]}
GOING = {"deletionTimestamp": "2026-01-02T03:04:05Z"}


@pytest.mark.parametrize(("metadata", "users", "state", "text"), [
    ({}, [], "free", "A deletion would remove it at once."),
    (PROTECTED, ["a", "b"], "used", "A deletion would wait until nothing uses it: a and b use it."),
    (PROTECTED, [], "free", "Nothing uses it. A deletion would end as soon as its finalizers have been removed."),
    ({**PROTECTED, **GOING}, ["shop"], "waits", "The deletion waits because shop uses it."),
    ({**PROTECTED, **GOING}, [], "ends", "Nothing uses it any more: its controller removes the finalizer annals.dev/provider-protection next."),
    ({"finalizers": ["example.com/backup"], **GOING}, [], "waits", "The deletion goes on. It waits for whoever removes the finalizer example.com/backup."),
    ({"finalizers": ["foregroundDeletion"], **GOING}, [], "waits",
     "The deletion goes on. It waits for the garbage collector, which deletes what the object owns first."),
    (GOING, [], "ends", "The deletion ends now: no finalizer is left."),
])
def test_why_a_deletion_waits(call, metadata, users, state, text):
    assert call("views/usage.js", "explainDeletion", {"metadata": metadata}, users) == {"state": state, "text": text}


def test_a_deletion_whose_users_cannot_be_seen(call):
    """A user who may not read Dependents does not see "none"."""
    assert "Nothing uses it" not in call("views/usage.js", "explainDeletion", {"metadata": PROTECTED}, [], False)["text"]
    assert "Nothing uses it" not in call("views/usage.js", "explainDeletion", {"metadata": {**PROTECTED, **GOING}}, [], False)["text"]


# ---- commands ----


@pytest.mark.parametrize("word", ["web", "it's", "a b", "$(touch x)", "`x`", "a\\b", "--context=x;y", "a\nb\u202e", "\u2028'\\", ""])
def test_words_of_a_command_line(call, word):
    """A shell reads exactly the word; what cannot be seen is spelled out."""
    quoted = call("views/write.js", "quote", word)
    done = subprocess.run(["bash", "-c", f"printf %s {quoted or chr(39) * 2}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}, timeout=60)
    assert done.stdout.decode() == word
    assert "\u202e" not in quoted and "\u2028" not in quoted and "\n" not in quoted


def test_commands(call):
    what = {"ctx": {"about": {"context": "prod eu"}}, "group": "apps", "kind": "StatefulSet", "namespace": "shop", "name": "web", "revision": 2}
    undo = call("views/write.js", "commandOf", {**what, "own": True})
    assert shlex.split(undo) == ["kubectl", "annals", "undo", "statefulset.apps/web", "--to-revision=2", "--own", "-n", "shop", "--context=prod eu"]
    restore = call("views/write.js", "commandOf", {**what, "ctx": {"about": {}}, "group": "", "kind": "ConfigMap", "isDeleted": True})
    assert shlex.split(restore) == ["kubectl", "annals", "restore", "configmap/web", "--revision=2", "-n", "shop"]


# ---- dialogs ----

OPEN = "import('/dialog.js').then((m) => { const b = document.querySelector('button'); b.focus(); window.d = m.openDialog({title: 'Why?'}); return 1; })"


def test_the_focus_comes_back(call):
    """To what had it; to the view where that is gone: keys would lead nowhere from a body."""
    page = call.page
    assert page.evaluate(OPEN) and page.evaluate("document.activeElement.textContent") == "Why?"
    page.press("Escape")
    page.wait("!document.querySelector('dialog') && document.activeElement.tagName == 'BUTTON'")
    assert page.evaluate(OPEN) and page.evaluate("document.querySelector('main button').remove(); 1")
    page.press("Escape")
    page.wait("!document.querySelector('dialog') && document.activeElement.id == 'main'")
