"""With pytest and the standard library alone; $ANNALS_BIN names the program."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import urllib.request

import annals_test_server
import pytest

pytest_plugins = ["pytester"]

MAPS = "/api/v1/namespaces/default/configmaps"


def ask(server, path, body=None):
    request = urllib.request.Request(server.url + path, data=json.dumps(body).encode() if body else None,
                                     headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=server.ssl_context()) as answer:
        return json.load(answer)


def create(server, name):
    ask(server, MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


def names(server):
    """Without the ConfigMap that every namespace has."""
    return [item["metadata"]["name"] for item in ask(server, MAPS)["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]


@pytest.mark.parametrize("name", ["one", "other"])
def test_each_test_has_a_server_of_its_own(annals, name):
    create(annals, name)
    assert names(annals) == [name]
    assert annals.url in pathlib.Path(annals.kubeconfig).read_text()


def test_factory_makes_more_of_them(annals, annals_factory):
    other = annals_factory("--fake-nodes=1")
    create(other, "there")
    assert names(annals) == [] and names(other) == ["there"]


def test_session_has_one_for_all(annals_session, annals):
    assert annals_session.url != annals.url
    assert ask(annals_session, "/version")["gitVersion"].endswith(annals_session.version)


def test_nothing_is_left(annals_factory):
    server = annals_test_server.Server()
    server.stop()
    server.stop()
    assert not pathlib.Path(server.kubeconfig).parent.exists()


def test_end_by_itself_is_told(annals_factory):
    server = annals_test_server.Server()
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(RuntimeError, match="annals ended by itself with status -9"):
        server.stop()


def test_what_cannot_start_says_why(monkeypatch, tmp_path):
    with pytest.raises(annals_test_server.StartError, match="unknown flag: --no-such-flag"):
        annals_test_server.Server("--no-such-flag")
    with pytest.raises(annals_test_server.StartError, match="does not start.*nowhere"):
        annals_test_server.Server(binary="/nowhere/annals")
    stuck = tmp_path / "stuck"
    stuck.write_text("#!/bin/sh\nexec sleep 600\n")
    stuck.chmod(0o700)
    with pytest.raises(annals_test_server.StartError, match="not ready after 0.5 s"):
        annals_test_server.Server(binary=stuck, timeout=0.5)
    monkeypatch.delenv("ANNALS_BIN", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(annals_test_server.StartError, match=r"annals is not in \$PATH"):
        annals_test_server.Server()


CHILD = "import annals_test_server as a; s = a.Server(); print(s.pid, s.kubeconfig, flush=True); input()"


def test_killed_test_run_leaves_nothing(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    pid, _ = child.stdout.readline().split()
    server = os.pidfd_open(int(pid))
    child.kill()
    child.communicate()
    assert select.select([server], [], [], 60)[0], "the server goes on"
    os.close(server)
    assert list(tmp_path.iterdir()) == []


def test_flags_are_the_folders_and_a_failed_test_shows_the_log(pytester):
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def annals_args():
            return ["-v=1"]
    """)
    pytester.makepyfile("""
        import time

        def test_it(annals):
            for _ in range(3000):  # the log is copied as it comes
                if "ready" in annals.log:
                    break
                time.sleep(0.01)
            assert annals.url == ""
    """)
    result = pytester.runpytest_subprocess("-p", "annals_test_server.plugin" if not has_entry_point() else "no:nothing")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([".*annals' log.*", ".*start: ready.*"])


def has_entry_point():
    from importlib import metadata

    return any(point.value == "annals_test_server.plugin" for distribution in metadata.distributions() for point in distribution.entry_points)
