// Writes tests/unit/marshalled.txt: objects of the kinds that annals shares with Kubernetes, each as k8s.io/api writes it in JSON and in
// protobuf. A line is apiVersion, kind, JSON, and the message in base64. tests/unit/test_protobuf_write.c makes the one of the other.
//
//	go run ./marshalled > ../../unit/marshalled.txt
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var kinds = []schema.GroupVersionKind{
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview"},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"},
	{Group: "authorization.k8s.io", Version: "v1", Kind: "LocalSubjectAccessReview"},
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"},
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectRulesReview"},
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"},
	{Group: "autoscaling", Version: "v1", Kind: "Scale"},
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Event"},
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "Node"},
	{Version: "v1", Kind: "PersistentVolume"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "PodTemplate"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "ConfigMapList"},
	{Version: "v1", Kind: "Status"},
	{Version: "v1", Kind: "APIGroup"},
	{Version: "v1", Kind: "APIGroupList"},
	{Version: "v1", Kind: "APIResourceList"},
	{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"},
	{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadataList"},
	{Group: "meta.k8s.io", Version: "v1beta1", Kind: "PartialObjectMetadataList"},
	{Group: "apidiscovery.k8s.io", Version: "v2", Kind: "APIGroupDiscoveryList"},
}

// How much of an object is set: nothing; every pointer, list and map, to what is empty; or all of it.
type filling int

const (
	nothing filling = iota
	empty
	all
)

// Values differ from each other, so that one in another's place is seen.
type filler struct {
	filling filling
	n       int
	schemas int // within each other
}

func (f *filler) next() int { f.n++; return f.n }

// What has a form of its own, in JSON and in protobuf. False: a struct like others.
func (f *filler) fillSpecial(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		if f.filling == all {
			*p = metav1.Unix(1600000000+int64(f.next()), 0)
		}
	case *metav1.MicroTime:
		if f.filling == all {
			*p = metav1.MicroTime{Time: time.Unix(1600000000+int64(f.next()), 123456000)}
		}
	case *metav1.Duration:
		p.Duration = 0
	case *resource.Quantity:
		*p = resource.MustParse("0")
		if f.filling == all {
			*p = resource.MustParse(fmt.Sprintf("%dMi", f.next()))
		}
	case *intstr.IntOrString:
		if f.filling == all {
			*p = intstr.FromInt32(int32(f.next()))
			if f.n%2 == 0 {
				*p = intstr.FromString(fmt.Sprintf("p%d", f.n))
			}
		}
	case *runtime.RawExtension:
		if f.filling == all {
			p.Raw = []byte(fmt.Sprintf(`{"n":%d.0,"s":"\u00e9"}`, f.next()))
		}
	case *apiextensionsv1.JSON:
		if f.filling == all {
			p.Raw = []byte(fmt.Sprintf(`{"n":%d.0,"s":"\u00e9"}`, f.next()))
		}
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		f.fillChoice(v, f.filling == all && f.next()%3 != 0)
		p.Allows = p.Schema != nil || f.n%2 == 0
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		f.fillChoice(v, f.filling == empty || f.next()%2 != 0)
		if p.Schema == nil {
			f.fill(reflect.ValueOf(&p.JSONSchemas).Elem())
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		f.fillChoice(v, f.filling == empty || f.next()%2 != 0)
		if p.Schema == nil {
			f.fill(reflect.ValueOf(&p.Property).Elem())
		}
	case *metav1.FieldsV1:
		p.Raw = []byte(fmt.Sprintf(`{"f:n%d":{}}`, f.next()))
	default:
		return false
	}
	return true
}

// One of several: a schema, or what is set instead.
func (f *filler) fillChoice(v reflect.Value, isSchema bool) {
	if isSchema {
		f.fill(v.FieldByName("Schema"))
	}
}

const schemasMax = 2 // within each other: a schema has a dozen places for more

func (f *filler) fill(v reflect.Value) {
	if v.Type() == reflect.TypeOf(apiextensionsv1.JSONSchemaProps{}) {
		if f.schemas == schemasMax {
			return
		}
		f.schemas++
		defer func() { f.schemas-- }()
	}
	if v.Type() == reflect.TypeOf(metav1.TypeMeta{}) || v.Type().Name() == "ShardInfo" {
		return
	}
	if v.Kind() == reflect.Struct && f.fillSpecial(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if v.Type().Field(i).Type != reflect.TypeOf(&metav1.ShardInfo{}) {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		// JSON cannot tell a pointer to no time, or to null, from none.
		_, isTime := v.Interface().(*metav1.Time)
		_, isMicroTime := v.Interface().(*metav1.MicroTime)
		_, isJSON := v.Interface().(*apiextensionsv1.JSON)
		if f.filling == all || (f.filling == empty && !isTime && !isMicroTime && !isJSON) {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Map:
		f.fillMap(v)
	case reflect.String:
		if f.filling == all {
			v.SetString(fmt.Sprintf("t%d", f.next()))
			if f.n%16 == 0 {
				v.SetString(fmt.Sprintf("é<%d", f.n))
			}
		}
	case reflect.Bool:
		v.SetBool(f.filling == all)
	case reflect.Float64:
		if f.filling == all {
			v.SetFloat([]float64{0.1, -2.5, 1e21, 1e-7, 3}[f.next()%5])
		}
	case reflect.Int32, reflect.Int64:
		if f.filling == all {
			n := int64(f.next())
			if n%3 == 0 {
				n = -n * 1000
			}
			v.SetInt(n)
		}
	default:
		log.Fatalf("nothing is known of %v", v.Type())
	}
}

func (f *filler) fillSlice(v reflect.Value) {
	n := map[filling]int{nothing: 0, empty: 1, all: 1}[f.filling]
	if f.filling == all && v.Type().Elem().Kind() != reflect.Struct {
		n = 2
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if f.filling == all {
			v.SetBytes([]byte{0xff, 0, byte(f.next())})
		}
		return
	}
	for i := 0; i < n; i++ {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		f.fill(v.Index(i))
	}
}

func (f *filler) fillMap(v reflect.Value) {
	if f.filling == nothing {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, key := range []string{"b", "é", "a", "B"} {
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		if value.Kind() == reflect.Slice && value.IsNil() {
			value.Set(reflect.MakeSlice(value.Type(), 0, 0))
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, kind := range kinds {
		for _, filling := range []filling{nothing, empty, all} {
			object, err := newObject(kind)
			if err != nil {
				log.Fatal(err)
			}
			f := filler{filling: filling}
			f.fill(reflect.ValueOf(object).Elem())
			object.GetObjectKind().SetGroupVersionKind(kind)
			text, err := json.Marshal(object)
			if err != nil {
				log.Fatal(err)
			}
			message, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
			if err != nil {
				log.Fatal(err)
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", kind.GroupVersion(), kind.Kind, text, base64.StdEncoding.EncodeToString(message))
		}
	}
}

// Discovery's aggregated form is in no scheme of clients, metadata alone only in that of the metadata client.
func newObject(kind schema.GroupVersionKind) (runtime.Object, error) {
	switch kind.Group {
	case "apiextensions.k8s.io":
		return &apiextensionsv1.CustomResourceDefinition{}, nil
	case "apidiscovery.k8s.io":
		return &apidiscoveryv2.APIGroupDiscoveryList{}, nil
	case "meta.k8s.io":
		if kind.Kind == "PartialObjectMetadata" {
			return &metav1.PartialObjectMetadata{}, nil
		}
		if kind.Version == "v1beta1" {
			return &metav1beta1.PartialObjectMetadataList{}, nil
		}
		return &metav1.PartialObjectMetadataList{}, nil
	}
	switch kind.Kind {
	case "APIGroup":
		return &metav1.APIGroup{}, nil
	case "APIGroupList":
		return &metav1.APIGroupList{}, nil
	case "APIResourceList":
		return &metav1.APIResourceList{}, nil
	case "Status":
		return &metav1.Status{}, nil
	}
	return scheme.Scheme.New(kind)
}
