"""Fixtures: those of tests/integration serve here, too. `replayed` runs cases against one annals, shared by all tests."""

import importlib.util
import pathlib
import shutil
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INTEGRATION = HERE.parent / "integration"
sys.path[:0] = [str(HERE), str(INTEGRATION), str(HERE.parent / "fault")]

spec = importlib.util.spec_from_file_location("integration_fixtures", INTEGRATION / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

certificates = fixtures.certificates
no_troubles = fixtures.no_troubles
pytest_runtest_makereport = fixtures.pytest_runtest_makereport


class Server:
    """An etcd and an annals on it."""

    def __init__(self, folder, certificates):
        import processes
        import truth

        self.etcd = processes.Etcd(folder / "etcd")
        self.gateway = truth.Gateway(self.etcd.endpoint)
        self.annals = processes.Serve(self.etcd.endpoint, certificates)
        self.everything = [self.etcd, self.annals]
        for process in self.everything:
            process.is_shared = True
        processes.retry_until(lambda: self.annals.get("/api/v1/namespaces/kube-public").status == 200, "the first namespaces")

    def stop(self):
        for process in reversed(self.everything):
            process.stop()
        troubles = [trouble for process in self.everything for trouble in process.troubles()]
        assert not troubles, "\n".join(troubles)


@pytest.fixture(scope="session")
def server(certificates):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    running = Server(folder, certificates)
    yield running
    running.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def replayed(server, certificates):
    """replayed(entry) is {step: (kube-apiserver's answer, annals')}; each case runs once."""
    import compare
    import normalizer
    import truth
    import wire

    client = wire.Client(server.annals.url, certificates.ca, *certificates.admin)
    played = {}

    def replay(entry):
        name = entry["case"]["name"]
        if name not in played:
            server.gateway.step_over(normalizer.literal_numbers(entry["case"]))
            results, order = compare.observe(client, entry["case"], {"compact": lambda: truth.forget(server.gateway, [server.annals])})
            played[name] = compare.compare(entry["case"], entry["results"], entry["order"], results, order)
        return played[name]

    yield replay
    client.close()
