"""A TCP port that leads to a server, which may be another one later: clients keep their address while a server is restarted."""

import socket
import threading


class Doorway:
    def __init__(self):
        self.target, self.connections = None, []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port):
        """Where connections go from now on; None: nowhere."""
        with self.lock:
            self.target = port

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

    def _lead(self, near):
        with self.lock:
            try:
                far = socket.create_connection(("127.0.0.1", self.target)) if self.target else None
            except OSError:
                far = None  # nobody is there just now
            if far is None:
                near.close()
                return
            self.connections += [near, far]
        for source, sink in ((near, far), (far, near)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=pump, args=[source, sink], daemon=True).start()


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was faster


def pump(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass
    shut(source)
    shut(sink)
    source.close()
