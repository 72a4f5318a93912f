"""ReplicationControllers, ReplicaSets, Deployments and DaemonSets: defaults, what is refused and in which order, updates, status, scale, ownership, tables."""

import deviations
from cases_statefulsets import LABELS, scale, selector, template
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch
from pods import FULL

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
APPS = "/apis/apps/v1/namespaces/{ns}/"
RCS, SETS, DEPLOYMENTS, DAEMONS = "/api/v1/namespaces/{ns}/replicationcontrollers", APPS + "replicasets", APPS + "deployments", APPS + "daemonsets"


def rc(name="q", **spec):
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": name}, "spec": {"selector": LABELS, "template": template(), **spec}}


def made(kind):
    return lambda name="q", **spec: {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
                                     "spec": {"selector": {"matchLabels": LABELS}, "template": template(), **spec}}


rs, deployment, daemon = made("ReplicaSet"), made("Deployment"), made("DaemonSet")
KINDS = {"rc": (RCS, rc), "rs": (SETS, rs), "deployment": (DEPLOYMENTS, deployment), "daemon": (DAEMONS, daemon)}


def table(path):
    return get(path, headers=TABLE, deviates=deviations.DAEMON_TABLE if path.startswith(DAEMONS) else deviations.COLUMN_TEXTS)


def rolling(**members):
    return {"type": "RollingUpdate", "rollingUpdate": members}


NUMBERS = (-1, 0, None, 7, "x", 2147483648)
SHARES = (0, -1, 1, "1", "0%", "50%", "101%", "x", "5 %", None, True, 1.5)
STRATEGIES = [
    {"type": "x"}, {"type": "x", "rollingUpdate": {"maxSurge": 2}}, {"type": "x", "rollingUpdate": {}}, {"type": ""}, {}, None, 5, {"type": "Recreate"}, {"type": "OnDelete"},
    {"type": "Recreate", "rollingUpdate": {}}, {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}, {"type": "OnDelete", "rollingUpdate": {}},
    {"type": "OnDelete", "rollingUpdate": {"maxSurge": "x"}}, {"type": 5}, {"rollingUpdate": 5}, {"rollingUpdate": {"maxSurge": 3}},
    *(rolling(maxUnavailable=share) for share in SHARES), *(rolling(maxSurge=share) for share in SHARES),
    *(rolling(maxUnavailable=a, maxSurge=b) for a in (0, 1, "0%", "x", "300%") for b in (0, 2, "0%", "-5%", "200%")),
]
SELECTORS = [
    None, {}, selector(a="c"), selector(a="b", x="y"), {"matchLabels": {"a b": "c"}}, {"matchLabels": {"a": "b c"}},
    selector({"key": "a", "operator": "In", "values": ["b"]}), selector({"key": "a", "operator": "In", "values": ["c"]}), selector({"key": "a", "operator": "In"}),
    selector({"key": "a", "operator": "Exists", "values": ["b"]}), selector({"key": "a", "operator": "x"}), selector({"key": "", "operator": "Exists"}), 5, {"matchLabels": 5}]
TEMPLATES = [
    {}, None, template(labels=None), template(labels={"a b": "c"}), template(labels={"a": "b", "x y": "z w"}), template(annotations={"x y": "z"}), template(containers=[]),
    template(restartPolicy="Never"), template(restartPolicy="x"), template(restartPolicy=""), template(activeDeadlineSeconds=5),
    template(activeDeadlineSeconds=0, restartPolicy="OnFailure"), template(hostname="A"), template(ephemeralContainers=[{"name": "e", "image": "i"}]),
    template(containers=[{"name": "c"}]), 5, {"metadata": 5}, {"spec": {"containers": 5}}]


def numbers(make, *names):
    return [make(**{name: n}) for name in names for n in NUMBERS]


def refused(make, body):
    return {
        "template": [make(template=t) for t in TEMPLATES] + [{**make(), "spec": {}}, {**make(), "spec": None}, {"metadata": {"name": "q"}}, {}],
        "names": [make(name) for name in ("A", "a.b", "a" * 63, "a" * 64, "a." + "b" * 64, "", "1", "-a")]
                 + [{**make(), "metadata": {"generateName": prefix}} for prefix in ("a-", "a" * 70)]
                 + [{**make(), "metadata": {"name": "q", "labels": {"a b": "c"}, "annotations": {"a b": "c"}}, "spec": {"minReadySeconds": -1}}],
        "versions": [{**make(), "apiVersion": version} for version in ("apps/v1beta1", "apps/v1beta2", "apps/v1", "v1", "", "extensions/v1beta1")]
                    + [{**make(), "kind": kind} for kind in ("Pod", "StatefulSet", "x", "")],
        "fields": [{**make(), "spec": {**make()["spec"], "templateGeneration": 5, "foo": 1}}, {**make(), "status": {"replicas": 5, "observedGeneration": 4}},
                   {**make(), "metadata": {"name": "q", "generation": 7}}],
        **body,
    }


REFUSED = {
    "rc": refused(rc, {
        "numbers": numbers(rc, "replicas", "minReadySeconds") + [rc(replicas=-1, minReadySeconds=-2)],
        "selector": [rc(selector=s) for s in (None, {}, {"a": "c"}, {"a": "b", "x": "y"}, {"a b": "c"}, {"a": "b c"}, 5, {"a": 5})]
                    + [{**rc(), "spec": {"template": t}} for t in (template(), template(labels=None), template(labels={"x": "y"}))] + [{**rc(), "spec": {"selector": LABELS}}]
                    + [{**rc(), "metadata": {"name": "q", "labels": {"own": "x"}}, "spec": {"template": template()}}],
        "all": [rc(replicas=-1, minReadySeconds=-1, selector={}, template=template(labels={"x y": "z"}, restartPolicy="Never", activeDeadlineSeconds=1))]}),
    "rs": refused(rs, {
        "numbers": numbers(rs, "replicas", "minReadySeconds") + [rs(replicas=-1, minReadySeconds=-2)],
        "selector": [rs(selector=s) for s in SELECTORS] + [{**rs(), "spec": {"selector": {"matchLabels": LABELS}}}],
        "all": [rs(replicas=-1, minReadySeconds=-1, selector={}, template=template(labels={"x y": "z"}, restartPolicy="Never", activeDeadlineSeconds=1))]}),
    "deployment": refused(deployment, {
        "numbers": numbers(deployment, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", "paused")
                   + [deployment(minReadySeconds=5, progressDeadlineSeconds=deadline) for deadline in (4, 5, 6)] + [deployment(paused=True), deployment(minReadySeconds=600)],
        "selector": [deployment(selector=s) for s in SELECTORS], "strategy": [deployment(strategy=s) for s in STRATEGIES],
        "rollback": [{**deployment(), "metadata": {"name": "q", "annotations": {"deprecated.deployment.rollback.to": to, **more}}}
                     for to in ("", "3", "+4", "007", "-0", "-1") for more in ({}, {"x": "y"})],
        "all": [deployment(replicas=-1, minReadySeconds=-1, revisionHistoryLimit=-1, progressDeadlineSeconds=-1, strategy={"type": "x"}, selector={},
                           template=template(labels={"x y": "z"}, restartPolicy="Never", activeDeadlineSeconds=1))]}),
    "daemon": refused(daemon, {
        "numbers": numbers(daemon, "minReadySeconds", "revisionHistoryLimit", "replicas"), "selector": [daemon(selector=s) for s in SELECTORS],
        "strategy": [daemon(updateStrategy=s) for s in STRATEGIES],
        "generation": [{**daemon(), "metadata": {"name": "q", "annotations": {"deprecated.daemonset.template.generation": n, **more}}}
                       for n in ("0", "3", "+4", "007", "-5", "9223372036854775807") for more in ({}, {"x": "y"})],
        "all": [daemon(minReadySeconds=-1, revisionHistoryLimit=-1, updateStrategy={"type": "x"}, selector={},
                       template=template(labels={"x y": "z"}, restartPolicy="Never", activeDeadlineSeconds=1))]}),
}

EVERYTHING = {
    "rc": {"replicas": 3, "minReadySeconds": 5, "template": {"metadata": {"labels": LABELS}, "spec": FULL}},
    "rs": {"replicas": 3, "minReadySeconds": 5, "template": {"metadata": {"labels": LABELS}, "spec": FULL}},
    "deployment": {"replicas": 3, "minReadySeconds": 5, "revisionHistoryLimit": 3, "paused": True, "progressDeadlineSeconds": 50,
                   "strategy": rolling(maxUnavailable=1, maxSurge="10%"), "template": {"metadata": {"labels": LABELS}, "spec": FULL}},
    "daemon": {"minReadySeconds": 5, "revisionHistoryLimit": 3, "updateStrategy": rolling(maxUnavailable=0, maxSurge="10%"),
               "template": {"metadata": {"labels": LABELS}, "spec": FULL}},
}

CHANGES = [
    {"replicas": 5}, {"replicas": 0}, {"replicas": None}, {"replicas": -1}, {"minReadySeconds": 3}, {"minReadySeconds": None},
    {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}, {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}},
    {"template": {"metadata": {"labels": {"x": "y"}}}}, {"template": {"metadata": {"labels": None}}}, {"template": {"metadata": {"annotations": {"x": "y"}}}}, {"template": None},
    {"selector": {"matchLabels": {"x": "y"}}}, {"selector": {"x": "y"}}, {"selector": None}, {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    {"strategy": {"type": "Recreate"}}, {"strategy": {"type": "Recreate", "rollingUpdate": None}}, {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
    {"strategy": {"rollingUpdate": {"maxSurge": 2}}}, {"strategy": None}, {"revisionHistoryLimit": 2}, {"progressDeadlineSeconds": 2}, {"paused": True}, {"paused": None},
    {"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}, {"updateStrategy": {"rollingUpdate": {"maxSurge": 2}}},
    {"updateStrategy": None}, {"replicas": -1, "template": {"spec": {"restartPolicy": "Never"}}}, {}]

STATUSES = [
    {"replicas": 3, "readyReplicas": 2, "fullyLabeledReplicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 2, "terminatingReplicas": 1,
     "observedGeneration": 1, "collisionCount": 2, "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 2, "numberAvailable": 1, "numberUnavailable": 2,
     "numberMisscheduled": 1, "updatedNumberScheduled": 1},
    {"replicas": -1}, {"readyReplicas": 5}, {"fullyLabeledReplicas": 5}, {"updatedReplicas": 5}, {"availableReplicas": 5}, {"availableReplicas": 3}, {"terminatingReplicas": -1},
    {"readyReplicas": -1, "fullyLabeledReplicas": -1, "updatedReplicas": -1, "availableReplicas": -1, "unavailableReplicas": -1, "observedGeneration": -1, "collisionCount": -1,
     "desiredNumberScheduled": -1, "currentNumberScheduled": -1, "numberReady": -1, "numberAvailable": -1, "numberUnavailable": -1, "numberMisscheduled": -1, "updatedNumberScheduled": -1},
    {"collisionCount": 1}, {"collisionCount": None}, {"collisionCount": 3}, {"observedGeneration": None}, {"replicas": None}, {"terminatingReplicas": 0}, {"numberReady": None},
    {"conditions": [{"type": "x", "status": "True"}]}, {"conditions": [{"type": "y", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r", "message": "m"}]},
    {"conditions": [{"type": "x"}]}, {"conditions": [{}]}, {"replicas": "x"}, {"conditions": 5}, {"foo": 1}]

SCALES = [scale(3), scale(3), scale(0), scale(), scale(-1), scale(5, metadata={"resourceVersion": "1"}), scale(5, metadata={"resourceVersion": "{rv:q}"}),
          scale(6, metadata={"uid": "x"}), scale(6, metadata={"uid": "{uid:q}"}), scale(7, name="r"), scale(7, metadata={"labels": {"x": "y"}}),
          scale(7, status={"replicas": 9, "selector": "x"}), scale("x"), {}, {**scale(1), "kind": "Deployment"}, {**scale(1), "apiVersion": "apps/v1"}, scale(1, foo=1)]


def least(make, **spec):
    return {**make(), "spec": spec}


def cases(kind):
    path, make = KINDS[kind]
    one = f"{path}/q"

    def applied(manager, body, sub="", force=False):
        return apply(f"{one}{sub}?fieldManager={manager}{'&force=true' if force else ''}", body)

    yield from ((f"created-{name}", [post(f"{path}?dryRun=All", body) for body in bodies]) for name, bodies in REFUSED[kind].items())
    yield "created-strictly", [post(f"{path}?dryRun=All&fieldValidation={how}", make(foo=1, template=template(bar=2))) for how in ("Strict", "Warn", "Ignore")]
    yield "full", [post(path, make(**EVERYTHING[kind])), get(one), put(one, make(**EVERYTHING[kind])), get(f"{one}/status"), get(f"{one}/scale"), delete(one), get(one)]
    yield "put", [post(path, make()), put(one, make()), put(one, make("r")), put(f"{path}/r", make("r")), put(one, make(minReadySeconds=4)), put(one, make("a.b")),
                  put(one, {**make(), "metadata": {"name": "q", "resourceVersion": "1"}}), put(one, {**make(), "status": {"replicas": 4, "numberReady": 4}}), put(one, {}), get(one)]
    yield "dotted", [post(path, make("q.r")), merge(f"{path}/q.r", {"spec": {"minReadySeconds": 3}}), delete(f"{path}/q.r")]
    yield "changes-merged", [post(path, make())] + [merge(one, {"spec": change}) for change in CHANGES] + [get(one)]
    yield "changes-strategic", [post(path, make(minReadySeconds=1))] + [strategic(one, {"spec": change}) for change in CHANGES] + [get(one)]
    yield "changes-json", [post(path, make())] + [json_patch(one, [operation]) for operation in (
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}, {"op": "remove", "path": "/spec/selector"},
        {"op": "replace", "path": "/status/replicas", "value": 5}, {"op": "remove", "path": "/status"}, {"op": "add", "path": "/spec/template/metadata/labels/x", "value": "y"})]
    yield "annotated", [post(path, make()), merge(one, {"metadata": {"annotations": {"x": "y"}}}), merge(one, {"metadata": {"labels": {"x": "y"}}}),
                        merge(f"{one}/status", {"metadata": {"annotations": {"z": "y"}, "labels": {"z": "y"}}}), merge(one, {"metadata": {"annotations": None}}), get(one)]
    yield "restart", [post(path, make()), strategic(one, {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "x"}}}}}),
                      strategic(one, {"spec": {"template": {"$patch": "replace", **template()}}}), get(one)]
    yield "odd-then-fixed", [post(path, make()), merge(one, {"metadata": {"labels": {"a b": "c"}}, "spec": {"minReadySeconds": -2}}), merge(one, {"metadata": {"finalizers": ["x"]}}),
                             merge(one, {"metadata": {"finalizers": ["x.io/y"]}}), delete(one), delete(f"{one}?propagationPolicy=Orphan"),
                             merge(one, {"spec": {"minReadySeconds": 9}}), merge(one, {"metadata": {"finalizers": None}}), get(one)]
    yield "deleted", [post(path, make()), merge(one, {"metadata": {"finalizers": ["x.io/y"]}}), delete(one), merge(one, {"metadata": {"finalizers": None}})]
    yield "deleted-foreground", [post(path, make()), merge(one, {"metadata": {"finalizers": ["x.io/y"]}}), delete(f"{one}?propagationPolicy=Foreground"), merge(one, {"metadata": {"finalizers": None}})]
    yield "status-merged", [post(path, make())] + [merge(f"{one}/status", {"status": status}) for status in STATUSES] + [get(one)]
    yield "status-strategic", [post(path, make())] + [strategic(f"{one}/status", {"status": status}) for status in STATUSES]
    owners = {"deviates": deviations.GENERATIONS_OWNER} if path.startswith(DAEMONS) else {}
    yield "status-put", [post(path, make()), *(put(f"{one}/status", {**make(), "status": status}, **owners) for status in STATUSES),
                         put(f"{one}/status", {**make(minReadySeconds=7), "status": {}}, **owners),
                         put(f"{one}/status", {**make(), "metadata": {"name": "q", "labels": {"x": "y"}, "annotations": {"x": "y"}}}, **owners), put(f"{path}/r/status", make("r")),
                         merge(one, {"status": {"replicas": 9}, "metadata": {"labels": {"z": "z"}}}, **owners), get(f"{one}/status", **owners), *([] if owners else [table(f"{one}/status")])]
    yield "tables", [post(path, make(minReadySeconds=3)), post(path, make("two", template=template(
                         containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "j:1"}], nodeSelector={"x": "y", "a": "b"}))),
                     merge(f"{one}/status", {"status": STATUSES[0]}), table(path), table(f"{path}/two"), table(one),
                     get(path, headers={"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
                         **({"deviates": deviations.DAEMON_TABLE} if path.startswith(DAEMONS) else {})),
                     *gets(*(f"{path}?fieldSelector={f}" for f in ("metadata.name=q", "metadata.namespace=x", "status.replicas=3", "status.replicas=0", "status.replicas!=3", "spec.replicas=1"))),
                     *gets(path, f"{path}?limit=1", f"{path}?labelSelector=a%3Db", path.replace("/namespaces/{ns}", "") + "?labelSelector=nobody", f"{path}/x"), delete(path), get(path)]
    yield "watch", [post(path, make()), watch(f"{path}?resourceVersion=0", [
        merge(one, {"spec": {"minReadySeconds": 2}}), merge(f"{one}/status", {"status": {"observedGeneration": 1}}), delete(one)])]
    yield "applied", [applied("one", make(**EVERYTHING[kind])), applied("one", make(**EVERYTHING[kind])), applied("two", least(make, minReadySeconds=6)),
                      applied("two", least(make, minReadySeconds=6), force=True), get(one),
                      applied("two", least(make, template={"spec": {"containers": [{"name": "c", "env": [{"name": "Z", "value": "1"}]}]}})), applied("two", least(make)), get(one),
                      applied("three", {**least(make), "status": {"observedGeneration": 3}}, "/status"),
                      applied("three", {**least(make, minReadySeconds=9), "metadata": {"name": "q", "labels": {"l": "m"}}, "status": {"observedGeneration": 4}}, "/status"), get(one)]
    yield "applied-least", [applied("one", make()), get(one), put(f"{one}?fieldManager=two", make(minReadySeconds=3)), applied("one", make(minReadySeconds=4)),
                            applied("one", make(), force=True), applied("one", least(make)), applied("one", {**make(), "metadata": {"name": "q", "labels": {"x": "y"}}}), get(one)]
    yield "scale", [post(path, make()), get(f"{one}/scale"), *(put(f"{one}/scale", body) for body in SCALES), get(one), put(f"{path}/r/scale", scale(1, name="r")),
                    get(f"{path}/r/scale"), merge(f"{one}/scale", {"spec": {"replicas": 8}}), merge(f"{one}/scale", {"spec": {"replicas": -8}}),
                    strategic(f"{one}/scale", {"spec": {"replicas": 3}}), merge(f"{one}/status", {"status": {"replicas": 2}}), get(f"{one}/scale"), table(f"{one}/scale"),
                    applied("auto", scale(4), "/scale"), applied("auto", scale(4), "/scale", True), get(one)]


ROLLBACK = "deprecated.deployment.rollback.to"
GENERATION = "deprecated.daemonset.template.generation"

CASES = {
    **{f"{kind}-{name}": steps for kind in KINDS for name, steps in cases(kind)},
    "deployment-rollback": [post(DEPLOYMENTS, deployment()), merge(f"{DEPLOYMENTS}/q", {"metadata": {"annotations": {ROLLBACK: "3"}}}),
                            merge(f"{DEPLOYMENTS}/q", {"metadata": {"annotations": {ROLLBACK: "-3"}}}), merge(f"{DEPLOYMENTS}/q", {"metadata": {"annotations": {ROLLBACK: ""}}}),
                            get(f"{DEPLOYMENTS}/q")],
    "daemon-generation": [post(DAEMONS, daemon()), merge(f"{DAEMONS}/q", {"metadata": {"annotations": {GENERATION: "9"}}}), merge(f"{DAEMONS}/q", {"metadata": {"annotations": None}}),
                          put(f"{DAEMONS}/q", daemon(template=template(hostname="h"))), put(f"{DAEMONS}/q", daemon(minReadySeconds=4)), get(f"{DAEMONS}/q")],
    "odd-numbers-in-annotations": [post(path, {**make(), "metadata": {"name": "q", "annotations": {key: text}}}, deviates=deviations.ODD_ANNOTATION)
                                   for path, make, key in ((DEPLOYMENTS, deployment, ROLLBACK), (DAEMONS, daemon, GENERATION)) for text in ("x", "1.0", "9223372036854775808")],
}
