"""Three members of one etcd, which may be killed and paused one by one, and whose disks may be full."""

import json
import os
import pathlib
import resource
import shutil
import signal

import processes
import truth

N_MEMBERS = 3
QUORUM = 2
TIMES = ["--heartbeat-interval=50", "--election-timeout=500"]  # that a busy machine keeps, and a test can wait for
PEERS = ",".join(f"m{number}=unix://peer{number}:0" for number in range(N_MEMBERS))
ROOM = "1g"  # of a disk that is not full; it takes memory only for what is written to it


def tool_of(binary, name):
    """A program that belongs to an etcd: beside it, or else of this machine; None: there is none."""
    beside = pathlib.Path(binary).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


class Disks:
    """A directory for the data of each member; if wanted, a small file system: a tmpfs in a mount namespace of its own, which goes with its
    processes. `missing` says why there is none."""

    MOUNT = 'for disk in "$@"; do mount -t tmpfs -o size=%s,mode=700 etcd "$disk" || exit 1; done; echo mounted; exec setpriv --pdeathsig=KILL -- sleep infinity' % ROOM

    def __init__(self, directory, are_small=False):
        self.dirs = [directory / f"disk{number}" for number in range(N_MEMBERS)]
        for path in self.dirs:
            path.mkdir(exist_ok=True)
        self.enter, self.root, self.missing = [], pathlib.Path("/"), "nobody asked for one"
        if are_small:
            self._mount()

    def _mount(self):
        for as_user in ([], ["--user", "--map-root-user"]):
            holder = processes.Process(["unshare", *as_user, "--mount", "--propagation=private", "sh", "-c", self.MOUNT, "sh", *self.dirs])
            if holder.stdout.wait("^mounted$"):
                self.enter = ["nsenter", f"--target={holder.pid}", *(["--user", "--preserve-credentials"] if as_user else []), "--mount", "--"]
                self.root, self.missing = pathlib.Path(f"/proc/{holder.pid}/root"), ""
                return
            holder.wait()
            self.missing = "no file system can be mounted: " + holder.stderr.text.strip().replace("\n", "; ")

    def path(self, number):
        """As this process sees it."""
        return self.root / self.dirs[number].relative_to("/")

    def command(self, directory, arguments):
        """Which runs where the disks are."""
        return [*self.enter, "sh", "-c", 'cd "$0" && exec setpriv --pdeathsig=KILL -- "$@"', directory, *arguments]

    def _resize(self, number, size):
        return processes.run([*self.enter, "mount", "-o", f"remount,size={size}", self.dirs[number]]).returncode == 0

    def fill(self, number):
        """Nothing more goes onto it. Again if something went onto it meanwhile."""

        def is_full():
            sizes = os.statvfs(self.path(number))
            return self._resize(number, (sizes.f_blocks - sizes.f_bfree) * sizes.f_frsize)

        processes.retry_until(is_full, "a full disk")

    def make_room(self, number):
        assert self._resize(number, ROOM)


class Member(processes.Process):
    """On Unix sockets in a directory that all share: etcd takes no paths for those of peers."""

    def __init__(self, directory, number, disks, binary=None, flags=()):
        self.dir, self.number, self.is_paused = pathlib.Path(directory), number, False
        for name in ("client", "peer"):
            (self.dir / f"{name}{number}:0").unlink(missing_ok=True)
        env = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        arguments = [binary or processes.etcd_binaries()[0], f"--name=m{number}", *places(number),
                     f"--listen-client-urls=unix://client{number}:0", f"--advertise-client-urls=unix://client{number}:0",
                     f"--listen-peer-urls=unix://peer{number}:0", f"--initial-advertise-peer-urls=unix://peer{number}:0",
                     f"--initial-cluster={PEERS}", "--logger=zap", "--log-outputs=stderr", *TIMES, *flags]
        super().__init__(disks.command(self.dir, arguments), env=env)
        self.endpoint = f"unix://{self.dir}/client{number}:0"
        self.gateway = truth.Gateway(self.endpoint)

    def signal(self, number):
        super().signal(number)
        self.is_paused = number == signal.SIGSTOP

    @property
    def is_alive(self):
        return self.popen.poll() is None and not self.is_paused

    def status(self):
        return self.gateway.call("/v3/maintenance/status", {})

    def refuse_files(self):
        """As a full disk would: whatever it writes to a file fails from now on, its log of what has been agreed on first."""
        self.is_expected_to_end = True
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (1, resource.prlimit(self.pid, resource.RLIMIT_FSIZE)[1]))


def places(number):
    """Flags: where a member keeps what. Only data is on a disk that may be full: the log takes 128 MiB before anything is written to it."""
    return [f"--data-dir=disk{number}/data", f"--wal-dir=wal{number}"]


class Members:
    """What processes.Etcd is for one: the whole may be killed and started again, too."""

    def __init__(self, directory, binary=None, flags=(), on_small_disks=False):
        self.dir, self.binary, self.flags = pathlib.Path(directory), binary or processes.etcd_binaries()[0], flags
        self.dir.mkdir(parents=True, exist_ok=True)
        self.disks = Disks(self.dir, on_small_disks)
        self.start_all()
        self.endpoint = ",".join(member.endpoint for member in self.all)

    def start(self, number, *more):
        self.all[number] = Member(self.dir, number, self.disks, self.binary, [*self.flags, *more])

    def start_all(self, flags_of=lambda number: ()):
        self.all = [None] * N_MEMBERS
        for number in range(N_MEMBERS):
            self.start(number, *flags_of(number))
        self.wait_leader()

    def alive(self):
        return [member for member in self.all if member.is_alive]

    def leader(self):
        """The member; None: nobody knows of one that lives."""
        for member in self.alive():
            try:
                status = member.status()
            except (OSError, RuntimeError, ValueError):
                continue
            for other in self.alive():
                try:
                    if other.status()["header"]["member_id"] == status.get("leader"):
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

    # ---- backups ----

    def _run(self, arguments):
        env = {**os.environ, "ETCDCTL_API": "3"}
        return processes.run(self.disks.command(self.dir, arguments), env=env, check=True).stdout

    def _util(self):
        """etcdctl until 3.5 can do what etcdutl does since."""
        return tool_of(self.binary, "etcdutl") or tool_of(self.binary, "etcdctl")

    def can_bump(self):
        """Can a backup be restored at revisions that nobody has seen?"""
        return "--bump-revision" in self._run([self._util(), "snapshot", "restore", "--help"])

    def save(self, path):
        """A backup of now; its revision."""
        endpoint = self.wait_leader().endpoint
        self._run([tool_of(self.binary, "etcdctl"), "--endpoints", endpoint, f"--dial-timeout={processes.PATIENCE}s", "snapshot", "save", str(path)])
        return json.loads(self._run([self._util(), "snapshot", "status", str(path), "--write-out=json"]))["revision"]

    def restore(self, path, *flags):
        """Takes the place of what was there, for each member; to be started again. As docs/how-to/back-up-and-restore.md says it."""
        for number, member in enumerate(self.all):
            assert not member.is_alive, "it is running"
            shutil.rmtree(self.disks.path(number) / "data")
            shutil.rmtree(self.dir / f"wal{number}")
            self._run([self._util(), "snapshot", "restore", str(path), *places(number), f"--name=m{number}", f"--initial-cluster={PEERS}",
                       f"--initial-advertise-peer-urls=unix://peer{number}:0", *flags])


class Gateway(truth.Gateway):
    """The first member that answers is asked."""

    def __init__(self, members):
        super().__init__(members.all[0].endpoint)
        self.paths = [member.gateway.path for member in members.all]

    def _post(self, path, body):
        for candidate in self.paths[:-1]:
            try:
                return self._post_to(candidate, path, body)
            except OSError:
                pass
        return self._post_to(self.paths[-1], path, body)
