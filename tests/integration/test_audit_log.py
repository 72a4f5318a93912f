"""The audit log as an operator meets it, and the log's line about slow requests. What events say is compared with kube-apiserver's in
tests/cluster/test_audit.py."""

import json
import os
import signal
import threading
import time

import processes
from metrics import Metrics, under_way
from objects import revision, revisions
from processes import retry_until

PATH = revisions()
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: %s}
"""


def flags(folder, level="Metadata", path=None):
    policy = folder / "policy.yaml"
    policy.write_text(POLICY % level)
    return [f"--audit-policy-file={policy}", f"--audit-log-path={path or folder / 'logs' / 'audit.log'}"]


def events(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"kind":"Event"')]


def metric(server, sample):
    lines = [line for line in server.get("/metrics").text.splitlines() if line.startswith(sample + " ")]
    return float(lines[0].split()[1]) if lines else None


def finished(server, verb):
    """Requests of which everything has been written down: that comes after the answer."""
    return Metrics(server).sum("apiserver_request_total", verb=verb)


def test_what_was_answered_is_in_the_log_when_the_server_has_ended(folder, etcd, serve):
    server = serve(etcd().endpoint, *flags(folder))
    ids = [f"audit-{i}" for i in range(50)]
    for i, audit_id in enumerate(ids):
        server.post(PATH, revision(f"r{i}"), headers={"Audit-ID": audit_id})
    assert server.stop() == 0
    log = folder / "logs" / "audit.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert sorted(event["auditID"] for event in events(log.read_text()) if event["auditID"] in ids) == sorted(ids)


def test_audit_goes_to_stdout(folder, etcd, serve):
    server = serve(etcd().endpoint, *flags(folder, path="-"))
    server.get("/version", headers={"Audit-ID": "to-stdout"})
    assert server.stdout.wait('"auditID":"to-stdout","stage":"ResponseComplete"')


def test_full_files_are_set_aside(folder, etcd, serve):
    server = serve(etcd().endpoint, *flags(folder, "RequestResponse"), "--audit-log-maxsize=1", "--audit-log-maxbackup=2")
    logs = folder / "logs"
    for i in range(60):
        assert server.post(PATH, revision(f"r{i}", 1, {"k": "x" * 50000})).status == 201
    retry_until(lambda: len(list(logs.iterdir())) == 3, "two old files")
    assert server.stop() == 0
    assert len(list(logs.glob("audit-20??-??-??T??-??-??.???.log"))) == 2
    for log in logs.iterdir():
        assert log.stat().st_size <= 1024 * 1024
        assert events(log.read_text())


def test_a_full_disk_is_told_and_counted_and_stops_nobody(folder, etcd, serve):
    server = serve(etcd().endpoint, *flags(folder, path="/dev/full"))
    assert server.post(PATH, revision("a")).status == 201
    assert server.stderr.wait(r"audit log /dev/full cannot be written: No space left on device; \d+ events have been lost")
    assert server.get(f"{PATH}/a").status == 200
    assert metric(server, 'apiserver_audit_error_total{plugin="log"}') >= 1


def test_a_log_that_hangs_refuses_what_it_could_not_tell(folder, etcd, serve):
    """A pipe that nobody reads from; what is not audited goes on, and everything goes on when somebody reads."""
    pipe, policy = folder / "pipe", folder / "policy.yaml"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    policy.write_text(POLICY % "None, nonResourceURLs: [/metrics, /readyz]" + "- {level: RequestResponse}\n")
    server = serve(etcd().endpoint, f"--audit-policy-file={policy}", f"--audit-log-path={pipe}")
    answers = []
    while not answers or answers[-1].status == 201:
        answers.append(server.post(PATH, revision(f"r{len(answers)}", 1, {"k": "x" * 1000000})))
        retry_until(lambda: answers[-1].status != 201 or finished(server, "POST") == len(answers), "its event is in the log's queue")
    refused = answers.pop()
    assert (refused.status, refused.headers["Retry-After"], refused.json["reason"]) == (503, "1", "ServiceUnavailable")
    assert 8 <= len(answers) <= 10  # two megabytes each
    assert metric(server, "apiserver_audit_requests_rejected_total") == 1

    os.set_blocking(reader, True)
    read = []
    thread = threading.Thread(target=lambda: read.extend(open(reader, encoding="utf-8")))
    thread.start()
    retry_until(lambda: server.get(f"{PATH}/r{len(answers)}").status == 404, "room in the log")  # where 503 was said, nothing was done
    assert metric(server, 'apiserver_audit_error_total{plugin="log"}') is None
    server.stop()
    thread.join()
    written = [event["objectRef"]["name"] for event in events("".join(read)) if event["verb"] == "create"]
    assert sorted(written) == [f"r{i}" for i in range(len(answers))]


def test_half_a_configuration_audits_nothing_and_says_so(folder, etcd, serve):
    store = etcd()
    policy, path = flags(folder)
    for flag, missing in ((policy, "--audit-log-path"), (path, "--audit-policy-file")):
        server = serve(store.endpoint, flag)
        assert server.stderr.wait(f"no {missing}: nothing is audited")
        assert metric(server, "apiserver_audit_event_total") == 0


def test_a_bad_policy_ends_the_start(folder, certificates):
    arguments = flags(folder, "Everything")
    cert, key = certificates.server
    done = processes.run([processes.BIN, "serve", "--standalone", "--etcd-servers=unix:///nowhere", "--secure-port=0", f"--tls-cert-file={cert}",
                          f"--tls-private-key-file={key}", *arguments])
    assert done.returncode == 1
    assert 'rules[0].level: Unsupported value: "Everything": supported values: "None", "Metadata", "Request", "RequestResponse"' in done.stderr


def test_managed_fields_can_be_left_out(folder, etcd, serve):
    server = serve(etcd().endpoint, *flags(folder, "RequestResponse, omitManagedFields: true"))
    server.post(PATH, revision("a"))
    server.get(PATH, headers={"Audit-ID": "listed"})
    server.stop()
    log = (folder / "logs" / "audit.log").read_text()
    listed = [event for event in events(log) if event["auditID"] == "listed"][0]
    assert [item["metadata"]["name"] for item in listed["responseObject"]["items"]] == ["a"]
    assert "managedFields" not in log


def test_audit_id_is_the_clients_or_ours(annals):
    assert annals.get("/version", headers={"Audit-ID": "mine <&>"}).headers["Audit-Id"] == "mine <&>"
    assert len(annals.get("/version").headers["Audit-Id"]) == 36


# ---- slow requests ----


def is_waiting(server):
    """The write is under way, and nobody here has anything left to do: etcd has been asked."""
    return under_way(server, "mutating") == 1 and set(processes.thread_states(server.pid)) == {"S"}


def slow_write(server, store, name):
    """A write that etcd leaves waiting for 60 ms; the line about it."""
    assert server.get("/api/v1/namespaces/default").status == 200  # from here on the cache knows it
    store.signal(signal.SIGSTOP)
    try:
        writer = threading.Thread(target=lambda: server.post(PATH, revision(name)))
        writer.start()
        retry_until(lambda: is_waiting(server), "the write waits")
        began = time.monotonic()
        retry_until(lambda: time.monotonic() - began > 0.06, "60 ms")
    finally:
        store.signal(signal.SIGCONT)
    writer.join()
    return server.stderr.wait("slow request.*POST").string


def test_slow_requests_tell_where_the_time_went(etcd, serve):
    store = etcd()
    server = serve(store.endpoint, "--slow-request-threshold=10ms")
    line = slow_write(server, store, "a")
    assert f"request.slow: slow request method=POST path={PATH} verb=create status=201 user=admin" in line
    values = {name: float(value) for name, value in (pair.split("=") for pair in line.split() if "_ms=" in pair or "_txns=" in pair)}
    assert values["etcd_txns"] == 1 and values["etcd_ms"] > 10
    parts = [name for name in values if name.endswith("_ms") and name != "total_ms"]
    assert abs(sum(values[name] for name in parts) - values["total_ms"]) < 0.01


def test_slow_requests_are_members_of_a_json_line(etcd, serve):
    store = etcd()
    server = serve(store.endpoint, "--slow-request-threshold=10ms", "--logging-format=json")
    line = json.loads(slow_write(server, store, "a"))
    assert (line["what"], line["level"], line["verb"], line["etcd_txns"]) == ("request.slow", "warning", "create", 1)


def test_watches_are_not_slow(etcd, serve):
    server = serve(etcd().endpoint, "--slow-request-threshold=10ms")
    assert server.get(f"{PATH}?watch=1&timeoutSeconds=1").status == 200
    server.stop()
    assert "verb=watch" not in server.stderr.text
