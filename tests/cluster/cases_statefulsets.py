"""StatefulSets of apps/v1: defaults, what is refused and in which order, updates, status, scale, ownership, tables."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch
from pods import FULL, claim, pod, size

SETS = "/apis/apps/v1/namespaces/{ns}/statefulsets"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
LABELS = {"a": "b"}


def template(labels=LABELS, annotations=None, **spec):
    metadata = {"labels": labels, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def sts(name="q", **spec):
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": LABELS}, "serviceName": "s", "template": template(), **spec}}


def claims(name="www", **more):
    return {**claim(name), **more}


def bare(name="www"):
    """As people write it: without kind and apiVersion."""
    return {"metadata": {"name": name}, "spec": claim()["spec"]}


def strategy(**members):
    return sts(updateStrategy=members)


def rolling(**members):
    return strategy(type="RollingUpdate", rollingUpdate=members)


def selector(*expressions, **labels):
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": list(expressions)} if expressions else {})}


def scale(replicas=None, name="q", **more):
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {} if replicas is None else {"replicas": replicas}, **more}


def table(path, headers=TABLE):
    return get(path, headers=headers, deviates=deviations.COLUMN_TEXTS)


REFUSED = {
    "management": [sts(podManagementPolicy=policy) for policy in ("x", "", None, "Parallel", 5)],
    "strategy": [strategy(type="x"), strategy(type="x", rollingUpdate={"partition": 2}), strategy(type="Recreate"), strategy(type=""), strategy(),
                 strategy(type="OnDelete"), strategy(type="OnDelete", rollingUpdate={}), strategy(type="OnDelete", rollingUpdate={"partition": 1}),
                 sts(updateStrategy=None), sts(updateStrategy=5), strategy(type=5), strategy(rollingUpdate=5)],
    "partition": [rolling(partition=partition) for partition in (-1, 0, 5, None, "x", 1.5, 2147483648)] + [strategy(rollingUpdate={"partition": 3})],
    "unavailable": [rolling(maxUnavailable=n) for n in (0, -1, 1, "1", "0%", "50%", "101%", "x", "5 %", None, True, 1.5)]
                   + [strategy(type="OnDelete", rollingUpdate={"maxUnavailable": 1})],
    "claim-policy": [sts(persistentVolumeClaimRetentionPolicy=policy) for policy in (
        {}, {"whenDeleted": "Delete"}, {"whenScaled": "Delete"}, {"whenDeleted": "x"}, {"whenScaled": "x"}, {"whenDeleted": "x", "whenScaled": "y"}, None, 5)],
    # kube makes volumes of them in the order of Go's maps, so of those that are refused for a volume there is one at a time
    "claims": [sts(volumeClaimTemplates=templates) for templates in (
        [claims()], [claims(), claims("data")], [claims()] * 2, [{}], [{"metadata": {"name": "www"}}], [claims("A")], [claims("a.b")], [claims("")],
        [claims("www", spec={"accessModes": ["x"], **size("1Gi")})], [claims("www", spec={"accessModes": ["ReadWriteOnce"], **size("0")})],
        [claims("www", spec={"accessModes": ["ReadWriteOnce"], **size("x")})], [{**claims(), "kind": "x", "apiVersion": "y"}], [bare()], [bare("a"), {**bare("b"), "kind": 5}],
        [claims("www", status={"phase": "Bound"})], 5, [5], [{"spec": 5}])]
        + [sts(volumeClaimTemplates=[claims()], template=template(volumes=[{"name": name, "emptyDir": {}}],
                                                                  containers=[{"name": "c", "image": "i", "volumeMounts": [{"name": "www", "mountPath": "/w"}]}]))
           for name in ("www", "other", "A")]
        + [sts(template=template(containers=[{"name": "c", "image": "i", "volumeMounts": [{"name": "www", "mountPath": "/w"}]}]))],
    "numbers": [sts(**{name: n}) for name in ("replicas", "minReadySeconds", "revisionHistoryLimit") for n in (-1, 0, None, 7, "x", 2147483648)]
               + [sts(ordinals=ordinals) for ordinals in ({"start": -1}, {"start": 0}, {}, None, {"start": 3}, {"start": "x"})]
               + [sts(replicas=-1, minReadySeconds=-2, ordinals={"start": -3})],
    "service": [sts(serviceName=name) for name in ("", None, "A", "a.b", "1a", "a" * 64, 5)],
    "selector": [sts(selector=s) for s in (
        None, {}, selector(a="c"), selector(a="b", x="y"), {"matchLabels": {"a b": "c"}}, {"matchLabels": {"a": "b c"}},
        selector({"key": "a", "operator": "In", "values": ["b"]}), selector({"key": "a", "operator": "In", "values": ["c"]}), selector({"key": "a", "operator": "In"}),
        selector({"key": "a", "operator": "Exists"}), selector({"key": "a", "operator": "Exists", "values": ["b"]}), selector({"key": "a", "operator": "x"}),
        selector({"key": "", "operator": "Exists"}), selector({"key": "z", "operator": "DoesNotExist"}, a="b"),
        selector({"key": "a", "operator": "NotIn", "values": ["b c"]}), 5, {"matchLabels": 5})],
    "template": [sts(template=t) for t in (
        {}, None, template(labels=None), template(labels={"a b": "c"}), template(labels={"a": "b", "x y": "z w"}), template(annotations={"x y": "z"}),
        template(containers=[]), template(restartPolicy="Never"), template(restartPolicy="x"), template(restartPolicy=""), template(activeDeadlineSeconds=5),
        template(activeDeadlineSeconds=0, restartPolicy="OnFailure"), template(hostname="A"), template(subdomain="A b"), template(hostname="x", subdomain="y"),
        template(ephemeralContainers=[{"name": "e", "image": "i"}]), template(nodeName="A"), template(containers=[{"name": "c"}]),
        template(hostNetwork=True, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]), template(dnsPolicy="x"), 5,
        {"metadata": 5}, {"spec": {"containers": 5}})]
        + [{**sts(), "spec": {}}, {**sts(), "spec": None}, {"metadata": {"name": "q"}}, {}],
    "names": [sts(name) for name in ("A", "a.b", "a" * 63, "a" * 64, "", "1", "-a")]
             + [{**sts(), "metadata": {"generateName": prefix}} for prefix in ("a-", "a.", "a" * 70)]
             + [{**sts(), "metadata": {"name": "q", "labels": {"a b": "c"}, "annotations": {"a b": "c"}}, "spec": {"replicas": -1}}],
    "versions": [{**sts(), "apiVersion": version} for version in ("apps/v1beta1", "apps/v1beta2", "apps/v2", "v1", "", "extensions/v1beta1")]
                + [{**sts(), "kind": kind} for kind in ("Pod", "Deployment", "x", "")],
    "fields": [{**sts(), "spec": {**sts()["spec"], "generationPartition": 1, "templateGeneration": 5}}, {**sts(), "status": {"replicas": 5, "currentRevision": "x"}},
               {**sts(), "metadata": {"name": "q", "generation": 7}}],
    "all": [sts(podManagementPolicy="x", updateStrategy={"type": "x"}, persistentVolumeClaimRetentionPolicy={"whenDeleted": "x"}, volumeClaimTemplates=[{}], replicas=-1,
                minReadySeconds=-1, ordinals={"start": -1}, serviceName="A", selector={}, template=template(labels={"x y": "z"}, restartPolicy="Never", activeDeadlineSeconds=1))],
}

EVERYTHING = {
    "replicas": 3, "serviceName": "web", "podManagementPolicy": "Parallel", "minReadySeconds": 5, "revisionHistoryLimit": 3, "ordinals": {"start": 2},
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, "volumeClaimTemplates": [claims(), {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claims("x")}],
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}, "template": {"metadata": {"labels": LABELS}, "spec": FULL},
}

CHANGES = [
    {"replicas": 5}, {"replicas": 0}, {"replicas": None}, {"replicas": -1}, {"minReadySeconds": 3}, {"ordinals": {"start": 4}}, {"ordinals": None},
    {"revisionHistoryLimit": 1}, {"revisionHistoryLimit": -1}, {"revisionHistoryLimit": None},
    {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}, {"persistentVolumeClaimRetentionPolicy": None},
    {"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}, {"updateStrategy": {"type": "RollingUpdate"}},
    {"updateStrategy": {"rollingUpdate": {"partition": 9}}}, {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}, {"updateStrategy": None},
    {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}, {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}},
    {"template": {"metadata": {"labels": {"x": "y"}}}}, {"template": {"metadata": {"labels": None}}}, {"template": {"metadata": {"annotations": {"x": "y"}}}},
    {"serviceName": "t"}, {"serviceName": "A b"}, {"serviceName": None}, {"podManagementPolicy": "Parallel"}, {"podManagementPolicy": None},
    {"selector": {"matchLabels": {"x": "y"}}}, {"selector": None}, {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    {"volumeClaimTemplates": [claims()]}, {"volumeClaimTemplates": [bare("w")]}, {"volumeClaimTemplates": [{}]}, {"volumeClaimTemplates": []},
    {"podManagementPolicy": "x", "replicas": -1, "template": {"spec": {"restartPolicy": "Never"}}},
]

STATUSES = [
    {"replicas": 3, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "observedGeneration": 1, "currentRevision": "q-1",
     "updateRevision": "q-2", "collisionCount": 2},
    {"replicas": -1}, {"readyReplicas": 5}, {"currentReplicas": 5}, {"updatedReplicas": 5}, {"availableReplicas": 5}, {"availableReplicas": 3},
    {"readyReplicas": -1, "currentReplicas": -1, "updatedReplicas": -1, "availableReplicas": -1, "observedGeneration": -1, "collisionCount": -1},
    {"collisionCount": 1}, {"collisionCount": None}, {"collisionCount": 3}, {"observedGeneration": None}, {"replicas": None}, {"currentRevision": None},
    {"conditions": [{"type": "x", "status": "True"}]}, {"conditions": [{"type": "y", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r", "message": "m"}]},
    {"conditions": [{"type": "x"}]}, {"conditions": [{}]}, {"templateGeneration": 5}, {"replicas": "x"}, {"conditions": 5}, {"foo": 1},
]


def applied(manager, body, sub="", force=False):
    return apply(f"{SETS}/q{sub}?fieldManager={manager}{'&force=true' if force else ''}", body)


def own(**spec):
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "q"}, "spec": spec}


SCALES = [scale(3), scale(3), scale(0), scale(), scale(-1), scale(5, metadata={"resourceVersion": "1"}), scale(5, metadata={"resourceVersion": "x"}),
          scale(5, metadata={"resourceVersion": "{rv:q}"}), scale(6, metadata={"uid": "x"}), scale(6, metadata={"uid": "{uid:q}"}), scale(7, name="r"),
          scale(7, name=""), scale(7, metadata={"namespace": "x"}), scale(7, metadata={"labels": {"a b": "c"}}), scale(7, metadata={"labels": {"x": "y"}}),
          scale(7, status={"replicas": 9, "selector": "x"}), scale("x"), scale(2147483648), {"spec": {"replicas": 1}}, {}, {**scale(1), "kind": "StatefulSet"},
          {**scale(1), "apiVersion": "apps/v1"}, {**scale(1), "apiVersion": "autoscaling/v2"}, {**scale(1), "apiVersion": "extensions/v1beta1"}, sts(), "x", scale(1, foo=1)]

CASES = {
    **{f"created-{name}": [post(f"{SETS}?dryRun=All", body) for body in bodies] for name, bodies in REFUSED.items()},
    "created-strictly": [post(f"{SETS}?dryRun=All&fieldValidation={how}", sts(generationPartition=1, templateGeneration=2, ordinals={"start": 1, "end": 2}))
                         for how in ("Strict", "Warn", "Ignore")],
    "full": [post(SETS, sts(**EVERYTHING)), get(f"{SETS}/q"), put(f"{SETS}/q", sts(**EVERYTHING)), get(f"{SETS}/q/status"), get(f"{SETS}/q/scale"), delete(f"{SETS}/q")],
    "bare-claims": [post(SETS, sts(volumeClaimTemplates=[bare()])), get(f"{SETS}/q"), put(f"{SETS}/q", sts(volumeClaimTemplates=[bare()])), applied("one", own(volumeClaimTemplates=[bare()])),
                    applied("one", own(volumeClaimTemplates=[claims()])), merge(f"{SETS}/q", {"spec": {"volumeClaimTemplates": [bare("w")]}}), get(f"{SETS}/q")],
    "put": [post(SETS, sts(volumeClaimTemplates=[claims()])), put(f"{SETS}/q", sts(volumeClaimTemplates=[claims()])), put(f"{SETS}/q", sts()), put(f"{SETS}/q", sts("r")),
            put(f"{SETS}/r", sts("r")), put(f"{SETS}/q", sts(replicas=4, volumeClaimTemplates=[claims()])),
            put(f"{SETS}/q", {**sts(replicas=5, volumeClaimTemplates=[claims()]), "metadata": {"name": "q", "resourceVersion": "1"}}),
            put(f"{SETS}/q", {**sts(volumeClaimTemplates=[claims()]), "status": {"replicas": 4}}), put(f"{SETS}/q", {}), get(f"{SETS}/q")],
    "changes-merged": [post(SETS, sts(volumeClaimTemplates=[claims("w")], serviceName="s"))] + [merge(f"{SETS}/q", {"spec": change}) for change in CHANGES] + [get(f"{SETS}/q")],
    "changes-strategic": [post(SETS, sts(replicas=3))] + [strategic(f"{SETS}/q", {"spec": change}) for change in CHANGES] + [get(f"{SETS}/q")],
    "changes-json": [post(SETS, sts())] + [json_patch(f"{SETS}/q", [operation]) for operation in (
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}, {"op": "remove", "path": "/spec/updateStrategy"},
        {"op": "add", "path": "/spec/ordinals", "value": {"start": 1}}, {"op": "remove", "path": "/spec/selector"}, {"op": "replace", "path": "/status/replicas", "value": 5},
        {"op": "remove", "path": "/status"}, {"op": "add", "path": "/spec/template/metadata/labels/x", "value": "y"})],
    "restart": [post(SETS, sts()), strategic(f"{SETS}/q", {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "x"}}}}}),
                strategic(f"{SETS}/q", {"spec": {"template": {"$patch": "replace", **template()}}}),
                strategic(f"{SETS}/q", {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "k"}], "$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}}}}),
                strategic(f"{SETS}/q", {"spec": {"template": {"spec": {"containers": [{"name": "d", "$patch": "delete"}]}}}})],
    "unavailable-kept": [post(SETS, rolling(maxUnavailable=2)), merge(f"{SETS}/q", {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}}}), get(f"{SETS}/q")],
    "odd-then-fixed": [post(SETS, sts(template=template(containers=[{"name": "c", "image": "i"}]))), merge(f"{SETS}/q", {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}),
                        merge(f"{SETS}/q", {"metadata": {"labels": {"a b": "c"}}, "spec": {"replicas": -2}}), merge(f"{SETS}/q", {"metadata": {"finalizers": ["x"]}}),
                        merge(f"{SETS}/q", {"metadata": {"finalizers": ["x.io/y"]}}), delete(f"{SETS}/q"), delete(f"{SETS}/q?propagationPolicy=Orphan"),
                        merge(f"{SETS}/q", {"spec": {"replicas": 9}}), merge(f"{SETS}/q", {"metadata": {"finalizers": None}}), get(f"{SETS}/q")],
    "status-merged": [post(SETS, sts())] + [merge(f"{SETS}/q/status", {"status": status}) for status in STATUSES] + [get(f"{SETS}/q")],
    "status-strategic": [post(SETS, sts())] + [strategic(f"{SETS}/q/status", {"status": status}) for status in STATUSES],
    "status-put": [post(SETS, sts()), *(put(f"{SETS}/q/status", {**sts(), "status": status}) for status in STATUSES), put(f"{SETS}/q/status", {**sts(replicas=7), "status": {"replicas": 1}}),
                   put(f"{SETS}/q/status", {**sts(), "metadata": {"name": "q", "labels": {"x": "y"}}}), put(f"{SETS}/r/status", sts("r")), merge(f"{SETS}/r/status", {}),
                   merge(f"{SETS}/q", {"status": {"replicas": 9}, "metadata": {"labels": {"z": "z"}}}), get(f"{SETS}/q/status"), table(f"{SETS}/q/status")],
    "tables": [post(SETS, sts(replicas=3)), post(SETS, sts("two", template=template(containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "j:1"}]))),
               merge(f"{SETS}/q/status", {"status": {"replicas": 3, "readyReplicas": 2}}), table(SETS), table(f"{SETS}/two"), table(f"{SETS}/q"),
               get(SETS, headers={"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}),
               *gets(*(f"{SETS}?fieldSelector={f}" for f in ("metadata.name=q", "metadata.namespace=x", "status.replicas=1", "spec.serviceName=s"))),
               *gets(SETS, f"{SETS}?limit=1", "/apis/apps/v1/statefulsets?labelSelector=nobody", f"{SETS}/x"), delete(SETS), get(SETS)],
    "watch": [post(SETS, sts()), watch(f"{SETS}?resourceVersion=0", [
        merge(f"{SETS}/q", {"spec": {"replicas": 2}}), merge(f"{SETS}/q/status", {"status": {"replicas": 1}}), put(f"{SETS}/q/scale", scale(3)), delete(f"{SETS}/q")])],
    "scale-put": [post(SETS, sts()), get(f"{SETS}/q/scale"), *(put(f"{SETS}/q/scale", body) for body in SCALES), get(f"{SETS}/q"), put(f"{SETS}/r/scale", scale(1, name="r")),
                  get(f"{SETS}/r/scale"), post(f"{SETS}/q/scale", scale(1)), delete(f"{SETS}/q/scale"), put(f"{SETS}/q/scale?dryRun=All", scale(2)),
                  put(f"{SETS}/q/scale?fieldValidation=Strict", scale(2, foo=1)), put(f"{SETS}/q/scale?fieldManager=auto", scale(4)), get(f"{SETS}/q")],
    "scale-merged": [post(SETS, sts())] + [merge(f"{SETS}/q/scale", patch) for patch in (
        {"spec": {"replicas": 3}}, {"spec": {"replicas": None}}, {"spec": {"replicas": -1}}, {"spec": {"replicas": "x"}}, {"spec": None}, {"status": {"replicas": 5}},
        {"metadata": {"labels": {"x": "y"}}}, {"metadata": {"uid": "x"}}, {"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "{rv:q}"}, "spec": {"replicas": 4}},
        {"metadata": {"name": "r"}}, {"spec": {"foo": 1}}, {}, 5)] + [merge(f"{SETS}/r/scale", {"spec": {"replicas": 3}}), get(f"{SETS}/q")],
    "scale-patched": [post(SETS, sts()), strategic(f"{SETS}/q/scale", {"spec": {"replicas": 3}}), strategic(f"{SETS}/q/scale", {"spec": {"replicas": -3}}),
                      strategic(f"{SETS}/q/scale", {"spec": {"$patch": "replace"}}), strategic(f"{SETS}/q/scale", {"spec": 5}),
                      *(json_patch(f"{SETS}/q/scale", [operation]) for operation in (
                          {"op": "replace", "path": "/spec/replicas", "value": 5}, {"op": "test", "path": "/spec/replicas", "value": 4}, {"op": "remove", "path": "/spec"},
                          {"op": "replace", "path": "/metadata/uid", "value": "x"}, {"op": "replace", "path": "/kind", "value": "x"}, {"op": "remove", "path": "/x"})), get(f"{SETS}/q")],
    "scale-owned": [post(f"{SETS}?fieldManager=maker", sts(replicas=2)), put(f"{SETS}/q/scale?fieldManager=auto", scale(2)), get(f"{SETS}/q"),
                    put(f"{SETS}/q/scale?fieldManager=auto", scale(3)), get(f"{SETS}/q"), merge(f"{SETS}/q/scale?fieldManager=other", {"spec": {"replicas": 4}}), get(f"{SETS}/q"),
                    merge(f"{SETS}/q?fieldManager=maker", {"spec": {"replicas": 5}}), get(f"{SETS}/q"), merge(f"{SETS}/q/scale?fieldManager=other", {"spec": {"replicas": 0}}), get(f"{SETS}/q")],
    "scale-applied": [applied("maker", sts(replicas=2)), applied("auto", scale(3), "/scale"), applied("auto", scale(3), "/scale", True), get(f"{SETS}/q"),
                      applied("auto", scale(4), "/scale"), applied("auto", scale(4), "/scale"), applied("auto", scale(), "/scale"), get(f"{SETS}/q"), applied("maker", sts(replicas=2)),
                      applied("maker", sts(replicas=2), force=True), get(f"{SETS}/q"), applied("auto", sts(), "/scale"), applied("auto", {**scale(1), "spec": {"foo": 1}}, "/scale"),
                      applied("auto", scale(1, name="r"), "/scale"), applied("auto", scale(-1), "/scale", True),
                      apply(f"{SETS}/r/scale?fieldManager=auto", scale(1, name="r")), put(f"{SETS}/q/scale?fieldManager=put", scale(9)), get(f"{SETS}/q"),
                      applied("auto", scale(9), "/scale"), get(f"{SETS}/q")],
    "conflicts-in-order": [applied("m1", sts(replicas=2)), applied("m1", scale(2), "/scale"), applied("m3", scale(2), "/scale"), applied("m2", sts(replicas=3)),
                           merge(f"{SETS}/q?fieldManager=m1", {"spec": {"minReadySeconds": 3}}), merge(f"{SETS}/q/scale?fieldManager=m1", {"spec": {"replicas": 4}}),
                           applied("m2", sts(replicas=5, minReadySeconds=4))],
    "scale-shown": [post(SETS, sts(replicas=2, selector=selector({"key": "z", "operator": "NotIn", "values": ["y", "x"]}, {"key": "a", "operator": "Exists"}, a="b"))),
                    get(f"{SETS}/q/scale"), merge(f"{SETS}/q/status", {"status": {"replicas": 2}}), get(f"{SETS}/q/scale"), table(f"{SETS}/q/scale"),
                    get(f"{SETS}/q/scale", headers={"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}),
                    get(f"{SETS}/q/scale", headers={"Accept": "application/yaml"}), get(f"{SETS}/q/scale?resourceVersion=0"), get(f"{SETS}/q/scale?pretty=true")],
    "applied": [applied("one", sts(**EVERYTHING)), applied("one", sts(**EVERYTHING)), applied("two", own(replicas=5)), applied("two", own(replicas=5), force=True), get(f"{SETS}/q"),
                applied("one", sts(**{**EVERYTHING, "replicas": 5, "minReadySeconds": 7})), applied("two", own(template={"spec": {"containers": [{"name": "c", "env": [{"name": "Z", "value": "1"}]}]}})),
                applied("two", own()), get(f"{SETS}/q"), applied("three", {**own(), "status": {"replicas": 3}}, "/status"), applied("three", {**own(replicas=9), "status": {"replicas": 4}}, "/status"),
                applied("one", own(serviceName="web")), applied("four", own(updateStrategy={"rollingUpdate": {"partition": 2}})), applied("four", own(), force=True), get(f"{SETS}/q")],
    "applied-least": [applied("one", sts()), get(f"{SETS}/q"), put(f"{SETS}/q?fieldManager=two", sts(replicas=3)), applied("one", sts(replicas=4)), applied("one", sts(), force=True),
                      applied("one", own()), applied("one", {**own(), "metadata": {"name": "q", "labels": {"x": "y"}}}), get(f"{SETS}/q")],
}
