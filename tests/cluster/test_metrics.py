"""The same requests are counted under the same names and labels by a real kube-apiserver and by annals."""

import collections
import re

import pytest

from exchange import apply, create, delete, get, merge, post, put, revision, watch
from processes import retry_until

import exchange

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? ([-+0-9.eEInfaN]+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# What both have, and count alike.
SHARED = ["apiserver_request_total", "apiserver_request_duration_seconds", "apiserver_request_sli_duration_seconds", "apiserver_response_sizes",
          "apiserver_longrunning_requests", "apiserver_watch_events_total", "apiserver_watch_events_sizes"]
OTHERS = ["etcd_request_duration_seconds", "etcd_requests_total", "apiserver_current_inflight_requests", "apiserver_resource_objects", "apiserver_storage_objects", "apiserver_init_events_total",
          "apiserver_audit_event_total", "apiserver_audit_requests_rejected_total", "apiserver_tls_handshake_errors_total",
          "authentication_attempts", "authentication_duration_seconds", "authenticated_user_requests", "authorization_attempts_total",
          "authorization_duration_seconds", "process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_resident_memory_bytes",
          "process_start_time_seconds", "process_virtual_memory_bytes", "process_virtual_memory_max_bytes"]
HELP_OF_ITS_OWN = {"apiserver_current_inflight_requests"}  # kube shows the most of the last second, annals what is under way

STEPS = [
    create("a"), create("a"), create("B_"), post("{crs}?dryRun=All", revision("dry")), post("{crs}?dryRun=x", revision("dry")), post("{crs}", "{"),
    get("{crs}/a"), get("{crs}/missing"), get("{crs}"), get("{crs}?limit=1"), get("{allcrs}?limit=1"), get("{crs}?labelSelector=((("),
    get("{crs}", headers={"Accept": "text/none"}), get("{crs}/a?watch=1"),
    put("{crs}/a", revision("a", None, 2)), put("{crs}/missing", revision("missing")), merge("{crs}/a", {"revision": 3}),
    merge("{crs}/a", {"revision": 3}, headers={"Content-Type": "text/plain"}),
    apply("{crs}/b", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "b"}, "data": {}, "revision": 1}),
    watch("{crs}?timeoutSeconds=1", during=[create("c")]), watch("{allcrs}?timeoutSeconds=1&resourceVersion=x"),
    watch("/apis/apps/v1/watch/namespaces/{ns}/controllerrevisions/a?timeoutSeconds=1"),
    delete("{crs}/a?dryRun=All"), delete("{crs}/a"), delete("{crs}/a"), delete("{crs}"), delete("{allcrs}"), post("{crs}/a", {}), get("{crs}/a/nothing"),
    get("/api/v1/namespaces/{ns}"), get("/api/v1/namespaces?limit=1"), merge("/api/v1/namespaces/{ns}/status", {"metadata": {"labels": {"a": "b"}}}),
    get("{crs}", auth="none"), get("{crs}", auth="Bearer wrong"), get("/apis/apps/v1/nothing"), get("/nowhere"), get("/version"), get("/api"),
    get("/livez?verbose"), get("/livez/ping"), get("/livez/nothing"), get("/readyz", auth="none"), get("/nowhere", auth="Bearer wrong"),  # the last on each connection, so that those before are counted
]


class Scrape:
    """/metrics as Prometheus reads it, which is asserted on the way."""

    def __init__(self, server):
        answer = server.get("/metrics")
        self.types, self.helps, self.samples = {}, {}, {}
        for line in answer.text.splitlines():
            if line.startswith("# "):
                _, what, name, *rest = line.split(" ", 3)
                {"TYPE": self.types, "HELP": self.helps}[what][name] = rest[0] if rest else ""
                continue
            match = SAMPLE.fullmatch(line)
            assert match, line
            self.samples[match[1], tuple(LABEL.findall(match[2] or ""))] = float(match[3])

    def of(self, family):
        """Samples of a family, without the sums and values of buckets, which depend on time and sizes."""
        names = {family} if self.types.get(family) != "histogram" else {family + "_count"}
        return {key: value for key, value in self.samples.items() if key[0] in names}

    def bounds(self, family):
        return sorted({float(dict(labels)["le"]) for name, labels in self.samples if name == family + "_bucket"})

    def label_names(self, family):
        return {tuple(name for name, _ in labels) for (name, labels) in self.of(family)}


def ours_too(labels):
    """kube's own work (leases, its watches of itself) is not what was asked."""
    of = dict(labels)
    return of.get("resource") == "controllerrevisions" or of.get("subresource") in ("/livez", "/livez/ping")


def growth(before, after, family):
    grown = collections.Counter()
    for key, value in after.of(family).items():
        if ours_too(key[1]):
            grown[key] = value - before.of(family).get(key, 0)
    return {key: value for key, value in grown.items() if value}


def settled(server):
    """A scrape when all watches have ended."""
    def scrape():
        scrape = Scrape(server)
        open_watches = [value for (_, labels), value in scrape.of("apiserver_longrunning_requests").items() if ours_too(labels)]
        return scrape if not any(open_watches) else None

    return retry_until(scrape, "the watches' end")


def play(server, ns, slowness):
    """((the scrape before, the scrape behind), was it too quick for a watch?)"""
    before = settled(server)
    player = exchange.Player(server, ns, slowness)
    try:
        player.play(STEPS)
    finally:
        player.close()
    return (before, settled(server)), player.is_rushed


@pytest.fixture(scope="module")
def scrapes(twins):
    ns = twins.make_namespace()
    return [exchange.unhurried(lambda slowness, server=server: play(server, ns, slowness), slowest=32) for server in (twins.kube, twins.annals)]


@pytest.mark.parametrize("family", SHARED)
def test_metrics__requests_are_counted_as_by_kube(family, scrapes):
    kubes, ours = (growth(before, after, family) for before, after in scrapes)
    assert ours == kubes


@pytest.mark.parametrize("family", SHARED + OTHERS)
def test_metrics__names_types_helps_labels_and_bounds_are_kubes(family, scrapes):
    (_, kubes), (_, ours) = scrapes
    assert ours.types[family] == kubes.types[family]
    assert ours.label_names(family) <= kubes.label_names(family) and ours.label_names(family)
    assert ours.bounds(family) == kubes.bounds(family)
    if family not in HELP_OF_ITS_OWN:
        assert ours.helps[family] == kubes.helps[family]
