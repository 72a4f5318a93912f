"""kubectl says the same of annals' ControllerRevisions, which kube-apiserver passes on, as of kube-apiserver's own: every command is given twice,
once with each group."""

import json
import re

import pytest

import both
import processes
from aggregated import ANNALS, KUBES_OWN

OURS = ANNALS.kind


DIGEST = [(r'"?annals\.dev/digest"?: "?\w+"?,?\s*', ""), (r"[ .]*f:annals\.dev/digest: \{\}\n", ""), (r"(REVISION +)LIVE +SIZE +", r"\1"),
          (r"(<none> +\d+ +)<unknown> +\d+ +(?=\d+[sm])", r"\1")]


class Groups:
    """k("get", "RES") with both resources in a namespace of its own is what both printed."""

    def __init__(self, cluster):
        self.cluster, self.namespaces = cluster, {kind: cluster.make_namespace() for kind in (KUBES_OWN, OURS)}

    def arguments(self, kind, arguments):
        resource = f"{kind.resource}.{kind.versions[0]}.{kind.group}"
        return ["--namespace", self.namespaces[kind], *(argument.replace("RES", resource) for argument in arguments)]

    def run(self, kind, arguments, input=None, **env):
        text = json.dumps({"apiVersion": kind.api_version, **input}) if isinstance(input, dict) else input
        return self.cluster.kubectl(*self.arguments(kind, arguments), input=text, **env)

    def plain(self, kind, text):
        """Without what tells the groups apart, what makes columns wide, and what only ours have: a digest, and a column for the size."""
        for pattern, by in DIGEST if kind is OURS else ():
            text = re.sub(pattern, by, text)
        text = text.replace(kind.group, "<group>").replace(self.namespaces[kind], "<namespace>")
        return re.sub(r" {2,}", "  ", re.sub(r"@@ .+ @@", "@@", both.plain(text)))

    def __call__(self, *arguments, input=None, **env):
        done = {kind: self.run(kind, arguments, input, **env) for kind in self.namespaces}
        outcomes = [(one.returncode, self.plain(kind, one.stdout), self.plain(kind, one.stderr)) for kind, one in done.items()]
        assert outcomes[0] == outcomes[1], f"kubectl {' '.join(arguments)}:\n{both.difference(*outcomes)}"
        return outcomes[0][1] + outcomes[0][2]

    def start(self, *arguments):
        return {kind: self.cluster.start_kubectl(*self.arguments(kind, arguments)) for kind in self.namespaces}


def revision(name="web-1", app="web", image="nginx:1", number=1):
    return {"kind": "ControllerRevision", "metadata": {"name": name, "labels": {"app": app}, "annotations": {"note": "n"}},
            "data": {"image": image, "size": 1}, "revision": number}


@pytest.fixture
def k(cluster):
    cluster.behind[ANNALS.name].wait_described()  # kubectl looks there what a server can validate
    return Groups(cluster)


def test_kubectl__creates_and_shows(k):
    assert "created" in k("create", "-f", "-", input=revision())
    assert "AlreadyExists" in k("create", "-f", "-", input=revision())
    assert "unknown field" in k("create", "-f", "-", input={**revision("typed"), "bogus": 1})
    assert "data is mandatory" in k("create", "-f", "-", input={**revision("empty"), "data": None})
    for form in ("wide", "yaml", "json", "name", "jsonpath={.items[*].metadata.name}", "custom-columns=N:.metadata.name,R:.revision"):
        assert "web-1" in k("get", "RES", "-o", form)
    k("get", "RES", "--show-labels", "-l", "app=web")
    k("get", "RES", "-l", "app!=web")
    k("get", "RES", "-l", "a b")
    k("get", "RES", "--field-selector", "metadata.name=web-1")
    k("get", "RES", "--chunk-size=1")
    k("get", "RES", "none")
    k("get", "RES", "none", "--ignore-not-found")
    assert "nginx:1" in k("describe", "RES", "web-1")


def test_kubectl__applies(k):
    def apply(*flags, **more):
        return k("apply", "-f", "-", *flags, input=revision(**more))

    assert "created" in apply()
    assert "unchanged" in apply()
    assert "configured" in apply(number=2)
    apply(app="db", number=2)
    assert "immutable" in apply(image="nginx:2", number=2)
    assert "conflict" in apply("--server-side", "--field-manager=two", number=3)
    assert "serverside-applied" in apply("--server-side", number=3)
    assert "serverside-applied" in apply("--server-side", "--field-manager=two", "--force-conflicts", number=4)
    assert "size: 1" in k("get", "RES", "web-1", "-o", "yaml", "--show-managed-fields")
    apply("--dry-run=server", "-o", "yaml", number=5)
    assert "revision: 6" in k("diff", "-f", "-", input=revision(number=6))
    for kind in k.namespaces:  # the lines around the difference are not the same
        assert "+revision: 6" in k.run(kind, ("diff", "--server-side", "--force-conflicts", "-f", "-"), input=revision(number=6)).stdout
    assert "deleted" in k("delete", "-f", "-", input=revision())


def test_kubectl__changes(k):
    k("create", "-f", "-", input=revision())
    assert "labeled" in k("label", "RES", "web-1", "tier=front")
    assert "already has a value" in k("label", "RES", "web-1", "tier=back")
    k("label", "RES", "web-1", "bad key=x")
    assert "annotated" in k("annotate", "RES", "web-1", "other=it is so")
    patches = [("merge", {"revision": 7}), ("strategic", {"metadata": {"finalizers": ["example.com/hold"]}}),
               ("json", [{"op": "replace", "path": "/revision", "value": 8}]), ("json", [{"op": "test", "path": "/revision", "value": 1}]), ("merge", {"data": {"x": 1}})]
    for kind, patch in patches:
        k("patch", "RES", "web-1", "--type", kind, "-p", json.dumps(patch))
    assert "edited" in k("edit", "RES", "web-1", EDITOR="sed -i s/front/edited/")
    assert "cancelled" in k("edit", "RES", "web-1", EDITOR="true")
    assert "tier: edited" in k("get", "RES", "web-1", "-o", "yaml")
    k("replace", "-f", "-", input=revision(number=9))
    k("get", "RES", "web-1", "-o", "yaml")


def test_kubectl__deletes(k):
    for name in ("one", "two", "three"):
        k("create", "-f", "-", input=revision(name))
    assert "(server dry run)" in k("delete", "RES", "one", "--dry-run=server")
    assert "deleted" in k("delete", "RES", "one")
    k("patch", "RES", "two", "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    k("delete", "RES", "two", "--wait=false")
    assert "deletionTimestamp" in k("get", "RES", "two", "-o", "yaml")
    waiting = k.start("wait", "--for=delete", "RES/two", "--timeout=60s")
    k("patch", "RES", "two", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert [process.wait() for process in waiting.values()] == [0, 0]
    k("delete", "RES", "-l", "app=none")
    assert "three" in k("delete", "RES", "--all")
    assert "NotFound" in k("delete", "RES", "three")


def test_kubectl__watches(k):
    k("create", "-f", "-", input=revision())
    watching = k.start("get", "RES", "--watch", "--output-watch-events")
    for process in watching.values():
        assert process.stdout.wait("ADDED")
    k("label", "RES", "web-1", "app=db", "--overwrite")
    k("delete", "RES", "web-1")
    for process in watching.values():
        assert process.stdout.wait("DELETED")
    outputs = [k.plain(kind, process.stdout.text) for kind, process in watching.items()]
    for process in watching.values():
        process.stop()
    assert outputs[0] == outputs[1] and "MODIFIED" in outputs[0]


def fields(text):
    """Names and types: what they are for is said in words of our own."""
    return [line for line in text[text.index("FIELDS:"):].splitlines() if "enum: " not in line]


def test_kubectl__explains(k):
    texts = {kind: k.run(kind, ("explain", "controllerrevisions", "--api-version", kind.api_version, "--recursive")).stdout for kind in k.namespaces}
    assert "annals.dev" in texts[OURS]
    assert fields(texts[OURS]) == fields(texts[KUBES_OWN])


def resources(cluster, group):
    text = cluster.kubectl("api-resources", "--no-headers", "-o", "wide", "--api-group", group).stdout
    return [line.split() for line in text.splitlines()]


def test_kubectl__lists_what_is_served(cluster):
    ours, kubes = ([line for line in resources(cluster, kind.group) if line[0] == kind.resource] for kind in (OURS, KUBES_OWN))
    assert ours == [[word.replace("apps/v1", "annals.dev/v1") for word in line] for line in kubes]
    assert {"annals.dev/v1", "annals.dev/v1beta1"} <= set(cluster.kubectl("api-versions").stdout.split())
    assert cluster.kubectl("get", "--raw", "/apis/annals.dev/v1").stdout.startswith('{"kind":"APIResourceList"')


def test_kubectl__finds_each_version(cluster, k):
    k("create", "-f", "-", input=revision())
    for version in OURS.versions:
        got = cluster.kubectl("get", "--namespace", k.namespaces[OURS], f"controllerrevisions.{version}.annals.dev", "web-1", "-o", "json")
        assert json.loads(got.stdout)["apiVersion"] == f"annals.dev/{version}"


def test_kubectl__documents_are_merged(cluster):
    """kube-apiserver puts our OpenAPI documents together with its own, a while after the APIServices are there."""
    def merged():
        return "/apis/annals.dev/v1/namespaces/{namespace}/controllerrevisions" in cluster.kube.get("/openapi/v2").json["paths"]

    processes.retry_until(merged, "our paths in /openapi/v2", interval=0.2, patience=processes.LONG_PATIENCE)
    cluster.behind[ANNALS.name].wait_described()
    definitions = cluster.kube.get("/openapi/v2").json["definitions"]
    claims = [str(gvk) for definition in definitions.values() for gvk in definition.get("x-kubernetes-group-version-kind", [])]
    assert len(claims) == len(set(claims)), "who takes the document as a schema refuses kinds that come twice"
    paths = cluster.kube.get("/openapi/v3").json["paths"]
    assert {"apis/annals.dev/v1", "apis/annals.dev/v1beta1"} <= set(paths)
    document = cluster.kube.get(paths["apis/annals.dev/v1"]["serverRelativeURL"]).json
    assert "/apis/annals.dev/v1/namespaces/{namespace}/controllerrevisions/{name}" in document["paths"]
