"""The modules that start annals for tests of other projects, and the example projects that use them. The tests of those two that need
nothing of annals pass unchanged against kube-apiserver, too: in Go by controller-runtime's envtest. build.sh makes what they need."""

import os
import re

import pytest

import kube
import processes
import programs

CLIENTS, EXAMPLES = processes.ROOT / "clients", processes.ROOT / "examples"
PACKAGES = processes.PEERS / "annals-python"  # where build.sh has installed clients/python


def environment(**more):
    """Without anything that leads to a server by accident. A variable None is left out."""
    strange = ("KUBECONFIG", "KUBEBUILDER_ASSETS", "TEST_SERVER", "TEST_KUBECONFIG", "USE_EXISTING_CLUSTER", "ANNALS_BIN")
    return {**{name: value for name, value in os.environ.items() if name not in strange}, **more}


def run(arguments, folder, env):
    """What it prints; it must succeed."""
    done = processes.Process(arguments, env=env, cwd=folder)
    done.is_expected_to_end = True
    done.popen.wait(programs.SECONDS + processes.PATIENCE)
    status = done.wait()
    printed = done.stdout.text + done.stderr.text
    assert status == 0, printed
    return printed


def go(name, folder, env):
    """All tests of the folder have passed."""
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*_test.go"))
    printed = run([processes.PEERS / f"{name}.test", "-test.v", f"-test.timeout={programs.SECONDS}s"], folder, env)
    assert set(re.findall(r"^func (Test\w+)\(t \*testing\.T\)", sources, re.M)) == set(re.findall(r"^--- PASS: (\w+)", printed, re.M)), printed


def python(folder, env):
    if not PACKAGES.exists() or not programs.Python.INTERPRETER.exists():
        pytest.skip("there are no packages from PyPI: tests/cluster/build.sh says why")
    printed = run([programs.Python.INTERPRETER, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."], folder,
                  {**env, "PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"})
    assert re.search(r"^[1-9]\d* passed in", printed, re.M), printed


def test_go_module():
    go("annalstest", CLIENTS / "go" / "annalstest", environment(ANNALS_BIN=processes.BIN))


def test_python_package():
    python(CLIENTS / "python" / "tests", environment(ANNALS_BIN=processes.BIN))


def test_go_example__against_annals():
    go("example-go", EXAMPLES / "go-test", environment(ANNALS_BIN=processes.BIN))


def test_go_example__against_envtest(folder):
    for name in ("kube-apiserver", "etcd", "kubectl"):
        (folder / name).symlink_to(processes.PEERS / name)
    go("example-go", EXAMPLES / "go-test", environment(TEST_SERVER="envtest", KUBEBUILDER_ASSETS=str(folder)))


def test_python_example__against_annals():
    python(EXAMPLES / "python-test", environment(ANNALS_BIN=processes.BIN))


def test_python_example__against_kube_apiserver(folder, certificates):
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
    server = kube.KubeApiserver(etcd.endpoint, certificates, folder / "kube")
    kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", server, certificates)
    python(EXAMPLES / "python-test", environment(TEST_KUBECONFIG=str(kubeconfig)))


@pytest.mark.parametrize("name", ["history", "operator"])
def test_go_example__of_annals(name):
    go(f"example-go-{name}", EXAMPLES / f"go-{name}", environment(ANNALS_BIN=processes.BIN))


def test_python_example__of_annals():
    python(EXAMPLES / "python-history", environment(ANNALS_BIN=processes.BIN))


def test_curl_example(folder):
    """It can be repeated on a server that has seen it."""
    server = processes.Up(folder / "data", "--store=memory")
    for _ in range(2):
        printed = run([EXAMPLES / "curl" / "tour.sh", server.url, server.dir], folder, environment())
        assert re.findall(r'"result": "(\w+)"', printed) == ["Created", "Created", "RolledBack"]
        assert '"path": "/image"' in printed and "field is immutable" in printed
        assert re.findall("^(ADDED|MODIFIED) web-", printed, re.M) == ["ADDED", "ADDED", "MODIFIED"]
