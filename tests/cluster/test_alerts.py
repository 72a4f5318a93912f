"""The alerts of deploy/monitoring, as Prometheus evaluates them: promtool feeds it metrics, of a namespace where something is wrong and of one where all is well."""

import dataclasses
import shutil

import pytest
import yaml

import kube
import processes
from installed import DEPLOY
from metrics import Metrics

PROMTOOL = shutil.which("promtool") or str(processes.PEERS / "promtool")
ALERTS = DEPLOY / "monitoring" / "annals-alerts.yaml"
GROUPS = yaml.safe_load(ALERTS.read_text())["spec"]["groups"]
NAMES = [rule["alert"] for group in GROUPS for rule in group["rules"]]

needs_promtool = pytest.mark.skipif(not shutil.which(PROMTOOL), reason="there is no promtool: tests/cluster/build.sh fetches it")

JOB = 'job="annals"'
QUOTA = ("annals_etcd_quota_bytes", JOB, "1000x600", "1000x600")
SIZE = ("apiserver_storage_size_bytes", f'{JOB},storage_cluster_id="etcd-0"')
LATENCIES = [("apiserver_request_sli_duration_seconds_bucket", f'{JOB},verb="GET",le="{bound}"', wrong, well)
             for bound, wrong, well in (("1", "0+5x60", "0+10x60"), ("2", "0+10x60", "0+10x60"), ("+Inf", "0+10x60", "0+10x60"))]
WAITS = [("apiserver_watch_cache_read_wait_seconds_bucket", f'{JOB},resource="controllerrevisions",le="{bound}"', wrong, well)
         for bound, wrong, well in (("1", "0+5x60", "0+10x60"), ("2", "0+10x60", "0+10x60"), ("+Inf", "0+10x60", "0+10x60"))]
POSTS = ("apiserver_request_total", f'{JOB},verb="POST",code="201"', "0+100x60", "0+100x60")
REVISIONS = f'{JOB},resource="controllerrevisions.annals.dev"'
STORED = 'group="annals.dev",resource="dependents",version='


@dataclasses.dataclass
class Case:
    """series: (name, labels, values where something is wrong, values where all is well), one every so many minutes, at which rules are
    evaluated, too. at: minutes. early: when the alert must not have come yet."""

    series: list
    at: int
    early: int
    every: int = 1


CASES = {
    "AnnalsEtcdAway": Case([("annals_cache_connected", JOB, "1 0x60", "1x2 0 1x60")], 5, 1),
    "AnnalsEtcdNoSpace": Case([("annals_etcd_alarm", f'{JOB},type="NOSPACE"', "0 1x10", "0x10"), ("annals_etcd_alarm", f'{JOB},type="CORRUPT"', "0x10", "0x10")], 2, 0),
    "AnnalsEtcdCorrupt": Case([("annals_etcd_alarm", f'{JOB},type="CORRUPT"', "0 1x10", "0x10"), ("annals_etcd_alarm", f'{JOB},type="NOSPACE"', "0x10", "0x10")], 2, 0),
    "AnnalsEtcdNearlyFull": Case([(*SIZE, "801x60", "800x60"), QUOTA], 15, 5),
    "AnnalsEtcdFillsUp": Case([(*SIZE, "450+1.2x60", "450+0.1x60"), QUOTA], 420, 30, every=10),
    "AnnalsUndecodableValues": Case([("annals_cache_undecodable_total", JOB, "0 1x60", "0x60")], 10, 2),
    "AnnalsWritesRefused": Case([("etcd_request_errors_total", f'{JOB},operation="create"', "0+6x60", "0+4x60"), POSTS,
                                 ("etcd_request_errors_total", f'{JOB},operation="list"', "0x60", "0+90x60")], 20, 3),
    "AnnalsErrorsHigh": Case([POSTS, ("apiserver_request_total", f'{JOB},verb="GET",code="504"', "0+6x60", "0+4x60")], 20, 5),
    "AnnalsLatencyHigh": Case(LATENCIES, 20, 5),
    "AnnalsRequestsRejected": Case([("apiserver_request_terminations_total", f'{JOB},resource="pods",code="429"', "0+12x60", "0+2x60")], 20, 5),
    "AnnalsAuditEventsLost": Case([("apiserver_audit_error_total", f'{JOB},plugin="log"', "0 0 1x60", "0x60"), ("apiserver_audit_requests_rejected_total", JOB, "0x60", "0x60")], 5, 1),
    "AnnalsWatchBehind": Case(WAITS, 20, 5),
    "AnnalsWatchersTerminated": Case([("apiserver_terminated_watchers_total", f'{JOB},resource="pods"', "0 0 8x60", "0 0 3x60")], 5, 1),
    "AnnalsCacheReloads": Case([("annals_cache_reloads_total", JOB, "0+1x60", "0 0 1x60")], 10, 1),
    "AnnalsDown": Case([("up", JOB, "1 0x60", "1x3 0 1x60")], 10, 4),
    "AnnalsNotReady": Case([("annals_cache_ready", JOB, "0x60", "0 0 1x60")], 15, 5),
    "AnnalsRestarts": Case([("process_start_time_seconds", JOB, "1 2 3 4x60", "1 2 3x60")], 10, 1),
    "AnnalsFileDescriptors": Case([("process_open_fds", JOB, "81x60", "79x60"), ("process_max_fds", JOB, "100x60", "100x60")], 15, 5),
    "AnnalsCertificateEndsSoon": Case([("annals_certificate_expiration_timestamp_seconds", f'{JOB},use="serving"', f"{14 * 86400}x90", f"{15 * 86400}x90")], 70, 30),
    "AnnalsCertificateEnds": Case([("annals_certificate_expiration_timestamp_seconds", f'{JOB},use="serving"', f"{2 * 86400 + 60}x90", f"{3 * 86400}x90")], 5, 0),
    "AnnalsMigrationStuck": Case([("annals_storage_migration_running", JOB, "1x180", "1x180"),
                                  ("annals_storage_migration_objects_total", f'{JOB},result="rewritten"', "5x180", "0+1x180")], 90, 20),
    "AnnalsMigrationFailed": Case([("annals_storage_migrations_failed_total", JOB, "0 0 1x60", "1x60")], 10, 1),
    "AnnalsStoredVersionsMixed": Case([("annals_stored_objects", f'{JOB},{STORED}"v1"', "5x30", "5x30"),
                                       ("annals_stored_objects", f'{JOB},{STORED}"v1beta1"', "1x30", "0x30")], 1500, 600, every=60),
    "AnnalsReplicasDisagree": Case([("annals_storage_version_common", f'{JOB},resource="pods"', "0x90", "0x30 1x60")], 70, 30),
    "AnnalsReplicaUnregistered": Case([("annals_storage_version_registered", JOB, "0x60", "1x60")], 15, 5),
    "AnnalsHistoryGrows": Case([("apiserver_storage_objects", REVISIONS, "20000x144 30001x20", "20000x144 29999x20")], 1530, 1460, every=10),
    "AnnalsHistoryBudgetNear": Case([("annals_recorder_history_bytes", JOB, "801x60", "800x60"), ("annals_recorder_history_budget_bytes", JOB, "1000x60", "1000x60")], 10, 3),
    "AnnalsRecorderBehind": Case([("annals_recorder_waiting", JOB, "101x60", "101x10 0 101x60")], 25, 10),
    "AnnalsRecorderRefused": Case([("annals_recorder_refused_total", JOB, "0 0 1x60", "1x60")], 10, 1),
    "AnnalsRecorderSkipped": Case([("annals_recorder_skipped_total", JOB, "0 0 1x60", "1x60")], 10, 1),
}
PLACES = {"wrong": 2, "well": 3}


def firing(name, minute, samples):
    return {"expr": f'count by (namespace) (ALERTS{{alertname="{name}",alertstate="firing"}})', "eval_time": f"{minute}m",
            "exp_samples": [{"labels": f'{{namespace="{place}"}}' if place else "{}", "value": 1} for place in samples]}


def played(name, case):
    series = [{"series": f'{one[0]}{{{one[1]},namespace="{place}"}}', "values": one[column]} for one in case.series for place, column in PLACES.items() ]
    return {"name": name, "interval": f"{case.every}m", "input_series": series,
            "promql_expr_test": [firing(name, case.early, []), firing(name, case.at, ["wrong"])]}


def promtool(folder, tests):
    """What promtool says of the rules when it feeds them those series. Rules are evaluated as often as there are values."""
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    files = []
    for every in sorted({test["interval"] for test in tests}):
        files.append(folder / f"tests-{every}.yaml")
        chosen = [test for test in tests if test["interval"] == every]
        files[-1].write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": every, "tests": chosen}))
    return processes.run([PROMTOOL, "test", "rules", *files])


@needs_promtool
def test_alerts__promtool_finds_no_mistake(folder):
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    done = processes.run([PROMTOOL, "check", "rules", "--lint=all", "--lint-fatal", folder / "rules.yaml"])
    assert done.returncode == 0 and f"{len(NAMES)} rules found" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_alerts__come_where_something_is_wrong_and_nowhere_else(folder):
    assert [name for name in NAMES if name != "AnnalsAbsent"] == list(CASES)
    there = {"series": f'up{{{JOB},namespace="well"}}', "values": "1x60"}
    absent = [{"name": "AnnalsAbsent", "interval": "1m", "input_series": series, "promql_expr_test": [firing("AnnalsAbsent", 15, samples)]}
              for series, samples in (([], [None]), ([there], []))]
    done = promtool(folder, [*(played(name, case) for name, case in CASES.items()), *absent])
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts__quota_is_that_of_etcd(folder, certificates):
    """AnnalsEtcdNearlyFull and AnnalsEtcdFillsUp ask for it."""
    etcd = processes.Etcd(folder / "etcd", kube.NEWEST_ETCD, flags=[f"--quota-backend-bytes={256 * 2**20}"])
    server = processes.Serve(etcd.endpoint, certificates)
    processes.retry_until(lambda: Metrics(server).sum("annals_etcd_quota_bytes") == 256 * 2**20, "the quota")
    assert 0 < Metrics(server).sum("apiserver_storage_size_bytes", storage_cluster_id="etcd-0") < 2**20
