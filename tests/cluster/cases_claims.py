"""PersistentVolumeClaims: defaults, what is refused, what may change once a volume is bound."""

import deviations
from exchange import delete, get, merge, post, strategic
from pods import claim, size

CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
BOUND = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "conditions": [{"type": "Resizing", "status": "True"}]}}

CASES = {
    "created": [post(f"{CLAIMS}?dryRun=All", body) for body in (
        {}, {"metadata": {"name": "q"}}, claim(), claim("A"), claim(accessModes=[]), claim(accessModes=["x"]), claim(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]),
        claim(resources={}), claim(**size("0")), claim(**size("-1")), claim(**size("x")), claim(**size("1024Mi")), claim(storageClassName="A"), claim(storageClassName=""),
        claim(volumeMode="x"), claim(volumeMode="Block"), claim(dataSource={"kind": "PersistentVolumeClaim", "name": "x"}),
        claim(dataSourceRef={"kind": "PersistentVolumeClaim", "name": "x"}), claim(dataSource={"kind": "Foo", "name": "x"}),
        claim(dataSource={"apiGroup": "a.b", "kind": "Foo", "name": "x"}), claim(dataSourceRef={"kind": "Foo", "name": ""}),
        claim(selector={"matchLabels": {"a b": "c"}}), claim(dataSource={"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"}))],
    "life": [post(CLAIMS, claim()), merge(f"{CLAIMS}/q", {"spec": size("2Gi")}, deviates=deviations.GO_DIFFERENCE), merge(f"{CLAIMS}/q", {"spec": {"volumeName": "v"}}),
             merge(f"{CLAIMS}/q", {"spec": {"volumeName": "w"}}, deviates=deviations.GO_DIFFERENCE), strategic(f"{CLAIMS}/q/status", BOUND),
             strategic(f"{CLAIMS}/q/status", {"status": {"conditions": [{"type": "Resizing", "status": "False"}, {"type": "FileSystemResizePending", "status": "True"}]}}),
             merge(f"{CLAIMS}/q", {"spec": {"volumeMode": "Block"}}, deviates=deviations.GO_DIFFERENCE), get(f"{CLAIMS}/q/status"),
             get(CLAIMS, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, deviates=deviations.COLUMN_TEXTS),
             get(f"{CLAIMS}?fieldSelector=name=q"), delete(f"{CLAIMS}/q"), merge(f"{CLAIMS}/q", {"metadata": {"finalizers": None}}), get(f"{CLAIMS}/q")],
}
