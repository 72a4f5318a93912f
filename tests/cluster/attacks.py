"""Certificates that should not be trusted, connections that are kept alive, and what a server takes whoever asks for."""

import datetime
import http.client
import uuid

import processes
from aggregated import audited

CLIENT = "extendedKeyUsage=clientAuth"
CA_CONFIG = """\
[ca]
default_ca = this
[this]
database = {dir}/index
new_certs_dir = {dir}
default_md = sha256
rand_serial = yes
policy = any
unique_subject = no
[any]
commonName = optional
organizationName = optional
"""


def issue_dated(authority, name, subject, begins_in, ends_in):
    """(certificate, key) of a client, valid from begins_in to ends_in seconds from now."""
    folder = authority.dir
    config, index, ext, request, cert = (folder / file for file in ("ca.conf", "index", f"{name}.ext", f"{name}.csr", f"{name}.crt"))
    config.write_text(CA_CONFIG.format(dir=folder))
    index.touch()
    ext.write_text(CLIENT + "\n")
    now = datetime.datetime.now(datetime.timezone.utc)
    begin, end = ((now + datetime.timedelta(seconds=seconds)).strftime("%Y%m%d%H%M%SZ") for seconds in (begins_in, ends_in))
    authority._openssl("req", *authority._new_key(name), "-out", request, "-subj", subject)
    authority._openssl("ca", "-batch", "-notext", "-config", config, "-cert", authority.ca, "-keyfile", folder / "ca.key", "-startdate", begin,
                       "-enddate", end, "-extfile", ext, "-in", request, "-out", cert)
    return cert, folder / f"{name}.key"


UID_CONFIG = """\
oid_section = oids
[oids]
kubeUid = 1.3.6.1.4.1.57683.2
[req]
distinguished_name = names
[names]
"""


def with_uids(authority, name, subject):
    """(certificate, key) of a client whose subject may have /kubeUid=."""
    config, request, cert, ext = (authority.dir / f"{name}.{suffix}" for suffix in ("conf", "csr", "crt", "ext"))
    config.write_text(UID_CONFIG)
    ext.write_text(CLIENT + "\n")
    authority._openssl("req", "-config", config, *authority._new_key(name), "-out", request, "-subj", subject)
    authority._openssl("x509", "-req", "-in", request, "-CA", authority.ca, "-CAkey", authority.dir / "ca.key", "-CAcreateserial", "-out", cert,
                       "-days", "30", "-extfile", ext)
    return cert, authority.dir / f"{name}.key"


def self_signed(authority, name, subject):
    cert = authority.dir / f"{name}.crt"
    authority._openssl("req", "-x509", *authority._new_key(name), "-out", cert, "-subj", subject, "-days", "30", "-addext", CLIENT)
    return cert, authority.dir / f"{name}.key"


def with_chain(identity, *more):
    """The same certificate, with others behind it."""
    cert, key = identity
    longer = cert.with_suffix(".chain.crt")
    longer.write_text("".join(path.read_text() for path in (cert, *more)))
    return longer, key


class Line:
    """One connection straight to a replica, kept alive, and never made anew."""

    def __init__(self, behind, identity=None, path=None):
        self.replica = behind.replicas[0]
        self.path = path or behind.kind.path("default")
        self.connection = processes.Client(self.replica.url, behind.cluster.certificates.ca, *(identity or ())).connect()
        self.connection.connect()
        self.connection.auto_open = 0

    def status(self, *headers):
        """headers: (name, value), as they are and in this order."""
        self.connection.putrequest("GET", self.path)
        for name, value in headers:
            self.connection.putheader(name, value)
        self.connection.endheaders()
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def user(self, *headers):
        """(status, whom audit says it was)"""
        audit_id = str(uuid.uuid4())
        status = self.status(*headers, ("Audit-ID", audit_id))
        return status, audited(self.replica.audit_log, audit_id)["user"]

    def wait(self, status, *headers):
        processes.retry_until(lambda: self.status(*headers) == status, f"{status} on the same connection", interval=0.02)

    def close(self):
        self.connection.close()


def say(behind, identity, text):
    """The status of an answer to a head written byte by byte, on a connection of its own."""
    client = processes.Client(behind.replicas[0].url, behind.cluster.certificates.ca, *identity)
    connection = client.connect()
    connection.connect()
    with connection.sock as sock:
        sock.sendall(text)
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        return answer.status
