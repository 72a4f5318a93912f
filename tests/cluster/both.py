"""kubectl v1.36 against a kube-apiserver and annals: every command goes to both, and what it prints is compared."""

import concurrent.futures
import difflib
import os
import re

import kube
import processes

PATTERNS = [(r"https://127\.0\.0\.1:\d+", "<server>"), (r"127\.0\.0\.1:\d+", "<server>"), (r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uid>"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"), (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} [+-]\d{4}", "<time>"),
            (r'((?:resourceVersion"?|Resource Version): *"?)\d+', r"\1<version>"),
            (r"/tmp/\S+/", "<folder>/"), (r"\t?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", " <time>"),
            (r"(^|  ) *(?:\d+[ydhms])+(?: +|$)", r"\1<age> "),
            (r"\b\d+[smh] *$", "<age>"), (r"(LIVE|MERGED)-\d+", r"\1-<n>"), (r"/?\S*kubectl-edit-\S+", "<file>"),
            (r"^([IWE])\d{4} [\d:.]+ +\d+ ", r"\1 ")]


def plain(text):
    for pattern, by in PATTERNS:
        text = re.sub(pattern, by, text, flags=re.M)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def difference(kubes, annals):
    """Of two outcomes, for people."""
    lines = [[f"status {status}", *stdout.split("\n"), *stderr.split("\n")] for status, stdout, stderr in (kubes, annals)]
    return "\n".join(difflib.unified_diff(*lines, "kube-apiserver", "annals", n=2, lineterm=""))


class Both:
    """kubectl against both servers in a namespace: k("get", "controllerrevisions") is what both printed."""

    def __init__(self, twins, folder):
        self.twins, self.folder, self.namespace = twins, folder, twins.make_namespace()
        self.servers, self.pool = (twins.kube, twins.annals), concurrent.futures.ThreadPoolExecutor(2)

    def env(self, server, **more):
        home = self.folder / str(self.servers.index(server))
        home.mkdir(exist_ok=True)
        return {**os.environ, "KUBECONFIG": str(self.twins.kubeconfigs[server]), "HOME": str(home), **more}

    def __call__(self, *arguments, input=None, **env):
        outputs = list(self.pool.map(lambda server: self._run(server, arguments, input, env), self.servers))
        assert outputs[0] == outputs[1], f"kubectl {' '.join(arguments)}:\n{difference(*outputs)}"
        return outputs[0][1]

    def _run(self, server, arguments, input, env):
        done = processes.run([kube.KUBECTL, "--namespace", self.namespace, *arguments], env=self.env(server, **env), input=input)
        return done.returncode, plain(done.stdout), plain(done.stderr)

    def start(self, *arguments):
        return [processes.Process([kube.KUBECTL, "--namespace", self.namespace, *arguments], env=self.env(server)) for server in self.servers]
