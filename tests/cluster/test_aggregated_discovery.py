"""kube-apiserver asks an annals behind it for its documents, with an etcd that is not there: discovery, schemas and availability do not depend on
it. One group without discovery would stop namespaces from being deleted, and make every client of the cluster wait."""

import pathlib
import shutil
import tempfile

import pytest

import aggregated
import kube
import processes


pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")


class Unstored(aggregated.Behind):
    """Its etcd has gone before annals comes."""

    def start_etcd(self):
        super().start_etcd()
        self.etcd.kill()

    def start_replica(self, number, wait=False):
        super().start_replica(number, wait)


@pytest.fixture(scope="module")
def unstored(certificates):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    cluster = None
    try:
        cluster = aggregated.Cluster(folder, certificates, controllers=False)
        cluster.behind["annals"] = Unstored(cluster, aggregated.ANNALS, flags=[f"--access-log={folder / 'access.log'}", "--logging-format=json"])
        cluster.behind["annals"].start()
        yield cluster.behind["annals"]
    finally:
        if cluster:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    troubles = [trouble for process in cluster.everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


def versions(document):
    """{version: its discovery} of annals.dev."""
    return {version["version"]: version for group in document["items"] if group["metadata"].get("name") == "annals.dev" for version in group["versions"]}


def test_aggregated_discovery_has_our_resources_and_is_current(unstored):
    own = versions(unstored.replicas[0].get("/apis", headers=aggregated.DISCOVERY).json)

    def is_whole():
        found = versions(unstored.cluster.kube.get("/apis", headers=aggregated.DISCOVERY).json)
        return found == {name: {**version, "freshness": "Current"} for name, version in own.items()}

    assert [resource["resource"] for resource in own["v1"]["resources"]]
    processes.retry_until(is_whole, "kube-apiserver's discovery shows what annals says of itself", patience=processes.LONG_PATIENCE)


def test_old_discovery_has_our_groups(unstored):
    kube_apiserver, annals = unstored.cluster.kube, unstored.replicas[0]
    for version in unstored.kind.versions:
        path = f"/apis/annals.dev/{version}"
        assert kube_apiserver.get(path).json == annals.get(path).json
    group = kube_apiserver.get("/apis/annals.dev").json
    assert (group["kind"], group["preferredVersion"]["version"]) == ("APIGroup", unstored.kind.versions[0])


def test_schemas_are_those_of_annals(unstored):
    kube_apiserver, annals = unstored.cluster.kube, unstored.replicas[0]
    unstored.wait_described()
    for version in unstored.kind.versions:
        name = f"apis/annals.dev/{version}"
        entry = kube_apiserver.get("/openapi/v3").json["paths"][name]
        assert entry == annals.get("/openapi/v3").json["paths"][name]
        assert kube_apiserver.get(entry["serverRelativeURL"]).body == annals.get(entry["serverRelativeURL"]).body
    ours = {path for path in annals.get("/openapi/v2").json["paths"] if path.startswith("/apis/annals.dev/v1/")}
    processes.retry_until(lambda: ours and ours <= set(kube_apiserver.get("/openapi/v2").json["paths"]), "our paths in /openapi/v2", patience=processes.LONG_PATIENCE)


def test_kubectl_explains_and_lists_resources(unstored):
    listed = unstored.cluster.kubectl("api-resources", "--api-group=annals.dev", "--no-headers")
    assert listed.returncode == 0 and listed.stdout.split()[0] == "controllerrevisions", listed
    unstored.wait_described()
    explained = unstored.cluster.kubectl("explain", "controllerrevisions.revision", "--api-version=annals.dev/v1")
    assert explained.returncode == 0 and "revision <integer>" in explained.stdout, explained


def test_it_is_alive_and_not_ready(unstored):
    replica = unstored.replicas[0]
    assert replica.anonymous.get("/livez").status == 200
    processes.retry_until(lambda: "[+]cluster ok" in replica.anonymous.get("/readyz").text, "what it needs to know of the cluster")
    report = replica.anonymous.get("/readyz")
    assert report.status == 500 and "[-]etcd failed" in report.text and "[+]cluster ok" in report.text
    refused = unstored.cluster.kube.get(unstored.kind.path("default"))
    assert (refused.status, refused.json["kind"]) == (503, "Status")


def test_other_groups_are_as_they_were(unstored):
    for what in ("namespaces", "deployments", "all"):
        done = unstored.cluster.kubectl("get", what)
        assert (done.returncode, "rror" in done.stderr) == (0, False), done


def test_what_kube_apiserver_asks_is_answered(unstored):
    """By the users that its discovery manager, its OpenAPI aggregators and its availability controller have, of whom one is in no group."""
    asked = {("system:kube-aggregator", "/apis"), ("system:kube-aggregator", "/apis/annals.dev/v1"), ("system:kube-aggregator", "/apis/annals.dev/v1beta1"),
             ("system:aggregator", "/openapi/v2"), ("system:aggregator", "/openapi/v3")}
    log = unstored.cluster.folder / "access.log"

    def answered():
        return asked <= {(line["user"], line["path"]) for line in aggregated.whole_lines(log) if str(line["status"]) in ("200", "304")}

    processes.retry_until(answered, f"of {asked} all", patience=processes.LONG_PATIENCE)
