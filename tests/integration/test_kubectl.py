"""An unmodified kubectl, of several versions, on ControllerRevisions through each of their API versions."""

import json
import re

import pytest

import processes

pytestmark = pytest.mark.long_file

API_VERSIONS = {"apps": "apps/v1", "annals": "annals.dev/v1"}
IMMUTABLE = 'The ControllerRevision "web-1" is invalid: data: Invalid value: {"image":"nginx:2","size":1}: field is immutable'


class Kubectl:
    """kubectl in a namespace, on the revisions of one API version: k("label", k.web, "a=b"). What fails, fails the test, unless may_fail."""

    def __init__(self, annals, namespace, binary, api_version):
        self.annals, self.namespace, self.binary, self.api_version = annals, namespace, binary, api_version
        self.revisions = "controllerrevisions." + api_version.split("/")[0]
        self.web = self.revisions + "/web-1"
        self.path = f"/apis/{api_version}/namespaces/{namespace}/controllerrevisions"

    def try_to(self, *arguments, **more):
        return self.annals.kubectl("--namespace", self.namespace, *arguments, binary=self.binary, **more)

    def __call__(self, *arguments, **more):
        done = self.try_to(*arguments, **more)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *arguments):
        """One that goes on: a processes.Process, which the test stops."""
        return processes.Process([self.binary, "--namespace", self.namespace, *arguments], env=self.annals.kubectl_env())

    def manifest(self, name="web-1", image="nginx:1", revision=1, **labels):
        return json.dumps({"apiVersion": self.api_version, "kind": "ControllerRevision",
                           "metadata": {"name": name, "labels": {"app": "web", **labels}},
                           "revision": revision, "data": {"image": image, "size": 1}})

    def create(self, *arguments, **more):
        return self("create", "-f", "-", *arguments, input=self.manifest(**more))

    def stored(self, name="web-1"):
        return self.annals.get(f"{self.path}/{name}").json


@pytest.fixture(params=API_VERSIONS.values(), ids=API_VERSIONS.keys())
def k(request, annals, namespace, kubectl_binary):
    return Kubectl(annals, namespace, kubectl_binary, request.param)


@pytest.fixture
def any_version(annals, namespace, kubectl_binary):
    """For what has nothing to do with API versions."""
    return Kubectl(annals, namespace, kubectl_binary, "apps/v1")


# ---- create and get ----


def test_create_prints_what_was_created(k):
    assert k.create() == f"{k.revisions.replace('revisions', 'revision')}/web-1 created\n"
    assert k.stored()["data"] == {"image": "nginx:1", "size": 1}


def test_create_twice_is_refused(k):
    k.create()
    done = k.try_to("create", "-f", "-", input=k.manifest())
    assert done.returncode == 1
    assert re.search(r'AlreadyExists.*"web-1" already exists', done.stderr)


def test_get_prints_the_columns(k):
    k.create(revision=7)
    header, row = k("get", k.revisions).splitlines()
    assert header.split() == ["NAME", "CONTROLLER", "REVISION"] + (["LIVE", "SIZE"] if "annals" in k.revisions else []) + ["AGE"]
    assert row.split()[:3] == ["web-1", "<none>", "7"]


def test_get_prints_labels_and_namespaces_when_asked(k):
    k.create()
    header, row = k("get", k.revisions, "--show-labels", "-L", "app", "-o", "wide").splitlines()
    assert header.split()[-2:] == ["APP", "LABELS"]
    assert row.split()[-2:] == ["web", "app=web"]
    assert re.search(rf"^{k.namespace} +web-1 ", k("get", k.revisions, "--all-namespaces"), re.MULTILINE)


def test_get_of_what_is_not_there_says_so(k):
    done = k.try_to("get", k.web)
    assert done.returncode == 1
    assert f'Error from server (NotFound): {k.revisions} "web-1" not found' in done.stderr
    assert "No resources found" in k.try_to("get", k.revisions).stderr


@pytest.mark.parametrize("form, expected", [
    ("name", "controllerrevision.GROUP/web-1\n"),
    ("jsonpath={.data.image}", "nginx:1"),
    ("jsonpath={.items[*].metadata.name}", ""),
    ("go-template={{.revision}}", "1"),
    ("custom-columns=N:.metadata.name,R:.revision", "N       R\nweb-1   1\n"),
])
def test_get_prints_in_many_forms(k, form, expected):
    k.create()
    assert k("get", k.web, "-o", form) == expected.replace("GROUP", k.api_version.split("/")[0])


def test_yaml_that_was_got_can_be_sent_back(k):
    k.create()
    text = k("get", k.web, "-o", "yaml")
    assert f"apiVersion: {k.api_version}\n" in text and "image: nginx:1\n" in text
    before = k.stored()
    assert k("replace", "-f", "-", input=text).endswith("/web-1 replaced\n")
    assert k.stored() == before


def test_selectors_choose(k):
    k.create()
    k.create(name="web-2", app="db")
    assert k("get", k.revisions, "-l", "app=web", "-o", "name").count("web-1") == 1
    assert k("get", k.revisions, "-l", "app in (db,cache)", "-o", "name").endswith("/web-2\n")
    assert k("get", k.revisions, "--field-selector", "metadata.name!=web-1", "-o", "name").endswith("/web-2\n")


def test_field_selectors_are_those_of_the_version(k):
    k.create()
    k.create(name="web-2", revision=2)
    done = k.try_to("get", k.revisions, "--field-selector", "revision=2", "-o", "name")
    if "annals" in k.revisions:
        assert done.stdout == "controllerrevision.annals.dev/web-2\n"
    else:
        assert '"revision" is not a known field selector' in done.stderr


def test_pages_are_put_together(k):
    for i in range(7):
        k.annals.post(k.path, json.loads(k.manifest(name=f"r{i}", revision=7 - i)))
    assert k("get", k.revisions, "--chunk-size=2", "-o", "jsonpath={.items[*].metadata.name}") == "r0 r1 r2 r3 r4 r5 r6"
    assert k("get", k.revisions, "--chunk-size=3", "--sort-by=.revision", "-o", "jsonpath={.items[*].revision}") == "1 2 3 4 5 6 7"


def test_describe_shows_the_data(k):
    k.create()
    assert re.search(r"^ *Image: +nginx:1$", k("describe", k.web), re.MULTILINE)


def test_what_one_version_made_the_other_shows(k):
    k.create()
    other = next(api_version for api_version in API_VERSIONS.values() if api_version != k.api_version)
    theirs = Kubectl(k.annals, k.namespace, k.binary, other)
    theirs("label", theirs.web, "seen=yes")
    assert k("get", k.web, "-o", "jsonpath={.apiVersion} {.metadata.labels.seen} {.data.image}") == f"{k.api_version} yes nginx:1"


# ---- change ----


@pytest.mark.parametrize("kind, patch", [
    ("merge", {"revision": 2}),
    ("strategic", {"revision": 2}),
    ("json", [{"op": "replace", "path": "/revision", "value": 2}]),
])
def test_patch_changes_the_revision(k, kind, patch):
    k.create()
    assert k("patch", k.web, "--type", kind, "-p", json.dumps(patch)).endswith("/web-1 patched\n")
    assert k.stored()["revision"] == 2


@pytest.mark.parametrize("kind, patch", [
    ("merge", {"data": {"image": "nginx:2"}}),
    ("strategic", {"data": {"image": "nginx:2"}}),
    ("json", [{"op": "replace", "path": "/data/image", "value": "nginx:2"}]),
])
def test_patch_of_data_is_refused(k, kind, patch):
    k.create()
    before = k.stored()
    done = k.try_to("patch", k.web, "--type", kind, "-p", json.dumps(patch))
    assert (done.returncode, done.stderr.strip()) == (1, IMMUTABLE)
    assert k.stored() == before


def test_label_and_annotate(k):
    k.create()
    assert k("label", k.web, "tier=front").endswith("/web-1 labeled\n")
    assert "--overwrite is false" in k.try_to("label", k.web, "tier=back").stderr
    k("label", k.web, "tier=back", "--overwrite")
    k("annotate", k.web, "note=a b")
    assert k.stored()["metadata"]["labels"] == {"app": "web", "tier": "back"}
    assert k.stored()["metadata"]["annotations"]["note"] == "a b"
    k("label", k.web, "tier-")
    k("annotate", k.web, "note-")
    assert k.stored()["metadata"]["labels"] == {"app": "web"}
    assert "note" not in k.stored()["metadata"].get("annotations", {})


def test_label_with_a_selector_labels_all_it_finds(k):
    k.create()
    k.create(name="web-2")
    k.create(name="db-1", app="db")
    k("label", k.revisions, "-l", "app=web", "tier=front")
    assert k("get", k.revisions, "-l", "tier=front", "-o", "jsonpath={.items[*].metadata.name}") == "web-1 web-2"


def test_apply_creates_then_changes_then_keeps(k):
    assert k("apply", "-f", "-", input=k.manifest()).endswith("/web-1 created\n")
    assert k("apply", "-f", "-", input=k.manifest(revision=3, tier="front")).endswith("/web-1 configured\n")
    assert k("apply", "-f", "-", input=k.manifest(revision=3, tier="front")).endswith("/web-1 unchanged\n")
    assert (k.stored()["revision"], k.stored()["metadata"]["labels"]) == (3, {"app": "web", "tier": "front"})
    k("apply", "-f", "-", input=k.manifest(revision=3))
    assert k.stored()["metadata"]["labels"] == {"app": "web"}


def test_apply_of_changed_data_prints_the_servers_422(k):
    k("apply", "-f", "-", input=k.manifest())
    before = k.stored()
    done = k.try_to("apply", "-f", "-", input=k.manifest(image="nginx:2"))
    assert (done.returncode, done.stderr.strip()) == (1, IMMUTABLE)
    assert k.stored() == before


def test_apply_on_the_server_owns_what_it_set(k):
    k("apply", "--server-side", "-f", "-", input=k.manifest())
    assert k("apply", "--server-side", "-f", "-", input=k.manifest(revision=2)).endswith("/web-1 serverside-applied\n")
    k("label", k.web, "app=db", "--overwrite")
    conflict = k.try_to("apply", "--server-side", "-f", "-", input=k.manifest(revision=2))
    assert conflict.returncode == 1 and "conflict with" in conflict.stderr and ".metadata.labels.app" in conflict.stderr
    k("apply", "--server-side", "--force-conflicts", "-f", "-", input=k.manifest(revision=2))
    assert k.stored()["metadata"]["labels"]["app"] == "web"
    done = k.try_to("apply", "--server-side", "-f", "-", input=k.manifest(image="nginx:2"))
    assert done.returncode == 1 and "field is immutable" in done.stderr


def test_replace(k):
    k.create()
    assert k("replace", "-f", "-", input=k.manifest(revision=5)).endswith("/web-1 replaced\n")
    assert k.stored()["revision"] == 5
    done = k.try_to("replace", "-f", "-", input=k.manifest(image="nginx:2"))
    assert (done.returncode, done.stderr.strip()) == (1, IMMUTABLE)


def test_replace_by_force_deletes_and_creates(k):
    k.create()
    uid = k.stored()["metadata"]["uid"]
    k("replace", "--force", "-f", "-", input=k.manifest(image="nginx:2"))
    assert k.stored()["data"]["image"] == "nginx:2"
    assert k.stored()["metadata"]["uid"] != uid


def editor(folder, command):
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return str(path)


def test_edit(k, folder):
    k.create()
    assert k("edit", k.web, EDITOR=editor(folder, 'sed -i "s/^revision: .*/revision: 9/" "$1"')).endswith("/web-1 edited\n")
    assert k.stored()["revision"] == 9


def test_edit_of_data_shows_why_not(k, folder):
    """kubectl opens the file again, with the server's words on top; an unchanged second version ends it."""
    k.create()
    done = k.try_to("edit", k.web, EDITOR=editor(folder, f'cat "$1" >>{folder}/seen; sed -i s/nginx:1/nginx:2/ "$1"'), TMPDIR=str(folder))
    assert done.returncode == 1
    assert "# * data: Invalid value" in (folder / "seen").read_text()
    assert k.stored()["data"]["image"] == "nginx:1"


def test_diff_shows_what_apply_would_change(k):
    k("apply", "-f", "-", input=k.manifest())
    before = k.stored()
    assert k("diff", "-f", "-", input=k.manifest()) == ""
    done = k.try_to("diff", "-f", "-", input=k.manifest(revision=2))
    assert done.returncode == 1
    assert re.search(r"^-revision: 1\n\+revision: 2$", done.stdout, re.MULTILINE)
    assert k.stored() == before


def test_dry_run_on_the_server_judges_and_changes_nothing(k):
    assert "created (server dry run)" in k.create("--dry-run=server")
    assert k.annals.get(f"{k.path}/web-1").status == 404
    k.create()
    before = k.stored()
    k("label", k.web, "a=b", "--dry-run=server")
    assert "(server dry run)" in k("delete", k.web, "--dry-run=server")
    done = k.try_to("apply", "--dry-run=server", "-f", "-", input=k.manifest(image="nginx:2"))
    assert (done.returncode, IMMUTABLE in done.stderr) == (1, True)
    assert k.stored() == before


# ---- delete, wait, watch ----


@pytest.mark.parametrize("how", [["web-1", "web-2"], ["--all"], ["-l", "app=web"]], ids=["names", "all", "selector"])
def test_delete(k, how):
    k.create()
    k.create(name="web-2")
    assert k("delete", k.revisions, *how).count(" deleted") == 2
    assert k.annals.get(k.path).json["items"] == []


def test_delete_of_what_is_not_there(k):
    assert "NotFound" in k.try_to("delete", k.web).stderr
    k("delete", k.web, "--ignore-not-found")


def test_delete_waits_for_the_finalizer(k):
    k.create()
    k("patch", k.web, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    deletion = k.start("delete", k.web)
    assert deletion.stdout.wait(" deleted")
    waiting = k.start("wait", "--for=delete", k.web, "--timeout=60s")
    assert "deletionTimestamp" in k.stored()["metadata"]
    assert deletion.popen.poll() is None and waiting.popen.poll() is None
    k("patch", k.web, "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    assert deletion.wait() == 0
    assert waiting.wait() == 0 or "no matching resources found" in waiting.stderr.text


def test_get_watch_prints_changes_as_they_come(k):
    k.create()
    watch = k.start("get", k.revisions, "--watch")
    assert watch.stdout.wait("^NAME +CONTROLLER +REVISION")
    assert watch.stdout.wait("^web-1 +<none> +1 ")
    k("patch", k.web, "--type=merge", "-p", '{"revision":2}')
    assert watch.stdout.wait("^web-1 +<none> +2 ")
    k.create(name="web-2")
    assert watch.stdout.wait("^web-2 +<none> +1 ")
    watch.kill()
    assert watch.stdout.text.count("NAME") == 1


def test_get_watch_follows_the_selector(k):
    k.create(tier="front")
    watch = k.start("get", k.revisions, "--watch", "-l", "tier=front", "--output-watch-events")
    assert watch.stdout.wait("^ADDED +web-1 ")
    k("label", k.web, "tier=back", "--overwrite")
    assert watch.stdout.wait("^DELETED +web-1 ")
    watch.kill()


# ---- what kubectl learns about the server ----


def test_api_resources_has_both_versions(any_version):
    rows = any_version("api-resources", "--no-headers").splitlines()
    found = {tuple(row.split()) for row in rows}
    assert {("namespaces", "ns", "v1", "false", "Namespace"), ("controllerrevisions", "apps/v1", "true", "ControllerRevision"),
            ("controllerrevisions", "annals.dev/v1", "true", "ControllerRevision")} <= found
    verbs = any_version("api-resources", "--api-group=apps", "-o", "wide")
    for verb in ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"):
        assert verb in verbs


def test_api_versions(any_version):
    assert {"annals.dev/v1", "annals.dev/v1beta1", "apps/v1", "v1"} <= set(any_version("api-versions").split())


def test_deprecated_version_warns(any_version):
    any_version.create()
    done = any_version.try_to("get", "controllerrevisions.v1beta1.annals.dev/web-1")
    assert "web-1" in done.stdout
    assert "Warning: annals.dev/v1beta1 ControllerRevision is deprecated" in done.stderr


def test_explain_prints_the_fields(k):
    text = k("explain", f"--api-version={k.api_version}", "controllerrevisions")
    assert re.search(r"^KIND: +ControllerRevision$", text, re.MULTILINE)
    for field in ("data", "revision", "metadata"):
        assert re.search(rf"^ +{field}\s+<", text, re.MULTILINE)
    assert "<integer>" in k("explain", f"--api-version={k.api_version}", "controllerrevisions.revision")
    assert re.search(r"^ +ownerReferences\s+<\[\]", k("explain", f"--api-version={k.api_version}", "controllerrevisions", "--recursive"), re.MULTILINE)


def test_wrong_fields_are_told_before_or_by_the_server(k):
    wrong = json.dumps({**json.loads(k.manifest()), "revison": 1})
    done = k.try_to("create", "-f", "-", input=wrong)
    assert done.returncode == 1
    assert re.search(r'unknown field "(.*\.)?revison"', done.stderr)


def test_version_says_what_serves(any_version):
    assert "annals" in any_version("version", "-o", "json")


# ---- namespaces ----


def test_namespace_is_made_used_and_marked_for_deletion(any_version):
    """A revision that something holds keeps its namespace, too."""
    name = any_version.namespace + "-more"
    manifest = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    assert any_version("create", "-f", "-", input=manifest) == f"namespace/{name} created\n"
    assert re.search(rf"^{name} +Active ", any_version("get", "namespaces"), re.MULTILINE)
    held = json.loads(any_version.manifest())
    held["metadata"]["finalizers"] = ["example.com/hold"]
    any_version("create", "--namespace", name, "-f", "-", input=json.dumps(held))
    any_version("delete", "namespace", name, "--wait=false")
    assert re.search(rf"^{name} +Terminating ", any_version("get", "ns", name), re.MULTILINE)
    done = any_version.try_to("create", "--namespace", name, "-f", "-", input=any_version.manifest(name="web-2"))
    assert "because it is being terminated" in done.stderr
    any_version("patch", "--namespace", name, any_version.web, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_namespace_that_is_missing_is_told(any_version):
    done = any_version.try_to("create", "--namespace", "nowhere", "-f", "-", input=any_version.manifest())
    assert 'namespaces "nowhere" not found' in done.stderr
