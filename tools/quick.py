#!/usr/bin/env python3
"""The tests of a change, in a minute: source checks, the unit tests and corpora of fuzzing that are made of what has changed since main,
commits and working tree alike, and side by side with them the integration tests of those modules. Says what it leaves out.

    tools/quick.py --build build            # or: make quick
    tools/quick.py --build build -k watch   # rather the integration tests of that name: make quick K=watch

The build folder knows which native tests are made of a file (tools/build_graph.py). Integration tests all use the same executable, so
names say which are for a path: test_gc.py is for every path in which "gc" is a word, test_audit_log.py for those with both words.
TESTS_OF has the rooms that tests are not named after.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import build_graph

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_TESTS = ROOT / "tools" / "run-tests.py"
INTEGRATION, BROWSER = "tests/integration", "tests/browser"
NATIVE = ["unit", "fuzz"]
ALWAYS = "smoke"
NOT_FOR_INTEGRATION = ("docs", *(f"tests/{suite}" for suite in ("bench", "browser", "cluster", "contract", "fault", "fuzz", "house", "layers", "parity", "unit")))
READ_BY_ALL = ("meson.build", "tests/unit/meson.build")
FILES_MAX = 4  # beyond this many it is no change of a minute

# Where a path begins, and the tests for it that are not named after it. The longest beginning counts.
TESTS_OF = {
    "Makefile": "readme",
    "admission": "refusals",
    "api": "refusals data", "api/model/packed": "packed_values", "api/diff": "keep kubectl_annals snapshots recordings recorder record_kinds tutorial", "api/patch": "data pods",
    "api/rules/review": "kinds access", "api/upstream": "kinds refusals statefulsets", "api/workload": "statefulsets set_apps",
    "base": "data http",
    "cli": "command_line completion", "cli/complet": "completion kubectl_annals_complete", "cli/common": "command_line up", "cli/kubectl": "kubectl_annals kubectl_annals_sets kubectl_annals_log kubectl_annals_bulk",
    "cli/run": "up serve ephemeral", "cli/ui": "ui ui_revisions ui_write",
    "client": "controllers failing_requests",
    "controllers/dependents": "protection", "controllers/dependents/persistentvolumeclaim": "claims pods", "controllers/kit": "gc", "controllers/kubelet": "fake_kubelet", "controllers/namespace": "kinds",
    "controllers/kit/own": "set_ownership set_between", "controllers/kit/history": "set_history", "controllers/recorder": "recorder record_kinds tutorial archive",
    "controllers/statefulset": "set_updates set_apps set_history",
    "delegation": "unaccompanied", "delegation/conver": "conversions", "api/custom": "definitions conversions", "api/custom/declared": "declared refers_to",
    "deploy": "certs", "deploy/systemd": "install",
    "examples": "set_examples",
    "packaging": "install packages",
    "server": "http operation", "server/request/convert": "conversions", "server/audit": "audit_log", "server/http": "http2 http2_attacks trust_files", "server/write/user_notes": "user_notes",
    "server/revisions": "keep snapshots snapshot_changes recordings forgery kubectl_annals_recorded", "server/verbs": "http lists kubectl_prune", "server/write": "writers references", "server/write/write_references": "refers_to references", "server/write/write_recorded": "forgery",
    "storage": "lists restore", "storage/cache/base": "packed_values", "storage/cache/cached": "packed_values lists", "storage/engine/plan": "packed_values writers references", "storage/engine": "writers references storage_migration", "storage/engine/agreement": "storage_versions stored_versions",
    "storage/engine/mig": "storage_migration",
    "storage/etcd": "etcd_room restore serve", "storage/memory": "ephemeral", "storage/leases": "expiry kinds",
}

# The page of `kubectl annals ui`: the tests in a browser for a file whose name does not say them. At most so many, since a browser is slow.
PAGES = ("cli/ui/", "cli/kubectl/page")
PAGES_OF = {
    "access": "safety", "files": "safety", "proxy": "safety", "ui": "safety",
    "diff": "history", "lines": "history", "usage": "rollout", "workload": "rollout", "workloads": "rollout",
    "dialog": "access", "help": "access", "icon": "access", "index": "access", "page": "access", "theme": "access", "views": "access",
    "page_revisions": "history", "page_write": "write",
}
PAGES_OTHERWISE, PAGES_MAX = "timeline", 2


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], check=False, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


def base():
    """Where this work began: on a branch, where it left what it will be merged into; else before the last commit."""
    head = (git("rev-parse", "HEAD") or [None])[0]
    for branch in ("@{upstream}", "origin/main", "main"):
        found = git("merge-base", "HEAD", branch)
        if found and (found[0] != head or git("status", "--porcelain")):
            return found[0]
    return "HEAD~1"


def changed_paths():
    """What differs from where this work began. Of a file that was only moved nothing does."""
    differences = git("diff", "--name-status", "--find-renames", base()) or []
    changed = [line.split("\t")[-1] for line in differences if not line.startswith(("R100", "D"))]
    return changed + (git("ls-files", "--others", "--exclude-standard") or [])


def words_of(path):
    """Of the folders and the name."""
    return [word for word in re.split(r"[/_.-]+", str(pathlib.PurePath(path).with_suffix("")).lower()) if word]


def is_named(test, words):
    """Whether each word of a test's name, or its singular, is one of the path's."""
    singular = {word.rstrip("s") for word in words}
    return all(word.rstrip("s") in singular for word in test.split("_"))


def tests_for(path, known):
    """Names of tests, those that are named after the path first."""
    folder, name = path.rpartition("/")[::2]
    if folder == INTEGRATION:
        module = pathlib.PurePath(name).stem
        if module.startswith("test_"):
            return [module[5:]]
        users = re.compile(rf"^(import|from) {module}\b", re.MULTILINE)
        return [test for test in known if users.search((ROOT / INTEGRATION / f"test_{test}.py").read_text(encoding="utf-8"))]
    if folder.startswith(NOT_FOR_INTEGRATION):
        return []
    named = [test for test in known if is_named(test, words_of(path))]
    return named + table_for(path).split()


def table_for(path):
    beginnings = [start for start in TESTS_OF if path.startswith(start)]
    return TESTS_OF[max(beginnings, key=len)] if beginnings else ""


def native_tests_for(paths, build):
    """Names of meson's tests that are made of these files, or that are given them; and those of the house, which look at all files."""
    graph = build_graph.Graph(build, ROOT)
    chosen = set()
    for path in paths:
        chosen.update(graph.tests_of.get(path, ()))
        chosen.update(test for test in graph.tests if path in READ_BY_ALL or any((ROOT / path).is_relative_to(argument) for argument in test.arguments))
    return sorted({test.name for test in chosen if test.suite in NATIVE} | {test.name for test in graph.tests if test.suite == "house"})


def pages_for(paths):
    """Tests in a browser."""
    known = {path.stem[5:] for path in (ROOT / BROWSER).glob("test_*.py")}
    asked = collections.Counter()
    for path in map(pathlib.PurePath, paths):
        name = path.stem.removeprefix("test_")
        if path.as_posix().startswith(PAGES):
            name = PAGES_OF.get(name, name)
            asked[name if name in known else PAGES_OTHERWISE] += 1
        elif path.parent.as_posix() == BROWSER and name in known:
            asked[name] += 1
    return [name for name, _ in asked.most_common(PAGES_MAX) if name in known]


def choose(paths, known):
    """(tests to run, tests that would not fit into a minute); those come first that most of the changes ask for."""
    asked = collections.Counter(test for path in paths for test in dict.fromkeys(tests_for(path, known)) if test in known)
    ranked = [test for test, _ in asked.most_common() if test != ALWAYS]
    return [ALWAYS] + ranked[:FILES_MAX - 1], ranked[FILES_MAX - 1:]


def run_both(build, tests, natives):
    """The exit status. One speaks as it goes, the other when both are done."""
    suites = ["house", *NATIVE, "--only", " ".join(natives)]
    with tempfile.TemporaryDirectory(prefix="annals-quick-") as folder:
        tally, output = pathlib.Path(folder) / "tally", pathlib.Path(folder) / "output"
        command = [RUN_TESTS, "--build", build, "--tally", tally]
        env = {name: value for name, value in os.environ.items() if name != "ANNALS_TALLY"}
        with open(output, "wb") as file:
            with subprocess.Popen([*command, *tests], stdout=file, stderr=subprocess.STDOUT, env=env) as beside:
                status = subprocess.run([*command, *suites], check=False, env=env).returncode
        print(output.read_text(encoding="utf-8", errors="replace"))
        print("This was quick: contract, fault and parity tests, and the other unit and integration tests, are in \"make check\".", flush=True)
        total = subprocess.run([RUN_TESTS, "--sum", tally], check=False).returncode
        return status or beside.returncode or total


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a meson build folder, built")
    parser.add_argument("-k", dest="keyword", help="the integration tests whose names match, rather than those of what has changed")
    parser.add_argument("--list", action="store_true", help="run nothing: say which files of integration tests it would be, and which native tests")
    parser.add_argument("paths", nargs="*", help="take these for what has changed")
    args = parser.parse_args()

    known = sorted(path.stem[5:] for path in (ROOT / INTEGRATION).glob("test_*.py"))
    paths = args.paths or changed_paths()
    chosen, left_out = choose(paths, known)
    files = [f"{INTEGRATION}/test_{test}.py" for test in chosen] + [f"{BROWSER}/test_{test}.py" for test in pages_for(paths)]
    natives = native_tests_for(paths, args.build) if (args.build / "build.ninja").exists() else ["no build folder"]
    if args.list:
        print("\n".join([*files, *(f"native {name}" for name in natives)]))
        return 0
    print(f"Tests of the source, unit tests and corpora of fuzzing: {len(natives)}", flush=True)
    print("Integration tests: " + (f"-k {args.keyword}" if args.keyword else " ".join(chosen)), flush=True)
    if left_out and not args.keyword:
        print("Too much has changed for a minute. Left out: " + " ".join(left_out), flush=True)
    return run_both(args.build, ["-k", args.keyword, INTEGRATION] if args.keyword else files, natives)


if __name__ == "__main__":
    sys.exit(main())
