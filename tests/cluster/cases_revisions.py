"""The rules of ControllerRevision, and values of its fields."""

from exchange import apply, create, delete, get, json_patch, merge, post, put, revision, strategic

CR = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
DATA = [None, [], "x", 5, True, {}, {"a": None}, {"": 1}, {"a": {"b": {"c": [1, [2, {"d": None}]]}}}, {"ü": "ö", "\u2028": "<&>"}, {"apiVersion": "v1", "kind": "Pod", "bogus": 1}, {"$patch": "replace"}, {"x": "\u0000"}, {"kind": "x"}]
NUMBERS = ["0", "-0", "1", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.0", "1.5", "1e2", "1E2", "1e-1", "\"5\"", "null", "true", "[]", "{}", "\"\"", "0.0", "1e0", "10e-1", "1e19", "99999999999999999999999"]
CHANGES = [{"a": 2}, {"b": 1}, None, [], {}, {"a": "1"}, {"a": [1]}, 5, "x"]

CASES = {
    "data": [post("{crs}", {**CR, "metadata": {"name": f"d{n}"}, "data": data, "revision": 1}) for n, data in enumerate(DATA)] + [post("{crs}", {**CR, "metadata": {"name": "none"}, "revision": 1})],
    "data-strict": [post("{crs}?fieldValidation=Strict", {**CR, "metadata": {"name": f"d{n}"}, "data": data, "revision": 1}) for n, data in enumerate(DATA)],
    "revision": [post("{crs}", '{"metadata":{"name":"r%d"},"data":{},"revision":%s}' % (n, number)) for n, number in enumerate(NUMBERS)],
    "revision-put": [create("a")] + [put("{crs}/a", '{"metadata":{"name":"a"},"data":{"k":"v"},"revision":%s}' % number) for number in NUMBERS],
    "revision-merge": [create("a")] + [merge("{crs}/a", '{"revision":%s}' % number) for number in NUMBERS],
    "revision-strategic": [create("a")] + [strategic("{crs}/a", '{"revision":%s}' % number) for number in NUMBERS],
    "revision-json-patch": [create("a")] + [json_patch("{crs}/a", '[{"op":"replace","path":"/revision","value":%s}]' % number) for number in NUMBERS],
    "revision-apply": [create("a")] + [apply("{crs}/a?fieldManager=m&force=true", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},"revision":%s}' % number) for number in NUMBERS
                                         if number != "9223372036854775808"],  # which Go's YAML reads as unsigned
    "change-put": [create("a", {"a": 1})] + [put("{crs}/a", {**revision("a"), "data": data}) for data in CHANGES] + [put("{crs}/a", {**CR, "metadata": {"name": "a"}}), put("{crs}/a", {**CR, "metadata": {"name": "a"}, "data": {"a": 1}}), put("{crs}/a", {**CR, "metadata": {"name": "a"}, "data": {"a": 2}, "revision": -1})],
    "change-merge": [create("a", {"a": 1})] + [merge("{crs}/a", {"data": data}) for data in CHANGES] + [merge("{crs}/a", {"data": {"a": 2}, "revision": -1, "metadata": {"labels": {"a b": "c"}}})],
    "change-strategic": [create("a", {"a": 1})] + [strategic("{crs}/a", {"data": data}) for data in CHANGES] + [strategic("{crs}/a", {"data": {"$patch": "replace"}}), strategic("{crs}/a", {"$patch": "replace"}), strategic("{crs}/a", {"$patch": "delete"}), strategic("{crs}/a", {"data": {"a": 1}})],
    "change-json-patch": [create("a", {"a": 1})] + [json_patch("{crs}/a", [{"op": "replace", "path": "/data", "value": data}]) for data in CHANGES] + [
        json_patch("{crs}/a", [{"op": op, "path": "/data/a", "value": value}]) for op in ("add", "replace", "test", "remove") for value in (1, 2)] + [json_patch("{crs}/a", [{"op": "remove", "path": "/data"}]), json_patch("{crs}/a", [{"op": "move", "from": "/data", "path": "/metadata/labels"}]), json_patch("{crs}/a", [{"op": "copy", "from": "/metadata/name", "path": "/data/b"}])],
    "change-apply": [create("a", {"a": 1})] + [apply("{crs}/a?fieldManager=m&force=true", {**revision("a"), "data": data}) for data in CHANGES] + [apply("{crs}/a?fieldManager=m&force=true", {**revision("a"), "data": {"a": 1}}), apply("{crs}/a?fieldManager=m&force=true", {**CR, "metadata": {"name": "a"}})],
    "unchanged": [create("a", {"a": 1}), put("{crs}/a", revision("a", {"a": 1})), merge("{crs}/a", {}), merge("{crs}/a", {"data": {"a": 1}}), strategic("{crs}/a", {"data": {"a": 1}}), strategic("{crs}/a", {}), json_patch("{crs}/a", []), json_patch("{crs}/a", [{"op": "replace", "path": "/data", "value": {"a": 1}}]),
                  json_patch("{crs}/a", [{"op": "test", "path": "/revision", "value": 1}]), merge("{crs}/a", {"metadata": {"labels": None}}), merge("{crs}/a", {"metadata": {"labels": {}}}), merge("{crs}/a", {"metadata": {"annotations": {"x": None}}}), put("{crs}/a", revision("a", {"a": 1}, labels={})), get("{crs}/a")],
    "apply-missing-data": [apply("{crs}/a?fieldManager=m", {**CR, "metadata": {"name": "a"}}), apply("{crs}/a?fieldManager=m", {**CR, "metadata": {"name": "a"}, "data": None}), apply("{crs}/a?fieldManager=m", {**CR, "metadata": {"name": "a"}, "data": {}}), apply("{crs}/a?fieldManager=m", {**CR, "metadata": {"name": "a"}, "data": None}),
                           apply("{crs}/a?fieldManager=m", {**CR, "metadata": {"name": "a"}})],
    "status": [create("a"), get("{crs}/a/status"), merge("{crs}/a/status", {}), put("{crs}/a", {**revision("a"), "status": {"x": 1}}), merge("{crs}/a", {"status": {"x": 1}}), merge("{crs}/a?fieldValidation=Strict", {"status": {"x": 1}}), apply("{crs}/a?fieldManager=m", {**revision("a"), "status": {}})],
}
