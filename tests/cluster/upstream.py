"""Kubernetes' own tests of StatefulSets, from the sources of its Go module (tests/cluster/peers/upstream/build.sh), and the planes that they judge: annals
with its controllers, or a kube-apiserver with kube-controller-manager, which says whether a failure is the judge's. Both have fake nodes where pods are to
come up."""

import concurrent.futures
import os
import pathlib
import re

import kube
import processes
import programs

HERE = pathlib.Path(__file__).resolve().parent
E2E, INTEGRATION, TEST_CMD = (processes.PEERS / name for name in ("e2e.test", "statefulset.test", "test-cmd"))
TOKEN = "admin-token,admin,admin,system:masters\n"  # test/cmd's
FAKE_NODES = "--fake-nodes=3"
MANAGERS = ("garbage-collector-controller", "namespace-controller", "statefulset-controller", "persistentvolumeclaim-protection-controller")
STORAGE_CLASS = {"metadata": {"name": "default", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "example.com/none"}
BARE, CONTROLLED, WITH_NODES, COMPACTED = range(4)  # no controllers; the controllers; and fake nodes; and a short history
AT_ONCE = 12  # specs: they wait, mostly
SPEC_SECONDS = 480
TRIES = 3


class Annals:
    FLAGS = {BARE: [processes.NO_CONTROLLERS], CONTROLLED: [], WITH_NODES: [FAKE_NODES], COMPACTED: [FAKE_NODES, "--etcd-compaction-interval=30s"]}

    def __init__(self, folder, certificates, kind):
        del certificates
        self.server = processes.Up(folder / "data", "--token-auth-file", write_tokens(folder), *self.FLAGS[kind])
        self.kubeconfig = self.server.kubeconfig
        self.everything = [self.server]


class Kube:
    def __init__(self, folder, certificates, kind):
        etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD)
        self.server = kube.KubeApiserver(etcd.endpoint, certificates, folder / "apiserver", f"--token-auth-file={write_tokens(folder)}")
        self.kubeconfig = kube.write_kubeconfig(folder / "kubeconfig", self.server, certificates)
        self.everything = [self.server, etcd]
        if kind != BARE:
            self.everything.insert(0, kube.controller_manager(self.kubeconfig, *MANAGERS))
        if kind == WITH_NODES:
            nodes = [processes.BIN, "controllers", "--kubeconfig", self.kubeconfig, "--controllers=fake-kubelet", FAKE_NODES]
            self.everything.insert(0, processes.Process(nodes))


PLANES = {"annals": Annals, "kube": Kube}


def write_tokens(folder):
    path = folder / "tokens"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


class Plane:
    """Of $UPSTREAM_PLANE: annals, or kube."""

    def __init__(self, folder, certificates, kind):
        plane = PLANES[os.environ.get("UPSTREAM_PLANE", "annals")](folder, certificates, kind)
        self.folder, self.server, self.kubeconfig, self.everything = folder, plane.server, plane.kubeconfig, plane.everything
        (folder / "bin").mkdir()
        (folder / "bin" / "kubectl").symlink_to(kube.KUBECTL)
        self.env = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(folder), "TMPDIR": str(folder), "REAL_KUBECTL": str(kube.KUBECTL),
                    "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def stop(self):
        for process in self.everything:
            process.stop()


class Specs:
    """Runs of e2e.test, each with one spec in a namespace of its own, side by side: the futures of what they print, by name."""

    def __init__(self, plane, names):
        made = plane.server.post("/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS)
        assert made.status == 201, made
        self.plane = plane
        self.pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
        self.outputs = {name: self.pool.submit(self.run, name) for name in names}

    def run(self, name):
        return processes.run([*processes.LEASH, E2E, f"-kubeconfig={self.plane.kubeconfig}", "-provider=skeleton", "-e2e-verify-service-account=false", "-dump-logs-on-failure=false",
                              f"-kubectl-path={HERE / 'fake_exec.py'}", rf"-ginkgo.focus=\[sig-apps\] StatefulSet .*{re.escape(name)}( \[|$)", "-ginkgo.no-color",
                              "-ginkgo.v", f"-ginkgo.timeout={SPEC_SECONDS}s"], env=self.plane.env, patience=SPEC_SECONDS + processes.PATIENCE)

    def stop(self):
        self.pool.shutdown(cancel_futures=True)


def run_test_cmd(plane, suite):
    """A function of test/cmd/apps.sh. It looks once for what the controller writes a moment later (observedGeneration, after a restart): kubectl is slower, as a
    rule. So it may try again, in another namespace."""
    for _ in range(TRIES):
        done = processes.run([*processes.LEASH, HERE / "test_cmd.sh", TEST_CMD, plane.server.client.port, suite], env=plane.env, patience=programs.SECONDS)
        if done.returncode == 0:
            break
    return done


def run_integration(plane, *flags):
    """{test: Outcome} of test/integration/statefulset; flags: -test.run, -test.skip."""
    return programs.parse(programs.finish([INTEGRATION, "-test.v", f"-test.timeout={programs.SECONDS}s", *flags], plane.env))
