"""References that annotations of CustomResourceDefinitions declare: what is named is there, and stays."""

import concurrent.futures
import json
import os
import random

import pytest

import processes
from processes import as_user, policy_rule, retry_until

REFERS_TO = "annals.dev/refers-to"
PATH = f"metadata.annotations[{REFERS_TO}]"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CORE = "/api/v1/namespaces"
LINKS = "/apis/example.com/v1/namespaces/{}/links"
CLUSTER_LINKS = "/apis/example.com/v1/clusterlinks"
TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"name": TEXT, "namespace": TEXT}}
SCHEMA = {"type": "object", "properties": {
    "spec": {"type": "object", "properties": {
        "config": TEXT, "link": TEXT, "thing": TEXT, "space": TEXT, "ref": ITEM, "all": {"type": "array", "items": ITEM},
        "preset": {"type": "string", "default": "x"}, "number": {"type": "integer"}, "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
    "status": {"type": "object", "properties": {"phase": TEXT}}}}
MERGE = {"Content-Type": "application/merge-patch+json"}


def definition(refers_to, plural="links", kind="Link", scope="Namespaced", schema=SCHEMA):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.example.com", "annotations": {REFERS_TO: refers_to} if refers_to is not None else {}},
            "spec": {"group": "example.com", "scope": scope, "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}}


def create(server, refers_to, *more, **named):
    answer = server.post(DEFINITIONS, definition(refers_to, *more, **named))
    assert answer.status == 201, answer.text


def links(ns="default"):
    return LINKS.format(ns)


def link(name, kind="Link", **spec):
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def configmaps(ns="default"):
    return f"{CORE}/{ns}/configmaps"


def make_configmap(server, name, ns="default", **metadata):
    answer = server.post(configmaps(ns), {"metadata": {"name": name, **metadata}, "data": {"a": "b"}})
    assert answer.status == 201, answer.text


def make_namespace(server, name):
    answer = server.post(CORE, {"metadata": {"name": name}})
    assert answer.status == 201, answer.text


def references(store):
    keys = store.ctl("get", "--prefix", "/annals/references/", "--keys-only").split()
    return sorted(key.removeprefix("/annals/references/") for key in keys)


def causes(answer):
    return [(cause["reason"], cause["field"], cause["message"]) for cause in answer.json["details"].get("causes", [])]


@pytest.fixture
def other(serve, server, store):
    return serve(store.endpoint)


def test_what_is_named_must_be_there_and_stays(server, store):
    create(server, "spec.config -> configmaps, policy Block")
    missing = server.post(links(), link("a", config="c"))
    assert (missing.status, missing.json["reason"]) == (409, "Conflict")
    assert causes(missing) == [("ReferenceMissing", "spec.config", 'configmaps "c" is not there')]
    assert "is not there" in missing.json["message"]
    make_configmap(server, "c")
    assert server.post(links(), link("a", config="c")).status == 201
    assert references(store) == ["core/configmaps/default/c/example.com/links/a"]

    refused = server.delete(f"{configmaps()}/c")
    assert (refused.status, refused.json["reason"]) == (409, "Conflict")
    assert refused.json["message"] == 'Operation cannot be fulfilled on configmaps "c": it is in use by a'
    assert causes(refused) == [("InUse", "metadata.name", 'links.example.com "a" refers to it')]
    assert server.delete(f"{configmaps()}/c?dryRun=All").status == 409
    assert server.delete(configmaps()).status == 409
    assert server.patch(f"{configmaps()}/c", {"data": {"a": "c"}}).status == 200
    assert server.delete(f"{links()}/a").status == 200
    assert references(store) == []
    assert server.delete(f"{configmaps()}/c").status == 200


def test_an_update_moves_the_reference(server, store):
    create(server, "spec.config -> configmaps")
    for name in "cd":
        make_configmap(server, name)
    server.post(links(), link("a", config="c"))
    missing = server.patch(f"{links()}/a", {"spec": {"config": "e"}})
    assert (missing.status, causes(missing)) == (409, [("ReferenceMissing", "spec.config", 'configmaps "e" is not there')])
    assert server.patch(f"{links()}/a?dryRun=All", {"spec": {"config": "d"}}).status == 200
    assert references(store) == ["core/configmaps/default/c/example.com/links/a"]
    assert server.patch(f"{links()}/a", {"spec": {"config": "d"}}).status == 200
    assert references(store) == ["core/configmaps/default/d/example.com/links/a"]
    assert server.delete(f"{configmaps()}/c").status == 200
    assert server.delete(f"{configmaps()}/d").status == 409
    assert server.patch(f"{links()}/a", {"spec": {"config": None}}).status == 200
    assert references(store) == []
    applied = server.patch(f"{links()}/b?fieldManager=me", link("b", config="nothing"), "application/apply-patch+yaml")
    assert applied.status == 409
    assert server.patch(f"{links()}/a/status", {"status": {"phase": "x"}, "spec": {"config": "nothing"}}).status == 200
    assert references(store) == []


def test_two_names_of_one_object_are_one_reference(server, store):
    create(server, "spec.config -> configmaps\nspec.ref.name -> configmaps, namespace spec.ref.namespace; spec.all[*].name -> configmaps")
    for name in "cd":
        make_configmap(server, name)
    server.post(links(), link("a", config="c", ref={"name": "c", "namespace": "default"}, all=[{"name": "c"}, {"name": "c"}]))
    entry = "core/configmaps/default/{}/example.com/links/a"
    assert references(store) == [entry.format("c")]
    assert server.patch(f"{links()}/a", {"spec": {"config": "d"}}).status == 200
    assert references(store) == [entry.format("c"), entry.format("d")]
    assert server.patch(f"{links()}/a", {"spec": {"config": None, "ref": None}}).status == 200
    assert references(store) == [entry.format("c")]
    assert server.patch(f"{links()}/a", {"spec": {"all": [{"name": "d"}, {}, {"name": ""}]}}).status == 200
    assert references(store) == [entry.format("d")]
    assert server.delete(f"{links()}/a").status == 200
    assert references(store) == []


def test_namespaces(server, store):
    create(server, "spec.ref.name -> configmaps, namespace spec.ref.namespace; spec.space -> namespaces, cluster-scoped")
    create(server, "spec.ref.name -> configmaps, namespace spec.ref.namespace; spec.link -> example.com/clusterlinks, cluster-scoped", "clusterlinks", "ClusterLink", "Cluster")
    make_namespace(server, "far")
    make_configmap(server, "c", "far")
    missing = server.post(links(), link("a", ref={"name": "c"}))
    assert causes(missing) == [("ReferenceMissing", "spec.ref.name", 'configmaps "c" is not there')]
    missing = server.post(links(), link("a", ref={"name": "d", "namespace": "far"}))
    assert causes(missing) == [("ReferenceMissing", "spec.ref.name", 'configmaps "far/d" is not there')]
    assert server.post(links(), link("a", ref={"name": "c", "namespace": "far"}, space="far")).status == 201
    make_namespace(server, "near")
    assert server.post(links("near"), link("a", ref={"name": "c", "namespace": "far"})).status == 201
    unnamed = server.post(CLUSTER_LINKS, link("x", "ClusterLink", ref={"name": "c"}))
    assert (unnamed.status, causes(unnamed)[0][1:]) == (422, ("spec.ref.namespace", 'Invalid value: "": must be the name of a namespace'))
    assert server.post(CLUSTER_LINKS, link("x", "ClusterLink", ref={"name": "c", "namespace": "far"})).status == 201
    assert server.post(CLUSTER_LINKS, link("y", "ClusterLink", link="x")).status == 201
    assert references(store) == [
        "core/configmaps/far/c/example.com/clusterlinks//x", "core/configmaps/far/c/example.com/links/default/a",
        "core/configmaps/far/c/example.com/links/near/a", "core/namespaces//far/example.com/links/default/a",
        "example.com/clusterlinks//x/example.com/clusterlinks/y"]

    refused = server.delete(f"{configmaps('far')}/c")
    assert refused.status == 409 and {message for _, _, message in causes(refused)} == {
        'links.example.com "default/a" refers to it', 'links.example.com "near/a" refers to it', 'clusterlinks.example.com "x" refers to it'}
    assert server.delete(f"{CLUSTER_LINKS}/x").status == 409
    refused = server.delete(f"{CORE}/far")
    assert (refused.status, causes(refused)) == (409, [("InUse", "metadata.name", 'links.example.com "default/a" refers to it')])
    assert server.get(f"{CORE}/far").json["status"]["phase"] == "Active"
    for path in (f"{CLUSTER_LINKS}/y", f"{CLUSTER_LINKS}/x", f"{links()}/a", f"{links('near')}/a", f"{configmaps('far')}/c", f"{CORE}/far"):
        assert server.delete(path).status == 200, path
    assert references(store) == []


def test_the_deletion_of_a_namespace_ends(up):
    """Its objects go in any order, so those that are named are tried again."""
    server = up()
    create(server, "spec.config -> configmaps; spec.link -> example.com/links")
    make_namespace(server, "shop")
    make_configmap(server, "c", "shop")
    server.post(links("shop"), link("a", config="c"))
    for i, to in enumerate("abcdef"):
        server.post(links("shop"), link("abcdefg"[i + 1], link=to))
    assert server.delete(f"{CORE}/shop").status == 200
    retry_until(lambda: server.get(f"{CORE}/shop").status == 404, "the end of the namespace", patience=processes.LONG_PATIENCE)


def test_an_object_with_a_finalizer_does_not_begin_to_go(server):
    create(server, "spec.config -> configmaps")
    make_configmap(server, "c", finalizers=["example.com/x"])
    server.post(links(), link("a", config="c"))
    assert server.delete(f"{configmaps()}/c").status == 409
    assert "deletionTimestamp" not in server.get(f"{configmaps()}/c").json["metadata"]
    server.delete(f"{links()}/a")
    assert server.delete(f"{configmaps()}/c").json["metadata"]["deletionTimestamp"]
    late = server.post(links(), link("b", config="c"))
    assert (late.status, causes(late)) == (409, [("ReferenceMissing", "spec.config", 'configmaps "c" is being deleted')])
    assert server.patch(f"{configmaps()}/c", {"metadata": {"finalizers": None}}).status == 200
    assert server.get(f"{configmaps()}/c").status == 404


def test_providers_and_revisions_can_be_named(server):
    create(server, "spec.thing -> annals.dev/providers; spec.config -> apps/controllerrevisions")
    for plural, body in (("providers", {"spec": {"data": {}}}), ("controllerrevisions", {"revision": 1, "data": {}})):
        assert server.post(f"/apis/annals.dev/v1/namespaces/default/{plural}", {"metadata": {"name": "p"}, **body}).status == 201
    assert server.post("/apis/annals.dev/v1/namespaces/default/dependents", {"metadata": {"name": "d"}, "spec": {"providers": [
        {"name": "p"}, {"kind": "ControllerRevision", "name": "p"}]}}).status == 201
    assert server.post(links(), link("a", thing="p", config="p")).status == 201
    provider = server.delete("/apis/annals.dev/v1/namespaces/default/providers/p")
    assert provider.status == 409 and [m for _, _, m in causes(provider)] == ['links.example.com "a" refers to it']
    assert server.delete("/apis/apps/v1/namespaces/default/controllerrevisions/p").status == 409
    server.delete(f"{links()}/a")
    # A Dependent alone keeps no revision that is not protected, and lets the deletion of a Provider begin.
    assert server.delete("/apis/apps/v1/namespaces/default/controllerrevisions/p").status == 200
    assert server.delete("/apis/annals.dev/v1/namespaces/default/providers/p").json["metadata"]["deletionTimestamp"]


def test_kinds_that_come_and_go(server):
    create(server, "spec.thing -> example.com/things")
    missing = server.post(links(), link("a", thing="t"))
    assert causes(missing) == [("ReferenceMissing", "spec.thing", 'things.example.com "t" is not there: no such resource is served')]
    create(server, None, "things", "Thing")
    things = "/apis/example.com/v1/namespaces/default/things"
    for name in "tu":
        assert server.post(things, link(name, "Thing")).status == 201
    assert server.post(links(), link("a", thing="t")).status == 201
    assert server.delete(f"{DEFINITIONS}/things.example.com").status == 200
    retry_until(lambda: server.get(f"{things}/u").status == 404, "the end of what is not in use")
    assert server.get(f"{things}/t").status == 200
    assert server.delete(f"{links()}/a").status == 200
    retry_until(lambda: server.get(f"{DEFINITIONS}/things.example.com").status == 404, "the end of the definition")


def test_the_scope_of_another_definition(server):
    create(server, "spec.thing -> example.com/things")
    create(server, None, "things", "Thing", "Cluster")
    assert server.post("/apis/example.com/v1/things", link("t", "Thing")).status == 201
    wrong = server.post(links(), link("a", thing="t"))
    assert causes(wrong) == [("ReferenceMissing", "spec.thing", 'things.example.com "t" is looked for in a namespace, but has none')]


@pytest.mark.parametrize("name, why", [
    ("a", "must not be the object itself"), ("x/y", "must be the name of an object"), ("..", "must be the name of an object"),
    ("a b", "must be the name of an object"), ("x" * 254, "must be the name of an object")])
def test_wrong_names(server, name, why):
    create(server, "spec.link -> example.com/links")
    refused = server.post(links(), link("a", link=name))
    assert (refused.status, causes(refused)) == (422, [("FieldValueInvalid", "spec.link", f"Invalid value: {json.dumps(name)}: {why}")])


def test_as_many_references_as_are_allowed_fit_into_one_transaction(server, store):
    create(server, "spec.all[*].name -> configmaps")
    names = [f"c{i}" for i in range(66)]
    for name in names:
        make_configmap(server, name)
    assert server.post(links(), link("a", all=[{"name": name} for name in names[:32]])).status == 201
    assert server.patch(f"{links()}/a", {"spec": {"all": [{"name": name} for name in names[32:64]]}}).status == 200
    assert len(references(store)) == 32
    refused = server.patch(f"{links()}/a", {"spec": {"all": [{"name": name} for name in names[:33]]}})
    assert (refused.status, causes(refused)) == (422, [("FieldValueForbidden", "spec", "Forbidden: must refer to at most 32 objects")])


@pytest.mark.parametrize("refers_to, why", [
    ("", "must name a field, or not be there"),
    ("spec.config", "must have the form PATH -> GROUP/RESOURCE, with options behind commas"),
    ("spec.config -> Config Maps", "must have the form PATH -> GROUP/RESOURCE, with options behind commas"),
    ("spec.config -> a/b/c", "must have the form PATH -> GROUP/RESOURCE, with options behind commas"),
    ("spec..config -> configmaps", "must be names with one dot between them, such as spec.data"),
    ("metadata.name -> configmaps", "must not begin with apiVersion, kind, metadata or status"),
    ("spec.config -> configmaps, policy Cascade", "must have no options but policy Block, and one of namespace PATH and cluster-scoped"),
    ("spec.config -> configmaps, namespace spec.ref.namespace", "must have the path of a namespace that differs from that of the name only in its last name"),
    ("spec.config -> configmaps, cluster-scoped", "must not say cluster-scoped of a resource with namespaces"),
    ("spec.space -> namespaces", "must say cluster-scoped of a resource without namespaces"),
    ("spec.config -> events", "must name a resource whose objects are stored, and do not expire"),
    ("spec.config -> authorization.k8s.io/subjectaccessreviews", "must name a resource whose objects are stored, and do not expire"),
    ("spec.missing -> configmaps", "must lead to a string in the schema of each version, through objects, lists and no defaults"),
    ("spec.number -> configmaps", "must lead to a string in the schema of each version, through objects, lists and no defaults"),
    ("spec.preset -> configmaps", "must lead to a string in the schema of each version, through objects, lists and no defaults"),
    ("spec.any.x -> configmaps", "must lead to a string in the schema of each version, through objects, lists and no defaults"),
    ("spec.all.name -> configmaps", "must lead to a string in the schema of each version, through objects, lists and no defaults"),
])
def test_annotations_are_checked(server, refers_to, why):
    answer = server.post(DEFINITIONS, definition(refers_to))
    assert answer.status == 422, answer.text
    assert [(c["field"], c["message"]) for c in answer.json["details"]["causes"]] == [(PATH, f"Invalid value: {json.dumps(refers_to)}: {why}")]


def test_it_excludes_conversion_by_a_webhook(server):
    what = definition("spec.config -> configmaps")
    what["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"}}}
    answer = server.post(DEFINITIONS, what)
    assert answer.status == 422 and [c["field"] for c in answer.json["details"]["causes"]] == [PATH], answer.text
    assert "cannot be declared where a webhook converts the objects" in answer.text


def test_objects_without_a_namespace_must_say_where(server):
    answer = server.post(DEFINITIONS, definition("spec.config -> example.com/things", "clusterlinks", "ClusterLink", "Cluster"))
    assert "must have the path of a namespace, or say cluster-scoped" in answer.text


def test_it_changes_only_while_there_are_no_objects(server, store):
    create(server, None)
    path = f"{DEFINITIONS}/links.example.com"
    declare = {"metadata": {"annotations": {REFERS_TO: "spec.config -> configmaps"}}}
    server.post(links(), link("a", config="nothing"))
    refused = server.patch(path, declare)
    assert (refused.status, causes(refused)) == (422, [("FieldValueForbidden", PATH, "Forbidden: may not be changed while there are objects of the kind")])
    assert server.patch(path, {"metadata": {"labels": {"a": "b"}}}).status == 200
    server.delete(f"{links()}/a")
    assert server.patch(path, declare).status == 200
    assert server.post(links(), link("a", config="nothing")).status == 409
    make_configmap(server, "c")
    assert server.post(links(), link("a", config="c")).status == 201
    assert server.patch(path, {"metadata": {"annotations": {REFERS_TO: None}}}).status == 422
    without = json.loads(json.dumps(SCHEMA))
    del without["properties"]["spec"]["properties"]["config"]
    assert server.patch(path, {"spec": definition(None, schema=without)["spec"]}).status == 422
    assert server.delete(f"{configmaps()}/c").status == 409


def test_a_change_and_a_creation_cannot_both_win(server, other):
    """Either the object is there first, and the annotation is refused, or it is created under the annotation."""
    outcomes = set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for i in range(20):
            plural = f"links{i}"
            create(server, None, plural, f"Link{i}")
            path = f"/apis/example.com/v1/namespaces/default/{plural}"
            annotation = {"metadata": {"annotations": {REFERS_TO: "spec.config -> configmaps"}}}
            declared = pool.submit(server.patch, f"{DEFINITIONS}/{plural}.example.com", annotation)
            made = pool.submit(other.post, path, link("a", f"Link{i}", config="nothing"))
            outcomes.add((declared.result().status, made.result().status))
    assert outcomes <= {(200, 409), (422, 201), (200, 429), (409, 201)}, outcomes


def test_who_refers_and_who_deletes_cannot_both_win(server, other):
    """At two replicas: at no time is an object gone that another one names."""
    create(server, "spec.config -> configmaps")
    rng = random.Random(7)
    seen = set()

    def work(replica, what, name, to):
        if what == "make":
            return what, replica.post(links(), link(name, config=to)).status
        if what == "move":
            return what, replica.patch(f"{links()}/{name}", {"spec": {"config": to}}).status
        if what == "let go":
            return what, replica.delete(f"{links()}/{name}").status
        if what == "delete":
            return what, replica.delete(f"{configmaps()}/{to}").status
        return what, replica.post(configmaps(), {"metadata": {"name": to}}).status

    for name in "cde":
        make_configmap(server, name)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(work, (server, other)[i % 2], rng.choice(["make", "make", "move", "let go", "delete", "delete", "create"]),
                             f"l{rng.randrange(4)}", rng.choice("cde")) for i in range(600)]
        for task in tasks:
            seen.add(task.result())
    for replica in (server, other):
        there = {o["metadata"]["name"] for o in replica.get(configmaps()).json["items"]}
        named = {o["spec"].get("config") for o in replica.get(links()).json["items"]}
        assert named <= there
    assert {("make", 201), ("make", 409), ("delete", 200), ("delete", 409), ("move", 200)} <= seen
    assert {status for _, status in seen} <= {200, 201, 404, 409, 429}


def test_computed_fields_select_who_refers(server):
    create(server, "spec.config -> configmaps; spec.ref.name -> configmaps, namespace spec.ref.namespace")
    for name in "cd":
        make_configmap(server, name)
    server.post(links(), link("a", config="c", ref={"name": "d"}))
    server.post(links(), link("b", config="d"))

    def found(selector):
        return [o["metadata"]["name"] for o in server.get(f"{links()}?fieldSelector={selector}").json["items"]]

    assert found("spec.config.c=true") == ["a"] and found("spec.config.d=true") == ["b"]
    assert found("spec.ref.name.default/d=true") == ["a"]


def test_who_may_refer(tmp_path):
    """The writer of a reference needs the right to get what it names. So nobody learns from it whether something exists."""
    rules = [policy_rule(user="ann", namespace="*", apiGroup="example.com", resource="links"),
             policy_rule(user="ben", namespace="*", apiGroup="example.com", resource="links"),
             policy_rule(user="ben", namespace="default", apiGroup="", resource="configmaps", readonly=True)]
    with processes.up_with_users(tmp_path, ("ann-token,ann,1", "ben-token,ben,2", "root-token,root,3,system:masters"), rules) as up:
        root, ann, ben = (as_user(up, name) for name in ("root", "ann", "ben"))
        create(root, "spec.ref.name -> configmaps, namespace spec.ref.namespace")
        make_namespace(root, "far")
        make_configmap(root, "c")
        make_configmap(root, "c", "far")
        for name in "cx":
            refused = ann.post(links(), link("a", ref={"name": name}))
            assert refused.status == 403 and f'cannot get resource "configmaps" in API group "" in the namespace "default"' in refused.json["message"]
            assert "which spec.ref.name needs" in refused.json["message"]
        assert ben.post(links(), link("b", ref={"name": "c"})).status == 201
        assert ben.patch(f"{links()}/b", {"spec": {"ref": {"namespace": "far"}}}).status == 403
        # Who changes something else needs no such right.
        assert ann.patch(f"{links()}/b", {"metadata": {"labels": {"x": "y"}}}).status == 200


def test_who_uses(up, folder, kubectl_binary):
    server = up()
    os.symlink(processes.BIN, folder / "kubectl-annals")

    def who_uses(*arguments):
        return server.kubectl("annals", "who-uses", *arguments, binary=kubectl_binary, PATH=f"{folder}:{os.environ['PATH']}")

    create(server, "spec.config -> configmaps; spec.ref.name -> configmaps, namespace spec.ref.namespace; spec.thing -> apps/controllerrevisions")
    create(server, "spec.config -> secrets", "others", "Other")
    make_namespace(server, "far")
    make_configmap(server, "c")
    free = who_uses("configmap/c")
    assert free.returncode == 0 and "a deletion would remove it at once" in free.stdout and "nothing uses it" in free.stdout, free
    server.post(links(), link("a", config="c"))
    server.post(links("far"), link("b", ref={"name": "c", "namespace": "default"}))
    used = who_uses("configmap/c")
    assert 'InUse: links.example.com "a" refers to it' in used.stdout and 'InUse: links.example.com "far/b" refers to it' in used.stdout, used
    assert [line.split("  ")[0] for line in used.stdout.splitlines()[-3:]] == ["USED BY", "links.example.com/a", "links.example.com/b -n far"]
    listed = json.loads(who_uses("configmap/c", "-o", "json").stdout)
    assert [o["metadata"]["name"] for o in listed["items"]] == ["a", "b"]
    assert server.post("/apis/apps/v1/namespaces/default/controllerrevisions", {"metadata": {"name": "r"}, "revision": 1, "data": {}}).status == 201
    server.post(links(), link("r", thing="r"))
    assert "links.example.com/r" in who_uses("controllerrevisions.apps/r").stdout
    assert who_uses("configmap/none").returncode == 1


def test_fsck_compares_the_index(server, store):
    create(server, "spec.config -> configmaps; spec.ref.name -> configmaps, namespace spec.ref.namespace")
    create(server, "spec.link -> example.com/links, namespace spec.space; spec.thing -> example.com/clusterlinks, cluster-scoped", "clusterlinks", "ClusterLink", "Cluster")
    make_namespace(server, "far")
    make_configmap(server, "c")
    server.post(links(), link("a", config="c"))
    server.post(links("far"), link("b", ref={"name": "c", "namespace": "default"}))
    server.post(CLUSTER_LINKS, link("x", "ClusterLink"))
    server.post(CLUSTER_LINKS, link("y", "ClusterLink", link=None, thing="x"))
    entries = references(store)
    assert entries == ["core/configmaps/default/c/example.com/links/a", "core/configmaps/default/c/example.com/links/far/b",
                       "example.com/clusterlinks//x/example.com/clusterlinks/y"]

    def findings(*arguments):
        done = processes.run([processes.BIN, "fsck", "-o", "json", "--etcd-servers", store.endpoint, *arguments])
        return [(f["check"], f["subject"], f["repaired"]) for f in json.loads(done.stdout)["findings"]]

    assert findings() == []
    for key in entries[:2]:
        store.ctl("del", f"/annals/references/{key}")
    store.ctl("put", "/annals/references/core/configmaps/default/c/example.com/links/far/none", "x")
    store.ctl("put", "/annals/references/example.com/clusterlinks//z/example.com/clusterlinks/y", "x")
    expected = {("references", "links.example.com default/a"), ("references", "links.example.com far/b"),
                ("references", "links.example.com far/none"), ("references", "clusterlinks.example.com y")}
    assert {f[:2] for f in findings()} == expected
    assert all(f[2] for f in findings("--repair"))
    assert findings() == [] and references(store) == entries


def test_import_keeps_them(server, store, etcd, serve, tmp_path):
    """What is named comes first, whatever the order in the file; the index comes with the objects."""
    create(server, "spec.link -> example.com/links; spec.config -> configmaps")
    make_configmap(server, "z")
    for name, to in (("c", None), ("b", "c"), ("a", "b")):
        assert server.post(links(), link(name, config="z", **({"link": to} if to else {}))).status == 201
    assert processes.run([processes.BIN, "export", "-o", tmp_path / "all", "--etcd-servers", store.endpoint]).returncode == 0
    copy = etcd()

    def imported(*flags):
        return processes.run([processes.BIN, "import", tmp_path / "all", "--etcd-servers", copy.endpoint, *flags])

    done = imported("--resources=namespaces,customresourcedefinitions,links.example.com")
    assert done.returncode == 1 and "it needs the configmaps z, which is neither in the file nor stored" in done.stderr, done
    assert references(copy) == []
    done = imported()
    assert done.returncode == 0, done
    assert references(copy) == references(store) and len(references(copy)) == 5
    assert "all well" in processes.run([processes.BIN, "fsck", "--etcd-servers", copy.endpoint]).stdout
    other = serve(copy.endpoint)
    assert other.delete(f"{configmaps()}/z").status == 409 == other.delete(f"{links()}/c").status
    assert other.delete(f"{links()}").status == 200 and other.delete(f"{configmaps()}/z").status == 200

    for o in ("a", "b", "c"):
        server.delete(f"{links()}/{o}")
    assert server.patch(f"{DEFINITIONS}/links.example.com", {"metadata": {"annotations": {REFERS_TO: None}}}).status == 200
    assert processes.run([processes.BIN, "export", "-o", tmp_path / "all", "--etcd-servers", store.endpoint]).returncode == 0
    refused = imported("--on-conflict=replace", "--resources=customresourcedefinitions")
    assert refused.returncode == 1 and f"it changes the annotation {REFERS_TO}" in refused.stderr, refused


def test_a_restart_knows_them(serve, server, store):
    create(server, "spec.config -> configmaps")
    make_configmap(server, "c")
    server.post(links(), link("a", config="c"))
    server.stop()
    again = serve(store.endpoint)
    assert again.delete(f"{configmaps()}/c").status == 409
    assert again.delete(f"{links()}/a").status == 200 and again.delete(f"{configmaps()}/c").status == 200
