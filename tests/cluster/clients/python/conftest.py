"""What the tests here share: a client of the server that $KUBECONFIG leads to, and a namespace in it."""

import pytest
from kubernetes import client, config


@pytest.fixture(scope="session")
def api():
    return config.new_client_from_config()


@pytest.fixture
def namespace(api):
    made = client.CoreV1Api(api).create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(generate_name="python-")))
    return made.metadata.name
