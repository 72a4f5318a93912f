"""What each release has left in etcd, kept in tests/releases: a snapshot, and what its own server read of it. tools/release-snapshot.py makes both."""

import gzip
import json
import pathlib
import shutil

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "releases"
# Made anew by each server, of what is registered just now.
NOT_KEPT = {"storageversions"}


def kept():
    """The releases of which there is a snapshot: v0.1.0, say."""
    return sorted(path.name.removesuffix(".snapshot.gz") for path in FOLDER.glob("*.snapshot.gz"))


def unpack(release, path):
    with gzip.open(FOLDER / f"{release}.snapshot.gz") as packed, open(path, "wb") as out:
        shutil.copyfileobj(packed, out)
    return path


def expected(release):
    """{collection: objects}"""
    return json.loads((FOLDER / f"{release}.json").read_text())


def collections(server):
    """The path of each collection that can be listed, through every API version."""
    groups = server.get("/apis").json["groups"]
    for base in ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"])]:
        for resource in server.get(base).json["resources"]:
            if "list" in resource["verbs"] and resource["name"] not in NOT_KEPT:
                yield f"{base}/{resource['name']}"


def everything(server):
    """{collection: objects}, as a server shows them, but for the revision at which each was stored last: migrations change it."""
    found = {}
    for path in collections(server):
        found[path] = server.get(path).json["items"]
        for item in found[path]:
            del item["metadata"]["resourceVersion"]
    return found
