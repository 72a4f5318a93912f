"""Warning headers: each once, so many characters together, and what cannot be a header."""

from exchange import create, delete, json_patch, merge, post, put, revision


def unknown(names, name="a"):
    return {**revision(name), **{field: 1 for field in names}}


MANY = [f"field{i:03}" for i in range(300)]
LONG = [f"{i:02}" + "x" * 400 for i in range(30)]

CASES = {
    "few": [post("{crs}", unknown(["one", 'quo"te', "back\\slash", "ümläut", "<&>"])), put("{crs}/a", unknown(["one", "two"])),
            merge("{crs}/a", {"one": 1, "metadata": {"one": 1}}), post("{crs}?fieldValidation=Ignore", unknown(["one"], "b"))],
    "repeated": [post("{crs}", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},"data":{},"revision":1,"x":1,"x":2,"x":3}')],
    "many": [post("{crs}", unknown(MANY)), put("{crs}/a", unknown(MANY)), merge("{crs}/a", {name: 1 for name in MANY})],
    "long": [post("{crs}", unknown(LONG)), post("{crs}", unknown(["short", *LONG, "other"], "b"))],
    "one_too_long": [post("{crs}", unknown(["y" * 5000])), post("{crs}", unknown(["ä" * 4080, "z"], "b"))],
    "control_characters": [post("{crs}", unknown(["line\nend", "bell\x07", "del\x7f", "c1\x85", "plain"]))],
    "refused": [post("{crs}", {**unknown(["one"]), "revision": -1}), create("a"), post("{crs}", unknown(["one"]))],
    "with_owners": [post("{crs}", {**unknown(["one"]), "metadata": {"name": "a", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}, {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}}),
        json_patch("{crs}/a", [{"op": "add", "path": "/one", "value": 1, "odd": 2}]), delete("{crs}/a")],
}
