"""`annals up` as its user meets it: first start, second start, what is in the way, what dies, what is left behind."""

import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess

import pytest
import yaml

import fenced
import processes
from processes import BIN, is_alive, retry_until, run, wait_gone

NAMESPACES = "/api/v1/namespaces"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def revision(name, number=1, **data):
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "revision": number, "data": data or {"a": 1}}


def replace(path, text):
    """At once: a file that is written anew is empty for a moment, which is a file without tokens."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def run_up(*flags, env=None):
    """An `annals up` that is expected not to get far."""
    return run([BIN, "up", *flags], env=env)


# ---- starting ----


def test_first_start_serves_and_says_how(up, etcd_binary):
    a = up(etcd=etcd_binary)
    assert a.get("/readyz").text == "ok"
    assert a.get(NAMESPACES + "/default").status == 200
    for hint in ("export KUBECONFIG=", "kubectl annals log", "curl --cacert"):
        assert hint in a.stdout.text


def test_what_is_printed_works_when_pasted(up, folder):
    """And is README's first tour."""
    processes.kubectl_since()
    copy = folder / "copy of a kubeconfig"
    a = up("--kubeconfig-out", copy)
    *commands, log, curl = [line.strip() for line in a.stdout.text.splitlines() if line.startswith("  ")]
    assert commands[0] == f"export KUBECONFIG='{copy}'", "the path that was asked for"
    (folder / "kubectl-annals").symlink_to(BIN)
    env = {**os.environ, "HOME": str(a.dir), "PATH": f"{folder}:{os.environ['PATH']}"}

    def paste(*lines):
        return subprocess.run(["bash", "-e", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=processes.PATIENCE, env=env)

    done = paste(*commands)
    assert done.returncode == 0, done
    retry_until(lambda: "bob" in paste(commands[0], log).stdout, "who changed it")
    assert '"HistoryList"' in paste(curl).stdout.replace(" ", "")

    tour = "\n".join(fenced.Page(processes.ROOT / "README.md").under("Tour 1: the history of anything"))
    for command in [*commands[2:], log]:
        assert command in tour.splitlines()
    said, read = json.loads(re.search("echo '(.*)'", commands[1])[1]), yaml.safe_load(re.search(r"<<'END'\n(.*?)END\n", tour, re.DOTALL)[1])
    assert said == read


@pytest.mark.parametrize("form", ["text", "json"])
def test_kubeconfig_that_is_printed_is_the_one_asked_for(folder, form):
    a = processes.Process([BIN, "up", "--ephemeral", "--store=memory", "--port=0", "-o", form, "--kubeconfig-out=copy"], cwd=folder)
    assert a.stdout.wait(r"\{|export KUBECONFIG")
    assert (f'"kubeconfig":"{folder}/copy"' if form == "json" else f"export KUBECONFIG={folder}/copy\n") in a.stdout.text
    assert a.stop() == 0


def test_second_start_takes_up_the_data(up, etcd_binary):
    first = up(etcd=etcd_binary)
    made = first.post(REVISIONS, revision("kept"))
    assert made.status == 201, made
    certificate = (first.dir / "ca.crt").read_bytes()
    assert first.stop() == 0

    second = up(etcd=etcd_binary)
    assert second.get(REVISIONS + "/kept").json == made.json
    assert (second.dir / "ca.crt").read_bytes() == certificate


def test_kill_of_annals_loses_nothing(up, etcd_binary):
    first = up(etcd=etcd_binary)
    for i in range(20):
        assert first.post(REVISIONS, revision(f"r{i}", i)).status == 201
    first.kill()

    second = up(etcd=etcd_binary)
    assert len(second.get(REVISIONS).json["items"]) == 20


def test_discovery_answers_before_etcd_does(folder):
    """An etcd that never gets anywhere: a script that waits for ever."""
    slow = folder / "slow-etcd"
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o755)
    a = processes.Up(folder / "data", etcd=slow, wait=False)
    retry_until((folder / "data" / "kubeconfig").exists, "kubeconfig")
    url = next(line.split()[1] for line in (folder / "data" / "kubeconfig").read_text().splitlines() if "server:" in line)
    a._attach(url, a.dir / "ca.crt", a.dir / "admin.crt", a.dir / "admin.key")
    assert a.get("/apis").status == 200
    assert a.get("/livez?exclude=etcd").status == 200
    assert a.get("/readyz").status == 500
    assert a.get(REVISIONS).status in (503, 504)
    assert a.stop() == 0


def test_default_directory_follows_xdg(folder):
    env = {**os.environ, "XDG_DATA_HOME": str(folder)}
    a = processes.Process([BIN, "up", "--port=0"], env=env)
    assert a.stdout.wait("^annals is ready")
    assert (folder / "annals" / "kubeconfig").exists()
    assert a.stop() == 0


@pytest.mark.parametrize("name", ["long" * 50, "with blank's and 100%25 # ? ü"])
def test_odd_directory_is_no_obstacle(up, folder, name):
    a = up(dir=folder / name / "data")
    assert a.get(NAMESPACES + "/default").status == 200
    export = next(line for line in a.stdout.text.splitlines() if "export KUBECONFIG" in line)
    assert run(["bash", "-c", export + '; test -r "$KUBECONFIG"']).returncode == 0


# ---- on an etcd that is there ----


def test_on_an_etcd_that_is_there_it_starts_none(up, etcd, folder, etcd_binary):
    other = etcd(binary=etcd_binary)
    (folder / "setpriv").symlink_to(shutil.which("setpriv"))  # of the test's own; no etcd
    first = up("--etcd-servers", other.endpoint, "--etcd-prefix=/mine", env={**os.environ, "PATH": str(folder)}, dir=folder / "up")
    made = first.post(REVISIONS, revision("kept"))
    assert made.status == 201, made
    assert first.etcd_pid == 0
    assert "Certificates are in" in first.stdout.text
    assert not (first.dir / "etcd").exists() and not (first.dir / "etcd.log").exists()
    assert "/mine/objects/" in other.ctl("get", "/mine/", "--prefix", "--keys-only")
    assert first.stop() == 0
    assert is_alive(other.pid)

    second = up("--etcd-servers", other.endpoint, "--etcd-prefix=/mine", dir=folder / "up")
    assert second.get(REVISIONS + "/kept").json == made.json
    retry_until(lambda: second.get(NAMESPACES + "/default").status == 200, "it is served")


def test_controllers_run_there_too(up, etcd):
    a = up("--etcd-servers", etcd().endpoint)
    assert a.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}}).status == 201
    a.delete(NAMESPACES + "/gone")
    retry_until(lambda: a.get(NAMESPACES + "/gone").status == 404, "the namespace is gone")


def test_it_waits_for_an_etcd_that_comes_later(up, etcd, folder):
    place = folder / "late"
    a = up("--etcd-servers", f"unix://{place}/client:0", wait=False)
    retry_until((a.dir / "kubeconfig").exists, "kubeconfig")
    etcd(dir=place)
    a.wait_announced()
    assert a.get("/readyz").status == 200


def test_data_that_are_not_used_are_told(up, etcd):
    first = up()
    assert first.stop() == 0
    second = up("--etcd-servers", etcd().endpoint, dir=first.dir)
    assert f"what is in {first.dir}/etcd is not used" in second.stderr.text


@pytest.mark.parametrize("flags, why", [
    (["--etcd=/usr/bin/etcd", "--etcd-servers=http://127.0.0.1:1"], "give one of them"),
    (["--etcd-prefix=/mine"], "--etcd-prefix goes with --etcd-servers"),
    (["--etcd-cafile=/x"], "go with --etcd-servers"),
    (["--etcd-servers=http://127.0.0.1:1", "--etcd-certfile=/x"], "go together"),
])
def test_flags_that_do_not_go_together_are_refused(folder, flags, why):
    done = run_up("--data-dir", folder / "data", "--port=0", *flags)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (folder / "data").exists()


# ---- files ----


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_their_owners_alone(up):
    a = up()
    assert mode(a.dir) == 0o700
    assert mode(a.dir / "etcd") == 0o700
    for name in ("ca.key", "server.key", "admin.key", "controllers.key", "kubeconfig", "lock", "etcd.log"):
        assert mode(a.dir / name) == 0o600, name


def descriptors(pid):
    """What they lead to."""
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield os.readlink(link)
        except FileNotFoundError:
            pass  # closed meanwhile


def test_etcd_listens_nowhere_but_in_the_directory(up, etcd_binary):
    a = up(etcd=etcd_binary)
    sockets = {target[8:-1] for target in descriptors(a.etcd_pid) if target.startswith("socket:[")}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in pathlib.Path(f"/proc/{a.etcd_pid}/net/{table}").read_text().splitlines()[1:]:
            assert line.split()[9] not in sockets, f"etcd has a socket in {table}: {line}"


def test_directory_that_others_can_write_is_refused(folder):
    folder.chmod(0o777)
    done = run_up("--data-dir", folder, "--port=0")
    assert done.returncode == 1
    assert "can be written by others (mode 0777)" in done.stderr


# ---- what is in the way ----


def test_second_instance_on_one_directory_is_refused(up):
    first = up()
    done = run_up("--data-dir", first.dir, "--port=0")
    assert done.returncode == 1
    assert f"another annals (pid {first.pid}) is using {first.dir}" in done.stderr
    assert first.get("/readyz").status == 200


def test_taken_port_is_named_with_who_has_it(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run_up("--data-dir", folder / "data", f"--port={port}")
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert f"(pid {os.getpid()})" in done.stderr
    assert "--port" in done.stderr


WAYS_OUT = ["apt-get install etcd-server", "--etcd PATH", "--etcd-servers URL"]


def assert_says_how_to_go_on(done):
    assert done.returncode == 1
    for way in WAYS_OUT:
        assert way in done.stderr, done.stderr


def test_missing_etcd_says_how_to_get_it(folder):
    done = run_up("--data-dir", folder / "data", "--port=0", env={**os.environ, "PATH": "/nonexistent"})
    assert "etcd is not in $PATH" in done.stderr
    assert_says_how_to_go_on(done)


# What a package may have put there; each does as such an etcd would, or as the kernel would with it.
UNUSABLE = {
    "of another machine": (b"\x7fELF\x02\x01\x01" + bytes(57), "it is no program for this machine"),
    "without its loader": (b"#!/nonexistent/loader\n", "what it needs to run"),
    "too old": (b"#!/bin/sh\necho 'flag provided but not defined: -logger' >&2\nexit 2\n", "does not know the flags of an etcd 3.4"),
    "unsupported": (b"#!/bin/sh\necho 'etcd on unsupported platform without ETCD_UNSUPPORTED_ARCH=arm64 set' >&2\nexit 1\n", "ETCD_UNSUPPORTED_ARCH"),
    "of a newer processor": (b"#!/bin/sh\nkill -ILL $$\n", "another processor"),
    "failing": (b"#!/bin/sh\necho 'something is wrong' >&2\nexit 1\n", "something is wrong"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_etcd_that_cannot_be_used_says_what_can(folder, what):
    content, why = UNUSABLE[what]
    program = folder / "etcd"
    program.write_bytes(content)
    program.chmod(0o755)
    done = run_up("--data-dir", folder / "data", "--port=0", env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert why in done.stderr
    assert str(program) in done.stderr
    assert_says_how_to_go_on(done)


@pytest.mark.parametrize("path, why", [("/nonexistent/etcd", "No such file or directory"), (__file__, "not an executable file"), ("/tmp", "not an executable file")])
def test_bad_etcd_path_is_refused(folder, path, why):
    done = run_up("--data-dir", folder / "data", "--port=0", "--etcd", path)
    assert done.returncode == 1
    assert f"--etcd {path}: {why}" in done.stderr


def test_program_that_is_no_etcd_is_told(folder):
    done = run_up("--data-dir", folder / "data", "--port=0", "--etcd", "/bin/ls")
    assert done.returncode == 1
    assert "does not know the flags of an etcd" in done.stderr
    assert "unrecognized option" in done.stderr


def test_damaged_data_are_told(up, folder, etcd_binary):
    a = up(etcd=etcd_binary)
    assert a.post(REVISIONS, revision("a", 1, text="x" * 50000)).status == 201
    assert a.stop() == 0
    wal = next((a.dir / "etcd" / "data" / "member" / "wal").glob("*.wal"))
    with wal.open("r+b") as f:
        f.seek(20000)
        f.write(b"garbage")

    done = run_up("--data-dir", a.dir, "--port=0", "--etcd", etcd_binary)
    assert done.returncode == 1
    assert "etcd's data are damaged" in done.stderr
    assert "crc mismatch" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_full_disk_is_told(folder, etcd_binary):
    disk = folder / "disk"
    disk.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", disk]).returncode:
        pytest.skip("cannot mount here")
    try:
        done = run_up("--data-dir", disk / "data", "--port=0", "--etcd", etcd_binary)
    finally:
        run(["umount", disk])
    assert done.returncode == 1
    assert "The disk is full" in done.stderr


# ---- stopping ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_it_cleanly_and_etcd_last(up, number):
    a = up()
    etcd = a.etcd_pid
    a.signal(number)
    assert a.wait() == 0
    assert not is_alive(etcd)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_where_it_was_ignored_before(folder, number):
    """As SIGINT is for what a script puts into the background. Its etcd ends, too."""
    name = number.name.removeprefix("SIG")
    a = processes.Process(["sh", "-c", f"trap '' {name}; exec \"$@\"", "sh", BIN, "up", "--port=0", "--data-dir", folder / "data"])
    assert a.stdout.wait("^annals is ready")
    a.popen.send_signal(number)
    assert a.wait() == 0
    assert working_in(folder / "data" / "etcd") == []


def test_what_nohup_has_ignored_is_ignored(folder):
    a = processes.Process(["nohup", BIN, "up", "--port=0", "--data-dir", folder / "data"])
    assert a.stdout.wait("^annals is ready")
    a.popen.send_signal(signal.SIGHUP)
    client = processes.Client(next(line.split()[-1] for line in a.stdout.lines if "is ready" in line), folder / "data" / "ca.crt")
    assert client.get("/livez").status == 200
    assert a.stop() == 0


def test_stop_ends_watches(up):
    a = up()
    with a.watch(NAMESPACES + "?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        assert a.stop() == 0
        for _ in watch:
            pass


def test_second_signal_hurries(up):
    a = up("--shutdown-delay-duration=1h")
    etcd = a.etcd_pid
    a.signal(signal.SIGTERM)
    retry_until(lambda: a.get("/readyz").status == 500, "not ready")

    def insist():
        a.signal(signal.SIGTERM)
        return a.popen.poll() is not None

    retry_until(insist, "the end")
    assert a.wait() == 0
    assert not is_alive(etcd)


def test_kill_of_annals_leaves_no_etcd(up, etcd_binary):
    a = up(etcd=etcd_binary)
    etcd = a.etcd_pid
    assert is_alive(etcd)
    a.kill()
    wait_gone(etcd)


def test_kill_before_it_is_ready_leaves_no_etcd(up):
    a = up(wait=False)
    etcd = retry_until(lambda: a.etcd_pid, "etcd")
    a.kill()
    wait_gone(etcd)


def working_in(folder):
    """Processes with that working directory, as etcd has."""
    found = []
    for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
        try:
            found += [link.parent.name] if os.readlink(link) == str(folder) else []
        except OSError:
            pass  # ended, or not ours
    return found


def test_failed_start_leaves_no_etcd(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        a = processes.Process([BIN, "up", "--data-dir", folder / "data", f"--port={other.getsockname()[1]}"])
        assert a.wait() == 1
    assert working_in(folder / "data" / "etcd") == []


# ---- when etcd dies ----


def answers(server, path):
    try:
        return server.get(path).status
    except (OSError, http.client.HTTPException):
        return 0


def test_kill_of_etcd_is_503_until_it_is_back(up, etcd_binary):
    a = up(etcd=etcd_binary)
    assert a.post(REVISIONS, revision("kept")).status == 201
    etcd = a.etcd_pid
    os.kill(etcd, signal.SIGSTOP)  # so that it cannot be back before it was missed
    os.kill(etcd, signal.SIGKILL)
    assert a.stderr.wait(r"starting etcd again")
    assert "ended by signal 9 (Killed)" in a.stderr.text

    retry_until(lambda: a.etcd_pid not in (0, etcd), "another etcd")
    retry_until(lambda: answers(a, REVISIONS + "/kept") == 200, "reads again")
    retry_until(lambda: answers(a, "/readyz") == 200, "ready again")
    assert a.post(REVISIONS, revision("after")).status == 201


def test_while_etcd_is_away_reads_and_writes_say_so(up, folder):
    """An etcd that starts once and then refuses to: a script with a memory."""
    real, once = processes.etcd_binaries()[0], folder / "once"
    script = folder / "etcd-once"
    script.write_text(f'#!/bin/sh\nif [ -e {once} ]; then exec false; fi\ntouch {once}\nexec {real} "$@"\n')
    script.chmod(0o755)
    a = up(etcd=script)
    assert a.post(REVISIONS, revision("kept")).status == 201
    os.kill(a.etcd_pid, signal.SIGKILL)
    assert a.stderr.wait(r"starting etcd again")

    written = a.post(REVISIONS, revision("lost"))
    assert written.status in (503, 504), written
    assert written.json["kind"] == "Status"
    retry_until(lambda: answers(a, "/readyz") == 500, "not ready")
    assert a.get(REVISIONS).status in (503, 504)
    assert a.get("/apis").status == 200

    once.unlink()
    retry_until(lambda: answers(a, "/readyz") == 200, "ready again")
    retry_until(lambda: answers(a, REVISIONS + "/kept") == 200, "read again: what watches and what asks reconnect apart")


# ---- the command line ----


@pytest.mark.parametrize("arguments", [["help"], ["--help"], ["help", "up"], ["up", "--help"], ["serve", "-h"], ["help", "serve"], ["version"], ["--version"]])
def test_help_and_version_are_success(arguments):
    done = run([BIN, *arguments])
    assert done.returncode == 0 and done.stdout and not done.stderr


@pytest.mark.parametrize("arguments, why", [
    ([], "usage:"),
    (["frobnicate"], "there is no command frobnicate"),
    (["help", "frobnicate"], "there is no command frobnicate"),
    (["up", "--frobnicate"], "unknown flag: --frobnicate"),
    (["up", "--port=x"], "--port"),
    (["up", "--port=70000"], "--port"),
    (["up", "stray"], "unexpected argument: stray"),
    (["up", "--controllers=*,-frobnicator"], '"frobnicator" is not in the list of known controllers'),
    (["controllers"], "--kubeconfig"),
    (["controllers", "--kubeconfig=x", "--controllers=frobnicator"], '"frobnicator" is not in the list of known controllers'),
    (["controllers", "--kubeconfig=x", "--leader-elect-lease-duration=5s"], "--leader-elect-renew-deadline"),
    (["serve"], "--standalone"),
    (["serve", "--standalone"], "--etcd-servers"),
    (["serve", "--standalone", "--etcd-servers=unix:///x"], "--tls-cert-file"),
    (["serve", "--standalone", "--kubeconfig=x"], "--standalone needs no kube-apiserver"),
    (["serve", "--kubeconfig=x", "--authorization-mode=ABAC"], "it is the cluster that authorizes"),
    (["serve", "--standalone", "--etcd-servers=unix:///x", "--tls-cert-file=c", "--tls-private-key-file=k", "--audit-log-version=x"], "--audit-log-version x"),
    (["version", "stray"], "unexpected argument: stray"),
])
def test_misuse_is_2_with_a_sentence(arguments, why):
    done = run([BIN, *arguments])
    assert done.returncode == 2
    assert why in done.stderr


# ---- credentials ----


def test_token_file_takes_effect_and_is_read_again(up, folder):
    tokens = folder / "tokens"
    tokens.write_text('secret,alice,1,"system:masters"\n')
    a = up("--token-auth-file", tokens)
    alice = processes.Client(a.url, a.ca, token="secret")
    bob = processes.Client(a.url, a.ca, token="other")
    assert alice.get(NAMESPACES).status == 200
    assert bob.get(NAMESPACES).status == 401

    replace(tokens, 'other,bob,2,"system:masters"\n')
    retry_until(lambda: bob.get(NAMESPACES).status == 200, "the new token")
    assert alice.get(NAMESPACES).status == 401


def test_anonymous_may_see_health_only(up):
    a = up()
    assert a.anonymous.get("/livez").status == 200
    assert a.anonymous.get("/version").status == 200
    refused = a.anonymous.get(NAMESPACES)
    assert refused.status == 403
    assert refused.json["message"] == 'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope'


def test_policy_file_allows_more(up, folder):
    a = up(*processes.user_flags(folder, ["secret,alice,1"], [processes.policy_rule(user="alice", resource="namespaces", readonly=True)]))
    alice = processes.Client(a.url, a.ca, token="secret")
    assert alice.get(NAMESPACES).status == 200
    assert alice.post(NAMESPACES, {"metadata": {"name": "x"}}).status == 403


def test_access_log_has_a_line_a_request(up, folder):
    log = folder / "access.log"
    a = up("--access-log", log, "--logging-format=json", processes.NO_CONTROLLERS)
    a.get(NAMESPACES + "?labelSelector=secret")
    assert a.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    mine = [line for line in lines if line["path"] == NAMESPACES]
    assert len(mine) == 1
    assert (mine[0]["status"], mine[0]["user"], mine[0]["verb"]) == (200, "annals-admin", "list")
    assert "secret" not in log.read_text()


def test_broken_token_file_keeps_the_old_and_is_told(up, folder):
    tokens = folder / "tokens"
    tokens.write_text('secret,alice,1,"system:masters"\n')
    a = up("--token-auth-file", tokens)
    alice = processes.Client(a.url, a.ca, token="secret")
    assert alice.get(NAMESPACES).status == 200

    replace(tokens, "broken\n")
    retry_until(lambda: alice.get(NAMESPACES).status == 200 and "at least 3 columns" in a.stderr.text, "the complaint")
    assert "what it said before stays in force" in a.stderr.text
    assert alice.get(NAMESPACES).status == 200


# ---- what its controllers cost ----


def connections_to_itself(a):
    """TCP connections whose both ends are this process: those of its controllers."""
    port = f":{int(a.url.rpartition(':')[2]):04X}"
    own = set()
    for fd in pathlib.Path(f"/proc/{a.pid}/fd").iterdir():
        try:
            own.add(os.readlink(fd))
        except FileNotFoundError:
            pass  # closed meanwhile
    rows = [line.split() for line in pathlib.Path(f"/proc/{a.pid}/net/tcp").read_text().splitlines()[1:]]
    return [row for row in rows if row[2].endswith(port) and row[3] == "01" and f"socket:[{row[9]}]" in own]


def record_all(a):
    recorder = {"apiVersion": "annals.dev/v1", "kind": "Recorder", "metadata": {"name": "all"}, "spec": {"resources": [{"groups": ["*"], "resources": ["*"]}]}}
    assert a.post("/apis/annals.dev/v1/recorders", recorder).status == 201


def test_controllers_share_a_connection(up):
    a = up("--controllers=*,fake-kubelet")
    record_all(a)
    retry_until(lambda: a.get("/apis/annals.dev/v1/recorders/all").json.get("status", {}).get("resources"), "it records")
    assert len(connections_to_itself(a)) in (1, 2)


def threads(a):
    return sorted(path.read_text().strip() for path in pathlib.Path(f"/proc/{a.pid}/task").glob("*/comm"))


def names_of_threads():
    """The names in the first column of the page's table."""
    page = (processes.ROOT / "docs/explanation/architecture.md").read_text()
    rows = re.search(r"^\| thread \|.*?\n\n", page, re.M | re.S)[0].strip().splitlines()[2:]
    return {name for row in rows for name in re.findall("`([^`]+)`", row.split("|")[1])}


@pytest.mark.parametrize("store", ["etcd", "memory"])
def test_every_thread_has_a_name_that_the_architecture_explains(up, folder, etcd_binary, store):
    """`annals` is the main thread: no other thread may keep that name."""
    policy = folder / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n")
    a = up("--controllers=*,fake-kubelet", "--ui", f"--access-log={folder / 'access'}", f"--audit-policy-file={policy}",
           f"--audit-log-path={folder / 'audit'}", f"--store={store}", etcd=etcd_binary if store == "etcd" else None)
    record_all(a)
    retry_until(lambda: {"gc-discovery", "recorder", "migrator", "page-call"} <= set(threads(a)), "all have started")
    running = threads(a)
    assert {"memory-store" if store == "memory" else "etcd", "access-log", "audit-log", "budget", "write-queue"} <= set(running)
    assert running.count("annals") == 1, running
    assert set(running) <= names_of_threads()


def test_the_architecture_explains_every_name_that_the_source_gives():
    """Some threads live too briefly for the test above: those that load, drain, or wait for a browser."""
    given = set()
    for path in [path for room in ("admission", "api", "base", "cli", "client", "controllers", "delegation", "migration", "server", "storage")
                 for path in (processes.ROOT / room).rglob("*.c")]:
        text = path.read_text()
        given |= set(re.findall(r'(?:thread_must_start|pthread_setname_np)\([^,;]+, "([^"]+)"|line_queue_open\([^,;]+, "([^"]+)"', text))
        starts = len(re.findall(r"\bpthread_create\(", text))
        assert len(re.findall(r"\bpthread_setname_np\(", text)) >= starts, f"{path}: a thread without a name"
    given = {name for pair in given for name in pair if name}
    assert len(given) > 15
    assert sorted(given - names_of_threads()) == []


def test_controllers_share_a_few_threads(up):
    without = up("--controllers=", "--store=memory", dir=None)
    before = collections.Counter(threads(without))
    assert without.stop() == 0
    a = up("--controllers=*,fake-kubelet", "--store=memory")
    record_all(a)
    retry_until(lambda: "gc-discovery" in threads(a), "all have started")
    added = list((collections.Counter(threads(a)) - before).elements())
    assert len(added) <= 16, added
