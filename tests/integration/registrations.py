"""Registrations of servers in etcd, which end with their leases."""

import base64
import json

REPLICAS = "/annals/replicas/"
REGISTERED = r"registered in etcd as (\S+):"
STEADY_S = 20  # of servers that nobody is to take for dead, however long they, etcd or the machine are busy with something else


def key_of(server):
    return REPLICAS + server.stderr.wait(REGISTERED)[1]


def replicas(store, revision=0):
    """Key and revision of each registration, now or as of a revision."""
    kvs = json.loads(store.ctl("get", "--prefix", f"--rev={revision}", REPLICAS, "-w", "json")).get("kvs", [])
    return {base64.b64decode(kv["key"]).decode(): kv["mod_revision"] for kv in kvs}


def end_lease(store, server):
    """As etcd does when its time is over: of a server that is stopped or gone, and would else be waited for until then."""
    for kv in json.loads(store.ctl("get", key_of(server), "-w", "json")).get("kvs", []):
        store.ctl("lease", "revoke", f"{kv['lease']:x}")
