"""helm with annals: a chart is installed, upgraded, rolled back and uninstalled. Its releases are Secrets; it checks manifests against
OpenAPI, and merges three ways what others have changed meanwhile."""

import json

import pytest

import kube
import processes

HELM = processes.PEERS / "helm"

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: tiny\nversion: 1.0.0\nkubeVersion: '>=1.36.0-0'\n",
    "values.yaml": "colour: red\nrevision: 1\n",
    "templates/settings.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
  labels: {app.kubernetes.io/managed-by: {{ .Release.Service }}}
data:
  colour: {{ .Values.colour }}
  served: {{ .Capabilities.APIVersions.Has "annals.dev/v1/ControllerRevision" | quote }}
  minor: {{ .Capabilities.KubeVersion.Minor | quote }}
  namespace: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name | default "none" }}
""",
    "templates/secret.yaml": """\
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-secret}
stringData: {password: {{ .Values.colour }}}
""",
    "templates/revision.yaml": """\
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: {{ .Release.Name }}-revision}
revision: {{ .Values.revision }}
data: {image: {{ .Values.image | default "nginx:1" | quote }}}
""",
    "templates/hook.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
data: {at: {{ .Release.Revision | quote }}}
""",
}


class Helm:
    def __init__(self, alone, folder):
        self.alone, self.folder, self.chart = alone, folder, folder / "tiny"
        for name, text in CHART.items():
            path = self.chart / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        made = alone.annals.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "helm-"}})
        self.namespace = made.json["metadata"]["name"]
        self.env = {**alone.env, "HOME": str(folder)}

    def run(self, *arguments):
        return processes.run([HELM, "--namespace", self.namespace, *arguments], env=self.env)

    def __call__(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, f"helm {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}"
        return done.stdout

    def get(self, kind, name):
        done = processes.run([kube.KUBECTL, "--namespace", self.namespace, "get", kind, name, "-o", "json"], env=self.env)
        return json.loads(done.stdout) if done.returncode == 0 else None


@pytest.fixture
def helm(alone, folder):
    return Helm(alone, folder)


def test_helm__installs_what_it_finds_out_about_the_server(helm):
    helm("install", "one", helm.chart, "--wait")
    assert helm.get("configmap", "one-settings")["data"] == {"colour": "red", "served": "true", "minor": "36", "namespace": helm.namespace}
    assert helm.get("secret", "one-secret")["data"] == {"password": "cmVk"}
    assert helm.get("controllerrevisions.v1.apps", "one-revision")["revision"] == 1
    assert helm.get("configmap", "one-hook")["data"] == {"at": "1"}
    release = helm.get("secret", "sh.helm.release.v1.one.v1")
    assert (release["type"], release["metadata"]["labels"]["status"]) == ("helm.sh/release.v1", "deployed")
    assert [found["name"] for found in json.loads(helm("list", "-o", "json"))] == ["one"]
    assert "one-settings" in helm("get", "manifest", "one")


def test_helm__upgrades_and_rolls_back(helm):
    helm("install", "one", helm.chart)
    first = helm.get("configmap", "one-settings")
    processes.run([kube.KUBECTL, "--namespace", helm.namespace, "label", "configmap", "one-settings", "by=hand"], env=helm.env, check=True)
    helm("upgrade", "one", helm.chart, "--set", "colour=blue,revision=2", "--wait")
    upgraded = helm.get("configmap", "one-settings")
    assert (upgraded["metadata"]["uid"], upgraded["data"]["colour"], upgraded["metadata"]["labels"]["by"]) == (first["metadata"]["uid"], "blue", "hand")
    assert helm.get("controllerrevisions.v1.apps", "one-revision")["revision"] == 2
    assert helm.get("configmap", "one-hook")["data"] == {"at": "2"}
    helm("rollback", "one", "1")
    assert helm.get("configmap", "one-settings")["data"]["colour"] == "red"
    assert [found["status"] for found in json.loads(helm("history", "one", "-o", "json"))] == ["superseded", "superseded", "deployed"]


def test_helm__says_why_data_cannot_be_upgraded(helm):
    helm("install", "one", helm.chart)
    done = helm.run("upgrade", "one", helm.chart, "--set", "image=nginx:2")
    assert done.returncode == 1 and "field is immutable" in done.stderr
    assert json.loads(helm("history", "one", "-o", "json"))[-1]["status"] == "failed"


def test_helm__hears_of_manifests_that_do_not_fit(helm):
    wrong = helm.chart / "templates" / "wrong.yaml"
    wrong.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wrong}\ndate: {a: b}\n", encoding="utf-8")
    assert 'unknown field \\"date\\"' in helm.run("install", "one", helm.chart).stderr
    wrong.write_text("apiVersion: v1\nkind: Gadget\nmetadata: {name: wrong}\n", encoding="utf-8")
    assert helm.run("install", "two", helm.chart).returncode == 1
    assert helm("list", "--all", "-q").split() == ["one"]


def test_helm__dry_runs_on_the_server(helm):
    assert "one-settings" in helm("install", "one", helm.chart, "--dry-run=server")
    assert helm.get("configmap", "one-settings") is None and helm("list", "-q") == ""


def test_helm__uninstalls_all_of_it(helm):
    helm("install", "one", helm.chart)
    helm("uninstall", "one", "--wait", "--cascade=foreground")
    left = helm.alone.annals.get(f"/api/v1/namespaces/{helm.namespace}/configmaps").json["items"]
    assert [found["metadata"]["name"] for found in left if found["metadata"]["name"] != "kube-root-ca.crt"] == ["one-hook"]
    assert helm.get("secret", "sh.helm.release.v1.one.v1") is None
    assert helm.get("controllerrevisions.v1.apps", "one-revision") is None
