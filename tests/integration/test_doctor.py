"""`annals doctor` at a real etcd, at files, and at `annals up`: what is broken is found, and its fix fixes it."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import processes


class Findings:
    def __init__(self, *flags):
        done = processes.run([processes.BIN, "doctor", "--output=json", *flags])
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        self.status, self.all = done.returncode, json.loads(done.stdout)["findings"]

    def of(self, severity, pattern):
        return [finding for finding in self.all if re.fullmatch(severity, finding["severity"]) and re.search(pattern, f"{finding['subject']}: {finding['found']}")]

    def one(self, severity, pattern):
        found = self.of(severity, pattern)
        assert len(found) == 1, self.all
        return found[0]


def shell(command):
    done = processes.run(["bash", "-euo", "pipefail", "-c", command], env={**os.environ, "PATH": f"{processes.PEERS}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


class TcpEtcd(processes.Process):
    """An etcd that listens on 127.0.0.1: metrics and TLS are to be seen there."""

    def __init__(self, directory, binary, *flags, tls=None):
        client, peer = processes.free_port(), processes.free_port()
        self.endpoint = f"{'https' if tls else 'http'}://127.0.0.1:{client}"
        if tls:
            (cert, key), ca = tls
            flags += (f"--cert-file={cert}", f"--key-file={key}", f"--trusted-ca-file={ca}", "--client-cert-auth")
        super().__init__([binary, f"--data-dir={directory}", f"--listen-client-urls={self.endpoint}", f"--advertise-client-urls={self.endpoint}",
                          f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                          f"--initial-cluster=default=http://127.0.0.1:{peer}", "--logger=zap", "--log-outputs=stderr", *flags],
                         env={name: value for name, value in os.environ.items() if not name.startswith("ETCD_")})
        if not self.stderr.wait(r"serving client traffic (in)?securely"):
            raise AssertionError(f"etcd ended with {self.wait()}:\n{self.stderr.text}")

    def ctl(self, *arguments, input=None):
        return processes.run(["etcdctl", "--endpoints", self.endpoint, *arguments], env={**os.environ, "ETCDCTL_API": "3"}, input=input)


# ---- etcd ----

def test_doctor__finds_nothing_wrong_with_an_etcd(folder, etcd_binary):
    etcd = TcpEtcd(folder / "etcd", etcd_binary)
    seen = Findings(f"--etcd-servers={etcd.endpoint}")
    assert seen.status == 0 and not seen.of("error|warning", ""), seen.all
    for what in (r"etcd 3\.\d+\.\d+", "no alarms", "keys under /annals: 0 objects"):
        assert seen.one("ok", what)
    assert [finding["subject"] for finding in seen.of("skipped", "")] == ["cluster", "files"]


def test_doctor__frees_the_space_of_an_etcd_that_is_full(folder, etcd_binary):
    etcd = TcpEtcd(folder / "etcd", etcd_binary, "--quota-backend-bytes=2097152")
    value = "x" * 200_000
    processes.retry_until(lambda: "database space exceeded" in etcd.ctl("put", "/annals/objects/a/b/c/d", input=value).stderr, "etcd is full")
    finding = Findings(f"--etcd-servers={etcd.endpoint}").one("error", "the cluster: alarm NOSPACE, raised by member")
    shell(finding["fix"])
    seen = Findings(f"--etcd-servers={etcd.endpoint}")
    assert seen.status == 0 and seen.one("ok", "no alarms")
    assert etcd.ctl("put", "/annals/x", "y").returncode == 0


def test_doctor__sees_what_is_in_an_etcd(folder, etcd_binary):
    etcd = TcpEtcd(folder / "etcd", etcd_binary)
    etcd.ctl("put", "/registry/pods/default/web", input="k8s\0\n\x0c")
    etcd.ctl("put", "/old/objects/annals.dev/controllerrevisions/default/web-1", "{}")
    seen = Findings(f"--etcd-servers={etcd.endpoint}")
    finding = seen.one("warning", "keys under /old: another annals has written them")
    assert not seen.of(".*", "/registry")
    assert Findings(f"--etcd-servers={etcd.endpoint}", finding["fix"].partition(" ")[0]).one("ok", "keys under /old: 1 object$")
    wrong = Findings(f"--etcd-servers={etcd.endpoint}", "--etcd-prefix=/registry")
    assert wrong.status == 1 and wrong.one("error", "keys under /registry: what is stored there is not annals' JSON")


def test_doctor__tells_members_of_different_clusters(folder, etcd_binary):
    one, two = TcpEtcd(folder / "one", etcd_binary), TcpEtcd(folder / "two", etcd_binary)
    assert Findings(f"--etcd-servers={one.endpoint},{two.endpoint}").one("error", f"{two.endpoint}: it belongs to another cluster")


def test_doctor__sees_an_etcd_on_a_unix_socket(etcd):
    seen = Findings(f"--etcd-servers={etcd().endpoint}")
    assert seen.status == 0 and seen.one("ok", "no alarms")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_doctor__says_that_no_etcd_answers(scheme):
    endpoint = f"{scheme}://127.0.0.1:{processes.free_port()}"
    seen = Findings(f"--etcd-servers={endpoint}")
    fix = seen.one("error", "Connection refused")["fix"]
    assert seen.status == 1 and f"etcdctl --endpoints={endpoint} endpoint health" in fix
    assert ("openssl s_client" in fix) == (scheme == "https")


def test_doctor__refuses_an_endpoint_that_is_none():
    assert Findings("--etcd-servers=nonsense").one("error", "should look like")


# ---- TLS to etcd ----

@pytest.fixture
def pki(folder):
    path = folder / "pki"
    path.mkdir()
    return processes.Certificates(path)


def tls_flags(etcd, pki, ca=None, pair=None):
    cert, key = pair or pki.client("annals")
    return f"--etcd-servers={etcd.endpoint}", f"--etcd-cafile={ca or pki.ca}", f"--etcd-certfile={cert}", f"--etcd-keyfile={key}"


def test_doctor__sees_an_etcd_with_tls(folder, etcd_binary, pki):
    etcd = TcpEtcd(folder / "etcd", etcd_binary, tls=(pki.server, pki.ca))
    seen = Findings(*tls_flags(etcd, pki))
    assert seen.status == 0, seen.all
    for what in ("no alarms", "it is the certificate's key", "keys under /annals"):
        assert seen.one("ok", what)


def test_doctor__names_the_commands_that_say_why_tls_fails(folder, etcd_binary, pki):
    etcd = TcpEtcd(folder / "etcd", etcd_binary, tls=(pki.server, pki.ca))
    (folder / "other").mkdir()
    other = processes.Certificates(folder / "other", "other-ca")
    fix = Findings(*tls_flags(etcd, pki, ca=other.ca)).one("error", f"{etcd.endpoint}: ")["fix"]
    tls = fix.splitlines()[1]
    assert tls.startswith("openssl s_client -connect 127.0.0.1:")
    done = processes.run(["bash", "-c", f"{tls} 2>&1"])
    assert "self-signed certificate in certificate chain" in done.stdout or "unable to verify" in done.stdout or "unable to get" in done.stdout, done.stdout
    old = Findings(*tls_flags(etcd, pki, pair=pki.issue("old", "/CN=old", "extendedKeyUsage=clientAuth", days=-1)))
    assert old.one("error", "old.crt: certificate .* expired at")["subject"] == old.one("error", f"{etcd.endpoint}: ")["cause"]


# ---- files ----

def test_doctor__finds_nothing_wrong_with_files_that_fit(pki):
    cert, key = pki.server
    seen = Findings(f"--tls-cert-file={cert}", f"--tls-private-key-file={key}", f"--client-ca-file={pki.ca}")
    assert seen.status == 0 and seen.one("ok", "server.crt: it is for: 127.0.0.1, ::1, localhost") and seen.one("ok", "server.key: it is the certificate's key")


@pytest.mark.parametrize("days,severity,what", [(-1, "error", r"expired at \d"), (10, "warning", "expires at .*, in (9|10) days"), (99, "ok", "is valid until")])
def test_doctor__judges_the_life_of_a_certificate(pki, days, severity, what):
    cert, key = pki.issue("some", "/CN=some", "subjectAltName=DNS:some", days=days)
    seen = Findings(f"--tls-cert-file={cert}", f"--tls-private-key-file={key}")
    assert seen.one(severity, f"some.crt: certificate \"CN=some\" {what}") and seen.status == (severity == "error")


def test_doctor__renews_a_certificate_in_files(folder, pki):
    cert, _ = pki.issue("some", "/CN=some", "subjectAltName=DNS:some", days=-1)
    fix = Findings(f"--tls-cert-file={cert}").one("error", "expired")["fix"]
    shell(fix.replace("--dir=DIR", f"--dir={folder}/new").replace("annals certs", f"{processes.BIN} certs"))
    seen = Findings(f"--tls-cert-file={folder}/new/serving.crt", f"--tls-private-key-file={folder}/new/serving.key", f"--client-ca-file={folder}/new/ca.crt")
    assert seen.status == 0 and not seen.of("warning", ""), seen.all


def test_doctor__protects_a_key(pki):
    cert, key = pki.server
    key.chmod(0o644)
    flags = f"--tls-cert-file={cert}", f"--tls-private-key-file={key}"
    shell(Findings(*flags).one("warning", "every user of this machine may read")["fix"])
    assert not Findings(*flags).of("warning", "may read")


def test_doctor__finds_keys_and_cas_that_do_not_fit(folder, pki):
    (cert, _), (_, other_key) = pki.server, pki.client("other")
    assert Findings(f"--tls-cert-file={cert}", f"--tls-private-key-file={other_key}").one("error", "other.key: it is not the key of the certificate")
    chain = folder / "chain.crt"
    chain.write_text(pki.ca.read_text() + cert.read_text())
    assert Findings(f"--tls-cert-file={chain}", f"--tls-private-key-file={pki.server[1]}").one("error", "number 2 in it, and must be the first")
    assert Findings(f"--client-ca-file={pki.server[1]}").one("error", "server.key: no certificates in PEM")
    assert Findings("--client-ca-file=/nowhere").one("error", "/nowhere: it cannot be read: No such file")


def test_doctor__separates_front_proxies_from_users(folder, pki):
    both = f"--client-ca-file={pki.ca}", f"--requestheader-client-ca-file={pki.ca}"
    assert Findings(*both).one("error", "every user may pose as anybody")
    assert Findings(*both, "--requestheader-allowed-names=front").one("warning", "only the name keeps users")
    (folder / "front").mkdir()
    front = processes.Certificates(folder / "front", "front-ca")
    own = f"--client-ca-file={pki.ca}", f"--requestheader-client-ca-file={front.ca}"
    assert Findings(*own).one("warning", "no names are given")
    assert Findings(*own, "--requestheader-allowed-names=front").one("ok", "a CA of their own")


# ---- annals up ----

def test_doctor__sees_an_annals_that_is_up(up):
    server = up()
    seen = Findings(f"--data-dir={server.dir}")
    assert seen.status == 0 and not seen.of("warning", ""), seen.all
    for what in ("it is its owner's alone", "the server: https://127.0.0.1:.*: ready", "no alarms", r"keys under /annals: \d+ objects", "server.key: it is the"):
        assert seen.one("ok", what)
    assert server.stop() == 0
    assert Findings(f"--data-dir={server.dir}").one("skipped", "annals up does not run on it")


def test_doctor__sees_an_annals_that_is_up_on_another_etcd(up, etcd):
    other = etcd()
    server = up("--etcd-servers", other.endpoint)
    seen = Findings(f"--data-dir={server.dir}")
    assert seen.status == 0 and seen.one("ok", "the server: .*: ready") and seen.one("skipped", "etcd: give --etcd-servers")
    assert Findings(f"--data-dir={server.dir}", f"--etcd-servers={other.endpoint}").one("ok", r"keys under /annals: \d+ objects")
    other.stop()
    fix = processes.retry_until(lambda: Findings(f"--data-dir={server.dir}").of("error", "not ready"), "it is not ready")[0]["fix"]
    assert fix.startswith("annals doctor --etcd-servers=")


def test_doctor__tells_the_cause_before_what_follows(up):
    server = up()
    seen = Findings(f"--data-dir={server.dir}").all
    assert seen.index(next(one for one in seen if one["part"] == "etcd")) < seen.index(next(one for one in seen if one["subject"] == "the server"))


def test_doctor__fixes_the_directory_of_an_annals(up):
    server = up()
    assert server.stop() == 0
    server.dir.chmod(0o755)
    shell(Findings(f"--data-dir={server.dir}").one("warning", "others may look into it")["fix"])
    assert Findings(f"--data-dir={server.dir}").one("ok", "its owner's alone")

    shutil.copy(server.dir / "admin.key", server.dir / "server.key")
    finding = Findings(f"--data-dir={server.dir}").one("error", "server.key: it is not the key of the certificate")
    assert finding["fix"].startswith(f"annals up --data-dir={server.dir} ")
    again = up()
    assert Findings(f"--data-dir={again.dir}").status == 0


def test_doctor__says_that_there_is_no_directory(folder):
    assert Findings(f"--data-dir={folder}/none").one("error", "there is no such directory")


# ---- causes ----

def test_doctor__names_the_error_from_which_others_may_follow(folder, etcd_binary, pki):
    etcd = TcpEtcd(folder / "etcd", etcd_binary, tls=(pki.server, pki.ca))
    flags = tls_flags(etcd, pki, pair=pki.issue("old", "/CN=old", "extendedKeyUsage=clientAuth", days=-1))
    seen = Findings(*flags)
    cause = seen.one("error", "old.crt: certificate .* expired at")
    assert seen.all[0] == cause and "cause" not in cause
    assert seen.one("error", f"{etcd.endpoint}: ")["cause"] == cause["subject"]
    text = processes.run([processes.BIN, "doctor", *flags]).stdout
    assert text.startswith("fix this first: etcd\n  error    ") and "1 finding below may follow from it" in text
    assert f"It may follow from the error of {cause['subject']}, above." in text


def test_doctor__an_annals_whose_etcd_is_stopped(up):
    server = up()
    pid = processes.children(server.pid)[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        seen = processes.retry_until(lambda: (it := Findings(f"--data-dir={server.dir}")).of("error", "not ready") and it, "it is not ready")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert seen.all[0]["part"] == "etcd" and seen.one("error", "the server: .*not ready")["cause"] == seen.all[0]["subject"]


# ---- the command line ----

def test_doctor__looks_at_the_default_directory(folder):
    env = {**os.environ, "XDG_DATA_HOME": str(folder)}
    done = processes.run([processes.BIN, "doctor", "--output=json"], env=env)
    assert done.returncode == 1
    findings = json.loads(done.stdout)["findings"]
    assert [it["subject"] for it in findings if it["severity"] == "error"] == [f"{folder}/annals"]
    assert [it["subject"] for it in findings if it["severity"] == "skipped"] == ["cluster", "files"]


@pytest.mark.parametrize("flags, env, is_coloured", [
    ([], {}, False), (["--color=always"], {}, True), (["--color=always"], {"NO_COLOR": "1"}, True), (["--color=never"], {}, False)])
def test_doctor__has_colours_where_they_are_wanted(folder, flags, env, is_coloured):
    done = processes.run([processes.BIN, "doctor", f"--data-dir={folder}/none", *flags], env={**os.environ, **env})
    assert ("\x1b[31merror" in done.stdout) == is_coloured == ("\x1b" in done.stdout)


@pytest.mark.parametrize("env, is_coloured", [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "xterm", "NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)])
def test_doctor__has_colours_on_terminals(folder, env, is_coloured):
    master, slave = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    try:
        subprocess.run([processes.BIN, "doctor", f"--data-dir={folder}/none"], stdout=slave, env={**clean, **env}, check=False, timeout=processes.PATIENCE)
        said = os.read(master, 65536).decode()
    finally:
        os.close(slave)
        os.close(master)
    assert "there is no such directory" in said and ("\x1b[31merror" in said) == is_coloured



@pytest.mark.parametrize("flags", [["--color=red"], ["--output=xml", "--data-dir=/"], ["--context=x"], ["--tls-private-key-file=x"], ["--etcd-cafile=x"],
                                   ["--etcd-servers=http://a:1", "--etcd-certfile=x"], ["surplus"], ["--unknown"]])
def test_doctor__refuses_misuse(flags):
    done = processes.run([processes.BIN, "doctor", *flags])
    assert done.returncode == 2 and done.stdout == "" and "See annals help doctor." in done.stderr


def test_doctor__is_in_the_overview():
    assert re.search(r"^  doctor +looks at a deployment", processes.run([processes.BIN, "help"]).stdout, re.M)
    assert "--etcd-servers" in processes.run([processes.BIN, "help", "doctor"]).stdout
