"""A real kube-apiserver for tests: started with files of its own, ready when it says so, stopped by process id."""

import functools
import json
import os
import pathlib
import re

import processes

# That of $KUBE_APISERVER (build-kube.sh) may be of another version than all else here.
IS_OF_ANOTHER_VERSION = "KUBE_APISERVER" in os.environ
KUBE_APISERVER = pathlib.Path(os.environ.get("KUBE_APISERVER", processes.PEERS / "kube-apiserver"))
UID_HEADERS_SINCE = 32  # --requestheader-uid-headers
KUBE_CONTROLLER_MANAGER = processes.PEERS / "kube-controller-manager"
KUBECTL = processes.PEERS / "kubectl"
NEWEST_ETCD = processes.PEERS / "etcd"

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}", certificate-authority: {ca}}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


@functools.cache
def minor_version():
    """36 of v1.36.3."""
    said = processes.run([KUBE_APISERVER, "--version"]).stdout
    return int(re.fullmatch(r"Kubernetes v1\.(\d+)\..*\s*", said)[1])


def by_certificate(cert, key):
    return {"client-certificate": str(cert), "client-key": str(key)}


def write_kubeconfig(path, server, certificates, user=None):
    """user: what a kubeconfig says of one, that of the administrator if nothing."""
    user = user or by_certificate(*certificates.admin)
    path.write_text(KUBECONFIG.format(url=server.url, ca=certificates.ca, user=json.dumps(user)))
    return path


def controller_manager(kubeconfig, *controllers, flags=()):
    """With the controllers that look after objects, or those named. Its default of 20 requests a second would make tests wait for nothing else."""
    return processes.Process([KUBE_CONTROLLER_MANAGER, f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
                              f"--controllers={','.join(controllers or ('garbage-collector-controller', 'namespace-controller'))}",
                              "--authentication-skip-lookup",
                              "--kube-api-qps=1000", "--kube-api-burst=2000", *flags])


class KubeApiserver(processes.Server):
    """On an etcd and a folder of its own, as the recordings were made: RBAC, default admission but ServiceAccount, no controllers."""

    def __init__(self, etcd_endpoint, certificates, directory, *flags, port=0, wait=True):
        cert, key = certificates.server
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self.port = port or processes.free_port()  # it refuses port 0
        super().__init__([KUBE_APISERVER, f"--etcd-servers={etcd_endpoint}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                          "--advertise-address=127.0.0.1", f"--cert-dir={directory}", f"--tls-cert-file={cert}", f"--tls-private-key-file={key}",
                          f"--client-ca-file={certificates.ca}", f"--service-account-key-file={cert}",
                          f"--service-account-signing-key-file={key}", "--service-account-issuer=https://kubernetes.default.svc",
                          "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
                          "--endpoint-reconciler-type=none", *flags],
                         env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ})
        self._attach(f"https://127.0.0.1:{self.port}", certificates.ca, *certificates.admin)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        processes.retry_until(self._is_ready_or_dead, f"{self.url}/readyz", interval=0.05, patience=processes.LONG_PATIENCE)
        if self.popen.poll() is not None:
            raise AssertionError(f"kube-apiserver ended with {self.wait()}:\n{self.stderr.text[-4000:]}")

    def _is_ready_or_dead(self):
        return self.popen.poll() is not None or (self.is_ready() and self.get("/api/v1/namespaces/default").status == 200  # the last one that it makes
                                                 and self.anonymous.get("/version").status == 200)  # it goes by the roles that it has made
