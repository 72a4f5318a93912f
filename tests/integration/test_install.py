"""`make install`: what meson lays below a root, and whether it works there."""

import json
import os
import pathlib
import re
import shutil

import pytest

import processes
from processes import ROOT, run

BUILD = pathlib.Path(os.environ.get("ANNALS_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def options():
    """The options of the build folder."""
    meson = shutil.which("meson") or pytest.skip("there is no meson here")
    return {option["name"]: option["value"] for option in json.loads(run([meson, "introspect", "--buildoptions", BUILD], check=True).stdout)}


@pytest.fixture
def prefix(options):
    return pathlib.Path(options["prefix"])


@pytest.fixture
def installed(folder, prefix):
    """What stands for prefix, below a root."""
    run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder / "root"], check=True)
    return folder / "root" / prefix.relative_to("/")


def test_executable_and_plugin_run(installed):
    wanted = run([processes.BIN, "version"], check=True).stdout
    assert wanted
    assert run([installed / "bin" / "annals", "version"], check=True).stdout == wanted
    assert "history" in run([installed / "bin" / "kubectl-annals", "help"], check=True).stdout
    for name in ("kubectl-annals", "kubectl_complete-annals"):
        assert os.readlink(installed / "bin" / name) == "annals"


def test_unit_of_systemd_names_what_is_installed(installed, prefix):
    unit = (installed / "lib" / "systemd" / "system" / "annals.service").read_text()
    assert f"\nExecStart={prefix}/bin/annals serve " in unit
    user = re.search(r"^User=(\w+)$", unit, re.MULTILINE)[1]
    assert re.search(rf"^u {user} ", (installed / "lib" / "sysusers.d" / "annals.conf").read_text(), re.MULTILINE)


def test_shells_complete_what_is_installed(installed, options):
    if options["b_sanitize"] != "none":
        pytest.skip("of a build with sanitizers there are no completions")
    for shell, path in (("bash", "bash-completion/completions/annals"), ("bash", "bash-completion/completions/kubectl-annals"),
                        ("zsh", "zsh/site-functions/_annals"), ("fish", "fish/vendor_completions.d/annals.fish")):
        assert (installed / "share" / path).read_text() == run([processes.BIN, "completion", shell], check=True).stdout


def test_all_that_a_cluster_needs_is_there(installed):
    """Every file of the chart and of kustomize's folders, with what it says."""
    for folder in ("helm", "kustomize", "recorders"):
        for path in (ROOT / "deploy" / folder).rglob("*"):
            if path.is_file():
                assert (installed / "share" / "annals" / path.relative_to(ROOT / "deploy")).read_bytes() == path.read_bytes()


def test_openapi_is_what_a_server_answers(installed, options, annals):
    if options["b_sanitize"] != "none":
        pytest.skip("of a build with sanitizers there are no documents")
    folder = installed / "share" / "annals" / "openapi"
    paths = annals.get("/openapi/v3").json["paths"]
    assert {path.name for path in (folder / "v3").iterdir()} == {path.replace("/", "__") + "_openapi.json" for path in paths}
    for path in paths:
        assert json.loads((folder / "v3" / f"{path.replace('/', '__')}_openapi.json").read_text()) == annals.get(f"/openapi/v3/{path}").json
    assert json.loads((folder / "swagger.json").read_text()) == annals.get("/openapi/v2").json


def test_manual_and_papers_are_there(installed):
    for page in (ROOT / "man").glob("*.[1-8]"):
        assert (installed / "share" / "man" / f"man{page.suffix[1:]}" / page.name).read_bytes() == page.read_bytes()
    for name in ("LICENSE", "README.md", "annals.env"):
        assert (installed / "share" / "doc" / "annals" / name).stat().st_size
