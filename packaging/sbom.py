#!/usr/bin/env python3
"""Which libraries, in which version, are in an executable: an SPDX 2.3 document. The linker's own list of the files that it took
(--trace) says so, and dpkg whose they are; no list of ours can forget one.

    packaging/sbom.py --name NAME --version V --commit C --created TIME --trace FILE [--static FOLDER] [--licenses FOLDER]
    packaging/sbom.py --name NAME --version V --commit C --created TIME --base FILE --package NAME ...

The second is for an image: what the document of its executable says, and packages that the image has besides.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

LIBRARY = re.compile(r"(/[^\s()]+/(?:lib[^/\s()]+\.(?:a|so[.0-9]*)|[a-zA-Z]*crt[^/\s()]*\.o|ld-linux[^/\s()]*))")
PROJECT = "https://annals.dev"

Package = collections.namedtuple("Package", "name version source source_version architecture digest")


def read_release():
    lines = pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}


RELEASE = read_release()


def files_of(trace):
    """As the file system has them: an archive may be named through ../.."""
    found = {os.path.normpath(path) for path in LIBRARY.findall(trace)}
    return sorted(path for path in found if os.path.exists(path))


def spellings(path):
    """dpkg knows a file below /lib or below /usr/lib, whichever its package says."""
    for one in dict.fromkeys((path, os.path.realpath(path))):
        yield one
        yield one.removeprefix("/usr") if one.startswith("/usr/lib") else f"/usr{one}"


def owners_of(paths):
    """{path: its package}. dpkg reads its whole database at each call: it is called once."""
    asked = {path: list(spellings(path)) for path in paths}
    names = sorted({spelling for found in asked.values() for spelling in found})
    # Its status is 1 since it knows each by one spelling alone. A line of a diversion has no package in its place.
    said = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True, check=False).stdout if names else ""
    owners = {}
    for line in said.splitlines():
        package, _, spelling = line.partition(": ")
        if not package.startswith("diversion "):
            owners[spelling] = package.split(",")[0]
    found = {path: next((owners[one] for one in spelled if one in owners), None) for path, spelled in asked.items()}
    for path, package in found.items():
        if not package:
            sys.exit(f"sbom.py: {path} is linked, and no package has it")
    return found


def describe(package):
    wanted = "${binary:Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}"
    done = subprocess.run(["dpkg-query", "-W", "-f", wanted, package], capture_output=True, text=True, check=True)
    name, version, source, source_version, architecture = done.stdout.split("\t")
    return Package(name.partition(":")[0], version, source, source_version, architecture, None)


def own_package(folder):
    """What static-libs.sh has built: NAME-VERSION, with the digest of its .dsc."""
    source, version = re.fullmatch(r"([a-z0-9]+)-(.*)", folder.name).groups()
    digest = (folder / "dsc").read_text(encoding="utf-8").split()[0]
    return Package(source, version, source, version, "source", digest)


def find_packages(paths, static):
    """[(Package, whether it is in the executable, its copyright file)], by name."""
    own = [path for path in paths if static and path.startswith(f"{static}/")]
    owners = owners_of([path for path in paths if path not in own])
    described = {package: describe(package) for package in set(owners.values())}
    found = {}
    for path in paths:
        if path in own:
            folder = static / pathlib.Path(path).relative_to(static).parts[0]
            package, copyright_file = own_package(folder), folder / "copyright"
        else:
            package = described[owners[path]]
            copyright_file = pathlib.Path(f"/usr/share/doc/{package.name}/copyright")
        is_within = path.endswith((".a", ".o"))
        was_within = found.get(package.name, (None, False, None))[1]
        found[package.name] = (package, is_within or was_within, copyright_file)
    return [found[name] for name in sorted(found)]


def purl(package):
    distribution = f"{RELEASE['ID']}-{RELEASE['VERSION_ID']}"
    quoted = package.version.replace("+", "%2B").replace("~", "%7E").replace(":", "%3A")
    upstream = "" if package.source == package.name else f"&upstream={package.source}"
    return f"pkg:deb/{RELEASE['ID']}/{package.name}@{quoted}?arch={package.architecture}&distro={distribution}{upstream}"


def spdx_id(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def spdx_package(package):
    made = {
        "SPDXID": spdx_id(package.name),
        "name": package.name,
        "versionInfo": package.version,
        "supplier": f"Organization: {RELEASE['NAME'].split()[0]}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "sourceInfo": f"{RELEASE['PRETTY_NAME']}, source package {package.source} {package.source_version}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl(package)}],
    }
    if package.digest:
        made["sourceInfo"] += f", whose .dsc has the SHA-256 digest {package.digest}"
    return made


def document(options, packages):
    own = spdx_id("annals")
    annals = {
        "SPDXID": own,
        "name": "annals",
        "versionInfo": options.version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
        "sourceInfo": f"git commit {options.commit}",
    }
    relationships = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own}]
    for package, is_within, _ in packages:
        how = "STATIC_LINK" if is_within else "DYNAMIC_LINK"
        relationships.append({"spdxElementId": own, "relationshipType": how, "relatedSpdxElement": spdx_id(package.name)})
    return {**head(options), "packages": [annals, *(spdx_package(package) for package, _, _ in packages)], "relationships": relationships}


def head(options):
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": options.name,
        "documentNamespace": f"{PROJECT}/spdx/{options.name}-{options.commit}",
        "creationInfo": {"created": options.created, "creators": [f"Tool: annals-sbom-{options.version}"]},
    }


def image_document(options):
    base = json.loads(options.base.read_text(encoding="utf-8"))
    image = {
        "SPDXID": spdx_id("image"), "name": options.name, "versionInfo": options.version, "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER", "sourceInfo": f"git commit {options.commit}",
    }
    packages = {package["SPDXID"]: package for package in [image, *base["packages"]]}
    relationships = [one for one in base["relationships"] if one["relationshipType"] != "DESCRIBES"]
    relationships.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": image["SPDXID"]})
    relationships.append({"spdxElementId": image["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": spdx_id("annals")})
    for package in sorted(options.package):
        made = spdx_package(describe(package))
        packages.setdefault(made["SPDXID"], made)
        relationships.append({"spdxElementId": image["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": made["SPDXID"]})
    return {**head(options), "packages": list(packages.values()), "relationships": relationships}


def keep_licenses(folder, packages):
    for package, is_within, copyright_file in packages:
        if is_within:
            kept = folder / package.name / "copyright"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(copyright_file.read_bytes())


def linked_document(options):
    paths = files_of(options.trace.read_text(encoding="utf-8", errors="replace"))
    if not any(path.endswith(".a") for path in paths):
        sys.exit(f"sbom.py: the linker's --trace is not in {options.trace}")
    packages = find_packages(paths, options.static)
    if options.licenses:
        keep_licenses(options.licenses, packages)
    return document(options, packages)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("name", "version", "commit", "created"):
        parser.add_argument(f"--{name}", required=True)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--trace", type=pathlib.Path, help="what the linker said")
    source.add_argument("--base", type=pathlib.Path, help="the document of the executable that an image has")
    parser.add_argument("--static", type=pathlib.Path, help="the folder of static-libs.sh")
    parser.add_argument("--licenses", type=pathlib.Path, help="where the copyright files of what is linked statically go")
    parser.add_argument("--package", action="append", default=[], help="a package that an image has files of")
    options = parser.parse_args()
    json.dump(image_document(options) if options.base else linked_document(options), sys.stdout, indent=1)
    print()


main()
