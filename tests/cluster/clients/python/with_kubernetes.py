"""What the Python client does with annals: typed, dynamic, watches, patches of all types, informers."""

import json
import threading

import pytest
import yaml
from kubernetes import client, dynamic, utils, watch
from kubernetes.client import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.informer import SharedInformer

REVISION = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": {"image": "nginx:1"}}


def revision(name, **metadata):
    return {**REVISION, "metadata": {"name": name, **metadata}}


@pytest.fixture
def apps(api):
    return client.AppsV1Api(api)


@pytest.fixture
def revisions(api):
    return dynamic.DynamicClient(api).resources.get(api_version="apps/v1", kind="ControllerRevision")


def refused(status, reason, call, *arguments, **named):
    with pytest.raises(ApiException) as raised:
        call(*arguments, **named)
    body = json.loads(raised.value.body)
    assert (raised.value.status, body["kind"], body["reason"]) == (status, "Status", reason)
    return body


def test_create_read_replace_and_delete(apps, namespace):
    body = client.V1ControllerRevision(api_version="apps/v1", kind="ControllerRevision", metadata=client.V1ObjectMeta(name="web-1"), revision=1,
                                       data={"image": "nginx:1", "n": 1.5})
    made = apps.create_namespaced_controller_revision(namespace, body)
    assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo
    assert made.data == {"image": "nginx:1", "n": 1.5}
    refused(409, "AlreadyExists", apps.create_namespaced_controller_revision, namespace, body)

    read = apps.read_namespaced_controller_revision("web-1", namespace)
    assert read == made
    read.metadata.labels = {"app": "web"}
    replaced = apps.replace_namespaced_controller_revision("web-1", namespace, read)
    assert replaced.metadata.labels == {"app": "web"}
    refused(409, "Conflict", apps.replace_namespaced_controller_revision, "web-1", namespace, made)
    replaced.data = {"image": "nginx:2"}
    assert refused(422, "Invalid", apps.replace_namespaced_controller_revision, "web-1", namespace, replaced)["details"]["causes"][0]["field"] == "data"

    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    refused(409, "Conflict", apps.delete_namespaced_controller_revision, "web-1", namespace, body=wrong)
    apps.delete_namespaced_controller_revision("web-1", namespace, dry_run="All")
    assert apps.delete_namespaced_controller_revision("web-1", namespace).status == "Success"
    refused(404, "NotFound", apps.read_namespaced_controller_revision, "web-1", namespace)


def test_lists_are_selected_and_paged(apps, namespace):
    for n in range(7):
        apps.create_namespaced_controller_revision(namespace, revision(f"r-{n}", labels={"even": str(n % 2 == 0)}))
    assert len(apps.list_namespaced_controller_revision(namespace, label_selector="even=True").items) == 4
    assert len(apps.list_namespaced_controller_revision(namespace, field_selector="metadata.name=r-3").items) == 1
    names, token = [], None
    while token != "":
        page = apps.list_namespaced_controller_revision(namespace, limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert names == [f"r-{n}" for n in range(7)]
    apps.delete_collection_namespaced_controller_revision(namespace, label_selector="even=True")
    assert len(apps.list_namespaced_controller_revision(namespace).items) == 3


def test_patches_of_all_types(apps, namespace):
    apps.create_namespaced_controller_revision(namespace, revision("p", finalizers=["a.b/c"]))
    kinds = {
        "application/json-patch+json": [{"op": "replace", "path": "/revision", "value": 2}],
        "application/merge-patch+json": {"metadata": {"labels": {"merge": "yes"}}},
        "application/strategic-merge-patch+json": {"metadata": {"finalizers": ["d.e/f"]}},
        "application/apply-patch+yaml": {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"labels": {"applied": "yes"}}},
    }
    for kind, body in kinds.items():
        more = {"field_manager": "python"} if "apply" in kind else {}
        patched = apps.patch_namespaced_controller_revision("p", namespace, body, _content_type=kind, **more)
    assert (patched.revision, patched.metadata.labels, patched.metadata.finalizers) == (2, {"merge": "yes", "applied": "yes"}, ["d.e/f", "a.b/c"])
    assert [entry.operation for entry in patched.metadata.managed_fields if entry.manager == "python"] == ["Apply"]
    refused(422, "Invalid", apps.patch_namespaced_controller_revision, "p", namespace, [{"op": "test", "path": "/revision", "value": 9}],
            _content_type="application/json-patch+json")


def change(apps, namespace, name):
    apps.create_namespaced_controller_revision(namespace, revision(name))
    apps.patch_namespaced_controller_revision(name, namespace, {"revision": 2}, _content_type="application/merge-patch+json")
    apps.delete_namespaced_controller_revision(name, namespace)


def test_watch_resumes_where_it_ended(apps, namespace):
    start = apps.list_namespaced_controller_revision(namespace).metadata.resource_version
    change(apps, namespace, "a")
    change(apps, namespace, "b")
    seen, watcher = [], watch.Watch()
    for event in watcher.stream(apps.list_namespaced_controller_revision, namespace, resource_version=start):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) in (2, 5):  # leave, and come back with what the watch remembers
            break
    for event in watcher.stream(apps.list_namespaced_controller_revision, namespace, resource_version=watcher.resource_version):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 6:
            break
    assert seen == [(what, name) for name in "ab" for what in ("ADDED", "MODIFIED", "DELETED")]


def test_watch_ends_when_it_was_told_to(apps, namespace):
    apps.create_namespaced_controller_revision(namespace, revision("there"))
    seen = [event["type"] for event in watch.Watch().stream(apps.list_namespaced_controller_revision, namespace, timeout_seconds=3)]
    assert seen == ["ADDED"]


def test_dynamic_client(revisions, namespace):
    made = revisions.create(body=revision("d", labels={"app": "web"}), namespace=namespace)
    assert made.metadata.uid and made.data.image == "nginx:1"
    patched = revisions.patch(body={"metadata": {"labels": {"tier": "front"}}}, name="d", namespace=namespace, content_type="application/merge-patch+json")
    assert patched.metadata.labels.to_dict() == {"app": "web", "tier": "front"}
    applied = revisions.server_side_apply(body=revision("d", labels={"app": "web"}), namespace=namespace, field_manager="one", force_conflicts=True)
    assert {entry.manager for entry in applied.metadata.managedFields} >= {"one"}
    with pytest.raises(ConflictError):
        revisions.server_side_apply(body=revision("d", labels={"app": "db"}), namespace=namespace, field_manager="two")
    assert [item.metadata.name for item in revisions.get(namespace=namespace, label_selector="tier=front").items] == ["d"]
    revisions.delete(name="d", namespace=namespace)
    with pytest.raises(NotFoundError):
        revisions.get(name="d", namespace=namespace)


def test_dynamic_client_discovers_every_kind(api):
    dynamic_client = dynamic.DynamicClient(api)
    for kind, version in (("ControllerRevision", "annals.dev/v1"), ("ControllerRevision", "apps/v1"), ("Namespace", "v1")):
        assert dynamic_client.resources.get(api_version=version, kind=kind).kind == kind
    assert dynamic_client.version["kubernetes"]["minor"] == "36"
    assert {group for group in dynamic_client.resources.api_groups} >= {"annals.dev", "apps"}


def test_dynamic_watch(revisions, namespace):
    start = revisions.get(namespace=namespace).metadata.resourceVersion
    for n in range(3):
        revisions.create(body=revision(f"w-{n}"), namespace=namespace)
    seen = []
    for event in revisions.watch(namespace=namespace, resource_version=start, timeout=60):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            break
    assert seen == [("ADDED", f"w-{n}") for n in range(3)]


def test_informer(apps, namespace):
    change(apps, namespace, "before")
    apps.create_namespaced_controller_revision(namespace, revision("kept"))
    seen, is_over = [], threading.Event()
    informer = SharedInformer(apps.list_namespaced_controller_revision, namespace=namespace)
    for event in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(event, lambda found, event=event: (seen.append((event, found.metadata.name)), len(seen) == 4 and is_over.set()))
    informer.start()
    try:
        while ("ADDED", "kept") not in seen:
            is_over.wait(0.01)
        change(apps, namespace, "after")
        assert is_over.wait(60)
    finally:
        informer.stop()
    assert seen == [("ADDED", "kept"), ("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "after")]


def test_create_from_yaml(api, namespace):
    objects = list(yaml.safe_load_all("\n---\n".join(yaml.safe_dump(revision(name)) for name in "xy")))
    made = utils.create_from_yaml(api, yaml_objects=objects, namespace=namespace)
    assert [item.metadata.name for found in made for item in found] == ["x", "y"]
