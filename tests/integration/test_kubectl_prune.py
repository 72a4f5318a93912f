"""kubectl apply --prune and kubectl diff --prune: they list all kinds that kubectl knows, and fail where one of them is not served."""

import json

import pytest

import processes

PODS = {"metadata": {"labels": {"app": "x"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
RUNS_ON = {**PODS, "spec": {"containers": [{"name": "c", "image": "i"}]}}
OBJECTS = {
    "configmap": ("v1", "ConfigMap", {"data": {"a": "b"}}),
    "deployment": ("apps/v1", "Deployment", {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": RUNS_ON}}),
    "job": ("batch/v1", "Job", {"spec": {"template": PODS}}),
    "cronjob": ("batch/v1", "CronJob", {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": PODS}}}}),
}


@pytest.fixture
def folder(tmp_path):
    """One object of each kind that goes, and one that stays."""
    for resource, (version, kind, rest) in OBJECTS.items():
        (tmp_path / f"{resource}.json").write_text(json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "goes", "labels": {"app": "x"}}, **rest}))
    (tmp_path / "stays.json").write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stays", "labels": {"app": "x"}}}))
    return tmp_path


def prune(annals, namespace, verb, folder):
    return annals.kubectl("--namespace", namespace, verb, "--prune", "-l", "app=x", "-f", str(folder))


def names(annals, namespace):
    done = annals.kubectl("--namespace", namespace, "get", ",".join(f"{resource}s" for resource in OBJECTS), "-l", "app=x", "-o", "name")
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


EVERYTHING = ["configmap/goes", "configmap/stays", "cronjob.batch/goes", "deployment.apps/goes", "job.batch/goes"]


def test_apply_prune__removes_what_left_the_folder(annals, namespace, folder):
    done = prune(annals, namespace, "apply", folder)
    assert done.returncode == 0, done.stderr
    assert names(annals, namespace) == EVERYTHING
    for resource in OBJECTS:
        (folder / f"{resource}.json").unlink()
    done = prune(annals, namespace, "apply", folder)
    assert done.returncode == 0, done.stderr
    assert all(f"{name} pruned" in done.stdout for name in EVERYTHING if name != "configmap/stays"), done.stdout
    assert names(annals, namespace) == ["configmap/stays"]


def test_diff_prune__shows_what_left_the_folder(annals, namespace, folder):
    binary = processes.kubectl_since(1, 24)
    assert prune(annals, namespace, "apply", folder).returncode == 0
    for resource in OBJECTS:
        (folder / f"{resource}.json").unlink()
    done = annals.kubectl("--namespace", namespace, "diff", "--prune", "-l", "app=x", "-f", str(folder), binary=binary)
    assert done.returncode == 1, done.stderr
    assert all(f"-kind: {kind}" in done.stdout for _, kind, _ in OBJECTS.values()), done.stdout
    assert names(annals, namespace) == EVERYTHING


def test_delete__of_a_job_says_what_becomes_of_its_pods(annals, namespace, folder):
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    job = json.loads((folder / "job.json").read_text())
    for query, warns in (("", True), ("?propagationPolicy=Background", False), ("?propagationPolicy=Orphan", False), ("?orphanDependents=true", False)):
        name = f"j{len(query)}"
        assert annals.post(path, {**job, "metadata": {"name": name}}).status == 201
        answer = annals.delete(f"{path}/{name}{query}")
        assert answer.status == 200
        assert ("child pods are preserved by default" in str(answer.headers)) == warns, query
