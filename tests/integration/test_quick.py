"""tools/quick.py finds the integration tests of a change, and nothing that it goes by has become stale."""

import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

from processes import ROOT

SCRIPT = ROOT / "tools" / "quick.py"
BUILD = pathlib.Path(os.environ.get("ANNALS_BUILD", ROOT / "build"))
HERE = pathlib.Path(__file__).resolve().parent
KNOWN = sorted(path.stem[5:] for path in HERE.glob("test_*.py"))
SOURCES = ["admission", "api", "base", "cli", "client", "controllers", "delegation", "server", "storage"]


@pytest.fixture(scope="module")
def quick():
    spec = importlib.util.spec_from_file_location("quick", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chosen(*paths):
    done = subprocess.run([SCRIPT, "--list", *paths], capture_output=True, text=True, check=True)
    return [line.partition("/test_")[2].removesuffix(".py") for line in done.stdout.splitlines() if not line.startswith("native ")]


def test_all_that_it_names_is_there(quick):
    assert set(" ".join(quick.TESTS_OF.values()).split()) <= set(KNOWN)
    paths = [path.relative_to(ROOT).as_posix() for folder in [*SOURCES, "deploy", "examples", "packaging"] for path in (ROOT / folder).rglob("*")] + ["Makefile"]
    assert [start for start in quick.TESTS_OF if not any(path.startswith(start) for path in paths)] == []


def test_all_pages_that_it_names_are_there(quick):
    known = {path.stem[5:] for path in (ROOT / quick.BROWSER).glob("test_*.py")}
    assert {*quick.PAGES_OF.values(), quick.PAGES_OTHERWISE} <= known


@pytest.mark.parametrize("path, test", [
    ("cli/ui/page/views/rollout.js", "rollout"), ("cli/ui/page/page.css", "access"), ("cli/ui/page/store.js", "timeline"), ("cli/ui/access.c", "safety"),
    ("cli/kubectl/page_write.c", "write"), ("tests/browser/test_driver.py", "driver")])
def test_change_leads_to_its_tests_in_a_browser(path, test):
    files = subprocess.run([SCRIPT, "--list", path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert f"tests/browser/test_{test}.py" in files


def test_some_source_leads_to_each(quick):
    """But for those of fixtures, and the one that always runs."""
    paths = [path.relative_to(ROOT).as_posix() for folder in [*SOURCES, "tools", "tests/toy", "deploy", "examples", "packaging"] for path in (ROOT / folder).rglob("*.*")]
    reached = {test for path in [*paths, "README.md"] for test in quick.tests_for(path, KNOWN)}
    assert set(KNOWN) - reached <= {quick.ALWAYS, "processes"}


@pytest.mark.parametrize("path, test", [
    ("controllers/gc_attempt.c", "gc"), ("controllers/gc/attempt.c", "gc"), ("server/verbs/watch.c", "lists"), ("api/pod_rules.c", "pods"),
    ("cli/fsck_walk.c", "fsck"), ("server/audit/event.c", "audit_log"), ("tests/integration/garbage.py", "gc"),
    ("tests/integration/test_toy.py", "toy")])
def test_change_leads_to_its_tests(path, test):
    assert test in chosen(path)


@pytest.mark.parametrize("path, run, not_run", [
    ("cli/certs/certs.c", "certs", "json_parse"), ("base/str.h", "json_parse", None), ("tests/unit/test_str.c", "str", "certs"), ("docs/README.md", "prose", "str")])
def test_change_leads_to_the_native_tests_that_the_build_makes_of_it(path, run, not_run):
    done = subprocess.run([SCRIPT, "--build", BUILD, "--list", path], capture_output=True, text=True, check=True)
    native = [line.removeprefix("native ") for line in done.stdout.splitlines() if line.startswith("native ")]
    assert run in native and not_run not in native


def test_what_no_test_is_for_leads_to_one_alone(quick):
    assert chosen("docs/development/testing.md", "tests/unit/test_gc_plan.c") == [quick.ALWAYS]


def test_many_changes_lead_to_no_more_than_fits_in_a_minute(quick):
    assert len(chosen(*(f"server/{test}.c" for test in KNOWN))) == quick.FILES_MAX


def test_changes_are_those_of_a_branch_and_of_the_working_tree(folder):
    """A file that was only moved is none."""
    for name in ("tools/quick.py", "tools/build_graph.py", "tests/integration/test_smoke.py", "tests/integration/test_gc.py", "tests/integration/test_certs.py", "tests/integration/test_up.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)

    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True, capture_output=True)

    def write(path, text):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    def found():
        done = subprocess.run([folder / "tools/quick.py", "--list"], capture_output=True, text=True, check=True)
        return {line.partition("/test_")[2].removesuffix(".py") for line in done.stdout.splitlines() if not line.startswith("native ")} - {"smoke"}

    git("init", "--initial-branch=main")
    write("a/gc.c", "1\n2\n3\n")
    git("add", ".")
    git("commit", "-m", "first")
    git("switch", "-c", "work")
    write("b/certs.c", "committed")
    git("add", ".")
    git("commit", "-m", "second")
    assert found() == {"certs"}
    write("c/up.c", "neither added nor committed")
    assert found() == {"certs", "up"}
    git("mv", "a/gc.c", "c/gc.c")
    assert found() == {"certs", "up"}
    write("c/gc.c", "1\n2\n4\n")
    assert found() == {"certs", "up", "gc"}
