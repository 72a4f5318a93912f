"""The whole path once, on each etcd of this machine."""

from objects import ANNALS, JSON_PATCH, NAMESPACES, revision, revisions
from processes import retry_until

PATH, OTHER = revisions(), revisions(api_version=ANNALS)


def test_everything_once(up, etcd_binary):
    a = up(etcd=etcd_binary)
    assert a.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}).status == 201
    with a.watch(PATH + "?watch=1&allowWatchBookmarks=true") as watch:
        made = a.post(PATH, '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},"revision":1,"data":{"n":1.50}}')
        assert made.status == 201
        assert a.patch(OTHER + "/a", {"metadata": {"labels": {"l": "x"}}}).status == 200
        assert a.patch(PATH + "/a", [{"op": "replace", "path": "/revision", "value": 2}], kind=JSON_PATCH).status == 200
        assert a.patch(PATH + "/a", {"data": {"n": 2}}).status == 422
        assert a.put(PATH + "/a", revision(resourceVersion=made.json["metadata"]["resourceVersion"])).status == 409
        assert a.post(PATH, revision()).status == 409
        assert '"data":{"n":1.50}' in a.get(OTHER + "/a").text
        assert a.delete(PATH + "/a").status == 200
        events = [watch.next() for _ in range(5)]
    assert [event["type"] for event in events] == ["BOOKMARK", "ADDED", "MODIFIED", "MODIFIED", "DELETED"]

    for i in range(25):
        assert a.post(PATH, revision(f"r{i:02}", i, labels={"odd": str(i % 2)})).status == 201
    assert len(a.get(PATH + "?labelSelector=odd%3D1").json["items"]) == 12
    page = a.get(PATH + "?limit=10").json["metadata"]
    assert page["remainingItemCount"] == 15
    assert len(a.get(f"{PATH}?continue={page['continue']}").json["items"]) == 15
    assert "r07" in a.kubectl("get", "controllerrevisions.apps").stdout
    assert len(a.delete(PATH + "?labelSelector=odd%3D0").json["items"]) == 13


def test_compaction_and_restart(up, etcd_binary):
    a = up("--etcd-compaction-interval=1s", etcd=etcd_binary)
    made = a.post(PATH, revision())
    old = made.json["metadata"]["resourceVersion"]
    with a.watch(PATH + f"?watch=1&resourceVersion={old}") as watch:
        changes = iter(range(10**6))

        def is_compacted():
            assert a.patch(PATH + "/a", {"metadata": {"labels": {"n": str(next(changes))}}}).status == 200
            return a.get(f"{PATH}?resourceVersion={old}&resourceVersionMatch=Exact").status == 410

        retry_until(is_compacted, "compaction", interval=0.05)
        seen = [watch.next()["object"]["metadata"]["labels"]["n"] for _ in range(next(changes))]
        assert seen == [str(n) for n in range(len(seen))]
    newest = a.get(PATH + "/a").json
    assert a.stop() == 0

    again = up("--etcd-compaction-interval=1s", etcd=etcd_binary)
    assert again.get(PATH + "/a").json == newest
