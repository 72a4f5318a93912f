package clientgo

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/spec3"
	openapiproto "k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func openapiText(t *testing.T, path, accept string) []byte {
	t.Helper()
	client := world.Clientset(t, world.Config(t)).Discovery().RESTClient()
	return world.Got(client.Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(world.Context(t)))(t)
}

func v3Paths(t *testing.T) []string {
	t.Helper()
	paths := world.Got(world.Clientset(t, world.Config(t)).Discovery().OpenAPIV3().Paths())(t)
	return slices.Sorted(maps.Keys(paths))
}

// v3Schemas are all of /openapi/v3.
func v3Schemas(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	all := map[string]*spec.Schema{}
	for _, path := range v3Paths(t) {
		var document spec3.OpenAPI
		world.Check(t, json.Unmarshal(openapiText(t, "/openapi/v3/"+path, "application/json"), &document))
		if document.Components != nil {
			maps.Copy(all, document.Components.Schemas)
		}
	}
	return all
}

func TestOpenAPI_gnosticReadsV2(t *testing.T) {
	t.Parallel()
	fromJSON := world.Got(openapi_v2.ParseDocument(openapiText(t, "/openapi/v2", "application/json")))(t)
	fromProtobuf := &openapi_v2.Document{}
	world.Check(t, proto.Unmarshal(openapiText(t, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"), fromProtobuf))
	if a, b := len(fromJSON.Definitions.AdditionalProperties), len(fromProtobuf.Definitions.AdditionalProperties); a == 0 || a != b {
		t.Errorf("%d definitions in JSON, %d in protobuf", a, b)
	}
	models := world.Got(openapiproto.NewOpenAPIData(fromProtobuf))(t)
	if model := models.LookupModel("io.k8s.api.apps.v1.ControllerRevision"); model == nil {
		t.Error("no model of controllerrevisions")
	}
}

func TestOpenAPI_gnosticReadsV3(t *testing.T) {
	t.Parallel()
	for _, path := range v3Paths(t) {
		document := world.Got(openapi_v3.ParseDocument(openapiText(t, "/openapi/v3/"+path, "application/json")))(t)
		if len(document.Paths.Path) == 0 && path != "version" {
			t.Errorf("%s: no paths", path)
		}
	}
}

func TestOpenAPI_rootSpecsAreFoundByGroupVersion(t *testing.T) {
	t.Parallel()
	root := openapi3.NewRoot(world.Clientset(t, world.Config(t)).Discovery().OpenAPIV3())
	versions := world.Got(root.GroupVersions())(t)
	for _, version := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "annals.dev", Version: "v1"}} {
		if !slices.Contains(versions, version) {
			t.Errorf("%s is not in %v", version, versions)
		}
		world.Got(root.GVSpec(version))(t)
	}
}

// Every kind that discovery names has a schema, in both documents, that says so.
func TestOpenAPI_everyKindHasASchema(t *testing.T) {
	t.Parallel()
	schemas, document := v3Schemas(t), world.Got(openapi_v2.ParseDocument(openapiText(t, "/openapi/v2", "application/json")))(t)
	in3, in2 := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}
	for _, found := range schemas {
		for _, kind := range kindsOf(t, found.Extensions) {
			in3[kind] = true
		}
	}
	parser := world.Got(managedfields.NewGVKParser(world.Got(openapiproto.NewOpenAPIData(document))(t), false))(t)
	for _, list := range resourceLists(t) {
		for _, resource := range list.APIResources {
			kind := schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind)
			if resource.Group != "" || resource.Version != "" {
				kind = schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
			}
			if in2[kind] = parser.Type(kind) != nil; !in2[kind] || !in3[kind] {
				t.Errorf("%s: v2 %v, v3 %v", kind, in2[kind], in3[kind])
			}
		}
	}
}

func resourceLists(t *testing.T) []*metav1.APIResourceList {
	t.Helper()
	_, lists, err := world.Clientset(t, world.Config(t)).Discovery().ServerGroupsAndResources()
	world.Check(t, err)
	return lists
}

func kindsOf(t *testing.T, extensions spec.Extensions) []schema.GroupVersionKind {
	t.Helper()
	var kinds []schema.GroupVersionKind
	if value, isThere := extensions["x-kubernetes-group-version-kind"]; isThere {
		world.Check(t, json.Unmarshal([]byte(text(t, value)), &kinds))
	}
	return kinds
}

// What a server of Kubernetes' own makes of schemas to merge by: types in which each object that annals answers must fit, with
// nothing unknown.
func TestOpenAPI_objectsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	fromV3 := world.Got(managedfields.NewTypeConverter(v3Schemas(t), false))(t)
	var v2 spec.Swagger
	world.Check(t, json.Unmarshal(openapiText(t, "/openapi/v2", "application/json"), &v2))
	definitions := map[string]*spec.Schema{}
	for name, definition := range v2.Definitions {
		definitions[name] = &definition
	}
	fromV2 := world.Got(managedfields.NewTypeConverter(definitions, false))(t)

	clients := world.Clientset(t, world.Config(t))
	object := revision("whole")
	object.Labels, object.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	object.Finalizers = []string{"clients.test/hold"}
	object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Gadget", Name: "g", UID: "u"}}
	world.Got(clients.AppsV1().ControllerRevisions(ns).Create(ctx, object, metav1.CreateOptions{}))(t)
	client := world.Got(dynamic.NewForConfig(world.Config(t)))(t)
	for _, list := range resourceLists(t) {
		version := world.Got(schema.ParseGroupVersion(list.GroupVersion))(t)
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			found := world.Got(client.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{}))(t)
			for _, item := range found.Items {
				if _, err := fromV3.ObjectToTyped(&item); err != nil {
					t.Errorf("%s in v3: %v", resource.Name, err)
				}
				if _, err := fromV2.ObjectToTyped(&item); err != nil {
					t.Errorf("%s in v2: %v", resource.Name, err)
				}
			}
		}
	}
}
