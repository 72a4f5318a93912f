"""annals as a Kubernetes API server for tests.

    with annals_test_server.Server() as server:
        kubernetes.config.load_kube_config(server.kubeconfig)

Each server has a port and a directory of its own. It keeps its objects in memory, and is gone with the `with`, or with this process,
however that ends. With pytest, the fixture `annals` is such a server: see plugin.py.

The program annals is looked for in Server(binary=...), in $ANNALS_BIN, and in $PATH.
"""

import collections
import json
import os
import select
import shutil
import ssl
import subprocess
import threading
import time

__all__ = ["Server", "StartError"]

BINARY_VARIABLE = "ANNALS_BIN"
LINES_MAX, LINE_MAX = 200, 4096  # of the log: its end is kept


class StartError(RuntimeError):
    """The server does not start; says why."""


def find_binary(given=None):
    path = given or os.environ.get(BINARY_VARIABLE) or shutil.which("annals")
    if not path:
        raise StartError(f"annals is not in $PATH: install it, or say where it is with binary= or ${BINARY_VARIABLE}")
    return os.fspath(path)


class Server:
    """An annals that runs.

    url, token (an administrator's), ca (PEM), client_certificate and client_key (PEM), kubeconfig (the path of a file), version, pid.

    binary: the path of annals; store: "memory", or "etcd", which needs an etcd in $PATH; args: more flags of `annals up`; timeout: seconds
    that a start or an end may take.
    """

    def __init__(self, *args, binary=None, store="memory", timeout=20.0):
        self._timeout = timeout
        self._log = collections.deque(maxlen=LINES_MAX)
        reading, writing = os.pipe()
        command = [find_binary(binary), "up", "--ephemeral", f"--store={store}", "--output=json", f"--ready-fd={writing}", *map(os.fspath, args)]
        try:
            self._process = subprocess.Popen(command, pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except OSError as error:
            os.close(reading)
            raise StartError(f"annals does not start: {error}") from error
        finally:
            os.close(writing)
        self._reader = threading.Thread(target=self._read_log, name="annals-log", daemon=True)
        self._reader.start()
        try:
            self._attach(json.loads(self._read_line(reading)))
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            os.close(reading)

    def _read_log(self):
        with self._process.stderr as pipe:
            for line in iter(lambda: pipe.readline(LINE_MAX), b""):
                self._log.append(line.decode(errors="replace"))

    def _read_line(self, reading):
        line, deadline = b"", time.monotonic() + self._timeout
        news = select.poll()  # select() refuses descriptors above 1023
        news.register(reading, select.POLLIN)
        while not line.endswith(b"\n"):
            if not news.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise StartError(f"annals is not ready after {self._timeout:g} s\n{self.log}")
            part = os.read(reading, 65536)
            if not part:
                status = self._process.wait()
                self._reader.join()
                raise StartError(f"annals did not start (status {status}):\n{self.log}")
            line += part
        return line

    def _attach(self, news):
        self.url, self.token, self.ca = news["url"], news.get("token"), news["ca"]
        self.client_certificate, self.client_key = news["clientCertificate"], news["clientKey"]
        self.kubeconfig, self.version, self.pid = news["kubeconfig"], news["version"], news["pid"]

    @property
    def log(self):
        """The end of the server's log."""
        return "".join(self._log)

    def ssl_context(self):
        """For http.client, urllib, aiohttp and others of the standard library's kind: trusts this server alone."""
        return ssl.create_default_context(cadata=self.ca)

    def stop(self):
        """Ends the server and removes its files. A second call does nothing."""
        if self._process.returncode is not None:
            return
        ended = self._process.poll()
        if ended is None:
            self._process.terminate()
            try:
                self._process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise RuntimeError(f"annals did not end within {self._timeout:g} s and was killed\n{self.log}") from None
        self._reader.join()
        if ended is not None or self._process.returncode:
            raise RuntimeError(f"annals ended {'by itself ' if ended is not None else ''}with status {self._process.returncode}\n{self.log}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
