"""PersistentVolumes and StorageClasses: every sort of volume, defaults, what is refused, what may change, tables."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch

VOLUMES, CLASSES = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses"
OWN, OWN_CLASS = f"{VOLUMES}/v-{{ns}}", f"{CLASSES}/c-{{ns}}"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PROTECTION = "kubernetes.io/pv-protection"  # what admission adds where it is absent
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}  # only tried: at kube-apiserver all claims without a class would get this one
HOST = {"hostPath": {"path": "/data"}}
CSI = {"csi": {"driver": "d.x", "volumeHandle": "h"}}
SECRET = {"name": "s", "namespace": "n"}


def volume(name="v-{ns}", source=None, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {"case": "{ns}"}, "finalizers": [PROTECTION], **({"annotations": annotations} if annotations else {})},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **(HOST if source is None else source), **spec}}


def affinity(*expressions, fields=None):
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(expressions), **({"matchFields": fields} if fields else {})}]}}


def storage_class(name="c-{ns}", **members):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, "labels": {"case": "{ns}"}}, "provisioner": "x.io/p", **members}


def topology(*terms):
    return storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": key, "values": values} for key, values in term]} for term in terms])


def tried(path, *bodies):
    return [post(f"{path}?dryRun=All", body) for body in bodies]


def table(path):
    return get(path, headers=TABLE, deviates=deviations.COLUMN_TEXTS)


def dropped(path):
    """Of an object with the finalizer."""
    return [delete(path), merge(path, {"metadata": {"finalizers": None}}), get(path)]


GONE = {"cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"}
ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
SOURCES = [
    {"gcePersistentDisk": {"pdName": "p", "fsType": "ext4", "partition": 1, "readOnly": True}}, {"awsElasticBlockStore": {"volumeID": "v"}}, {"hostPath": {"path": "/x", "type": "Directory"}},
    {"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "n"}}, {"nfs": {"server": "s", "path": "/p", "readOnly": True}},
    {"rbd": {"monitors": ["m"], "image": "i"}}, {"rbd": {"monitors": ["m"], "image": "i", "pool": "p", "user": "u", "keyring": "k", "secretRef": SECRET, "fsType": "f"}},
    {"iscsi": {"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:storage.kube.sys1.xyz", "lun": 0}},
    {"iscsi": {"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:storage.kube.sys1.xyz", "lun": 0, "portals": ["a"], "chapAuthSession": True, "secretRef": SECRET, "initiatorName": "iqn.2001-04.com.example:storage.kube.sys1.xyz"}},
    {"cinder": {"volumeID": "v", "secretRef": SECRET}}, {"cephfs": {"monitors": ["m"], "path": "/p", "user": "u", "secretFile": "f", "secretRef": SECRET, "readOnly": True}},
    {"fc": {"targetWWNs": ["w"], "lun": 0}}, {"flocker": {"datasetName": "d"}}, {"flexVolume": {"driver": "a/b", "options": {"a": "b"}, "secretRef": SECRET}},
    {"azureFile": {"secretName": "s", "shareName": "h"}}, {"azureFile": {"secretName": "s", "shareName": "h", "secretNamespace": "n"}}, {"vsphereVolume": {"volumePath": "p"}},
    {"quobyte": {"registry": "r:1", "volume": "v"}}, {"azureDisk": {"diskName": "d", "diskURI": "https://x"}}, {"photonPersistentDisk": {"pdID": "p"}}, {"portworxVolume": {"volumeID": "v"}},
    {"scaleIO": {"gateway": "g", "system": "s", "secretRef": SECRET, "volumeName": "v"}}, {"storageos": {"volumeName": "v", "secretRef": {"kind": "Secret", "name": "n", "namespace": "m"}}},
    {"csi": {"driver": "d.x", "volumeHandle": "h", "volumeAttributes": {"a": "b"}, "readOnly": True, "fsType": "f", "nodeStageSecretRef": SECRET, "controllerPublishSecretRef": SECRET,
             "nodePublishSecretRef": SECRET, "controllerExpandSecretRef": SECRET, "nodeExpandSecretRef": SECRET}}]

CASES = {
    "created": tried(VOLUMES, *(volume(source=source) for source in SOURCES if not set(source) & GONE), volume(source={"local": {"path": "/l", "fsType": "x"}}, nodeAffinity=affinity(ZONE)),
                     volume(persistentVolumeReclaimPolicy="Recycle"), volume(persistentVolumeReclaimPolicy="Delete", volumeMode="Block", storageClassName="c", mountOptions=["a", "b"]),
                     volume(claimRef={"namespace": "n", "name": "c", "uid": "u", "kind": "PersistentVolumeClaim", "apiVersion": "v1"}), volume(source=CSI, volumeAttributesClassName="a"),
                     volume(capacity={"storage": "1024Mi"}), volume(capacity={"storage": 5}), {**volume(), "status": {"phase": "Bound", "reason": "r"}}, volume(accessModes=["ReadWriteMany"] * 2),
                     volume(annotations={"volume.beta.kubernetes.io/storage-class": "c"}), volume(persistentVolumeReclaimPolicy="", volumeMode=None), volume(nodeAffinity=affinity(ZONE)),
                     volume(nodeAffinity=affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["n"]}])),
                     volume(source=SOURCES[4], annotations={"volume.beta.kubernetes.io/mount-options": "a"}), volume(source={**SOURCES[9], **SOURCES[13]})),
    "created-of-gone-types": [post(f"{VOLUMES}?dryRun=All", volume(source=source), deviates=deviations.GONE_VOLUMES) for source in SOURCES if set(source) & GONE],
    "refused": tried(
        VOLUMES, {}, {"metadata": {"name": "v-{ns}"}}, volume("A"), volume(source={}), volume(source={**HOST, **CSI}), volume(accessModes=None),
        volume(accessModes=["x"]), volume(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]), volume(accessModes=["ReadWriteOncePod", "x"]), volume(capacity=None),
        volume(capacity={"cpu": "1"}), volume(capacity={"storage": "0"}), volume(capacity={"storage": "-1"}), volume(capacity={"storage": "-1500m"}), volume(capacity={"storage": "x"}),
        volume(persistentVolumeReclaimPolicy="x"), volume(volumeMode="x"), volume(volumeMode=""), volume(storageClassName="A"), volume(volumeAttributesClassName=""),
        volume(volumeAttributesClassName="a"), volume(source=CSI, volumeAttributesClassName="A"), volume(nodeAffinity={}), volume(nodeAffinity={"required": {}}),
        volume(nodeAffinity=affinity({"key": "a b", "operator": "x"}, {"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["b c"]}, {"key": "a", "operator": "Gt"})),
        *(volume(nodeAffinity=affinity(fields=[field])) for field in (
            {"key": "x", "operator": "In", "values": ["a"]}, {"key": "metadata.name", "operator": "Exists"}, {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
            {"key": "metadata.name", "operator": "NotIn", "values": ["A b"]})),
        *(volume(source={"hostPath": {"path": path}}, persistentVolumeReclaimPolicy="Recycle") for path in ("/", "//", "/./", "/a", "")), volume(source={"hostPath": {"path": "/..", "type": "x"}}),
        volume(source={"nfs": {"server": "", "path": "x"}}), volume(source={"local": {"path": "/l"}}), volume(source={"local": {"path": "../x"}}, nodeAffinity=affinity(ZONE)),
        volume(source={"local": {}}), volume(source={"csi": {}}), volume(source={"csi": {"driver": "Ab.c", "volumeHandle": "h"}}),
        volume(source={"iscsi": {"lun": 0, "targetPortal": "a", "iqn": "iqn.2001-04.com.example:x"}})),
    "shapes": tried(VOLUMES, *({"metadata": {"name": "v-{ns}"}, "spec": spec} for spec in (
        1, {"capacity": 1}, {"capacity": {"storage": {}}}, {"accessModes": "x"}, {"accessModes": [1]}, {"hostPath": 1}, {"hostPath": {"path": 1}}, {"csi": {"volumeAttributes": {"a": 1}}},
        {"claimRef": 1}, {"claimRef": {"uid": 1}}, {"persistentVolumeReclaimPolicy": 1}, {"volumeMode": 1}, {"nodeAffinity": {"required": 1}}, {"nfs": {"readOnly": "x"}}, {"rbd": {"monitors": "x"}}))),
    "admitted": [post(VOLUMES, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v-{ns}"}, "spec": volume()["spec"]}, deviates=deviations.UNPROTECTED),
                 get(OWN, deviates=deviations.UNPROTECTED)],
    "life": [post(VOLUMES, volume()), table(OWN), merge(OWN, {"spec": {"capacity": {"storage": "2Gi"}}}), merge(OWN, {"spec": {"capacity": {"storage": "1Gi"}}}),
             merge(OWN, {"spec": {"accessModes": ["ReadOnlyMany", "ReadWriteMany"]}}), merge(OWN, {"spec": {"hostPath": {"path": "/y"}}}, deviates=deviations.GO_DIFFERENCE),
             merge(OWN, {"spec": {"hostPath": None, **CSI}}, deviates=deviations.GO_DIFFERENCE), merge(OWN, {"spec": {"volumeMode": "Block"}}), merge(OWN, {"spec": {"volumeMode": None}}),
             merge(OWN, {"spec": {"persistentVolumeReclaimPolicy": "Delete", "storageClassName": "x", "mountOptions": ["o"]}}), merge(OWN, {"spec": {"persistentVolumeReclaimPolicy": "x"}}),
             merge(OWN, {"spec": {"accessModes": ["x"], "capacity": {"storage": "0"}}}),
             strategic(OWN, {"spec": {"claimRef": {"namespace": "n", "name": "c"}}}), strategic(OWN, {"spec": {"claimRef": {"uid": "u"}}}), json_patch(OWN, [{"op": "remove", "path": "/spec/claimRef/uid"}]),
             merge(f"{OWN}?dryRun=All", {"spec": {"nodeAffinity": affinity({**ZONE, "key": "failure-domain.beta.kubernetes.io/zone"})}}, deviates=deviations.OLD_LABELS),
             merge(OWN, {"spec": {"nodeAffinity": affinity(ZONE)}}),
             merge(OWN, {"spec": {"nodeAffinity": affinity({**ZONE, "values": ["b"]})}}, deviates=deviations.AFFINITY_KEPT), merge(OWN, {"spec": {"nodeAffinity": None}}, deviates=deviations.AFFINITY_KEPT),
             merge(OWN, {"status": {"phase": "Bound"}}), table(f"{VOLUMES}?labelSelector=case={{ns}}"), put(OWN, volume(), deviates=deviations.AFFINITY_KEPT), delete(f"{OWN}?dryRun=All"), *dropped(OWN)[:1], table(OWN),
             *dropped(OWN)[1:]],
    "drivers": [post(VOLUMES, volume(source=CSI)), merge(OWN, {"spec": {"csi": {"controllerExpandSecretRef": SECRET}}}),
                merge(OWN, {"spec": {"csi": {"controllerExpandSecretRef": {"name": "other"}}}}, deviates=deviations.GO_DIFFERENCE), merge(OWN, {"spec": {"volumeAttributesClassName": "a"}}),
                merge(OWN, {"spec": {"volumeAttributesClassName": "b"}}), merge(OWN, {"spec": {"volumeAttributesClassName": None}}), merge(OWN, {"spec": {"volumeAttributesClassName": ""}}), *dropped(OWN)],
    "status": [post(VOLUMES, volume()), merge(f"{OWN}/status", {"status": {"phase": "Available"}}), merge(f"{OWN}/status", {"status": {"phase": "Available", "message": "m"}}),
               merge(f"{OWN}/status", {"status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"}}), merge(f"{OWN}/status", {"status": {"lastPhaseTransitionTime": None}}),
               merge(f"{OWN}/status", {"status": {"lastPhaseTransitionTime": "2026-02-01T00:00:00Z"}}), merge(f"{OWN}/status", {"status": {"phase": "Released", "reason": "r"}}),
               merge(f"{OWN}/status", {"status": {"phase": None}}), merge(f"{OWN}/status", {"spec": {"storageClassName": "x"}, "metadata": {"labels": {"s": "t"}}}),
               put(f"{OWN}/status", volume()), get(f"{OWN}/status"), table(OWN), *dropped(OWN)],
    "apply": [apply(f"{OWN}?fieldManager={manager}{force}", body) for manager, force, body in (
        ("a", "", volume()), ("a", "", volume(claimRef={"name": "c", "namespace": "n"})), ("b", "", volume(claimRef={"uid": "u"})), ("b", "", volume(claimRef={"name": "d"})),
        ("b", "&force=true", volume(claimRef={"name": "d"})), ("c", "", volume(capacity={"storage": "2Gi"})))] + [get(OWN), *dropped(OWN)],
    "types": [post(VOLUMES, volume())] + [strategic(f"{OWN}?dryRun=All", {"spec": spec}) for spec in (
        "x", {"capacity": "x"}, {"capacity": {"storage": True}}, {"accessModes": {}}, {"claimRef": "x"}, {"hostPath": []}, {"nodeAffinity": 5})] + dropped(OWN),
    "lists": [post(VOLUMES, volume("a-{ns}")), post(VOLUMES, volume("b-{ns}", storageClassName="x")), *gets(*(f"{VOLUMES}?labelSelector=case={{ns}}&fieldSelector={fields}" for fields in (
        "name=a-{ns}", "metadata.name=b-{ns}", "metadata.name!=a-{ns}", "spec.storageClassName=x", "status.phase=Pending"))),
        watch(f"{VOLUMES}?resourceVersion=0&labelSelector=case={{ns}}", [merge(f"{VOLUMES}/a-{{ns}}/status", {"status": {"phase": "Failed"}}), delete(f"{VOLUMES}?labelSelector=case={{ns}}"),
                                                                       *(merge(f"{VOLUMES}/{name}-{{ns}}", {"metadata": {"finalizers": None}}) for name in "ab")])],
    "classes-created": tried(CLASSES, storage_class(), storage_class(reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer", allowVolumeExpansion=True, mountOptions=["o"], parameters={"a": "b"}),
                             storage_class(allowVolumeExpansion=False, parameters={}, mountOptions=[]), topology([("a", ["b"])]), storage_class(provisioner="Ab/C"), storage_class(reclaimPolicy=""),
                             topology([("a", ["b"])], [("a", ["c"])]), {**storage_class(), "apiVersion": "storage.k8s.io/v1beta1"}, {**storage_class(), "apiVersion": "v1"}),
    "classes-default": [post(f"{CLASSES}?dryRun=All", {**storage_class(), "metadata": {"name": "c-{ns}", "annotations": {key: value}}}, headers=TABLE, deviates=deviations.COLUMN_TEXTS)
                        for key, value in (*DEFAULT.items(), ("storageclass.beta.kubernetes.io/is-default-class", "true"), ("storageclass.kubernetes.io/is-default-class", "false"))],
    "classes-refused": tried(CLASSES, {}, storage_class("A"), storage_class(provisioner=""), storage_class(provisioner="a b"), storage_class(provisioner="a/b/c"), storage_class(reclaimPolicy="Recycle"),
                             storage_class(volumeBindingMode="x"), storage_class(volumeBindingMode=""), storage_class(parameters={"": "x"}), storage_class(parameters={f"k{n}": "v" for n in range(513)}),
                             storage_class(parameters={"a": "x" * (256 << 10)}), topology([]), topology([("a", [])]), topology([("a b", ["c"])]), topology([("a", ["b", "b"])]),
                             topology([("a", ["b"]), ("a", ["c"])]), topology([("a", ["b", "c"])], [("a", ["c", "b"])]), topology([("a", ["b"]), ("c", ["d"])], [("c", ["d"]), ("a", ["b"])]),
                             storage_class(parameters=1), storage_class(provisioner=1), storage_class(allowedTopologies=[1]), storage_class(allowVolumeExpansion="x")),
    "classes-life": [post(CLASSES, storage_class(parameters={"a": "b"})), table(OWN_CLASS), merge(OWN_CLASS, {"allowVolumeExpansion": True}), merge(OWN_CLASS, {"provisioner": "y"}), merge(OWN_CLASS, {"parameters": {"a": "c"}}),
                     merge(OWN_CLASS, {"parameters": None}), merge(OWN_CLASS, {"reclaimPolicy": "Retain"}), merge(OWN_CLASS, {"reclaimPolicy": None}), merge(OWN_CLASS, {"volumeBindingMode": "x"}),
                     merge(OWN_CLASS, {"provisioner": ""}), merge(OWN_CLASS, {"mountOptions": ["a"]}), strategic(OWN_CLASS, {"mountOptions": ["b"]}), put(OWN_CLASS, storage_class(parameters={"a": "b"})),
                     merge(OWN_CLASS, {"metadata": {"annotations": None}, "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}]}), get(f"{OWN_CLASS}/status"),
                     *(apply(f"{OWN_CLASS}?fieldManager={manager}", storage_class(**members)) for manager, members in (
                         ("a", {"parameters": {"a": "b"}}), ("b", {"mountOptions": ["z"]}), ("b", {"allowedTopologies": []}), ("a", {"parameters": {"x": "y"}}))),
                     *gets(*(f"{CLASSES}?labelSelector=case={{ns}}&fieldSelector={fields}" for fields in ("metadata.name=c-{ns}", "provisioner=x.io/p", "name=c-{ns}"))),
                     table(f"{CLASSES}?labelSelector=case={{ns}}"), delete(f"{OWN_CLASS}?dryRun=All"), delete(f"{CLASSES}?labelSelector=case={{ns}}"), get(OWN_CLASS), put(OWN_CLASS, storage_class())],
}
