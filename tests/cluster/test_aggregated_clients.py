"""client-go and controller-runtime through kube-apiserver: the programs of test_clients.py, led to our group (clients/world/door.go) while everything
else that they need is kube-apiserver's own."""

import os
import re

import pytest

import alone
import programs
import truth
from test_clients import judge

CLIENTGO, CONTROLLERS = programs.Go("clientgo"), programs.Go("controllers")
# Tests of other kinds, of documents that are not led elsewhere, of bodies in protobuf, which cannot be, of limits, and of a field that can be
# selected here.
LEFT_OUT = re.compile(r"TestTyped_|TestOpenAPI_|TestDiscovery_|TestEvents_|TestReviews_|TestForms_|InProtobuf$|_tooManyRequests|_retryAfter|TestList_selectors")
NAMES = [(suite, name) for suite in (CLIENTGO, CONTROLLERS) for name in suite.names() if not LEFT_OUT.search(name)]


@pytest.fixture(scope="session")
def env(cluster):
    if "annals" not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    annals = cluster.behind["annals"]

    def restart():
        annals.replicas[0].stop()
        annals.start_replica(0)
        annals.announce()
        annals.wait_available()

    gateway = truth.Gateway(annals.etcd.endpoint)
    control = alone.Control({"restart": restart, "cut": annals.doorway.cut, "compact": lambda: truth.forget(gateway, annals.replicas)})
    yield {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(cluster.folder), "CLIENTS_DOOR": "annals.dev/v1", "ANNALS_CONTROL": control.url}
    control.close()


def is_alone(name):
    return name.startswith("TestInterrupted_")


@pytest.fixture(scope="session")
def outcomes(env, request):
    """outcomes(suite): those of all chosen tests that need not be alone, which run when the first is asked for."""
    chosen, done = {}, {}
    for item in request.session.items:
        if item.originalname == test_client__works_through_kube_apiserver.__name__ and not is_alone(item.callspec.params["name"]):
            chosen.setdefault(item.callspec.params["suite"], []).append(item.callspec.params["name"])

    def of(suite):
        if suite not in done:
            done[suite] = suite.run(chosen[suite], env)
        return done[suite]

    return of


@pytest.mark.parametrize("suite,name", [pytest.param(suite, name, id=f"{suite.name}-{name}") for suite, name in NAMES])
def test_client__works_through_kube_apiserver(suite, name, outcomes, env):
    judge(suite.run([name], env) if is_alone(name) else outcomes(suite), name)
