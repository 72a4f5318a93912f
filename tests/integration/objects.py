"""Objects and paths that tests share."""

NAMESPACES = "/api/v1/namespaces"
APPS, ANNALS, BETA = "apps/v1", "annals.dev/v1", "annals.dev/v1beta1"
API_VERSIONS = [APPS, ANNALS]

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def revisions(namespace="default", api_version=APPS):
    """The path of a collection."""
    return f"/apis/{api_version}/namespaces/{namespace}/controllerrevisions"


def revision(name="a", number=1, data=None, api_version=APPS, **metadata):
    return {"apiVersion": api_version, "kind": "ControllerRevision", "metadata": {"name": name, **metadata}, "revision": number,
            "data": {"image": "nginx:1"} if data is None else data}


def owner(name, controller=True):
    """Of a kind that nobody serves: the garbage collector cannot find out that it is not there."""
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": f"uid-of-{name}", "controller": controller}
