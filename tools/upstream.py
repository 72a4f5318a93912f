#!/usr/bin/env python3
"""Writes api/upstream/*.facts: what Kubernetes' Go types say about each field, one line a field. docs/development/upstream.md explains the columns.

usage: upstream.py vX.Y.Z    (a version of Kubernetes; `make upstream K8S=vX.Y.Z`)

Reads the modules k8s.io/api and k8s.io/apimachinery of that version, which Go fetches. Types are taken that the kinds below reach.
Descriptions are not taken."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "api/upstream"

KINDS = {
    "core/v1": "Binding ConfigMap Endpoints Event Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController Secret Service ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication/v1": "SelfSubjectReview TokenReview",
    "authorization/v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    "autoscaling/v1": "Scale",
    "batch/v1": "CronJob Job",
    "coordination/v1": "Lease",
    "events/v1": "Event",
    "networking/v1": "Ingress",
    "storage/v1": "StorageClass",
}
GO_BASIC = {"string", "bool", "int32", "int64", "byte"}
# Types that api/model writes by hand: they are everybody's, and not looked into.
SHARED = {
    "meta/v1.ObjectMeta", "meta/v1.ListMeta", "meta/v1.TypeMeta", "meta/v1.Time", "meta/v1.MicroTime", "meta/v1.FieldsV1",
    "resource.Quantity", "intstr.IntOrString", "runtime.RawExtension",
}


def fail(text):
    sys.exit(f"upstream.py: {text}")


def module(name, version):
    """The folder of a module, which Go downloads where it has to."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(["go", "mod", "download", "-json", f"{name}@{version}"], cwd=empty, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        fail(f"{name}@{version} cannot be had: {found.get('Error', done.stderr.strip())}")
    return pathlib.Path(found["Dir"])


class Package:
    """One types.go: its structs, and other names for basic types."""

    def __init__(self, path, name):
        self.name = name
        self.imports = {"metav1": "meta/v1", "corev1": "core/v1", "v1": "core/v1" if name != "core/v1" else None}
        self.structs, self.others, self.constants = {}, {}, {}
        text = path.read_text()
        for alias, target in re.findall(r'^\s+(\w+)? ?"(k8s\.io/[^"]+)"$', text, re.M):
            short = re.sub(r"^k8s\.io/(api/|apimachinery/pkg/(apis/|api/|util/)?)", "", target)
            self.imports[alias or short.split("/")[-1]] = short
        for constant, value in re.findall(r'^\s+(\w+)\s+\w*\s*= ("[^"]*")', text, re.M):
            self.constants[constant] = value
        tags, struct = [], None
        for line in text.split("\n"):
            bare = line.strip()
            if bare.startswith("//"):
                mark = re.match(r"// ?\+([\w:]+)(?:=(.*))?$", bare)
                if mark:
                    tags.append((mark[1], (mark[2] or "").strip()))
                continue
            if struct is None:
                if m := re.match(r"type (\w+) struct \{(\})?", line):
                    struct = None if m[2] else []
                    self.structs[m[1]] = ([], dict(tags)) if m[2] else (struct, dict(tags))
                elif m := re.match(r"type (\w+) ([\w\[\].]+)$", line):
                    self.others[m[1]] = m[2]
                if bare:
                    tags = []
            elif bare == "}" and line == "}":
                struct, tags = None, []
            elif m := re.match(r"(?:(\w+)\s+)?([*\w\[\].]+)\s+`(.*)`", bare):
                struct.append((m[1], m[2], dict(re.findall(r'(\w+):"([^"]*)"', m[3])), tags))
                tags = []
            elif bare:
                tags = []


class Facts:
    def __init__(self, version):
        api, machinery = module("k8s.io/api", version), module("k8s.io/apimachinery", version)
        self.folders = {"meta/v1": machinery / "pkg/apis/meta/v1"}
        self.api, self.packages, self.lines, self.queue = api, {}, {}, []
        for package, kinds in KINDS.items():
            for kind in kinds.split():
                self.want(package, kind)
        while self.queue:
            self.add(*self.queue.pop())

    def package(self, name):
        if name not in self.packages:
            self.packages[name] = Package(self.folders.get(name, self.api / name) / "types.go", name)
        return self.packages[name]

    def want(self, package, name):
        if (package, name) not in self.lines:
            self.lines[package, name] = None
            self.queue.append((package, name))

    def spell(self, package, go):
        """A Go type as facts spell it: others' names for basic types with what they are, other packages' names with theirs."""
        if m := re.match(r"(\*|\[\]|map\[[\w.]+\])(.+)$", go):
            return "[]byte" if go == "[]byte" else m[1] + self.spell(package, m[2])
        if go in GO_BASIC:
            return go
        home, name = (self.package(package).imports.get(go.split(".")[0]), go.split(".")[1]) if "." in go else (package, go)
        if home is None:
            fail(f"{package}: whose is {go}?")
        full = f"{home}.{name}"
        prefix = "" if home == package else home + "."
        if full in SHARED:
            return full
        if full == "types.UID":
            return "types.UID(string)"
        if name in self.package(home).others:
            return f"{prefix}{name}({self.spell(home, self.package(home).others[name])})"
        if name not in self.package(home).structs:
            fail(f"{package}: there is no {full}")
        self.want(home, name)
        return prefix + name

    def default(self, package, value):
        if m := re.match(r"ref\((?:.*\.)?(\w+)\)$", value):
            return self.package(package).constants[m[1]]
        return value

    def fields(self, package, name, within=None):
        rows = []
        for go_name, go, tags, marks in self.package(package).structs[name][0]:
            proto = tags.get("protobuf", "").split(",")
            number = proto[1] if len(proto) > 1 else "-"
            json_name, *options = tags.get("json", "").split(",")
            if not go_name and "inline" in options:
                if go.endswith("TypeMeta"):
                    rows.append("TypeMeta")
                else:
                    home, inner = (self.package(package).imports[go.split(".")[0]], go.split(".")[1]) if "." in go else (package, go)
                    rows += [f"embedded {inner} {number}"] + self.fields(home, inner, number)
                continue
            if json_name == "-":
                continue
            said = dict(marks)
            keys = [v for k, v in marks if k == "listMapKey"]
            row = [json_name, self.spell(package, go), f"{within}.{number}" if within else number]
            row += [o for o in ("omitempty", "omitzero") if o in options]
            is_optional = ("optional" in said or "omitempty" in options or "omitzero" in options) and "required" not in said
            row += [] if is_optional else ["required"]
            if said.get("listType", "atomic") != "atomic":
                row.append("list=" + said["listType"] + (":" + ",".join(keys) if keys else ""))
            for mark in ("mapType", "structType"):
                if mark in said:
                    row.append(mark[:-4] + "=" + said[mark])
            if "patchStrategy" in tags:
                key = tags.get("patchMergeKey")
                row.append("patch=" + tags["patchStrategy"] + (":" + key if key else ""))
            if "default" in said:
                row.append("default=" + self.default(package, said["default"]))
            rows.append(" ".join(row))
        return rows

    def add(self, package, name):
        kinds = self.package(package).structs[name][1]
        is_atomic = kinds.get("structType") == "atomic" or kinds.get("mapType") == "atomic"
        self.lines[package, name] = [name + (" atomic" if is_atomic else "")] + ["\t" + row for row in self.fields(package, name)]

    def write(self, version):
        for package in sorted({p for p, _ in self.lines}):
            rows = [f"# {package} of Kubernetes {version}. Made by `make upstream`: do not edit. docs/development/upstream.md explains the columns."]
            for _, name in sorted(key for key in self.lines if key[0] == package):
                rows += [""] + self.lines[package, name]
            (OUT / (package.replace("/", "-") + ".facts")).write_text("\n".join(rows) + "\n")


def main():
    if len(sys.argv) != 2 or not re.match(r"v1\.\d+\.\d+$", sys.argv[1]):
        fail("usage: upstream.py v1.MINOR.PATCH")
    Facts("v0" + sys.argv[1][2:]).write(sys.argv[1])


if __name__ == "__main__":
    main()
