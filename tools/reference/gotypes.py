#!/usr/bin/env python3
"""Writes clients/go/api/annals/: Go types for the kinds of annals.dev in each version, with what runtime.Object asks of them.

Types of Kubernetes are taken from its own modules; those of annals are made here, for each version its own. Nothing of Go is needed to
write them, so that a machine without Go can tell whether they are stale; the tests of clients build and use them.
"""

import re
import sys
import textwrap

import declared
import page

FOLDER = "clients/go/api/annals"
MODULE = "annals.dev/clients/go"
GROUP = "annals.dev"
GENERATED = "// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT."
COLUMNS = 100

SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "bytes": "[]byte"}
# Of declared Go types that are no structs here; and of types that are in a module of Kubernetes.
NAMED = {"v1.Duration": "metav1.Duration", "types.UID": "types.UID"}
STRUCTS = {"time": "metav1.Time", "microTime": "metav1.MicroTime", "raw": "runtime.RawExtension", "intOrString": "intstr.IntOrString",
           "quantity": "resource.Quantity"}
PACKAGES = {
    "appsv1": "k8s.io/api/apps/v1",
    "corev1": "k8s.io/api/core/v1",
    "intstr": "k8s.io/apimachinery/pkg/util/intstr",
    "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
    "resource": "k8s.io/apimachinery/pkg/api/resource",
    "runtime": "k8s.io/apimachinery/pkg/runtime",
    "types": "k8s.io/apimachinery/pkg/types",
}
DEFINED_IN = {"io.k8s.api.apps.v1": "appsv1", "io.k8s.api.core.v1": "corev1", "io.k8s.apimachinery.pkg.apis.meta.v1": "metav1"}
INITIALISMS = {"uid": "UID", "apiVersion": "APIVersion", "apiServerID": "APIServerID"}


def go_name(name):
    return INITIALISMS.get(name, name[0].upper() + name[1:])


def comment(text, indent=""):
    width = COLUMNS - len(indent.expandtabs(8)) - 3
    return [f"{indent}// {line}" for paragraph in text.split("\n") for line in textwrap.wrap(paragraph, width, break_on_hyphens=False, break_long_words=False)]


class Field:
    """A member of a struct: its Go type, and how it is copied."""

    def __init__(self, package, field):
        self.field = field
        self.type = declared.type_of(field["type"])
        kind = self.type["kind"]
        is_always = field.get("always", False)
        self.elem = package.type_name(declared.type_of(self.type["elem"])) if kind in ("list", "map") else None
        self.base = {"list": f"[]{self.elem}", "map": f"map[string]{self.elem}"}.get(kind) or package.type_name(self.type)
        is_container = kind in ("list", "map", "bytes")
        is_struct = not is_container and ("." in self.base and self.base != "types.UID" or kind == "object")
        # A default for numbers and flags is for those that are absent: zero must be sayable.
        has_default = "default" in field and kind in ("int32", "int64", "bool")
        self.is_pointer = not is_container and (is_struct and not is_always or field.get("keepEmpty", False) or has_default)
        self.is_struct = is_struct
        # An empty list that says something must be sayable too: omitzero leaves out nil alone.
        says_empty = is_container and field.get("keepEmpty", False)
        is_omitted = not is_always or has_default or (kind == "string" and "default" in field)
        self.tag = field["name"] + ((",omitzero" if says_empty else ",omitempty") if is_omitted else "")
        self.is_optional = not field.get("mandatory")

    @property
    def name(self):
        return go_name(self.field["name"])

    @property
    def go_type(self):
        return ("*" if self.is_pointer else "") + self.base

    def declaration(self):
        lines = comment(self.field["doc"], "\t")
        if self.type["kind"] == "list":
            lines.append(f'\t// +listType={self.type["listType"]}')
            lines += [f"\t// +listMapKey={key}" for key in self.type["listKeys"]]
        if self.is_optional:
            lines.append("\t// +optional")
        return lines + [f'\t{self.name} {self.go_type} `json:"{self.tag}"`']

    def copy(self):
        """Lines of DeepCopyInto, after *out = *in; none where that was a copy already."""
        if self.is_pointer:
            one = "(*in).DeepCopyInto(*out)" if self.is_struct and self.base != "metav1.Duration" else "**out = **in"
            return [f"if in.{self.name} != nil {{", f"\tin, out := &in.{self.name}, &out.{self.name}", f"\t*out = new({self.base})", f"\t{one}", "}"]
        kind = self.type["kind"]
        if kind in ("list", "bytes"):
            start = [f"if in.{self.name} != nil {{", f"\tin, out := &in.{self.name}, &out.{self.name}", f"\t*out = make({self.base}, len(*in))"]
            if kind == "bytes" or self.elem in SCALARS.values():
                return start + ["\tcopy(*out, *in)", "}"]
            return start + ["\tfor i := range *in {", "\t\t(*in)[i].DeepCopyInto(&(*out)[i])", "\t}", "}"]
        if kind == "map":
            start = [f"if in.{self.name} != nil {{", f"\tin, out := &in.{self.name}, &out.{self.name}", f"\t*out = make({self.base}, len(*in))"]
            assert self.elem in SCALARS.values(), self.elem
            return start + ["\tfor key, value := range *in {", "\t\t(*out)[key] = value", "\t}", "}"]
        return [f"in.{self.name}.DeepCopyInto(&out.{self.name})"] if self.is_struct else []


class Package:
    """All kinds of one version."""

    def __init__(self, version):
        self.version = version
        self.used = set()
        self.structs = {}  # name: (definition, documentation, fields)
        self.kinds = []
        for kind, found in declared.versions():
            if (found["group"], found["version"]) == (GROUP, version):
                self.add_kind(kind, found)

    def add_kind(self, kind, version):
        type_ = declared.type_of(version["type"])
        fields = [Field(self, field) for field in type_["fields"] if field["name"] not in ("kind", "apiVersion", "metadata")]
        self.kinds.append((kind, version, type_, fields))

    def type_name(self, type_):
        kind = type_["kind"]
        if type_.get("goType") in NAMED:
            return self.use(NAMED[type_["goType"]])
        if kind in SCALARS:
            return SCALARS[kind]
        if kind in STRUCTS:
            return self.use(STRUCTS[kind])
        definition, _, name = type_["definition"].rpartition(".")
        if definition in DEFINED_IN:
            return self.use(f"{DEFINED_IN[definition]}.{name}")
        self.add_struct(name, type_)
        return name

    def use(self, name):
        self.used.add(name.partition(".")[0])
        return name

    def add_struct(self, name, type_):
        if name in self.structs:
            assert self.structs[name][0] == type_["definition"], f"two types are called {name}"
            return
        self.structs[name] = (type_["definition"], type_["doc"], [])
        self.structs[name][2].extend(Field(self, field) for field in type_["fields"])

    # ---- files ----

    def head(self, packages):
        lines = [GENERATED, "", f"package {self.version}", ""]
        if packages:
            names = sorted((PACKAGES[name], name) for name in packages)
            lines += ["import (", *(f'\t{"" if path.rpartition("/")[2] == name else name + " "}"{path}"' for path, name in names), ")", ""]
        return lines

    def doc_go(self):
        says = {"v1": "It is the version to use.", "v1beta1": "Its Providers, Dependents and ControllerRevisions are deprecated: use v1."}[self.version]
        return [GENERATED, "", *comment(f"Package {self.version} has the Go types of {GROUP}/{self.version}. {says}"), "//",
                *comment("docs/reference/api describes the kinds, with their columns, field selectors and subresources."),
                "//", "// +groupName=" + GROUP, f"package {self.version}", ""]

    def types_go(self):
        lines = self.head(self.used | {"metav1"})
        for kind, version, type_, fields in self.kinds:
            lines += [*comment(f'{kind["kind"]}: {type_["doc"]}')]
            if "deprecation" in version:
                lines += ["//", *comment(f'Deprecated: {version["deprecation"].partition("; ")[2]}.')]
            lines += [f'type {kind["kind"]} struct {{', '\tmetav1.TypeMeta `json:",inline"`', "", "\t// +optional", '\tmetav1.ObjectMeta `json:"metadata,omitempty"`']
            for field in fields:
                lines += ["", *field.declaration()]
            lines += ["}", ""]
            if "list" in kind["verbs"]:
                lines += [f'// {kind["listKind"]} is a list of {kind["resource"]}.', f'type {kind["listKind"]} struct {{', '\tmetav1.TypeMeta `json:",inline"`', "",
                          '\t// +optional', '\tmetav1.ListMeta `json:"metadata,omitempty"`', "", f'\tItems []{kind["kind"]} `json:"items"`', "}", ""]
        for name, (_, doc, fields) in sorted(self.structs.items()):
            lines += [*comment(f"{name}: {doc}"), f"type {name} struct {{"]
            for i, field in enumerate(fields):
                lines += ([""] if i else []) + field.declaration()
            lines += ["}", ""]
        return lines

    def register_go(self):
        objects = [f'&{name}{{}}' for kind, *_ in self.kinds for name in (kind["kind"], kind["listKind"]) if name == kind["kind"] or "list" in kind["verbs"]]
        return [
            GENERATED, "", f"package {self.version}", "", "import (",
            '\tmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"', '\t"k8s.io/apimachinery/pkg/runtime"', '\t"k8s.io/apimachinery/pkg/runtime/schema"', ")", "",
            "// GroupName is the API group of annals.", f'const GroupName = "{GROUP}"', "",
            "// GroupVersion is the group and version of all kinds in this package.",
            f'var GroupVersion = schema.GroupVersion{{Group: GroupName, Version: "{self.version}"}}', "",
            "// SchemeGroupVersion is GroupVersion, by the name that generated clients use.", "var SchemeGroupVersion = GroupVersion", "",
            "// SchemeBuilder collects what adds the kinds to a scheme.", "var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)", "",
            "// AddToScheme adds the kinds of this package to a scheme.", "var AddToScheme = SchemeBuilder.AddToScheme", "",
            "// Kind returns a kind of this group with its group.", "func Kind(kind string) schema.GroupKind {", "\treturn GroupVersion.WithKind(kind).GroupKind()", "}", "",
            "// Resource returns a resource of this group with its group.", "func Resource(resource string) schema.GroupResource {",
            "\treturn GroupVersion.WithResource(resource).GroupResource()", "}", "",
            "func addKnownTypes(scheme *runtime.Scheme) error {", "\tscheme.AddKnownTypes(GroupVersion,", *(f"\t\t{name}," for name in objects), "\t)",
            "\tmetav1.AddToGroupVersion(scheme, GroupVersion)", "\treturn nil", "}", "",
        ]

    @staticmethod
    def deep_copies(name, lines, is_root):
        copies = [
            "// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.", f"func (in *{name}) DeepCopyInto(out *{name}) {{", "\t*out = *in",
            *("\t" + line for line in lines), "}", "",
            "// DeepCopy returns a copy that shares nothing with the receiver.", f"func (in *{name}) DeepCopy() *{name} {{", "\tif in == nil {", "\t\treturn nil", "\t}",
            f"\tout := new({name})", "\tin.DeepCopyInto(out)", "\treturn out", "}", "",
        ]
        if is_root:
            copies += ["// DeepCopyObject is DeepCopy, as runtime.Object wants it.", f"func (in *{name}) DeepCopyObject() runtime.Object {{", "\tif c := in.DeepCopy(); c != nil {",
                       "\t\treturn c", "\t}", "\treturn nil", "}", ""]
        return copies

    def deepcopy_go(self):
        # Those that DeepCopyInto makes anew with new() or make().
        needed = {"runtime"}
        body = []
        for kind, _, _, fields in self.kinds:
            copies = ["in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)", *(line for field in fields for line in field.copy())]
            body += self.deep_copies(kind["kind"], copies, True)
            if "list" in kind["verbs"]:
                items = ["in.ListMeta.DeepCopyInto(&out.ListMeta)", "if in.Items != nil {", "\tin, out := &in.Items, &out.Items", f'\t*out = make([]{kind["kind"]}, len(*in))',
                         "\tfor i := range *in {", "\t\t(*in)[i].DeepCopyInto(&(*out)[i])", "\t}", "}"]
                body += self.deep_copies(kind["listKind"], items, True)
        for name, (_, _, fields) in sorted(self.structs.items()):
            body += self.deep_copies(name, [line for field in fields for line in field.copy()], False)
        needed |= {name for name in PACKAGES if re.search(rf"\b(?:new|make)\((?:\[\])?{name}\.", "\n".join(body))}
        return self.head(needed) + body


def main(root):
    for version in ("v1", "v1beta1"):
        package = Package(version)
        for name, lines in (("doc.go", package.doc_go()), ("types.go", package.types_go()), ("register.go", package.register_go()),
                            ("zz_generated.deepcopy.go", package.deepcopy_go())):
            page.put(root, f"{FOLDER}/{version}/{name}", "\n".join(lines))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
