// Random schemas and objects, and what Kubernetes' code makes of them: one JSON object a line, as tests/cluster/schemas/record.py prints
// them. build/tests/unit/test_schema_vectors compares annals' answers.
//
//	go run ./schemas [SEED [COUNT]] > lines
package main

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
	"sort"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type object = map[string]interface{}

var r *rand.Rand
var out *bufio.Writer

func chance(percent int) bool { return r.Intn(100) < percent }

func pick(texts ...string) string { return texts[r.Intn(len(texts))] }

func names() string { return pick("a", "b", "c", "d", "e") }

func number() interface{} {
	return []interface{}{0, 1, 2, 3, 10, -1, -5, 1.5, 0.5, 2.0, 1e3, 1e21, 123456789.5, -0.25, 2147483648, 9007199254740993}[r.Intn(16)]
}

// Texts that some format takes, or nearly.
var texts = []string{"", "a", "b", "ab", "äöü", "A-b", "a.b", "2020-01-01", "2020-13-01", "2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00",
	"2020-01-01T24:00:00Z", "1h", "90", "1 day", "PT1H", "-5s", "1.5h3m", "3 fortnights", "10.0.0.1", "010.0.0.1", "::1", "::ffff:1.2.3.4",
	"10.0.0.0/8", "::/129", "10.0.0.0/33", "aGk=", "aGk", "====", "00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11",
	"550e8400-e29b-41d4-a716-446655440000", "550e8400e29b31d4a716446655440000", "0321751043", "978-0321751041", "4111 1111 1111 1111",
	"123-45-6789", "#fff", "#ffff", "rgb(1,2,3)", "rgb(1,2,256)", "a@b.c", "A <a@b>", "\"x y\"@b", "a@", "a@[1.2.3.4]", "x@y (c)",
	"http://a/b", "/a", "a/b", "mailto:x", "http://[::1]:80/", "http://a b/", "http://a:x/", "*", "%zz", "http://a%20b/", "example.com", "a-",
	"my-host", "my-host.com", "507f1f77bcf86cd799439011", "a..b", "xn--a.com"}

var formats = []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn",
	"isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "date-time", "datetime",
	"k8s-short-name", "k8s-long-name", "unknown", "int32"}

func value(depth int) interface{} {
	switch n := r.Intn(12); {
	case n == 0:
		return nil
	case n == 1:
		return chance(50)
	case n < 5:
		return number()
	case n < 7 || depth <= 0:
		return texts[r.Intn(len(texts))]
	case n < 9:
		list := []interface{}{}
		for i := r.Intn(4); i > 0; i-- {
			list = append(list, value(depth-1))
		}
		return list
	default:
		o := object{}
		for i := r.Intn(4); i > 0; i-- {
			o[names()] = value(depth - 1)
		}
		return o
	}
}

// A value that the schema might like.
func fitting(s object, depth int) interface{} {
	if chance(12) {
		return value(2)
	}
	if enum, ok := s["enum"].([]interface{}); ok && chance(60) {
		return enum[r.Intn(len(enum))]
	}
	kind, _ := s["type"].(string)
	switch kind {
	case "string":
		return texts[r.Intn(len(texts))]
	case "integer":
		return []interface{}{0, 1, 2, 7, -1, 2.0, 4294967296}[r.Intn(7)]
	case "number":
		return number()
	case "boolean":
		return chance(50)
	case "array":
		list := []interface{}{}
		items, _ := s["items"].(object)
		for i := r.Intn(5); i > 0; i-- {
			if len(list) > 0 && chance(20) {
				list = append(list, list[0])
			} else {
				list = append(list, fitting(items, depth-1))
			}
		}
		return list
	case "object":
		o := object{}
		properties, _ := s["properties"].(object)
		for name, property := range properties {
			if chance(70) {
				o[name] = fitting(property.(object), depth-1)
			}
		}
		if additional, ok := s["additionalProperties"].(object); ok {
			for i := r.Intn(3); i > 0; i-- {
				o[names()] = fitting(additional, depth-1)
			}
		}
		if s["x-kubernetes-embedded-resource"] == true {
			o["apiVersion"] = pick("v1", "a/b", "a/b/c", "")
			o["kind"] = pick("Pod", "pod", "0", "")
			o["metadata"] = object{"name": pick("a", "A b", "a/b", ""), "labels": object{"a": pick("b", "c d")}}
			if chance(20) {
				o["metadata"].(object)[pick("unknown", "name", "generation")] = value(1)
			}
			if chance(20) {
				delete(o, pick("apiVersion", "kind", "metadata"))
			}
		}
		if chance(15) {
			o[names()] = value(1)
		}
		return o
	}
	return value(2)
}

func checks(s object, kind string, depth int) {
	switch kind {
	case "string":
		if chance(20) {
			s["maxLength"] = r.Intn(4)
		}
		if chance(10) {
			s["minLength"] = r.Intn(3)
		}
		if chance(20) {
			s["pattern"] = pick("^a", "b$", "[0-9]+", "^(a|b)*$", "\\p{L}", "a{2,}")
		}
		if chance(35) {
			s["format"] = formats[r.Intn(len(formats))]
		}
	case "integer", "number":
		if chance(20) {
			s["maximum"] = number()
			s["exclusiveMaximum"] = chance(40)
		}
		if chance(20) {
			s["minimum"] = number()
			s["exclusiveMinimum"] = chance(40)
		}
		if chance(20) {
			s["multipleOf"] = []interface{}{1, 2, 0.5, 0.1, 3, 0, -1}[r.Intn(7)]
		}
		if chance(20) {
			s["format"] = pick("int32", "int64", "float", "double", "date")
		}
	case "array":
		if chance(20) {
			s["maxItems"] = r.Intn(4)
		}
		if chance(20) {
			s["minItems"] = r.Intn(3)
		}
	case "object":
		if chance(15) {
			s["maxProperties"] = r.Intn(4)
		}
		if chance(15) {
			s["minProperties"] = r.Intn(3)
		}
		if chance(25) {
			s["required"] = []interface{}{names(), names()}
		}
	}
	if chance(10) {
		s["enum"] = []interface{}{fitting(s, 1), value(1)}
	}
	if depth > 0 && chance(20) {
		for _, of := range []string{"allOf", "anyOf", "oneOf"} {
			if chance(50) {
				list := []interface{}{}
				for i := r.Intn(3) + 1; i > 0; i-- {
					list = append(list, nested(s, kind, depth-1))
				}
				s[of] = list
			}
		}
		if chance(30) {
			s["not"] = nested(s, kind, depth-1)
		}
	}
}

func nested(s object, kind string, depth int) object {
	n := object{}
	checks(n, kind, depth-1)
	if properties, ok := s["properties"].(object); ok && chance(60) {
		below := object{}
		for name, property := range properties {
			p := object{}
			k, _ := property.(object)["type"].(string)
			checks(p, k, 0)
			below[name] = p
		}
		n["properties"] = below
	}
	return n
}

func schema(depth int) object {
	kind := pick("string", "integer", "number", "boolean", "array", "object", "object", "object")
	if depth <= 0 {
		kind = pick("string", "integer", "number", "boolean")
	}
	s := object{"type": kind}
	if chance(15) {
		s["nullable"] = true
	}
	switch kind {
	case "array":
		s["items"] = schema(depth - 1)
		if chance(40) {
			s["x-kubernetes-list-type"] = pick("atomic", "set")
		}
		if chance(30) {
			item := object{"type": "object", "properties": object{"a": object{"type": "string"}, "b": schema(depth - 2)}, "required": []interface{}{"a"}}
			s["items"] = item
			s["x-kubernetes-list-type"] = "map"
			s["x-kubernetes-list-map-keys"] = []interface{}{"a"}
			if chance(30) {
				s["x-kubernetes-list-map-keys"] = []interface{}{"a", "b"}
			}
		}
	case "object":
		switch n := r.Intn(10); {
		case n < 6:
			properties := object{}
			for i := r.Intn(4) + 1; i > 0; i-- {
				properties[names()] = schema(depth - 1)
			}
			s["properties"] = properties
			if chance(20) {
				s["x-kubernetes-preserve-unknown-fields"] = true
			}
			if chance(12) {
				s["x-kubernetes-embedded-resource"] = true
			}
		case n < 8:
			s["additionalProperties"] = schema(depth - 1)
		case n < 9:
			s["additionalProperties"] = chance(80)
		default:
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
	case "integer":
		if chance(20) {
			delete(s, "type")
			s["x-kubernetes-int-or-string"] = true
		}
	}
	checks(s, kind, depth)
	if chance(25) {
		s["default"] = fitting(s, 1)
	}
	return s
}

func text(v interface{}) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// As the server reads it: integers stay integers.
func parse(b []byte) interface{} {
	var v interface{}
	if err := utiljson.Unmarshal(b, &v); err != nil {
		panic(err)
	}
	return v
}

func sorted(errs field.ErrorList) []string {
	list := []string{}
	for _, e := range errs {
		list = append(list, e.Error())
	}
	sort.Strings(list)
	return list
}

func record(row object) {
	out.Write(append(text(row), '\n'))
}

func replay(s object) {
	raw := text(s)
	v1 := &apiextensionsv1.JSONSchemaProps{}
	internal := &apiextensions.JSONSchemaProps{}
	if json.Unmarshal(raw, v1) != nil || apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil) != nil {
		return
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return
	}
	for i := 0; i < 4; i++ {
		in, ok := fitting(s, 4).(object)
		if !ok {
			in = object{"a": value(2)}
		}
		b, old := text(in), text(fitting(s, 4))
		if chance(50) {
			other := parse(b).(object)
			if len(other) > 0 {
				other[names()] = value(1)
			}
			old = text(other)
		}
		x := parse(b)
		unknown := pruning.PruneWithOptions(x, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		record(object{"op": "prune", "schema": raw, "root": true, "in": json.RawMessage(b), "out": text(x), "tracked": true, "unknown": unknown})
		x = parse(b)
		defaulting.PruneNonNullableNullsWithoutDefaults(x, structural)
		record(object{"op": "nulls", "schema": raw, "in": json.RawMessage(b), "out": text(x)})
		x = parse(b)
		defaulting.Default(x, structural)
		record(object{"op": "default", "schema": raw, "in": json.RawMessage(b), "out": text(x)})
		x = parse(b)
		ferr, unknown := objectmeta.CoerceWithOptions(nil, x, structural, false, objectmeta.CoerceOptions{DropInvalidFields: true, ReturnUnknownFieldPaths: true})
		if ferr == nil {
			record(object{"op": "coerce", "schema": raw, "root": false, "drops": true, "tracked": true, "in": json.RawMessage(b), "out": text(x), "unknown": unknown})
		}
		x = parse(b)
		record(object{"op": "embedded", "schema": raw, "root": false, "in": json.RawMessage(b), "errors": sorted(objectmeta.Validate(nil, x, structural, false))})
		record(object{"op": "lists", "path": "", "schema": raw, "in": json.RawMessage(b), "errors": sorted(listtype.ValidateListSetsAndMaps(nil, structural, x.(object)))})
		record(object{"op": "values", "path": "", "schema": raw, "in": json.RawMessage(b), "errors": sorted(validation.ValidateCustomResource(nil, x, validator))})
		record(object{"op": "values", "path": "", "schema": raw, "in": json.RawMessage(b), "old": json.RawMessage(old), "ratchets": true,
			"errors": sorted(validation.ValidateCustomResourceUpdate(nil, x, parse(old), validator, validation.WithRatcheting(nil)))})
	}
}

func main() {
	seed, count := int64(1), 1000
	if len(os.Args) > 1 {
		seed, _ = strconv.ParseInt(os.Args[1], 10, 64)
	}
	if len(os.Args) > 2 {
		count, _ = strconv.Atoi(os.Args[2])
	}
	r = rand.New(rand.NewSource(seed))
	out = bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < count; i++ {
		s := schema(3)
		s["type"] = "object"
		if s["properties"] == nil {
			s["properties"] = object{"a": schema(2), "b": schema(2)}
			delete(s, "additionalProperties")
			delete(s, "items")
			delete(s, "x-kubernetes-list-type")
		}
		replay(s)
	}
}
