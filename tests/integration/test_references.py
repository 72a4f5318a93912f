"""What a Dependent refers to stays: the finalizer, the index beside the objects, and races between those who refer and those who let go."""

import concurrent.futures
import random

import pytest

V1, BETA = "/apis/annals.dev/v1/namespaces/default", "/apis/annals.dev/v1beta1/namespaces/default"
PROVIDERS, DEPENDENTS, REVISIONS = f"{V1}/providers", f"{V1}/dependents", f"{V1}/controllerrevisions"
FINALIZER = "annals.dev/provider-protection"


def make_provider(server, name="p", **metadata):
    made = server.post(PROVIDERS, {"metadata": {"name": name, **metadata}, "spec": {"data": {"a": 1}}})
    assert made.status == 201, made
    return made.json


def dependent(name, *providers, **spec):
    references = [p if isinstance(p, dict) else {"name": p} for p in providers]
    return {"metadata": {"name": name}, "spec": {"providers": references, **spec}}


def let_go(server, path, **more):
    return server.patch(path, {"metadata": {"finalizers": None}}, **more)


def references(store):
    """Keys of the index, behind /annals/references/."""
    keys = store.ctl("get", "--prefix", "/annals/references/", "--keys-only").split()
    return sorted(key.removeprefix("/annals/references/") for key in keys)


def causes(answer):
    return [(cause["reason"], cause["field"], cause["message"]) for cause in answer.json["details"].get("causes", [])]


def test_provider_is_born_with_its_finalizer_at_both_versions(server):
    assert make_provider(server)["metadata"]["finalizers"] == [FINALIZER]
    made = server.post(f"{BETA}/providers", {"metadata": {"name": "q", "finalizers": ["example.com/mine"]}, "spec": {"data": {}}})
    assert made.json["metadata"]["finalizers"] == ["example.com/mine", FINALIZER]


def test_finalizer_stays_while_anything_refers_and_who_does_is_named(server):
    make_provider(server)
    for name in ("d1", "d2"):
        assert server.post(DEPENDENTS, dependent(name, "p")).status == 201
    refused = let_go(server, f"{PROVIDERS}/p")
    assert (refused.status, refused.json["reason"]) == (409, "Conflict")
    assert refused.json["message"] == 'Operation cannot be fulfilled on providers.annals.dev "p": it is in use by d1, d2'
    assert causes(refused) == [("InUse", "metadata.finalizers", f'dependents.annals.dev "{name}" refers to it') for name in ("d1", "d2")]
    assert server.delete(f"{DEPENDENTS}/d1").status == 200
    assert causes(let_go(server, f"{PROVIDERS}/p")) == causes(refused)[1:]
    assert server.delete(f"{DEPENDENTS}/d2").status == 200
    assert let_go(server, f"{PROVIDERS}/p").status == 200


def test_rehearsed_deletion_says_the_same(server):
    make_provider(server)
    assert server.delete(f"{PROVIDERS}/p?dryRun=All").status == 200
    server.post(DEPENDENTS, dependent("d", "p"))
    rehearsed = server.delete(f"{PROVIDERS}/p?dryRun=All")
    assert rehearsed.status == 409 and causes(rehearsed) == causes(let_go(server, f"{PROVIDERS}/p"))
    assert "deletionTimestamp" not in server.get(f"{PROVIDERS}/p").json["metadata"]


def test_put_is_refused_as_patch_is(server):
    make_provider(server)
    server.post(DEPENDENTS, dependent("d", "p"))
    body = server.get(f"{PROVIDERS}/p").json
    body["metadata"]["finalizers"] = []
    assert server.put(f"{PROVIDERS}/p", body).status == 409
    body["metadata"]["finalizers"] = [FINALIZER, "example.com/more"]
    assert server.put(f"{PROVIDERS}/p", body).status == 200


def test_provider_without_its_finalizer_does_not_go_while_it_is_in_use(server):
    make_provider(server)
    assert let_go(server, f"{PROVIDERS}/p").status == 200
    server.post(DEPENDENTS, dependent("d", "p"))
    refused = server.delete(f"{PROVIDERS}/p")
    assert refused.status == 409 and len(causes(refused)) == 1
    server.delete(f"{DEPENDENTS}/d")
    assert server.delete(f"{PROVIDERS}/p").status == 200 and server.get(f"{PROVIDERS}/p").status == 404


def test_deletion_begins_and_ends_when_nobody_refers(server):
    make_provider(server)
    server.post(DEPENDENTS, dependent("d", "p"))
    assert server.delete(f"{PROVIDERS}/p").json["metadata"]["deletionTimestamp"]
    assert let_go(server, f"{PROVIDERS}/p").status == 409
    server.delete(f"{DEPENDENTS}/d")
    assert let_go(server, f"{PROVIDERS}/p").status == 200
    assert server.get(f"{PROVIDERS}/p").status == 404


def test_index_is_written_with_the_object(server, store):
    make_provider(server)
    server.post(DEPENDENTS, dependent("d", "p", {"kind": "ControllerRevision", "name": "r"}))
    base = "annals.dev/{}/default/{}/annals.dev/dependents/d"
    assert references(store) == sorted([base.format("providers", "p"), base.format("controllerrevisions", "r")])
    server.patch(f"{DEPENDENTS}/d", {"metadata": {"labels": {"a": "b"}}})
    assert len(references(store)) == 2
    server.delete(f"{DEPENDENTS}/d")
    assert references(store) == []


def test_dry_run_leaves_no_reference(server, store):
    assert server.post(f"{DEPENDENTS}?dryRun=All", dependent("d", "p")).status == 201
    assert references(store) == []


def test_refuse_needs_all_to_be_there_and_to_stay(server):
    missing = server.post(DEPENDENTS, dependent("d", "p", whenMissing="Refuse"))
    assert missing.status == 409 and causes(missing) == [("ReferenceMissing", "spec.providers", 'providers.annals.dev "p" is not there')]
    make_provider(server, finalizers=["example.com/hold"])
    assert server.post(DEPENDENTS, dependent("d", "p", whenMissing="Refuse")).status == 201
    server.delete(f"{PROVIDERS}/p")
    going = server.post(DEPENDENTS, dependent("e", "p", whenMissing="Refuse"))
    assert going.status == 409 and causes(going)[0][2].endswith("is being deleted")
    assert server.post(DEPENDENTS, dependent("w", "p", "nowhere")).status == 201  # who waits may refer to anything


@pytest.mark.parametrize("change, field", [
    ({"providers": [{"name": "q"}]}, "spec.providers"), ({"providers": []}, "spec.providers"), ({"whenMissing": "Refuse"}, "spec.whenMissing")])
def test_references_never_change(server, change, field):
    server.post(DEPENDENTS, dependent("d", "p"))
    refused = server.patch(f"{DEPENDENTS}/d", {"spec": change})
    assert refused.status == 422 and field in [cause["field"] for cause in refused.json["details"]["causes"]]


@pytest.mark.parametrize("spec, expected", [
    ({}, [("FieldValueRequired", "spec.providers")]),
    ({"providers": [{"name": ""}]}, [("FieldValueRequired", "spec.providers[0].name")]),
    ({"providers": [{"name": "A_b"}]}, [("FieldValueInvalid", "spec.providers[0].name")]),
    ({"providers": [{"kind": "Pod", "name": "a"}]}, [("FieldValueNotSupported", "spec.providers[0].kind")]),
    ({"providers": [{"name": "a"}, {"name": "a"}]}, [("FieldValueDuplicate", "spec.providers[1]")]),
    ({"providers": [{"name": f"a{i}"} for i in range(33)]}, [("FieldValueForbidden", "spec.providers")]),
    ({"providers": [{"name": "a"}], "whenMissing": "Hope"}, [("FieldValueNotSupported", "spec.whenMissing")]),
])
def test_wrong_references_are_refused_by_field(server, spec, expected):
    refused = server.post(DEPENDENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert refused.status == 422
    assert [(cause["reason"], cause["field"]) for cause in refused.json["details"]["causes"]] == expected


def test_as_many_references_as_are_allowed_fit_into_one_transaction(server, store):
    names = [f"p{i}" for i in range(32)]
    for name in names:
        make_provider(server, name)
    assert server.post(DEPENDENTS, dependent("d", *names, whenMissing="Refuse")).status == 201
    assert len(references(store)) == 32
    assert server.delete(f"{DEPENDENTS}/d").status == 200
    assert references(store) == []


def test_computed_fields_select_who_refers(server):
    for name, providers in {"d1": ["p"], "d2": ["p", "q"], "d3": ["q"], "d4": [{"kind": "ControllerRevision", "name": "p"}]}.items():
        server.post(DEPENDENTS, dependent(name, *providers))

    def found(selector):
        answer = server.get(f"{DEPENDENTS}?fieldSelector={selector}")
        assert answer.status == 200, answer
        return [item["metadata"]["name"] for item in answer.json["items"]]

    assert found("spec.providers.p=true") == ["d1", "d2"]
    assert found("spec.providers.p=true,spec.providers.q=true") == ["d2"]
    assert found("spec.providers.p!=true") == ["d3", "d4"]
    assert found("spec.controllerRevisions.p=true") == ["d4"]
    assert found("spec.providers.nobody=true") == []
    assert server.get(f"{DEPENDENTS}?fieldSelector=spec.providers.=true").status == 400
    assert server.get(f"{DEPENDENTS}?fieldSelector=spec.other=true").status == 400


def test_table_counts_who_refers(server):
    make_provider(server)
    make_provider(server, "unused")
    for name in ("d1", "d2"):
        server.post(DEPENDENTS, dependent(name, "p", {"kind": "ControllerRevision", "name": "unused"}))
    table = {"headers": {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}}
    shown = server.get(PROVIDERS, **table).json
    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Dependents", "State", "Age"]
    assert [row["cells"][:2] for row in shown["rows"]] == [["p", 2], ["unused", 0]]
    server.delete(f"{DEPENDENTS}/d1")
    assert server.get(f"{PROVIDERS}/p", **table).json["rows"][0]["cells"][1] == 1


POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def liveness(server):
    """{name: what the column LIVE says}"""
    shown = server.get(REVISIONS, headers=TABLE).json
    at = [column["name"] for column in shown["columnDefinitions"]].index("Live")
    return {row["cells"][0]: row["cells"][at] for row in shown["rows"]}


def test_table_says_which_revisions_are_live(server):
    """By what pods say that they were made from, as StatefulSets and DaemonSets write it, and by Dependents."""
    for name, labels in (("by-name", {}), ("by-hash", {"controller-revision-hash": "h1"}), ("referred", {}), ("unused", {"controller-revision-hash": "h2"})):
        assert server.post(REVISIONS, {"metadata": {"name": name, "labels": labels}, "revision": 1, "data": {"a": name}}).status == 201
    everywhere = "/api/v1/namespaces/{}/pods"
    for number, (namespace, label) in enumerate((("default", "by-name"), ("default", "h1"), ("kube-public", "h2"))):
        made = server.post(everywhere.format(namespace), {"metadata": {"name": f"p{number}", "labels": {"controller-revision-hash": label}}, **POD})
        assert made.status == 201
    server.post(DEPENDENTS, dependent("d", {"kind": "ControllerRevision", "name": "referred"}))
    assert liveness(server) == {"by-name": "yes", "by-hash": "yes", "referred": "yes", "unused": "no"}
    assert server.delete(f"{everywhere.format('default')}/p0").status == 200
    assert server.delete(f"{DEPENDENTS}/d").status == 200
    assert liveness(server) == {"by-name": "no", "by-hash": "yes", "referred": "no", "unused": "no"}


def test_watch_by_computed_field(server):
    version = server.get(DEPENDENTS).json["metadata"]["resourceVersion"]
    server.post(DEPENDENTS, dependent("other", "q"))
    server.post(DEPENDENTS, dependent("d", "p"))
    server.delete(f"{DEPENDENTS}/d")
    with server.watch(f"{DEPENDENTS}?watch=1&fieldSelector=spec.providers.p=true&resourceVersion={version}") as watch:
        seen = [(event["type"], event["object"]["metadata"]["name"]) for event in (watch.next(), watch.next())]
    assert seen == [("ADDED", "d"), ("DELETED", "d")]


def test_old_version_shows_one_name_and_loses_nothing(server):
    both = [{"kind": "ControllerRevision", "name": "r"}, {"kind": "Provider", "name": "p"}, {"kind": "Provider", "name": "q"}]
    made = server.post(DEPENDENTS, dependent("d", *both))
    assert made.status == 201
    shown = server.get(f"{BETA}/dependents/d").json
    assert shown["spec"] == {"providerName": "p", "whenMissing": "Wait"}
    shown["metadata"]["labels"] = {"a": "b"}
    assert server.put(f"{BETA}/dependents/d", shown).status == 200
    assert server.get(f"{DEPENDENTS}/d").json["spec"]["providers"] == both
    refused = server.patch(f"{BETA}/dependents/d", {"spec": {"providerName": "x"}})
    assert refused.status == 422 and refused.json["details"]["causes"][0]["field"] == "spec.providerName"
    made = server.post(f"{BETA}/dependents", {"metadata": {"name": "e"}, "spec": {"providerName": "p"}})
    assert made.status == 201
    assert server.get(f"{DEPENDENTS}/e").json["spec"] == {"providers": [{"kind": "Provider", "name": "p"}], "whenMissing": "Wait"}
    nameless = server.post(f"{BETA}/dependents", {"metadata": {"name": "f"}, "spec": {}})
    assert nameless.status == 422 and nameless.json["details"]["causes"][0]["field"] == "spec.providerName"


def test_revision_is_protected_when_its_birth_says_so(server):
    def make(name, **labels):
        made = server.post(REVISIONS, {"metadata": {"name": name, "labels": labels}, "revision": 1, "data": {"a": name}})
        assert made.status == 201
        return made.json["metadata"].get("finalizers")

    assert make("plain") is None
    assert make("kept", **{"annals.dev/protect": "true"}) == [FINALIZER]
    server.patch(f"{REVISIONS}/plain", {"metadata": {"labels": {"annals.dev/protect": "true"}}})
    assert "finalizers" not in server.get(f"{REVISIONS}/plain").json["metadata"]
    for name in ("plain", "kept"):
        server.post(DEPENDENTS, dependent(f"of-{name}", {"kind": "ControllerRevision", "name": name}))
    assert server.delete(f"{REVISIONS}/plain").status == 200
    assert let_go(server, f"{REVISIONS}/kept").status == 409
    assert server.patch(f"{REVISIONS}/kept", {"revision": 2}).status == 200


def test_who_refers_and_who_lets_go_cannot_both_win(serve, store):
    """Two servers, whose caches are behind each other now and then: at no revision is there a Dependent of whenMissing=Refuse without its Provider."""
    servers = [serve(store.endpoint), serve(store.endpoint)]
    dice = random.Random(7)

    def race(i):
        name = f"p{i}"
        make_provider(servers[0], name)
        servers[0].delete(f"{PROVIDERS}/{name}") if i % 2 else None
        first, second = dice.sample(servers, 2)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = pool.submit(first.post, DEPENDENTS, dependent(f"d{i}", name, whenMissing="Refuse" if i % 3 else "Wait"))
            gone = pool.submit(let_go, second, f"{PROVIDERS}/{name}")
            made, gone = made.result(), gone.result()
        assert made.status in (201, 409) and gone.status in (200, 409), (made, gone)
        is_there = servers[0].get(f"{PROVIDERS}/{name}").status == 200
        if i % 3 and made.status == 201:
            assert is_there, "somebody needs what is gone"
        if i % 3 and i % 2 == 0:
            assert made.status == 201  # the Provider is there, with its finalizer or without
        if gone.status == 409:
            assert is_there and made.status == 201
        return made.status, gone.status

    outcomes = {race(i) for i in range(120)}
    assert len(outcomes) > 1  # both sides win sometimes
    expected = servers[0].get(DEPENDENTS).json["items"]
    assert len(references(store)) == len(expected)
