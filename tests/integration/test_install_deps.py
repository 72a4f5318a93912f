"""tools/install-deps.sh on systems that this one is not: what it asks dpkg, apt and sudo is answered by scripts of the test's."""

import shutil
import stat
import subprocess

import pytest

from processes import ROOT

SCRIPT = ROOT / "tools" / "install-deps.sh"

# What a distribution has: packages that are installed, and that can be. apt-get only writes its arguments down.
DPKG_QUERY = '#!/bin/sh\nfor name; do :; done\ngrep -qx "$name" "$SYSTEM/installed" && printf installed\n'
APT_CACHE = '#!/bin/sh\ngrep -qx "$2" "$SYSTEM/available" && echo "  Candidate: 1.0" || echo "  Candidate: (none)"\n'
APT_GET = '#!/bin/sh\necho "$@" >>"$SYSTEM/log"\n[ "$1" = update ] && cp "$SYSTEM/archive" "$SYSTEM/available"\nexit 0\n'
ID = "#!/bin/sh\ncat $SYSTEM/uid\n"
SUDO = '#!/bin/sh\necho "sudo $1" >>"$SYSTEM/log"\nexec "$@"\n'
TOOLS = ["bash", "sh", "cat", "cp", "echo", "env", "grep", "readlink", "sort", "xargs"]


class System:
    """A fresh Debian as root: everything is in the archive, nothing is installed, apt has no lists."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, text in [("dpkg-query", DPKG_QUERY), ("apt-cache", APT_CACHE), ("apt-get", APT_GET), ("id", ID)]:
            self.add_program(name, text)
        self.set("installed")
        self.set("available")
        self.set("archive", *self.all_packages())
        self.set("uid", "0")

    def add_program(self, name, text="#!/bin/sh\n"):
        path = self.bin / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def set(self, what, *lines):
        (self.folder / what).write_text("".join(f"{line}\n" for line in lines))

    @staticmethod
    def all_packages():
        """Those of Debian 12: of a|b the first."""
        table = SCRIPT.read_text().partition("declare -A packages=(")[2].partition("\n)")[0]
        words = [word for word in table.replace('"', " ").split() if not word.startswith("[")]
        return {word.partition("|")[0].rstrip("?") for word in words} | {"libc6", "kubernetes-client"}

    @property
    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def run(self, *purposes):
        env = {"PATH": str(self.bin), "SYSTEM": str(self.folder)}
        return subprocess.run([SCRIPT, *purposes], env=env, capture_output=True, text=True, timeout=60)


@pytest.fixture
def system(folder):
    return System(folder)


def installed_by(system):
    """What apt-get was asked to install last."""
    words = system.log[-1].split()
    assert words[0] == "install"
    return {word for word in words[1:] if not word.startswith("-")}


def test_what_is_missing_is_installed(system):
    done = system.run("build", "run", "test")
    assert done.returncode == 0, done.stderr
    assert {"gcc", "libgrpc-dev", "etcd-server", "libcurl3-gnutls", "kubernetes-client", "python3-pytest"} <= installed_by(system)
    assert "clang" not in installed_by(system)
    system.set("installed", *system.all_packages() - {"meson"})
    system.add_program("kubectl")
    assert system.run("build", "run").returncode == 0
    assert installed_by(system) == {"meson"}


def test_where_nothing_is_missing_nothing_is_said_or_done(system):
    system.set("installed", *system.all_packages())
    system.add_program("kubectl")
    done = system.run("build", "run", "test")
    assert (done.returncode, done.stdout, done.stderr, system.log) == (0, "", "", [])


def test_a_package_may_have_another_name(system):
    """Ubuntu 24.04's, for example."""
    system.set("archive", *system.all_packages() - {"libcurl3-gnutls"}, "libcurl3t64-gnutls")
    assert system.run("build", "run").returncode == 0
    assert "libcurl3t64-gnutls" in installed_by(system)
    system.set("installed", *system.all_packages() - {"libcurl3-gnutls"}, "libcurl3t64-gnutls")
    system.add_program("kubectl")
    before = system.log
    assert system.run("build", "run").stderr == ""
    assert system.log == before


def test_where_no_package_has_kubectl_it_goes_on_and_says_so(system):
    system.set("archive", *system.all_packages() - {"kubernetes-client"})
    done = system.run("build", "run")
    assert done.returncode == 0, done.stderr
    assert "kubernetes-client" not in installed_by(system)
    assert "going on without it" in done.stderr
    # Once everything else is there, apt is not asked again and again.
    system.set("installed", *system.all_packages() - {"kubernetes-client"})
    before = system.log
    done = system.run("build", "run")
    assert (done.returncode, system.log) == (0, before)
    assert "going on without it" in done.stderr


def test_what_can_be_done_without_is_left_out_where_nobody_has_it(system):
    """Ubuntu has Chromium as a snap alone."""
    assert system.run("test").returncode == 0
    assert "chromium" in installed_by(system)
    everything = system.all_packages() - {"chromium"}
    system.set("archive", *everything)
    system.set("available", *everything)
    assert system.run("test").returncode == 0
    assert "python3-pytest" in installed_by(system) and "chromium" not in installed_by(system)
    system.set("installed", *everything)
    system.add_program("kubectl")
    before = system.log
    done = system.run("test")
    assert (done.returncode, done.stderr, system.log) == (0, "", before)


def test_others_than_root_use_sudo(system):
    system.set("uid", "1000")
    system.add_program("sudo", SUDO)
    assert system.run("build", "run").returncode == 0
    assert [line for line in system.log if line.startswith("sudo")] == ["sudo apt-get", "sudo env"]


def test_without_root_and_sudo_it_says_what_to_run(system):
    system.set("uid", "1000")
    system.set("installed", *system.all_packages() - {"meson"})
    done = system.run("build", "run")
    assert done.returncode == 1
    assert "as root" in done.stderr and "meson" in done.stderr and f"{SCRIPT} build run" in done.stderr
    assert system.log == []


def test_elsewhere_it_says_where_to_read(system):
    (system.bin / "dpkg-query").unlink()
    done = system.run("build", "run")
    assert (done.returncode, system.log) == (0, [])
    assert "docs/development/dependencies.md" in done.stderr
