"""storageVersionHash in discovery behind kube-apiserver: what it is made of, and where there is none. kube-apiserver's own hashes are made so, too."""

import pytest

import aggregated
import kube
import migrating

NEVER_WRITTEN = {"recordings", "snapshots", "storageversions"}  # the first two are not stored, the last only read: there is nothing to migrate

pytestmark = pytest.mark.skipif(not kube.KUBE_APISERVER.exists(), reason="tests/cluster/build.sh has not been run")


def hashes(cluster, group_version):
    """{resource: hash}; None: without one."""
    path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    return {entry["name"]: entry.get("storageVersionHash") for entry in cluster.kube.get(path).json["resources"]}


ONLY_VERSION = {"statefulsets": "v1beta1"}


def kinds(cluster, group_version):
    path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    return {entry["name"]: entry["kind"] for entry in cluster.kube.get(path).json["resources"]}


@pytest.mark.parametrize("version", migrating.VERSIONS)
def test_hashes__are_of_the_version_that_is_stored(migrating_cluster, version):
    migrating_cluster.store(version)
    for api_version in migrating.VERSIONS:
        group_version = f"{migrating.GROUP}/{api_version}"
        expected = {}
        for resource, kind in kinds(migrating_cluster, group_version).items():
            is_stored = "/" not in resource and resource not in NEVER_WRITTEN
            stored_version = version if resource in migrating.RESOURCES else ONLY_VERSION.get(resource, "v1")
            expected[resource] = migrating.version_hash(migrating.GROUP, stored_version, kind) if is_stored else None
        assert set(migrating.RESOURCES) < set(expected)
        assert hashes(migrating_cluster, group_version) == expected


def test_hashes__are_not_in_the_aggregated_form(migrating_cluster):
    """client-go prefers that form: who wants hashes must not ask for it."""
    document = migrating_cluster.kube.get("/apis", headers=aggregated.DISCOVERY)
    assert migrating.GROUP in document.text
    assert "storageVersionHash" not in document.text


def test_hashes__can_be_switched_off(migrating_cluster):
    migrating_cluster.restart(*migrating.storage("v1"), "--feature-gates=StorageVersionHash=false")
    for api_version in migrating.VERSIONS:
        found = hashes(migrating_cluster, f"{migrating.GROUP}/{api_version}")
        assert set(migrating.RESOURCES) < set(found) and set(found.values()) == {None}
    assert migrating_cluster.listed("default", "dependents") == {}
    migrating_cluster.store("v1")


def test_hashes__are_made_as_kubernetes_makes_them(migrating_cluster):
    for group_version in ("v1", "apps/v1"):
        found = {resource: found for resource, found in hashes(migrating_cluster, group_version).items() if found}
        kind_of = kinds(migrating_cluster, group_version)
        group, _, version = group_version.rpartition("/")
        assert found and found == {resource: migrating.version_hash(group, version, kind_of[resource]) for resource in found}
    assert hashes(migrating_cluster, "apps/v1")["controllerrevisions"] == "85nkx63pcBU="


def test_kube_apiservers_own__are_the_same_at_each_version(migrating_cluster):
    found = {hashes(migrating_cluster, f"autoscaling/{version}")["horizontalpodautoscalers"] for version in ("v1", "v2")}
    assert len(found) == 1 and None not in found
    assert hashes(migrating_cluster, "apps/v1")["deployments/scale"] is None
