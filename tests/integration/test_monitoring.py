"""deploy/monitoring: what alerts and the dashboard ask for is what servers show, and each alert has its page."""

import json
import pathlib
import re
import time

import pytest
import yaml

import processes
from metrics import Metrics
from objects import revision, revisions

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MONITORING = ROOT / "deploy" / "monitoring"
PAGE = ROOT / "docs" / "how-to" / "alerts.md"
RULES = [rule for group in yaml.safe_load((MONITORING / "annals-alerts.yaml").read_text())["spec"]["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "annals-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

NAME = re.compile(r"\b((?:annals|apiserver|etcd|process|workqueue|authentication|authorization|leader)_[a-z0-9_]+)(?:\{([^}]*)\})?")
OF_PROMETHEUS = {"job", "namespace", "instance"}  # labels that targets get
# Metrics that a server of this test cannot come to, and what shows that they are there.
ELSEWHERE = {
    "annals_etcd_quota_bytes": "etcd 3.6 alone says it: tests/cluster/test_alerts.py",
    "apiserver_terminated_watchers_total": "tests/unit, test_metrics__watches_and_reads_that_fall_behind",
}

AUDIT_ALL = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}


def expressions():
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    yield from ((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"])


def asked():
    """{metric: labels that its selectors name}, of all expressions."""
    found = {}
    for where, expression in expressions():
        names = NAME.findall(expression)
        assert names or "up{" in expression, where
        for name, selector in names:
            labels = set(re.findall(r"(\w+)\s*[=!]", re.sub(r'"[^"]*"', '""', selector)))
            found.setdefault(re.sub("_(bucket|sum|count)$", "", name), set()).update(labels - OF_PROMETHEUS)
    return found


def labels_of(metrics, family):
    return {label for (sample, labels) in metrics.samples if re.sub("_(bucket|sum|count)$", "", sample) == family or sample == family for label, _ in labels}


@pytest.fixture
def server(store, serve, folder):
    """One whose audit log cannot be written, and that takes a single watch."""
    policy = folder / "audit.json"
    policy.write_text(json.dumps(AUDIT_ALL))
    return serve(store.endpoint, f"--audit-policy-file={policy}", "--audit-log-path=/dev/full", "--max-watches-inflight=1", "--etcd-compaction-interval=0")


def put_to_trouble(server, store):
    """A write that succeeds, a watch too many, and an etcd that is gone."""
    path = revisions()
    assert server.post(path, revision("a")).status == 201
    assert server.get(path).status == 200
    with server.watch(path + "?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        assert server.get(path + "?watch=1").status == 429
    store.kill()
    processes.retry_until(lambda: Metrics(server).sum("annals_cache_connected") == 0, "what AnnalsEtcdAway looks at")
    assert server.post(path, revision("b")).status in (503, 504)


def test_monitoring__servers_show_what_is_asked_for(annals, server, store):
    assert Metrics(server).sum("annals_cache_connected") == 1 and "etcd_request_errors_total" not in Metrics(server).families()
    put_to_trouble(server, store)
    processes.retry_until(lambda: Metrics(server).sum("apiserver_audit_error_total") > 0, "what AnnalsAuditEventsLost looks at")
    shown = [Metrics(annals), Metrics(server)]
    assert shown[1].sum("etcd_request_errors_total", operation="create", resource="controllerrevisions") == 1
    assert shown[1].sum("apiserver_request_terminations_total", code="429", resource="controllerrevisions") == 1
    for name, labels in asked().items():
        families = [metrics for metrics in shown if name in metrics.families()]
        assert bool(families) != (name in ELSEWHERE) or (name in ELSEWHERE and families), f"no server shows {name}"
        if families:
            assert labels <= set().union(*(labels_of(metrics, name) for metrics in families)), f"{name} has no such labels: {labels}"


def test_monitoring__alerts_say_what_is_wrong_and_have_a_page():
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.M)[1:]
    assert [section.split("\n", 1)[0] for section in sections] == [rule["alert"] for rule in RULES]
    for rule, section in zip(RULES, sections):
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["summary"].endswith(".") and rule["annotations"]["description"].endswith(".")
        assert rule["annotations"]["runbook_url"].endswith(f"docs/how-to/alerts#{rule['alert'].lower()}")
        assert "\nLook: " in section or "\nDo: as " in section, f"{rule['alert']}: nothing to look at"
        assert "\nDo: " in section, f"{rule['alert']}: nothing to do"


def test_monitoring__chart_has_the_same_files():
    """A chart is installed by itself, so it has copies: cp deploy/monitoring/annals-* deploy/helm/annals/files/"""
    for path in (ROOT / "deploy" / "helm" / "annals" / "files").iterdir():
        assert path.read_text() == (MONITORING / path.name).read_text(), f"deploy/helm/annals/files/{path.name} is stale"


def test_monitoring__dashboard_can_be_imported():
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] == "annals" and "id" not in DASHBOARD
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for panel in PANELS:
        assert panel["description"] and panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= variables | {"__rate_interval"}


def test_monitoring__certificates_are_shown_with_their_ends(store, folder):
    """The metric follows the files, as the server does."""
    mine = processes.Certificates(folder / "certificates")
    server = processes.Serve(store.endpoint, mine)

    def days(use):
        return (Metrics(server).sum("annals_certificate_expiration_timestamp_seconds", use=use) - time.time()) / 86400

    assert 29 < days("serving") <= 30 and 29 < days("client-ca") <= 30
    assert Metrics(server).sum("annals_certificate_expiration_timestamp_seconds", use="etcd-client") == 0, "there is none"
    for before, after in zip(mine.issue("renewed", "/CN=server", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth", days=10), mine.server):
        before.replace(after)
    assert 9 < days("serving") <= 10 and 29 < days("client-ca") <= 30
