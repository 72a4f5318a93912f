"""Real processes for tests: annals, etcd, kubectl; and an HTTP client that is only as clever as the tests need.

Everything here waits for what it wants (a line of output, the end of a process), never for time to pass.
"""

import contextlib
import copy
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = os.environ.get("ANNALS_BIN", str(ROOT / "build" / "annals"))
PEERS = pathlib.Path(os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "peers"))
# A list without `*` names all that are to run; this one names none. For tests that count requests.
NO_CONTROLLERS = "--controllers=-namespace"
# Without the account and the CA of each namespace. For tests that list all objects of a namespace.
NO_DEFAULT_OBJECTS = "--controllers=*,-default-objects,-kubernetes-service"

PATIENCE = 60  # seconds: far beyond what anything takes, sanitizers included
LONG_PATIENCE = 240  # with what Kubernetes does every 30 s, or tries again after a minute

# What the tests' own client speaks. Others (kubectl, curl, client-go) choose for themselves.
IS_HTTP2 = os.environ.get("ANNALS_TEST_HTTP", "1") == "2"

# Where the shared `annals up` keeps its objects: "etcd" or "memory". Nothing that clients see depends on it.
STORE = os.environ.get("ANNALS_TEST_STORE", "etcd")

# Whatever happens to a test run, what it started ends with it (that is: with the thread that started it).
LEASH = ["setpriv", "--pdeathsig=KILL", "--"]

# Of these nobody ends whom they were not sent to: a crash, or an assertion.
CRASHES = [signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP]

SANITIZER_REPORT = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Assertion .* failed)")


def etcd_binaries():
    """All etcds of this machine: Debian's, where built the newest, and the one that $ANNALS_TEST_ETCD names."""
    found = [shutil.which("etcd"), PEERS / "etcd", os.environ.get("ANNALS_TEST_ETCD")]
    return [str(path) for path in found if path and pathlib.Path(path).exists()]


def kubectls():
    """kubectl as it is today, of five years ago, and the newest, by name; None for one that this machine does not have."""
    newest = PEERS / "kubectl"
    return {"kubectl": shutil.which("kubectl"), "kubectl-old": os.environ.get("ANNALS_TEST_KUBECTL_OLD"),
            "kubectl-newest": str(newest) if newest.exists() else None}


@functools.lru_cache
def kubectl_version(path):
    """(1, 20), for example."""
    version = json.loads(run([path, "version", "--client", "-o", "json"], check=True).stdout)["clientVersion"]
    return int(version["major"]), int(re.match(r"\d+", version["minor"])[0])


def kubectl_since(*version):
    """A kubectl of this machine that is not older: that of the distribution, or the one that make check-cluster has built. Debian 12
    has 1.20, Ubuntu 24.04 none: a test that needs another one is skipped and says so."""
    import pytest

    there = [path for path in (kubectls()["kubectl"], kubectls()["kubectl-newest"]) if path]
    for path in there:
        if kubectl_version(path) >= version:
            return path
    return pytest.skip(f"needs kubectl {'.'.join(map(str, version)) or 'of any version'}; there is "
                       + (", ".join(".".join(map(str, kubectl_version(path))) for path in there) or "none"))


def require_kubectl(path, *version):
    """For a test that runs with each kubectl of this machine."""
    import pytest

    if kubectl_version(path) < version:
        pytest.skip(f"needs kubectl {'.'.join(map(str, version))}; this one is {'.'.join(map(str, kubectl_version(path)))}")


def has_crashed(status):
    return status is not None and -status in CRASHES


def is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    """The processes that pid has started, on any thread."""
    found = []
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        return found
    for task in tasks:
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return found


def wait_gone(pid):
    """Until a process that is no child of ours has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        import select

        if not select.select([fd], [], [], PATIENCE)[0]:
            raise TimeoutError(f"process {pid} does not end")
    finally:
        os.close(fd)


def retry_until(condition, what, interval=0.01, patience=PATIENCE):
    """For conditions that nothing announces. Returns what the condition returns."""
    deadline = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain: {what}")
        time.sleep(interval)


class Output:
    """What a process writes to a pipe, line by line, as it comes."""

    def __init__(self, pipe):
        self.lines = []
        self.is_closed = False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, args=[pipe], daemon=True)
        self.thread.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                with self.changed:
                    self.lines.append(line.decode(errors="replace"))
                    self.changed.notify_all()
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    @property
    def text(self):
        with self.changed:
            return "".join(self.lines)

    def mark(self):
        """A place behind everything written so far, for wait(since=...)."""
        with self.changed:
            return len(self.lines)

    def wait(self, pattern, since=0):
        """The first line in which the pattern is found, as a match; None when the process closes its output without it."""
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            seen = since
            while True:
                for line in self.lines[seen:]:
                    match = re.search(pattern, line)
                    if match:
                        return match
                seen = len(self.lines)
                if self.is_closed:
                    return None
                if not self.changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"no line {pattern!r} in:\n{''.join(self.lines)}")


held_ports = []  # sockets


def free_port():
    """For a server that takes its port from a flag. It is this server's alone: a socket that is bound and does not listen keeps the kernel from giving it to anybody
    else for as long as the tests run, and is in nobody's way who asks for it by number (with SO_REUSEADDR, as servers do)."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    held_ports.append(holder)
    return holder.getsockname()[1]


def thread_states(pid):
    """As in ps(1): R runs or could, S waits, T is stopped ..."""
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            yield path.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile


class Process:
    """A process whose output is kept, and which must neither crash nor be reported by a sanitizer."""

    everyone = []  # that a test has to answer for

    def __init__(self, arguments, env=None, cwd=None):
        self.arguments = [str(argument) for argument in arguments]
        self.popen = subprocess.Popen(LEASH + self.arguments, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, start_new_session=True)
        self.pid = self.popen.pid
        self.stdout, self.stderr = Output(self.popen.stdout), Output(self.popen.stderr)
        self.is_shared = False  # outlives the test
        self.is_expected_to_end = False
        self.n_reported = 0
        self.is_end_reported = False
        Process.everyone.append(self)

    def wait(self):
        """The exit status, once it has ended and all its output is here."""
        self.is_expected_to_end = True
        status = self.popen.wait(PATIENCE)
        self.stdout.thread.join(PATIENCE)
        self.stderr.thread.join(PATIENCE)
        return status

    def signal(self, number):
        """Of SIGSTOP, returns when each of its threads has stopped: until then one may still answer."""
        self.is_expected_to_end = number != signal.SIGSTOP and number != signal.SIGCONT
        self.popen.send_signal(number)
        if number == signal.SIGSTOP:
            retry_until(lambda: all(state == "T" for state in thread_states(self.popen.pid)), "the threads have stopped")

    def stop(self):
        """Asks it to end; its exit status."""
        if self.popen.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        if self.popen.poll() is None:
            self.signal(signal.SIGKILL)
        return self.wait()

    def _report_files(self):
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            for option in os.environ.get(name, "").split(":"):
                key, _, path = option.partition("=")
                if key == "log_path":
                    yield pathlib.Path(f"{path}.{self.pid}")

    def troubles(self):
        """What has gone wrong since this was asked last: sentences."""
        found = []
        reports = [self.stderr.text] + [path.read_text(errors="replace") for path in self._report_files() if path.exists()]
        matches = [report for report in reports if SANITIZER_REPORT.search(report)]
        if len(matches) > self.n_reported:
            found += [f"{self.arguments[0]} (pid {self.pid}) reported:\n{report[-8000:]}" for report in matches[self.n_reported:]]
            self.n_reported = len(matches)
        status = self.popen.poll()
        if status is not None and (not self.is_expected_to_end or has_crashed(status)) and not self.is_end_reported:
            self.is_end_reported = True
            found.append(f"{' '.join(self.arguments)} ended by itself with status {status}:\n{self.stderr.text[-8000:]}")
        return found


def run(arguments, env=None, input=None, check=False, patience=PATIENCE):
    """A command that ends: subprocess.CompletedProcess with text."""
    done = subprocess.run([str(argument) for argument in arguments], env=env, input=input, capture_output=True, text=True, timeout=patience)
    if (check and done.returncode) or has_crashed(done.returncode):
        raise AssertionError(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<Answer {self.status} {self.body[:500]!r}>"


def connection_class():
    """What is used as http.client's connections are."""
    if IS_HTTP2:
        import http2

        return http2.Connection
    return http.client.HTTPSConnection


class Client:
    """HTTP to one server, with one way of saying who we are."""

    kept = None  # the connection of all requests; None: each has its own

    def __init__(self, url, ca, cert=None, key=None, token=None):
        match = re.match(r"https://(.+):(\d+)$", url)
        self.host, self.port, self.token = match[1], int(match[2]), token
        self.ca, self.identity = ca, (cert, key) if cert else None
        self.context = self.make_context()  # for HTTP/1.1
        self.wire_context = self.make_context(["h2"]) if IS_HTTP2 else self.context

    def make_context(self, alpn=None):
        """alpn: the protocols to offer; None: without that extension."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if self.identity:
            context.load_cert_chain(*map(str, self.identity))
        if alpn:
            context.set_alpn_protocols(alpn)
        return context

    def connect(self, timeout=PATIENCE):
        return connection_class()(self.host, self.port, context=self.wire_context, timeout=timeout)

    def _headers(self, body, headers):
        sent = {"Accept": "application/json"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update(headers or {})
        return {name: value for name, value in sent.items() if value is not None}

    def request(self, method, path, body=None, headers=None):
        """body: an object becomes JSON, str and bytes go as they are. A header None is left out."""
        if isinstance(body, str):
            body = body.encode()
        elif body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection = self.kept or self.connect()
        try:
            connection.request(method, path, body, self._headers(body, headers))
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            if connection is not self.kept:
                connection.close()

    @contextlib.contextmanager
    def on_one_connection(self):
        """The same client for one thread. For thousands of requests, most of whose time would be handshakes."""
        client = copy.copy(self)
        client.kept = self.connect()
        try:
            yield client
        finally:
            client.kept.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.request("PUT", path, body, **more)

    def delete(self, path, body=None, **more):
        return self.request("DELETE", path, body, **more)

    def patch(self, path, body, kind="application/merge-patch+json", headers=None):
        return self.request("PATCH", path, body, headers={"Content-Type": kind, **(headers or {})})

    def watch(self, path, headers=None):
        return Watch(self, path, headers)


class Watch:
    """A stream of events: for event in watch, or watch.next(). Ends with the stream."""

    def __init__(self, client, path, headers=None):
        self.connection = client.connect()
        self.connection.request("GET", path, headers=client._headers(None, headers))
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def next(self):
        line = self.response.readline()
        if not line:
            raise StopIteration
        return json.loads(line)

    __next__ = next

    def __iter__(self):
        return self

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server(Process):
    """What `annals up` and `annals serve` have in common. url, client (an administrator), anonymous."""

    def _attach(self, url, ca, cert, key):
        self.url, self.ca = url, ca
        self.client = Client(url, ca, cert, key)
        self.anonymous = Client(url, ca)
        for name in ("request", "get", "post", "put", "delete", "patch", "watch"):
            setattr(self, name, getattr(self.client, name))

    def wait_ready(self):
        retry_until(self.is_ready, f"{self.url}/readyz")

    def is_ready(self):
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False


class Up(Server):
    """`annals up` on a directory of its own and, by default, any free port.

    dir, url, kubeconfig, client; kubectl(...) runs kubectl against it.
    """

    def __init__(self, directory, *flags, etcd=None, env=None, wait=True, binary=BIN):
        self.dir = pathlib.Path(directory)
        arguments = [binary, "up", "--data-dir", self.dir]
        if not any(str(flag).startswith("--port") for flag in flags):
            arguments.append("--port=0")
        if etcd:
            arguments += ["--etcd", etcd]
        super().__init__(arguments + list(flags), env=env)
        self.kubeconfig = self.dir / "kubeconfig"
        if wait:
            self.wait_announced()

    def wait_announced(self):
        ready = self.stdout.wait(r"^annals is ready: (https://\S+)$")
        if not ready:
            raise AssertionError(f"annals up ended with {self.wait()}:\n{self.stderr.text}")
        self._attach(ready[1], self.dir / "ca.crt", self.dir / "admin.crt", self.dir / "admin.key")

    @property
    def etcd_pid(self):
        """0 where none is running just now."""
        return next(iter(children(self.pid)), 0)

    def kubectl_env(self, **more):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.dir), **more}

    def kubectl(self, *arguments, input=None, binary=None, since=(), **env):
        """With the oldest kubectl that will do: since=(1, 27)."""
        return run([binary or kubectl_since(*since), *arguments], env=self.kubectl_env(**env), input=input)


def policy_rule(**spec):
    """A line of a policy file."""
    return json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec})


def user_flags(folder, tokens, rules=()):
    """The flags of a server that knows the users of `tokens`, lines of a token file, and gives them the rights of `rules`."""
    (folder / "tokens").write_text("\n".join(tokens) + "\n")
    (folder / "policy").write_text("\n".join(rules) + "\n")
    return ["--token-auth-file", folder / "tokens", "--authorization-policy-file", folder / "policy"]


def as_user(server, name):
    """A client with the token `NAME-token`."""
    return Client(server.url, server.ca, token=f"{name}-token")


@contextlib.contextmanager
def up_with_users(folder, tokens, rules):
    """An `annals up` that the tests of a module share."""
    up = Up(folder / "data", *user_flags(folder, tokens, rules))
    up.is_shared = True
    yield up
    assert up.stop() == 0
    assert not up.troubles()


class Shared:
    """An `annals up` of many tests; a new one when the last has died, which was some test's failure already."""

    def __init__(self, *flags):
        self.flags = flags
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
        self.process = None

    def get(self):
        if self.process is None or self.process.popen.poll() is not None:
            self.process = Up(self.dir / "data", f"--store={STORE}", *self.flags)
            self.process.is_shared = True
        return self.process

    def close(self):
        if self.process and self.process.popen.poll() is None:
            status = self.process.stop()
            troubles = self.process.troubles()
            assert status == 0 and not troubles, "\n".join(troubles) or f"annals up ended with {status}"
        shutil.rmtree(self.dir, ignore_errors=True)


class Etcd(Process):
    """An etcd for `annals serve`, on Unix sockets in a directory of its own, whose path must be short."""

    def __init__(self, directory, binary=None, socket_name="client", flags=()):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        for name in (f"{socket_name}:0", "peer:0"):
            (self.dir / name).unlink(missing_ok=True)
        env = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        super().__init__([binary or etcd_binaries()[0], "--name=test", "--data-dir=data", f"--listen-client-urls=unix://{socket_name}:0",
                          f"--advertise-client-urls=unix://{socket_name}:0", "--listen-peer-urls=unix://peer:0",
                          "--initial-advertise-peer-urls=unix://peer:0", "--initial-cluster=test=unix://peer:0",
                          "--heartbeat-interval=20", "--election-timeout=100", "--logger=zap", "--log-outputs=stderr",
                          "--unsafe-no-fsync", *flags],  # processes are killed here, machines are not
                         env=env, cwd=self.dir)
        self.endpoint = f"unix://{self.dir}/{socket_name}:0"
        if not self.stderr.wait(r"serving client traffic insecurely"):
            raise AssertionError(f"etcd ended with {self.wait()}:\n{self.stderr.text}")

    def ctl(self, *arguments, input=None):
        return run(["etcdctl", "--endpoints", self.endpoint, *arguments], env={**os.environ, "ETCDCTL_API": "3"}, input=input, check=True).stdout

    def save(self, path):
        """A backup of now."""
        self.ctl("snapshot", "save", str(path))

    def restore(self, backup, *flags, tool=("etcdctl",)):
        """Takes the place of what was there; to be started again. As docs/how-to/back-up-and-restore.md says it."""
        assert self.popen.poll() is not None, "it is running"
        shutil.rmtree(self.dir / "data")
        run([*tool, "snapshot", "restore", backup, "--data-dir", self.dir / "data", "--name=test", "--initial-cluster=test=unix://peer:0",
             "--initial-advertise-peer-urls=unix://peer:0", *flags], env={**os.environ, "ETCDCTL_API": "3"}, check=True)


CA_CONFIG = """\
[ca]
default_ca = any
[any]
database = {dir}/index.txt
new_certs_dir = {dir}
default_md = sha256
rand_serial = yes
unique_subject = no
policy = anybody
[anybody]
organizationName = optional
commonName = optional
"""


class Certificates:
    """A CA of openssl's, and certificates by it: ca, server (for 127.0.0.1 and localhost), and clients."""

    def __init__(self, directory, name="test-ca"):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.ca = self.dir / "ca.crt"
        self._openssl("req", "-x509", *self._new_key("ca"), "-out", self.ca, "-subj", f"/CN={name}", "-days", "30",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.server = self.issue("server", "/CN=server", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost\nextendedKeyUsage=serverAuth")
        self.admin = self.client("admin", "/O=system:masters/CN=admin")

    def _openssl(self, *arguments, input=None):
        run(["openssl", *arguments], input=input, check=True)

    def _new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.dir / f"{name}.key"]

    def issue(self, name, subject, extensions, days=30):
        """(certificate, key), files."""
        request, cert, ext = (self.dir / f"{name}.{suffix}" for suffix in ("csr", "crt", "ext"))
        ext.write_text(extensions + "\n")
        self._openssl("req", *self._new_key(name), "-out", request, "-subj", subject)
        if days < 0:
            self._sign_expired(request, cert, ext, days)
        else:
            self._openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.dir / "ca.key", "-CAcreateserial", "-out", cert,
                          "-days", str(days), "-extfile", ext)
        return cert, self.dir / f"{name}.key"

    def _sign_expired(self, request, cert, ext, days):
        """`openssl x509` takes no negative days any more (3.5), and no dates yet (3.0)."""
        config = self.dir / "ca.cnf"
        config.write_text(CA_CONFIG.format(dir=self.dir))
        (self.dir / "index.txt").touch()
        begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + after * 86400)) for after in (days - 30, days))
        self._openssl("ca", "-batch", "-notext", "-preserveDN", "-config", config, "-in", request, "-cert", self.ca, "-keyfile", self.dir / "ca.key",
                      "-out", cert, "-startdate", begin, "-enddate", end, "-extfile", ext)

    def client(self, name, subject=None):
        return self.issue(name, subject or f"/CN={name}", "extendedKeyUsage=clientAuth")


KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}", certificate-authority: {ca}}}}}]
users: [{{name: u, user: {{client-certificate: {cert}, client-key: {key}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def write_kubeconfig(path, url, certificates):
    cert, key = certificates.admin
    path.write_text(KUBECONFIG.format(url=url, ca=certificates.ca, cert=cert, key=key))
    return path


class Serve(Server):
    """`annals serve --standalone` on an Etcd, on any free port."""

    def __init__(self, etcd_endpoint, certificates, *flags, wait=True, env=None, binary=BIN):
        cert, key = certificates.server
        super().__init__([binary, "serve", "--standalone", f"--etcd-servers={etcd_endpoint}", "--bind-address=127.0.0.1", "--secure-port=0",
                          f"--tls-cert-file={cert}", f"--tls-private-key-file={key}", f"--client-ca-file={certificates.ca}", *flags], env=env)
        listening = self.stderr.wait(r"listening on 127\.0\.0\.1 port (\d+)")
        if not listening:
            raise AssertionError(f"annals serve ended with {self.wait()}:\n{self.stderr.text}")
        self._attach(f"https://127.0.0.1:{listening[1]}", certificates.ca, *certificates.admin)
        if wait:
            self.wait_ready()
