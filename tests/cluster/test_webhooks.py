"""Admission webhooks of the cluster for kinds behind it. kube-apiserver, asked for a kind of its own under the same configuration, is the
measure: what the client gets, and what the webhook is asked."""

import concurrent.futures
import itertools
import json
import re

import pytest

import hooks as webhooks
import processes
from aggregated import ANNALS, KUBES_OWN, whole_lines

NUMBERS = itertools.count(1)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ANNALS_V1 = ANNALS.kind
BOTH = (KUBES_OWN, ANNALS_V1)


@pytest.fixture(scope="session")
def server(certificates):
    running = webhooks.Hooks(certificates)
    yield running
    running.close()


def compact(body):
    """As kube-apiserver's own kind must be written, or it cannot be patched."""
    return json.dumps(body, separators=(",", ":"))


class Scene:
    """A namespace with a configuration for kube-apiserver's own kind and ours."""

    def __init__(self, cluster, server):
        self.kube, self.server = cluster.kube, server
        self.namespace = cluster.make_namespace()
        self.name = f"scene-{next(NUMBERS)}"
        self.configurations = []

    def webhook(self, name="one.example.com", **more):
        """At a path of its own: "/SCENE/NAME"."""
        return self.server.webhook(name, self.path(name), BOTH, **more)

    def path(self, name="one.example.com"):
        return f"/{self.name}/{name}"

    def say(self, answer, name="one.example.com"):
        self.server.on(self.path(name), answer)

    def configure(self, phase, *hooks):
        name = f"{self.name}-{phase.lower()}"
        self.configurations.append(self.server.configure(self.kube, phase, name, self.namespace, BOTH, *hooks))

    def heard(self, kind, name="one.example.com"):
        return [heard for heard in self.server.heard(self.path(name)) if heard.review["request"]["requestResource"]["group"] == kind.group]

    def make(self, kind, name="a", query="", **metadata):
        return self.kube.post(kind.path(self.namespace) + query, compact(kind.body(name, **metadata)))

    def settle(self, answer):
        """Waits until the cache of who has answered has the object: a write begins with what is there, and where that is late webhooks are asked again."""
        metadata = answer.json["metadata"] if answer.status in (200, 201) else {}
        kind = next((kind for kind in BOTH if kind.api_version == answer.json.get("apiVersion")), None)
        if kind and metadata.get("name") and metadata.get("resourceVersion"):
            path = f"{kind.path(self.namespace)}/{metadata['name']}?resourceVersion={metadata['resourceVersion']}"
            assert self.kube.get(path).status in (200, 404)

    def close(self):
        for configuration in self.configurations:
            configuration.remove()


@pytest.fixture
def scene(cluster, server):
    if "annals" not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    made = Scene(cluster, server)
    yield made
    made.close()


def normal(value, kind):
    """As if it were kube-apiserver's own kind, and without what is new each time."""
    text = json.dumps(value, sort_keys=True).replace(kind.api_version, KUBES_OWN.api_version).replace(kind.group, KUBES_OWN.group)
    text = TIME.sub("TIME", UUID.sub("UUID", text))
    text = re.sub(r'"resourceVersion": "\d+"', '"resourceVersion": "N"', text)
    return json.loads(re.sub(r'"manager": "[^"]*"', '"manager": "M"', text))


def without_own(thing):
    """ours computes a digest, which it shows in annotations; managedFields name kube-apiserver's field manager for its own kind."""
    if isinstance(thing, dict):
        known = {name: without_own(value) for name, value in thing.items() if name not in ("managedFields", "annals.dev/digest")}
        return {name: value for name, value in known.items() if (name, value) != ("annotations", {})}
    return [without_own(item) for item in thing] if isinstance(thing, list) else thing


def shown(answer, kind):
    return answer.status, answer.headers.get_all("Warning"), normal(without_own(answer.json), kind)


def asked(heard, kind):
    return heard.query, normal(without_own(heard.review), kind)


def compare(scene, act, n=1, name="one.example.com"):
    """act(kind) -> Answer. The webhook hears of each n times. Returns kube-apiserver's answer."""
    answers = {kind.group: act(kind) for kind in BOTH}
    for answer in answers.values():
        scene.settle(answer)
    own, ours = (shown(answers[kind.group], kind) for kind in BOTH)
    assert ours == own
    own, ours = ([asked(heard, kind) for heard in scene.heard(kind, name)] for kind in BOTH)
    assert len(own) == n
    assert ours == own
    return answers[KUBES_OWN.group]


DENIALS = {
    "without_a_word": {},
    "with_a_message": {"status": {"message": "not today"}},
    "with_a_code": {"status": {"message": "not today", "code": 418}},
    "with_a_small_code": {"status": {"message": "not today", "code": 200}},
    "with_a_reason": {"status": {"reason": "BecauseISaySo"}},
    "with_details": {"status": {"message": "no", "code": 422, "reason": "Invalid",
                                "details": {"name": "n", "group": "g", "kind": "k", "retryAfterSeconds": 7,
                                            "causes": [{"reason": "R", "message": "m", "field": "f"}]}}},
    "with_warnings": {"status": {"message": "no"}, "warnings": ["take care", "take care", "and \"quote\""]},
}


@pytest.mark.parametrize("phase", ["Mutating", "Validating"])
@pytest.mark.parametrize("name", DENIALS)
def test_denials_are_shown_as_kube_apiserver_shows_them(scene, phase, name):
    scene.say(webhooks.deny(**DENIALS[name]))
    scene.configure(phase, scene.webhook())
    assert compare(scene, scene.make).status >= 400


GARBLED = {
    "nothing": webhooks.raw(200, ""),
    "no_response": webhooks.raw(200, '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'),
    "another_uid": lambda review: {**webhooks.answer_to(review, allowed=True), "response": {"uid": "other", "allowed": True}},
    "no_kind": lambda review: {"response": webhooks.answer_to(review, allowed=True)["response"]},
    "wrong_type": lambda review: webhooks.answer_to(review, allowed="yes"),
    "wrong_type_in_the_question": lambda review: {**webhooks.answer_to(review, allowed=True), "request": {"uid": 5}},
    "wrong_type_in_the_status": webhooks.deny(status={"metadata": []}),
    "patch_without_type": webhooks.allow(patch="W10="),
    "type_without_patch": webhooks.allow(patchType="JSONPatch"),
    "empty_type": webhooks.allow(patch="W10=", patchType=""),
    "not_found": webhooks.raw(404, "404 page not found\n", "text/plain"),
    "crash": webhooks.raw(500, "boom", "text/plain"),
    "crash_with_json": webhooks.raw(500, '{"a": 1}'),
    "unavailable": webhooks.raw(503, "", "text/plain"),
    "teapot": webhooks.raw(418, "short and stout", "text/plain"),
    "forbidden": webhooks.raw(403, "go away", "text/plain"),
    "status": webhooks.raw(403, json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "who are you?", "code": 403})),
}


@pytest.mark.parametrize("phase", ["Mutating", "Validating"])
@pytest.mark.parametrize("name", GARBLED)
def test_what_is_no_answer_fails(scene, phase, name):
    scene.say(GARBLED[name])
    scene.configure(phase, scene.webhook())
    assert compare(scene, scene.make).status == 500


def test_an_answer_may_have_the_question_in_it(scene):
    scene.say(lambda review: {**review, **webhooks.answer_to(review, allowed=True)})
    scene.configure("Validating", scene.webhook())
    assert compare(scene, scene.make).status == 201


def test_what_is_no_json_fails(scene):
    """kube-apiserver tries whether it is YAML, and says what is wrong with that."""
    scene.say(webhooks.raw(200, "<html>"))
    scene.configure("Validating", scene.webhook())
    for kind in BOTH:
        answer = scene.make(kind)
        assert answer.status == 500 and "failed to call webhook: couldn't get version/kind; json parse error: " in answer.json["message"]


@pytest.mark.parametrize("phase", ["Mutating", "Validating"])
def test_what_is_no_answer_is_ignored_where_the_policy_says_so(scene, phase):
    scene.say(GARBLED["crash"])
    scene.configure(phase, scene.webhook(failurePolicy="Ignore"))
    assert compare(scene, scene.make).status == 201


def test_denials_are_not_ignored(scene):
    scene.say(webhooks.deny())
    scene.configure("Validating", scene.webhook(failurePolicy="Ignore"))
    assert compare(scene, scene.make).status == 400


def test_a_webhook_that_is_silent_times_out(scene):
    scene.say(scene.server.never)
    scene.configure("Validating", scene.webhook(timeoutSeconds=1))
    assert "context deadline exceeded" in compare(scene, scene.make).json["message"]


def test_all_operations_are_shown_to_webhooks(scene):
    scene.configure("Validating", scene.webhook())
    one = lambda kind: f"{kind.path(scene.namespace)}/a"
    changed = {**ANNALS_V1.content, "revision": 3}
    steps = [lambda kind: scene.make(kind, labels={"a": "b"}),
             lambda kind: scene.kube.put(f"{one(kind)}?fieldValidation=Ignore", compact({**kind.body("a"), **changed})),
             lambda kind: scene.kube.patch(f"{one(kind)}?fieldManager=me", {"metadata": {"annotations": {"x": "y"}}}),
             lambda kind: scene.kube.delete(f"{one(kind)}?propagationPolicy=Background"),
             lambda kind: scene.make(kind, name="b"),
             lambda kind: scene.kube.delete(f"{kind.path(scene.namespace)}/b",
                                           {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})]
    for n, step in enumerate(steps, 1):
        assert compare(scene, step, n).status in (200, 201)


@pytest.mark.parametrize("effects", ["None", "NoneOnDryRun"])
def test_dry_runs_are_shown_to_webhooks_without_effects(scene, effects):
    scene.configure("Validating", scene.webhook(sideEffects=effects))
    answer = compare(scene, lambda kind: scene.make(kind, query="?dryRun=All"))
    assert answer.status == 201


def test_webhooks_are_asked_in_the_first_version_they_name_that_is_known(scene):
    scene.configure("Validating", scene.webhook(admissionReviewVersions=["v7", "v1beta1", "v1"]))
    assert compare(scene, scene.make).status == 201


def test_patches_change_what_is_stored(scene):
    scene.say(webhooks.patch({"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}},
                             {"op": "replace", "path": "/revision", "value": 9}))
    scene.configure("Mutating", scene.webhook())
    answer = compare(scene, scene.make)
    assert answer.json["metadata"]["labels"] == {"by": "webhook"} and answer.json["revision"] == 9
    for kind in BOTH:
        assert scene.kube.get(f"{kind.path(scene.namespace)}/a").json["revision"] == 9


PATCHES = {
    "that_says_nothing": (webhooks.patch(), 201),
    "that_is_no_list": (webhooks.allow(patchType="JSONPatch", patch="e30="), 500),
    "that_is_no_json": (webhooks.allow(patchType="JSONPatch", patch="W10t"), 500),
    "of_another_type": (webhooks.allow(patchType="MergePatch", patch="W3sib3AiOiJ0ZXN0In1d"), 500),
    "into_what_is_no_object": (webhooks.patch({"op": "replace", "path": "/revision", "value": "x"}), 500),
    "of_the_namespace": (webhooks.patch({"op": "replace", "path": "/metadata/namespace", "value": "default"}), 400),
    "of_the_kind": (webhooks.patch({"op": "replace", "path": "/kind", "value": "ConfigMap"}), 500),
    "of_the_generation": (webhooks.patch({"op": "add", "path": "/metadata/generation", "value": 7}), 201),
    "of_what_the_server_sets": (webhooks.patch({"op": "add", "path": "/metadata/creationTimestamp", "value": "2020-01-01T00:00:00Z"}), 201),
    "into_what_is_invalid": (webhooks.patch({"op": "replace", "path": "/revision", "value": -1}), 422),
}


@pytest.mark.parametrize("name", PATCHES)
def test_patches(scene, name):
    answer, status = PATCHES[name]
    scene.say(answer)
    scene.configure("Mutating", scene.webhook())
    assert compare(scene, scene.make).status == status


def test_a_patch_may_rename_what_is_new(scene):
    scene.say(webhooks.patch({"op": "replace", "path": "/metadata/name", "value": "other"}))
    scene.configure("Mutating", scene.webhook())
    assert compare(scene, scene.make).json["metadata"]["name"] == "other"
    for kind in BOTH:
        codes = [scene.kube.get(f"{kind.path(scene.namespace)}/{name}").status for name in ("a", "other")]
        assert codes == [404, 200]
        answer = scene.make(kind, name="b")
        assert answer.status == 409 and '"other" already exists' in answer.json["message"]


def test_a_patch_may_not_rename_what_is_there(scene):
    for kind in BOTH:
        scene.settle(scene.make(kind))
    scene.say(webhooks.patch({"op": "replace", "path": "/metadata/name", "value": "other"}))
    scene.configure("Mutating", scene.webhook())
    answer = compare(scene, lambda kind: scene.kube.patch(f"{kind.path(scene.namespace)}/a", {"metadata": {"labels": {"a": "b"}}}))
    assert answer.status == 422


def test_a_patch_that_cannot_be_applied_is_refused(scene):
    scene.say(webhooks.patch({"op": "remove", "path": "/metadata/nothing"}))
    scene.configure("Mutating", scene.webhook(failurePolicy="Ignore"))
    for kind in BOTH:
        answer = scene.make(kind)
        assert answer.status == 500 and answer.json["reason"] == "InternalError"


def test_each_webhook_sees_what_those_before_have_made(scene):
    scene.say(webhooks.patch({"op": "replace", "path": "/revision", "value": 5}), "a.example.com")
    scene.configure("Mutating", scene.webhook("a.example.com"), scene.webhook("b.example.com"))
    scene.configure("Validating", scene.webhook("c.example.com"))
    compare(scene, scene.make, name="b.example.com")
    for name in "b.example.com", "c.example.com":
        for kind in BOTH:
            assert scene.heard(kind, name)[0].review["request"]["object"]["revision"] == 5


def test_who_wants_to_is_asked_again_after_a_change(scene):
    scene.say(webhooks.patch({"op": "replace", "path": "/revision", "value": 5}), "b.example.com")
    scene.configure("Mutating", scene.webhook("a.example.com", reinvocationPolicy="IfNeeded"), scene.webhook("b.example.com"))
    compare(scene, scene.make, n=2, name="a.example.com")
    for kind in BOTH:
        assert len(scene.heard(kind, "b.example.com")) == 1


def test_objects_that_are_not_selected_are_not_shown(scene):
    scene.configure("Validating", scene.webhook(objectSelector={"matchExpressions": [{"key": "shy", "operator": "DoesNotExist"}]}))
    assert compare(scene, lambda kind: scene.make(kind, labels={"shy": "yes"}), n=0).status == 201
    assert compare(scene, lambda kind: scene.make(kind, name="b"), n=1).status == 201


def test_namespaces_that_are_not_selected_are_not_looked_at(scene):
    scene.configure("Validating", scene.webhook(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "another"}}))
    assert compare(scene, scene.make, n=0).status == 201


def test_an_audit_log_says_what_webhooks_did(scene, cluster):
    scene.say(webhooks.patch({"op": "replace", "path": "/revision", "value": 5}, auditAnnotations={"key": "value", "not good": "x"}))
    scene.configure("Mutating", scene.webhook())
    compare(scene, scene.make)
    logs = [cluster.audit_log, cluster.behind["annals"].replicas[0].audit_log]
    own, ours = (annotations(log, kind, scene) for log, kind in zip(logs, BOTH))
    assert ours["one.example.com/key"] == "value"
    # How long they took is only said of slow requests.
    expected = {name: value for name, value in own.items()
                if ("webhook" in name or "example.com" in name) and not name.startswith("apiserver.latency.k8s.io/")}
    assert {name: value for name, value in ours.items() if name in expected} == expected


def annotations(log, kind, scene):
    """Of the one creation there was. It is written when the client has its answer already."""
    def creations():
        return [event["annotations"] for event in whole_lines(log) if event["verb"] == "create" and event["stage"] == "ResponseComplete"
                and event["requestURI"] == kind.path(scene.namespace)]

    found = processes.retry_until(creations, f"a creation in {log}")
    assert len(found) == 1
    return found[0]


def old_name(heard):
    return heard.review["request"]["oldObject"]["metadata"]["name"]


def test_deleted_collections_are_shown_one_by_one(scene):
    for kind in BOTH:
        for name in "a", "b":
            assert scene.make(kind, name=name).status == 201
    scene.configure("Validating", scene.webhook())
    for kind in BOTH:
        assert scene.kube.delete(kind.path(scene.namespace)).status == 200
    own, ours = ({old_name(heard): asked(heard, kind) for heard in scene.heard(kind)} for kind in BOTH)
    assert set(own) == {"a", "b"} and ours == own


def test_a_denial_within_a_collection_is_shown(scene):
    for kind in BOTH:
        assert scene.make(kind).status == 201
    scene.say(webhooks.deny(status={"message": "mine", "code": 403}))
    scene.configure("Validating", scene.webhook(rules=[{**rule, "operations": ["DELETE"]} for rule in scene.webhook()["rules"]]))
    assert compare(scene, lambda kind: scene.kube.delete(kind.path(scene.namespace))).status == 403


def test_an_apply_is_what_it_does(scene):
    scene.configure("Validating", scene.webhook())
    for n, revision in enumerate((1, 2), 1):
        def apply(kind, revision=revision):
            return scene.kube.patch(f"{kind.path(scene.namespace)}/a?fieldManager=me&force=true", compact({**kind.body("a"), "revision": revision}),
                                            kind="application/apply-patch+yaml")
        assert compare(scene, apply, n).status in (200, 201)


def test_generated_names_are_not_known_yet(scene):
    scene.configure("Mutating", scene.webhook())
    for kind in BOTH:
        body = kind.body("")
        body["metadata"] = {"generateName": "gen-"}
        assert scene.kube.post(kind.path(scene.namespace), compact(body)).status == 201
    own, ours = ([asked(heard, kind) for heard in scene.heard(kind)] for kind in BOTH)
    assert len(own) == 1 and ours == own


def test_a_webhook_that_is_not_there_fails(scene):
    scene.say(webhooks.allow())
    scene.configure("Validating", scene.webhook(objectSelector={"matchLabels": {"ask": "it"}}, clientConfig={"url": "https://127.0.0.1:1/x"}))
    for kind in BOTH:
        answer = scene.make(kind, labels={"ask": "it"})
        assert answer.status == 500 and answer.json["reason"] == "InternalError"
        assert answer.json["message"].startswith('Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: '
                                                 'Post "https://127.0.0.1:1/x?timeout=10s": ')


def test_a_webhook_by_another_ca_is_not_believed(scene, cluster):
    client_config = scene.server.at(scene.path(), ca=cluster.front.ca)
    scene.configure("Validating", scene.webhook(clientConfig=client_config, objectSelector={"matchLabels": {"ask": "it"}}))
    for kind in BOTH:
        assert scene.make(kind, labels={"ask": "it"}).status == 500
    assert scene.heard(ANNALS_V1) == []


def test_a_ca_that_was_taken_back_is_not_believed_any_more(scene, cluster):
    """Although there is a connection that was made with it."""
    scene.configure("Validating", scene.webhook(objectSelector={"matchLabels": {"ask": "it"}}))
    configuration = scene.configurations[0]
    assert scene.make(ANNALS_V1, labels={"ask": "it"}).status == 201
    changed = configuration.client.get(f"{configuration.path}/{configuration.name}").json
    changed["webhooks"][1]["clientConfig"] = scene.server.at(scene.path(), ca=cluster.front.ca)
    assert configuration.client.put(f"{configuration.path}/{configuration.name}", changed).status == 200
    for kind in BOTH:
        try_it = lambda kind=kind: scene.make(kind, name="b", query="?dryRun=All", labels={"ask": "it"})
        processes.retry_until(lambda: try_it().status == 500, "the new CA counts")


def test_configurations_that_go_are_forgotten(scene):
    scene.say(webhooks.deny())
    scene.configure("Validating", scene.webhook())
    for kind in BOTH:
        assert scene.make(kind).status == 400
    scene.configurations.pop().remove()
    for kind in BOTH:
        processes.retry_until(lambda kind=kind: scene.make(kind).status == 201, "it is forgotten")


class Held:
    """A denial that is said only when something has become of the configuration."""

    def __init__(self, scene, kind, phase, fate):
        self.scene, self.kind, self.phase, self.fate, self.n_asked = scene, kind, phase, fate, 0
        sort = "Validating" if phase == "validating" else "Mutating"
        if phase == "reinvoked":
            scene.say(webhooks.patch({"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}), "b.example.com")
        others = [scene.webhook("b.example.com", timeoutSeconds=30)] if phase == "reinvoked" else []
        scene.say(self.answer)
        scene.configure(sort, scene.webhook(timeoutSeconds=30, reinvocationPolicy="IfNeeded") if sort == "Mutating"
                        else scene.webhook(timeoutSeconds=30), *others)

    def answer(self, review):
        if review["request"]["name"] == "probe":
            return webhooks.allow()(review)
        self.n_asked += 1
        if self.phase == "reinvoked" and self.n_asked == 1:
            return webhooks.allow()(review)
        self.befall()
        return webhooks.deny(status={"code": 418, "message": "held"})(review)

    def befall(self):
        configuration = self.scene.configurations[-1]
        if self.fate == "narrowed":
            configuration.narrow()
        else:
            configuration.remove()
            self.scene.configurations.pop()
        configuration.wait_forgotten(self.scene.namespace, self.kind)
        if self.fate == "made_again":
            sort = "Validating" if self.phase == "validating" else "Mutating"
            self.scene.configure(sort, self.scene.webhook("another.example.com"))


WRITES = {
    "create": lambda scene, kind: scene.make(kind, name="new"),
    "dry_run": lambda scene, kind: scene.make(kind, name="new", query="?dryRun=All"),
    "update": lambda scene, kind: scene.kube.put(f"{kind.path(scene.namespace)}/a", compact({**kind.body("a"), "revision": 3})),
    "patch": lambda scene, kind: scene.kube.patch(f"{kind.path(scene.namespace)}/a", {"revision": 3}),
    "delete": lambda scene, kind: scene.kube.delete(f"{kind.path(scene.namespace)}/a"),
}


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.group)
@pytest.mark.parametrize("phase, fate, write", [
    ("mutating", "deleted", "create"), ("mutating", "narrowed", "patch"), ("mutating", "made_again", "delete"),
    ("reinvoked", "deleted", "update"), ("reinvoked", "narrowed", "create"), ("reinvoked", "made_again", "patch"),
    ("validating", "deleted", "delete"), ("validating", "narrowed", "update"), ("validating", "made_again", "create"),
    ("validating", "deleted", "dry_run"),
])
def test_denial_counts_whatever_becomes_of_the_configuration(scene, kind, phase, fate, write):
    scene.settle(scene.make(kind))
    held = Held(scene, kind, phase, fate)
    stored = lambda: [(item["metadata"]["name"], item["metadata"]["resourceVersion"])
                      for item in scene.kube.get(kind.path(scene.namespace)).json["items"]]
    before = stored()
    answer = WRITES[write](scene, kind)
    assert (answer.status, answer.json["message"]) == (418, 'admission webhook "one.example.com" denied the request: held')
    assert stored() == before
    assert held.n_asked == (2 if phase == "reinvoked" else 1)


def test_another_version_of_the_same_object_is_shown_to_who_wants_that(scene):
    scene.say(webhooks.patch({"op": "replace", "path": "/revision", "value": 9}))
    scene.configure("Mutating", scene.webhook(matchPolicy="Equivalent"))
    body = {**ANNALS_V1.body("a"), "apiVersion": "annals.dev/v1beta1"}
    answer = scene.kube.post(ANNALS_V1.path(scene.namespace, version="v1beta1"), body)
    assert answer.status == 201 and answer.json["revision"] == 9 and answer.json["apiVersion"] == "annals.dev/v1beta1"
    request = scene.heard(ANNALS_V1)[0].review["request"]
    assert request["kind"]["version"] == request["resource"]["version"] == "v1" and request["object"]["apiVersion"] == "annals.dev/v1"
    assert request["requestKind"]["version"] == request["requestResource"]["version"] == "v1beta1"


def test_another_version_is_not_shown_to_who_wants_only_one(scene):
    scene.say(webhooks.deny())
    scene.configure("Validating", scene.webhook(matchPolicy="Exact"))
    body = {**ANNALS_V1.body("a"), "apiVersion": "annals.dev/v1beta1"}
    assert scene.kube.post(ANNALS_V1.path(scene.namespace, version="v1beta1"), body).status == 201
    assert scene.make(ANNALS_V1, name="b").status == 400


def samples(server, name):
    """Of a webhook; of durations only how many there were."""
    lines = server.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("apiserver_admission_webhook_") and f'name="{name}"' in line]
    return sorted(line for line in found if "_bucket{" not in line and "_sum{" not in line)


def test_metrics_count_as_kube_apiservers_do(scene, cluster):
    names = [f"{kind}.{scene.name}.example.com" for kind in ("denies", "fails", "passes")]
    for name, answer in zip(names, (webhooks.deny(status={"code": 418}), webhooks.raw(503, ""), webhooks.raw(500, ""))):
        scene.say(answer, name)
    scene.configure("Validating", *(scene.webhook(name, objectSelector={"matchLabels": {"ask": name.partition(".")[0]}},
                                                  failurePolicy="Ignore" if name.startswith("passes") else "Fail") for name in names))
    for kind in BOTH:
        assert [scene.make(kind, name=ask, labels={"ask": ask}).status for ask in ("denies", "fails", "passes")] == [418, 500, 201]
    for name in names:
        own = samples(cluster.kube, name)
        assert own and samples(cluster.behind["annals"].replicas[0], name) == own


def test_what_is_not_evaluated_is_told(scene, cluster):
    log = cluster.behind["annals"].replicas[0].stderr
    name, since = f"noted.{scene.name}.example.com", log.mark()
    conditions = [{"name": "never", "expression": "false"}]
    scene.configure("Validating", scene.webhook(name, matchConditions=conditions))
    assert log.wait(f'webhook .{name}. of configuration .* has matchConditions', since)
    assert scene.make(ANNALS_V1).status == 201
    assert len(scene.heard(ANNALS_V1, name)) == 1
    policy = {"metadata": {"name": scene.name}, "spec": {"matchConstraints": {"resourceRules": scene.webhook()["rules"]},
                                                         "validations": [{"expression": "true"}]}}
    policies = f"{webhooks.CONFIGURATIONS}/validatingadmissionpolicies"
    cluster.make(policies, policy)
    assert log.wait(f'ValidatingAdmissionPolicy .{scene.name}. means kinds that are served here', since)
    assert scene.kube.delete(f"{policies}/{scene.name}").status == 200


def test_many_writes_at_once_are_each_shown_once(scene):
    """Each with what the one before has made of it, and none with that of another."""
    names = [f"object-{n}" for n in range(100)]
    def label(review):
        return webhooks.patch({"op": "add", "path": "/metadata/labels", "value": {"is": review["request"]["name"]}})(review)

    scene.say(label, "a.example.com")
    scene.configure("Validating", *(scene.webhook(f"{letter}.example.com") for letter in "bcd"))
    scene.configure("Mutating", scene.webhook("a.example.com"))
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda name: scene.make(ANNALS_V1, name=name), names))
    assert [(answer.status, answer.json["metadata"]["labels"]["is"]) for answer in answers] == [(201, name) for name in names]
    for letter in "abcd":
        requests = [heard.review["request"] for heard in scene.heard(ANNALS_V1, f"{letter}.example.com")]
        assert sorted(request["name"] for request in requests) == sorted(names)
        assert letter == "a" or all(request["object"]["metadata"]["labels"]["is"] == request["name"] for request in requests)


def test_no_webhook_sees_credentials_of_ours(scene):
    scene.configure("Validating", scene.webhook())
    scene.make(ANNALS_V1)
    names = {name.lower() for name in scene.heard(ANNALS_V1)[0].headers}
    assert not names & {"authorization", "cookie", "x-remote-user"}
