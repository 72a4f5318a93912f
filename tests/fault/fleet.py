"""Replicas whose storage versions are changed one by one, what they say of themselves, and all that was seen of them."""

import collections
import contextlib
import itertools
import json
import re

import history
import keepers
import onlookers
import processes
import truth
import versions
from world import Crew, World

LEASE_S = 2
MIGRATOR = truth.PREFIX + "migrator"
API_VERSIONS = ("annals.dev/v1", "annals.dev/v1beta1", "apps/v1")
RESOURCES = ("controllerrevisions", "dependents", "providers")


def setting(**by_resource):
    """{resource: version}, as --storage-version has it."""
    return {**dict.fromkeys(RESOURCES, keepers.V1), **by_resource}


V1 = setting()
BETA = setting(**dict.fromkeys(RESOURCES, keepers.BETA))
MIXED = setting(controllerrevisions="apps/v1", dependents=keepers.BETA)


def flags_of(setting_):
    return [f"--storage-version={resource}.{versions.GROUPS[resource]}={version}" for resource, version in setting_.items()]


class Fleet(World):
    """Each replica has a setting, which a new process takes."""

    def __init__(self, folder, certificates, n_servers=2, start=V1, rate=150, lease_s=LEASE_S, **more):
        self.settings, self.more = [start] * n_servers, more
        self.rate = rate  # objects a second; of replicas that are started from now on
        self.flags = ["--etcd-compaction-interval=0", f"--replica-lease-duration={lease_s}s"]
        super().__init__(folder, certificates, n_servers=n_servers)

    def options(self, number):
        return {"flags": flags_of(self.settings[number]), **self.more}

    def start_server(self, number, wait=True):
        options = self.options(number)
        flags = options.pop("flags")
        rate = f"--storage-migration-rate={self.rate}"
        self.servers[number] = processes.Serve(self.endpoint(number), self.certificates, *self.flags, rate, *flags, wait=wait, **options)

    def change(self, number, setting_, wait=True):
        """As an upgrade does it: the replica ends, and one with the setting starts."""
        self.settings[number] = setting_
        assert self.servers[number].stop() == 0
        self.start_server(number, wait)

    # ---- what etcd says of them ----

    def below(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        kvs = self.gateway.call("/v3/kv/range", {"key": truth.encode(prefix), "range_end": truth.encode(end)}).get("kvs", [])
        return {truth.decode(kv["key"]).removeprefix(prefix): truth.decode(kv["value"]) for kv in kvs}

    def is_registered(self, server):
        return onlookers.id_of(server) in self.below(versions.REPLICAS)

    def migrator(self):
        """The number of the one that holds the lock; None: nobody does."""
        holder = self.below(MIGRATOR).get("", "")
        return next((number for number, server in enumerate(self.servers) if (onlookers.id_of(server) or "?") in holder), None)

    # ---- when it is over ----

    def census(self):
        """{(resource, version): how many}, as etcd has them."""
        counts = collections.Counter()
        for key, text in versions.objects(self.gateway).items():
            if resource := versions.resource_of(key):
                counts[resource, json.loads(text)["apiVersion"]] += 1
        return counts

    def told(self):
        """The same, as storageversions have it."""
        found = {item["metadata"]["name"]: item["status"] for item in self.servers[0].get("/apis/annals.dev/v1/storageversions").json["items"]}
        return {(resource, stored["version"]): stored["count"] for resource, group in versions.GROUPS.items()
                for stored in found.get(f"{resource}.{group}", {}).get("storedObjects", []) if stored["count"]}

    def measured(self, server):
        """The same, in a server's metrics."""
        pattern = r'^annals_stored_objects\{group="[^"]*",resource="(\w+)",version="([^"]+)"\} (\d+)$'
        return {(resource, version): int(n) for resource, version, n in re.findall(pattern, server.get("/metrics").text, re.M)
                if resource in versions.GROUPS and int(n)}

    def is_mixed(self):
        """Is something stored in several versions?"""
        resources = [resource for resource, _ in self.census()]
        return len(resources) != len(set(resources))

    def shown(self, server, path="/apis/annals.dev/v1"):
        return onlookers.Look(server, 0, 0, server.get(path).json["resources"]).shown

    def is_settled(self, setting_):
        """Everybody shows it, and nothing else is stored."""
        return all(self.shown(server) == setting_ for server in self.servers) and self.census().keys() <= set(setting_.items())

    def wait_settled(self, setting_):
        processes.retry_until(lambda: self.is_settled(setting_), f"everything stored as {setting_}", interval=0.1)

    def wait_counted(self):
        """Until what they say of objects is what there is. Nobody writes any more."""
        wanted = self.census()
        for server in self.servers:
            processes.retry_until(lambda server=server: self.measured(server) == wanted, f"metrics that say {wanted}")
        processes.retry_until(lambda: self.told() == wanted, f"storageversions that say {wanted}")


class Watched:
    """A fleet at work, and all that there is to be seen of it."""

    def __init__(self, fleet, n_names=12, kinds=keepers.KEEPERS, api_versions=API_VERSIONS):
        self.fleet, self.clock = fleet, onlookers.Clock(fleet.gateway)
        places = enumerate(itertools.product(kinds, range(len(fleet.servers))))
        self.keepers = [kind(fleet, number, server, n_names) for number, (kind, server) in places]
        self.onlookers = [onlookers.Onlooker(fleet, number, api_version) for number in range(len(fleet.servers)) for api_version in api_versions]
        for keeper in self.keepers:
            keeper.fill()
        self.crew = Crew(self.keepers + self.onlookers)

    @contextlib.contextmanager
    def at_work(self):
        try:
            with self.crew.at_work():
                yield self
        finally:
            self.clock.stop()

    def turn_all(self, setting_, meanwhile=lambda: None):
        """Each replica to the setting, one after the other; and until everything is stored so."""
        for number in range(len(self.fleet.servers)):
            self.crew.wait_successes(3)
            meanwhile()
            self.fleet.change(number, setting_)
        meanwhile()
        self.fleet.wait_settled(setting_)
        self.crew.wait_successes(3)

    def n_idle(self, resource=None):
        """How many objects only a migrator writes."""
        return sum(len(keeper.records) // 2 for keeper in self.keepers if resource in (None, keeper.resource))

    def replay(self):
        """(Replay, violations) of what is promised of versions; and nothing is lost, whatever becomes of that."""
        self.fleet.wait_counted()
        keepers.check_what_is_there(self.fleet, self.keepers)
        changes = list(history.everything(self.fleet.gateway, versions.raw_of))
        keepers.check_history(changes, self.keepers)
        replay = versions.Replay(changes)
        return replay, replay.check(list(onlookers.answers(self.onlookers, self.clock)))

    def check(self):
        replay, found = self.replay()
        assert not found, versions.report(found)
        return replay
