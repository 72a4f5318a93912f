"""What deploy/ installs, run here: a workload's container becomes a process with the arguments that the cluster has for it, its Secrets are
folders as a kubelet makes them, and only addresses are others."""

import base64
import itertools
import json
import os
import pathlib
import re

import kube
import processes
from aggregated import NAMESPACES

DEPLOY = processes.ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
NAMESPACE = "annals-system"
MEMBERS = [f"annals-etcd-{number}" for number in range(3)]


class Mount:
    """A Secret as a kubelet shows it: files are links into a folder that is a link, too, and is exchanged as a whole."""

    def __init__(self, folder):
        self.folder, self.numbers = pathlib.Path(folder), itertools.count(1)
        self.folder.mkdir(parents=True)

    def show(self, data):
        version = self.folder / f"..{next(self.numbers)}"
        version.mkdir()
        for name, value in data.items():
            (version / name).write_bytes(base64.b64decode(value))
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        (self.folder / "..next").symlink_to(version.name)
        (self.folder / "..next").rename(self.folder / "..data")


class Pod:
    """A container of a workload, as a process."""

    def __init__(self, cluster, folder, workload, program, env, addresses, extra=()):
        """addresses: {what the manifests say: what it is here}."""
        self.cluster, self.mounts = cluster, {}
        template = cluster.get(workload)["spec"]["template"]["spec"]
        self.container, = template["containers"]
        self.secrets = {volume["name"]: volume["secret"]["secretName"] for volume in template.get("volumes", []) if "secret" in volume}
        self.folder = pathlib.Path(folder)
        self.replaced = dict(addresses)
        for mount in self.container.get("volumeMounts", []):
            self.replaced[mount["mountPath"]] = self._mount(mount)
        self.look()
        arguments = [self._here(self._expand(argument, env)) for argument in self.container["args"]]
        self.process = program([*arguments, *extra])

    def _mount(self, mount):
        folder = self.folder / mount["name"]
        if mount["name"] in self.secrets:
            self.mounts[mount["name"]] = Mount(folder)
        else:
            folder.mkdir(parents=True)
        return str(folder)

    def look(self):
        """What a kubelet does every minute: Secrets that have changed are shown."""
        for name, mount in self.mounts.items():
            mount.show(self.cluster.get(f"secret/{self.secrets[name]}")["data"])

    @staticmethod
    def _expand(argument, env):
        return re.sub(r"\$\((\w+)\)", lambda name: env[name[1]], argument)

    def _here(self, argument):
        for said, here in self.replaced.items():
            argument = argument.replace(said, here)
        return argument


class Installed:
    """annals and its etcd, installed as docs/how-to/install-in-a-cluster.md says, in a cluster whose kube-apiserver finds it on localhost; what records, too,
    where the overlay has it."""

    def __init__(self, cluster, overlay="annals-certs-etcd"):
        self.cluster, self.folder, self.recorder = cluster, cluster.folder / "installed", None
        self.folder.mkdir()
        self.members, self.ports = [], {name: [processes.free_port() for _ in range(3)] for name in MEMBERS}
        self.kubectl("apply", "-k", KUSTOMIZE / "overlays" / overlay)
        self.make_certificates()
        self._start()
        self._lead()

    @property
    def everything(self):
        return [*(member.process for member in self.members), self.annals.process, *([self.recorder.process] if self.recorder else [])]

    def kubectl(self, *arguments, **more):
        done = self.cluster.kubectl(*arguments, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, what):
        return json.loads(self.kubectl("get", "-n", NAMESPACE, what, "-o", "json"))

    def make_certificates(self, *flags):
        """annals certs | kubectl apply: what it says of the files."""
        made = processes.run([processes.BIN, "certs", "--dir", self.folder / "certs", "--etcd", "--ip=127.0.0.1", "--output=manifests", *flags],
                             check=True)
        self.kubectl("apply", "-f", "-", input=made.stdout)
        return made.stderr

    # ---- processes ----

    def _start(self):
        for name in MEMBERS:
            self.members.append(Pod(self, self.folder / name, "statefulset/annals-etcd", self._etcd, {"POD_NAME": name}, self._addresses(name)))
        kubeconfig = self.kubeconfig_of("annals")
        servers = ",".join(f"https://{name}.annals-etcd.{NAMESPACE}.svc:2379" for name in MEMBERS)
        self.annals = Pod(self, self.folder / "annals", "deployment/annals", self._serve, {"ETCD_SERVERS": servers},
                          {**self._everybodys_addresses(), "--secure-port=6443": "--secure-port=0"},
                          ["--bind-address=127.0.0.1", f"--kubeconfig={kubeconfig}"])
        self.annals.process.wait_ready()

    def start_recorder(self):
        """When annals is served: it is a client of kube-apiserver's."""
        kubeconfig = self.kubeconfig_of("annals-recorder")
        self.recorder = Pod(self, self.folder / "recorder", "deployment/annals-recorder",
                            lambda arguments: processes.Process([processes.BIN, *arguments]), {},
                            {"--metrics-port=8080": "--metrics-port=0"}, [f"--kubeconfig={kubeconfig}"])

    def kubeconfig_of(self, account):
        """In place of what a pod has of its service account."""
        token = self.folder / f"{account}-token"
        token.write_text(self.kubectl("create", "token", "-n", NAMESPACE, account))
        return kube.write_kubeconfig(self.folder / f"{account}-kubeconfig", self.cluster.kube, self.cluster.certificates, {"tokenFile": str(token)})

    def _everybodys_addresses(self):
        return {f"{name}.annals-etcd.{NAMESPACE}.svc:{number}": f"127.0.0.1:{port}" for name, ports in self.ports.items()
                for number, port in zip((2379, 2380), ports)}

    def _addresses(self, name):
        return {**self._everybodys_addresses(),
                **{f"0.0.0.0:{number}": f"127.0.0.1:{port}" for number, port in zip((2379, 2380, 2381), self.ports[name])}}

    @staticmethod
    def _etcd(arguments):
        env = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        return processes.Process([kube.NEWEST_ETCD, *arguments], env=env)

    def _serve(self, arguments):
        return Annals([processes.BIN, *arguments], self.folder / "certs" / "ca.crt", self.cluster.certificates.admin)

    # ---- in place of what a cluster has nodes for ----

    def _lead(self):
        """Loopback addresses are refused in Endpoints, localhost is not as a name."""
        self.kubectl("delete", "service", "-n", NAMESPACE, "annals")
        self.cluster.make(f"{NAMESPACES}/{NAMESPACE}/services", {"metadata": {"name": "annals"}, "spec": {"type": "ExternalName", "externalName": "localhost"}})
        self.lead_apiservices()

    def lead_apiservices(self):
        for version in ("v1", "v1beta1"):
            self.kubectl("patch", "apiservice", f"{version}.annals.dev", "--type=merge",
                         "-p", json.dumps({"spec": {"service": {"port": self.annals.process.client.port}}}))

    def stop(self):
        if self.recorder:
            self.recorder.process.stop()
        self.annals.process.stop()
        for member in self.members:
            member.process.kill()  # one after the other they would wait for each other


class Annals(processes.Server):
    """`annals serve` with the arguments of a Deployment."""

    def __init__(self, arguments, ca, admin):
        super().__init__(arguments)
        listening = self.stderr.wait(r"listening on 127\.0\.0\.1 port (\d+)")
        if not listening:
            raise AssertionError(f"annals serve ended with {self.wait()}:\n{self.stderr.text}")
        self._attach(f"https://127.0.0.1:{listening[1]}", ca, *admin)
