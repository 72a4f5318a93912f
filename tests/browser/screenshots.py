#!/usr/bin/env python3
"""Makes docs/images/*.png: the page as it looks, light and dark, with what a real `annals up` has recorded. make screenshots runs it."""

import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

from chromium import LIVE, Chromium, find  # pylint: disable=wrong-import-position
from conftest import Ui, record  # pylint: disable=wrong-import-position
from processes import NO_DEFAULT_OBJECTS, ROOT, Up, retry_until  # pylint: disable=wrong-import-position
from sets import BROKEN, Room, statefulset  # pylint: disable=wrong-import-position

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1120, 560
V1 = "/apis/annals.dev/v1"


def user(name):
    return {"Impersonate-User": name, "Impersonate-Group": "system:masters"}


class Shop(Room):
    """A night of a shop: who changes what, one after the other."""

    def __init__(self, server):
        super().__init__(server)
        self.namespace = "shop"
        self.n_changes = 0
        self.create({"metadata": {"name": "shop"}}, path="/api/v1/namespaces")

    def recorded(self):
        """Waits until the last change is recorded, so that each is one."""
        self.n_changes += 1
        histories = f"{V1}/namespaces/shop/histories"
        retry_until(lambda: sum(it["status"].get("totalChanges", 0) for it in self.server.get(histories).json["items"]) >= self.n_changes, "it is recorded")

    def post(self, path, body, who):
        answer = self.server.post(path, body, headers=user(who))
        assert answer.status == 201, answer
        self.recorded()

    def patch_as(self, who, path, body, kind="application/merge-patch+json"):
        answer = self.server.patch(path, body, kind=kind, headers=user(who))
        assert answer.status == 200, answer
        self.recorded()

    def night(self):
        settings, services, sets = self.path("configmaps"), "/api/v1/namespaces/shop/services", self.set_path()
        self.post(settings, {"metadata": {"name": "settings"}, "data": {
            "currency": "EUR", "limit": "100", "greeting": "Good evening", "mail": "orders@shop.example", "pages": "20", "retries": "3", "theme": "winter",
            "timeout": "30s", "workers": "8"}}, "alice")
        self.post(services, {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}, "alice")
        web = statefulset("web", replicas=4, image="shop.example/web:2.3.0")
        web["metadata"]["annotations"] = {"kubernetes.io/change-cause": "the first release"}
        self.post(sets, web, "deploy-bot")
        self.settle("web")
        self.patch_as("deploy-bot", sets + "/web", {"metadata": {"annotations": {"kubernetes.io/change-cause": "release 2.4.0"}}, "spec": {"template": {"spec": {
            "containers": [{"name": "c", "image": "shop.example/web:2.4.0"}]}}}}, "application/strategic-merge-patch+json")
        self.settle("web")
        self.patch_as("alice", settings + "/settings", {"data": {"greeting": "Good morning"}})
        self.patch_as("bob", services + "/web", {"metadata": {"labels": {"tier": "front"}}})
        self.patch_as("nightly-job", settings + "/settings", {"data": {"limit": "1", "timeout": "5s", "debug": "true"},
                                                           "metadata": {"annotations": {"kubernetes.io/change-cause": "clean up limits"}}})
        self.post(settings, {"metadata": {"name": "banner"}, "data": {"text": "Sale"}}, "bob")
        answer = self.server.delete(settings + "/banner", headers=user("bob"))
        assert answer.status == 200, answer
        self.recorded()
        self.patch_as("deploy-bot", sets + "/web", {"metadata": {"annotations": {"kubernetes.io/change-cause": "release 2.5.0"}}, "spec": {"template": {
            "metadata": {"annotations": BROKEN}, "spec": {"containers": [{"name": "c", "image": "shop.example/web:2.5.0"}]}}}}, "application/strategic-merge-patch+json")
        retry_until(lambda: any(pod["spec"]["containers"][0]["image"].endswith("2.5.0") and pod["status"].get("phase") == "Running"
                                for pod in self.pods("web").values()), "the rollout is stuck")


def pictures(page):
    page.go(f"{page.ui.base}#/timeline?namespace=shop")
    page.wait(LIVE)
    page.wait_text("[data-testid=timeline]", "deploy-bot")
    yield "timeline"
    page.go(f"{page.ui.base}#/history/-/ConfigMap/shop/settings?from=1&to=3")
    page.wait_for("[data-testid=diff-line][data-op='+']")
    page.evaluate("document.querySelector('[data-testid=diff]').focus()")
    page.press("n")
    page.wait_for("[data-testid=diff] .is-active")
    yield "history"
    page.go(f"{page.ui.base}#/rollout/apps/StatefulSet/shop/web")
    page.wait("document.querySelectorAll('[data-testid=rollout-pod]').length == 4")
    yield "rollout"


def main():
    path, said = find()
    if not path:
        sys.exit(said)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    IMAGES.mkdir(exist_ok=True)
    browser = Chromium(path)
    started = []
    try:
        server = Up(folder / "data", "--fake-nodes=2", NO_DEFAULT_OBJECTS)
        started.append(server)
        record(server, "workloads", [{"groups": [""], "resources": ["configmaps", "services"]}, {"groups": ["apps"], "resources": ["statefulsets"]}])
        Shop(server).night()
        for theme in ("light", "dark"):
            ui = Ui(server, "shop")
            started.append(ui)
            page = browser.open(ui.link, theme=theme, width=WIDTH, height=HEIGHT)
            page.ui = ui
            for name in pictures(page):
                page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                file = IMAGES / f"{name}-{theme}.png"
                page.screenshot(file)
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size} bytes")
            troubles = page.close()
            assert not troubles, troubles
    finally:
        for process in reversed(started):
            process.stop()
        browser.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
