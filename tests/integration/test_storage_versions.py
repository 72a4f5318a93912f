"""Which version is stored, and what several servers on one etcd publish about it: the hash in discovery, and who may write what when."""

import base64
import concurrent.futures
import hashlib
import json
import signal

import pytest

from metrics import under_way
from processes import retry_until
from registrations import STEADY_S, end_lease, key_of, replicas

SHORT_S = 2  # the lease of a server that is to die
DEPENDENTS = "/apis/annals.dev/v1/namespaces/default/dependents"
API_VERSIONS = ("/apis/annals.dev/v1", "/apis/annals.dev/v1beta1")


def hash_of(group_version_kind):
    return base64.b64encode(hashlib.sha256(group_version_kind.encode()).digest()[:8]).decode()


OLD, NEW = hash_of("annals.dev/v1beta1/Dependent"), hash_of("annals.dev/v1/Dependent")


def dependent(name, *providers):
    return {"metadata": {"name": name}, "spec": {"providers": [{"kind": "Provider", "name": provider} for provider in providers or ["p"]]}}


@pytest.fixture
def start(store, serve):
    """start("v1beta1"): a server that stores Dependents so."""

    def start(version, *flags, lease_s=STEADY_S, **more):
        return serve(store.endpoint, f"--storage-version=dependents={version}", f"--replica-lease-duration={lease_s}s", "--storage-migration=Off",
                     *flags, **more)

    return start


def resource(server, api_version, name="dependents"):
    return next(entry for entry in server.get(api_version).json["resources"] if entry["name"] == name)


def shown(server):
    """The hash at each API version; None: it is left out."""
    return [resource(server, api_version).get("storageVersionHash") for api_version in API_VERSIONS]


def wait_shown(servers, wanted):
    retry_until(lambda: all(shown(server) == [wanted] * len(API_VERSIONS) for server in servers), f"{wanted} at every server")


def stored(store, name):
    """The object as etcd has it, and its revision."""
    kv = json.loads(store.ctl("get", f"/annals/objects/annals.dev/dependents/default/{name}", "-w", "json"))["kvs"][0]
    return json.loads(base64.b64decode(kv["value"])), kv["mod_revision"]


def make(server, name, *providers):
    made = server.post(DEPENDENTS, dependent(name, *providers))
    assert made.status == 201, made
    return made.json


# ---- the hash ----


def test_hash_is_that_of_what_is_stored(start, store):
    server = start("v1beta1")
    wait_shown([server], OLD)
    make(server, "d", "a", "b")
    assert stored(store, "d")[0]["apiVersion"] == "annals.dev/v1beta1"
    assert [r["name"] for r in server.get(f"{DEPENDENTS}/d").json["spec"]["providers"]] == ["a", "b"]
    assert resource(server, API_VERSIONS[0], "providers")["storageVersionHash"] == hash_of("annals.dev/v1/Provider")
    assert resource(server, "/apis/apps/v1", "controllerrevisions")["storageVersionHash"] == hash_of("annals.dev/v1/ControllerRevision")


def test_hash_of_upstreams_version_is_upstreams(store, serve):
    server = serve(store.endpoint, "--storage-version=controllerrevisions=apps/v1")
    for api_version in ("/apis/apps/v1", *API_VERSIONS):
        retry_until(lambda: "storageVersionHash" in resource(server, api_version, "controllerrevisions"), "a hash")
        assert resource(server, api_version, "controllerrevisions")["storageVersionHash"] == "85nkx63pcBU="


def test_hash_is_left_out_of_subresources_questions_and_the_aggregated_form(start):
    server = start("v1")
    wait_shown([server], NEW)
    for api_version in (*API_VERSIONS, "/api/v1", "/apis/apps/v1", "/apis/authorization.k8s.io/v1"):
        for entry in server.get(api_version).json["resources"]:
            is_written = "/" not in entry["name"] and "update" in entry["verbs"]
            assert ("storageVersionHash" in entry) == is_written, entry
    aggregated = server.get("/apis", headers={"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
    assert "APIGroupDiscoveryList" in aggregated.text and "storageVersionHash" not in aggregated.text


def test_hash_can_be_switched_off(start):
    assert shown(start("v1", "--feature-gates=StorageVersionHash=false")) == [None, None]


def test_hash_is_left_out_while_servers_disagree(start):
    servers = [start("v1beta1"), start("v1beta1")]
    wait_shown(servers, OLD)
    servers[0].stop()
    servers[0] = start("v1")
    wait_shown(servers, None)
    assert resource(servers[1], API_VERSIONS[0], "providers")["storageVersionHash"], "of other resources it stays"
    servers[1].stop()
    servers[1] = start("v1")
    wait_shown(servers, NEW)


def test_hash_comes_back_when_the_one_who_differs_has_died(start):
    first, second = start("v1beta1"), start("v1", lease_s=SHORT_S)
    wait_shown([first], None)
    second.kill()
    wait_shown([first], OLD)


# ---- writing ----


def test_each_writes_its_own_version_and_reads_the_other(start, store):
    old, new = start("v1beta1"), start("v1")
    make(old, "from-old", "a", "b", "c")
    make(new, "from-new", "a", "b", "c")
    assert stored(store, "from-old")[0]["apiVersion"] == "annals.dev/v1beta1"
    assert stored(store, "from-new")[0]["apiVersion"] == "annals.dev/v1"
    for server in (old, new):
        items = server.get(DEPENDENTS).json["items"]
        assert [[r["name"] for r in item["spec"]["providers"]] for item in items] == [["a", "b", "c"]] * 2


def test_write_waits_until_a_silent_server_has_seen_it_or_is_dead(start, store):
    """It cannot have left out the hash of the other version: so nobody writes one while it may show it."""
    silent = start("v1beta1", lease_s=3600)
    wait_shown([silent], OLD)
    silent.signal(signal.SIGSTOP)
    try:
        new = start("v1", wait=False)
        retry_until(lambda: new.get(DEPENDENTS).status == 200, "the new server's cache")
        retry_until(lambda: "dependents.annals.dev" in new.get("/readyz/storage-versions").text, "what it waits for")
        assert new.get("/readyz/storage-versions").status == 500
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            making = pool.submit(make, new, "d")
            retry_until(lambda: under_way(new, "mutating") == 1, "the write")
            end_lease(store, silent)
            revision = int(making.result()["metadata"]["resourceVersion"])
        assert key_of(silent) not in replicas(store, revision), "written while the silent one lived"
        assert stored(store, "d")[0]["apiVersion"] == "annals.dev/v1"
        new.wait_ready()
    finally:
        silent.signal(signal.SIGCONT)
    wait_shown([silent, new], None)


def test_server_that_was_taken_for_dead_writes_nothing_before_it_is_back(start, store):
    """Its hash is gone as soon as it can know; what it had decided before is decided again."""
    sleeper, other = start("v1beta1", lease_s=SHORT_S), start("v1beta1")
    sleeper.signal(signal.SIGSTOP)
    retry_until(lambda: len(replicas(store)) == 1, "the end of its lease")
    other.stop()
    new = start("v1")
    wait_shown([new], NEW)
    sleeper.signal(signal.SIGCONT)
    make(sleeper, "d")
    assert stored(store, "d")[0]["apiVersion"] == "annals.dev/v1beta1"
    assert key_of(sleeper) in replicas(store, stored(store, "d")[1]), "it had not joined again"
    wait_shown([sleeper, new], None)


def test_registration_that_is_lost_is_made_again(start, store):
    server = start("v1")
    make(server, "a")
    (lost,) = replicas(store).values()
    store.ctl("del", "--prefix", "/annals/replicas/")
    make(server, "b")
    (made_again,) = replicas(store, stored(store, "b")[1]).values()
    assert made_again > lost
    wait_shown([server], NEW)


def test_many_writers_survive_lost_registrations(start, store):
    server = start("v1")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = [pool.submit(make, server, f"d{number}") for number in range(200)]
        for _ in range(5):
            store.ctl("del", "--prefix", "/annals/replicas/")
        for one in made:
            one.result()
    assert len(server.get(DEPENDENTS).json["items"]) == 200


def test_dry_run_needs_no_registration_and_leaves_nothing(start, store):
    server = start("v1beta1")
    answer = server.post(f"{DEPENDENTS}?dryRun=All", dependent("d", "a", "b"))
    assert answer.status == 201 and len(answer.json["spec"]["providers"]) == 2
    assert store.ctl("get", "--prefix", "--keys-only", "/annals/objects/annals.dev/dependents/").strip() == ""


# ---- coming and going ----


def test_server_that_is_stopped_leaves_at_once(start, store):
    first, second = start("v1"), start("v1beta1", lease_s=3600)
    wait_shown([first], None)
    second.stop()
    retry_until(lambda: len(replicas(store)) == 1, "etcd to follow")
    wait_shown([first], NEW)


def test_readyz_tells(start):
    server = start("v1")
    answer = server.get("/readyz?verbose")
    assert answer.status == 200 and "[+]storage-versions ok" in answer.text


def test_metrics_tell(start):
    servers = [start("v1"), start("v1beta1")]
    wait_shown(servers, None)
    text = servers[0].get("/metrics").text
    assert "annals_storage_version_replicas 2" in text
    assert 'annals_storage_version_common{resource="dependents.annals.dev"} 0' in text
    assert 'annals_storage_version_common{resource="providers.annals.dev"} 1' in text
