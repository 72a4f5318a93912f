"""The page at a cluster without annals: workloads, and the revisions that their own controllers keep, in a browser."""

import pathlib
import sys

import pytest

import processes
from test_plugin import cluster, make_history, pytestmark  # noqa: F401: one is a fixture, the other says when tests run  # pylint: disable=unused-import

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
from chromium import Chromium, find  # pylint: disable=wrong-import-position

LINES = "[data-testid=diff] .list-row:not([hidden]) [data-testid=diff-line]"


@pytest.fixture
def page(cluster):  # noqa: F811
    path, said = find()
    if not path:
        pytest.skip(f"tests with a browser are left out: {said}")
    ui = processes.Process([processes.BIN, "kubectl", "ui", "--no-browser", "--kubeconfig", cluster.kubeconfig])
    link = ui.stdout.wait(r"http://\S+/annals/ui/#token=\w+")
    assert link, ui.stderr.text
    browser = Chromium(path)
    try:
        found = browser.open(link[0])
        yield found
        assert not found.close()
    finally:
        browser.stop()
        ui.stop()


def test_workloads_and_their_own_revisions(cluster, page):  # noqa: F811
    make_history(cluster, "statefulsets", "StatefulSet", "looked-at", serviceName="x")
    page.wait_text("[data-testid=workload-row]:not([hidden])", "looked-at")
    assert page.texts("#nav a") == ["Workloads"] and "#/workloads" in page.address
    page.evaluate("location.hash = '/history/apps/StatefulSet/default/looked-at'")
    page.wait_for(f"{LINES}[data-op='+']")
    changed = page.evaluate(f"[...document.querySelectorAll('{LINES}')].filter((e) => e.dataset.op != ' ').map((e) => e.dataset.op + e.querySelector('.code').textContent.trim())")
    assert {"-image: s:1", "+- image: i:2"} & set(changed) or {"-- image: i:1", "+- image: i:2"} <= set(changed), changed
    page.evaluate("location.hash = '/rollout/apps/StatefulSet/default/looked-at'")
    page.wait("document.querySelectorAll('[data-testid=rollout-revision]').length == 2")
