"""What clients learn about the server before they ask it anything: groups, versions, resources, schemas."""

import base64
import hashlib
import json
import os
import pathlib
import sys

import processes
from objects import ANNALS, APPS, BETA

AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def references(node):
    """All $ref within a document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(document, reference):
    assert reference.startswith("#/"), reference
    for part in reference[2:].split("/"):
        document = document[part]
    return document


def group_versions(annals):
    found = [version for version in annals.get("/api").json["versions"]]
    return found + [version["groupVersion"] for group in annals.get("/apis").json["groups"] for version in group["versions"]]


def root(group_version):
    return "/apis/" + group_version if "/" in group_version else "/api/" + group_version


# ---- groups and resources ----


def test_every_group_and_version_can_be_looked_at(annals):
    assert set(group_versions(annals)) >= {"v1", ANNALS, BETA, APPS}
    for group_version in group_versions(annals):
        listed = annals.get(root(group_version)).json
        assert (listed["kind"], listed["groupVersion"]) == ("APIResourceList", group_version)
    for group in annals.get("/apis").json["groups"]:
        alone = annals.get("/apis/" + group["name"]).json
        assert {key: alone[key] for key in group} == group
        assert group["preferredVersion"] == group["versions"][0]


def test_every_listed_resource_answers(annals):
    for group_version in group_versions(annals):
        for resource in annals.get(root(group_version)).json["resources"]:
            if "list" in resource["verbs"]:
                listed = annals.get(f"{root(group_version)}/{resource['name']}")
                assert (listed.status, listed.json["kind"]) == (200, resource["kind"] + "List")


def test_aggregated_discovery_says_the_same(annals):
    found = {}
    for path in ("/api", "/apis"):
        for group in annals.get(path, headers=AGGREGATED).json["items"]:
            for version in group["versions"]:
                name = "/".join(filter(None, [group["metadata"].get("name"), version["version"]]))
                found[name] = {r["resource"]: (r["responseKind"]["kind"], r["verbs"], r["scope"]) for r in version["resources"]}
    plain = {}
    for group_version in group_versions(annals):
        resources = annals.get(root(group_version)).json["resources"]
        plain[group_version] = {r["name"]: (r["kind"], r["verbs"], "Namespaced" if r["namespaced"] else "Cluster") for r in resources if "/" not in r["name"]}
    assert found == plain


def test_unchanged_documents_are_not_sent_again(annals):
    for path, headers in (("/apis", AGGREGATED), ("/api", AGGREGATED), ("/openapi/v2", {}), ("/openapi/v3/apis/apps/v1", {})):
        tag = annals.get(path, headers=headers).headers["ETag"]
        again = annals.get(path, headers={**headers, "If-None-Match": tag})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert annals.get(path, headers={**headers, "If-None-Match": '"other"'}).status == 200


def hashes(server):
    found = {}
    for group_version in group_versions(server):
        for resource in server.get(root(group_version)).json["resources"]:
            found[group_version, resource["name"]] = resource.get("storageVersionHash")
    return found


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def test_storage_version_hash_is_that_of_what_is_stored(annals):
    """The same at every API version; subresources have none."""
    found = hashes(annals)
    assert {found[api_version, "controllerrevisions"] for api_version in (ANNALS, BETA, APPS)} == {digest("annals.dev/v1/ControllerRevision")}
    assert found["v1", "namespaces"] == digest("/v1/Namespace")
    assert all(hash is None for (_, name), hash in found.items() if "/" in name)


def test_storage_version_hash_can_be_switched_off(up):
    assert set(hashes(up("--feature-gates=StorageVersionHash=false")).values()) == {None}


# ---- schemas ----


def test_openapi_v2_holds_together(annals):
    document = annals.get("/openapi/v2").json
    assert document["swagger"] == "2.0"
    for reference in references(document):
        resolve(document, reference)
    kinds = {(kind["group"], kind["version"], kind["kind"]) for schema in document["definitions"].values()
             for kind in schema.get("x-kubernetes-group-version-kind", [])}
    assert {("apps", "v1", "ControllerRevision"), ("annals.dev", "v1", "ControllerRevision"), ("", "v1", "Namespace")} <= kinds


def test_openapi_v3_holds_together(annals):
    index = annals.get("/openapi/v3").json["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/annals.dev/v1", "apis/annals.dev/v1beta1"} <= set(index)
    for name, entry in index.items():
        answer = annals.get(entry["serverRelativeURL"])
        assert "immutable" in answer.headers["Cache-Control"]
        document = answer.json
        assert document["openapi"].startswith("3.0")
        for reference in references(document):
            resolve(document, reference)
        assert all(path.startswith("/" + name) for path in document["paths"])


def test_openapi_files_are_what_the_server_answers(annals, tmp_path):
    build = os.environ.get("ANNALS_BUILD", str(ROOT / "build"))
    made = processes.run([sys.executable, ROOT / "tools" / "reference" / "openapi.py", tmp_path], env=dict(os.environ, ANNALS_BUILD=build))
    assert made.returncode == 0, made
    folder = tmp_path / "openapi"
    served = {"swagger.json": "/openapi/v2"}
    for path in annals.get("/openapi/v3").json["paths"]:
        served[f"v3/{path.replace('/', '__')}_openapi.json"] = f"/openapi/v3/{path}"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")} == set(served)
    for name, path in served.items():
        assert json.loads((folder / name).read_text(encoding="utf-8")) == annals.get(path).json


def test_openapi_describes_exactly_what_is_served(annals):
    """Each path with a GET that needs no names answers; each resource in discovery has its paths."""
    for group_version in group_versions(annals):
        paths = annals.get("/openapi/v3" + root(group_version)).json["paths"]
        for path, operations in paths.items():
            if "{" not in path and "get" in operations:
                assert annals.get(path + "?timeoutSeconds=1").status == 200, path
        for resource in annals.get(root(group_version)).json["resources"]:
            name, _, subresource = resource["name"].partition("/")
            one = "" if resource["verbs"] == ["create"] and not subresource else "/{name}"
            where = root(group_version) + ("/namespaces/{namespace}" if resource["namespaced"] else "") + f"/{name}{one}"
            assert where + ("/" + subresource if subresource else "") in paths


def test_operations_say_what_they_do(annals):
    paths = annals.get("/openapi/v3/apis/apps/v1").json["paths"]
    one = paths["/apis/apps/v1/namespaces/{namespace}/controllerrevisions/{name}"]
    kind = {"group": "apps", "version": "v1", "kind": "ControllerRevision"}
    actions = {method: operation["x-kubernetes-action"] for method, operation in one.items() if isinstance(operation, dict)}
    assert actions == {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}
    assert all(one[method]["x-kubernetes-group-version-kind"] == kind for method in actions)
    assert {parameter["name"] for parameter in one["patch"]["parameters"]} >= {"dryRun", "fieldManager", "fieldValidation", "force"}


def test_discovery_is_plain_data(annals):
    """Nothing in it changes from one request to the next."""
    for path in ("/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1"):
        assert annals.get(path).body == annals.get(path).body
    assert json.loads(annals.get("/").body)["paths"] == sorted(json.loads(annals.get("/").body)["paths"])
