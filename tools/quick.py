#!/usr/bin/env python3
"""The tests of a change, in a minute: source checks, unit tests, the corpora of fuzzing, and side by side with them the integration
tests of the modules that have changed since main, commits and working tree alike. Says what it leaves out.

    tools/quick.py --build build            # or: make quick
    tools/quick.py --build build -k watch   # rather the integration tests of that name: make quick K=watch

Which tests those are, names tell: test_gc.py is for every path in which "gc" is a word, test_audit_log.py for those with both words.
TESTS_OF has the words that tests are not named after.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_TESTS = ROOT / "tools" / "run-tests.py"
INTEGRATION, BROWSER = "tests/integration", "tests/browser"
NATIVE = ["house", "unit", "fuzz"]
ALWAYS = "smoke"
NOT_FOR_INTEGRATION = ("docs", *(f"tests/{suite}" for suite in ("bench", "browser", "cluster", "contract", "fault", "fuzz", "house", "layers", "parity", "unit")))
FILES_MAX = 4  # beyond this many it is no change of a minute

# A word of a path, or the beginning of one: the tests for it.
TESTS_OF = {
    "abac": "access", "authn": "access", "authz": "access", "impersonate": "access", "question": "access", "token": "access", "verifier": "access",
    "certificate": "trust_files", "front": "trust_files", "tls": "trust_files http", "verified": "trust_files",
    "accesslog": "operation", "health": "operation", "limit": "operation", "live": "operation", "metric": "operation metrics",
    "agreement": "storage_versions", "version": "storage_versions", "migrat": "storage_migration", "stored": "stored_versions",
    "alarm": "etcd_room", "upkeep": "etcd_room lists restore", "lease": "expiry kinds", "quota": "etcd_room",
    "audit": "audit_log",
    "budget": "writers", "write": "writers references", "queue": "writers",
    "cache": "lists restore", "continue": "lists", "ptree": "lists", "select": "lists", "table": "lists", "watch": "lists",
    "chain": "refusals", "condition": "refusals", "schema": "refusals", "validate": "refusals", "where": "refusals",
    "claim": "claims pods", "container": "pods",
    "client": "controllers", "rest": "failing_requests controllers", "informer": "controllers", "kit": "controllers gc", "reflector": "controllers", "runner": "controllers", "worker": "controllers",
    "create": "http", "delete": "http", "dispatch": "http", "get": "http", "gzip": "http", "deflate": "http", "negotiate": "http", "params": "http",
    "parse": "http", "request": "http", "respond": "http", "route": "http", "update": "http",
    "delegation": "unaccompanied", "flight": "unaccompanied", "webhook": "unaccompanied",
    "dependent": "protection", "apps": "statefulsets set_apps", "reviews": "kinds",
    "apply": "data pods", "diff": "kubectl_annals", "digest": "data", "fieldset": "data pods", "json": "data", "managed": "data pods",
    "merge": "data", "patch": "data", "typed": "data pods", "unstructured": "data",
    "etcd": "restore serve", "memory": "ephemeral", "mvcc": "ephemeral", "ready": "ephemeral", "scratch": "ephemeral", "loop": "ephemeral up",
    "command": "command_line", "options": "command_line", "suggest": "command_line", "flags": "up serve command_line", "instance": "up serve", "kubeconfig": "up", "datadir": "up",
    "statefulset": "set_updates set_apps set_history statefulsets", "ownership": "set_ownership set_between", "history": "history set_history",
    "progress": "export", "document": "export",
    "pass": "set_updates set_apps", "member": "set_apps", "workload": "statefulsets", "kubelet": "fake_kubelet", "example": "set_examples",
    "snapshot": "snapshots snapshot_changes", "guard": "references", "reference": "references figures", "bench": "bench_figures",
    "h2": "http2 http2_attacks",
    "namespace": "kinds controllers",
    "install": "install install_deps", "packaging": "install packages", "debian": "packages", "sbom": "packages", "systemd": "install", "impl": "protection", "makefile": "readme", "readme": "readme",
    "openapi": "discovery", "pod": "pods", "review": "kinds", "toy": "toy",
    "yaml": "data", "undo": "kubectl_annals kubectl_annals_sets kubectl_annals_recorded", "kubectl": "kubectl_annals",
    "record": "recorder record_kinds tutorial", "hunks": "snapshots ui_revisions", "page": "ui ui_revisions ui_write",
    "log": "kubectl_annals_log audit_log", "put": "kubectl_annals_recorded", "complet": "completion kubectl_annals_complete",
}
# Where no word says it: by the outermost folder.
TESTS_OF_FOLDER = {"admission": "refusals", "api": "refusals", "cli": "up", "deploy": "certs", "server": "http operation", "storage": "lists"}

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
    """Names of tests, those which the file's own name leads to before those of its folders."""
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
    for word in reversed(words_of(path)):
        named += " ".join(tests for start, tests in TESTS_OF.items() if word.startswith(start)).split()
    return named or TESTS_OF_FOLDER.get(path.partition("/")[0], "").split()


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
    asked = collections.Counter(test for path in paths for test in set(tests_for(path, known)) if test in known)
    ranked = [test for test, _ in asked.most_common() if test != ALWAYS]
    return [ALWAYS] + ranked[:FILES_MAX - 1], ranked[FILES_MAX - 1:]


def run_both(build, tests):
    """The exit status. One speaks as it goes, the other when both are done."""
    with tempfile.TemporaryDirectory(prefix="annals-quick-") as folder:
        tally, output = pathlib.Path(folder) / "tally", pathlib.Path(folder) / "output"
        command = [RUN_TESTS, "--build", build, "--tally", tally]
        env = {name: value for name, value in os.environ.items() if name != "ANNALS_TALLY"}
        with open(output, "wb") as file:
            with subprocess.Popen([*command, *tests], stdout=file, stderr=subprocess.STDOUT, env=env) as beside:
                status = subprocess.run([*command, *NATIVE], check=False, env=env).returncode
        print(output.read_text(encoding="utf-8", errors="replace"))
        print("This was quick: contract, fault and parity tests and the other integration tests are in \"make check\".", flush=True)
        total = subprocess.run([RUN_TESTS, "--sum", tally], check=False).returncode
        return status or beside.returncode or total


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a meson build folder, built")
    parser.add_argument("-k", dest="keyword", help="the integration tests whose names match, rather than those of what has changed")
    parser.add_argument("--list", action="store_true", help="run nothing: say which files of integration tests it would be")
    parser.add_argument("paths", nargs="*", help="take these for what has changed")
    args = parser.parse_args()

    known = sorted(path.stem[5:] for path in (ROOT / INTEGRATION).glob("test_*.py"))
    paths = args.paths or changed_paths()
    chosen, left_out = choose(paths, known)
    files = [f"{INTEGRATION}/test_{test}.py" for test in chosen] + [f"{BROWSER}/test_{test}.py" for test in pages_for(paths)]
    if args.list:
        print("\n".join(files))
        return 0
    print("Integration tests: " + (f"-k {args.keyword}" if args.keyword else " ".join(chosen)), flush=True)
    if left_out and not args.keyword:
        print("Too much has changed for a minute. Left out: " + " ".join(left_out), flush=True)
    return run_both(args.build, ["-k", args.keyword, INTEGRATION] if args.keyword else files)


if __name__ == "__main__":
    sys.exit(main())
