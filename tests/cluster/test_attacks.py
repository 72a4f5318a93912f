"""Attacks on what is behind a kube-apiserver, straight at its port: nobody but the front proxy speaks for others, and nobody is trusted
whom the cluster does not vouch for, or does not any more. sample-apiserver must refuse them in the same way."""

import pathlib
import time
import uuid

import pytest

import aggregated
import processes
from aggregated import FRONT_NAME, RBAC, audited
from attacks import CLIENT, Line, issue_dated, say, self_signed, with_chain, with_uids

MASTER = [("X-Remote-User", "boss"), ("X-Remote-Group", "system:masters")]
MASTERS = ["system:masters", "system:authenticated"]
CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


@pytest.fixture(scope="session")
def front(cluster):
    return cluster.front


@pytest.fixture
def name():
    return f"someone-{uuid.uuid4()}"


def names(user):
    return user["username"], user.get("groups")


# ---- the front proxy ----


def test_front_proxy__speaks_for_others(cluster, behind):
    line = Line(behind, cluster.front_proxy)
    status, user = line.user(*MASTER)
    assert (status, names(user)) == (200, ("boss", MASTERS))
    status, user = line.user(("x-remote-user", "bob"), ("X-REMOTE-GROUP", "devs"), ("X-Remote-Uid", "u1"), ("X-Remote-Group", "ops"),
                             ("X-Remote-Extra-Acme.com%2fWhy", "a"), ("x-remote-extra-acme.com%2FWHY", "b"))
    assert (status, user) == (403, {"username": "bob", "uid": "u1", "groups": ["devs", "ops", "system:authenticated"],
                                    "extra": {"acme.com/why": ["a", "b"]}})


def test_front_proxy__names_nobody(cluster, behind):
    line = Line(behind, cluster.front_proxy)
    for headers in ([], [("X-Remote-Group", "system:masters")], [("X-Remote-User", ""), *MASTER[1:]], [("X-Remote-User", ""), *MASTER]):
        assert line.status(*headers) == 401
    status, user = line.user(("X-Remote-User", "system:anonymous"))
    assert (status, names(user)) == (403, ("system:anonymous", None))


def test_front_proxy__goes_before_a_token(cluster, behind):
    token = cluster.token(behind.namespace, behind.program.name)
    status, user = Line(behind, cluster.front_proxy).user(("Authorization", f"Bearer {token}"), *MASTER)
    assert (status, names(user)) == (200, ("boss", MASTERS))
    status, user = Line(behind, cluster.front_proxy).user(("Authorization", f"Bearer {token}"))
    assert (status, user["username"]) == (403, f"system:serviceaccount:{behind.namespace}:{behind.program.name}")


def test_front_proxy__does_not_pass_on_what_users_say(cluster, behind, name):
    rule = {"apiGroups": [behind.kind.group], "resources": [behind.kind.resource], "verbs": ["list"]}
    cluster.make(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    cluster.bind(name, ("ClusterRole", name), {"kind": "User", "name": name})
    way, path = cluster.client(name), behind.kind.path("default")
    processes.retry_until(lambda: way.get(path).status == 200, f"{name} may list")
    audit_id = str(uuid.uuid4())
    headers = {**dict(MASTER), "X-Remote-Extra-Why": "forged", "X-Remote-Uid": "forged", "X_Remote_User": "boss", "Audit-ID": audit_id}
    assert way.get(path, headers=headers).status == 200
    user = audited(behind.replicas[0].audit_log, audit_id)["user"]
    assert names(user) == (name, ["system:authenticated"]) and "forged" not in str(user)


# ---- headers ----


def test_smuggling__underscores_and_the_like_are_other_headers(cluster, behind):
    line = Line(behind, cluster.front_proxy)
    forged = [("X_Remote_User", "boss"), ("X-Remote_User", "boss"), ("X_Remote_Group", "system:masters"), ("X-Remote_Group", "system:masters"),
              ("X-Remote-Groups", "system:masters"), ("X-Remote-User-", "boss"), ("X_Remote_Extra_Why", "forged"), ("X.Remote.User", "boss"),
              ("HTTP_X_REMOTE_USER", "boss")]
    assert line.status(*forged) == 401
    for headers in ([*forged, ("X-Remote-User", "bob")], [("X-Remote-User", "bob"), *forged]):
        status, user = line.user(*headers)
        assert (status, user) == (403, {"username": "bob", "groups": ["system:authenticated"]})


def test_smuggling__the_first_of_several_counts(cluster, behind):
    line = Line(behind, cluster.front_proxy)
    for second in ("X-Remote-User", "x-remote-user", "X-REMOTE-USER"):
        status, user = line.user(("X-Remote-User", "bob"), (second, "boss"))
        assert (status, user["username"]) == (403, "bob")
    status, user = line.user(("X-Remote-User", "bob, boss"), ("X-Remote-Group", "devs,system:masters"), ("X-Remote-Group", ""))
    assert (status, names(user)) == (403, ("bob, boss", ["devs,system:masters", "system:authenticated"]))


@pytest.mark.parametrize("head", [
    b"X-Remote-User : boss\r\n",
    b" X-Remote-User: boss\r\n",
    b"X-Remote-User\t: boss\r\n",
    b"X-Remote-User: bob\r\nX-Remote\0-User: boss\r\n",
    b"X-Remote-User: bo\0b\r\n",
    b"X-Remote-User: bob\rX-Remote-Group: system:masters\r\n",
    b"X-Remote-\xc3\xbcser: boss\r\n",
    b"X-Remote-User\r\n",
])
def test_smuggling__malformed_heads_are_refused(cluster, behind, head):
    request = f"GET {behind.kind.path('default')} HTTP/1.1\r\nHost: x\r\n".encode() + head + b"X-Remote-Group: system:masters\r\nConnection: close\r\n\r\n"
    assert say(behind, cluster.front_proxy, request) == 400


# ---- forged headers ----


def test_forged__without_a_certificate(behind):
    status, user = Line(behind).user(*MASTER)
    assert (status, names(user)) == (403, ("system:anonymous", ["system:unauthenticated"]))


def test_forged__by_a_user(cluster, behind, name):
    status, user = Line(behind, cluster.user(name, "devs")).user(*MASTER, ("X-Remote-Uid", "u1"), ("X-Remote-Extra-Why", "forged"))
    assert (status, names(user)) == (403, (name, ["devs", "system:authenticated"]))
    assert "uid" not in user and "why" not in user.get("extra", {})


def test_forged__by_a_user_of_the_proxys_name(cluster, behind):
    status, user = Line(behind, cluster.user(FRONT_NAME)).user(*MASTER)
    assert (status, names(user)) == (403, (FRONT_NAME, ["system:authenticated"]))


def test_forged__by_a_token(cluster, behind):
    token = cluster.token(behind.namespace, behind.program.name)
    status, user = Line(behind).user(*MASTER, ("Authorization", f"Bearer {token}"))
    assert (status, user["username"]) == (403, f"system:serviceaccount:{behind.namespace}:{behind.program.name}")


def test_forged__reaches_no_log(cluster, behind, name):
    forged = f"forged-{uuid.uuid4()}"
    headers = [("X-Remote-User", forged), ("X-Remote-Group", forged), ("X-Remote-Extra-Why", forged), ("X-Remote-Uid", forged)]
    Line(behind).user(*headers)
    Line(behind, cluster.user(name)).user(*headers)
    Line(behind, cluster.front.client("stranger")).status(*headers)
    replica = behind.replicas[0]
    assert forged not in replica.audit_log.read_text() + replica.stderr.text + replica.stdout.text


# ---- certificates ----

WRONG_NAMES = ["/CN=stranger", f"/CN={FRONT_NAME.upper()}", f"/CN={FRONT_NAME}.example.com", f"/CN=x{FRONT_NAME}", f"/CN={FRONT_NAME}x", "/O=nameless",
               f"/O={FRONT_NAME}/CN=stranger", f"/CN={FRONT_NAME}/CN=stranger"]


@pytest.mark.parametrize("subject", WRONG_NAMES)
def test_certificate__of_the_right_ca_with_a_wrong_name(front, behind, subject):
    identity = front.client(f"wrong-{WRONG_NAMES.index(subject)}", subject)
    assert Line(behind, identity).status(*MASTER) == 401
    assert Line(behind, identity).status() == 401


def test_certificate__with_two_names_has_the_last(front, behind):
    """As crypto/x509 reads it."""
    status, user = Line(behind, front.client("two", f"/CN=stranger/CN={FRONT_NAME}")).user(*MASTER)
    assert (status, names(user)) == (200, ("boss", MASTERS))


def test_certificate__expired(front, behind):
    assert Line(behind, issue_dated(front, "expired", f"/CN={FRONT_NAME}", -7200, -3600)).status(*MASTER) == 401


def test_certificate__not_yet_valid(front, behind):
    assert Line(behind, issue_dated(front, "early", f"/CN={FRONT_NAME}", 3600, 7200)).status(*MASTER) == 401


def test_certificate__of_a_user_expired(cluster, behind):
    for number, (begin, end) in enumerate([(-7200, -3600), (3600, 7200)]):
        identity = issue_dated(cluster.certificates, f"{behind.program.name}-user-{number}", "/O=system:masters/CN=admin", begin, end)
        assert Line(behind, identity).status() == 401


def test_certificate__expires_on_a_live_connection(cluster, front, behind):
    for authority, subject, headers in ((front, f"/CN={FRONT_NAME}", MASTER), (cluster.certificates, "/O=system:masters/CN=admin", [])):
        lasting = 3
        while True:
            end = time.time() + lasting
            line = Line(behind, issue_dated(authority, f"{behind.program.name}-brief-{lasting}", subject, -60, lasting))
            status = line.status(*headers)
            if time.time() < end - 1:  # ends of certificates are whole seconds
                break
            lasting *= 2  # it may have ended before it was looked at
        assert status == 200
        line.wait(401, *headers)


@pytest.fixture(scope="session")
def twin(cluster):
    """A CA of the same subject as the front proxies'."""
    return processes.Certificates(cluster.folder / "twin", "front-proxy-ca")


def test_certificate__of_another_ca_of_the_same_subject(cluster, front, twin, behind):
    identity = twin.client(FRONT_NAME)
    for forged in (identity, with_chain(identity, twin.ca), with_chain(identity, front.ca), with_chain(identity, cluster.front_proxy[0], front.ca)):
        assert Line(behind, forged).status(*MASTER) == 401


def test_certificate__of_the_proxys_ca_names_no_user(front, behind):
    assert Line(behind, front.client("admin-to-be", "/O=system:masters/CN=admin")).status() == 401


def test_certificate__by_a_certificate_that_is_no_ca(cluster, front, behind):
    request, cert, ext = (front.dir / f"underling.{suffix}" for suffix in ("csr", "crt", "ext"))
    ext.write_text(CLIENT + "\n")
    front._openssl("req", *front._new_key("underling"), "-out", request, "-subj", f"/CN={FRONT_NAME}")
    front._openssl("x509", "-req", "-in", request, "-CA", front.client("stranger")[0], "-CAkey", front.dir / "stranger.key", "-CAcreateserial", "-out",
                   cert, "-days", "30", "-extfile", ext)
    identity = with_chain((cert, front.dir / "underling.key"), front.dir / "stranger.crt")
    assert Line(behind, identity).status(*MASTER) == 401


def test_certificate__signed_by_itself(front, behind):
    assert Line(behind, self_signed(front, "self", f"/CN={FRONT_NAME}")).status(*MASTER) == 401
    assert Line(behind, self_signed(front, "self-ca", "/CN=front-proxy-ca")).status(*MASTER) == 401


@pytest.mark.parametrize("usage,status", [("extendedKeyUsage=serverAuth", 401), ("extendedKeyUsage=codeSigning", 401), (CLIENT, 200),
                                          ("extendedKeyUsage=serverAuth,clientAuth", 200), ("extendedKeyUsage=anyExtendedKeyUsage", 200),
                                          ("basicConstraints=CA:FALSE", 200)])
def test_certificate__must_be_for_clients(front, behind, usage, status):
    assert Line(behind, front.issue("usage", f"/CN={FRONT_NAME}", usage)).status(*MASTER) == status


def test_certificate__of_a_user_with_a_uid(cluster, behind):
    status, user = Line(behind, with_uids(cluster.certificates, "with-uid", "/CN=someone/kubeUid=u-1")).user()
    assert (status, user["username"], user["uid"]) == (403, "someone", "u-1")
    assert Line(behind, with_uids(cluster.certificates, "with-uids", "/CN=someone/kubeUid=u-1/kubeUid=u-1")).status() == 401


# ---- at run time ----


@pytest.fixture(scope="module")
def own(certificates, tmp_path_factory):
    """A cluster that these tests may change: its kube-apiserver may not fix the ConfigMap by itself."""
    cluster = aggregated.Cluster(pathlib.Path(tmp_path_factory.mktemp("own")), certificates, aggregated.ANNALS, controllers=False)
    for process in cluster.everything:
        process.is_shared = True
    admission = "/apis/admissionregistration.k8s.io/v1"
    cluster.make(f"{admission}/validatingadmissionpolicies", {"metadata": {"name": "keep-off"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
        "validations": [{"expression": "request.userInfo.username != 'system:apiserver'"}]}})
    cluster.make(f"{admission}/validatingadmissionpolicybindings", {"metadata": {"name": "keep-off"}, "spec": {
        "policyName": "keep-off", "validationActions": ["Deny"]}})
    wait_kept_off(cluster)
    yield cluster
    cluster.stop()
    assert not [trouble for process in cluster.everything for trouble in process.troubles()]


def wait_kept_off(cluster):
    """Until kube-apiserver may not write the ConfigMap: policies count a while after they are made, or it is started."""
    as_itself = {"Impersonate-User": "system:apiserver", "Impersonate-Group": "system:masters"}
    change = {"metadata": {"annotations": {"tried": "it"}}}
    processes.retry_until(lambda: cluster.kube.patch(f"{CONFIG_MAP}?dryRun=All", change, headers=as_itself).status == 422, "kube-apiserver is kept off")


class Trust:
    """The ConfigMap of a cluster, which a test may change; afterwards it is as it was."""

    def __init__(self, cluster):
        self.cluster, self.behind = cluster, cluster.behind["annals"]
        found = cluster.kube.get(CONFIG_MAP).json
        self.whole = {"metadata": {"name": found["metadata"]["name"]}, "data": found["data"]}
        self.mark = self.replica.stderr.mark()

    @property
    def replica(self):
        return self.behind.replicas[0]

    def change(self, **data):
        change = {"data": {name.replace("_", "-"): value for name, value in data.items()}}
        assert self.cluster.kube.patch(CONFIG_MAP, change).status == 200

    def delete(self):
        assert self.cluster.kube.delete(CONFIG_MAP).status == 200

    def restore(self):
        if self.cluster.kube.get(CONFIG_MAP).status == 404:
            self.cluster.make(CONFIG_MAP.rpartition("/")[0], self.whole)
        else:
            assert self.cluster.kube.patch(CONFIG_MAP, {"data": self.whole["data"]}).status == 200

    def tells(self, pattern):
        return self.replica.stderr.wait(pattern, since=self.mark)


@pytest.fixture
def trust(own):
    trust = Trust(own)
    yield trust
    trust.restore()
    Line(trust.behind, own.front_proxy).wait(200, *MASTER)


GARBAGE = [
    ("requestheader_client_ca_file", ""),
    ("requestheader_client_ca_file", None),
    ("requestheader_client_ca_file", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ("requestheader_allowed_names", '["somebody-else"]'),
    ("requestheader_allowed_names", '["front'),
    ("requestheader_allowed_names", "front-proxy-client"),
    ("requestheader_username_headers", '["X-Other-User"]'),
    ("requestheader_username_headers", "[]"),
    ("requestheader_extra_headers_prefix", '[""]'),
]


@pytest.mark.parametrize("name,value", GARBAGE)
def test_run_time__front_proxy_is_not_believed_any_more(own, trust, name, value):
    proxy, user = Line(trust.behind, own.front_proxy), Line(trust.behind, own.certificates.admin)
    assert (proxy.status(*MASTER), user.status()) == (200, 200)
    trust.change(**{name: value})
    proxy.wait(401, *MASTER)
    assert user.status() == 200
    trust.restore()
    proxy.wait(200, *MASTER)


def test_run_time__another_authority(own, trust):
    other = processes.Certificates(own.folder / "other", "front-proxy-ca")
    proxy, new = Line(trust.behind, own.front_proxy), Line(trust.behind, other.client(FRONT_NAME))
    with processes.Watch(trust.replica.client, trust.behind.kind.path("default") + "?watch=1") as watch:
        trust.change(requestheader_client_ca_file=other.ca.read_text())
        proxy.wait(401, *MASTER)
        new.wait(200, *MASTER)
        made = trust.replica.post(trust.behind.kind.path("default"), trust.behind.kind.body("seen"))
        assert made.status == 201
        assert next(event["object"]["metadata"]["name"] for event in watch) == "seen"
    trust.restore()
    proxy.wait(200, *MASTER)
    new.wait(401, *MASTER)


def test_run_time__other_users(own, trust):
    user, proxy = Line(trust.behind, own.certificates.admin), Line(trust.behind, own.front_proxy)
    assert user.status() == 200
    trust.change(client_ca_file=own.front.ca.read_text())
    user.wait(401)
    assert proxy.status(*MASTER) == 200
    status, known = proxy.user()
    assert (status, known["username"]) == (403, FRONT_NAME)


def test_run_time__config_map_deleted(own, trust):
    proxy, user = Line(trust.behind, own.front_proxy), Line(trust.behind, own.certificates.admin)
    trust.delete()
    proxy.wait(403, *MASTER)
    status, known = proxy.user(*MASTER)
    assert (status, names(known)) == (403, ("system:anonymous", ["system:unauthenticated"]))
    user.wait(403)
    assert trust.tells("extension-apiserver-authentication is not there: no client is trusted by it until it is")
    trust.restore()
    proxy.wait(200, *MASTER)
    user.wait(200)


def test_run_time__garbage_is_told(trust):
    trust.change(requestheader_allowed_names="[", client_ca_file=None)
    assert trust.tells("client-ca-file is missing; requestheader-allowed-names is no list of strings: no client is trusted by it")
    trust.restore()
    assert trust.tells("extension-apiserver-authentication is valid again and in use")


def test_run_time__trust_stays_while_kube_apiserver_is_away(own, trust):
    proxy = Line(trust.behind, own.front_proxy)
    assert proxy.status(*MASTER) == 200
    own.kube.kill()
    try:
        assert proxy.status(*MASTER) == 200
        assert Line(trust.behind, own.front.client("stranger")).status(*MASTER) == 401
    finally:
        own.start_kube()
        own.kube.is_shared = True
        wait_kept_off(own)


# ---- at the start ----


def test_start__without_the_right_to_read_trust(own):
    """Not ready, and says what is missing, until the right is there."""
    behind = own.behind["annals"]
    binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/annals-reads-authentication"
    was = own.kube.get(binding).json
    assert own.kube.delete(binding).status == 200
    behind.wait_may_read_trust(False)
    folder = own.folder / "unbound"
    folder.mkdir()
    try:
        replica = aggregated.Replica(behind.program, folder, behind.etcd, own, behind.kubeconfig, behind.serving, wait=False)
        assert replica.stderr.wait("is forbidden.*a RoleBinding in kube-system to the Role extension-apiserver-authentication-reader")
        missing = "the authorities of client certificates have not been read yet"
        processes.retry_until(lambda: missing in replica.anonymous.get("/readyz?verbose").text, missing)
        assert not replica.is_ready()
    finally:
        own.make(binding.rpartition("/")[0], {name: was[name] for name in ("subjects", "roleRef")} | {"metadata": {"name": was["metadata"]["name"]}})
    replica.wait_ready()
    assert replica.get(behind.kind.path("default")).status == 200


def test_start__with_files_instead_of_the_config_map(own, trust):
    behind = trust.behind
    folder = own.folder / "by-files"
    folder.mkdir()
    trust.delete()
    replica = aggregated.Replica(behind.program, folder, behind.etcd, own, behind.kubeconfig, behind.serving, "--authentication-skip-lookup",
                                 f"--client-ca-file={own.certificates.ca}", f"--requestheader-client-ca-file={own.front.ca}",
                                 f"--requestheader-allowed-names={FRONT_NAME}")
    proxy = processes.Client(replica.url, own.certificates.ca, *own.front_proxy)
    assert proxy.get(behind.kind.path("default"), headers=dict(MASTER)).status == 200
    assert replica.get(behind.kind.path("default")).status == 200
    assert "extension-apiserver-authentication" not in replica.stderr.text
