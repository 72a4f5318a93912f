package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// fields are what differs from object to object.
type fields struct {
	name, group, seq, version string
	sent                      int64 // when, for watchers to compare with
}

const markSize = 19 // digits: always as many, so that objects can be copied in etcd

// mark stands before the time of sending in an object's text.
const mark = "T0="

// randomAfter stands before 12 hexadecimal digits of the data that differ in each copy, or a list would compress as no list does.
const randomAfter = "https://"

// dataText is what controllers keep in ControllerRevision.data, about n bytes of it.
func dataText(n int, tag string) string {
	var b strings.Builder
	tail := `]}]}}}}`
	b.WriteString(`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"bench"}},"spec":{"containers":[{"name":"main",` +
		`"image":"registry.example/app:` + tag + `","ports":[{"containerPort":80,"name":"web"}],"env":[`)
	for i := 0; b.Len()+len(tail) < n-30; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"SETTING_%03d","value":"%s%012x"}`, i, randomAfter, uint64(i+1)*0x9e3779b97f4a7c15>>16)
	}
	b.WriteString(tail)
	return b.String()
}

var (
	data1k      = dataText(1024, "1")
	data10k     = dataText(10240, "1")
	changedData = dataText(1024, "2")
)

// kind is what a subject stores.
type kind struct {
	groupVersion, resource, name string
	// Where data goes: a member of its own, or for kinds that have none an annotation of the same size.
	isAnnotated bool
	rest        string // members behind metadata
}

var (
	appsRevisions = kind{groupVersion: "apps/v1", resource: "controllerrevisions", name: "ControllerRevision", rest: `"revision":1,"data":`}
	revisions     = kind{groupVersion: "annals.dev/v1", resource: "controllerrevisions", name: "ControllerRevision",
		rest: `"revision":1,"data":`}
	flunders = kind{groupVersion: "wardle.example.com/v1alpha1", resource: "flunders", name: "Flunder", isAnnotated: true,
		rest: `"spec":{"reference":"x","referenceType":"Flunder"}`}
)

func (k *kind) group() string   { group, _, _ := strings.Cut(k.groupVersion, "/"); return group }
func (k *kind) version() string { _, version, _ := strings.Cut(k.groupVersion, "/"); return version }

// appendObject writes an object.
func (k *kind) appendObject(b []byte, ns string, f *fields, data string) []byte {
	b = append(b, `{"apiVersion":"`...)
	b = append(b, k.groupVersion...)
	b = append(b, `","kind":"`...)
	b = append(b, k.name...)
	b = append(b, `","metadata":{"name":"`...)
	b = append(b, f.name...)
	b = append(b, `","namespace":"`...)
	b = append(b, ns...)
	if f.version != "" {
		b = append(b, `","resourceVersion":"`...)
		b = append(b, f.version...)
	}
	b = append(b, `","labels":{"app":"bench","group":"`...)
	b = append(b, f.group...)
	b = append(b, `","seq":"`...)
	b = append(b, f.seq...)
	b = append(b, `"},"annotations":{"bench/t0":"`+mark...)
	b = strconv.AppendInt(b, f.sent+1e18, 10)
	if k.isAnnotated {
		b = append(b, `","bench/data":"`...)
		b = append(b, strings.ReplaceAll(data, `"`, `'`)...)
	}
	b = append(b, `"}},`...)
	b = append(b, k.rest...)
	if !k.isAnnotated {
		b = append(b, data...)
	}
	return append(b, '}')
}

func nameOf(i int) string  { return fmt.Sprintf("obj-%06d", i) }
func groupOf(i int) string { return fmt.Sprintf("g%06d", i/10) } // ten objects each

// member finds a string member by its name, wherever it is first: enough for answers of servers that we know.
func member(text []byte, name string) string {
	_, rest, ok := bytes.Cut(text, []byte(`"`+name+`":`))
	rest = bytes.TrimLeft(rest, " ")
	if !ok || len(rest) == 0 || rest[0] != '"' {
		return ""
	}
	value, _, _ := bytes.Cut(rest[1:], []byte(`"`))
	return string(value)
}

// vary overwrites the random digits of an object's stored text, JSON or protobuf.
func vary(text []byte, seed uint64) {
	for {
		_, rest, ok := bytes.Cut(text, []byte(randomAfter))
		if !ok || len(rest) < 12 {
			return
		}
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		for k := 0; k < 12; k++ {
			rest[k] = "0123456789abcdef"[seed>>(4*k)&15]
		}
		text = rest
	}
}
