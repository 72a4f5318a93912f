"""Watches: where they start, what they send, in which form."""

from exchange import create, delete, get, gets, merge, post, put, revision, namespace, watch, json_patch

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
CHANGES = [create("b", labels={"app": "web"}), merge("{crs}/b", {"revision": 2}), merge("{crs}/b", {"metadata": {"labels": {"app": "db"}}}),
           merge("{crs}/b", {"metadata": {"labels": {"app": "web"}}}), merge("{crs}/b", {"metadata": {"finalizers": ["x.io/y"]}}), delete("{crs}/b"),
           merge("{crs}/b", {"metadata": {"finalizers": None}}), create("b", labels={"app": "x"}), delete("{crs}/b")]

CASES = {
    "selectors": [create("a", labels={"app": "web"}), create("c"),
                  watch("{crs}?watch=1&labelSelector=app=web", CHANGES)],
    "not-equal": [create("a", labels={"app": "web"}), watch("{crs}?watch=1&labelSelector=app!=web", CHANGES)],
    "set": [create("a", labels={"app": "web"}), watch("{crs}?watch=1&labelSelector=app in (db,x)&resourceVersion={rv:a}", CHANGES)],
    "exists-not": [create("a", labels={"app": "web"}), watch("{crs}?watch=1&labelSelector=!app&resourceVersion=0", CHANGES)],
    "by-name": [create("a"), watch("{crs}?watch=1&fieldSelector=metadata.name=b&resourceVersion={rv:a}", CHANGES)],
    "by-other-name": [create("a"), watch("{crs}?watch=1&fieldSelector=metadata.name!=b", CHANGES)],
    "by-namespace": [create("a"), watch("{allcrs}?watch=1&fieldSelector=metadata.namespace={ns}&resourceVersion={rv:a}", CHANGES)],
    "by-both": [create("a"), watch("{crs}?watch=1&fieldSelector=metadata.name=b&labelSelector=app=web&resourceVersion={rv:a}", CHANGES)],
    "all-namespaces": [create("a"), watch("{allcrs}?watch=1&labelSelector=of={ns}&resourceVersion={rv:a}",
                                          [create("b", labels={"of": "{ns}"}), create("c"), merge("{crs}/c", {"metadata": {"labels": {"of": "{ns}"}}}), delete("{crs}/b")])],
    "replay": [create("a")] + CHANGES + [watch("{crs}?watch=1&resourceVersion={rv:a}"), watch("{crs}?watch=1&resourceVersion={rv:a}&labelSelector=app=web"),
                                        watch("{crs}?watch=1&resourceVersion={rv:a}&labelSelector=app=db"), watch("{crs}?watch=1&resourceVersion={rv:a}&fieldSelector=metadata.name=b")],
    "replay-forms": [create("a")] + CHANGES + [watch("{crs}?watch=1&resourceVersion={rv:a}", headers=TABLE), watch("{crs}?watch=1&resourceVersion={rv:a}", headers=PARTIAL),
                                              watch("{crs}?watch=1&resourceVersion={rv:a}&includeObject=Object", headers=TABLE), watch("{crs}?watch=1&resourceVersion={rv:a}&includeObject=None", headers=TABLE),
                                              watch("{crs}?watch=1&resourceVersion={rv:a}&includeObject=Bogus", headers=TABLE)],
    "initial-events": [create("a", labels={"app": "web"}), create("b"), watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", [create("c")]),
                       watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", [create("d")])],
    "initial-events-selected": [create("a", labels={"app": "web"}), create("b"),
                                watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=app=web", [create("c")]),
                                watch("{crs}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={rv:a}", [create("d")])],
    "initial-events-from": [create("a"), create("b"), watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={rv:a}", [delete("{crs}/a")]),
                            watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0", [create("d")])],
    "initial-events-forms": [create("a"), watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", headers=TABLE),
                             watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", headers=PARTIAL)],
    "bookmarks": [create("a"), watch("{crs}?watch=1&allowWatchBookmarks=true", [create("b")]), watch("{crs}?watch=1&allowWatchBookmarks=true&resourceVersion=0"),
                  watch("{crs}?watch=1&allowWatchBookmarks=1&resourceVersion={rv:a}"), watch("{crs}?watch=1&allowWatchBookmarks=true", headers=TABLE)],
    "deprecated": [create("a"), watch("/apis/apps/v1/watch/namespaces/{ns}/controllerrevisions", [create("b")]), watch("/apis/apps/v1/watch/namespaces/{ns}/controllerrevisions/b", [delete("{crs}/b"), delete("{crs}/a")]),
                   watch("/apis/apps/v1/watch/namespaces/{ns}/controllerrevisions/a?resourceVersion={rv:a}&fieldSelector=metadata.name=b"), watch("/api/v1/watch/namespaces/{ns}"),
                   watch("/apis/apps/v1/watch/controllerrevisions?resourceVersion={rv:a}&labelSelector=of={ns}")],
    "namespaces": [post("{nss}", namespace("{ns}-x", labels={"of": "{ns}"})), watch("{nss}?watch=1&labelSelector=of={ns}", [
        post("{nss}", namespace("{ns}-y", labels={"of": "{ns}"})), merge("{nss}/{ns}-y", {"metadata": {"annotations": {"a": "b"}}}), delete("{nss}/{ns}-y"),
        merge("{nss}/{ns}-x", {"metadata": {"labels": None}})]), watch("{nss}?watch=1&fieldSelector=metadata.name={ns}-x", headers=TABLE)],
    "refused": gets("{crs}?watch=1&resourceVersion=abc", "{crs}?watch=1&resourceVersion=-1", "{crs}?watch=1&labelSelector=a%20b", "{crs}?watch=1&fieldSelector=bogus=1", "{crs}?watch=1&limit=x",
                    "{crs}?watch=1&timeoutSeconds=x", "{crs}?watch=1&resourceVersionMatch=Exact", "{crs}?watch=1&resourceVersionMatch=NotOlderThan", "{crs}?watch=1&resourceVersionMatch=Exact&resourceVersion=1",
                    "{crs}?watch=1&sendInitialEvents=true", "{crs}?watch=1&sendInitialEvents=false", "{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", "{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=bogus",
                    "{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=abc", "{crs}?watch=1&continue=x&timeoutSeconds=1", "{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x&timeoutSeconds=1",
                    "{crs}?watch=1&limit=1&timeoutSeconds=1", "{crs}?watch=1&timeoutSeconds=-1&resourceVersion=abc", "/apis/apps/v1/namespaces/{ns}-none/controllerrevisions?watch=1&timeoutSeconds=1"),
    "limits": [create("a"), create("b"), watch("{crs}?watch=1&limit=1"), watch("{crs}?watch=true&pretty=true"), watch("{crs}?watch=yes"), watch("{crs}?watch=1", headers={"Accept": "*/*"}),
               watch("{crs}?watch=1", headers={"Accept": "application/json;stream=watch"}), watch("{crs}?watch=1", headers={"Accept": None})],
    "accept": gets("{crs}?watch=1&timeoutSeconds=1", headers={"Accept": "text/html"}) + gets("{crs}?watch=1&timeoutSeconds=1", headers={"Accept": "application/json;as=Table;v=v2;g=meta.k8s.io"})
              + gets("{crs}?watch=1&timeoutSeconds=1", headers={"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"})
              + gets("{crs}?watch=1&timeoutSeconds=1", headers={"Accept": "application/json;as=Table;v=v1beta1;g=meta.k8s.io"}),
    "collection": [create("a", labels={"l": "1"}), create("b"), watch("{crs}?watch=1&resourceVersion={rv:b}", [delete("{crs}?labelSelector=l=1"), delete("{crs}?dryRun=All"), delete("{crs}")])],
    "initial-events-of-the-future": [create("a"), watch("{crs}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999999")],
    "finalizers": [create("a", finalizers=["x.io/y"], labels={"l": "1"}),
                   watch("{crs}?watch=1&resourceVersion={rv:a}&labelSelector=l=1", [
                       delete("{crs}/a", {"propagationPolicy": "Foreground"}), delete("{crs}/a", {"propagationPolicy": "Orphan"}), merge("{crs}/a", {"metadata": {"labels": {"l": "2"}}}),
                       merge("{crs}/a", {"metadata": {"labels": {"l": "1"}, "finalizers": ["x.io/y", "x.io/z"]}}), merge("{crs}/a", {"metadata": {"labels": None, "finalizers": None}})]),
                   watch("{crs}?watch=1&resourceVersion={rv0:a}&labelSelector=l!=1"), watch("{crs}?watch=1&resourceVersion={rv0:a}&fieldSelector=metadata.name=a", headers=TABLE)],
}
