"""Accept headers and the forms of answers."""

from exchange import create, get, merge, post, put, revision, namespace, delete, apply

ACCEPTS = [None, "", "*/*", "application/*", "*", "text/*", "application/json", "APPLICATION/JSON", "application/yaml", "text/yaml", "application/vnd.kubernetes.protobuf", "text/html", "text/html,*/*;q=0.1", "text/html, application/json", "application/json;q=0", "application/json;q=0.5,application/yaml;q=0.9", "application/json;q=x", "application/json; charset=utf-8", "application/json;pretty=1", "application/json;pretty=true", "application/json; pretty=0", "application/json;pretty=x", "application/json;stream=watch", "application/json;bogus=1",
           "application/json;", ";", ",", "application/json,", ",application/json", "application", "application/", "/json", "json", "application/json application/yaml", "application/xml,application/json", "application/cbor", "application/cbor,application/json", "application/json;as=Table", "application/json;as=Table;v=v1", "application/json;as=Table;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;g=meta.k8s.io;v=v1;as=Table", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io", "application/json;as=table;v=v1;g=meta.k8s.io",
           "application/json;as=Table;v=v1;g=apps", "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=Bogus;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
           "application/json;as=Bogus;v=v1;g=meta.k8s.io,application/json", "application/json;as=Table;v=v1;g=meta.k8s.io;pretty=1", "*/*;as=Table;v=v1;g=meta.k8s.io", "application/json;as=;v=;g=", "application/json;as=ControllerRevision;v=v1;g=apps", "application/json;v=v1", "application/json;g=apps;v=v1", "application/json;profile=nopeer", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io;includeObject=None", "application/json;q=0.1,*/*", "text/plain", "application/vnd.kubernetes.protobuf,application/json", "application/json,application/vnd.kubernetes.protobuf", "application/yaml,application/json;q=0", "application/json\t;as=Table; v=v1 ;g=meta.k8s.io"]
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
AGENTS = ["curl/8.1", "Wget/1.2", "Mozilla/5.0 (X11)", "curl", "kubectl/v1.36", "xcurl/1", "CURL/8", "Go-http-client/1.1"]


# Also without a slash at the end, and what is not there.
NO_RESOURCES = {"version": "/version", "version-slash": "/version/", "health": "/healthz", "live": "/livez", "ready": "/readyz/", "check": "/readyz/ping", "metrics": "/metrics/", "index": "/index.html/",
                "openapi-2": "/openapi/v2/", "openapi-3": "/openapi/v3/nope", "no-version": "/version/x", "bogus": "/bogus", "legacy": "/api/", "group": "/apis/bogus", "check-unknown": "/livez/bogus"}


def with_accepts(path):
    return [get(path, headers={"Accept": accept}) for accept in ACCEPTS]


OWNED = create("a", ownerReferences=[{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}], labels={"a": "b"})

CASES = {
    "of-dry-runs": [post("{crs}?dryRun=All", revision("a"), headers={"Accept": accept}) for accept in (
        TABLE["Accept"], "application/json;as=Table;v=v1beta1;g=meta.k8s.io", PARTIAL["Accept"], "application/yaml")],
    "object": [OWNED] + with_accepts("{crs}/a"),
    "list": [OWNED] + with_accepts("{crs}"),
    "missing": with_accepts("{crs}/none"),
    "namespace": with_accepts("{nss}/{ns}"),
    "discovery": with_accepts("/apis/apps"),
    "path": with_accepts("/apis/apps/v1/bogus"),
    **{f"no-resource-{name}": with_accepts(path) for name, path in NO_RESOURCES.items()},
    "create": [post("{crs}", revision(f"c{n}"), headers={"Accept": accept}) for n, accept in enumerate(ACCEPTS)],
    "refused": [post("{crs}", revision("Bad"), headers={"Accept": accept}) for accept in ACCEPTS],
    "writes-as-others": [post("{crs}", revision("a"), headers=TABLE), put("{crs}/a", revision("a", revision=2), headers=TABLE), merge("{crs}/a", {"revision": 3}, headers=TABLE), apply("{crs}/a?fieldManager=m", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a", "labels": {"x": "y"}}}, headers=TABLE), merge("{crs}/a", {"revision": 4}, headers=PARTIAL), merge("{crs}/a", {"revision": 5}, headers={"Accept": "application/yaml"}), post("{crs}", revision("a"), headers=TABLE), get("{crs}/none", headers=TABLE), delete("{crs}/a", headers=TABLE)],
    "tables": [OWNED, create("b", revision=0, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}, {"apiVersion": "x.io/v1", "kind": "FooBar", "name": "q", "uid": "u2", "controller": True}]), create("c", revision=9223372036854775807, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1", "controller": False}]), create("d", ownerReferences=[{"apiVersion": "v1", "kind": "ReplicationController", "name": "p", "uid": "u1", "controller": True}])]
        + [get("{crs}" + query, headers=TABLE) for query in ("", "?includeObject=None", "?includeObject=Metadata", "?includeObject=Object", "?includeObject=", "?includeObject=none", "?includeObject=x", "?limit=1", "?labelSelector=none", "?fieldSelector=metadata.name=b", "?pretty=true", "/a?includeObject=Object", "/a?includeObject=x", "/none?includeObject=x", "?limit=2&includeObject=None", "?resourceVersion=0", "/a?includeObject=None", "?includeObject=Object&includeObject=None")] + [get("{nss}/{ns}?includeObject=" + include, headers=TABLE) for include in ("None", "Object", "Metadata")] + [get("{crs}?includeObject=x"), get("{crs}/a?includeObject=x")],
    "pretty": [OWNED] + [get("{crs}/a" + query, headers={"User-Agent": agent}) for agent in AGENTS for query in ("", "?pretty=false", "?pretty=true")] + [get("{crs}/a?pretty=" + value) for value in ("1", "0", "yes", "", "TRUE", "True", "false", "t", "2", "true&pretty=false")] + [get(path, headers={"User-Agent": "curl/8"}) for path in ("{crs}", "{crs}/none", "/apis/apps", "/version", "/apis", "/healthz", "/bogus", "/apis/apps/v1", "/openapi/v3")] + [get("{crs}/a", headers={**headers, "User-Agent": "curl/8"}) for headers in (TABLE, PARTIAL, {"Accept": "application/yaml"}, {"Accept": "application/json;pretty=0"})],
    "gzip": [create("big", {"x": "y" * 200000}), create("small")] + [get("{crs}/" + name + query, headers={"Accept-Encoding": encoding}) for name in ("big", "small") for encoding in ("gzip", "gzip, deflate", "deflate", "gzip;q=0", "gzip;q=1.0", "*", "identity", "GZIP", "br,gzip", "", " gzip ", "x-gzip") for query in ("", )] + [get("{crs}", headers={"Accept-Encoding": "gzip"}), get("{crs}", headers={"Accept-Encoding": "gzip", **TABLE}), get("{crs}", headers={"Accept-Encoding": "gzip", "Accept": "application/yaml"})],
}
