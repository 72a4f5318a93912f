"""Sockets that lead to other ones, until they are cut, and which may dawdle."""

import pathlib
import random
import socket
import threading
import time


def at_once():
    """A lag: how long what has come waits until it goes on, in seconds."""
    return 0


def now_and_then():
    """Most goes on at once; some waits for so long that much else happens meanwhile."""
    return random.uniform(0, 0.1) if random.random() < 0.03 else 0


class Relay:
    """A Unix socket that leads to another one."""

    def __init__(self, path, target, lag=at_once):
        self.path, self.target, self.lag = pathlib.Path(path), target, lag
        self.connections = []
        self.fix()

    def fix(self):
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

    def _connect(self):
        far = socket.socket(socket.AF_UNIX)
        far.connect(self.target)
        return far

    def _lead(self, near):
        try:
            far = self._connect()
        except OSError:  # nobody is there just now
            near.close()
            return
        self.connections += [near, far]
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=pump, args=[source, sink, self._hold(near, source)], daemon=True).start()

    def _hold(self, _near, _source):
        """hold(piece) of one direction of one connection: returns when that may go on."""

        def hold(_piece):
            if wait := self.lag():
                time.sleep(wait)

        return hold


class Port(Relay):
    """A TCP port that leads to the first of targets() that takes connections: ports, which may be others each time."""

    def __init__(self, targets, lag=at_once):
        super().__init__("", targets, lag)

    def fix(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, args=[self.listener], daemon=True).start()

    def cut(self):
        for end in [self.listener, *self.connections]:
            shut(end)
        self.connections = []

    def _connect(self):
        for port in self.target():
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                pass  # this one is away
        raise ConnectionRefusedError


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was faster


def pump(source, sink, hold):
    """What has been taken arrives, even if whoever sent it has ended since."""
    try:
        while piece := source.recv(65536):
            hold(piece)
            sink.sendall(piece)
    except OSError:
        pass
    shut(source)
    shut(sink)
