"""`annals completion`: what a shell offers at the tabulator key, asked of real shells; what they lack here is skipped."""

import contextlib
import os
import pty
import shutil
import subprocess
import threading

import pytest

import processes
from processes import BIN, ROOT, run

COMMANDS = ["up", "serve", "controllers", "certs", "doctor", "fsck"]


def complete(*words):
    """What shells ask: (possibilities, directive)."""
    done = run([BIN, "__complete", *words])
    assert done.returncode == 0 and not done.stderr
    *lines, directive = done.stdout.splitlines()
    return [line.split("\t")[0] for line in lines], int(directive.removeprefix(":"))


def test_what_shells_are_told():
    assert set(COMMANDS) | {"help", "completion", "kubectl"} <= set(complete("")[0])
    assert complete("ser") == (["serve"], 4) == complete("help", "ser")
    assert complete("completion", "") == (["bash", "zsh", "fish"], 4) and complete("completion", "bash", "") == ([], 4)
    assert complete("up", "--storage-migration", "") == (["Auto", "Manual", "Off"], 4) == complete("up", "--storage-migration=")
    assert complete("fsck", "-o", "j") == (["json"], 4) and complete("serve", "--standalone=t") == (["true"], 4)
    assert complete("fsck", "--rep") == (["--repair"], 4) and "-o" in complete("fsck", "-")[0]
    assert complete("fsck", "--data-dir", "") == ([], 16) and complete("serve", "--tls-cert-file=") == ([], 0)
    assert complete("import", "") == ([], 0) == complete("import", "--exact", "back") and complete("export", "") == ([], 4)
    assert complete("up", "--port", "") == ([], 4) == complete("nothing", "") == complete("up", "") == complete("up", "--nothing=")
    assert complete("kubectl", "res") == (["restore"], 4) and complete("kubectl", "undo", "x", "--dry-run=s") == (["server"], 4)
    assert complete("kube") == (["kubectl"], 4) and complete() == ([], 4)


def test_a_shell_that_is_not_known():
    done = run([BIN, "completion", "zhs"])
    assert done.returncode == 2 and "there is no completion for zhs. Did you mean zsh?" in done.stderr
    assert "give a shell" in run([BIN, "completion"]).stderr
    assert "source <(annals completion bash)" in run([BIN, "completion", "--help"]).stdout


@pytest.fixture
def home(folder):
    """Programs by their names, and files to be found."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("annals", "kubectl-annals"):
        (tools / name).symlink_to(BIN)
    (folder / "data").mkdir()
    (folder / "data.crt").touch()
    return folder


class Shell:
    """An interactive shell at a terminal, which writes what it offers to a file."""

    def __init__(self, arguments, home):
        master, slave = pty.openpty()
        env = {"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8", "OUT": str(home / "out")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            env.update({name: os.environ[name]} if name in os.environ else {})
        self.child = subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, cwd=home, env=env, start_new_session=True)
        os.close(slave)
        self.master, self.home, self.seen = master, home, b""
        self.reader = threading.Thread(target=self._drain)
        self.reader.start()

    def begin(self, setup):
        (self.home / "setup").write_text(setup)
        self.type(". ./setup\n")
        self.wait_for("ready")

    def _drain(self):
        """A shell whose output nobody takes would wait."""
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 65536):
                self.seen += data

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, name):
        path = self.home / name
        processes.retry_until(path.exists, f"{name} of the shell; it says {self.seen.decode(errors='replace')}")
        text = path.read_text().splitlines()
        path.unlink()
        return text

    def complete(self, line):
        self.type(line + "\t")
        offered = self.wait_for("out")
        self.type("\x15")  # Ctrl-U: nothing is typed
        return sorted(text for text in offered if text)

    def close(self):
        self.child.kill()
        self.child.wait()
        self.reader.join()
        os.close(self.master)


# What the shell is about to offer is written down, all at once.
BASH = """
source <(annals completion bash)
_said() { _annals; printf '%s\\n' "${COMPREPLY[@]}" >"$OUT.new"; mv "$OUT.new" "$OUT"; }
complete -F _said annals kubectl-annals
bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set enable-bracketed-paste off'
touch ready
"""
ZSH = """
autoload -Uz compinit; compinit -D -u; unsetopt beep
source <(annals completion zsh)
_say() { print -rl -- "$@" >$OUT.new; mv $OUT.new $OUT }
_describe() { _say "${(@)${(@)offers%%:*}}" }
_files() { local -a found; if [[ $1 == -/ ]] { found=($PREFIX*(/N)) } else { found=($PREFIX*(N)) }; _say $found }
touch ready
"""
CASES = [
    ("annals ser", ["serve"]),
    ("annals help doc", ["doctor"]),
    ("annals up --storage-m", ["--storage-migration", "--storage-migration-rate"]),
    ("annals up --storage-migration ", ["Auto", "Manual", "Off"]),
    ("annals up --storage-migration=M", ["Manual"]),
    ("annals serve --tls-cert-file dat", ["data", "data.crt"]),
    ("annals fsck --data-dir dat", ["data"]),
    ("annals fsck --data-dir=dat", ["data"]),
    ("annals completion z", ["zsh"]),
    ("annals import dat", ["data", "data.crt"]),
    ("annals kubectl res", ["restore"]),
    ("kubectl-annals who", ["who-uses"]),
]


@contextlib.contextmanager
def at(arguments, home, setup):
    if not shutil.which(arguments[0]):
        pytest.skip(f"{arguments[0]} is not here")
    shell = Shell(arguments, home)
    try:
        shell.begin(setup)
        yield shell
    finally:
        shell.close()


def test_bash(home):
    with at(["bash", "--norc", "--noprofile", "-i"], home, BASH) as shell:
        assert {line: shell.complete(line) for line, _ in CASES} == dict(CASES)
        assert shell.complete("annals up --storage-migration =") == [], "that is a word of its own"


def test_bash_that_splits_at_blanks_alone(home):
    with at(["bash", "--norc", "--noprofile", "-i"], home, BASH + "COMP_WORDBREAKS=' '\n") as shell:
        assert shell.complete("annals up --storage-migration=M") == ["--storage-migration=Manual"]


def test_zsh(home):
    with at(["zsh", "-f", "-i"], home, ZSH) as shell:
        assert {line: [it.rstrip("/") for it in shell.complete(line)] for line, _ in CASES} == dict(CASES)


def test_fish(home):
    if not shutil.which("fish"):
        pytest.skip("fish is not here")
    env = {**os.environ, "HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}"}
    for line, offered in CASES:
        done = run(["fish", "--no-config", "-c", f"cd {home}; annals completion fish | source; complete -C '{line}'"], env=env)
        assert done.returncode == 0 and not done.stderr, done
        flag = line.rpartition(" ")[2].partition("=")
        want = [(flag[0] + "=" if flag[1] else "") + text for text in offered]
        assert sorted(text.split("\t")[0].rstrip("/") for text in done.stdout.splitlines() if text) == want, line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_what_packages_install(shell):
    assert run([BIN, "completion", shell]).stdout == (ROOT / "cli" / "completion" / f"annals.{shell}").read_text()
