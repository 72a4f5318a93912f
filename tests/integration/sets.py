"""StatefulSets that run: an `annals up --fake-nodes=2` for a module, and a namespace of its own for each test.

    world   a fixture of the module, once for each carrier of the history; `pytestmark` or a parameter may choose one
    room    a namespace there: room.make("web", replicas=2), room.settle("web"), room.pods("web"), room.history("web")

Nothing here waits for time to pass: settle() and until() wait for what stands in the API.
"""

import itertools
import json
import os

import pytest

from objects import APPS, BETA, JSON_PATCH, MERGE  # pylint: disable=unused-import
from processes import Shared, retry_until

CONTROLLERREVISIONS, PODTEMPLATES = CARRIERS = ("controllerrevisions", "podtemplates")
ORDER = "fake-node.annals.dev/"  # annotations that fake nodes obey (docs/how-to/fake-nodes.md)
BROKEN = {ORDER + "ready": "false"}
HASH, GENERATION = "controller-revision-hash", "statefulset-template-revision"
CONTROLLERS = "system:annals-controllers"

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  resources: [{group: coordination.k8s.io}, {resources: [events]}]
- level: RequestResponse
"""


def template(image="i:1", annotations=None, labels=None, **spec):
    meta = {"labels": labels or {"app": "web"}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def statefulset(name="web", api_version=APPS, app=None, metadata=None, **spec):
    """app: the label by which it selects, its name by default. spec: image=..., annotations=... go into its template."""
    labels = {"app": app or name}
    of_template = {key: spec.pop(key) for key in ("image", "annotations") if key in spec}
    return {"apiVersion": api_version, "kind": "StatefulSet", "metadata": {"name": name, **(metadata or {})},
            "spec": {"replicas": 1, "serviceName": "web", "selector": {"matchLabels": labels},
                     "template": template(labels=labels, **of_template), **spec}}


def controller_of(thing):
    """The uid of its controller, or None."""
    return next((ref["uid"] for ref in thing["metadata"].get("ownerReferences", []) if ref.get("controller")), None)


def reference(owner, controller=True, **other):
    ref = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {**ref, **({"controller": True, "blockOwnerDeletion": True} if controller else {}), **other}


def is_ready(pod):
    return any((c["type"], c["status"]) == ("Ready", "True") for c in pod.get("status", {}).get("conditions", []))


def is_going(thing):
    return "deletionTimestamp" in thing["metadata"]


def is_observed(it):
    """The set's status is of the set as it is."""
    return it.get("status", {}).get("observedGeneration", 0) >= it["metadata"]["generation"]


def label(thing, name):
    return thing["metadata"].get("labels", {}).get(name)


def number_of(revision):
    """Its place in the order: a ControllerRevision's own, or the generation of a PodTemplate."""
    return revision["revision"] if "revision" in revision else int(label(revision, GENERATION))


class World(Shared):
    def __init__(self, carrier=CONTROLLERREVISIONS, *flags, nodes=2):
        self.carrier = carrier
        super().__init__(f"--fake-nodes={nodes}", f"--statefulset-history={carrier}", *flags)
        (self.dir / "policy.yaml").write_text(AUDIT_POLICY)
        self.audit_log = self.dir / "audit.log"
        self.flags += (f"--audit-policy-file={self.dir / 'policy.yaml'}", f"--audit-log-path={self.audit_log}")

    @property
    def server(self):
        return self.get()


rooms = (f"sets-{os.getpid()}-{n}" for n in itertools.count(1))


class Room:
    """A namespace of a server, and what stands in it. carrier: of the histories there."""

    def __init__(self, server, carrier=CONTROLLERREVISIONS, audit_log=None):
        self.server, self.carrier, self.audit_log = server, carrier, audit_log
        self.namespace = next(rooms)
        self.create({"metadata": {"name": self.namespace}}, path="/api/v1/namespaces")

    # ---- any object ----

    def path(self, kind, name="", sub=""):
        group = {"statefulsets": f"apis/{APPS}", "controllerrevisions": f"apis/{APPS}", "leases": "apis/coordination.k8s.io/v1"}.get(kind, "api/v1")
        return "/".join(filter(None, (f"/{group}/namespaces/{self.namespace}/{kind}", name, sub)))

    def set_path(self, name="", api_version=APPS, sub=""):
        return "/".join(filter(None, (f"/apis/{api_version}/namespaces/{self.namespace}/statefulsets", name, sub)))

    def answered(self, answer, status=200):
        assert answer.status == status, answer
        return answer.json

    def create(self, body, path=None, kind=None, status=201):
        return self.answered(self.server.post(path or self.path(kind), body), status)

    def all(self, kind):
        return {thing["metadata"]["name"]: thing for thing in self.answered(self.server.get(self.path(kind)))["items"]}

    def one(self, kind, name):
        return self.answered(self.server.get(self.path(kind, name)))

    def change(self, kind, name, body, how=MERGE, status=200, sub=""):
        return self.answered(self.server.patch(self.path(kind, name, sub), body, kind=how), status)

    def annotate(self, kind, name, **annotations):
        """None takes one away."""
        return self.change(kind, name, {"metadata": {"annotations": annotations}})

    def order(self, pod, what, value):
        """To the fake node on which that pod is."""
        return self.annotate("pods", pod, **{ORDER + what: value})

    def delete(self, kind, name, policy=None, **options):
        body = {**({"propagationPolicy": policy} if policy else {}), **options}
        answer = self.server.delete(self.path(kind, name), body or None)
        assert answer.status in (200, 202), answer

    def is_gone(self, kind, name):
        return self.server.get(self.path(kind, name)).status == 404

    def until_gone(self, kind, name):
        retry_until(lambda: self.is_gone(kind, name), f"{kind} {name} is gone")

    def until(self, condition, what):
        try:
            return retry_until(condition, what, interval=0.05)
        except TimeoutError as e:
            raise AssertionError(f"{e}\n{self.show()}") from e

    # ---- sets ----

    def make(self, name="web", api_version=APPS, **spec):
        return self.create(statefulset(name, api_version, **spec), self.set_path(api_version=api_version))

    def get(self, name="web", api_version=APPS):
        return self.answered(self.server.get(self.set_path(name, api_version)))

    def patch(self, name, body, api_version=APPS, how=MERGE, sub="", status=200):
        return self.answered(self.server.patch(self.set_path(name, api_version, sub), body, kind=how), status)

    def spec(self, name="web", api_version=APPS, **spec):
        """Merges that into its spec."""
        return self.patch(name, {"spec": spec}, api_version)

    def image(self, image, name="web", api_version=APPS, annotations=None):
        """Another template; annotations: merged into the template's."""
        changed = {"spec": {"containers": [{"name": "c", "image": image}]}}
        if annotations is not None:
            changed["metadata"] = {"annotations": annotations}
        return self.patch(name, {"spec": {"template": changed}}, api_version, how="application/strategic-merge-patch+json")

    def pods(self, name="web"):
        """Those whose names say that they are the set's, by their names, whoever owns them."""
        return {n: pod for n, pod in self.all("pods").items() if n.rpartition("-")[0] == name}

    def uids(self, name="web"):
        return {n: pod["metadata"]["uid"] for n, pod in self.pods(name).items()}

    def images(self, name="web"):
        return {n: pod["spec"]["containers"][0]["image"] for n, pod in sorted(self.pods(name).items())}

    def history(self, name="web"):
        """The revisions that the set controls, from the oldest to the newest."""
        uid = self.get(name)["metadata"]["uid"]
        return sorted((r for r in self.all(self.carrier).values() if controller_of(r) == uid), key=number_of)

    def is_observed(self, name="web"):
        return is_observed(self.get(name))

    def is_settled(self, name="web"):
        """As declared, by what the API shows: each pod there, Ready, of the newest revision, the status of today, the update complete."""
        it = self.get(name)  # once: what is read later may be of later
        status, replicas = it.get("status", {}), it["spec"]["replicas"]
        pods = self.pods(name).values()
        return (is_observed(it) and status.get("currentRevision") == status.get("updateRevision")
                and [status.get(n, 0) for n in ("replicas", "readyReplicas", "updatedReplicas", "currentReplicas")] == [replicas] * 4
                and sum(controller_of(pod) == it["metadata"]["uid"] for pod in pods) == replicas
                and all(is_ready(pod) and not is_going(pod) for pod in pods if controller_of(pod) == it["metadata"]["uid"]))

    def settle(self, name="web"):
        self.until(lambda: self.is_settled(name), f"{name} settles")
        return self.get(name)

    def running(self, name="web", **spec):
        """A set that has come up."""
        self.make(name, **spec)
        return self.settle(name)

    def events(self, name="web", reason=None):
        """What has been said of the set: (type, reason, message)."""
        found = self.all("events").values()
        return [(e["type"], e["reason"], e["message"]) for e in found
                if e["involvedObject"]["name"] == name and reason in (None, e["reason"])]

    def pulse(self, name="web"):
        """Waits for a pass that began after this call, as the status of a new generation shows: of what it would do, it has done all but to
        trim the history. What is changed means nothing to a set without claims."""
        policy = self.get(name)["spec"].get("persistentVolumeClaimRetentionPolicy", {})
        other = "Retain" if policy.get("whenScaled") == "Delete" else "Delete"
        self.spec(name, persistentVolumeClaimRetentionPolicy={"whenScaled": other})
        self.until(lambda: self.is_observed(name), f"{name} is looked at")

    def writes(self, kind=None, by=CONTROLLERS):
        """What the audit log has of this namespace: (verb, kind, subresource, name). Its last line may be under way."""
        found = []
        whole, _, _ = self.audit_log.read_text().rpartition("\n")
        for line in whole.splitlines():
            event = json.loads(line)
            of = event.get("objectRef", {})
            if of.get("namespace") == self.namespace and event["user"]["username"] == by and kind in (None, of["resource"]):
                name = of.get("name") or (event.get("responseObject") or {}).get("metadata", {}).get("name")
                found.append((event["verb"], of["resource"], of.get("subresource"), name))
        return found

    def show(self):
        """For a test that has failed."""
        lines = [json.dumps(it.get("status", {})) for it in self.all("statefulsets").values()]
        for pod in self.all("pods").values():
            lines.append(f"{pod['metadata']['name']} {pod['status'].get('phase')} ready={is_ready(pod)} going={is_going(pod)} "
                         f"{label(pod, HASH)} {pod['spec']['containers'][0]['image']}")
        lines += [f"{r['metadata']['name']} {number_of(r)}" for r in self.all(self.carrier).values() if "revision" in r or label(r, GENERATION)]
        return "\n".join(lines + [str(e) for e in map(lambda e: (e["reason"], e["message"]), self.all("events").values())])

    def leave(self):
        self.server.delete(f"/api/v1/namespaces/{self.namespace}")


@pytest.fixture(scope="module", params=CARRIERS)
def world(request):
    found = World(request.param)
    yield found
    found.close()


@pytest.fixture
def room(world):  # pylint: disable=redefined-outer-name
    found = Room(world.server, world.carrier, world.audit_log)
    yield found
    found.leave()
