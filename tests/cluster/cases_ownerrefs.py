"""Owner references, on every way to write them."""

from exchange import apply, create, get, json_patch, merge, post, put, revision, strategic


def owner(uid, **more):
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid, **more}


def without(*names):
    return {name: value for name, value in owner("u-1").items() if name not in names}


LISTS = [
    [owner("a")], [owner("a"), owner("b")], [owner("a", controller=True)], [owner("a", controller=True), owner("b", controller=True)], [owner("a", controller=True), owner("b", controller=False)],
    [owner("a", controller=False), owner("b", controller=False)], [owner("a", controller=None), owner("b", controller=True)], [owner("a", controller=True), owner("b", controller=True), owner("c", controller=True)],
    [owner("a", controller=True), owner("a", controller=True)], [owner("a"), owner("a", name="other")], [owner("a"), owner("a"), owner("a")], [owner("a", controller=True), owner("a")], [owner("a"), owner("b"), owner("a")],
    [owner("a", blockOwnerDeletion=True)], [owner("a", blockOwnerDeletion="x")], [owner("a", controller="true")], [owner("a", controller=1)], [owner(5)], [owner("")], [owner("a", name="")], [owner("a", kind="")], [owner("a", apiVersion="")],
    [owner("a", apiVersion="a/b/c")], [owner("a", apiVersion="v1", kind="Event")], [owner("a", apiVersion="events.k8s.io/v1", kind="Event")], [owner("a", apiVersion="v1", kind="Namespace")], [owner("a", name="Bad Name/..")], [owner("a", kind="bad kind")],
    [owner("a", apiVersion="Bad Group/V")], [owner("a", apiVersion="/v1")], [owner("a", apiVersion="apps/")], [owner("a", apiVersion="/")], [owner("a b c")], [owner("a", namespace="x")], [owner("a", extra={"x": 1})], [None], ["x"], [[]], [{}], {}, "x", 5, [owner("a", name=None)],
    [without("kind")], [without("uid", "name")], [without("apiVersion", "kind")], [{}, {}], [owner("a"), {}], [{"controller": True}, {"controller": True}], [owner("a", controller=True), {"controller": True}],
]

CASES = {
    "create": [create(f"o{n}", ownerReferences=owners) for n, owners in enumerate(LISTS)],
    "put": [create("a")] + [put("{crs}/a", revision("a", ownerReferences=owners)) for owners in LISTS],
    "merge": [create("a")] + [merge("{crs}/a", {"metadata": {"ownerReferences": owners}}) for owners in LISTS],
    "json-patch": [create("a")] + [json_patch("{crs}/a", [{"op": "add", "path": "/metadata/ownerReferences", "value": owners}]) for owners in LISTS],
    "strategic": [create("a", ownerReferences=[owner("z")])] + [strategic("{crs}/a", {"metadata": {"ownerReferences": owners}}) for owners in LISTS],
    "apply": [step for n, owners in enumerate(LISTS) for step in [apply("{crs}/a" + str(n) + "?fieldManager=m", {**revision(f"a{n}", ownerReferences=owners)})]],
    "apply-to-one": [create("a", ownerReferences=[owner("z", controller=True)])] + [apply("{crs}/a?fieldManager=m&force=true", revision("a", ownerReferences=owners)) for owners in LISTS],
    "adoption": [create("a"), merge("{crs}/a", {"metadata": {"ownerReferences": [owner("x", controller=True)]}}), merge("{crs}/a", {"metadata": {"ownerReferences": [owner("y", controller=True)]}}),
                 strategic("{crs}/a", {"metadata": {"ownerReferences": [owner("z", controller=True)]}}), strategic("{crs}/a", {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "y"}]}}),
                 strategic("{crs}/a", {"metadata": {"ownerReferences": [owner("z", controller=True)], "uid": "{uid:a}"}}), strategic("{crs}/a", {"metadata": {"ownerReferences": [owner("z", controller=True)], "uid": "other"}}),
                 strategic("{crs}/a", {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "none"}]}}), strategic("{crs}/a", {"metadata": {"ownerReferences": [{"uid": "z", "controller": False}]}}),
                 strategic("{crs}/a", {"metadata": {"ownerReferences": [{"uid": "z", "controller": None}]}}), strategic("{crs}/a", {"metadata": {"$setElementOrder/ownerReferences": [{"uid": "z"}, {"uid": "q"}], "ownerReferences": [owner("q")]}}),
                 strategic("{crs}/a", {"metadata": {"ownerReferences": [{"$patch": "replace"}, owner("r")]}}), strategic("{crs}/a", {"metadata": {"ownerReferences": [{"$patch": "replace"}]}}), strategic("{crs}/a", {"metadata": {"ownerReferences": None}}),
                 json_patch("{crs}/a", [{"op": "add", "path": "/metadata/ownerReferences", "value": [owner("s")]}]), json_patch("{crs}/a", [{"op": "add", "path": "/metadata/ownerReferences/0", "value": owner("t", controller=True)}]),
                 json_patch("{crs}/a", [{"op": "add", "path": "/metadata/ownerReferences/-", "value": owner("u", controller=True)}]), json_patch("{crs}/a", [{"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "t"}, {"op": "remove", "path": "/metadata/ownerReferences/0"}]),
                 json_patch("{crs}/a", [{"op": "replace", "path": "/metadata/ownerReferences/0/controller", "value": True}]), get("{crs}/a")],
    "namespaces": [post("{nss}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}-o" + str(n), "ownerReferences": owners}}) for n, owners in enumerate(LISTS[:16])],
    # A patch comes to own the reference that it makes a duplicate of, which is then one again.
    "duplicates-by-patch": [create("a", ownerReferences=[owner("s"), owner("t")]), json_patch("{crs}/a?fieldManager=one", [{"op": "replace", "path": "/metadata/ownerReferences/0", "value": owner("t")}]),
                            json_patch("{crs}/a?fieldManager=two", [{"op": "add", "path": "/metadata/ownerReferences/-", "value": owner("t")}]), json_patch("{crs}/a?fieldManager=three&dryRun=All", [{"op": "add", "path": "/metadata/ownerReferences/-", "value": owner("t")}]),
                            merge("{crs}/a?fieldManager=four", {"metadata": {"ownerReferences": [owner("t"), owner("t"), owner("s")]}}), strategic("{crs}/a?fieldManager=five", {"metadata": {"ownerReferences": [owner("t"), owner("t")]}}),
                            put("{crs}/a?fieldManager=six", revision("a", ownerReferences=[owner("t"), owner("t"), owner("u")])), get("{crs}/a")],
}
