"""Two servers that get the same requests, and the comparison of what they answer."""

import concurrent.futures
import difflib
import itertools
import json
import os
import re
import urllib.parse

import deviations
import exchange
import kube
import normal
import processes
import truth

numbers = itertools.count(1)
CONSTANTS_END = 1000  # messages name limits and offsets below
OBJECTS = re.compile(r"/apis?/.*\bnamespaces\b")


class SettlingPlayer(exchange.Player):
    """Waits until the server's own cache has what was written: before anything is read, for a read need not be fresh, and at kube-apiserver before the next write,
    too. That tries on what its cache has first; where this is late it tries again, and its answer has the warnings of both tries."""

    def __init__(self, server, ns, slowness, is_for_writes):
        super().__init__(server, ns, slowness)
        self.is_for_writes, self.unsettled = is_for_writes, {}

    def _exchange(self, step):
        if self.is_for_writes or step.method == "GET":
            self._settle()
        result = super()._exchange(step)
        path = self.memory.expand(step.path).partition("?")[0].rstrip("/")
        if step.method in ("POST", "PUT", "PATCH", "DELETE") and result.status in (200, 201, 202) and OBJECTS.match(path):
            self.unsettled.update(written(path, step.method, result.body if isinstance(result.body, dict) else {}))
        return result

    def _watch(self, step):
        self._settle()
        return super()._watch(step)

    def _settle(self):
        for path, version in self.unsettled.items():
            self._settle_object(path, version)
        self.unsettled.clear()

    def _settle_object(self, path, version):
        """version: None where its newest is not known."""
        newest = None if version else self._ask(exchange.get(path))
        if newest and newest.status == 404:
            processes.retry_until(lambda: self._ask(exchange.get(f"{path}?resourceVersion=0")).status == 404, f"{path} is gone from the cache of {self.server.url}")
            return
        self._ask(exchange.get(f"{path}?resourceVersion={version or newest.body['metadata']['resourceVersion']}"))


def written(path, method, body):
    """{path: version} of the objects that such an answer is about."""
    metadata = body.get("metadata") or {}
    if method == "POST":
        return {f"{path}/{urllib.parse.quote(metadata['name'])}": metadata["resourceVersion"]} if metadata.get("name") and metadata.get("resourceVersion") else {}
    if isinstance(body.get("items"), list):
        return {f"{path}/{item['metadata']['name']}": None for item in body["items"]}
    is_newest = method != "DELETE" and metadata.get("name") and not metadata.get("deletionTimestamp")
    return {re.sub("/(status|finalize)$", "", path): metadata.get("resourceVersion") if is_newest else None}


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
        for gateway in self.gateways:
            gateway.step_over(map(str, range(CONSTANTS_END)))
        self.kubeconfigs = {server: kube.write_kubeconfig(folder / f"{name}.kubeconfig", server, certificates)
                            for name, server in (("kube", self.kube), ("annals", self.annals))}
        self.pool = concurrent.futures.ThreadPoolExecutor(10)

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

    def revisions(self):
        return [gateway.revision() for gateway in self.gateways]

    def differences(self, steps):
        """Runs the steps against both; a text for each answer that differs and is not known to. Where a watch was too short for what happened meanwhile, or where a
        version may have been one of the numbers that stand in the steps, this says nothing, and they run again."""
        sent = json.dumps([(step.path, step.body if not isinstance(step.body, bytes) else "", step.headers) for step in flatten(steps)],
                          ensure_ascii=False)
        while True:
            before = self.revisions()
            found = exchange.unhurried(lambda slowness: self._play_both(steps, sent, slowness))
            if not any(truth.has_revision(normal.numbers_of(sent), *between) for between in zip(before, self.revisions())):
                return found

    def _play_both(self, steps, sent, slowness):
        ns = self.make_namespace()
        prefixes = {exchange.Memory(ns).expand(prefix) for prefix in generate_names([step.body for step in flatten(steps)]) if prefix}
        players = [SettlingPlayer(server, ns, slowness, is_for_writes=server is self.kube) for server in (self.kube, self.annals)]
        theirs, ours = (self._play(player, steps, sent, prefixes) for player in players)
        found = [describe(step, kubes, annals) for (step, kubes), (_, annals) in zip(theirs, ours)
                 if kubes != annals and not deviations.find(step, kubes, annals)]
        return found, any(player.is_rushed for player in players)

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
