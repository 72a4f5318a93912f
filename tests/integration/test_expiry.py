"""Events go by themselves: under leases of etcd, which many of them share."""

import json
import signal

from processes import retry_until

EVENTS = "/api/v1/namespaces/default/events"


def event(name, **more):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Tested", "message": "hello", **more}


def lease_of(store, name):
    return lease_of_key(store, f"/annals/objects/core/events/default/{name}")


def lease_of_key(store, key):
    return json.loads(store.ctl("get", key, "-w", "json"))["kvs"][0].get("lease", 0)


def make(server, *names):
    for name in names:
        made = server.post(EVENTS, event(name))
        assert made.status == 201, made


def test_events_share_a_lease_of_an_hour(store, serve):
    server = serve(store.endpoint)
    retry_until(lambda: server.get("/readyz").status == 200, "the server")
    make(server, "a", "b")
    lease = lease_of(store, "a")
    assert lease and lease == lease_of(store, "b")
    left = json.loads(store.ctl("lease", "timetolive", f"{lease:x}", "-w", "json"))
    assert left["granted-ttl"] == 3660 and left["ttl"] > 3600
    assert lease_of_key(store, "/annals/objects/core/namespaces/default") == 0


def test_event_is_removed_when_its_time_is_over(store, serve):
    server = serve(store.endpoint, "--event-ttl=1s")
    retry_until(lambda: server.get("/readyz").status == 200, "the server")
    version = server.get(EVENTS).json["metadata"]["resourceVersion"]
    with server.watch(f"{EVENTS}?watch=1&resourceVersion={version}&timeoutSeconds=60") as watch:
        make(server, "a")
        seen = []
        for change in watch:
            seen.append((change["type"], change["object"]["metadata"]["name"]))
            if change["type"] == "DELETED":
                break
    assert seen == [("ADDED", "a"), ("DELETED", "a")]
    assert server.get(f"{EVENTS}/a").status == 404


def test_event_is_written_where_its_lease_is_gone(store, serve):
    """Somebody revoked it, or etcd was restored from a backup: another one is granted."""
    server = serve(store.endpoint)
    retry_until(lambda: server.get("/readyz").status == 200, "the server")
    make(server, "a")
    lease = lease_of(store, "a")
    store.ctl("lease", "revoke", f"{lease:x}")
    make(server, "b")
    assert lease_of(store, "b") not in (0, lease)
    retry_until(lambda: server.get(f"{EVENTS}/a").status == 404, "the removal of what was under the lease")


def test_event_is_refused_while_no_lease_can_be_had(store, serve):
    server = serve(store.endpoint)
    retry_until(lambda: server.get("/readyz").status == 200, "the server")
    store.signal(signal.SIGKILL)
    store.wait()
    refused = server.post(f"{EVENTS}?timeout=5s", event("a"))
    assert refused.status in (503, 504), refused
