"""Two servers that get the same requests, and the comparison of what they answer."""

import concurrent.futures
import difflib
import itertools
import json
import os
import urllib.parse

import deviations
import exchange
import kube
import normal
import processes
import truth

numbers = itertools.count(1)
CONSTANTS_END = 1000  # messages name limits and offsets below


class SettlingPlayer(exchange.Player):
    """Waits after each write until kube-apiserver's own cache has it. A patch is tried on what that has first; where it is late the patch is tried again, and its
    answer has the warnings of both tries."""

    def _exchange(self, step):
        result = super()._exchange(step)
        metadata = result.body.get("metadata") if isinstance(result.body, dict) else None
        if step.method in ("POST", "PUT", "PATCH") and result.status in (200, 201) and isinstance(metadata, dict):
            self._settle(step, metadata.get("name"), metadata.get("resourceVersion"))
        return result

    def _settle(self, step, name, version):
        if not name or not version:
            return
        path = self.memory.expand(step.path).partition("?")[0]
        found = path if step.method == "POST" else path.rpartition(f"/{name}")[0]
        self.server.get(f"{found}/{urllib.parse.quote(name)}?resourceVersion={version}")


class Twins:
    """A kube-apiserver and an annals, each with an etcd of its own, of the version that Kubernetes uses."""

    def __init__(self, folder, certificates):
        self.everything, self.pool = [], None
        try:
            self._start(folder, certificates)
        except BaseException:
            self.stop()
            raise

    def _add(self, process):
        process.is_shared = True
        self.everything.append(process)
        return process

    def _start(self, folder, certificates):
        tokens = folder / "tokens"
        tokens.write_text('secret-of-alice,alice,alice-uid,"dev,ops"\n')
        etcds = [self._add(processes.Etcd(folder / name, kube.NEWEST_ETCD)) for name in ("k", "a")]
        self.kube = self._add(kube.KubeApiserver(etcds[0].endpoint, certificates, folder / "kube", f"--token-auth-file={tokens}"))
        self.annals = self._add(processes.Serve(etcds[1].endpoint, certificates, f"--token-auth-file={tokens}"))
        processes.retry_until(lambda: self.annals.get("/api/v1/namespaces/kube-public").status == 200, "the first namespaces")
        self.gateways = [truth.Gateway(etcd.endpoint) for etcd in etcds]
        self.step_over(map(str, range(CONSTANTS_END)))
        self.kubeconfigs = {server: kube.write_kubeconfig(folder / f"{name}.kubeconfig", server, certificates)
                            for name, server in (("kube", self.kube), ("annals", self.annals))}
        self.pool = concurrent.futures.ThreadPoolExecutor(6)

    def stop(self):
        if self.pool:
            self.pool.shutdown(cancel_futures=True)
        for process in reversed(self.everything):
            process.stop()

    def make_namespace(self):
        name = f"side-{os.getpid()}-{next(numbers)}"
        for server in (self.kube, self.annals):
            assert server.post("/api/v1/namespaces", exchange.namespace(name)).status == 201
        return name

    def step_over(self, numbers):
        for gateway in self.gateways:
            gateway.step_over(numbers)

    def differences(self, steps):
        """Plays the steps against both; a text for each answer that differs and is not known to."""
        ns = self.make_namespace()
        sent = json.dumps([(step.path, step.body if not isinstance(step.body, bytes) else "", step.headers) for step in flatten(steps)],
                          ensure_ascii=False)
        self.step_over(normal.numbers_of(sent))
        prefixes = {exchange.Memory(ns).expand(prefix) for prefix in generate_names([step.body for step in flatten(steps)]) if prefix}
        theirs, ours = (self._play(player, steps, sent, prefixes) for player in (SettlingPlayer(self.kube, ns), exchange.Player(self.annals, ns)))
        return [describe(step, kubes, annals) for (step, kubes), (_, annals) in zip(theirs, ours)
                if kubes != annals and not deviations.find(step, kubes, annals)]

    @staticmethod
    def _play(player, steps, sent, prefixes):
        try:
            played = player.play(steps)
        finally:
            player.close()
        normalizer = normal.Normalizer([result for _, result in played], player.memory.values["ns"], player.server.url, sent, prefixes)
        return [(step, normalizer.result(result)) for step, result in played]


def flatten(steps):
    return [inner for step in steps for inner in [step] + flatten(step.during or [])]


def generate_names(node):
    """All generateNames in what is sent."""
    if isinstance(node, list):
        return [found for item in node for found in generate_names(item)]
    if isinstance(node, dict):
        own = [node["generateName"]] if isinstance(node.get("generateName"), str) else []
        return own + generate_names(list(node.values()))
    return []


def describe(step, kubes, annals):
    def lines(answer):
        return json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False).split("\n")

    diff = difflib.unified_diff(lines(kubes), lines(annals), "kube-apiserver", "annals", n=2, lineterm="")
    return "\n".join([step.title, *("    " + line for line in diff)])
