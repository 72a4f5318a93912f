"""kubectl v1.36 says the same of annals as of kube-apiserver: every command goes to both, and what it prints is compared."""

import json

import pytest

import both

REVISION = """\
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: web-1
  labels: {{app: {app}}}
data: {{image: "{image}", size: 1}}
revision: {revision}
"""


class Revisions(both.Both):
    def apply(self, *flags, app="web", image="nginx:1", revision=1):
        return self("apply", "-f", "-", *flags, input=REVISION.format(app=app, image=image, revision=revision))


@pytest.fixture
def k(twins, folder):
    return Revisions(twins, folder)


def test_kubectl__apply_creates_configures_and_leaves_alone(k):
    assert "created" in k.apply()
    assert "unchanged" in k.apply()
    assert "configured" in k.apply(revision=2)
    assert "configured" in k.apply(app="db", revision=2)
    k("get", "controllerrevision", "web-1", "-o", "yaml", "--show-managed-fields")


def test_kubectl__apply_of_other_data_is_refused(k):
    k.apply()
    k.apply(image="nginx:2")
    k.apply("--server-side", image="nginx:2")
    k("get", "controllerrevision", "web-1", "-o", "jsonpath={.data}")


def test_kubectl__server_side_apply_and_its_conflicts(k):
    k.apply("--server-side", "--field-manager=one")
    k.apply("--server-side", "--field-manager=two", revision=2)
    k.apply("--server-side", "--field-manager=two", "--force-conflicts", revision=2)
    k.apply("--server-side", "--field-manager=one", app="db", revision=2)
    k("get", "controllerrevision", "web-1", "-o", "yaml", "--show-managed-fields")


def test_kubectl__server_side_after_client_side(k):
    k.apply()
    k.apply("--server-side", revision=3)
    k.apply(revision=4)
    k("get", "controllerrevision", "web-1", "-o", "json")


def test_kubectl__dry_runs(k):
    k.apply("--dry-run=server", "-o", "yaml")
    k.apply()
    k.apply("--dry-run=server", revision=5)
    k.apply("--dry-run=client", revision=5)
    k("delete", "controllerrevision", "web-1", "--dry-run=server")


def test_kubectl__diff(k):
    k("diff", "-f", "-", input=REVISION.format(app="web", image="nginx:1", revision=1))
    k.apply()
    k("diff", "-f", "-", input=REVISION.format(app="db", image="nginx:1", revision=2))
    k("diff", "--server-side", "-f", "-", input=REVISION.format(app="web", image="nginx:1", revision=1))


def test_kubectl__edit(k):
    k.apply()
    assert "edited" in k("edit", "controllerrevision", "web-1", EDITOR="sed -i s/web$/edited/")
    k("edit", "controllerrevision", "web-1", EDITOR="true")
    k("get", "controllerrevision", "web-1", "--show-labels")


def test_kubectl__get_in_every_form(k):
    k.apply()
    for form in ("wide", "yaml", "json", "name", "jsonpath={.items[*].metadata.name}", "custom-columns=N:.metadata.name,R:.revision", "go-template={{len .items}}"):
        k("get", "controllerrevisions", "-o", form)
    k("get", "controllerrevisions", "-l", "app=web")
    k("get", "controllerrevisions", "-l", "app!=web")
    k("get", "controllerrevisions", "--field-selector", "metadata.name=web-1")
    k("get", "controllerrevisions", "--field-selector", "revision=1")
    k("get", "controllerrevisions", "-l", "a b")
    k("get", "controllerrevisions", "--chunk-size=1")
    k("get", "controllerrevision", "none")
    k("get", "controllerrevision", "none", "--ignore-not-found")


def test_kubectl__changes_of_metadata(k):
    k.apply()
    k("label", "controllerrevision", "web-1", "tier=front")
    k("label", "controllerrevision", "web-1", "tier=back")
    k("label", "controllerrevision", "web-1", "tier=back", "--overwrite")
    k("label", "controllerrevision", "web-1", "bad key=x")
    k("annotate", "controllerrevision", "web-1", "note=it is so")
    k("annotate", "controllerrevision", "web-1", "note-")
    for kind, patch in (("merge", {"revision": 7}), ("strategic", {"metadata": {"finalizers": ["x.io/y"]}}), ("json", [{"op": "test", "path": "/revision", "value": 1}]), ("merge", {"data": {"x": 1}})):
        k("patch", "controllerrevision", "web-1", "--type", kind, "-p", json.dumps(patch))
    k("get", "controllerrevision", "web-1", "-o", "yaml")


def test_kubectl__delete(k):
    k.apply()
    k("delete", "controllerrevision", "web-1", "--cascade=orphan", "--wait=false")
    k("get", "controllerrevision", "web-1", "-o", "yaml")
    k("patch", "controllerrevision", "web-1", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    k("delete", "controllerrevision", "web-1")
    k.apply()
    k("delete", "controllerrevisions", "--all")
    k("delete", "controllerrevisions", "-l", "app=none")


def test_kubectl__create_and_replace(k):
    manifest = REVISION.format(app="web", image="nginx:1", revision=1)
    k("create", "-f", "-", input=manifest)
    k("create", "-f", "-", input=manifest)
    k("replace", "-f", "-", input=manifest.replace("revision: 1", "revision: 9"))
    k("create", "-f", "-", input=manifest + "bogus: 1\n")
    k("create", "--validate=ignore", "-f", "-", input=manifest.replace("web-1", "Bad Name"))
    k("create", "-f", "-", input=manifest.replace("data:", "date:"))


def test_kubectl__namespaces(k):
    k("get", "namespace", k.namespace)
    k("get", "namespace", k.namespace, "-o", "yaml")
    k("create", "namespace", k.namespace)
    k("create", "namespace", "Bad_Name")
    k("label", "namespace", k.namespace, "a=b")


def test_kubectl__get_w_prints_each_change(k):
    k.apply()
    watching = k.start("get", "controllerrevisions", "-w", "--output-watch-events")
    for process in watching:
        assert process.stdout.wait("ADDED")
    k.apply(revision=2)
    k("delete", "controllerrevision", "web-1")
    for process in watching:
        assert process.stdout.wait("DELETED")
    outputs = [both.plain(process.stdout.text) for process in watching]
    for process in watching:
        process.stop()
    assert outputs[0] == outputs[1]


def test_kubectl__configmaps_and_secrets(k):
    k("create", "configmap", "c", "--from-literal=a=1", "--from-literal=b c=2")
    k("create", "configmap", "c", "--from-literal=a=1", "-o", "yaml")
    k("create", "configmap", "c", "--from-literal=a=1")
    k("create", "secret", "generic", "s", "--from-literal=user=me", "-o", "json")
    k("create", "secret", "docker-registry", "d", "--docker-server=x", "--docker-username=u", "--docker-password=p")
    k("create", "secret", "generic", "t", "--type=kubernetes.io/ssh-auth", "--from-literal=key=x")
    k("get", "configmaps,secrets")
    k("get", "secrets", "--field-selector=type=Opaque", "-o", "wide")
    k("describe", "configmap", "c")
    k("describe", "secret", "s")
    k("patch", "secret", "s", "-p", '{"stringData":{"user":"you"},"immutable":true}')
    k("patch", "secret", "s", "-p", '{"stringData":{"user":"him"}}')
    k("delete", "secret", "s", "d")


def test_kubectl__accounts_leases_and_events(k):
    k("create", "serviceaccount", "robot", "-o", "yaml")
    k("get", "sa")
    k("apply", "-f", "-", input="apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: lock}\nspec: {holderIdentity: me, leaseDurationSeconds: 15}\n")
    k("get", "leases")
    k("replace", "-f", "-", input="apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: lock}\nspec: {holderIdentity: you}\n")
    k("create", "-f", "-", input=f"apiVersion: v1\nkind: Event\nmetadata: {{name: e}}\ninvolvedObject: {{kind: Pod, name: web, namespace: {k.namespace}}}\nreason: Because\nmessage: so it is\ntype: Normal\n")
    k("get", "events", "-o", "wide")
    k("events", "--types=Normal")
    k("get", "events.v1.events.k8s.io", "e", "-o", "yaml")
    k("delete", "sa", "robot")


def test_kubectl__auth(k):
    for question in (("*", "*"), ("create", "pods"), ("get", "/healthz"), ("list", "secrets", "--subresource=x"), ("get", "strange.things")):
        k("auth", "can-i", *question)
        k("auth", "can-i", *question, "--as=bob")
    k("auth", "whoami")
    k("auth", "whoami", "-o", "yaml", "--as=bob", "--as-group=g")
