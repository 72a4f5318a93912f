"""PodTemplates: a kind whose DELETE answers the object, and whose objects have much in them that nobody sent."""

from exchange import delete, get, merge, post, strategic, watch

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def template(name, **metadata):
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name, **metadata},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}}


CHANGES = [merge("{pts}/a", {"template": {"spec": {"containers": [{"name": "x", "image": "y"}]}}}), merge("{pts}/a", {"metadata": {"finalizers": ["x.io/y"]}}),
           delete("{pts}/a"), merge("{pts}/a", {"metadata": {"finalizers": None}})]

CASES = {
    "delete": [post("{pts}", template(name)) for name in "abcd"] + [
        delete("{pts}/a"), delete("{pts}/b", {"propagationPolicy": "Orphan"}), get("{pts}/b"), delete("{pts}/b", {"propagationPolicy": "Background"}),
        delete("{pts}/c?dryRun=All"), delete("{pts}/c", {"preconditions": {"uid": "x"}}), delete("{pts}/c", {"preconditions": {"resourceVersion": "1"}}),
        delete("{pts}/c?gracePeriodSeconds=5"), delete("{pts}/none"), delete("{pts}/d", headers=TABLE), delete("{pts}?dryRun=All")],
    "delete-without-orphans": [post("{pts}", template("a", finalizers=["orphan"])), post("{pts}", template("b", finalizers=["foregroundDeletion"])),
                               delete("{pts}/a?propagationPolicy=Background"), get("{pts}/a"),
                               delete("{pts}/b", {"propagationPolicy": "Background"}), get("{pts}/b")],
    # What a patch adds keeps directives that are for what is there already, and they are unknown fields of it.
    "directives-in-what-is-new": [post("{pts}", template("a"))] + [
        strategic("{pts}/a" + query, {"zeta": 1, "alpha": 1, "template": {"spec": {"containers": [
            {"name": "new", "image": "i", "env": [{"name": "C"}], "$setElementOrder/env": [{"name": "C"}], "$retainKeys": ["name", "image", "env"]}]}}})
        for query in ("?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore", "")],
    "watch": [post("{pts}", template("a", labels={"l": "1"})), watch("{pts}?watch=1&resourceVersion={rv:a}", CHANGES),
              watch("{pts}?" + WATCH_LIST, [post("{pts}", template("b"))], headers=TABLE), watch("{pts}?watch=1&resourceVersion={rv0:a}", headers=PARTIAL),
              watch("{pts}?" + WATCH_LIST)],
}
