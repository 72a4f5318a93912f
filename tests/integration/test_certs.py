"""`annals certs`: a directory of certificates for a deployment, and the manifests made of it."""

import base64
import re
import ssl
import stat

import pytest
import yaml

import processes
from processes import BIN

ALL = ["ca", "serving", "etcd-ca", "etcd-server", "etcd-peer", "etcd-client"]


@pytest.fixture
def certs(folder):
    """Runs it on a directory of the test's own: what it did with each certificate, {name: "made" or "kept"}."""

    def run(*flags, fails=False):
        done = processes.run([BIN, "certs", "--dir", folder / "certs", *flags])
        assert (done.returncode != 0) == fails, done.stderr
        run.done = done
        return {name: verb for verb, name in re.findall(r"^(made|kept) \S+/([a-z-]+)\.crt: good until", done.stdout + done.stderr, re.MULTILINE)}

    run.dir = folder / "certs"
    return run


def openssl(*arguments):
    return processes.run(["openssl", *arguments], check=True).stdout


def names_of(path):
    text = openssl("x509", "-in", path, "-noout", "-ext", "subjectAltName")
    return re.findall(r"(?:DNS|IP Address):([^,\s]+)", text)


def test_what_is_good_is_kept(certs):
    assert certs("--etcd") == {name: "made" for name in ALL}
    before = {path.name: path.read_bytes() for path in certs.dir.glob("*.*")}
    assert certs("--etcd") == {name: "kept" for name in ALL}
    assert before == {path.name: path.read_bytes() for path in certs.dir.glob("*.*")}


def test_keys_are_their_owners_alone(certs):
    certs("--etcd")
    assert stat.S_IMODE(certs.dir.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in certs.dir.glob("*.key")} == {0o600}
    assert {path.stem for path in certs.dir.glob("*.key")} == set(ALL)


def test_keys_have_32_octets_as_openssl_sees_them(certs):
    """RFC 5915, by which rustls goes. A key that had a zero in front, as GnuTLS writes it, is written again."""
    certs("--etcd")
    for name in ALL:
        path = certs.dir / f"{name}.key"
        inner = re.search(r"^ *(\d+):d=1 .*OCTET STRING", openssl("asn1parse", "-in", path), re.MULTILINE)[1]
        values = re.findall(r"l= *(\d+) prim: OCTET STRING", openssl("asn1parse", "-in", path, "-strparse", inner))
        assert values == ["32"], name
        assert "ASN1 OID: prime256v1" in openssl("ec", "-in", path, "-noout", "-text")


def test_keys_that_not_everybody_reads_are_written_again(certs, folder):
    certs()
    path = certs.dir / "serving.key"
    good = path.read_bytes()
    der = base64.b64decode(b"".join(good.splitlines()[1:-1]))
    old = bytearray(der[:36] + b"\0" + der[36:])
    for length in (2, 28, 30, 35):
        old[length] += 1
    path.write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + base64.encodebytes(bytes(old)) + b"-----END PRIVATE KEY-----\n")
    assert "Private-Key" in openssl("pkey", "-in", path, "-noout", "-text")
    assert certs() == {"ca": "kept", "serving": "kept"}
    assert f"wrote {path} again" in certs.done.stdout
    assert path.read_bytes() == good
    certs()
    assert "again: the same key" not in certs.done.stdout


def test_names_are_those_of_the_service(certs):
    certs("--service=a", "--namespace=b", "--dns=x.example.com,*.y.example.com", "--ip=10.0.0.1,fd00::1")
    given = {"x.example.com", "*.y.example.com", "10.0.0.1", "FD00:0:0:0:0:0:0:1"}
    assert set(names_of(certs.dir / "serving.crt")) == {"a", "a.b", "a.b.svc", "a.b.svc.cluster.local", "localhost", "127.0.0.1", "0:0:0:0:0:0:0:1"} | given


def test_other_names_make_servers_anew_and_nothing_else(certs):
    certs("--etcd")
    made = certs("--etcd", "--dns=x.example.com")
    assert {name for name, verb in made.items() if verb == "made"} == {"serving", "etcd-server", "etcd-peer"}


def test_authorities_are_apart(certs):
    """The certificates that etcd trusts are trusted by nobody else, and the other way round."""
    certs("--etcd")
    for name, authority in [("serving", "ca"), ("etcd-client", "etcd-ca"), ("etcd-server", "etcd-ca"), ("etcd-peer", "etcd-ca")]:
        for candidate in ("ca", "etcd-ca"):
            done = processes.run(["openssl", "verify", "-CAfile", certs.dir / f"{candidate}.crt", certs.dir / f"{name}.crt"])
            assert (done.returncode == 0) == (candidate == authority), (name, candidate)


def test_days_and_renewal(certs):
    certs("--days=10", "--renew-before=9")
    assert processes.run(["openssl", "x509", "-in", certs.dir / "serving.crt", "-noout", "-checkend", str(9 * 86400)]).returncode == 0
    assert processes.run(["openssl", "x509", "-in", certs.dir / "serving.crt", "-noout", "-checkend", str(11 * 86400)]).returncode != 0
    assert certs("--days=100", "--renew-before=9")["serving"] == "kept"
    assert certs("--days=100", "--renew-before=11") == {"ca": "kept", "serving": "made"}


def test_secrets_have_what_the_files_have(certs):
    certs("--etcd", "--service=a", "--namespace=b", "--output=secrets")
    secrets = list(yaml.safe_load_all(certs.done.stdout))
    assert [secret["metadata"]["name"] for secret in secrets] == ["a-serving", "a-etcd-client", "a-etcd-server", "a-etcd-peer"]
    for secret in secrets:
        name, authority = secret["metadata"]["name"].removeprefix("a-"), "etcd-ca" if "etcd" in secret["metadata"]["name"] else "ca"
        files = {"tls.crt": f"{name}.crt", "tls.key": f"{name}.key", "ca.crt": f"{authority}.crt"}
        assert (secret["kind"], secret["type"], secret["metadata"]["namespace"]) == ("Secret", "kubernetes.io/tls", "b")
        assert {key: base64.b64decode(value) for key, value in secret["data"].items()} == {key: (certs.dir / file).read_bytes() for key, file in files.items()}


def test_manifests_have_the_authority_within(certs):
    certs("--output=manifests")
    secret, *services = yaml.safe_load_all(certs.done.stdout)
    assert [service["metadata"]["name"] for service in services] == ["v1.annals.dev", "v1beta1.annals.dev"]
    for service in services:
        assert base64.b64decode(service["spec"]["caBundle"]) == (certs.dir / "ca.crt").read_bytes()


def test_an_authority_that_lost_its_key_is_not_replaced(certs):
    certs()
    (certs.dir / "ca.key").unlink()
    before = (certs.dir / "ca.crt").read_bytes()
    certs(fails=True)
    assert "ca.key is missing" in certs.done.stderr
    assert (certs.dir / "ca.crt").read_bytes() == before


@pytest.mark.parametrize("flag", ["--service=A", "--namespace=a.b", "--dns=a_b", "--ip=1.2.3", "--days=0", "--days=1201", "--renew-before=365", "--output=x"])
def test_what_cannot_be_is_refused(certs, flag):
    certs(flag, fails=True)
    assert certs.done.returncode == 2
    assert flag.partition("=")[0] in certs.done.stderr
    assert not certs.dir.exists()


def test_a_server_takes_up_what_a_kubelet_exchanges(certs, folder, etcd, serve):
    """A Secret's files are links into a folder that is a link, which is renamed over."""
    certs()
    shown = folder / "shown"
    shown.mkdir()

    def show(version):
        (shown / version).mkdir()
        for name in ("tls.crt", "tls.key"):
            (shown / version / name).write_bytes((certs.dir / name.replace("tls", "serving")).read_bytes())
        (shown / "next").symlink_to(version)
        (shown / "next").rename(shown / "..data")

    def is_shown(name):
        certificate = ssl.get_server_certificate((server.client.host, server.client.port))
        (folder / "seen.crt").write_text(certificate)
        return name in names_of(folder / "seen.crt")

    show("..1")
    server = serve(etcd().endpoint, f"--tls-cert-file={shown}/..data/tls.crt", f"--tls-private-key-file={shown}/..data/tls.key", wait=False)
    assert is_shown("annals.annals-system.svc") and not is_shown("new.example.com")
    certs("--dns=new.example.com")
    show("..2")
    processes.retry_until(lambda: is_shown("new.example.com"), "the new certificate is shown")
