"""Who may do what behind a kube-apiserver, and as whom: it is the cluster's users and roles that count, whether a request comes through
kube-apiserver or straight to the port of what is behind it. kube-apiserver's answers about a kind of its own are the measure of words."""

import json
import uuid

import pytest

import processes
from aggregated import KUBES_OWN, NAMESPACES, RBAC, audited


class Place:
    """A namespace with an object `one` of what is behind the cluster, and a user without any rights."""

    def __init__(self, cluster, behind):
        self.cluster, self.behind, self.kind = cluster, behind, behind.kind
        self.namespace = cluster.make_namespace()
        self.user = f"user-of-{self.namespace}"
        self.make("one")

    def path(self, name="", kind=None):
        return (kind or self.kind).path(self.namespace, name)

    def make(self, name, **metadata):
        return self.cluster.make(self.path(), self.kind.body(name, **metadata))

    def ways(self, *groups):
        """As that user: through kube-apiserver, and straight."""
        return self.cluster.client(self.user, *groups), self.behind.client(*self.cluster.user(self.user, *groups))

    def rule(self, *verbs, **more):
        return {"apiGroups": [self.kind.group], "resources": [self.kind.resource], "verbs": verbs, **more}

    def grant(self, *rules, user=None, cluster_wide=False):
        """Returns when kube-apiserver goes by it."""
        role, user = f"role-{uuid.uuid4()}", user or self.user
        path = f"{RBAC}/clusterroles" if cluster_wide else f"{RBAC}/namespaces/{self.namespace}/roles"
        self.cluster.make(path, {"metadata": {"name": role}, "rules": rules})
        self.cluster.bind(role, ("ClusterRole" if cluster_wide else "Role", role), {"kind": "User", "name": user},
                          namespace=None if cluster_wide else self.namespace)
        rule = rules[-1]
        wanted = {"verb": rule["verbs"][-1], "group": rule["apiGroups"][0], "resource": rule["resources"][-1].partition("/")[0],
                  "subresource": rule["resources"][-1].partition("/")[2], "name": rule.get("resourceNames", [""])[0],
                  "namespace": "" if cluster_wide else self.namespace}
        self.cluster.wait_allowed(user, **wanted)


@pytest.fixture
def place(cluster, behind):
    return Place(cluster, behind)


def plain(answer, kind):
    """The body of an answer without what names the group."""
    return json.loads(answer.text.replace(kind.kind, "KIND").replace(kind.resource, "RESOURCE").replace(kind.group, "GROUP"))


# ---- roles ----


def test_rbac__denies_in_kubes_words(place):
    for way in place.ways("devs"):
        for method, name, body in (("GET", "", None), ("GET", "one", None), ("DELETE", "one", None), ("DELETE", "", None), ("POST", "", {}), ("PUT", "one", {})):
            ours = way.request(method, place.path(name), body)
            kubes = place.ways("devs")[0].request(method, place.path(name, KUBES_OWN), body)
            assert (ours.status, plain(ours, place.kind)) == (403, plain(kubes, KUBES_OWN))


def test_rbac__denies_in_kubes_words_where_a_role_is_missing(place):
    place.cluster.bind("dangling", ("Role", "not-there"), {"kind": "User", "name": place.user}, namespace=place.namespace)
    through, straight = place.ways()
    processes.retry_until(lambda: "not-there" in through.get(place.path("one", KUBES_OWN)).text, "the binding")
    kubes = plain(through.get(place.path("one", KUBES_OWN)), KUBES_OWN)
    assert plain(through.get(place.path("one")), place.kind) == plain(straight.get(place.path("one")), place.kind) == kubes


def test_rbac__allows_what_a_role_says(place):
    place.grant(place.rule("get", "list", "watch", "create"))
    for number, way in enumerate(place.ways()):
        assert way.get(place.path("one")).status == way.get(place.path()).status == 200
        assert way.post(place.path(), place.kind.body(f"new-{number}")).status == 201
        with way.watch(place.path() + "?watch=1&timeoutSeconds=1") as watch:
            assert watch.status == 200
        elsewhere = place.kind.path("default")
        refused = [way.delete(place.path("one")), way.delete(place.path()), way.patch(place.path("one"), {}), way.get(elsewhere)]
        assert [answer.status for answer in refused] == [403] * 4


def test_rbac__allows_in_all_namespaces_by_a_cluster_role(place):
    place.grant(place.rule("list"), cluster_wide=True)
    for way in place.ways():
        everywhere = way.get(f"/apis/{place.kind.api_version}/{place.kind.resource}")
        assert place.namespace in {item["metadata"]["namespace"] for item in everywhere.json["items"]}
        assert way.get(place.path("one")).status == 403


def test_rbac__allows_by_name(place):
    place.make("two")
    place.grant(place.rule("get", "patch", "list", "delete", resourceNames=["one"]))
    for way in place.ways():
        assert [way.get(place.path(name)).status for name in ("one", "two")] == [200, 403]
        assert [way.patch(place.path(name), {"metadata": {"labels": {"a": "b"}}}).status for name in ("one", "two")] == [200, 403]
        assert [way.get(f"{place.path()}?fieldSelector=metadata.name%3D{name}").status for name in ("one", "two")] == [200, 403]
        assert way.get(place.path()).status == 403


def test_rbac__deletion_of_a_collection_is_a_right_of_its_own(place):
    place.grant(place.rule("deletecollection"))
    for way in place.ways():
        assert way.delete(place.path("one")).status == 403
        assert way.delete(place.path() + "?labelSelector=none").status == 200
    assert place.cluster.kube.get(place.path("one")).status == 200


def test_rbac__apply_that_would_create_needs_the_right_to(place):
    place.grant(place.rule("get", "patch"))
    for way in place.ways():
        for name, status in (("one", 200), ("new", 403)):
            body = json.dumps({**place.kind.body(name), **({} if name == "new" else {"metadata": {"name": name, "labels": {"a": "b"}}})})
            answer = way.patch(place.path(name) + "?fieldManager=test&force=true", body, "application/apply-patch+yaml")
            assert answer.status == status, answer
        assert "cannot create resource" in answer.json["message"]


def test_rbac__can_i(place):
    place.grant(place.rule("get", "delete"))
    resource = f"{place.kind.resource}.{place.kind.group}"

    def can(verb, namespace=place.namespace):
        return place.cluster.kubectl("auth", "can-i", verb, resource, "--namespace", namespace, user=(place.user,)).stdout.strip()

    assert (can("get"), can("delete"), can("create"), can("get", "default")) == ("yes", "yes", "no", "no")
    assert resource in place.cluster.kubectl("auth", "can-i", "--list", "--namespace", place.namespace, user=(place.user,)).stdout
    refused = place.cluster.kubectl("create", "--namespace", place.namespace, "-f", "-", user=(place.user,), input=json.dumps(place.kind.body("x")))
    assert refused.returncode == 1 and f'User "{place.user}" cannot create resource' in refused.stderr


# ---- who is asking, as audit tells it ----


class Asked:
    """What the logs of kube-apiserver and of what is behind it say of a request, if it got there."""

    def __init__(self, place, way, path, **headers):
        audit_id = str(uuid.uuid4())
        self.answer = way.get(path, headers={**headers, "Audit-ID": audit_id})
        self.audit_id = audit_id
        self.logs = {"kube": place.cluster.audit_log, "behind": place.behind.replicas[0].audit_log}

    def event(self, where):
        return audited(self.logs[where], f'"auditID":"{self.audit_id}"')


def test_audit__shows_the_user_behind_the_proxy(place):
    place.grant(place.rule("get"))
    through, straight = place.ways("devs", "ops")
    asked = Asked(place, through, place.path("one"))
    assert asked.answer.status == 200
    user = {"username": place.user, "groups": ["devs", "ops", "system:authenticated"]}
    known = asked.event("behind")["user"]
    assert {name: known[name] for name in user} == user
    assert known == asked.event("kube")["user"] == Asked(place, straight, place.path("one")).event("behind")["user"]


def test_audit__shows_whom_kubectl_impersonates(place):
    user = f"impersonated-in-{place.namespace}"
    got = place.cluster.kubectl("get", f"{place.kind.resource}.{place.kind.group}", "one", "--namespace", place.namespace, f"--as={user}",
                                "--as-group=system:masters", "--as-group=devs", "--as-uid=uid-1", "--as-user-extra=example.com/why=because",
                                "-o", "name")
    assert got.stdout == f"{place.kind.kind.lower()}.{place.kind.group}/one\n", got

    words = f'"{user}"', f"/{place.kind.resource}/one"
    event = audited(place.behind.replicas[0].audit_log, *words)
    assert event["user"] == {"username": user, "uid": "uid-1", "groups": ["system:masters", "devs", "system:authenticated"],
                             "extra": {"example.com/why": ["because"]}}
    assert "impersonatedUser" not in event
    kubes = audited(place.cluster.audit_log, *words)
    assert (kubes["user"]["username"], kubes["impersonatedUser"], kubes["auditID"]) == ("admin", event["user"], event["auditID"])


IMPERSONATE = {"Impersonate-User": "dave", "Impersonate-Group": "dave-friends", "Impersonate-Uid": "dave-uid", "Impersonate-Extra-Why": "because"}


def test_impersonation__straight_needs_the_right(place):
    straight, kubes = place.ways()[1], place.ways()[0].get(place.path("one", KUBES_OWN), headers=IMPERSONATE)
    answer = straight.get(place.path("one"), headers=IMPERSONATE)
    assert answer.status == kubes.status == 403
    assert plain(answer, place.kind) == plain(kubes, KUBES_OWN)


def test_impersonation__straight(place):
    boss = place.user
    place.grant({"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/why", "uids"], "verbs": ["impersonate"]},
                {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}, user=boss, cluster_wide=True)
    asked = Asked(place, place.ways()[1], place.path("one"), **IMPERSONATE)
    assert asked.answer.status == 403 and 'User "dave" cannot get resource' in asked.answer.json["message"]
    place.grant(place.rule("list"), user="dave")
    asked = Asked(place, place.ways()[1], place.path(), **IMPERSONATE)
    assert asked.answer.status == 200
    event = asked.event("behind")
    assert event["user"]["username"] == boss
    assert event["impersonatedUser"] == {"username": "dave", "uid": "dave-uid", "groups": ["dave-friends", "system:authenticated"],
                                         "extra": {"why": ["because"]}}


# ---- tokens ----


@pytest.fixture
def robot(place):
    """Clients with tokens of a ServiceAccount that may get: (through kube-apiserver, straight), each with one that nobody has seen."""
    place.cluster.make(f"{NAMESPACES}/{place.namespace}/serviceaccounts", {"metadata": {"name": "robot"}})
    place.grant(place.rule("get"), user=f"system:serviceaccount:{place.namespace}:robot")
    return tuple(processes.Client(server.url, place.cluster.certificates.ca, token=place.cluster.token(place.namespace, "robot"))
                 for server in (place.cluster.kube, place.behind.replicas[0]))


def test_token__of_a_service_account(place, robot):
    through, straight = (Asked(place, way, place.path("one")) for way in robot)
    assert through.answer.status == straight.answer.status == 200
    user = straight.event("behind")["user"]
    assert user["username"] == f"system:serviceaccount:{place.namespace}:robot"
    assert user["groups"] == ["system:serviceaccounts", f"system:serviceaccounts:{place.namespace}", "system:authenticated"]
    assert "authentication.kubernetes.io/credential-id" in user["extra"]
    passed_on = through.event("behind")["user"]
    assert passed_on == through.event("kube")["user"]
    assert {**user, "extra": None} == {**passed_on, "extra": None}
    for way in robot:
        assert way.delete(place.path("one")).status == 403


def test_token__of_a_service_account_that_is_gone(place, robot):
    assert place.cluster.kube.delete(f"{NAMESPACES}/{place.namespace}/serviceaccounts/robot").status == 200
    for way in robot:
        processes.retry_until(lambda way=way: way.get(place.path("one")).status == 401, "the token is refused", interval=0.2)


def test_token__that_nobody_has_given_out(place):
    for server in (place.cluster.kube, place.behind.replicas[0]):
        way = processes.Client(server.url, place.cluster.certificates.ca, token="forged")
        answer = way.get(place.path("one"))
        assert (answer.status, answer.json["reason"]) == (401, "Unauthorized")


def test_anonymous__sees_health_and_nothing_else(place):
    way = processes.Client(place.behind.replicas[0].url, place.cluster.certificates.ca)
    assert [way.get(path).status for path in ("/readyz", "/livez", "/healthz")] == [200] * 3
    answer = way.get(place.path("one"))
    assert answer.status == 403 and 'User "system:anonymous" cannot get resource' in answer.json["message"]
    assert [way.get(path).status for path in ("/metrics", f"/apis/{place.kind.api_version}")] == [403] * 2
