"""deploy/: what it has is valid for a real kube-apiserver, and what it installs works: certificates, an etcd of three members, annals with the
rights that it needs and no others."""

import base64
import json
import os
import re
import shutil
import socket
import ssl

import pytest
import yaml

import kube
import processes
from aggregated import ANNALS, APISERVICES, DISCOVERY, NAMESPACES, RBAC, REVIEWS, Cluster, whole_lines
from installed import DEPLOY, KUSTOMIZE, NAMESPACE, Installed

HELM = processes.PEERS / "helm"
CHART = DEPLOY / "helm" / "annals"
KUBE_VERSION = ["--kube-version", "1.36.0"]  # without a cluster, helm would take a version of its own
DEFINITIONS = processes.PEERS / "cert-manager"
OPERATOR = processes.PEERS / "prometheus-operator"  # its definitions, where they could be had
OVERLAYS = sorted(path.name for path in (KUSTOMIZE / "overlays").iterdir())
VALUES = {
    "secret": ["certificates.ca=x"],
    "cert-manager": ["certificates.source=cert-manager"],
    "small": ["certificates.source=cert-manager", "etcd.replicas=1", "replicas=1", "networkPolicy=false", "priorityClassName="],
    "own-etcd": ["certificates.ca=x", "etcd.bundled=false", "etcd.endpoints={https://a:2379,https://b:2379}", "etcd.clientSecretName=mine"],
    "recorder": ["certificates.ca=x", "recorder.enabled=true", "recorder.replicas=1", "networkPolicy=false"],
    "monitored": ["certificates.ca=x", "recorder.enabled=true", "monitoring.enabled=true", "monitoring.labels.release=prometheus"],
    "placed": ["recorder.enabled=true", "certificates.ca=x", "nodeSelector.disk=fast", "tolerations[0].operator=Exists", "podAnnotations.a=b", "etcd.storageClassName=fast",
               "extraArgs={-v=4}", "extraVolumes[0].name=v", "extraVolumes[0].emptyDir.medium=Memory", "extraVolumeMounts[0].name=v",
               "extraVolumeMounts[0].mountPath=/v", "imagePullSecrets[0].name=p", "fullnameOverride=annals-a"],
}


def kustomize(overlay):
    return processes.run([kube.KUBECTL, "kustomize", KUSTOMIZE / "overlays" / overlay], check=True).stdout


def template(*values, release="annals"):
    """Without what `helm test` makes."""
    sets = [word for value in values for word in ("--set", value)]
    return processes.run([HELM, "template", release, CHART, *KUBE_VERSION, "--skip-tests", "--namespace", NAMESPACE, *sets], check=True).stdout


def objects(text):
    """{(kind, name): object}."""
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


@pytest.fixture(scope="module")
def cluster(empty_cluster):
    """With the namespace, and with the definitions of cert-manager and of the Prometheus operator; nothing of annals has been installed."""
    if not DEFINITIONS.is_dir():
        pytest.skip("tests/cluster/build.sh has not been run")
    for arguments in (["-f", KUSTOMIZE / "base" / "namespace.yaml"], *(["--server-side", "-f", path] for path in (DEFINITIONS, OPERATOR) if path.is_dir())):
        done = empty_cluster.kubectl("apply", *arguments)
        assert done.returncode == 0, done.stderr
    processes.retry_until(lambda: serves_all_that_is_defined(empty_cluster), "their kinds are served")
    return empty_cluster


def serves_all_that_is_defined(cluster):
    """In discovery as kubectl reads it, with schemas by which it is validated: they come after the definitions, one after the other."""
    defined = {(one["spec"]["group"], one["spec"]["names"]["plural"]) for one in cluster.kube.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").json["items"]}
    groups = cluster.kube.get("/apis", headers=DISCOVERY).json["items"]
    served = {(group["metadata"].get("name"), resource["resource"]) for group in groups for version in group["versions"] for resource in version.get("resources", [])}
    schemas = cluster.kube.get("/openapi/v3").json["paths"]
    return defined and defined <= served and all(f"apis/{group}/v1" in schemas for group, _ in defined)


def assert_valid(cluster, text):
    """Without a warning, too."""
    if "monitoring.coreos.com/" in text and not OPERATOR.is_dir():
        pytest.skip("the Prometheus operator's definitions could not be had")
    done = cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("(server dry run)") == len(objects(text))


# ---- what it has ----


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_overlay_is_valid(cluster, overlay):
    assert_valid(cluster, kustomize(overlay))


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_chart_is_valid(cluster, values):
    sets = [word for value in values for word in ("--set", value)]
    linted = processes.run([HELM, "lint", "--strict", CHART, *sets])
    assert linted.returncode == 0, linted.stdout
    assert_valid(cluster, template(*values))


@pytest.mark.parametrize("values, complaint", [
    ([], "certificates.ca"),
    (["certificates.ca=x", "etcd.bundled=false"], "etcd.endpoints"),
    (["certificates.ca=x", "etcd.replicas=2"], "etcd.replicas|/etcd/replicas"),
    (["certificates.ca=x", "replica=3"], "replica"),
])
def test_chart_refuses_values_that_cannot_work(values, complaint):
    sets = [word for value in values for word in ("--set", value)]
    done = processes.run([HELM, "template", "annals", CHART, *KUBE_VERSION, *sets])
    assert done.returncode != 0
    assert re.search(complaint, done.stderr)


def test_chart_names_the_oldest_kubernetes_that_it_is_for():
    done = processes.run([HELM, "template", "annals", CHART, "--kube-version", "1.26.9", "--set", "certificates.ca=x"])
    assert done.returncode != 0 and "kubeVersion" in done.stderr
    assert template("certificates.ca=x")


@pytest.mark.parametrize("text", [lambda: kustomize(OVERLAYS[0]), lambda: template(*VALUES["recorder"])], ids=["kustomize", "helm"])
def test_a_hung_annals_delays_writes_for_ten_seconds_at_most(text):
    """Each write of the cluster waits for the webhook that names users, while the Service sends it to a pod that does not answer."""
    [container] = objects(text())[("Deployment", "annals")]["spec"]["template"]["spec"]["containers"]
    probe = container["readinessProbe"]
    assert probe["failureThreshold"] * (probe["periodSeconds"] + probe["timeoutSeconds"]) <= 10


def test_icon_of_the_chart_is_the_picture():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    kind, _, data = chart["icon"].partition(",")
    assert (kind, base64.b64decode(data)) == ("data:image/svg+xml;base64", (CHART / "icon.svg").read_bytes())
    assert chart["appVersion"] == re.search(r"version: '([^']*)'", (processes.ROOT / "meson.build").read_text())[1]


def test_every_value_has_a_rule():
    """The schema describes each value of values.yaml, and no other."""
    def names(schema, value, path=""):
        described, has = schema.get("properties"), value if isinstance(value, dict) else {}
        if described is None:
            assert schema.keys() & {"type", "enum"}, path
            return
        assert schema["additionalProperties"] is False, path
        assert set(described) - {"global"} == set(has), path
        for name in has:
            names(described[name], has[name], f"{path}.{name}")

    names(json.loads((CHART / "values.schema.json").read_text()), yaml.safe_load((CHART / "values.yaml").read_text()))


@pytest.mark.parametrize("source", ["kustomize", "helm"])
def test_pods_are_restricted(cluster, source):
    """The namespace enforces the strictest of Pod Security's levels: kube-apiserver takes their pods."""
    made = objects(kustomize("annals-certs-etcd-recorder") if source == "kustomize" else template("certificates.ca=x", "recorder.enabled=true"))
    for workload in (made["Deployment", "annals"], made["Deployment", "annals-recorder"], made["StatefulSet", "annals-etcd"]):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": NAMESPACE}, "spec": dict(workload["spec"]["template"]["spec"])}
        claims = workload["spec"].get("volumeClaimTemplates", [])
        pod["spec"]["volumes"] = pod["spec"].get("volumes", []) + [{"name": claim["metadata"]["name"], "emptyDir": {}} for claim in claims]
        assert_valid(cluster, yaml.safe_dump(pod))


def essence(made, servers):
    """What an object says of annals: labels, selectors and what kubectl and Helm need beside it are theirs."""
    made = json.loads(re.sub(r'"(labels|matchLabels|annotations)": \{[^{}]*\}', r'"\1": {}', json.dumps(made)))
    spec = made.get("spec", {})
    made["metadata"].pop("annotations", None)
    if made["kind"] in ("Deployment", "StatefulSet", "Service"):
        spec.pop("selector")
    for container in spec.get("template", {}).get("spec", {}).get("containers", []):
        container.pop("imagePullPolicy", None)
        container.pop("envFrom", None)
        container["args"] = {argument.replace("$(ETCD_SERVERS)", servers) for argument in container["args"]} - {"--etcd-prefix=/annals"}
    return made


@pytest.mark.parametrize("overlay, values", [("cert-manager-etcd", []), ("cert-manager-etcd-recorder", ["recorder.enabled=true"])])
def test_chart_and_kustomize_say_the_same(overlay, values):
    chart, base = objects(template("certificates.source=cert-manager", *values)), objects(kustomize(overlay))
    config, = (one for (kind, _), one in base.items() if kind == "ConfigMap")
    base = {key: one for key, one in base.items() if key[0] not in ("Namespace", "ConfigMap")}
    assert set(base) == set(chart)
    for key, one in chart.items():
        assert essence(one, "") == essence(base[key], config["data"]["ETCD_SERVERS"]), key


def test_monitoring_of_chart_and_kustomize_say_the_same(cluster, folder):
    """The overlay's component is what an overlay of a user's own names. Another test has the chart's looked at by the operator's definitions."""
    paths = {"resources": [KUSTOMIZE / "overlays" / "cert-manager"], "components": [DEPLOY / "monitoring"]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({name: [os.path.relpath(path, folder.resolve()) for path in found] for name, found in paths.items()}))
    text = processes.run([kube.KUBECTL, "kustomize", folder], check=True).stdout
    mine = objects(text)
    charts = objects(template("certificates.source=cert-manager", "monitoring.enabled=true", "recorder.enabled=true"))
    for kind, name in (("ServiceMonitor", "annals"), ("PodMonitor", "annals-recorder"), ("ClusterRole", "annals-metrics"), ("PrometheusRule", "annals"), ("ConfigMap", "annals-dashboard")):
        assert (kind, name) not in objects(template("certificates.source=cert-manager"))
        for one in (mine, charts):
            assert one[kind, name]["metadata"].pop("labels")["app.kubernetes.io/part-of"] == "annals"
        charts[kind, name].get("spec", {}).get("selector", {}).get("matchLabels", {}).pop("app.kubernetes.io/instance", None)
        assert mine[kind, name] == charts[kind, name], kind
    chosen = charts["ServiceMonitor", "annals"]["spec"]
    service, certificate = charts["Service", "annals"], charts["Certificate", "annals-serving"]
    assert chosen["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][chosen["jobLabel"]] == "annals", "the job that the rules ask for"
    assert [endpoint["port"] for endpoint in chosen["endpoints"]] == [port["name"] for port in service["spec"]["ports"]]
    assert chosen["endpoints"][0]["tlsConfig"]["serverName"] in certificate["spec"]["dnsNames"]
    assert chosen["endpoints"][0]["tlsConfig"]["ca"]["secret"]["name"] == certificate["spec"]["secretName"]
    chosen, pods = charts["PodMonitor", "annals-recorder"]["spec"], charts["Deployment", "annals-recorder"]["spec"]["template"]
    assert chosen["selector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert [endpoint["port"] for endpoint in chosen["podMetricsEndpoints"]] == [port["name"] for port in pods["spec"]["containers"][0]["ports"]]
    assert "PodMonitor" not in {kind for kind, _ in objects(template("certificates.source=cert-manager", "monitoring.enabled=true"))}
    assert_valid(cluster, text)


def test_what_is_recorded_may_be_read_and_its_users_are_known():
    """The Recorder, the rights and the webhook name the same. kube-apiserver asks no webhook about webhook configurations."""
    recorder, = objects((DEPLOY / "recorders" / "workloads.yaml").read_text()).values()
    made = objects(kustomize("annals-certs-etcd-recorder"))
    named = {(group, resource) for rule in recorder["spec"]["resources"] for group in rule["groups"] for resource in rule["resources"]}
    role = made["ClusterRole", "annals-recorder-workloads"]
    assert made["ClusterRole", "annals-recorder-reads"]["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"].items() <= role["metadata"]["labels"].items()
    readable = {(group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]}
    assert readable == named and ("", "namespaces") in named
    hook, = made["ValidatingWebhookConfiguration", "annals-recorder"]["webhooks"]
    asked = {(group, resource) for rule in hook["rules"] for group in rule["apiGroups"] for resource in rule["resources"]}
    below = {(group, resource) for group, resource in asked if "/" in resource}
    asked -= below
    groups = {group for group, _ in named}
    assert all(group in groups and (resource.startswith("*/") or (group, resource.split("/")[0]) in named) for group, resource in below)
    assert named - asked == {("admissionregistration.k8s.io", f"{kind}webhookconfigurations") for kind in ("mutating", "validating")}
    assert asked <= named and f"/recorders/{recorder['metadata']['name']}/admission" in hook["clientConfig"]["service"]["path"]


def test_webhook_asks_about_the_versions_that_are_watched(cluster):
    """The preferred ones: the state of another version is another state."""
    preferred = {group["name"]: group["preferredVersion"]["version"] for group in cluster.kube.get("/apis").json["groups"]}
    hook, = objects(kustomize("annals-certs-etcd-recorder"))["ValidatingWebhookConfiguration", "annals-recorder"]["webhooks"]
    for rule in hook["rules"]:
        group, = rule["apiGroups"]
        assert rule["apiVersions"] == [preferred.get(group, "v1")], group


def test_annals_certs_and_cert_manager_make_the_same_apiservices(folder):
    made = processes.run([processes.BIN, "certs", "--dir", folder / "certs", "--output=manifests"], check=True)
    printed = {key: one for key, one in objects(made.stdout).items() if key[0] == "APIService"}
    written = {key: one for key, one in objects(kustomize("cert-manager")).items() if key[0] == "APIService"}
    for one in printed.values():
        assert one["spec"].pop("caBundle")
    for one in written.values():
        assert one["metadata"].pop("annotations") == {"cert-manager.io/inject-ca-from": "annals-system/annals-serving"}
    assert printed == written


def test_grace_period_is_long_enough():
    """For the delay and the longest request, in both."""
    for made in (objects(kustomize("annals-certs")), objects(template("certificates.ca=x", "shutdownDelaySeconds=7", "requestTimeoutSeconds=100"))):
        pod = made["Deployment", "annals"]["spec"]["template"]["spec"]
        seconds = [int(re.search(rf"--{flag}=(\d+)s", " ".join(pod["containers"][0]["args"]))[1]) for flag in ("shutdown-delay-duration", "request-timeout")]
        assert pod["terminationGracePeriodSeconds"] > sum(seconds)


def test_systemd_unit_is_right(folder):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze here")
    unit = folder / "annals.service"
    text = (DEPLOY / "systemd" / "annals.service.in").read_text()
    unit.write_text(text.replace("@bindir@/annals", processes.BIN))
    done = processes.run(["systemd-analyze", "verify", "--man=no", unit])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_systemd_environment_has_flags_that_exist():
    given = set(re.findall(r"--([a-z-]+)", (DEPLOY / "systemd" / "annals.env").read_text()))
    known = set(re.findall(r"^  --?([a-z][a-z0-9-]*)", processes.run([processes.BIN, "serve", "--help"]).stdout, re.MULTILINE))
    assert given and given <= known


# ---- what it installs ----


@pytest.fixture(scope="module")
def installed(cluster):
    made = Installed(cluster)
    for process in made.everything:
        process.is_shared = True
    yield made
    made.stop()
    made.kubectl("delete", "apiservice", "v1.annals.dev", "v1beta1.annals.dev")
    troubles = [trouble for process in made.everything for trouble in process.troubles()]
    assert not troubles, "\n".join(troubles)


def test_apiservices_become_available(cluster, installed):
    cluster.wait_available(ANNALS.kind)
    assert cluster.kube.get("/apis/annals.dev/v1").json["groupVersion"] == "annals.dev/v1"


def doctor_of_helm_test(cluster, installed):
    """The Pod of `helm test`, as a process: with its arguments, the rights of its service account, and its kubeconfig's user."""
    sets = ["--set", "certificates.ca=x", "--show-only", "templates/tests/doctor.yaml"]
    text = processes.run([HELM, "template", "annals", CHART, *KUBE_VERSION, "--namespace", NAMESPACE, *sets], check=True).stdout
    made = objects(text)
    assert_valid(cluster, text)
    rights = [one for (kind, _), one in made.items() if kind not in ("Pod", "ConfigMap")]
    installed.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(rights))
    config = yaml.safe_load(made["ConfigMap", "annals-test"]["data"]["kubeconfig"])
    own, = (one for one in rights if one["kind"] == "ServiceAccount")
    assert made["Pod", "annals-test"]["spec"]["serviceAccountName"] == own["metadata"]["name"]
    kubeconfig = installed.kubeconfig_of("annals-test")
    here = yaml.safe_load(kubeconfig.read_text())
    assert list(config["users"][0]["user"]) == list(here["users"][0]["user"]) == ["tokenFile"]
    container, = made["Pod", "annals-test"]["spec"]["containers"]
    mounted = f"{container['volumeMounts'][0]['mountPath']}/{next(iter(made['ConfigMap', 'annals-test']['data']))}"
    arguments = [argument.replace(mounted, str(kubeconfig)) for argument in container["args"]]
    assert arguments != container["args"]
    return lambda: processes.run([processes.BIN, *arguments, "--output=json"])


def test_helm_test_sees_whether_annals_is_served(cluster, installed):
    cluster.wait_available(ANNALS.kind)
    look = doctor_of_helm_test(cluster, installed)
    done = look()
    assert done.returncode == 0, done.stdout + done.stderr
    seen = {finding["subject"] for finding in json.loads(done.stdout)["findings"] if finding["severity"] == "ok"}
    wanted = {"APIService v1.annals.dev", "APIService v1beta1.annals.dev"}
    assert wanted <= seen
    installed.kubectl("patch", "apiservice", "v1.annals.dev", "--type=merge", "-p", json.dumps({"spec": {"service": {"port": processes.free_port()}}}))
    processes.retry_until(lambda: look().returncode == 1, "it fails where kube-apiserver reaches nobody", interval=0.5)
    installed.lead_apiservices()
    cluster.wait_available(ANNALS.kind)


def test_probes_are_answered(installed):
    """Each, at its port, by its scheme: etcd's without TLS, annals' to a kubelet that shows no certificate."""
    for pod, plain_port in [(installed.annals, None), *((member, ports[2]) for member, ports in zip(installed.members, installed.ports.values()))]:
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = pod.container[name]["httpGet"]
            url = f"http://127.0.0.1:{plain_port}" if plain_port else pod.process.url
            assert (probe.get("scheme", "HTTP") == "HTTPS") == url.startswith("https")
            curl = ["curl", "-sSfk", "-o", "/dev/null", url + probe["path"]]
            processes.retry_until(lambda curl=curl: processes.run(curl).returncode == 0, f"{curl} succeeds, unless etcd just has no leader", interval=0.1)


def test_etcd_lets_nobody_in_without_its_certificate(installed):
    port = installed.ports["annals-etcd-0"][0]
    certs = installed.folder / "certs"
    get = [processes.PEERS / "etcdctl", f"--endpoints=https://127.0.0.1:{port}", f"--cacert={certs}/etcd-ca.crt", "get", "x"]
    processes.run([*get, "--command-timeout=30s", f"--cert={certs}/etcd-client.crt", f"--key={certs}/etcd-client.key"], check=True)
    get.append("--command-timeout=5s")
    assert processes.run(get).returncode != 0
    assert processes.run([*get, f"--cert={certs}/serving.crt", f"--key={certs}/serving.key"]).returncode != 0


def test_certificates_have_the_names_of_the_cluster(installed):
    names = {"serving": "annals.annals-system.svc", "etcd-server": "annals-etcd-2.annals-etcd.annals-system.svc",
             "etcd-peer": "annals-etcd-0.annals-etcd.annals-system.svc"}
    for certificate, name in names.items():
        said = processes.run(["openssl", "x509", "-in", installed.folder / "certs" / f"{certificate}.crt", "-noout", "-checkhost", name], check=True)
        assert "does match" in said.stdout


def verbs_of(cluster, role):
    """What a ClusterRole allows in annals.dev."""
    rules = cluster.kube.get(f"{RBAC}/clusterroles/{role}").json["rules"] or []
    return {verb for rule in rules if "annals.dev" in rule.get("apiGroups", []) for verb in rule["verbs"]}


@pytest.fixture(scope="module")
def aggregated_roles(installed, cluster):
    """By kube-controller-manager's controller, which adds to view, edit and admin what asks for it."""
    manager = kube.controller_manager(cluster.kubeconfig, "clusterrole-aggregation-controller")
    for name, verbs in (("view", {"list"}), ("edit", {"list", "create"}), ("admin", {"list", "create"})):
        processes.retry_until(lambda name=name, verbs=verbs: verbs <= verbs_of(cluster, name), f"{name} has {verbs}")
    manager.stop()


@pytest.mark.parametrize("role, may_write", [("view", False), ("edit", True), ("admin", True)])
def test_users_of_the_cluster_may_what_their_role_says(cluster, installed, aggregated_roles, role, may_write):
    """Each resource that is served, by each verb that it has. What is no namespace's is for cluster-admin to change, and so is history."""
    namespace, user = cluster.make_namespace(), f"{role}-of-annals"
    cluster.bind(user, ("ClusterRole", role), {"kind": "User", "name": user}, namespace=namespace)
    cluster.wait_available(ANNALS.kind)
    resources = cluster.kube.get("/apis/annals.dev/v1").json["resources"] + cluster.kube.get("/apis/annals.dev/v1beta1").json["resources"]
    assert resources

    def may(verb, resource):
        name, _, subresource = resource["name"].partition("/")
        what = {"verb": verb, "group": "annals.dev", "resource": name, "subresource": subresource, "namespace": namespace}
        return cluster.kube.post(REVIEWS, {"spec": {"user": user, "resourceAttributes": what}}).json["status"]["allowed"]

    expected = {"list", "create"} if may_write else {"list"}
    processes.retry_until(lambda: all(may(verb, resources[0]) for verb in expected), "kube-apiserver has heard of roles and binding")
    for resource in resources:
        for verb in resource["verbs"]:
            is_theirs = resource["namespaced"] and not resource["name"].startswith("histories") and resource["name"] != "statefulsets/status"  # as of deployments/status
            may_change = may_write and is_theirs
            assert may(verb, resource) == (may_change or verb in ("get", "list", "watch")), (resource["name"], verb)


def asked_of_kube(cluster):
    """{(verb, resource, namespace): codes} of what annals' service account has asked for."""
    asked = {}
    for event in whole_lines(cluster.audit_log):
        what = event.get("objectRef")
        if event["user"].get("username") == f"system:serviceaccount:{NAMESPACE}:annals" and what:
            key = (event["verb"], what["resource"], what.get("namespace", ""))
            asked.setdefault(key, set()).add(event.get("responseStatus", {}).get("code"))
    return asked


def test_rights_are_sufficient_and_no_more_than_that(cluster, installed):
    """Nothing that annals asks of kube-apiserver is refused, and there is nothing in its roles that it does not ask for."""
    cluster.wait_available(ANNALS.kind)
    cluster.make(f"{NAMESPACES}/default/serviceaccounts", {"metadata": {"name": "somebody"}})
    token = cluster.token("default", "somebody")
    direct = processes.Client(installed.annals.process.url, installed.folder / "certs" / "ca.crt", token=token)
    refused = direct.get("/apis/annals.dev/v1/namespaces/default/controllerrevisions")
    assert (refused.status, "system:serviceaccount:default:somebody" in refused.text) == (403, True), refused.text
    path = "/apis/annals.dev/v1/namespaces/absent/controllerrevisions"
    body = {"apiVersion": "annals.dev/v1", "kind": "ControllerRevision", "metadata": {"name": "one"}, "data": {"a": 1}, "revision": 1}
    assert cluster.kube.post(path, body).status == 404
    rules = objects(kustomize("annals-certs"))["ClusterRole", "annals"]["rules"]
    granted = {resource for rule in rules for resource in rule["resources"]} | {"tokenreviews", "subjectaccessreviews", "configmaps"}
    processes.retry_until(lambda: granted <= {resource for _, resource, _ in asked_of_kube(cluster)}, f"each is asked for: {granted}", interval=0.1)
    asked = asked_of_kube(cluster)
    assert {resource for _, resource, _ in asked} == granted
    assert not {key: codes for key, codes in asked.items() if codes & {401, 403}}
    assert {namespace for _, resource, namespace in asked if resource == "configmaps"} == {"kube-system"}


def serial(server, ca):
    """Of the certificate that a server shows, which must be the CA's."""
    context = ssl.create_default_context(cafile=str(ca))
    with socket.create_connection(("127.0.0.1", server.client.port), timeout=processes.PATIENCE) as plain:
        with context.wrap_socket(plain, server_hostname="annals.annals-system.svc") as connection:
            return connection.getpeercert()["serialNumber"]


def test_renewed_certificates_are_taken_up(cluster, installed):
    """A Secret's new certificate reaches the files by the exchange of a link, and whoever connects from then on; the CA is what it was."""
    cluster.wait_available(ANNALS.kind)
    ca, annals = installed.folder / "certs" / "ca.crt", installed.annals.process
    before, authority = serial(annals, ca), ca.read_bytes()
    said = installed.make_certificates("--dns=annals.example.com")
    assert re.search(r"^kept \S+/ca\.crt", said, re.MULTILINE) and re.search(r"^made \S+/serving\.crt", said, re.MULTILINE)
    assert ca.read_bytes() == authority
    installed.lead_apiservices()
    installed.annals.look()
    processes.retry_until(lambda: serial(annals, ca) != before, "the new certificate is shown")
    context = ssl.create_default_context(cafile=str(ca))
    with socket.create_connection(("127.0.0.1", annals.client.port)) as plain, context.wrap_socket(plain, server_hostname="annals.example.com"):
        pass
    cluster.wait_available(ANNALS.kind)
    assert cluster.kube.get("/apis/annals.dev/v1/controllerrevisions").status == 200


def test_chart_installs_and_goes(folder, certificates):
    """In a cluster of its own: Secrets of annals certs, then the chart, whose APIServices go with it."""
    cluster = Cluster(folder / "cluster", certificates, controllers=False)
    try:
        assert cluster.kubectl("create", "namespace", NAMESPACE).returncode == 0
        made = processes.run([processes.BIN, "certs", "--dir", folder / "certs", "--etcd", "--output=secrets"], check=True)
        assert cluster.kubectl("apply", "-f", "-", input=made.stdout).returncode == 0
        env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(folder)}
        processes.run([HELM, "install", "annals", CHART, "-n", NAMESPACE, "--set-file", f"certificates.ca={folder}/certs/ca.crt"], env=env, check=True)
        for (kind, name), one in objects(made.stdout).items():
            assert cluster.kube.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}").json["data"] == one["data"], kind
        bundle = cluster.kube.get(f"{APISERVICES}/v1.annals.dev").json["spec"]["caBundle"]
        assert base64.b64decode(bundle) == (folder / "certs" / "ca.crt").read_bytes()
        processes.run([HELM, "uninstall", "annals", "-n", NAMESPACE], env=env, check=True)
        assert cluster.kube.get(f"{APISERVICES}/v1.annals.dev").status == 404
    finally:
        cluster.stop()
