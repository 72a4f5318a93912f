"""What earlier releases have left in etcd is read by this one, and is as good as its own: tests/releases."""

import json
import re

import pytest

import processes
import releases

ROOT = releases.FOLDER.parent.parent
IN = "/namespaces/release"


@pytest.fixture(params=releases.kept())
def release(request):
    return request.param


@pytest.fixture
def store(etcd, folder, release):
    """An etcd restored from the release's snapshot."""
    store = etcd(dir=folder / "etcd")
    assert store.stop() is not None
    store.restore(releases.unpack(release, folder / "snapshot"))
    return etcd(dir=folder / "etcd")


def fsck(store):
    done = processes.run([processes.BIN, "fsck", "--etcd-servers", store.endpoint, "-o", "json"])
    return done.returncode, json.loads(done.stdout)


def mixed(store):
    """The resources of which something is stored in several versions."""
    resources = [one["resource"] for one in fsck(store)[1]["stored"]]
    return {resource for resource in resources if resources.count(resource) > 1}


def assert_same(seen, expected):
    """StorageMigrations are made by servers, too."""
    assert expected.keys() <= seen.keys(), "collections are not served any more"
    for path, items in expected.items():
        there = {item["metadata"]["uid"] for item in items}
        assert [item for item in seen[path] if item["metadata"]["uid"] in there or not path.endswith("/storagemigrations")] == items, path


def test_releases__objects_are_what_they_were(release, store, serve):
    """Before they are migrated, and when all of them have been."""
    expected = releases.expected(release)
    server = serve(store.endpoint, "--storage-migration=Off")
    assert_same(releases.everything(server), expected)
    assert server.stop() == 0
    assert fsck(store)[0] == 0 and mixed(store)
    server = serve(store.endpoint)
    processes.retry_until(lambda: not mixed(store), "everything is migrated")
    assert_same(releases.everything(server), expected)
    assert fsck(store)[0] == 0


def test_releases__objects_can_be_written_and_deleted(release, store, up, folder):
    """With controllers: what was being deleted goes when it may, what was protected stays, the history goes on."""
    server = up(f"--etcd-servers={store.endpoint}")
    for path, items in releases.expected(release).items():
        for item in items:
            where, _, resource = path.rpartition("/")
            namespace = item["metadata"].get("namespace")
            one = f"{where}/{'namespaces/' + namespace + '/' if namespace else ''}{resource}/{item['metadata']['name']}"
            answer = server.patch(one, {"metadata": {"labels": {"read-by": "later"}}})
            assert answer.status == 200, answer
    settings = f"/api/v1{IN}/configmaps/settings"
    assert server.patch(settings, {"metadata": {"finalizers": None}}).status == 200
    processes.retry_until(lambda: server.get(settings).status == 404, "its deletion")
    history = next(item for item in releases.expected(release)["/apis/annals.dev/v1/histories"] if item["spec"]["subject"]["name"] == "settings")
    path = f"/apis/annals.dev/v1{IN}/histories/{history['metadata']['name']}"
    processes.retry_until(lambda: server.get(path).json["status"]["changes"][-1]["type"] == "Deleted", "what is recorded of it")
    assert server.delete(f"/apis/annals.dev/v1{IN}/providers/database").status == 200
    assert server.get(f"/apis/annals.dev/v1{IN}/providers/database").json["metadata"]["deletionTimestamp"], "a Dependent needs it"
    owner = next(item for item in releases.expected(release)["/apis/annals.dev/v1/controllerrevisions"]
                 if item["metadata"].get("ownerReferences", [{}])[0].get("name") == "shop")["metadata"]["ownerReferences"][0]
    asked = {"spec": {"owner": {name: owner[name] for name in ("apiVersion", "kind", "name", "uid", "controller")}, "data": {"image": "nginx:2"}}}
    assert server.post(f"/apis/annals.dev/v1{IN}/snapshots", asked).json["status"]["result"] == "RolledBack"
    processes.retry_until(lambda: fsck(store)[0] == 0, "nothing is wrong, when controllers are done")


def test_releases__the_present_version_is_kept_or_not_yet_tagged():
    """tools/release-snapshot.py has been run for each tag."""
    tags = processes.run(["git", "-C", ROOT, "tag", "--list", "v*"])
    if tags.returncode:
        pytest.skip("this is no clone: there are no tags")
    assert {tag for tag in tags.stdout.split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)} <= set(releases.kept())
    assert releases.kept(), "there is no release"
