"""`annals serve --standalone` on an etcd that somebody else runs."""

import http.client
import os
import pathlib
import re
import signal

import processes
from processes import Watch, retry_until

NAMESPACES = "/api/v1/namespaces"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def revision(name):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "revision": 1, "data": {"a": 1}}


def answers(server, path):
    try:
        return server.get(path).status
    except (OSError, http.client.HTTPException):
        return 0


def test_replicas_on_one_etcd_show_the_same(etcd, serve, etcd_binary):
    store = etcd(binary=etcd_binary)
    one, two = serve(store.endpoint), serve(store.endpoint)
    for i in range(20):
        made = one.post(REVISIONS, revision(f"r{i}"))
        assert made.status == 201
        assert two.get(f"{REVISIONS}/r{i}").json == made.json


def test_prefixes_keep_servers_apart(etcd, serve):
    store = etcd()
    one, two = serve(store.endpoint), serve(store.endpoint, "--etcd-prefix=/other")
    assert one.post(REVISIONS, revision("mine")).status == 201
    assert two.get(REVISIONS + "/mine").status == 404
    assert all(key.startswith(("/annals/", "/other/")) for key in store.ctl("get", "", "--prefix", "--keys-only").split())


def test_etcd_may_come_later(folder, etcd, serve):
    server = serve(f"unix://{folder}/etcd-1/client:0", wait=False)
    assert server.get("/apis").status == 200
    assert server.get("/readyz").status == 500
    assert server.get(REVISIONS).status in (503, 504)
    etcd()
    server.wait_ready()
    retry_until(lambda: server.get(NAMESPACES + "/default").status == 200, "the first namespaces")


def test_etcd_may_go_and_come_back(folder, etcd, serve):
    store = etcd(dir=folder / "store")
    server = serve(store.endpoint)
    assert server.post(REVISIONS, revision("kept")).status == 201
    store.kill()
    assert server.post(REVISIONS, revision("lost")).status in (503, 504)
    retry_until(lambda: answers(server, "/readyz") == 500, "not ready")
    etcd(dir=folder / "store")
    server.wait_ready()
    assert server.get(REVISIONS + "/kept").status == 200


def test_new_serving_certificate_takes_effect_at_once(etcd, serve, certificates):
    server = serve(etcd().endpoint)

    def shown():
        connection = server.client.connect()
        connection.connect()
        try:
            return connection.sock.getpeercert()["serialNumber"]
        finally:
            connection.close()

    before = shown()
    certificates.server = certificates.issue("server", "/CN=server", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth")
    retry_until(lambda: shown() != before, "the new certificate")
    assert server.get("/readyz").status == 200


def test_users_of_certificates_may_do_what_their_groups_may(etcd, serve, certificates):
    server = serve(etcd().endpoint)
    alice = processes.Client(server.url, server.ca, *certificates.client("alice", "/O=dev/CN=alice"))
    assert alice.get("/apis").status == 200
    refused = alice.get(NAMESPACES)
    assert refused.status == 403
    assert 'User "alice" cannot list resource "namespaces"' in refused.json["message"]


def test_certificate_of_another_ca_is_401(folder, etcd, serve):
    server = serve(etcd().endpoint)
    strangers = processes.Certificates(folder)
    stranger = processes.Client(server.url, server.ca, *strangers.client("admin", "/O=system:masters/CN=admin"))
    assert stranger.get(NAMESPACES).status == 401


def test_sigterm_finishes_what_is_under_way(etcd, serve):
    server = serve(etcd().endpoint)
    with server.watch(NAMESPACES + "?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        server.signal(signal.SIGTERM)
        for _ in watch:
            pass
    assert server.wait() == 0


def test_children_inherit_no_descriptor(etcd, serve):
    """A program that annals starts must not hold a client's connection, nor a listener or a lock."""
    server = serve(etcd().endpoint)
    assert server.get("/readyz").status == 200
    with Watch(server.client, "/api/v1/namespaces?watch=1"):
        left_open = []
        for path in pathlib.Path(f"/proc/{server.pid}/fdinfo").iterdir():
            flags = int(re.search(r"^flags:\s*([0-7]+)$", path.read_text(), re.M)[1], 8)
            if int(path.name) > 2 and not flags & os.O_CLOEXEC:
                left_open.append(os.readlink(f"/proc/{server.pid}/fd/{path.name}"))
        assert not left_open


def test_bad_files_are_named(certificates):
    _, key = certificates.server
    done = processes.run([processes.BIN, "serve", "--standalone", "--etcd-servers=unix:///nowhere", "--secure-port=0",
                          "--tls-cert-file=/nonexistent.crt", f"--tls-private-key-file={key}"])
    assert done.returncode == 1
    assert "/nonexistent.crt" in done.stderr
