"""annals alone on an etcd, for clients that are programs of their own, with its controllers beside it if need be. A kubeconfig leads
to it, and through an HTTP port of the test suite's they have it restarted, its history compacted, etcd paused, their connections cut."""

import http.server
import os
import pathlib
import signal
import threading

import doorway
import kube
import processes
import truth


class Alone:
    """env: what programs need in their environment. Processes end with the thread that started them: that of the control, once it
    has restarted annals, which therefore is stopped first."""

    def __init__(self, folder, certificates, *flags, controllers=False):
        self.folder, self.certificates, self.flags = pathlib.Path(folder), certificates, flags
        self.doorway = doorway.Doorway()
        self.etcd = processes.Etcd(self.folder / "etcd", kube.NEWEST_ETCD)
        self.gateway = truth.Gateway(self.etcd.endpoint)
        self.start()
        processes.retry_until(lambda: self.annals.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
        self.kubeconfig = kube.write_kubeconfig(self.folder / "kubeconfig", self.doorway, certificates)
        arguments = [processes.BIN, "controllers", "--kubeconfig", self.kubeconfig]
        self.controllers = processes.Process(arguments) if controllers else None
        self.control = Control({"restart": self.restart, "compact": lambda: truth.forget(self.gateway, [self.annals]), "cut": self.doorway.cut,
                                "pause": lambda: self.etcd.signal(signal.SIGSTOP), "resume": lambda: self.etcd.signal(signal.SIGCONT)})

    @property
    def env(self):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder), "ANNALS_CONTROL": self.control.url}

    @property
    def everything(self):
        return [process for process in (self.etcd, self.annals, self.controllers) if process]

    def start(self):
        self.annals = processes.Serve(self.etcd.endpoint, self.certificates, "--etcd-compaction-interval=0", *self.flags)
        self.doorway.lead_to(self.annals.client.port)

    def restart(self):
        self.doorway.lead_to()
        self.annals.stop()
        self.start()

    def stop(self):
        self.etcd.signal(signal.SIGCONT)
        if self.controllers:
            self.controllers.stop()
        self.annals.stop()
        self.control.close()
        self.doorway.close()
        self.etcd.stop()


class Control:
    """POST /NAME on `url` does what `actions` has under that name: 200 when it is done."""

    def __init__(self, actions):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                actions[self.path.strip("/")]()
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
