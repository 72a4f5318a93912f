"""Answers in protobuf: objects of every kind, lists, metadata alone, watches, Statuses."""

from exchange import apply, create, delete, get, merge, post, put, revision, watch

ACCEPT = "application/vnd.kubernetes.protobuf"
PROTOBUF = {"Accept": ACCEPT}
META = {"Accept": ACCEPT + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METAS = {"Accept": ACCEPT + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
BETA = {"Accept": ACCEPT + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1"}
BETAS = {"Accept": ACCEPT + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}
PACKED = {**PROTOBUF, "Accept-Encoding": "gzip"}

POD = {"containers": [{"name": "c", "image": "i", "args": ["a", ""], "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                       "ports": [{"containerPort": 80, "name": "http"}], "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}}, "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                       "readinessProbe": {"httpGet": {"port": "http"}}, "livenessProbe": {"tcpSocket": {"port": 80}}, "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"]}}}],
       "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "p", "projected": {"sources": [{"configMap": {"name": "x", "optional": True}}]}}],
       "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}], "nodeSelector": {"b": "1", "a": "2"}, "hostNetwork": False,
       "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "restartPolicy": "Always"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TIME = "2020-01-02T03:04:05.678901Z"

# Collection, and what is in it.
OBJECTS = {
    "revision": ("{crs}", {"data": {"b": [1.0, None], "a": "\u00e9"}, "revision": 7}),
    "set": ("/apis/apps/v1/namespaces/{ns}/statefulsets", {"spec": {"serviceName": "x", "replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE,
                                                                    "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": CLAIM}]}}),
    "configmap": ("{cms}", {"data": {"b": "\u00e9", "a": ""}, "binaryData": {"x": "/wA="}, "immutable": True}),
    "secret": ("/api/v1/namespaces/{ns}/secrets", {"stringData": {"b": "1"}, "data": {"a": ""}}),
    "account": ("/api/v1/namespaces/{ns}/serviceaccounts", {"imagePullSecrets": [{"name": "s"}], "automountServiceAccountToken": False}),
    "claim": ("/api/v1/namespaces/{ns}/persistentvolumeclaims", {"spec": CLAIM}),
    "pod": ("/api/v1/namespaces/{ns}/pods", {"spec": POD}),
    "template": ("{pts}", {"template": TEMPLATE}),
    "event": ("/api/v1/namespaces/{ns}/events", {"involvedObject": {"kind": "Pod", "name": "x", "namespace": "{ns}"}, "reason": "R", "count": 2, "firstTimestamp": "2020-01-02T03:04:05Z"}),
    "lease": ("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": TIME}}),
    "service": ("/api/v1/namespaces/{ns}/services", {"spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "name": "n"}][:1]}}),
}


def life(path, body):
    """One object from its creation to its end."""
    named = {"metadata": {"name": "a", "labels": {"x": "y", "a": ""}, "annotations": {"n.io/b": "<&>"}}, **body}
    one = f"{path}/a"
    return [post(path + "?dryRun=All", named, headers=PROTOBUF), post(path, named, headers=PROTOBUF), get(one, headers=PROTOBUF), get(one, headers=META), get(one, headers=BETA),
            get(path + "?fieldSelector=metadata.name=a", headers=PROTOBUF), get(path + "?labelSelector=x=y", headers=METAS), get(path + "?labelSelector=x=y", headers=BETAS),
            merge(one, {"metadata": {"labels": {"x": None, "z": "1"}, "finalizers": ["n.io/f"]}}, headers=PROTOBUF), get(one + "?resourceVersion=0", headers=PROTOBUF),
            post(path, named, headers=PROTOBUF), watch(path + "?watch=1&resourceVersion={rv0:a}&fieldSelector=metadata.name=a", headers=PROTOBUF),
            merge(one, {"metadata": {"finalizers": None}}, headers=META), delete(one + "?gracePeriodSeconds=0", headers=PROTOBUF), get(one, headers=PROTOBUF)]


CHANGES = [create("b", labels={"app": "web"}), merge("{crs}/b", {"revision": 2}), delete("{crs}/b")]
INITIAL = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

CASES = {
    **{name: life(*what) for name, what in OBJECTS.items()},
    "statuses": [get("{crs}/none", headers=PROTOBUF), post("{crs}", revision("Bad"), headers=PROTOBUF), create("a"), post("{crs}", revision("a"), headers=PROTOBUF),
                 put("{crs}/a", revision("a", {"x": 1}), headers=PROTOBUF), put("{crs}/a", revision("a", resourceVersion="1"), headers=PROTOBUF),
                 post("{crs}", "{}", headers=PROTOBUF), delete("{crs}/a", {"preconditions": {"uid": "x"}}, headers=PROTOBUF), get("{crs}?limit=x", headers=PROTOBUF),
                 get("{crs}?fieldSelector=x=y", headers=PROTOBUF), get("/apis/apps/v1/none", headers=PROTOBUF), get("{nss}/{ns}/none", headers=PROTOBUF),
                 apply("{crs}/a?fieldManager=m", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "revision": 5}, headers=PROTOBUF)],
    "lists": [create("a"), create("b"), create("c", {"x": "y" * 200000}), get("{crs}", headers=PROTOBUF), get("{crs}?limit=2", headers=PROTOBUF),
              get("{crs}?limit=2&labelSelector=!x", headers=PROTOBUF), get("{crs}?labelSelector=none", headers=PROTOBUF), get("{crs}?labelSelector=none", headers=METAS),
              get("{crs}", headers=PACKED), get("{crs}/c", headers=PACKED), get("{crs}/a", headers=PACKED), get("{crs}?resourceVersion=0", headers=METAS), delete("{crs}", headers=PROTOBUF)],
    "watches": [create("a"), watch("{crs}" + INITIAL, CHANGES, headers=PROTOBUF), watch("{crs}" + INITIAL, CHANGES, headers=META), watch("{crs}" + INITIAL, CHANGES, headers=BETA),
                watch("{crs}?watch=1&resourceVersion={rv:a}", headers={"Accept": ACCEPT + ";stream=watch"}), watch("{crs}?watch=1&labelSelector=app=web&resourceVersion={rv:a}", headers=PROTOBUF)],
    "leaving": [step for first, second in ((watch, get), (get, watch)) for name in (first.__name__,) for step in [
        post("{cms}", {"metadata": {"name": name, "labels": {"l": "1"}}, "data": {"k": "old"}}), merge("{cms}/" + name, {"metadata": {"labels": None}, "data": {"k": "new"}}),
        *[how("{cms}/" + name if how is get else "{cms}?watch=1&labelSelector=l=1&fieldSelector=metadata.name=" + name + "&resourceVersion={rv0:" + name + "}", headers=PROTOBUF)
          for how in (first, second)],
        get("{cms}?fieldSelector=metadata.name=" + name, headers=PROTOBUF), delete("{cms}/" + name),
        watch("{cms}?watch=1&fieldSelector=metadata.name=" + name + "&resourceVersion={rv0:" + name + "}", headers=PROTOBUF)]],
    "scale": [post(OBJECTS["set"][0], {"metadata": {"name": "a"}, **OBJECTS["set"][1]}), get(OBJECTS["set"][0] + "/a/scale", headers=PROTOBUF),
              merge(OBJECTS["set"][0] + "/a/scale", {"spec": {"replicas": 0}}, headers=PROTOBUF), get(OBJECTS["set"][0] + "/a/scale", headers=META)],
    "questions": [post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}, headers=PROTOBUF),
                  post("/api/v1/namespaces/{ns}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
                  post("/api/v1/namespaces/{ns}/pods/p/binding", {"target": {"kind": "Node", "name": "n"}}, headers=PROTOBUF)],
    "forms": [create("a")] + [get(path, headers={"Accept": accept}) for path in ("{crs}/a", "{crs}") for accept in (
        ACCEPT + ";as=Table;v=v1;g=meta.k8s.io", ACCEPT + ";as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io", ACCEPT + ",application/json",
        "application/json," + ACCEPT, ACCEPT + ";q=0.5,application/json", ACCEPT + ";pretty=1", ACCEPT + ";stream=watch", ACCEPT + ";stream=x", ACCEPT + ";as=Bogus;v=v1;g=meta.k8s.io")],
}
