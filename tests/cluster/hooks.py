"""Admission webhooks: an HTTPS server of the test suite's that keeps what it is asked and says what a test wants said, and configurations that
lead to it. A configuration is for one namespace only, so that tests do not meet."""

import base64
import collections
import http.server
import json
import ssl
import threading

import processes

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"Mutating": "mutatingwebhookconfigurations", "Validating": "validatingwebhookconfigurations"}
PROBE = "/probe"


def allow(**more):
    return lambda review: answer_to(review, allowed=True, **more)


def deny(**more):
    return lambda review: answer_to(review, allowed=False, **more)


def patch(*operations, **more):
    return allow(patchType="JSONPatch", patch=base64.b64encode(json.dumps(operations).encode()).decode(), **more)


def answer_to(review, **response):
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": {"uid": review["request"]["uid"], **response}}


def raw(status, body, content_type="application/json", **headers):
    """What is no AdmissionReview."""
    return lambda _: (status, body, {"Content-Type": content_type, **headers})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, _, query = self.path.partition("?")
        said = self.server.hooks.asked(path, query, dict(self.headers), review)
        status, body, headers = said if isinstance(said, tuple) else (200, json.dumps(said), {"Content-Type": "application/json"})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class HttpsServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        """Of a client that has gone."""


class Hooks:
    """on(path, answer): what is answered there, a function of the review; heard(path): [Heard, ...] until now."""

    Heard = collections.namedtuple("Heard", "query headers review")

    def __init__(self, certificates):
        self.ca = certificates.ca
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*map(str, certificates.server))
        context.load_verify_locations(str(certificates.ca))
        context.verify_mode = ssl.CERT_OPTIONAL
        self.lock, self.answers, self.reviews = threading.Lock(), {}, collections.defaultdict(list)
        self.released = threading.Event()
        self.server = HttpsServer(("127.0.0.1", 0), Handler)
        self.server.hooks = self
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def on(self, path, answer):
        with self.lock:
            self.answers[path] = answer

    def asked(self, path, query, headers, review):
        with self.lock:
            self.reviews[path].append(self.Heard(query, headers, review))
            answer = self.answers.get(path, allow())
        return answer(review)

    def heard(self, path):
        """Without what a configuration was tried with."""
        with self.lock:
            return [heard for heard in self.reviews[path] if path.startswith(PROBE) or heard.review["request"].get("name") != "probe"]

    def never(self, review):
        """An answer that does not come while the server is there."""
        self.released.wait(processes.PATIENCE)
        return answer_to(review, allowed=True)

    # ---- configurations ----

    def at(self, path, ca=None):
        """clientConfig."""
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": base64.b64encode((ca or self.ca).read_bytes()).decode()}

    def webhook(self, name, path, kinds, **more):
        """For any write of these kinds (aggregated.Kind); more: what is not as usual."""
        rules = [{"operations": ["*"], "apiGroups": [kind.group], "apiVersions": [kind.versions[0]], "resources": [kind.resource], "scope": "*"}
                 for kind in kinds]
        return {"name": name, "clientConfig": self.at(path), "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"], **more}

    def configure(self, client, phase, name, namespace, kinds, *webhooks):
        """Returns Configuration once each of the kinds is under it. client: of kube-apiserver."""
        own = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
        probe = self.webhook("probe.example.com", f"{PROBE}/{name}", kinds, objectSelector={"matchLabels": {"example.com/probe": name}})
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{phase}WebhookConfiguration", "metadata": {"name": name},
                "webhooks": [{**own, **webhook} for webhook in (probe, *webhooks)]}
        configuration = Configuration(self, client, f"{CONFIGURATIONS}/{KINDS[phase]}", name)
        made = client.post(configuration.path, body)
        assert made.status == 201, made
        for kind in kinds:
            configuration.wait_known(namespace, kind)
        return configuration


class Configuration:
    def __init__(self, hooks, client, path, name):
        self.hooks, self.client, self.path, self.name = hooks, client, path, name

    def _is_known(self, namespace, kind):
        probe = kind.body("probe", labels={"example.com/probe": self.name})
        self.client.post(f"{kind.path(namespace)}?dryRun=All", probe)
        groups = [heard.review["request"]["requestResource"]["group"] for heard in self.hooks.heard(f"{PROBE}/{self.name}")]
        return kind.group in groups

    def wait_known(self, namespace, kind):
        processes.retry_until(lambda: self._is_known(namespace, kind), f"webhooks {self.name} are asked about {kind.group}")

    def _is_forgotten(self, namespace, kind):
        probes = f"{PROBE}/{self.name}"
        before = len(self.hooks.heard(probes))
        self.client.post(f"{kind.path(namespace)}?dryRun=All", kind.body("probe", labels={"example.com/probe": self.name}))
        return len(self.hooks.heard(probes)) == before

    def wait_forgotten(self, namespace, kind):
        """Once it has been removed, or narrowed so that it does not mean creations any more."""
        processes.retry_until(lambda: self._is_forgotten(namespace, kind), f"webhooks {self.name} are not asked about {kind.group}")

    def narrow(self):
        """To an operation that nobody carries out here."""
        changed = self.client.get(f"{self.path}/{self.name}").json
        for webhook in changed["webhooks"]:
            for rule in webhook["rules"]:
                rule["operations"] = ["CONNECT"]
        assert self.client.put(f"{self.path}/{self.name}", changed).status == 200

    def remove(self):
        assert self.client.delete(f"{self.path}/{self.name}").status == 200
