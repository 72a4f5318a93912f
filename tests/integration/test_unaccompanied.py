"""An annals whose etcd is not there and never was, and behind a cluster whose kube-apiserver is not there either: what clients and kube-apiserver
ask first is answered all the same, at once, since it depends on neither."""

import pytest

from objects import ANNALS, BETA, revision, revisions
from processes import BIN, Certificates, Client, Server, write_kubeconfig

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
AGGREGATORS = AGGREGATED + "," + AGGREGATED.replace("v=v2", "v=v2beta1")  # what kube-apiserver's discovery manager accepts
NOWHERE = "127.0.0.1:1"


class Unaccompanied(Server):
    """Flags of `serve` beyond etcd and certificates."""

    def __init__(self, certificates, *flags):
        cert, key = certificates.server
        super().__init__([BIN, "serve", f"--etcd-servers=http://{NOWHERE}", "--bind-address=127.0.0.1", "--secure-port=0", f"--tls-cert-file={cert}",
                          f"--tls-private-key-file={key}", f"--client-ca-file={certificates.ca}", *flags])
        port = self.stderr.wait(r"listening on 127\.0\.0\.1 port (\d+)")[1]
        self._attach(f"https://127.0.0.1:{port}", certificates.ca, *certificates.admin)


@pytest.fixture
def alone(certificates):
    return Unaccompanied(certificates, "--standalone")


@pytest.fixture
def front(folder):
    """The CA of front proxies, which is not that of users."""
    return Certificates(folder / "front", "front-proxy-ca")


@pytest.fixture
def behind(certificates, folder, front):
    path = write_kubeconfig(folder / "kubeconfig", f"https://{NOWHERE}", certificates)
    return Unaccompanied(certificates, f"--kubeconfig={path}", f"--requestheader-client-ca-file={front.ca}", "--requestheader-allowed-names=aggregator")


@pytest.fixture
def aggregator(behind, front):
    """Asks `behind` as kube-apiserver does: aggregator(path, user, groups, headers)."""
    client = Client(behind.url, behind.ca, *front.client("aggregator"))

    def get(path, user="system:kube-aggregator", groups="system:masters", **headers):
        return client.get(path, headers={"X-Remote-User": user, "X-Remote-Group": groups, **headers})

    return get


def check_documents(get):
    """get(path, HEADER=...): all documents are there, and those of annals.dev are in each."""
    api_versions = [version["groupVersion"] for group in get("/apis").json["groups"] for version in group["versions"]]
    assert {ANNALS, BETA} <= set(api_versions)
    aggregated = get("/apis", Accept=AGGREGATORS)
    assert aggregated.headers["Content-Type"] == AGGREGATED
    assert [f"{group['metadata']['name']}/{version['version']}" for group in aggregated.json["items"] for version in group["versions"]] == api_versions
    assert get("/apis", Accept=AGGREGATORS, **{"If-None-Match": aggregated.headers["ETag"]}).status == 304
    assert get("/apis/annals.dev").json["preferredVersion"]["groupVersion"] == ANNALS
    for api_version in api_versions:
        listed = get(f"/apis/{api_version}")
        assert (listed.status, listed.json["groupVersion"]) == (200, api_version)
        described = get(f"/openapi/v3/apis/{api_version}").json["paths"]
        assert {f"/apis/{api_version}/{resource['name']}" for resource in listed.json["resources"] if "list" in resource["verbs"]} <= set(described)
    assert {f"apis/{api_version}" for api_version in api_versions} <= set(get("/openapi/v3").json["paths"])
    schemas = get("/openapi/v2")
    assert f"/apis/{ANNALS}/namespaces/{{namespace}}/controllerrevisions" in schemas.json["paths"]
    assert get("/openapi/v2", **{"If-None-Match": schemas.headers["ETag"]}).status == 304
    assert get("/version").json["major"] == "1"


def failed_checks(server, path):
    answer = server.anonymous.get(path)
    assert answer.status == 500
    return {line[3:].split()[0] for line in answer.text.splitlines() if line.startswith("[-]")}


def test_alone_without_etcd_all_but_objects_is_there(alone):
    check_documents(lambda path, **headers: alone.get(path, headers=headers))
    assert alone.get("/api/v1").json["groupVersion"] == "v1"
    assert alone.anonymous.get("/livez").status == 200
    assert failed_checks(alone, "/readyz") == {"etcd", "etcd-readiness", "namespaces", "storage-versions"}
    assert alone.get(revisions()).status == 503
    assert alone.post(revisions(), revision()).status == 503


def test_behind_a_cluster_that_is_not_there_the_aggregator_is_answered(behind, aggregator):
    check_documents(aggregator)
    assert behind.anonymous.get("/livez").status == 200
    assert failed_checks(behind, "/readyz") == {"etcd", "etcd-readiness", "cluster", "storage-versions"}
    assert aggregator(revisions(api_version=ANNALS)).status == 503


def test_behind_a_cluster_that_is_not_there_administrators_are_answered(behind):
    """system:masters by certificate: nobody has to be asked."""
    check_documents(lambda path, **headers: behind.get(path, headers=headers))


def test_behind_a_cluster_that_is_not_there_others_are_refused(behind, aggregator, front, certificates):
    """What cannot be asked is not allowed: who is no administrator, and who only says so."""
    for user, groups in (("system:aggregator", "system:authenticated"), ("alice", "system:authenticated")):
        assert aggregator("/openapi/v2", user=user, groups=groups).status == 500
    forged = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    for cert, key in (front.client("another"), certificates.client("aggregator")):
        assert Client(behind.url, behind.ca, cert, key).get("/apis", headers=forged).status in (401, 403, 500)
    assert behind.anonymous.get("/apis", headers=forged).status in (401, 403, 500)
    assert behind.anonymous.get("/apis").status in (401, 403, 500)
