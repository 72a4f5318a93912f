"""A kube-apiserver and an annals with the same audit policy, and what each writes about the same requests."""

import dataclasses
import json
import re

import exchange
import kube
import processes

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [Panic]
rules:
- {level: None, nonResourceURLs: ["/livez*"]}
- {level: None, namespaces: [kube-public], verbs: [get]}
- {level: Metadata, resources: [{group: "", resources: [configmaps]}]}
- {level: Metadata, users: [alice], omitStages: [RequestReceived]}
- {level: Request, resources: [{group: apps, resources: ["*"], resourceNames: [request-only]}]}
- {level: Request, verbs: [deletecollection]}
- {level: RequestResponse, resources: [{group: "", resources: [namespaces, "namespaces/*"]}], omitManagedFields: true}
- {level: RequestResponse, userGroups: ["system:authenticated", "system:unauthenticated"]}
- {level: RequestResponse}
"""

VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "MICROTIME"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r'"resourceVersion":"[1-9]\d*"'), '"resourceVersion":"VERSION"'),
    (re.compile(r"resourceVersion=[1-9]\d*"), "resourceVersion=VERSION"),
    (re.compile(r'"continue":"[^"]+"'), '"continue":"TOKEN"'),
    (re.compile(r"continue=\w+"), "continue=TOKEN"),
    (re.compile(r',"(?:\d+[dhms])+"\]'), ',"AGE"]'),  # the last cell of a table's row
    (re.compile(r'"apiserver\.latency\.k8s\.io/[^,}]*,?'), ""),  # of requests that happened to be slow
    (re.compile(r',"annotations":\{\}'), ""),  # where there was nothing else
    (re.compile(r"made-[bcdfghjklmnpqrstvwxz2456789]{5}"), "made-SUFFIX"),
]


@dataclasses.dataclass
class Asked:
    """A step, the stage of its last event (None: it has no event), and members of events in which the two may differ."""

    step: exchange.Step
    last: str = "ResponseComplete"
    but: tuple = ()

    @property
    def title(self):
        return self.step.title


def normal(line, but):
    """A line without what each server chooses; members keep their order, so it is compared as text."""
    event = json.loads(line)
    for name in but:
        event.pop(name, None)
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":")) if but else line
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text


class Audited:
    def __init__(self, folder, certificates):
        self.everything = []
        policy, tokens = folder / "policy.yaml", folder / "tokens"
        policy.write_text(POLICY)
        tokens.write_text('secret-of-alice,alice,alice-uid,"dev,ops"\n')
        self.logs = [folder / f"{name}.log" for name in ("kube", "annals")]
        flags = [[f"--token-auth-file={tokens}", f"--audit-policy-file={policy}", f"--audit-log-path={log}"] for log in self.logs]
        try:
            etcds = [self._add(processes.Etcd(folder / name, kube.NEWEST_ETCD)) for name in ("k", "a")]
            self.kube = self._add(kube.KubeApiserver(etcds[0].endpoint, certificates, folder / "kube", *flags[0]))
            self.annals = self._add(processes.Serve(etcds[1].endpoint, certificates, *flags[1]))
            processes.retry_until(lambda: self.annals.get("/api/v1/namespaces/kube-public").status == 200, "the first namespaces")
        except BaseException:
            self.stop()
            raise
        self.count = 0

    def _add(self, process):
        process.is_shared = True
        self.everything.append(process)
        return process

    def stop(self):
        for process in reversed(self.everything):
            process.stop()

    @staticmethod
    def _events(log, audit_id):
        """Lines of that request; one that is being written has no end yet."""
        wanted = f'"auditID":"{audit_id}"'
        with open(log, encoding="utf-8") as lines:
            return [line[:-1] for line in lines if wanted in line and line.endswith("\n")]

    def _play(self, server, log, asked, ids, ns):
        player = exchange.Player(server, ns)
        try:
            for one, audit_id in zip(asked, ids):
                step = dataclasses.replace(one.step, headers={**one.step.headers, "Audit-ID": audit_id})
                result = player.play([step])[0][1]
                assert result.headers["audit-id"] == [audit_id]
                if one.last:
                    processes.retry_until(lambda: any(f'"stage":"{one.last}"' in line for line in self._events(log, audit_id)),
                                          f"{one.last} of {one.title} in {log}")
        finally:
            player.close()
        return [[normal(line, one.but) for line in self._events(log, audit_id)] for one, audit_id in zip(asked, ids)]

    def last_event(self, audit_id):
        """ResponseComplete of a request to annals."""

        def last():
            return [line for line in self._events(self.logs[1], audit_id) if '"stage":"ResponseComplete"' in line]

        return json.loads(processes.retry_until(last, f"ResponseComplete of {audit_id}")[0])

    def both(self, asked):
        """(asked, kube's lines, ours) for each."""
        self.count += 1
        ids = [f"case-{self.count}-{i}-end" for i in range(len(asked))]
        ns = f"audited-{self.count}"
        for server in (self.kube, self.annals):
            assert server.post("/api/v1/namespaces", exchange.namespace(ns)).status == 201
        return list(zip(asked, *(self._play(server, log, asked, ids, ns) for server, log in zip((self.kube, self.annals), self.logs))))
