"""`annals doctor` at a real cluster: each thing is broken alone, found, fixed by the very command that is printed, and found no more."""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import tempfile

import pytest

import aggregated
import kube
import processes
from aggregated import APISERVICES, NAMESPACES, RBAC

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
V1, V1BETA1 = f"{APISERVICES}/v1.annals.dev", f"{APISERVICES}/v1beta1.annals.dev"


class Findings:
    def __init__(self, status, report):
        self.status, self.all = status, report["findings"]

    def of(self, severity, pattern):
        """Those of a severity whose subject and text, with a colon between, have the pattern."""
        return [finding for finding in self.all if finding["severity"] == severity and re.search(pattern, f"{finding['subject']}: {finding['found']}")]

    @property
    def errors(self):
        return [finding for finding in self.all if finding["severity"] == "error"]


def doctor(kubeconfig, *flags):
    done = processes.run([processes.BIN, "doctor", f"--kubeconfig={kubeconfig}", "--output=json", *flags])
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr
    return Findings(done.returncode, json.loads(done.stdout))


def shell(command):
    """A command of a fix, as an administrator would paste it."""
    path = os.pathsep.join([str(processes.PEERS), str(pathlib.Path(processes.BIN).resolve().parent), os.environ["PATH"]])
    done = processes.run(["bash", "-euo", "pipefail", "-c", command], env={**os.environ, "PATH": path})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@contextlib.contextmanager
def short_folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture(scope="module")
def behind(certificates):
    """A healthy deployment, whose Secret has the CA that signed what is served."""
    with short_folder() as folder:
        running = aggregated.Cluster(folder, certificates, aggregated.ANNALS, controllers=False)
        try:
            for process in running.everything:
                process.is_shared = True
            cert, key = running.behind["annals"].serving
            files = {"ca.crt": certificates.ca, "tls.crt": cert, "tls.key": key}
            running.make(f"{NAMESPACES}/annals-system/secrets", {"metadata": {"name": "annals-serving"}, "type": "kubernetes.io/tls",
                         "data": {name: base64.b64encode(path.read_bytes()).decode() for name, path in files.items()}})
            yield running.behind["annals"]
        finally:
            running.stop()


def findings(behind, *flags):
    return doctor(behind.cluster.kubeconfig, *flags)


def broken(behind, severity, pattern, *flags):
    """The finding, once kube-apiserver has noticed what it is about."""
    return processes.retry_until(lambda: findings(behind, *flags).of(severity, pattern), f"{severity}: {pattern}", interval=0.2)[0]


def fixed(behind, finding, *flags):
    """Does what the finding says, waits until it is gone and nothing is wrong."""
    shell(finding["fix"])
    gone = re.escape(finding["found"])
    processes.retry_until(lambda: not findings(behind, *flags).of(finding["severity"], gone), f"{finding} is gone", interval=0.2)
    healthy(behind)


def healthy(behind):
    behind.announce()
    processes.retry_until(lambda: not findings(behind).errors, "nothing is wrong", interval=0.2)


def change(behind, path, spec):
    answer = behind.cluster.kube.patch(path, {"spec": spec})
    assert answer.status == 200, answer


def test_doctor__finds_nothing_wrong_with_what_works(behind):
    seen = findings(behind)
    assert seen.status == 0 and not seen.errors, seen.all
    for what in ("APIService v1.annals.dev: Available", "APIService v1beta1.annals.dev: Available",
                 "kube-apiserver: it answers; version", "RBAC: asking", "RBAC: reading", "RBAC: following", "RBAC: warning of policies", "front proxies have a CA of their own",
                 r'requestheader-username-headers .*\["X-Remote-User"\]', "no policy and no match condition"):
        assert seen.of("ok", what), what
    assert seen.of("warning", "caBundle of .* expires at .*, in 29 days")  # that of the tests is good for 30
    assert [finding["subject"] for finding in seen.of("skipped", "")] == ["etcd", "files"]


def test_doctor__prints_the_same_as_text(behind):
    done = processes.run([processes.BIN, "doctor", f"--kubeconfig={behind.cluster.kubeconfig}"])
    assert done.returncode == 0
    assert re.search(r"^  ok       APIService v1.annals.dev: Available", done.stdout, re.M)
    assert re.search(r"^0 errors, \d+ warnings?, \d+ ok, 2 not checked$", done.stdout, re.M)


# ---- APIServices ----

@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_doctor__registers_a_missing_version(behind, version):
    assert behind.cluster.kube.delete(f"{APISERVICES}/{version}.annals.dev").status == 200
    fixed(behind, broken(behind, "error", f"APIService {version}.annals.dev: there is none"))


def test_doctor__deletes_a_version_that_is_not_served(behind):
    service = behind.cluster.kube.get(V1).json["spec"]
    behind.cluster.make(APISERVICES, {"metadata": {"name": "v9.annals.dev"}, "spec": {**service, "version": "v9"}})
    fixed(behind, broken(behind, "error", "APIService v9.annals.dev: annals does not serve this version"))


def test_doctor__leads_an_api_service_to_annals(behind):
    change(behind, V1, {"service": {"name": "elsewhere"}})
    assert broken(behind, "error", "APIService v1.annals.dev: not Available: ServiceNotFound")
    fixed(behind, broken(behind, "error", "APIService v1.annals.dev: it leads to Service annals-system/elsewhere"))


def other_ca(folder):
    return base64.b64encode(processes.Certificates(folder, "other-ca").ca.read_bytes()).decode()


def test_doctor__replaces_a_wrong_ca(behind, folder):
    change(behind, V1, {"caBundle": other_ca(folder)})
    fixed(behind, broken(behind, "error", "APIService v1.annals.dev: not Available: FailedDiscoveryCheck: .*unknown authority"))


def test_doctor__gives_a_ca_where_there_is_none(behind):
    change(behind, V1BETA1, {"caBundle": None})
    fixed(behind, broken(behind, "error", "caBundle of APIService v1beta1.annals.dev: there is none"))


def test_doctor__warns_of_certificates_that_are_not_looked_at(behind):
    change(behind, V1, {"caBundle": None, "insecureSkipTLSVerify": True})
    finding = broken(behind, "warning", "caBundle of APIService v1.annals.dev: insecureSkipTLSVerify")
    assert findings(behind).status == 0
    fixed(behind, finding)
    assert not behind.cluster.kube.get(V1).json["spec"].get("insecureSkipTLSVerify")


def test_doctor__puts_the_group_behind_those_of_the_cluster(behind):
    change(behind, V1, {"groupPriorityMinimum": 18000})
    fixed(behind, broken(behind, "warning", "groupPriorityMinimum 18000 puts annals.dev before apps"))


def test_doctor__puts_versions_into_their_order(behind):
    change(behind, V1, {"versionPriority": 5})
    fixed(behind, broken(behind, "warning", "versionPriority 5 is not above that of v1beta1.annals.dev"))


# ---- RBAC ----

@pytest.mark.parametrize("binding,subject,what", [
    (f"{RBAC}/clusterrolebindings/annals-delegates", "asking", "may not create tokenreviews.* create subjectaccessreviews"),
    (f"{RBAC}/namespaces/kube-system/rolebindings/annals-reads-authentication", "reading", "may not get, list, watch configmaps extension-apiserver-authentication"),
    (f"{RBAC}/clusterrolebindings/annals-reads", "following", "may not get, list, watch namespaces; get, list, watch mutatingwebhookconfigurations")])
def test_doctor__binds_a_missing_role(behind, binding, subject, what):
    assert behind.cluster.kube.delete(binding).status == 200
    fixed(behind, broken(behind, "error", f"RBAC: {subject}.*: system:serviceaccount:annals-system:annals {what}"))


def test_doctor__looks_at_the_rights_of_a_user(behind):
    finding = broken(behind, "error", "RBAC: following.*: annals-by-systemd may not", "--user=annals-by-systemd")
    shell(finding["fix"])
    processes.retry_until(lambda: findings(behind, "--user=annals-by-systemd").of("ok", "RBAC: following"), "the user may", interval=0.2)
    healthy(behind)


def test_doctor__says_what_it_may_not_see(behind, folder):
    cert, key = behind.cluster.user("nobody-special")
    path = kube.write_kubeconfig(folder / "kubeconfig", behind.cluster.kube, behind.cluster.certificates, kube.by_certificate(cert, key))
    seen = doctor(path)
    assert seen.status == 0
    for what in ("ConfigMap kube-system/extension-apiserver-authentication", "APIServices", "RBAC", "ValidatingAdmissionPolicy"):
        assert seen.of("skipped", f"^{what}: "), what


# ---- admission ----

def test_doctor__warns_of_policies(behind):
    behind.cluster.make(POLICIES, {"metadata": {"name": "for-annals"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["annals.dev"], "apiVersions": ["*"], "operations": ["*"], "resources": ["controllerrevisions"]}]},
        "validations": [{"expression": "true"}]}})
    fixed(behind, broken(behind, "warning", "ValidatingAdmissionPolicy for-annals: it is for annals.dev"))
    assert behind.cluster.kube.delete(f"{POLICIES}/for-annals").status == 200


def test_doctor__warns_of_match_conditions(behind):
    behind.cluster.make(WEBHOOKS, {"metadata": {"name": "hook"}, "webhooks": [
        {"name": "one.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
         "clientConfig": {"url": "https://127.0.0.1:1/"}, "matchConditions": [{"name": "never", "expression": "false"}],
         "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*/*"]}]}]})
    fixed(behind, broken(behind, "warning", "ValidatingWebhookConfiguration hook: webhook one.example.com has matchConditions"))
    assert behind.cluster.kube.delete(f"{WEBHOOKS}/hook").status == 200


# ---- whom kube-apiserver's front proxy is ----

def test_doctor__separates_front_proxies_from_users(certificates, folder):
    """What some kube-apiserver was started with stays in the ConfigMap when others are started with something else."""
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
    (folder / "front").mkdir()
    front = processes.Certificates(folder / "front", "front-proxy-ca")
    cert, key = front.client("front-proxy-client")
    headers = ["--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
               "--requestheader-extra-headers-prefix=X-Remote-Extra-"]

    def start(*flags):
        server = kube.KubeApiserver(etcd.endpoint, certificates, folder / "kube", f"--requestheader-client-ca-file={front.ca}",
                                    f"--proxy-client-cert-file={cert}", f"--proxy-client-key-file={key}", *flags)
        return server, kube.write_kubeconfig(folder / "kubeconfig", server, certificates)

    def found(severity, pattern):
        """Once kube-apiserver has written the ConfigMap, which it does a while after it is ready."""
        return processes.retry_until(lambda: doctor(kubeconfig).of(severity, pattern), f"{severity}: {pattern}", interval=0.1)

    server, kubeconfig = start(*headers)
    assert found("warning", "requestheader-allowed-names of the ConfigMap: no names are given")
    config = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    both = certificates.ca.read_text() + front.ca.read_text()
    assert server.patch(config, {"data": {"requestheader-client-ca-file": both}}).status == 200
    [finding] = found("error", "requestheader-allowed-names of the ConfigMap: the CA of front proxies is also the CA of users' .* any name")
    server.kill()

    restart, delete = finding["fix"].splitlines()
    flags = re.findall(r"--requestheader-(?:allowed|username|group|extra)\S+", restart)
    assert len(flags) == 4
    server, kubeconfig = start(*flags)
    assert found("warning", "is also the CA of users")
    shell(delete)
    assert found("ok", "front proxies have a CA of their own")
    server.kill()


def test_doctor__says_that_no_cluster_answers(behind, folder):
    url = f"https://127.0.0.1:{processes.free_port()}"
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(kube.KUBECONFIG.format(url=url, ca=behind.cluster.certificates.ca, user="{}"))
    seen = doctor(kubeconfig)
    assert seen.status == 1 and [finding["subject"] for finding in seen.errors] == ["kube-apiserver"]
    (everything,) = seen.of("skipped", "everything in the cluster")
    assert everything["cause"] == "kube-apiserver"
