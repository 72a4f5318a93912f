"""Fixtures of pytest, which finds them by the package's entry point.

    annals           a server of the test's own
    annals_session   one for all tests of the session (of each worker, with pytest-xdist): quicker, but they share what it holds
    annals_factory   starts more of them: annals_factory("--fake-nodes=2", store="etcd")

`annals_args` may be overridden, for a module or a folder: flags of `annals up` for the first two.
"""

import pytest

from annals_test_server import Server


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """The servers' logs belong to the report of a test that has failed."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in getattr(item, "annals_servers", []):
            if server.log:
                report.sections.append((f"annals' log ({server.url})", server.log))


@pytest.fixture(scope="session")
def annals_args():
    return ()


@pytest.fixture
def annals_factory(request):
    request.node.annals_servers = servers = []

    def start(*args, **options):
        servers.append(Server(*args, **options))
        return servers[-1]

    yield start
    errors = []
    for server in reversed(servers):
        try:
            server.stop()
        except RuntimeError as error:
            errors.append(str(error))
    if errors:
        pytest.fail("\n".join(errors), pytrace=False)


@pytest.fixture
def annals(annals_factory, annals_args):
    return annals_factory(*annals_args)


@pytest.fixture(scope="session")
def annals_session(annals_args):
    with Server(*annals_args) as server:
        yield server
