"""What objects of some kinds hold besides metadata, made at random: whole bodies, and patches that fit them roughly."""

import dataclasses

IMAGES = ["i:1", "i:2", "j"]
CONTAINERS = ["main", "side", "log"]
PORTS = {"main": [80, 81, 443], "side": [8080, 8081], "log": [9090, 9091], "init": [7070]}  # the same one twice is worth a warning
ENVIRONMENT = ["A", "B", "C"]
VOLUMES = ["data", "conf", "tmp"]
NEEDED = {"template", "spec", "livenessProbe", "httpGet", "configMap", "emptyDir"}  # nothing is left that is valid when these are emptied


@dataclasses.dataclass
class Subject:
    """One kind: where it is, how it is called, and what makes its fields (a Maker is given)."""

    path: str
    api_version: str
    kind: str
    whole: object  # what a POST or PUT sends
    patch: object  # what a merge patch or an apply sends
    places: dict  # where a JSON patch may work, and what it may put there

    def body(self, metadata, fields):
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **fields}


def revision_whole(m):
    return {"data": {"k": "v"}, "revision": m.random.randint(0, 5)}


def revision_patch(m):
    out = {}
    if m.rarely(2):
        out["data"] = {"k": "v"}
    if m.rarely(3):
        out["revision"] = m.one([0, 1, 2, 3, -1, None])
    return out


def config_whole(m):
    out = {"data": m.texts()} if m.rarely(2) else {}
    if m.rarely(3):
        out["binaryData"] = {m.one(["x", "y"]): m.one(["YQ==", "Yg==", ""])}
    if m.rarely(25):
        out["immutable"] = m.one([True, False])
    return out


def config_patch(m):
    out = config_whole(m)
    if m.rarely(3):
        out["data"] = {m.one(["a", "b"]): m.one(["1", None])}
    if m.rarely(8):
        out[m.one(["data", "binaryData"])] = None
    return out


def one_of_each(m, keys, make, most=2):
    return [make(key) for key in m.some(keys, most)]


def container(m, name):
    out = {"name": name, "image": m.one(IMAGES)}
    if m.rarely(3):
        out["ports"] = one_of_each(m, PORTS[name], lambda port: {"containerPort": port, **({"protocol": m.one(["TCP", "UDP"])} if m.rarely(2) else {})})
    if m.rarely(3):
        out["env"] = one_of_each(m, ENVIRONMENT, lambda key: {"name": key, "value": m.one(["1", "2", ""])})
    if m.rarely(4):
        out["args"] = m.some(["-v", "-x", "y"])
    if m.rarely(5):
        out["resources"] = {"limits": {"cpu": m.one(["1", "500m", "0.5"]), "memory": m.one(["1Gi", "1024Mi"])}}
    if m.rarely(6):
        out["securityContext"] = {"runAsUser": m.one([0, 1]), "capabilities": {"add": m.some(["A", "B"])}}
    if name != "init" and m.rarely(6):
        out["livenessProbe"] = {"httpGet": {"path": "/", "port": m.one([80, 81])}}
    return out


def volume(m, name):
    return {"name": name, **({"configMap": {"name": m.one(["c", "d"])}} if name == "conf" else {"emptyDir": m.one([{}, {"medium": "Memory"}])})}


def pod(m, is_whole):
    out = {}
    # Always, for an apply may create: without containers there is no pod.
    out["containers"] = [container(m, name) for name in ["main", *m.some(CONTAINERS[1:], 2)]]
    if m.rarely(4):
        out["initContainers"] = [container(m, "init")]
    if is_whole or m.rarely(5):
        out["volumes"] = [volume(m, name) for name in (VOLUMES if is_whole else m.some(VOLUMES, 2))]
    if m.rarely(4):
        out["nodeSelector"] = m.texts()
    if m.rarely(4):
        out["tolerations"] = [{"key": m.one(["a", "b"]), "operator": "Exists"}]
    if m.rarely(4):
        out["hostAliases"] = one_of_each(m, ["1.2.3.4", "1.2.3.5"], lambda ip: {"ip": ip, "hostnames": m.some(["a", "b"])})
    if m.rarely(4):
        out["imagePullSecrets"] = one_of_each(m, ["s", "t"], lambda name: {"name": name})
    if m.rarely(6):
        out["terminationGracePeriodSeconds"] = m.one([0, 5, 45])
    if m.rarely(6):
        out["securityContext"] = m.one([{"fsGroup": 1}, {"runAsUser": 5, "supplementalGroups": [1, 2]}, {}])
    return out


def template_whole(m):
    return {"template": {"metadata": {"labels": m.texts()}, "spec": pod(m, True)}}


def template_patch(m):
    out = {"spec": pod(m, False)}
    if m.rarely(3):
        out["metadata"] = {"labels": m.texts()}
    if m.rarely(12):
        out["spec"][m.one(["volumes", "nodeSelector", "tolerations", "hostAliases"])] = None
    return {"template": out}


TEMPLATE_PLACES = {
    "/template/spec/containers/0/image": IMAGES,
    "/template/spec/containers/0/env": [[{"name": "A", "value": "9"}], []],
    "/template/spec/volumes": [[], [{"name": "data", "emptyDir": {}}]],
    "/template/spec/nodeSelector": [{"a": "b"}, {}],
    "/template/metadata/labels/a": ["5", ""],
}

REVISIONS = Subject("{crs}", "apps/v1", "ControllerRevision", revision_whole, revision_patch, {"/revision": [-1, 0, 1, 2, 3]})
CONFIGS = Subject("{cms}", "v1", "ConfigMap", config_whole, config_patch, {"/data/a": ["1", "x", ""], "/data": [{"a": "1"}, {}, None], "/immutable": [True, False]})
TEMPLATES = Subject("{pts}", "v1", "PodTemplate", template_whole, template_patch, TEMPLATE_PLACES)
ALL = [REVISIONS, CONFIGS, TEMPLATES]
