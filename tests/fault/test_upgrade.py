"""Builds are replaced one replica at a time, under load, by one that stores another version (tests/toy): nothing is lost, nobody is refused but who talks to the
replica that is replaced, and nobody writes what another one cannot read."""

import contextlib
import json
import pathlib
import signal

import pytest

import fleet
import keepers
import onlookers
import processes

FOLDER = pathlib.Path(processes.BIN).parent / "tests" / "toy"
# The setting of a fleet is a build here. OLD stores v1beta1 by its declarations, OLDER does not know that there is a v1 of crates.
NEW, OLD, OLDER = (FOLDER / name for name in ("annals-toy", "annals-toy-old", "annals-toy-older"))
CRATE_V1, CRATE_BETA = keepers.CrateKeeper.api_versions
CRATES = f"/apis/{CRATE_BETA}/namespaces/default/crates"
CRATES_V1 = f"/apis/{CRATE_V1}/namespaces/default/crates"

# For servers that have to be ready all the time, however slow the machine is.
LONG_LEASE_S = 20

pytestmark = pytest.mark.skipif(not OLDER.exists(), reason=f"{OLDER} was not built")

STORES = {NEW: {**fleet.V1, "crates": CRATE_V1}, OLD: {**fleet.BETA, "crates": CRATE_BETA}, OLDER: {**fleet.V1, "crates": CRATE_BETA}}


class Builds(fleet.Fleet):
    def __init__(self, *arguments, **more):
        self.cautious = set()  # those that store crates as the older build does
        super().__init__(*arguments, **more)

    def options(self, number):
        flags = [f"--storage-version=crates={CRATE_BETA}"] if number in self.cautious else []
        return {"flags": flags, "binary": self.settings[number]}

    def wait_stored(self, build, resources):
        """Everybody shows what the build stores, and there is nothing else."""
        wanted = {(resource, STORES[build][resource]) for resource in resources}

        def is_so():
            shown = [self.shown(server, "/apis/toys.example.com/v1beta1") | self.shown(server) for server in self.servers]
            return all(wanted <= one.items() for one in shown) and {place for place in self.census() if place[0] in resources} <= wanted

        # A replica that does not end in time keeps its registration for a lease, and so may each of three.
        processes.retry_until(is_so, f"everything stored as {wanted}", interval=0.1, patience=processes.PATIENCE + 3 * LONG_LEASE_S)


@contextlib.contextmanager
def undisturbed(watched, number):
    """Those who talk to the others are refused nothing meanwhile."""
    others = [member for member in watched.crew.members if member.session.number != number]
    before = {member: member.failures for member in others}
    yield
    watched.crew.wait_successes(1, others)
    assert {member: member.failures for member in others} == before, [member.session.troubles for member in others]


def roll(watched, build, resources):
    for number in range(len(watched.fleet.servers)):
        with undisturbed(watched, number):
            watched.fleet.change(number, build)
            watched.crew.wait_successes(3)
    watched.fleet.wait_stored(build, resources)
    watched.crew.wait_successes(3)


def test_rolling_upgrade_and_back_under_load(folder, certificates):
    with Builds(folder, certificates, n_servers=3, start=OLD, lease_s=LONG_LEASE_S) as builds:
        watched = fleet.Watched(builds, n_names=8, kinds=[*keepers.KEEPERS, keepers.CrateKeeper])
        with watched.at_work():
            builds.wait_stored(OLD, STORES[OLD])
            roll(watched, NEW, STORES[NEW])
            roll(watched, OLD, STORES[OLD])
        replay = watched.check()
        assert replay.n_rewrites >= 2 * watched.n_idle(), f"{replay.n_rewrites} rewrites"


# ---- beside a build that does not know the new version ----


def crate(name, *things):
    return {"metadata": {"name": name, "annotations": {"mark": name}}, "spec": {"things": list(things)}}


def replica_of(server, resource="crates.toys.example.com"):
    """What a storageversion says of a server."""
    found = server.get(f"/apis/annals.dev/v1/storageversions/{resource}").json
    name = onlookers.id_of(server)
    return next((one for one in found.get("status", {}).get("storageVersions", []) if one["apiServerID"] == name), {})


def test_beside_an_older_build_the_new_one_goes_on_in_the_old_version(folder, certificates):
    with Builds(folder, certificates, start=OLDER, lease_s=LONG_LEASE_S) as builds:
        watched = fleet.Watched(builds, n_names=8, kinds=[keepers.ProviderKeeper, keepers.OldCrateKeeper], api_versions=["toys.example.com/v1beta1"])
        with watched.at_work():
            builds.wait_stored(OLDER, ["crates"])
            with undisturbed(watched, 1):
                builds.change(1, NEW)
            new = builds.servers[1]
            watched.crew.wait_successes(10)
            assert new.stderr.wait(r"crates\.toys\.example\.com is stored as toys\.example\.com/v1beta1 rather than toys\.example\.com/v1, which replica \S+ \(\S+\) cannot read")
            told = {"wantedVersion": CRATE_V1, "encodingVersion": CRATE_BETA}
            processes.retry_until(lambda: told.items() <= replica_of(new).items(), "the version that is wanted")
            assert new.get("/readyz").status == 200
            assert {version for resource, version in builds.census() if resource == "crates"} == {CRATE_BETA}
            with undisturbed(watched, 0):
                builds.change(0, NEW)
            builds.wait_stored(NEW, ["crates"])
            processes.retry_until(lambda: replica_of(new).get("encodingVersion") == CRATE_V1 and "wantedVersion" not in replica_of(new), "the new version")
            watched.crew.wait_successes(5)
        assert watched.check().n_rewrites >= watched.n_idle("crates")


def test_what_the_older_build_cannot_express_outlives_its_writes(folder, certificates):
    with Builds(folder, certificates, start=OLDER) as builds:
        builds.change(1, NEW)
        older, new = builds.servers
        assert new.post(CRATES_V1, crate("kept", "a", "b", "c")).status == 201
        assert new.post(CRATES_V1, crate("changed", "a", "b", "c")).status == 201
        assert older.get(CRATES + "/kept").json["spec"] == {"thing": "a"}
        assert "annals.dev/hub" not in older.get(CRATES).text
        assert older.patch(CRATES + "/kept", {"metadata": {"labels": {"x": "y"}}}).status == 200
        assert older.patch(CRATES + "/changed", {"spec": {"thing": "z"}}).status == 200
        assert new.get(CRATES_V1 + "/kept").json["spec"] == {"things": ["a", "b", "c"]}
        assert new.get(CRATES_V1 + "/changed").json["spec"] == {"things": ["z"]}


# ---- an older build that comes where the new version is stored ----


def check_refused(older):
    """It neither reads nor writes what it cannot understand, and says so."""
    processes.retry_until(lambda: "crates.toys.example.com" in older.get("/readyz").text, "the reason why it is not ready")
    assert older.get("/readyz").status == 500
    for answer in (older.get(CRATES), older.get(CRATES + "/a"), older.get(CRATES + "?watch=1"), older.post(CRATES, {"metadata": {"name": "n"}, "spec": {"thing": "n"}}),
                   older.delete(CRATES + "/a"), older.delete(CRATES), older.patch(CRATES + "/a", {"metadata": {"labels": {"x": "y"}}})):
        assert (answer.status, answer.json["reason"]) == (503, "ServiceUnavailable"), answer
        assert "crates.toys.example.com" in answer.json["message"] and CRATE_V1 in answer.json["message"], answer
    made = older.post("/apis/annals.dev/v1/namespaces/default/providers", {"metadata": {"name": "fine", "annotations": {"mark": "fine"}}, "spec": {}})
    assert made.status == 201, made
    assert older.delete("/apis/annals.dev/v1/namespaces/default/providers/fine").status == 200


def wait_can_answer(server):
    """It has read what there is."""
    processes.retry_until(lambda: server.get("/apis/annals.dev/v1/namespaces/default/providers").status == 200, "a list of another kind")


def test_an_older_build_where_the_new_version_is_written_is_not_ready(folder, certificates):
    with Builds(folder, certificates, start=NEW, lease_s=LONG_LEASE_S) as builds:
        new = builds.servers[0]
        assert new.post(CRATES_V1, crate("a", "a", "b")).status == 201
        builds.change(1, OLDER, wait=False)
        older = builds.servers[1]
        wait_can_answer(older)
        processes.retry_until(lambda: builds.is_registered(older), "its registration")
        check_refused(older)
        assert new.post(CRATES_V1, crate("b", "c", "d")).status == 201, "it holds the others back"
        assert new.get("/readyz").status == 200
        builds.change(1, NEW)
        assert [item["spec"]["things"] for item in builds.servers[1].get(CRATES_V1).json["items"]] == [["a", "b"], ["c", "d"]]


def test_an_older_build_where_the_new_version_is_stored_is_not_ready(folder, certificates):
    """Nobody writes it any more."""
    with Builds(folder, certificates, n_servers=1, start=NEW) as builds:
        assert builds.servers[0].post(CRATES_V1, crate("a", "a", "b")).status == 201
        builds.change(0, OLDER, wait=False)
        wait_can_answer(builds.servers[0])
        check_refused(builds.servers[0])
        builds.change(0, NEW)
        assert builds.servers[0].get(CRATES_V1 + "/a").json["spec"] == {"things": ["a", "b"]}


def read_all(connection):
    """The answer to what has been asked."""
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_an_older_build_that_sleeps_through_the_change_shows_no_holes(folder, certificates):
    """Its lease ends, the new version is taken, everything is migrated; then it wakes, with requests that have waited."""
    with Builds(folder, certificates, start=OLDER) as builds:
        builds.change(1, NEW)
        older, new = builds.servers
        names = [f"c{number}" for number in range(5)]
        for name in names:
            assert older.post(CRATES, {"metadata": {"name": name, "annotations": {"mark": name}}, "spec": {"thing": name}}).status == 201
        version = older.get(CRATES).json["metadata"]["resourceVersion"]
        with older.watch(f"{CRATES}?watch=1&resourceVersion={version}") as watch:
            waiting = [older.client.connect() for _ in range(8)]
            for connection in waiting:
                connection.connect()
            older.signal(signal.SIGSTOP)
            for connection in waiting:
                connection.request("GET", CRATES)
            builds.servers = [new]
            builds.wait_stored(NEW, ["crates"])
            older.signal(signal.SIGCONT)
            for status, body in map(read_all, waiting):
                assert status == 503 or [item["metadata"]["name"] for item in body["items"]] == names, body
            check_refused(older)
            told = [event["type"] for event in watch]
        assert "DELETED" not in told and "ADDED" not in told, told
        assert [item["metadata"]["name"] for item in new.get(CRATES_V1).json["items"]] == names
        assert older.stop() == 0


def test_downgrade_to_an_older_build_by_way_of_its_version(folder, certificates):
    """First a flag makes the new build store what the older one knows, then it is replaced."""
    with Builds(folder, certificates, start=NEW) as builds:
        for number, server in enumerate(builds.servers):
            assert server.post(CRATES_V1, crate(f"c{number}", "a", "b")).status == 201
        builds.cautious = {0, 1}
        for build in (NEW, OLDER, NEW):
            for number in range(2):
                builds.change(number, build)
            builds.wait_stored(OLDER, ["crates"])
            shown = [item["spec"] for item in builds.servers[0].get(CRATES).json["items"]]
            assert shown == [{"thing": "a"}, {"thing": "a"}]
        builds.cautious = set()
        for number in range(2):
            builds.change(number, NEW)
        builds.wait_stored(NEW, ["crates"])
        assert [item["spec"]["things"] for item in builds.servers[0].get(CRATES_V1).json["items"]] == [["a", "b"], ["a", "b"]]
