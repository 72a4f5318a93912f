"""An etcd that has no room: everybody gets an error, and all objects can be read, the newest too."""

import json

import processes
from metrics import Metrics

PATH = "/apis/apps/v1/namespaces/default/controllerrevisions"
MEBIBYTE = "x" * 2**20
OTHERS = [f"/other/{number}" for number in range(24)]


def revision(name):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "data": {}, "revision": 1}


def fill(etcd):
    """Others write until etcd takes no more."""
    for number in range(64):
        filled = processes.run(["etcdctl", "--endpoints", etcd.endpoint, "put", f"/filling/{number}"], env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"},
                               input=MEBIBYTE)
        if filled.returncode:
            assert "NOSPACE" in filled.stderr or "space exceeded" in filled.stderr, filled.stderr
            return
    raise AssertionError("etcd took everything")


def make_room(etcd):
    etcd.ctl("del", "--prefix", "/filling/")
    revision_now = json.loads(etcd.ctl("endpoint", "status", "--write-out=json"))[0]["Status"]["header"]["revision"]
    etcd.ctl("compact", str(revision_now))
    etcd.ctl("defrag")
    etcd.ctl("alarm", "disarm")


def alarm(server):
    return Metrics(server).sum("annals_etcd_alarm")


def test_everything_can_be_read_and_everybody_is_told(etcd, serve, etcd_binary):
    store = etcd(binary=etcd_binary, flags=[f"--quota-backend-bytes={16 * 2**20}"])
    servers = [serve(store.endpoint) for _ in range(2)]
    for name in ("kept", "deleted"):
        assert servers[0].post(PATH, revision(name)).status == 201
    for key in OTHERS:
        store.ctl("put", key, "x")
    fill(store)
    for server in servers:
        assert server.stderr.wait("warning etcd: etcd has the alarm NOSPACE")
        assert alarm(server) == 1
        verbose = server.get("/readyz?verbose")
        assert verbose.status == 200 and "[+]etcd-alarms ok, but etcd has no room" in verbose.text

    # others write elsewhere: deletions are all that etcd still takes
    for number, key in enumerate(OTHERS):
        store.ctl("del", key)
        answer = servers[number % 2].get(PATH)
        assert answer.status == 200, answer
        assert len(answer.json["items"]) == 2
    refused = servers[0].post(PATH, revision("refused"))
    assert refused.status == 500 and refused.json["message"] == "etcdserver: mvcc: database space exceeded" and "reason" not in refused.json
    assert servers[1].get(f"{PATH}/refused").status == 404
    assert servers[0].delete(f"{PATH}/deleted").status == 200
    store.ctl("del", "/filling/0")
    assert servers[1].get(f"{PATH}/deleted").status == 404  # which leaves no key to be found by its revision
    assert [item["metadata"]["name"] for item in servers[1].get(PATH).json["items"]] == ["kept"]
    assert sum(Metrics(server).sum("annals_read_index_proofs_total") for server in servers) > 0

    make_room(store)
    for server in servers:
        assert server.stderr.wait("etcd's alarm NOSPACE is over")
        assert alarm(server) == 0
    assert servers[0].post(PATH, revision("new")).status == 201
    assert servers[1].get(f"{PATH}/new").status == 200
