"""Three members of one etcd, which may be killed and paused one by one."""

import os
import pathlib
import signal

import processes
import truth

N_MEMBERS = 3
QUORUM = 2
TIMES = ["--heartbeat-interval=50", "--election-timeout=500"]  # that a busy machine keeps, and a test can wait for


class Member(processes.Process):
    """On Unix sockets in a directory that all share: etcd takes no paths for those of peers."""

    def __init__(self, directory, number, binary=None, flags=()):
        self.dir, self.number, self.is_paused = pathlib.Path(directory), number, False
        for name in ("client", "peer"):
            (self.dir / f"{name}{number}:0").unlink(missing_ok=True)
        peers = ",".join(f"m{other}=unix://peer{other}:0" for other in range(N_MEMBERS))
        env = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        super().__init__([binary or processes.etcd_binaries()[0], f"--name=m{number}", f"--data-dir=data{number}",
                          f"--listen-client-urls=unix://client{number}:0", f"--advertise-client-urls=unix://client{number}:0",
                          f"--listen-peer-urls=unix://peer{number}:0", f"--initial-advertise-peer-urls=unix://peer{number}:0",
                          f"--initial-cluster={peers}", "--logger=zap", "--log-outputs=stderr", *TIMES, *flags], env=env, cwd=self.dir)
        self.endpoint = f"unix://{self.dir}/client{number}:0"
        self.gateway = truth.Gateway(self.endpoint)

    def signal(self, number):
        super().signal(number)
        self.is_paused = number == signal.SIGSTOP

    @property
    def is_alive(self):
        return self.popen.poll() is None and not self.is_paused


class Members:
    """What processes.Etcd is for one: the whole may be killed and started again, too."""

    def __init__(self, directory, binary=None, flags=()):
        self.dir, self.binary, self.flags = pathlib.Path(directory), binary, flags
        self.dir.mkdir(parents=True, exist_ok=True)
        self.all = [Member(self.dir, number, binary, flags) for number in range(N_MEMBERS)]
        self.endpoint = ",".join(member.endpoint for member in self.all)
        self.wait_leader()

    def start(self, number):
        self.all[number] = Member(self.dir, number, self.binary, self.flags)

    def alive(self):
        return [member for member in self.all if member.is_alive]

    def leader(self):
        """The member; None: nobody knows of one that lives."""
        for member in self.alive():
            try:
                status = member.gateway.call("/v3/maintenance/status", {})
            except (OSError, RuntimeError, ValueError):
                continue
            for other in self.alive():
                try:
                    if other.gateway.call("/v3/maintenance/status", {})["header"]["member_id"] == status.get("leader"):
                        return other
                except (OSError, RuntimeError, ValueError):
                    pass
        return None

    def wait_leader(self):
        return processes.retry_until(self.leader, "a leader among etcd's members")

    def signal(self, number):
        for member in self.all:
            member.signal(number)

    def kill(self):
        for member in self.all:
            member.kill()


class Gateway(truth.Gateway):
    """The first member that answers is asked."""

    def __init__(self, members):
        super().__init__(members.all[0].endpoint)
        self.paths = [member.gateway.path for member in members.all]

    def _post(self, path, body):
        for candidate in self.paths[:-1]:
            self.path = candidate
            try:
                return super()._post(path, body)
            except OSError:
                pass
        self.path = self.paths[-1]
        return super()._post(path, body)
