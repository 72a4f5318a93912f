"""What a server behind a kube-apiserver asks it: the questions are those of sample-apiserver, and while nobody answers them, nobody is let in."""

import json
import pathlib
import re
import shutil
import tempfile

import pytest

import aggregated
import processes
from aggregated import NAMESPACES, RBAC

PLACE = "/apis/{version}/namespaces/{namespace}/{resource}"

# ---- the same questions ----

REQUESTS = [
    ("GET", "/one", ""),
    ("GET", "", ""),
    ("GET", "", "labelSelector=a%3Db,c%20in%20(y,x),d,!e,f!%3Dg"),
    ("GET", "", "labelSelector=a%3E1"),
    ("GET", "", "labelSelector=a%3E1,b"),
    ("GET", "", "labelSelector=%3D%3D"),
    ("GET", "", "fieldSelector=metadata.name%3Done"),
    ("GET", "", "fieldSelector=metadata.name!%3Done"),
    ("GET", "", "fieldSelector=metadata.namespace%3Dx,metadata.name%3D%3Done&labelSelector=z%3D"),
    ("GET", "", "fieldSelector=nonsense"),
    ("GET", "", "watch=1&labelSelector=a"),
    ("GET", "", "watch=1&fieldSelector=metadata.name%3Dtwo"),
    ("DELETE", "/one", ""),
    ("DELETE", "", ""),
    ("DELETE", "", "labelSelector=a&fieldSelector=metadata.name%3Dtwo"),
    ("POST", "", ""),
    ("PUT", "/one", ""),
    ("PATCH", "/one", ""),
    ("GET", "/one/status", ""),
    ("GET", "/one/scale", "labelSelector=a"),
]
PATHS = ["/metrics", "/apis/", "/openapi/v2", "/version", "/nowhere/at/all?labelSelector=a"]


def questions(cluster, program, user):
    """The specs of the reviews that a server has asked kube-apiserver for, about a user."""
    found = []
    for event in aggregated.whole_lines(cluster.audit_log, '"subjectaccessreviews"', f":{program.name}-system:"):
        spec = event.get("requestObject", {}).get("spec", {})
        if event["stage"] == "ResponseComplete" and spec.get("user") == user:
            found.append(spec)
    return found


def ask_all(behind, client):
    """As somebody who may do nothing with objects: each request is one question."""
    kind = behind.kind
    place = PLACE.format(version=kind.api_version, namespace="default", resource=kind.resource)
    for method, name, query in REQUESTS:
        body = None if method in ("GET", "DELETE") else "{}"
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
        answer = client.request(method, f"{place}{name}?{query}", body, headers)
        assert answer.status == 403, (method, name, query, answer)
    for path in PATHS:
        client.get(path)  # the cluster's roles let everybody see some


def neutral(spec, kind):
    text = json.dumps(spec, sort_keys=True)
    return text.replace(kind.resource, "RESOURCE").replace(kind.group, "GROUP").replace(f'"version": "{kind.versions[0]}"', '"version": "VERSION"')


def asked_for(cluster, behind, user, client):
    """Each question once: which ones are alike enough to be answered from memory is everybody's own business."""
    ask_all(behind, client)
    last = PATHS[-1].partition("?")[0]
    processes.retry_until(lambda: any(last in str(spec) for spec in questions(cluster, behind.program, user)), f"the review of {last} in the log")
    return list(dict.fromkeys(neutral(spec, behind.kind) for spec in questions(cluster, behind.program, user)))


def straight_with_certificate(cluster, behind):
    return behind.client(*cluster.user("nobody-at-all", "devs", "ops"))


def straight_with_token(cluster, behind):
    if not hasattr(cluster, "questioner"):
        cluster.make(f"{NAMESPACES}/default/serviceaccounts", {"metadata": {"name": "questioner"}})
        cluster.questioner = cluster.token("default", "questioner")
    return processes.Client(behind.replicas[0].url, cluster.certificates.ca, token=cluster.questioner)


@pytest.mark.parametrize("user, connect", [("nobody-at-all", straight_with_certificate),
                                           ("system:serviceaccount:default:questioner", straight_with_token)], ids=["certificate", "token"])
def test_review__asks_what_sample_apiserver_asks(cluster, user, connect):
    if aggregated.SAMPLE.name not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    theirs, ours = (asked_for(cluster, cluster.behind[name], user, connect(cluster, cluster.behind[name]))
                    for name in (aggregated.SAMPLE.name, aggregated.ANNALS.name))
    assert len(theirs) > len(REQUESTS) // 2 and ours == theirs


# ---- while nobody answers ----

def remembering(ttl):
    """Flags of an annals that goes for so long by what it has been answered."""
    return (f"--authorization-webhook-cache-authorized-ttl={ttl}", f"--authorization-webhook-cache-unauthorized-ttl={ttl}",
            f"--authentication-token-webhook-cache-ttl={ttl}")


@pytest.fixture
def fragile(certificates):
    """A cluster whose kube-apiserver may be stopped, and an annals that soon forgets."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    made = aggregated.Cluster(path, certificates, aggregated.ANNALS, controllers=False, flags=remembering("1s"))
    try:
        yield made
        assert not [trouble for process in made.behind["annals"].everything for trouble in process.troubles()]
    finally:
        made.stop()
        shutil.rmtree(path, ignore_errors=True)


def allow(cluster, *subjects):
    rules = [{"apiGroups": ["annals.dev"], "resources": ["controllerrevisions"], "verbs": ["get", "list", "create"]}]
    cluster.make(f"{RBAC}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
    cluster.bind("reader", ("ClusterRole", "reader"), *subjects)
    for user in ("ann", "system:serviceaccount:default:robot"):
        cluster.wait_allowed(user, verb="create", group="annals.dev", resource="controllerrevisions", namespace="default")


def test_review__nobody_is_let_in_while_the_cluster_is_away(fragile):
    behind, kind = fragile.behind["annals"], aggregated.ANNALS.kind
    fragile.make(f"{NAMESPACES}/default/serviceaccounts", {"metadata": {"name": "robot"}})
    allow(fragile, {"kind": "User", "name": "ann"}, {"kind": "ServiceAccount", "name": "robot", "namespace": "default"})
    behind.flags = remembering("1h")
    behind.replicas.append(None)
    behind.start_replica(1)
    token, certificate = fragile.token("default", "robot"), fragile.user("ann")
    (ann, robot), remembered = ((processes.Client(replica.url, fragile.certificates.ca, *certificate), processes.Client(replica.url, fragile.certificates.ca, token=token))
                                for replica in behind.replicas)
    boss = behind.replicas[0]
    place = kind.path("default")
    assert [client.get(place).status for client in (ann, robot, *remembered)] == [200] * 4

    fragile.kube.kill()
    assert [client.get(place).status for client in remembered] == [200] * 2  # what was decided counts for its time
    processes.retry_until(lambda: ann.get(place).status == 500, "what was decided is forgotten", interval=0.2)
    refused = ann.get(place)
    assert refused.status == 500
    assert re.match(rf'Internal Server Error: "{place}": Post "https://127.0.0.1:\d+/apis/authorization.k8s.io/v1/subjectaccessreviews\?timeout=10s": ',
                    refused.text), refused.text
    processes.retry_until(lambda: robot.get(place).status == 401, "whom the token names is forgotten", interval=0.2)
    assert boss.get(place).status == 200  # system:masters asks nobody
    assert [boss.get(path).status for path in ("/healthz", "/livez")] == [200, 200]

    fragile.start_kube()
    assert (ann.get(place).status, robot.get(place).status) == (200, 200)
    assert ann.post(place, kind.body("new")).status == 201


def test_namespaces__are_followed_again_when_the_cluster_is_back(fragile):
    behind, kind = fragile.behind["annals"], aggregated.ANNALS.kind
    boss = behind.replicas[0]
    fragile.make(NAMESPACES, {"metadata": {"name": "going", "finalizers": ["example.com/hold"]}})
    assert boss.post(kind.path("going"), kind.body("before")).status == 201

    def n_asked(name):
        return len(aggregated.whole_lines(fragile.audit_log, '"verb":"get"', ":annals-system:annals", f"{NAMESPACES}/{name}"))

    def is_followed():
        before = n_asked("going")
        assert boss.post(kind.path("going") + "?dryRun=All", kind.body("x")).status == 201
        return n_asked("going") == before

    processes.retry_until(is_followed, "it has heard of the namespace, and need not ask")
    fragile.kube.kill()
    assert boss.post(kind.path("going"), kind.body("meanwhile")).status == 201
    unknown = boss.post(kind.path("elsewhere"), kind.body("x"))
    assert unknown.status == 500, unknown

    fragile.start_kube()
    assert boss.post(kind.path("elsewhere"), kind.body("x")).status == 404
    assert n_asked("elsewhere")
    assert fragile.kube.delete(f"{NAMESPACES}/going").status == 200
    numbers = iter(range(10000))
    answers = []

    def is_refused():
        answers.append(boss.post(kind.path("going"), kind.body(f"after-{next(numbers)}")))
        return answers[-1].status == 403

    processes.retry_until(is_refused, "nothing is made any more", interval=0.1)
    assert "because it is being terminated" in answers[-1].json["message"]
