"""A TCP port that leads to one of some servers, which may be others later: clients keep their address while a server is restarted."""

import socket
import threading


class Doorway:
    def __init__(self):
        self.targets, self.connections = [], []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, *ports):
        """Where connections go from now on, in turn, and to the next one where nobody listens; nowhere, if there are none."""
        with self.lock:
            self.targets = list(ports)

    def cut(self):
        """Ends all connections under way. New ones may come at once."""
        with self.lock:
            ends, self.connections = self.connections, []
        for end in ends:
            shut(end)

    def close(self):
        shut(self.listener)
        self.listener.close()
        self.cut()

    def _accept(self):
        try:
            while True:
                self._lead(self.listener.accept()[0])
        except OSError:
            pass  # it was closed

    def _connect(self):
        """To the first that takes it; next time another one is the first."""
        self.targets = self.targets[1:] + self.targets[:1]
        for port in self.targets:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                pass  # nobody is there just now
        return None

    def _lead(self, near):
        with self.lock:
            far = self._connect()
            if far is None:
                near.close()
                return
            self.connections += [near, far]
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=lead, args=[near, far], daemon=True).start()


def lead(near, far):
    back = threading.Thread(target=pump, args=[far, near], daemon=True)
    back.start()
    pump(near, far)
    back.join()
    near.close()
    far.close()


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was faster


def pump(source, sink):
    """Who has said all may still be listened to: a server that refuses a body reads on, so that its answer arrives."""
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        shut(source)
        shut(sink)
