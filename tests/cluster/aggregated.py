"""A cluster with aggregated API servers behind its kube-apiserver: annals, and sample-apiserver, which is what Kubernetes itself has to show
for one. What the one does the other must do.

Each has a namespace, a ServiceAccount with the rights that it needs and no others, an etcd of its own, and a port of the test suite's that leads
to its replicas. kube-apiserver finds that port as a Service: localhost is all it has to resolve."""

import base64
import dataclasses
import itertools
import json
import os
import pathlib

import pytest

import doorway
import kube
import processes

SAMPLE_APISERVER = processes.PEERS / "sample-apiserver"
FRONT_NAME = "front-proxy-client"

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, nonResourceURLs: ["/readyz*", "/livez*", "/apis*", "/openapi*"]}
- {level: Request, resources: [{group: authorization.k8s.io, resources: [subjectaccessreviews]}]}
- {level: Metadata}
"""

DISCOVERY = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}  # of all groups in one document

NAMESPACES = "/api/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def whole_lines(log, *words):
    """Those of a log in JSON that have all these words. Its last one may be under way."""
    text, _, _ = pathlib.Path(log).read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in text.splitlines() if all(word in line for word in words)]


def audited(log, *words):
    """The event of a request that is over, once it is in the log: a client may have its answer before."""

    def find():
        return [event for event in whole_lines(log, *words) if event["stage"] == "ResponseComplete"]

    return processes.retry_until(find, f"{words} in {log}")[-1]


@dataclasses.dataclass(frozen=True, eq=False)
class Kind:
    """What an aggregated API server serves: group, versions (the preferred one first), what objects hold, and a change of that."""

    group: str
    versions: tuple
    kind: str
    resource: str
    content: dict
    change: dict

    @property
    def api_version(self):
        return f"{self.group}/{self.versions[0]}"

    @property
    def apiservices(self):
        """Their names, in the order of versions."""
        return [f"{version}.{self.group}" for version in self.versions]

    def path(self, namespace, name="", version=None):
        return f"/apis/{self.group}/{version or self.versions[0]}/namespaces/{namespace}/{self.resource}/{name}".rstrip("/")

    def body(self, name, **metadata):
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name, **metadata}, **self.content}


READ = ["get", "list", "watch"]
NAMESPACES_RULE = {"apiGroups": [""], "resources": ["namespaces"], "verbs": READ}
ADMISSION_RULE = {"apiGroups": ["admissionregistration.k8s.io"], "verbs": READ,
                  "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies",
                                "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]}
FLOW_RULE = {"apiGroups": ["flowcontrol.apiserver.k8s.io"], "resources": ["prioritylevelconfigurations", "flowschemas"], "verbs": READ}


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """An aggregated API server as an executable."""

    name: str
    command: tuple
    kind: Kind
    rules: tuple  # of its ClusterRole
    takes_port_0: bool
    listening: str  # what it says when it does


ANNALS = Program("annals", (processes.BIN, "serve"), takes_port_0=True, listening=r"listening on 127\.0\.0\.1 port (\d+)",
                 rules=(NAMESPACES_RULE, ADMISSION_RULE),
                 kind=Kind("annals.dev", ("v1", "v1beta1"), "ControllerRevision", "controllerrevisions", {"data": {"a": 1}, "revision": 1}, {"revision": 2}))
KUBES_OWN = Kind("apps", ("v1",), "ControllerRevision", "controllerrevisions", ANNALS.kind.content, ANNALS.kind.change)
SAMPLE = Program("wardle", (SAMPLE_APISERVER,), takes_port_0=False, listening=r"Serving securely on 127\.0\.0\.1:(\d+)",
                 rules=(NAMESPACES_RULE, ADMISSION_RULE, FLOW_RULE),
                 kind=Kind("wardle.example.com", ("v1beta1", "v1alpha1"), "Flunder", "flunders",
                           {"spec": {"flunderReference": "one", "referenceType": "Flunder"}}, {"spec": {"flunderReference": "two"}}))


def programs():
    """Those that are here; skips the test where there is no kube-apiserver."""
    if not kube.KUBE_APISERVER.exists():
        pytest.skip("tests/cluster/build.sh has not been run")
    # sample-apiserver watches admission policies in the versions of its own release, and is never ready behind an older kube-apiserver.
    return (ANNALS, SAMPLE) if SAMPLE_APISERVER.exists() and not kube.IS_OF_ANOTHER_VERSION else (ANNALS,)


class Replica(processes.Server):
    """One process of a program. Its audit log is its own."""

    def __init__(self, program, folder, etcd, cluster, kubeconfig, serving, *flags, wait=True):
        cert, key = serving
        self.audit_log = folder / "audit.log"
        port = 0 if program.takes_port_0 else processes.free_port()
        super().__init__([*program.command, f"--etcd-servers={etcd.endpoint}", "--bind-address=127.0.0.1", f"--secure-port={port}",
                          f"--tls-cert-file={cert}", f"--tls-private-key-file={key}", f"--kubeconfig={kubeconfig}",
                          f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}",
                          f"--audit-policy-file={cluster.audit_policy}", f"--audit-log-path={self.audit_log}", *flags], cwd=folder)
        listening = self.stderr.wait(program.listening)
        if not listening:
            raise AssertionError(f"{program.name} ended with {self.wait()}:\n{self.stderr.text[-4000:]}")
        self._attach(f"https://127.0.0.1:{listening[1]}", cluster.certificates.ca, *cluster.certificates.admin)
        if wait:
            self.wait_ready()


def shared(process):
    """One that outlives the test in which it is started."""
    process.is_shared = True
    return process


class Behind:
    """A program behind a cluster: replicas on an etcd, a proxy that leads to them, APIServices that lead to the proxy."""

    def __init__(self, cluster, program, n_replicas=1, flags=(), etcd_flags=()):
        self.cluster, self.program, self.kind, self.flags, self.etcd_flags = cluster, program, program.kind, flags, etcd_flags
        self.folder, self.namespace = cluster.folder / program.name, f"{program.name}-system"
        self.service = f"{program.name}.{self.namespace}.svc"
        self.doorway, self.etcd, self.replicas = doorway.Doorway(), None, [None] * n_replicas
        self.announcements = itertools.count(1)

    def start(self):
        cluster, program = self.cluster, self.program
        self.folder.mkdir()
        self.serving = cluster.certificates.issue(f"{cluster.folder.name}-{program.name}", f"/CN={self.service}",
                                                  f"subjectAltName=DNS:{self.service},DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth")
        self._grant()
        self.start_etcd()
        for number in range(len(self.replicas)):
            self.start_replica(number)
        self._register()
        self.wait_available()

    @property
    def everything(self):
        return [process for process in (*self.replicas, self.etcd) if process]

    @property
    def user(self):
        """As whom kube-apiserver knows it."""
        return f"system:serviceaccount:{self.namespace}:{self.program.name}"

    @property
    def names(self):
        """Of its APIServices."""
        return self.kind.apiservices

    def client(self, cert, key):
        """Straight to a replica."""
        return processes.Client(self.replicas[0].url, self.cluster.certificates.ca, cert, key)

    # ---- processes ----

    def start_etcd(self):
        self.etcd = shared(processes.Etcd(self.folder / "etcd", kube.NEWEST_ETCD, flags=self.etcd_flags))

    def start_replica(self, number, wait=True):
        folder = self.folder / f"replica-{number}"
        folder.mkdir(exist_ok=True)
        self.replicas[number] = shared(Replica(self.program, folder, self.etcd, self.cluster, self.kubeconfig, self.serving, *self.flags, wait=wait))
        self.lead()

    def lead(self):
        """The proxy to those that run."""
        running = [replica for replica in self.replicas if replica and replica.popen.poll() is None]
        self.doorway.lead_to(*(replica.client.port for replica in running))

    def announce(self):
        """Does what controllers of endpoints do when replicas come and go: with that kube-apiserver looks at once how its APIServices are. Else
        it does so every 30 s, and where one was not available after 5, 10, 20 s."""
        change = {"metadata": {"annotations": {"example.com/announced": str(next(self.announcements))}}}
        path = f"{NAMESPACES}/{self.namespace}/services/{self.program.name}"
        processes.retry_until(lambda: self.cluster.kube.patch(path, change).status == 200, "kube-apiserver, whose etcd may just have come back", interval=0.05)

    def stop(self):
        self.doorway.close()
        for process in self.everything:
            process.stop()

    # ---- what the cluster knows of it ----

    def _grant(self):
        make, account = self.cluster.make, {"kind": "ServiceAccount", "name": self.program.name, "namespace": self.namespace}
        make(NAMESPACES, {"metadata": {"name": self.namespace}})
        make(f"{NAMESPACES}/{self.namespace}/serviceaccounts", {"metadata": {"name": self.program.name}})
        make(f"{RBAC}/clusterroles", {"metadata": {"name": self.program.name}, "rules": self.program.rules})
        for name, role in (("delegates", "system:auth-delegator"), ("reads", self.program.name)):
            self.cluster.bind(f"{self.program.name}-{name}", ("ClusterRole", role), account)
        self.cluster.bind(f"{self.program.name}-reads-authentication", ("Role", "extension-apiserver-authentication-reader"), account, namespace="kube-system")
        self._wait_granted()
        self.kubeconfig = kube.write_kubeconfig(self.folder / "kubeconfig", self.cluster.kube, self.cluster.certificates,
                                                {"token": self.cluster.token(self.namespace, self.program.name)})

    def _wait_granted(self):
        """Returns when kube-apiserver goes by each binding: sample-apiserver ends where it is refused something as it starts."""
        self.cluster.wait_allowed(self.user, verb="create", group="authentication.k8s.io", resource="tokenreviews")
        self.cluster.wait_allowed(self.user, verb="list", resource="namespaces")
        self.wait_may_read_trust()

    def wait_may_read_trust(self, is_allowed=True):
        self.cluster.wait_allowed(self.user, is_allowed, verb="get", resource="configmaps", name="extension-apiserver-authentication", namespace="kube-system")

    def _register(self):
        make, ca = self.cluster.make, base64.b64encode(self.cluster.certificates.ca.read_bytes()).decode()
        make(f"{NAMESPACES}/{self.namespace}/services",
             {"metadata": {"name": self.program.name}, "spec": {"type": "ExternalName", "externalName": "localhost"}})
        for place, version in enumerate(self.kind.versions):
            service = {"name": self.program.name, "namespace": self.namespace, "port": self.doorway.port}
            make(APISERVICES, {"metadata": {"name": f"{version}.{self.kind.group}"},
                               "spec": {"group": self.kind.group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100 - place,
                                        "caBundle": ca, "service": service}})

    def available(self, name):
        return self.cluster.available(name)

    def wait_available(self, is_available=True):
        self.cluster.wait_available(self.kind, is_available)

    def wait_described(self):
        self.cluster.wait_described(self.kind)


class Cluster:
    """kube-apiserver on an etcd, with front proxies' certificates of a CA of their own, what is behind it, and, since they ask for discovery
    only now and then, later the controllers. Users are certificates of the cluster's CA."""

    def __init__(self, folder, certificates, *programs, controllers=True, kube_flags=(), **behind):
        self.folder, self.certificates, self.kube_flags = pathlib.Path(folder), certificates, kube_flags
        self.front = processes.Certificates(self.folder / "front", "front-proxy-ca")
        self.front_proxy = self.front.client(FRONT_NAME)
        self.audit_policy, self.audit_log = self.folder / "audit-policy", self.folder / "audit.log"
        self.audit_policy.write_text(AUDIT_POLICY)
        self.behind, self.users, self.controllers, self.numbers = {}, {}, None, itertools.count(1)
        self.start_etcd()
        self.kube = None
        self.start_kube()
        try:
            self.kubeconfig = kube.write_kubeconfig(self.folder / "kubeconfig", self.kube, certificates)
            for program in programs:
                self.behind[program.name] = Behind(self, program, **behind)
                self.behind[program.name].start()
            if controllers:
                self.start_controllers()
        except BaseException:
            self.stop()
            raise

    @property
    def everything(self):
        own = [process for process in (self.etcd, self.kube, self.controllers) if process]
        return own + [process for behind in self.behind.values() for process in behind.everything]

    # ---- processes ----

    def start_etcd(self):
        self.etcd = shared(processes.Etcd(self.folder / "etcd", kube.NEWEST_ETCD))

    def start_kube(self, wait=True):
        """Where it was before, if it was."""
        cert, key = self.front_proxy
        uids = ["--requestheader-uid-headers=X-Remote-Uid"] if kube.minor_version() >= kube.UID_HEADERS_SINCE else []
        self.kube = kube.KubeApiserver(self.etcd.endpoint, self.certificates, self.folder / "kube", f"--requestheader-client-ca-file={self.front.ca}",
                                       f"--requestheader-allowed-names={FRONT_NAME}", "--requestheader-username-headers=X-Remote-User",
                                       *uids, "--requestheader-group-headers=X-Remote-Group",
                                       "--requestheader-extra-headers-prefix=X-Remote-Extra-", f"--proxy-client-cert-file={cert}",
                                       f"--proxy-client-key-file={key}", f"--audit-policy-file={self.audit_policy}",
                                       f"--audit-log-path={self.audit_log}", *self.kube_flags,
                                       port=self.kube.port if self.kube else 0, wait=wait)
        shared(self.kube)

    def start_controllers(self):
        self.controllers = shared(kube.controller_manager(self.kubeconfig))

    def stop(self):
        if self.controllers:
            self.controllers.stop()
        for behind in self.behind.values():
            behind.stop()
        self.kube.kill()  # else it waits for those who watch
        self.etcd.stop()

    # ---- what is in it ----

    def make(self, path, body):
        made = self.kube.post(path, body)
        assert made.status == 201, made
        return made.json

    def bind(self, name, role, *subjects, namespace=None):
        """role: (kind, name). Of users as subjects the kind is enough."""
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", **subject} if subject["kind"] != "ServiceAccount" else subject for subject in subjects]
        path = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
        kind, role_name = role
        self.make(path, {"metadata": {"name": name}, "subjects": subjects,
                         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role_name}})

    def wait_allowed(self, user, is_allowed=True, **attributes):
        """Returns when kube-apiserver goes by a role and its binding, of which it hears after they have been made, or by that they are gone."""
        review = {"spec": {"user": user, "resourceAttributes": attributes}}
        processes.retry_until(lambda: self.kube.post(REVIEWS, review).json["status"]["allowed"] == is_allowed, f"{user} may {attributes}: {is_allowed}")

    def make_namespace(self):
        name = f"aggregated-{next(self.numbers)}"
        self.make(NAMESPACES, {"metadata": {"name": name}})
        return name

    def token(self, namespace, account):
        """Of a ServiceAccount, by kube-apiserver."""
        path = f"{NAMESPACES}/{namespace}/serviceaccounts/{account}/token"
        return self.make(path, {"spec": {"expirationSeconds": 86400}})["status"]["token"]

    # ---- what is behind it ----

    def available(self, name):
        """(status, message) of that condition of an APIService, as kube-apiserver sees it."""
        found = self.kube.get(f"{APISERVICES}/{name}")
        conditions = found.json.get("status", {}).get("conditions", []) if found.status == 200 else []
        return next(((one["status"], one["message"]) for one in conditions if one["type"] == "Available"), (None, None))

    def wait_available(self, kind, is_available=True):
        """Returns when all of kube-apiserver goes by it. Parts of it hear of it one after the other: what looks at APIServices, what passes requests on, and
        discovery."""
        for version, name in zip(kind.versions, kind.apiservices):
            try:
                processes.retry_until(lambda name=name: self.available(name)[0] == str(is_available), f"{name} is Available: {is_available}", interval=0.05)
            except TimeoutError as error:
                raise AssertionError(f"{error}, but {self.available(name)}") from None
            processes.retry_until(lambda version=version: self._is_passed_on(kind.group, version) == is_available, f"requests for {name} are passed on: {is_available}")
            freshness = "Current" if is_available else "Stale"
            processes.retry_until(lambda version=version, wanted=freshness: self._freshness(kind.group, version) == wanted, f"discovery of {name} is {freshness}", interval=0.05,
                                  patience=processes.LONG_PATIENCE)

    def _is_passed_on(self, group, version):
        """None: it was to be."""
        answer = self.kube.get(f"/apis/{group}/{version}")
        return answer.status == 200 or (False if answer.text == "service unavailable\n" else None)

    def _freshness(self, group, version):
        shown = self.kube.get("/apis", headers=DISCOVERY).json["items"]
        own = [entry for one in shown if one["metadata"].get("name") == group for entry in one["versions"]]
        return next((entry["freshness"] for entry in own if entry["version"] == version), None)

    def wait_described(self, kind):
        """Returns when kube-apiserver has the schemas, which it fetches a while after APIServices are there."""
        wanted = {f"apis/{kind.group}/{version}" for version in kind.versions}
        processes.retry_until(lambda: wanted <= set(self.kube.get("/openapi/v3").json["paths"]), f"{wanted} in /openapi/v3", interval=0.05,
                              patience=processes.LONG_PATIENCE)

    # ---- users ----

    def user(self, name, *groups):
        """(certificate, key) of a user; the administrator's are in certificates.admin."""
        if (name, *groups) not in self.users:
            subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
            self.users[(name, *groups)] = self.certificates.client(f"{self.folder.name}-{len(self.users)}", subject)
        return self.users[(name, *groups)]

    def client(self, name, *groups):
        return processes.Client(self.kube.url, self.certificates.ca, *self.user(name, *groups))

    def _kubectl_env(self, user, env):
        path = self.kubeconfig
        if user:
            path = self.folder / f"{'-'.join(user)}.kubeconfig"
            kube.write_kubeconfig(path, self.kube, self.certificates, kube.by_certificate(*self.user(*user)))
        return {**os.environ, "KUBECONFIG": str(path), "HOME": str(self.folder), **env}

    def kubectl(self, *arguments, user=None, input=None, **env):
        """user: (name, group ...)."""
        return processes.run([kube.KUBECTL, *arguments], env=self._kubectl_env(user, env), input=input)

    def start_kubectl(self, *arguments, user=None, **env):
        return processes.Process([kube.KUBECTL, *arguments], env=self._kubectl_env(user, env))
