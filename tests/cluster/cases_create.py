"""POST: names, validation of metadata, bodies, options."""

from exchange import create, get, gets, post, put, revision, namespace, delete

CR = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
NAMES = ["", "-a", "a-", "a..b", "a.", ".a", "A", "a_b", "a b", "a/b", "a%b", "ä", "0", "0.1", "x" * 253, "x" * 254, "a.b-c.d", "a-.b", "a.-b", "a\n", "..", ".", "é.x", "a:b"]
LABELS = [{"a b": "c"}, {"": "x"}, {"/": "x"}, {"a/": "x"}, {"/a": "x"}, {"a/b/c": "x"}, {"A.io/x": "y"}, {"a.io/X_y.z": "Y"}, {"a": "b c"}, {"a": "-b"}, {"a": "b-"}, {"a": "x" * 64}, {"x" * 64: "y"},
          {"x" * 254 + "/y": "z"}, {"ü": "x"}, {"a": "ü"}, {"a": "x/y"}, {"-a": "x"}, {"a": "_"}, {"b b": "c c"}, {"a": "\n"}, {"k8s.io/x": "ok", "bad key": "bad value!"}]
ANNOTATIONS = [{"a b": "c"}, {"": "x"}, {"A.IO/x": "y"}, {"a/b/c": "x"}, {"a": "ü \n any"}, {"x" * 64: "y"}, {"-": "y"}, {"a": "x" * 262144}, {"ABC": "", "abc": ""}]
FINALIZERS = [["x"], ["a.io/b"], ["a.io/B_c"], ["a/b/c"], [""], ["kubernetes"], ["orphan"], ["foregroundDeletion"], ["orphan", "foregroundDeletion"], ["a.io/b", "a.io/b"], ["a b"], ["x", "y"], ["a.io/b", "bad"], ["A.io/b"],
              ["a.io/" + "x" * 64], [None], [1], "a.io/b", {"a": "b"}, [["a"]], ["kubernetes.io/x"], ["é.io/x"]]
METADATA = [{"generateName": "g-"}, {"generateName": "g."}, {"generateName": "G"}, {"generateName": "-g"}, {"generateName": "x" * 300}, {"generateName": 5}, {"namespace": "other"}, {"namespace": ""}, {"namespace": None}, {"generation": 5}, {"generation": -1},
            {"generation": "1"}, {"generation": 1.5}, {"uid": "abc"}, {"uid": 5}, {"resourceVersion": "0"}, {"resourceVersion": ""}, {"resourceVersion": None}, {"resourceVersion": "x"}, {"resourceVersion": 5}, {"selfLink": "/x"}, {"selfLink": 1}, {"creationTimestamp": "2020-01-01T00:00:00Z"},
            {"creationTimestamp": "yesterday"}, {"creationTimestamp": 5}, {"creationTimestamp": None}, {"deletionTimestamp": "2020-01-01T00:00:00Z"}, {"deletionGracePeriodSeconds": 5}, {"deletionGracePeriodSeconds": "x"}, {"labels": []}, {"labels": "x"}, {"labels": {"a": 1}},
            {"labels": {"a": None}}, {"labels": {"a": True}}, {"labels": {"a": {}}}, {"annotations": {"a": 1.5}}, {"annotations": [1]}, {"annotations": None}, {"finalizers": None}, {"ownerReferences": None}, {"ownerReferences": {}}, {"managedFields": []}, {"managedFields": [{}]},
            {"managedFields": "x"}, {"clusterName": "x"}, {"bogus": {"deep": 1}}, {"Labels": {"a": "b"}}, {"name": 5}, {"name": None}, {"name": ["x"]}, {"labels": {}}, {"annotations": {}}, {"finalizers": []}, {"ownerReferences": []},
            {"uid": "d9607e19-f88f-11e6-a518-42010a800195"}, {"labels": {"a": ""}}, {"name": ""}, {"name": "", "generateName": ""}]
BODIES = ["", " ", "null", "[]", "1", "\"x\"", "true", "{", "{}", "{]", "{\"a\":}", "[{}]", "{}{}", "{} x", "not json", "\ufeff{}", "{\"kind\":5}", "{\"apiVersion\":{}}", "{\"metadata\":[]}", "{\"metadata\":\"x\"}", "{\"metadata\":null}", "{\"kind\":null,\"apiVersion\":null}",
          "{\"apiVersion\":\"apps/v1\"}", "{\"kind\":\"ControllerRevision\"}", "{'a':1}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":+1}", "{\"a\":NaN}", "{\"a\":\"\\x\"}", "{\"a\":\"\t\"}", "{\"a\":1,}", "// c\n{}", "a: 1", "- a", "{\"a\":tru}", "{\"a\" 1}", "{a:1}"]
KINDS = [{"kind": "Controllerrevision"}, {"kind": "ControllerRevisionList"}, {"kind": "ConfigMap", "apiVersion": "v1"}, {"kind": "Bogus"}, {"apiVersion": "v1"}, {"apiVersion": "apps"}, {"apiVersion": "apps/v2"}, {"apiVersion": "apps/v1beta2"}, {"apiVersion": "a/b/c"}, {"apiVersion": ""}, {"kind": ""},
         {"apiVersion": "", "kind": ""}, {"apiVersion": "/v1"}, {"apiVersion": "apps/"}, {"apiVersion": "extensions/v1beta1"}, {"kind": "Status", "apiVersion": "v1"}, {"kind": "List", "apiVersion": "v1"}, {"kind": "Deployment"}, {"apiVersion": "annals.dev/v1"}, {"apiVersion": "bogus.io/v1"}, {"kind": " ControllerRevision"}]
UNKNOWN = {**CR, "metadata": {"name": "u", "bogus": 1, "labels": {"a": "b"}, "ownerReferences": [{"apiVersion": "v1", "kind": "x", "name": "n", "uid": "u", "extra": 1, "more": {}}]}, "data": {"any": 1}, "extra": {"a": [1]}, "revision": 1, "spec": {}, "Revision": 5}
DUPLICATES = '{"kind":"ControllerRevision","kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"dup","name":"dup","labels":{"a":"1","a":"2"},"annotations":{"x":"1","x":"2"},"x":1,"x":2},"data":{"k":1,"k":2},"data":{"k":3},"revision":1,"revision":2,"revision":3,"y":1,"y":2}'


def with_metadata(metadata):
    return post("{crs}", {**CR, "metadata": metadata, "data": {}, "revision": 1})


CASES = {
    "names": [with_metadata({"name": name}) for name in NAMES],
    "namespace-names": [post("{nss}", namespace(name)) for name in NAMES if len(name) < 254 and name not in ("0",)] + [post("{nss}?dryRun=All", namespace("x" * n)) for n in (63, 64)],
    "generate-name": [with_metadata({"generateName": name}) for name in NAMES] + [with_metadata({"name": "both", "generateName": "g-"})],
    "labels": [with_metadata({"name": f"l{n}", "labels": labels}) for n, labels in enumerate(LABELS)],
    "annotations": [with_metadata({"name": f"l{n}", "annotations": annotations}) for n, annotations in enumerate(ANNOTATIONS)],
    "finalizers": [with_metadata({"name": f"f{n}", "finalizers": finalizers}) for n, finalizers in enumerate(FINALIZERS)],
    "metadata": [with_metadata({"name": f"m{n}", **metadata}) for n, metadata in enumerate(METADATA)],
    "many-errors": [with_metadata({"name": "A b", "labels": {"a b": "c d"}, "annotations": {"a b": "x"}, "finalizers": ["bad"], "ownerReferences": [{}], "generateName": "G ", "generation": -1}),
                    post("{crs}", {**CR, "metadata": {"name": "A b", "labels": {"a b": "c d"}}, "data": 5, "revision": -1}), post("{crs}", {**CR, "metadata": {"name": "x"}}), post("{crs}", {**CR}), post("{crs}", {"metadata": {}}),
                    post("{nss}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}-x"}, "spec": {"finalizers": ["bad", ""]}}),
                    post("{nss}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}-z", "finalizers": ["bad"]}, "spec": {"finalizers": ["example.com/x", "kubernetes"]}, "status": {"phase": "Terminating"}}), get("{nss}/{ns}-z"),
                    post("{nss}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "{ns}-g"}}), post("{nss}", {"apiVersion": "v1", "kind": "Namespace"}), post("{nss}", {"kind": "Namespace", "spec": {"finalizers": "x"}}),
                    post("{nss}", {"metadata": {"name": "{ns}-y", "namespace": "elsewhere"}, "bogus": 1}), post("{nss}", namespace("{ns}-y"))],
    "bodies": [post("{crs}", body) for body in BODIES] + [post("{nss}", body) for body in BODIES[:12]],
    "yaml-bodies": [post("{crs}", body, headers={"Content-Type": "application/yaml"}) for body in (
        "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata:\n  name: y1\ndata: {a: 1, b: [x, y]}\nrevision: 3\n", "metadata: {name: y2}\ndata: {a: yes, b: 1.50, c: ~, d: 0x10, e: 010}\nrevision: 1\n", "a: [", "- a", "5", "", "---\nmetadata: {name: y3}\n---\nmetadata: {name: y4}\n",
        "metadata: {name: y5}\ndata: &x {a: 1}\nbogus: *x\n", "metadata:\n\tname: y6\n", "metadata: {name: y7, name: y8}\ndata: {}\n", "{\"metadata\":{\"name\":\"y9\"},\"data\":{}}", "metadata: {name: 5}", "metadata: {name: y10, labels: {a: true}}", "metadata: {name: y11, labels: {a: 1.0}}", "metadata: {name: y12}\ndata: {a: 2001-01-01, b: !!str 5, 1: x}\n")],
    "kinds": [post("{crs}", {**revision(f"k{n}"), **kind}) for n, kind in enumerate(KINDS)] + [put("{crs}/k0", {**revision("k0"), **kind}) for kind in KINDS[:8]] + [post("{nss}?dryRun=All", {**namespace("{ns}-k"), **kind}) for kind in KINDS[:8]],
    "field-validation": [post("{crs}" + query, UNKNOWN) for query in ("?fieldValidation=Strict", "?fieldValidation=Warn&dryRun=All", "?fieldValidation=Ignore&dryRun=All", "?dryRun=All", "?fieldValidation=&dryRun=All", "?fieldValidation=strict", "?fieldValidation=Strict&fieldValidation=Ignore", "")],
    "field-validation-duplicates": [post("{crs}" + query, DUPLICATES + "}") for query in ("?fieldValidation=Strict", "?fieldValidation=Warn&dryRun=All", "?fieldValidation=Ignore&dryRun=All", "")]
        + [post("{crs}?fieldValidation=Strict", '{"metadata":{"name":"d"},"data":{"a":{"b":1,"b":2},"a":3}}'), post("{crs}?fieldValidation=Strict&dryRun=All", '{"metadata":{"name":"d1"},"Data":{},"data":{},"REVISION":2}'), post("{crs}", '{"metadata":{"name":"d2","Name":"x"},"Metadata":{"name":"d3"},"data":{}}'),
           post("{nss}?dryRun=All", '{"metadata":{"name":"d2","Name":"x"},"spec":{"x":1,"finalizers":["kubernetes"],"finalizers":["kubernetes"]},"status":{"phase":"A","conditions":[{"type":"x","type":"y","z":1}]}}'),
           post("{nss}?dryRun=All&fieldValidation=Strict", '{"metadata":{"name":"d2","Name":"x"},"spec":{"x":1,"finalizers":["kubernetes"],"finalizers":["kubernetes"]},"status":{"phase":"A","conditions":[{"type":"x","type":"y","z":1}]}}')],
    "options": [post("{crs}?" + query, revision(f"o{n}")) for n, query in enumerate(["dryRun=All&fieldManager=x", "dryRun=All&dryRun=All", "dryRun=all", "dryRun=", "dryRun=All,All", "fieldManager=" + "x" * 128, "fieldManager=" + "x" * 129, "fieldManager=a%0Ab", "fieldManager=", "fieldManager=%C3%A4",
                "pretty=true", "bogus=1", "fieldValidation=Bogus&dryRun=bogus&fieldManager=" + "y" * 200, "force=true", "timeout=5s", "timeout=bogus", "resourceVersion=5", "fieldManager=a%00", "propagationPolicy=Bogus", "limit=x", "dryRun=All&dryRun=Bogus"])],
    "content-types": [post("{crs}", revision(f"c{n}"), headers={"Content-Type": kind}) for n, kind in enumerate([None, "application/json; charset=utf-8", "APPLICATION/JSON", "text/json", "application/x-www-form-urlencoded", "application/*", "*/*", "json", "application/json;", ";", "application/json, text/plain", "application/merge-patch+json",
                      "application/json;as=Table", "application/ json", "", "application/cbor", "multipart/form-data; boundary=x", "application/yaml; x=y", "text/yaml"])],
    "methods": [post("{crs}/a", revision("a")), put("{crs}", revision("a")), post("{nss}/{ns}", namespace("{ns}")), put("{nss}", namespace("x")), delete("{nss}"), post("/apis/apps/v1/controllerrevisions", revision("a")), put("/apis/apps/v1/controllerrevisions", {}), delete("/apis/apps/v1/controllerrevisions"),
                post("/apis/apps/v1", {}), post("/apis/apps/v1/namespaces/{ns}/bogus", {}), post("/apis/bogus/v1/x", {}), post("{crs}/a/status", {}), put("{crs}/a/status", {}), post("{nss}/{ns}/finalize", namespace("{ns}")), post("{crs}/", revision("slash")), put("{crs}/slash/", revision("slash", revision=2))],
    "namespace-mismatch": [post("{crs}", revision("a", namespace="default")), post("{crs}", revision("a", namespace="{ns}")), put("{crs}/a", revision("a", namespace="default")), post("/apis/apps/v1/namespaces/none-{ns}/controllerrevisions", revision("a")), post("/apis/apps/v1/namespaces/none-{ns}/controllerrevisions", revision("A b")),
                           post("/apis/apps/v1/namespaces/none-{ns}/controllerrevisions", revision("a", namespace="x")), post("/apis/apps/v1/namespaces/none-{ns}/controllerrevisions", "{"), post("/apis/apps/v1/namespaces/BAD NS/controllerrevisions", revision("a")), post("/apis/apps/v1/namespaces/none-{ns}/controllerrevisions?dryRun=All", revision("a"))],
}
