#!/usr/bin/env python3
"""Measures the page of `kubectl annals ui` in headless Chromium: how large it is, when it first paints, and how long a write takes until its row
is painted. Not pass or fail; on a quiet machine:

    ANNALS_BIN=build/annals tests/bench/page.py [--loads 20] [--writes 50]

A write's time begins before the request is sent and ends with the frame that shows the change: API server, etcd, the recorder, its Snapshot, the
watch of the page through its server, and the painting are all in it."""

import argparse
import http.client
import json
import pathlib
import shutil
import statistics
import sys
import tempfile
import time
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "browser"), str(TESTS / "integration")]

from chromium import LIVE, Chromium, find  # pylint: disable=wrong-import-position
from conftest import Kept, Ui, record  # pylint: disable=wrong-import-position
from processes import ROOT, Up, retry_until  # pylint: disable=wrong-import-position

FILES = ROOT / "cli" / "ui" / "page"
# Notes when the first row was painted, and when each path first was.
NOTES = """
window.seen = {};
const paths = new RegExp('/data/(key-[0-9]+)', 'g');
const look = () => {
    const found = document.querySelectorAll('[data-testid=change-row]:not([hidden])');
    if (found.length && !window.firstRow) { window.firstRow = performance.now(); }
    for (const row of found) {
        for (const [, key] of row.textContent.matchAll(paths)) { window.seen[key] ??= performance.timeOrigin + performance.now(); }
    }
    requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def say(what, values, unit="ms"):
    values = sorted(values)
    print(f"{what:44} median {statistics.median(values):7.1f} {unit}   95 % {values[int(len(values) * 0.95) - 1]:7.1f} {unit}   most {values[-1]:7.1f} {unit}")


def measure_size(ui):
    parts = urllib.parse.urlsplit(ui.base)
    sums = []
    for encoding in ("identity", "gzip"):
        total = 0
        for file in FILES.rglob("*.*"):
            connection = http.client.HTTPConnection(parts.hostname, parts.port)
            connection.request("GET", parts.path + file.relative_to(FILES).as_posix().replace("index.html", ""), headers={"Accept-Encoding": encoding})
            response = connection.getresponse()
            assert response.status == 200, file
            total += len(response.read())
            connection.close()
        sums.append(total)
    print(f"{'bytes of all files, as served / by gzip':44} {sums[0]:,} / {sums[1]:,}")


def measure_loads(browser, server, n):
    paints, rows = [], []
    for _ in range(n):
        ui = Ui(server, "default")
        page = browser.open()
        page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTES)
        page.go(ui.link)
        page.wait("window.firstRow")
        paints.append(page.wait("performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
        rows.append(page.evaluate("window.firstRow"))
        page.close()
        ui.stop()
    say(f"first paint, of {n} new users", paints)
    say("the first row of the timeline", rows)


def measure_writes(browser, server, n):
    ui = Ui(server, "default")
    page = browser.open()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTES)
    page.go(ui.link)
    page.wait(LIVE)
    writer, took, answered = Kept(server.client), [], []
    for i in range(n):
        key, began = f"key-{i}", time.time()
        answer = writer.patch("/api/v1/namespaces/default/configmaps/settings", {"data": {key: "x"}})
        assert answer.status == 200, answer
        answered.append((time.time() - began) * 1000)
        took.append(page.wait(f"window.seen[{json.dumps(key)}]") - began * 1000)
    page.close()
    ui.stop()
    say(f"a write until it is answered, of {n}", answered)
    say("a write until it is painted", took)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--writes", type=int, default=50)
    args = parser.parse_args()
    path, version = find()
    if not path:
        sys.exit(version)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    browser = Chromium(path)
    server = None
    try:
        server = Up(folder / "data")
        record(server, "all", [{"groups": [""], "resources": ["configmaps"]}])
        made = server.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "settings"}, "data": {"a": "b"}})
        assert made.status == 201, made
        retry_until(lambda: server.get("/apis/annals.dev/v1/histories").json["items"], "it is recorded")
        print(f"Chromium {version}")
        ui = Ui(server, "default")
        measure_size(ui)
        ui.stop()
        measure_loads(browser, server, args.loads)
        measure_writes(browser, server, args.writes)
    finally:
        if server:
            server.stop()
        browser.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
