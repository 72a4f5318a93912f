#!/usr/bin/env python3
"""Prints what Kubernetes' own unit tests of schemas ask its code, and what it answers: one JSON object a line (tests/unit/schemas.jsonl).

The tests of k8s.io/apiextensions-apiserver are run as they are, in a copy of the module in which a function is put around each of
those under test. It writes down arguments and result. So the tables of those tests become facts that annals replays (tests/unit/test_schema_vectors.c).

    tests/cluster/schemas/record.py > tests/unit/schemas.jsonl
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PEERS = HERE.parent / "peers" / "kube"
MODULE = "k8s.io/apiextensions-apiserver"

# Appended to a package: writes one line.
WRITER = """
package %s

import (
	"encoding/json"
	"os"
	"sync"
)

var recordLock sync.Mutex

func recordText(v interface{}) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func record(v map[string]interface{}) {
	recordLock.Lock()
	defer recordLock.Unlock()
	f, err := os.OpenFile(os.Getenv("RECORD_TO"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.Write(append(recordText(v), '\\n'))
}
"""

OPENAPI = """
func recordSchema(s *structuralschema.Structural) interface{} {
	if s == nil {
		return nil
	}
	return s.ToKubeOpenAPI()
}
"""

ERRORS = """
func recordPath(p *field.Path) string {
	if p == nil {
		return ""
	}
	return p.String()
}

func recordErrors(errs field.ErrorList) []string {
	texts := []string{}
	for _, e := range errs {
		texts = append(texts, e.Error())
	}
	return texts
}
"""

# Package, file, functions to be put aside, and what stands in their place.
WRAPS = [
    ("pkg/apiserver/schema/pruning", "algorithm.go", ["PruneWithOptions"], OPENAPI + """
func PruneWithOptions(obj interface{}, s *structuralschema.Structural, isResourceRoot bool, opts structuralschema.UnknownFieldPathOptions) []string {
	in := recordText(obj)
	unknown := recordedPruneWithOptions(obj, s, isResourceRoot, opts)
	record(map[string]interface{}{"op": "prune", "schema": recordSchema(s), "root": isResourceRoot, "in": in, "out": recordText(obj),
		"tracked": opts.TrackUnknownFieldPaths, "unknown": unknown})
	return unknown
}
"""),
    ("pkg/apiserver/schema/defaulting", "algorithm.go", ["Default"], OPENAPI + """
func Default(x interface{}, s *structuralschema.Structural) {
	in := recordText(x)
	recordedDefault(x, s)
	record(map[string]interface{}{"op": "default", "schema": recordSchema(s), "in": in, "out": recordText(x)})
}
"""),
    ("pkg/apiserver/schema/defaulting", "prunenulls.go", ["PruneNonNullableNullsWithoutDefaults"], """
func PruneNonNullableNullsWithoutDefaults(x interface{}, s *structuralschema.Structural) {
	in := recordText(x)
	recordedPruneNonNullableNullsWithoutDefaults(x, s)
	record(map[string]interface{}{"op": "nulls", "schema": recordSchema(s), "in": in, "out": recordText(x)})
}
"""),
    ("pkg/apiserver/schema/objectmeta", "algorithm.go", ["CoerceWithOptions"], OPENAPI + """
func CoerceWithOptions(pth *field.Path, obj interface{}, s *structuralschema.Structural, isResourceRoot bool, opts CoerceOptions) (*field.Error, []string) {
	in := recordText(obj)
	err, unknown := recordedCoerceWithOptions(pth, obj, s, isResourceRoot, opts)
	text := ""
	if err != nil {
		text = err.Error()
	}
	record(map[string]interface{}{"op": "coerce", "schema": recordSchema(s), "root": isResourceRoot, "drops": opts.DropInvalidFields,
		"tracked": opts.ReturnUnknownFieldPaths, "in": in, "out": recordText(obj), "error": text, "unknown": unknown})
	return err, unknown
}
"""),
    ("pkg/apiserver/schema/objectmeta", "validation.go", ["Validate"], ERRORS + """
func Validate(pth *field.Path, obj interface{}, s *structuralschema.Structural, isResourceRoot bool) field.ErrorList {
	errs := recordedValidate(pth, obj, s, isResourceRoot)
	if pth == nil {
		record(map[string]interface{}{"op": "embedded", "schema": recordSchema(s), "root": isResourceRoot, "in": obj, "errors": recordErrors(errs)})
	}
	return errs
}
"""),
    ("pkg/apiserver/schema/listtype", "validation.go", ["ValidateListSetsAndMaps"], ERRORS + """
func ValidateListSetsAndMaps(fldPath *field.Path, s *schema.Structural, obj map[string]interface{}) field.ErrorList {
	errs := recordedValidateListSetsAndMaps(fldPath, s, obj)
	if s != nil {
		record(map[string]interface{}{"op": "lists", "path": recordPath(fldPath), "schema": s.ToKubeOpenAPI(), "in": obj, "errors": recordErrors(errs)})
	}
	return errs
}
"""),
    ("pkg/apiserver/validation", "validation.go", ["ValidateCustomResource", "ValidateCustomResourceUpdate"], ERRORS + """
func ValidateCustomResource(fldPath *field.Path, customResource interface{}, validator SchemaCreateValidator, options ...ValidationOption) field.ErrorList {
	errs := recordedValidateCustomResource(fldPath, customResource, validator, options...)
	if r, ok := validator.(*RatchetingSchemaValidator); ok {
		record(map[string]interface{}{"op": "values", "path": recordPath(fldPath), "schema": r.schema, "in": customResource, "errors": recordErrors(errs)})
	}
	return errs
}

func ValidateCustomResourceUpdate(fldPath *field.Path, customResource, old interface{}, validator SchemaValidator, options ...ValidationOption) field.ErrorList {
	errs := recordedValidateCustomResourceUpdate(fldPath, customResource, old, validator, options...)
	if r, ok := validator.(*RatchetingSchemaValidator); ok {
		record(map[string]interface{}{"op": "values", "path": recordPath(fldPath), "schema": r.schema, "in": customResource, "old": old,
			"ratchets": NewValidationOptions(options...).Ratcheting, "errors": recordErrors(errs)})
	}
	return errs
}
"""),
    ("pkg/apis/apiextensions/validation", "validation.go",
     ["ValidateCustomResourceDefinition", "ValidateCustomResourceDefinitionUpdate"], ERRORS + """
// recordDefinition is the version 1 of a definition, if it says all that the internal one says.
func recordDefinition(crd *apiextensions.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{}
	back := &apiextensions.CustomResourceDefinition{}
	if apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd.DeepCopy(), out, nil) != nil {
		return nil
	}
	if apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(out.DeepCopy(), back, nil) != nil {
		return nil
	}
	want := crd.DeepCopy()
	if len(want.Spec.Versions) > 0 && want.Spec.Version == "" {
		want.Spec.Version = want.Spec.Versions[0].Name
	}
	if !apiequality.Semantic.DeepEqual(want, back) {
		return nil
	}
	return out
}

func ValidateCustomResourceDefinition(ctx context.Context, obj *apiextensions.CustomResourceDefinition) field.ErrorList {
	errs := recordedValidateCustomResourceDefinition(ctx, obj)
	if crd := recordDefinition(obj); crd != nil {
		record(map[string]interface{}{"op": "crd", "in": crd, "errors": recordErrors(errs)})
	}
	return errs
}

func ValidateCustomResourceDefinitionUpdate(ctx context.Context, obj, oldObj *apiextensions.CustomResourceDefinition) field.ErrorList {
	errs := recordedValidateCustomResourceDefinitionUpdate(ctx, obj, oldObj)
	crd, old := recordDefinition(obj), recordDefinition(oldObj)
	if crd != nil && old != nil {
		record(map[string]interface{}{"op": "crd", "in": crd, "old": old, "errors": recordErrors(errs)})
	}
	return errs
}
"""),
]


def folder():
    out = subprocess.run(["go", "list", "-m", "-f", "{{.Dir}}", MODULE], cwd=PEERS, check=True, capture_output=True, text=True)
    return pathlib.Path(out.stdout.strip())


def wrapped(source, names):
    """The source with those functions, and calls of them in the file, under another name."""
    for name in names:
        source = re.sub(rf"(?<![.\w\"]){name}\(", f"recorded{name}(", source)
    return source


def patch(module):
    """Wraps the functions in a copy of the module."""
    packages = set()
    for package, file, names, wrapper in WRAPS:
        path = module / package / file
        source = path.read_text()
        path.write_text(wrapped(source, names) + wrapper)
        if package not in packages:
            (module / package / "zz_record.go").write_text(WRITER % re.search(r"^package (\w+)", source, re.M).group(1))
            packages.add(package)
    return sorted(packages)


def main():
    with tempfile.TemporaryDirectory() as temp:
        into = pathlib.Path(temp)
        shutil.copytree(folder(), into / "module", copy_function=shutil.copyfile)
        subprocess.run(["chmod", "-R", "u+w", into / "module"], check=True)
        packages = patch(into / "module")
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(PEERS / name, into / name)
        subprocess.run(["go", "mod", "edit", f"-replace={MODULE}={into / 'module'}", into / "go.mod"], check=True)
        (into / "lines").touch()
        environment = dict(os.environ, RECORD_TO=str(into / "lines"))
        subprocess.run(["go", "test", f"-modfile={into / 'go.mod'}", "-mod=mod", "-count=1", "-p=1", "-vet=off"] + sys.argv[1:] +
                       [f"{MODULE}/{package}" for package in packages],
                       cwd=PEERS, env=environment, stdout=sys.stderr)
        lines = (into / "lines").read_text().splitlines()
    for line in sorted(set(compact(line) for line in lines)):
        print(line)


def compact(line):
    row = json.loads(line)
    for key in ("errors", "unknown", "messages"):
        if row.get(key):
            row[key] = sorted(row[key])
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    main()
