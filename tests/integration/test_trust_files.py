"""The authorities that `annals serve` trusts, by files that change while connections live: nothing is dropped, and what a file says counts
from the next request on. Attacks proper are in tests/cluster/test_attacks.py."""


import pytest

import processes
from objects import revisions

MASTER = {"X-Remote-User": "boss", "X-Remote-Group": "system:masters"}


class Line:
    """One connection that is kept alive, and never made anew."""

    def __init__(self, server, ca, identity=None):
        client = processes.Client(server.url, ca, *(identity or ()))
        self.connection = client.connect()
        self.connection.connect()
        self.connection.auto_open = 0

    def get(self, headers=None, path=revisions()):
        self.connection.request("GET", path, headers=headers or {})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def wait(self, status, headers=None):
        processes.retry_until(lambda: self.get(headers) == status, f"{status} on the same connection", interval=0.05)

    def peer_name(self):
        names = dict(pair[0] for pair in self.connection.sock.getpeercert()["subject"])
        return names["commonName"]


def put(path, text):
    """As programs that rotate files do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


@pytest.fixture
def fronts(folder):
    return processes.Certificates(folder / "fronts", "front-proxy-ca")


@pytest.fixture
def others(folder):
    """A CA of the same subject."""
    return processes.Certificates(folder / "others", "front-proxy-ca")


@pytest.fixture
def file(folder):
    return folder / "ca-file.crt"


@pytest.fixture
def server(etcd, serve, fronts, file):
    put(file, fronts.ca.read_text())
    return serve(etcd().endpoint, f"--requestheader-client-ca-file={file}", "--requestheader-allowed-names=front", "--access-log=-")


def test_file_of_front_proxies__is_followed_on_a_live_connection(server, certificates, fronts, others, file):
    line = Line(server, certificates.ca, fronts.client("front"))
    other = Line(server, certificates.ca, others.client("front"))
    with server.watch(revisions() + "?watch=1") as watch:
        for text in ("", "no certificate", others.ca.read_text()):
            assert (line.get(MASTER), other.get(MASTER)) == (200, 401)
            put(file, text)
            line.wait(401, MASTER)
            assert other.get(MASTER) == (200 if text.startswith("-----BEGIN") else 401)
            put(file, fronts.ca.read_text())
            line.wait(200, MASTER)
        file.unlink()
        line.wait(401, MASTER)
        put(file, fronts.ca.read_text() + others.ca.read_text())
        line.wait(200, MASTER)
        assert other.get(MASTER) == 200
        created = server.post(revisions(), {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "seen"}, "data": {}, "revision": 1})
        assert created.status == 201
        assert next(event["object"]["metadata"]["name"] for event in watch) == "seen"
    assert server.stderr.wait(f"{file} is valid again and in use")
    for problem in ("no certificate in", "cannot read"):
        assert server.stderr.wait(f"{problem} {file}.*no client is trusted by it until it is fixed")


def test_file_of_users__is_followed_on_a_live_connection(etcd, folder, certificates, others, file):
    put(file, certificates.ca.read_text())
    server = processes.Serve(etcd().endpoint, certificates, f"--client-ca-file={file}")
    line = Line(server, certificates.ca, certificates.admin)
    assert line.get() == 200
    put(file, others.ca.read_text())
    line.wait(401)
    put(file, "")
    line.wait(401)
    put(file, certificates.ca.read_text())
    line.wait(200)


def test_all_files__are_followed_at_once(etcd, folder, certificates, fronts, file):
    """A serving certificate and both CAs change together; who is connected stays so."""
    cert, key = (folder / f"serving.{suffix}" for suffix in ("crt", "key"))
    users = folder / "users.crt"

    def serve_as(name):
        made = certificates.issue(f"rotating-{name}", f"/CN={name}", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth")
        put(key, made[1].read_text())
        put(cert, made[0].read_text())

    serve_as("old")
    put(file, fronts.ca.read_text())
    put(users, certificates.ca.read_text())
    server = processes.Serve(etcd().endpoint, certificates, f"--tls-cert-file={cert}", f"--tls-private-key-file={key}", f"--client-ca-file={users}",
                             f"--requestheader-client-ca-file={file}")
    admin, proxy = Line(server, certificates.ca, certificates.admin), Line(server, certificates.ca, fronts.client("any-name"))
    assert (admin.get(), proxy.get(MASTER), admin.peer_name()) == (200, 200, "old")

    serve_as("new")
    put(users, fronts.ca.read_text())
    put(file, certificates.ca.read_text())
    processes.retry_until(lambda: Line(server, certificates.ca).peer_name() == "new", "the new certificate", interval=0.05)
    proxy.wait(403)  # whom the CA of users has signed: a user without rights
    admin.wait(200, MASTER)
    assert admin.get() == 401
    assert admin.peer_name() == "old"


def test_front_proxy__says_who_it_is_for(server, certificates, fronts):
    identity = fronts.client("front")
    assert Line(server, certificates.ca, identity).get({"X-Remote-User": "bob"}) == 403
    assert server.stderr.wait(r"status=403 .* user=bob ")
    assert Line(server, certificates.ca, identity).get() == 401
    assert Line(server, certificates.ca, fronts.client("stranger")).get(MASTER) == 401
    assert Line(server, certificates.ca).get(MASTER) == 403
    assert Line(server, certificates.ca, certificates.client("eve", "/CN=eve")).get(MASTER) == 403
    assert server.stderr.wait(r"status=403 .* user=eve ")
    assert "user=boss" not in server.stderr.text


def test_files__must_be_there_at_the_start(etcd, folder, certificates):
    (folder / "empty").write_text("")
    cert, key = certificates.server
    for path, why in ((folder / "absent", "No such file"), (folder / "empty", "no certificate in")):
        done = processes.run([processes.BIN, "serve", "--standalone", f"--etcd-servers={etcd().endpoint}", f"--tls-cert-file={cert}",
                              f"--tls-private-key-file={key}", "--secure-port=0", f"--requestheader-client-ca-file={path}"])
        assert done.returncode == 1 and why in done.stderr and str(path) in done.stderr


def named_authorities(server, version):
    """The authorities that the server sends, by which clients with several certificates choose."""
    # Without -nameopt OpenSSL 3.0 writes "CN = a", 3.2 and later "CN=a".
    address = f"{server.client.host}:{server.client.port}"
    shown = processes.run(["openssl", "s_client", "-connect", address, version, "-nameopt", "RFC2253"], input="").stdout
    _, _, rest = shown.partition("Acceptable client certificate CA names\n")
    return sorted(line for line in rest.partition("Client Certificate Types")[0].partition("Requested Signature")[0].splitlines())


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_handshake_names_the_authorities_of_clients(folder, etcd, certificates, version):
    others = {name: processes.Certificates(folder / name, name) for name in ("fronts", "new-users")}
    users = folder / "users.crt"
    users.write_text(certificates.ca.read_text())
    server = processes.Serve(etcd().endpoint, certificates, f"--client-ca-file={users}", f"--requestheader-client-ca-file={others['fronts'].ca}",
                             "--requestheader-username-headers=X-Remote-User")
    assert named_authorities(server, version) == ["CN=fronts", "CN=test-ca"]
    new = folder / "users.crt.new"
    new.write_text(certificates.ca.read_text() + others["new-users"].ca.read_text())
    new.rename(users)
    both = ["CN=fronts", "CN=new-users", "CN=test-ca"]
    processes.retry_until(lambda: named_authorities(server, version) == both, "the new authority's name", interval=0.2)
