"""Threads that look at what servers show in discovery, and when that was by etcd's own reckoning."""

import base64
import bisect
import hashlib
import http.client
import re
import threading
import time

import processes
import registrations
import session
import versions

KINDS = {"controllerrevisions": "ControllerRevision", "dependents": "Dependent", "providers": "Provider", "crates": "Crate"}
VERSIONS = ("annals.dev/v1", "annals.dev/v1beta1", "apps/v1", "toys.example.com/v1", "toys.example.com/v1beta1")


def hash_of(version, kind):
    """As upstream makes it: discovery.StorageVersionHash."""
    return base64.b64encode(hashlib.sha256(f"{version}/{kind}".encode()).digest()[:8]).decode()


HASHES = {(resource, hash_of(version, kind)): version for resource, kind in KINDS.items() for version in VERSIONS}


class Clock:
    """Asks etcd again and again which revision it is at: (before, after, revision)."""

    def __init__(self, gateway):
        self.gateway, self.ticks, self.is_over = gateway, [], False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.is_over:
            try:
                self._tick()
                time.sleep(0.003)
            except (OSError, http.client.HTTPException, RuntimeError, ValueError):
                session.rest_a_moment()  # etcd is away

    def _tick(self):
        before = time.monotonic()
        revision = self.gateway.revision()
        self.ticks.append((before, time.monotonic(), revision))

    def wait_tick(self):
        """One that begins after this was asked for."""
        now = time.monotonic()
        processes.retry_until(lambda: self.ticks and self.ticks[-1][0] > now, "etcd's revision")

    def stop(self):
        self.is_over = True
        self.thread.join()

    def since(self, moment):
        """A revision that was there before."""
        at = bisect.bisect_right(self.ticks, moment, key=lambda tick: tick[1])
        return self.ticks[at - 1][2] if at else 0

    def until(self, moment):
        """A revision that was not exceeded then; 2 ** 62: nobody asked any more."""
        at = bisect.bisect_left(self.ticks, moment, key=lambda tick: tick[0])
        return self.ticks[at][2] if at < len(self.ticks) else 2**62


class Look:
    """One answer: what of each resource was shown, None for no hash."""

    def __init__(self, server, before, after, resources):
        self.server, self.before, self.after = server, before, after
        self.shown = {resource["name"]: self._version(resource) for resource in resources if resource["name"] in KINDS}

    def _version(self, resource):
        shown = resource.get("storageVersionHash")
        return HASHES[resource["name"], shown] if shown else None


class Onlooker:
    """A member of a crew: reads a document of one server for ever."""

    def __init__(self, world, number, api_version):
        self.world, self.number, self.path = world, number, f"/apis/{api_version}"
        self.session = session.Session(world, number)
        self.looks, self.successes, self.failures = [], 0, 0

    def step(self):
        server, before = self.world.servers[self.number], time.monotonic()
        reply = self.session.ask("GET", self.path)
        after = time.monotonic()
        if reply.outcome == "ok" and server is self.world.servers[self.number]:
            self.looks.append(Look(server, before, after, reply.body["resources"]))
            self.successes += 1
            time.sleep(0.005)
        else:
            self.failures += 1
            session.rest_a_moment()


def id_of(server):
    """Of its registration; None: it has not registered yet."""
    found = re.search(registrations.REGISTERED, server.stderr.text)
    return found and found[1]


def answers(onlookers, clock):
    """All of them. Who never registered has no name."""
    names = {look.server: id_of(look.server) or "nobody" for onlooker in onlookers for look in onlooker.looks}
    for onlooker in onlookers:
        for look in onlooker.looks:
            since, until = clock.since(look.before), clock.until(look.after)
            for resource, version in look.shown.items():
                yield versions.Answer(names[look.server], resource, since, until, version)
