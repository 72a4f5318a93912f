"""A real etcd with servers on it, and everything that may befall them; and the threads that use them meanwhile."""

import contextlib
import os
import signal
import threading
import time

import members
import processes
import truth

N_MEMBERS = int(os.environ.get("FAULT_MEMBERS", "1"))  # of etcd, for every scenario: 1 or 3
SECONDS = float(os.environ.get("FAULT_SECONDS", "6"))  # how long each scenario goes on, at least


class World:
    """etcd and `annals serve` processes on it. Whoever starts one must be the main thread: processes end with the thread that
    started them."""

    etcd_flags = ()
    server_flags = ("--etcd-compaction-interval=0",)

    def __init__(self, folder, certificates, etcd_binary=None, n_servers=2, n_members=N_MEMBERS, on_small_disks=False):
        assert n_members in (1, members.N_MEMBERS)
        self.n_members, self.on_small_disks, self.etcd = n_members, on_small_disks, None
        self.folder, self.certificates, self.etcd_binary = folder, certificates, etcd_binary
        self.start_etcd()
        self.gateway = truth.Gateway(self.etcd.endpoint) if n_members == 1 else members.Gateway(self.etcd)
        self.servers = [None] * n_servers
        for number in range(n_servers):
            self.start_server(number)
        processes.retry_until(lambda: self.servers[0].get("/api/v1/namespaces/default").status == 200, "the first namespaces")

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        """Servers first: an etcd that is asked to end waits for those who watch it."""
        statuses = [server.stop() for server in self.servers if server]
        self.etcd.kill()
        assert failure or not any(statuses), f"servers ended with {statuses}"

    def start_etcd(self):
        if self.n_members == 1:
            self.etcd = processes.Etcd(self.folder / "etcd", self.etcd_binary, flags=self.etcd_flags)
        elif self.etcd:
            self.etcd.start_all()
        else:
            self.etcd = members.Members(self.folder / "etcd", self.etcd_binary, self.etcd_flags, self.on_small_disks)

    def path(self, number):
        """A socket of etcd, for a relay that leads a server there."""
        paths = getattr(self.gateway, "paths", [f"{self.folder}/etcd/client:0"])
        return paths[number % len(paths)]

    def endpoint(self, _number):
        return self.etcd.endpoint

    def start_server(self, number, wait=True):
        self.servers[number] = processes.Serve(self.endpoint(number), self.certificates, *self.server_flags, wait=wait)

    def pause_etcd(self):
        self.etcd.signal(signal.SIGSTOP)

    def resume_etcd(self):
        self.etcd.signal(signal.SIGCONT)

    def wait_ready(self):
        for server in self.servers:
            server.wait_ready()

    def wait_not_ready(self):
        """Until every server that answers says that it cannot serve."""
        for server in self.servers:
            processes.retry_until(lambda server=server: server.get("/readyz").status == 500, f"{server.url}/readyz failing")


class Crew:
    """Threads that each call step() of one member again and again until they are stopped. What goes wrong in one is raised in the
    main thread. A member counts in `successes` and `failures` how its steps went."""

    def __init__(self, members):
        self.members, self.errors = members, []
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=[member], daemon=True) for member in members]

    def _run(self, member):
        try:
            while not self.is_over.is_set():
                member.step()
        except BaseException as error:  # pylint: disable=broad-except
            self.errors.append(error)
            self.is_over.set()

    def _raise(self):
        if self.errors:
            raise self.errors[0]

    def wait(self, condition, what):
        """Until condition(member) holds for each member."""

        def holds():
            self._raise()
            return all(map(condition, self.members))

        processes.retry_until(holds, what)

    def _wait_more(self, counter, n, members):
        """Each one has the time that anything may take."""
        before = {member: getattr(member, counter) for member in (self.members if members is None else members)}
        for number in range(1, n + 1):
            self.wait(lambda member, more=number: member not in before or getattr(member, counter) >= before[member] + more,
                      f"{number} of {n} more {counter} of each client")

    def wait_successes(self, n=1, members=None):
        self._wait_more("successes", n, members)

    def wait_failures(self, n=1, members=None):
        self._wait_more("failures", n, members)

    def wait_stuck(self):
        """Until each waits for an answer, as its is_busy tells."""
        self.wait(lambda member: member.is_busy, "requests of each client")

    @contextlib.contextmanager
    def at_work(self):
        for thread in self.threads:
            thread.start()
        try:
            yield self
        finally:
            self.is_over.set()
            for thread in self.threads:
                thread.join(2 * processes.PATIENCE)
        self._raise()


def rounds(least=1):
    """Numbers from 0 on, for SECONDS and at least that many."""
    until, number = time.monotonic() + SECONDS, 0
    while number < least or time.monotonic() < until:
        yield number
        number += 1
