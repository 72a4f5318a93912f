"""Fixtures: those of tests/integration serve here, too. `twins` are a kube-apiserver and an annals, `alone` is an
annals by itself, `cluster` a kube-apiserver with annals and sample-apiserver behind it; all are shared by all tests."""

import importlib.util
import pathlib
import shutil
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INTEGRATION = HERE.parent / "integration"
sys.path[:0] = [str(HERE), str(INTEGRATION), str(HERE.parent / "fault"), str(HERE.parent / "parity")]

collect_ignore = ["clients"]  # programs that run elsewhere

spec = importlib.util.spec_from_file_location("integration_fixtures", INTEGRATION / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

certificates = fixtures.certificates
folder = fixtures.folder
no_troubles = fixtures.no_troubles
shared_annals = fixtures.shared_annals
pytest_runtest_makereport = fixtures.pytest_runtest_makereport


def shared(make, certificates):
    """What make(folder, certificates) starts, for all tests of the session; it must not have had troubles when it ends."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        running = make(path, certificates)
        for process in running.everything:
            process.is_shared = True
        yield running
        running.stop()
        troubles = [trouble for process in running.everything for trouble in process.troubles()]
    finally:
        shutil.rmtree(path, ignore_errors=True)
    assert not troubles, "\n".join(troubles)


@pytest.fixture(scope="session")
def twins(certificates):
    from twins import Twins

    yield from shared(Twins, certificates)


@pytest.fixture(scope="session")
def audited(certificates):
    from auditing import Audited

    yield from shared(Audited, certificates)


@pytest.fixture(scope="session")
def aggregated_parity(certificates):
    from remapped import Served

    yield from shared(Served, certificates)


@pytest.fixture(scope="session")
def alone(certificates):
    from alone import Alone

    yield from shared(lambda path, certificates: Alone(path, certificates, controllers=True), certificates)


@pytest.fixture(scope="session")
def cluster(certificates):
    import aggregated

    programs = aggregated.programs()
    yield from shared(lambda path, certificates: aggregated.Cluster(path, certificates, *programs), certificates)


@pytest.fixture(scope="session")
def empty_cluster(certificates):
    """A cluster in which nothing has been installed yet."""
    import aggregated

    yield from shared(lambda path, certificates: aggregated.Cluster(path, certificates, controllers=False), certificates)


@pytest.fixture(scope="session")
def migrating_cluster(certificates):
    """A cluster in which storage versions change."""
    import migrating

    yield from shared(migrating.Migrating, certificates)


@pytest.fixture(params=["wardle", "annals"])
def behind(cluster, request):
    """What is behind `cluster`, one after the other: what sample-apiserver does is what annals has to do."""
    if request.param not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    return cluster.behind[request.param]


@pytest.fixture(scope="session")
def differences(twins, request):
    """Starts all chosen cases at once (most of their time is waiting): differences(case) are those of one of them."""
    chosen = {item.callspec.params["case"].name: item.callspec.params["case"] for item in request.session.items
              if "differences" in item.fixturenames}
    futures = {name: twins.pool.submit(twins.differences, case.steps) for name, case in chosen.items()}
    return lambda case: futures[case.name].result()
