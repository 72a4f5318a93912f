"""etcd is restored from a backup below running servers: they notice, end what followed the history that is gone, and show what there is."""

import re

import pytest

import processes
from metrics import Metrics

PATH = "/apis/apps/v1/namespaces/default/controllerrevisions"
N_LATER = 20  # objects that the backup does not have


def revision(name, **metadata):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, **metadata}, "data": {"of": name}, "revision": 1}


def names(server):
    return sorted(item["metadata"]["name"] for item in server.get(PATH).json["items"])


class Place:
    """An etcd, two servers, and a backup; and much that has happened since."""

    def __init__(self, folder, certificates, etcd, serve):
        self.folder, self.etcd = folder, etcd(dir=folder / "etcd")
        self.servers = [serve(self.etcd.endpoint) for _ in range(2)]
        for name in ("gone-later", "changed-later", "same"):
            assert self.servers[0].post(PATH, revision(name)).status == 201
        self.before = names(self.servers[0])
        self.etcd.save(folder / "backup")
        assert self.servers[0].delete(f"{PATH}/gone-later").status == 200
        assert self.servers[0].patch(f"{PATH}/changed-later", {"metadata": {"labels": {"later": "yes"}}}).status == 200
        for number in range(N_LATER):
            assert self.servers[0].post(PATH, revision(f"later-{number}")).status == 201
        self.version = self.servers[0].get(PATH).json["metadata"]["resourceVersion"]
        assert names(self.servers[1]) == names(self.servers[0])
        self.watches = [server.watch(f"{PATH}?watch=1&resourceVersion={self.version}") for server in self.servers]

    def start(self, **more):
        self.etcd = processes.Etcd(self.etcd.dir, **more)

    def replace(self, *flags, tool=("etcdctl",)):
        self.etcd.stop()
        self.etcd.restore(self.folder / "backup", *flags, tool=tool)

    def check(self, are_told=True):
        """are_told: by a last event. Else a watch that resumes there gets it."""
        for watch in self.watches:
            if are_told:
                event = watch.next()
                assert (event["type"], event["object"].get("code")) == ("ERROR", 410), event
            assert watch.response.readline() == b""
        for server in self.servers:
            server.wait_ready()
            assert names(server) == self.before
            assert "labels" not in server.get(f"{PATH}/changed-later").json["metadata"]
            assert server.get(f"{PATH}/gone-later").status == 200
            assert server.get(f"{PATH}/later-0").status == 404
        self.check_goes_on()

    def check_goes_on(self):
        first, second = self.servers
        with second.watch(f"{PATH}?watch=1&resourceVersion={second.get(PATH).json['metadata']['resourceVersion']}") as watch:
            assert first.post(PATH, revision("new")).status == 201
            assert watch.next()["object"]["metadata"]["name"] == "new"
        assert names(second) == sorted([*self.before, "new"])
        for server in self.servers:
            assert server.delete(f"{PATH}/new").status == 200 or server is second
            assert Metrics(server).sum("annals_cache_restores_total") + Metrics(server).sum("annals_cache_reloads_total") >= 1


@pytest.fixture
def place(folder, certificates, etcd, serve):
    return Place(folder, certificates, etcd, serve)


def refused(server, version):
    with server.watch(f"{PATH}?watch=1&resourceVersion={version}&timeoutSeconds=1") as watch:
        line = watch.response.readline().decode()
    return bool(re.search(r'"code":410', line))


def test_a_lower_revision_is_noticed(place):
    place.replace()
    place.start()
    place.check()
    for server in place.servers:
        assert refused(server, int(place.version) + 1000)  # a revision of the other history, as far as anybody can tell
        assert server.stderr.wait("etcd has been restored from a backup")


def test_another_cluster_is_noticed(place):
    place.replace("--initial-cluster-token=another")
    place.start()
    place.check()


def test_a_history_that_has_overtaken_is_noticed(place):
    """Others write to that etcd before a server sees it again: neither its id nor its revision tells."""
    place.replace()
    place.start(socket_name="elsewhere")
    for _ in range(4 * N_LATER):
        place.etcd.ctl("put", "/other", "x")
    place.etcd.stop()
    place.start()
    place.check()


def test_a_revision_that_is_bumped_is_noticed(place):
    """What operators are advised to do: no revision is ever used twice. To servers it is a compaction of all that they followed."""
    tool = processes.PEERS / "etcdutl"
    if not tool.exists():
        pytest.skip("etcdutl of etcd 3.6 is missing: tests/cluster/build.sh builds it")
    place.replace("--bump-revision=1000000", "--mark-compacted", tool=[tool])
    place.start(binary=processes.PEERS / "etcd")
    place.check(are_told=False)
    for server in place.servers:
        assert refused(server, place.version)
        assert int(server.get(PATH).json["metadata"]["resourceVersion"]) > 1000000


def test_the_same_etcd_is_no_other_one(place):
    """Ended and started again, it is followed on; nobody is sent away."""
    place.etcd.kill()
    place.start()
    assert place.servers[0].stderr.wait("following etcd", since=0)
    place.servers[0].wait_ready()
    place.servers[1].wait_ready()
    assert place.servers[0].post(PATH, revision("after")).status == 201
    for watch in place.watches:
        assert watch.next()["object"]["metadata"]["name"] == "after"
    for server in place.servers:
        assert Metrics(server).sum("annals_cache_restores_total") == 0

