"""A Unix socket that leads to another one, until it is cut."""

import pathlib
import socket
import threading


class Relay:
    def __init__(self, path, target):
        self.path, self.target = pathlib.Path(path), target
        self.connections = []
        self.mend()

    def mend(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        threading.Thread(target=self._accept, args=[self.listener], daemon=True).start()

    def cut(self):
        """Ends what is under way, and refuses everything from now on."""
        self.path.unlink()
        for end in [self.listener, *self.connections]:
            shut(end)
        self.connections = []

    def _accept(self, listener):
        try:
            while True:
                self._lead(listener.accept()[0])
        except OSError:
            pass  # it was cut

    def _lead(self, near):
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self.target)
        except OSError:  # nobody is there just now
            near.close()
            return
        self.connections += [near, far]
        for source, sink in ((near, far), (far, near)):
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
