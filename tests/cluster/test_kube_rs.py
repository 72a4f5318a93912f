"""kube-rs, the client that programs in Rust use, with rustls: led to `annals up` by the administrator's kubeconfig, and through
kube-apiserver to our group."""

import os

import pytest

import programs
from test_clients import judge

KUBE_RS = programs.Rust()


@pytest.fixture(scope="module")
def env_up(shared_annals):
    return shared_annals.get().kubectl_env()


@pytest.fixture(scope="module")
def env_through(cluster):
    return {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(cluster.folder), "CLIENTS_DOOR": "annals.dev/v1"}


@pytest.fixture(scope="module")
def outcomes(request):
    """outcomes(way): those of all chosen tests, which run when the first is asked for."""
    chosen, done = {}, {}
    for item in request.session.items:
        if item.originalname == test_kube_rs__works.__name__:
            chosen.setdefault(item.callspec.params["way"], []).append(item.callspec.params["name"])

    def of(way):
        if way not in done:
            done[way] = KUBE_RS.run(chosen[way], request.getfixturevalue(f"env_{way}"))
        return done[way]

    return of


@pytest.mark.parametrize("name", KUBE_RS.names())
@pytest.mark.parametrize("way", ["up", "through"])
def test_kube_rs__works(way, name, outcomes):
    judge(outcomes(way), name)
