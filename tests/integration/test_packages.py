"""packaging/: what can be seen of it without building a package. `make check-packages` builds, installs and removes them."""

import json
import re
import shutil
import subprocess

import pytest

from processes import ROOT, run

PACKAGING = ROOT / "packaging"
RULES = (PACKAGING / "debian" / "rules").read_text()


def made_from(text):
    """The packages that a text names, without versions."""
    return set(re.findall(r"[a-z0-9][a-z0-9+.-]+", re.sub(r"\([^)]*\)", "", text)))


def test_package_is_built_with_what_the_project_is_built_with():
    control = (PACKAGING / "debian" / "control").read_text()
    depends = made_from(re.search(r"^Build-Depends:(.*?)^\S", control, re.MULTILINE | re.DOTALL)[1])
    build = made_from(re.search(r'\[build\]="([^"]*)"', (ROOT / "tools" / "install-deps.sh").read_text())[1])
    of_tests, of_every_machine = {"libcmocka-dev", "libjansson-dev"}, {"gcc", "g++", "libc6-dev", "make", "ninja-build", "pkg-config"}
    assert build - of_tests - of_every_machine == depends - {"debhelper-compat", "pkgconf", "pkg-config"}


def test_rules_know_what_is_installed():
    """Each file that debian/rules moves is one that meson installs."""
    installed = (PACKAGING / "meson.build").read_text()
    for name in re.findall(r"(?:mv|rm) debian/annals/\S*/(\S+)", RULES):
        assert name in installed, name
    options = (ROOT / "meson_options.txt").read_text()
    for name in set(re.findall(r"-D(\w+)=", RULES + (PACKAGING / "dist.sh").read_text())) - {"werror", "b_pie", "prefer_static"}:
        assert f"option('{name}'" in options, name


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """What the linker says of a program that has zlib within: the file of its --trace."""
    for tool in ("gcc", "dpkg-query"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool} here")
    folder = tmp_path_factory.mktemp("linked")
    (folder / "a.c").write_text("const char *zlibVersion(void);\nint main(void) { return !zlibVersion(); }\n")
    done = subprocess.run(["gcc", folder / "a.c", "-o", folder / "a", "-l:libz.a", "-Wl,--trace", "-fuse-ld=bfd"], capture_output=True, text=True, check=True)
    (folder / "trace").write_text(done.stdout)
    return folder / "trace"


def sbom(*arguments):
    head = ["--name", "annals-1", "--version", "1", "--commit", "abc", "--created", "2026-01-01T00:00:00Z"]
    return run([PACKAGING / "sbom.py", *head, *arguments])


def assert_whole(document):
    """SPDX 2.3: what it must have, and nothing names what is not there."""
    assert (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert document["documentNamespace"].startswith("https://") and document["creationInfo"]["creators"]
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    for package in document["packages"]:
        assert package["name"] and package["versionInfo"] and package["downloadLocation"] and package["filesAnalyzed"] is False
    related = {one["relatedSpdxElement"] for one in document["relationships"]}
    assert related == set(ids)
    assert {one["spdxElementId"] for one in document["relationships"]} <= {*ids, "SPDXRef-DOCUMENT"}


def by_name(document):
    return {package["name"]: package for package in document["packages"]}


def test_sbom_names_what_is_linked(linked, tmp_path):
    document = json.loads(sbom("--trace", linked, "--licenses", tmp_path / "licenses").stdout)
    assert_whole(document)
    version = run(["dpkg-query", "-W", "-f", "${Version}", "zlib1g-dev"], check=True).stdout
    zlib = by_name(document)["zlib1g-dev"]
    assert zlib["versionInfo"] == version
    assert re.fullmatch(r"pkg:deb/[a-z]+/zlib1g-dev@\S+\?arch=\w+&distro=\S+&upstream=zlib", zlib["externalRefs"][0]["referenceLocator"])
    how = {one["relatedSpdxElement"]: one["relationshipType"] for one in document["relationships"]}
    assert (how[zlib["SPDXID"]], how["SPDXRef-Package-libc6"]) == ("STATIC_LINK", "DYNAMIC_LINK")
    assert "Jean-loup Gailly" in (tmp_path / "licenses" / "zlib1g-dev" / "copyright").read_text()


def test_sbom_of_an_image_has_the_executables_too(linked, tmp_path):
    base = tmp_path / "base.json"
    base.write_text(sbom("--trace", linked).stdout)
    document = json.loads(sbom("--base", base, "--package", "libc6").stdout)
    assert_whole(document)
    assert {"zlib1g-dev", "libc6", "annals"} < set(by_name(document))
    described, = (one["relatedSpdxElement"] for one in document["relationships"] if one["relationshipType"] == "DESCRIBES")
    assert described == "SPDXRef-Package-image"


def test_sbom_is_refused_where_the_linker_said_nothing(tmp_path):
    (tmp_path / "log").write_text("[1/1] Linking target annals\n")
    done = sbom("--trace", tmp_path / "log")
    assert done.returncode == 1 and "--trace" in done.stderr
