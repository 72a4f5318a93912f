"""kubectl's completion of kubectl annals: commands, flags, values, types, names, as the shell would get them."""

import os
import pathlib

import pytest

import processes
from recorded import Recorded

NO_SPACE, NO_FILES = 2, 4


@pytest.fixture
def complete(annals, namespace, folder):
    """As kubectl calls it: the possibilities, and cobra's directive."""
    os.symlink(processes.BIN, folder / "kubectl_complete-annals")

    def run(*words, **env):
        done = processes.run([folder / "kubectl_complete-annals", *words], env={**annals.kubectl_env(), **env})
        assert done.returncode == 0 and not done.stderr, done
        *lines, directive = done.stdout.splitlines()
        return [line.split("\t")[0] for line in lines], int(directive.removeprefix(":"))

    return run


@pytest.fixture
def settings(annals, namespace):
    it = Recorded(annals, namespace, "ConfigMap", "settings")
    it.make(data={"x": "1"})
    it.patch({"data": {"x": "2"}})
    gone = Recorded(annals, namespace, "ConfigMap", "gone")
    gone.make()
    gone.delete()
    return it


def test_commands(complete):
    assert complete("") == (["log", "history", "show", "diff", "undo", "restore", "verify", "who-uses", "migrations", "ui", "version"], NO_FILES)
    assert complete("re") == (["restore"], NO_FILES) and complete("nothing") == ([], NO_FILES) == complete("nothing", "")


def test_flags_and_their_values(complete, annals, namespace):
    assert complete("undo", "cm/a", "--d") == (["--dry-run", "--diff"], NO_FILES)
    assert "-w" in complete("log", "-")[0] and "-w" not in complete("undo", "-")[0]
    assert complete("undo", "cm/a", "--dry-run", "") == (["none", "server", "client"], NO_FILES) == complete("undo", "--dry-run=")
    assert complete("log", "-o", "w") == (["wide"], NO_FILES) and complete("diff", "x", "-o=p") == (["patch"], NO_FILES)
    assert complete("ui", "--w") == (["--write"], NO_FILES) and complete("ui", "") == ([], NO_FILES) == complete("ui", "configmap/")
    assert complete("log", "-n", namespace) == ([namespace], NO_FILES)
    assert complete("log", "--kubeconfig", "/tm") == ([], 0), "the shell knows files"
    assert complete("log", "--since=") == ([], NO_FILES) == complete("log", "--nothing=")


def test_types(complete):
    found, directive = complete("undo", "")
    assert {"configmaps", "statefulsets", "controllerrevisions"} <= set(found) and directive == NO_FILES
    assert "snapshots" not in found, "nothing of it is ever stored"
    assert len(found) == len(set(found))
    assert complete("log", "configm") == (["configmaps/"], NO_SPACE | NO_FILES)
    assert complete("log", "svc,configm") == (["svc,configmaps"], NO_FILES), "a name is another word then"
    assert {"svc,secrets", "svc,statefulsets"} <= set(complete("log", "svc,")[0])
    assert complete("diff", "svc,configm") == ([], NO_FILES), "it is about one object"
    assert {"providers", "configmaps", "controllerrevisions"} <= set(complete("who-uses", "")[0])


def test_names(complete, settings, namespace):
    assert complete("undo", "-n", namespace, "cm/") == (["cm/settings"], NO_FILES)
    assert complete("history", "-n", namespace, "cm/") == (["cm/gone", "cm/settings"], NO_FILES)
    assert complete("restore", "configmap", "-n", namespace, "") == (["gone"], NO_FILES)
    assert complete("verify", "-n", namespace, "cm/") == (["cm/gone", "cm/settings"], NO_FILES)
    assert complete("log", f"--namespace={namespace}", "cm", "s") == (["settings"], NO_FILES)
    assert complete("log", "-n", namespace, "cm/settings", "") == ([], NO_FILES) == complete("log", "cm", "settings", "")
    assert complete("log", "-n", namespace, "svc,cm", "s") == (["settings"], NO_FILES)
    assert complete("undo", "nothings/") == ([], 1) == complete("log", "cm,nothings", "")


@pytest.mark.parametrize("words", [["cm/settings"], ["cm", "settings"]])
def test_revisions(complete, settings, namespace, words):
    assert complete("undo", "-n", namespace, *words, "--to-revision", "") == (["1", "2"], NO_FILES)
    assert complete("diff", *words, "-n", namespace, "--revision=1", "--to=2") == (["2"], NO_FILES)


def test_a_server_that_is_away(complete, folder):
    (folder / "kubeconfig").write_text("""{clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {}}],
                                         contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}""")
    assert complete("undo", "cm/", KUBECONFIG=str(folder / "kubeconfig")) == ([], 1)
    assert complete("undo", "--help", "--dr", KUBECONFIG=str(folder / "kubeconfig")) == (["--dry-run"], NO_FILES)


def test_kubectl_finds_it(annals, namespace, folder, kubectl_binary, settings):
    processes.require_kubectl(kubectl_binary, 1, 26)
    for name in ("kubectl-annals", "kubectl_complete-annals"):
        os.symlink(processes.BIN, folder / name)
        assert (pathlib.Path(processes.BIN).parent / name).exists()

    def asked(*words):
        return annals.kubectl("__complete", "annals", *words, binary=kubectl_binary, PATH=f"{folder}:{os.environ['PATH']}").stdout.splitlines()

    assert asked("und")[0].startswith("undo\t")
    assert asked("undo", "-n", namespace, "cm/set") == ["cm/settings", f":{NO_FILES}"]
