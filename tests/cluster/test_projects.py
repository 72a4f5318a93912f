"""The CustomResourceDefinitions of well-known projects, as their Go modules have them: accepted, kept and published as kube-apiserver does."""

import functools

import pytest
import yaml

import processes

PROJECTS = processes.PEERS / "projects"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

FILES = sorted(PROJECTS.glob("*/*.yaml"))


class Loader(yaml.CSafeLoader):
    """A plain "=" is a text, as it is for kubectl."""


Loader.add_constructor("tag:yaml.org,2002:value", Loader.construct_yaml_str)


@functools.cache
def definitions(path):
    found = [document for document in yaml.load_all(path.read_text(), Loader) if document]
    return [document for document in found if document.get("kind") == "CustomResourceDefinition"]


def bare(definition):
    """Without what no two servers have in common."""
    metadata = {name: value for name, value in definition["metadata"].items() if name not in ("uid", "creationTimestamp", "resourceVersion", "managedFields")}
    return {**definition, "metadata": metadata, "status": None}


def settled(server, name):
    """It, and its conditions, once kube-apiserver has waited its five seconds."""

    def conditions():
        found = server.get(f"{DEFINITIONS}/{name}").json
        said = {c["type"]: (c["status"], c["reason"], c["message"]) for c in found.get("status", {}).get("conditions") or []}
        return said.get("Established", ("False",))[0] == "True" and (found, said)

    return processes.retry_until(conditions, f"{name} is established at {server.url}", interval=0.1)


@functools.cache
def document(server, group, version, plurals):
    """What is published of a group's version, once all kinds are in it."""
    path = f"/openapi/v3/apis/{group}/{version}"

    def published():
        answer = server.get(path)
        found = answer.json if answer.status == 200 else {"paths": ()}
        return all(any(path.endswith(f"/{plural}") for path in found["paths"]) for plural in plurals) and found

    return processes.retry_until(published, f"{path} at {server.url}", interval=0.2)


def plurals_of(posted, group, version):
    """Of all definitions that serve the version."""
    specs = [definition["spec"] for definition, *_ in posted.values() if definition["spec"]["group"] == group]
    return tuple(spec["names"]["plural"] for spec in specs if any(one["name"] == version and one["served"] for one in spec["versions"]))


def differing(ours, theirs, path=""):
    """Where two trees differ: [(path, ours, theirs)]. pytest takes minutes to say so of texts of this size."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [found for name in sorted({*ours, *theirs}) for found in differing(ours.get(name), theirs.get(name), f"{path}/{name}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [found for at, (one, other) in enumerate(zip(ours, theirs)) for found in differing(one, other, f"{path}/{at}")]
    return [] if ours == theirs else [(path, str(ours)[:500], str(theirs)[:500])]


def operations(published):
    """{path: {method: (action, kind)}}. Parameters and descriptions are said once for all kinds, and in annals' words."""
    return {path: {method: (said.get("x-kubernetes-action"), said.get("x-kubernetes-group-version-kind"))
                   for method, said in methods.items() if method not in ("parameters", "servers")} for path, methods in published["paths"].items()}


def schemas(published, version):
    """Those of the group's kinds."""
    return {name: one for name, one in published["components"]["schemas"].items()
            if f".{version}." in name and not name.startswith("io.k8s.") and not name.endswith("List")}


@pytest.fixture(scope="module")
def posted(twins):
    """{name: (definition, kube-apiserver's answer, annals' answer)}. All at once, for each waits five seconds at kube-apiserver."""
    servers = (twins.kube, twins.annals)
    found = {one["metadata"]["name"]: (one, *(server.post(DEFINITIONS, one) for server in servers)) for path in FILES for one in definitions(path)}
    yield found
    for server in servers:
        for name in found:
            server.delete(f"{DEFINITIONS}/{name}")
        processes.retry_until(lambda server=server: server.get(DEFINITIONS).json["items"] == [], f"no definition is at {server.url}", interval=0.1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_definition_of_a_project(twins, posted, path):
    for name in [one["metadata"]["name"] for one in definitions(path)]:
        definition, theirs, ours = posted[name]
        assert ours.status == theirs.status == 201, (ours.text[:2000], theirs.text[:2000])
        kept, wanted = settled(twins.annals, name), settled(twins.kube, name)
        assert bare(kept[0]) == bare(wanted[0])
        assert kept[1] == wanted[1]
        group = definition["spec"]["group"]
        for version in [version["name"] for version in definition["spec"]["versions"] if version["served"]]:
            kept, wanted = (document(server, group, version, plurals_of(posted, group, version)) for server in (twins.annals, twins.kube))
            assert differing(operations(kept), operations(wanted)) == []
            assert differing(schemas(kept, version), schemas(wanted, version)) == []
