"""Exchanges recorded from a kube-apiserver's apps/v1, as they must be at annals.dev/v1, the API version that annals has behind a cluster; and who is
sent what: the cluster has namespaces and kinds of its own, annals nothing but its API versions."""

import json
import re

import aggregated
import compare
import normalizer
import processes
import recordings
import truth
import wire

OURS = re.compile(r"(/openapi/v3)?/apis/annals\.dev/v1\b")
NAMESPACE = re.compile(r"/api/v1/namespaces/[^/?]+")

# Where a group is written in JSON, or in YAML within JSON.
TEXTS = [(r"apps/v1", "annals.dev/v1"), (r"\.apps(?=[ /])", ".annals.dev"), (r'("group": "|group: |API group \\")apps\b', r"\1annals.dev"),
         (r"/apis/apps\b", "/apis/annals.dev")]


def load():
    """All recorded cases that speak of an API version of ours."""
    return [entry for entry in map(at_our_version, recordings.load()) if steps(entry)]


def at_our_version(entry):
    text = json.dumps(entry)
    for pattern, by in TEXTS:
        text = re.sub(pattern, by, text)
    return json.loads(text)


def steps(entry):
    """The names of what is compared: requests that annals answers, and their order."""
    case = entry["case"]

    def is_ours(number):
        path = case["steps"][int(number) - 1]["path"]
        for name, value in case["vars"].items():
            path = path.replace("{%s}" % name, value)
        return OURS.match(path)

    found = [step for step in recordings.steps(entry) if step == "order" or is_ours(step)]
    return found if found != ["order"] else []


class Informing(wire.Client):
    """kube-apiserver. A namespace that has been deleted there is deleted when annals has heard of it: it watches them, as all servers behind it do."""

    def __init__(self, url, annals, *credentials):
        super().__init__(url, *credentials)
        self.annals = annals

    def exchange(self, method, target, *arguments, **more):
        answer = super().exchange(method, target, *arguments, **more)
        if method == "DELETE" and NAMESPACE.fullmatch(target) and answer[0] == 200:
            self.wait_heard(target.rpartition("/")[2])
        return answer

    def wait_heard(self, namespace):
        path = f"/apis/annals.dev/v1/namespaces/{namespace}/controllerrevisions?dryRun=All"
        body = {"metadata": {"name": "heard"}, "revision": 1}
        processes.retry_until(lambda: self.annals.post(path, body).status in (403, 404), f"annals to hear that {namespace} is deleted")


class Split(wire.Client):
    """annals itself for what is its own, the cluster for the rest."""

    def __init__(self, url, cluster, *credentials):
        super().__init__(url, *credentials)
        self.cluster = cluster

    def exchange(self, method, target, *arguments, **more):
        if OURS.match(target):
            return super().exchange(method, target, *arguments, **more)
        return self.cluster.exchange(method, target, *arguments, **more)

    def close(self):
        super().close()
        self.cluster.close()


def without_digests(node):
    """Without what annals.dev/v1 adds to objects of apps/v1: an annotation, which belongs to who has made the object."""
    if isinstance(node, dict):
        drop_member(node, "metadata", "annotations", "annals.dev/digest")
        drop_member(node, "f:metadata", "f:annotations", "f:annals.dev/digest")
        for child in node.values():
            without_digests(child)
    elif isinstance(node, list):
        for child in node:
            without_digests(child)
    return node


def drop_member(node, *names):
    """Takes away a member of a member of a member, and those around it that it alone has filled."""
    path = [node]
    for name in names:
        if not isinstance(path[-1], dict) or name not in path[-1]:
            return
        path.append(path[-1][name])
    for parent, name in reversed(list(zip(path, names))):
        del parent[name]
        if set(parent) - {"."}:
            return


def replay(clients, entry, hooks):
    """{step: (what was recorded, what each client was answered ...)}. One client after the other: versions and tokens show each write."""
    def play(client):
        results, order = compare.observe(client, entry["case"], hooks)
        return {step: (want, without_digests(got)) for step, (want, got) in
                compare.compare(entry["case"], entry["results"], entry["order"], results, order).items()}

    played = [play(client) for client in clients]
    return {step: (played[0][step][0], *(one[step][1] for one in played)) for step in steps(entry)}


class Served:
    """A cluster with annals behind it, and what both ways to it have answered."""

    def __init__(self, folder, certificates):
        self.cluster = aggregated.Cluster(folder, certificates, aggregated.ANNALS, controllers=False)
        behind = self.cluster.behind[aggregated.ANNALS.name]
        self.annals, self.gateway = behind.replicas[0], truth.Gateway(behind.etcd.endpoint)
        credentials = (certificates.ca, *certificates.admin)
        kube = Informing(self.cluster.kube.url, self.annals, *credentials)
        self.clients = [Split(self.annals.url, kube, *credentials), kube]
        self.answers = {}

    @property
    def everything(self):
        return self.cluster.everything

    def replay(self, entry):
        """{step: (recorded, direct, through)}; each case runs once."""
        name = entry["case"]["name"]
        if name not in self.answers:
            self.gateway.step_over(normalizer.literal_numbers(entry["case"]))
            self.answers[name] = replay(self.clients, entry, {"compact": lambda: truth.forget(self.gateway, [self.annals])})
        return self.answers[name]

    def stop(self):
        for client in self.clients:
            client.close()
        self.cluster.stop()
