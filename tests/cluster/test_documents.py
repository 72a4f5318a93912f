"""What discovery says of the kinds that annals has, beside what kube-apiserver says of them: the same words, in the same order."""

import pytest

AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
GROUPS = ["/api/v1", "/apis/apps/v1", "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1", "/apis/coordination.k8s.io/v1", "/apis/events.k8s.io/v1"]
# Stored in the form of another group.
STORED_OTHERWISE = {"controllerrevisions", "statefulsets"}


def resources(server, path):
    listed = {r["name"]: r for r in server.get(path).json["resources"]}
    for name in STORED_OTHERWISE & listed.keys():
        del listed[name]["storageVersionHash"]
    return listed


@pytest.mark.parametrize("path", GROUPS)
def test_documents__resources_are_described_as_kube_describes_them(twins, path):
    kubes, ours = resources(twins.kube, path), resources(twins.annals, path)
    assert list(ours) == [name for name in kubes if name in ours], "their order, or what kube does not have"
    for name, resource in ours.items():
        assert resource == kubes[name]


def aggregated(server, path):
    versions = {(group["metadata"].get("name", ""), version["version"]): version
                for group in server.request("GET", path, headers=AGGREGATED).json["items"] for version in group["versions"]}
    return {(group, version, r["resource"]): r for (group, version), v in versions.items() for r in v["resources"]}


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_documents__aggregated_ones_say_the_same(twins, path):
    kubes, ours = aggregated(twins.kube, path), aggregated(twins.annals, path)
    shared = [key for key in ours if key in kubes]
    assert len(shared) > 5
    for key in shared:
        served = {r["subresource"] for r in ours[key].get("subresources", [])}
        theirs = dict(kubes[key])
        if "subresources" in theirs:
            theirs["subresources"] = [r for r in theirs["subresources"] if r["subresource"] in served]
            if not served:
                del theirs["subresources"]
        assert ours[key] == theirs


def test_documents__groups_are_in_kubes_order(twins):
    names = [[group["name"] for group in server.get("/apis").json["groups"]] for server in (twins.kube, twins.annals)]
    assert [name for name in names[1] if name != "annals.dev"] == [name for name in names[0] if name in names[1]]
