"""Which server the tests use: annals, or the one that $TEST_KUBECONFIG leads to."""

import os

import kubernetes
import pytest


@pytest.fixture
def core(request):
    path = os.environ.get("TEST_KUBECONFIG") or request.getfixturevalue("annals").kubeconfig
    with kubernetes.config.new_client_from_config(path) as client:
        yield kubernetes.client.CoreV1Api(client)
