package clientgo

import (
	"encoding/json"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

func TestForms_metadataClient(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	clients, client := world.Clientset(t, world.Config(t)), world.Got(metadata.NewForConfig(world.Config(t)))(t).Resource(revisionsResource).Namespace(ns)
	made := world.Got(clients.AppsV1().ControllerRevisions(ns).Create(ctx, revision("light"), metav1.CreateOptions{}))(t)
	events := world.Got(client.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion}))(t)
	read := world.Got(client.Get(ctx, "light", metav1.GetOptions{}))(t)
	same(t, read.ObjectMeta, made.ObjectMeta)
	patched := world.Got(client.Patch(ctx, "light", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))(t)
	if list := world.Got(client.List(ctx, metav1.ListOptions{LabelSelector: "a=b"}))(t); len(list.Items) != 1 || list.Items[0].ResourceVersion != patched.ResourceVersion {
		t.Errorf("%+v", list)
	}
	world.Check(t, client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}))
	for _, expected := range []watch.EventType{watch.Modified, watch.Deleted} {
		event := <-events.ResultChan()
		if object, isPartial := event.Object.(*metav1.PartialObjectMetadata); event.Type != expected || !isPartial || object.Labels["a"] != "b" {
			t.Errorf("%s: %+v", event.Type, event.Object)
		}
	}
}

// printed asks for a Table as kubectl does.
func printed(t *testing.T, path, include string) metav1.Table {
	t.Helper()
	request := world.Clientset(t, world.Config(t)).RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	if include != "" {
		request.Param("includeObject", include)
	}
	var table metav1.Table
	world.Check(t, json.Unmarshal(world.Got(request.DoRaw(world.Context(t)))(t), &table))
	return table
}

func TestForms_tables(t *testing.T) {
	t.Parallel()
	ns, clients := world.Namespace(t), world.Clientset(t, world.Config(t))
	crowd(t, clients, ns, 3)
	path := "/apis/apps/v1/namespaces/" + ns + "/controllerrevisions"
	for include, kind := range map[string]string{"": "PartialObjectMetadata", "Metadata": "PartialObjectMetadata", "Object": "ControllerRevision", "None": ""} {
		table := printed(t, path, include)
		if len(table.Rows) != 3 || len(table.ColumnDefinitions) != 4 || table.Kind != "Table" {
			t.Fatalf("%+v", table)
		}
		for _, row := range table.Rows {
			var about struct{ Kind string }
			if row.Object.Raw != nil {
				world.Check(t, json.Unmarshal(row.Object.Raw, &about))
			}
			if len(row.Cells) != len(table.ColumnDefinitions) || about.Kind != kind {
				t.Errorf("includeObject=%s: %s with %v", include, about.Kind, row.Cells)
			}
		}
	}
	if one := printed(t, path+"/crowd-001", ""); len(one.Rows) != 1 || one.Rows[0].Cells[0] != "crowd-001" {
		t.Errorf("%+v", one)
	}
}

// dynamic and typed clients, through JSON and protobuf, see the same object.
func TestForms_dataIsVerbatimInEach(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	const data = `{"z":1,"a":{"big":123456789012345678,"float":1.50,"null":null,"list":[]},"text":"a\u0001b"}`
	object := revision("verbatim")
	object.Data = runtime.RawExtension{Raw: []byte(data)}
	for name, config := range map[string]*rest.Config{"json": world.Config(t), "protobuf": world.Protobuf(t)} {
		client := world.Clientset(t, config).AppsV1().ControllerRevisions(ns)
		object.Name = name
		made := world.Got(client.Create(ctx, object, metav1.CreateOptions{}))(t)
		made.Labels = map[string]string{"touched": "yes"}
		updated := world.Got(client.Update(ctx, made, metav1.UpdateOptions{}))(t)
		if string(updated.Data.Raw) != data {
			t.Errorf("%s: %s", name, updated.Data.Raw)
		}
	}
}

func TestForms_doorsShowTheSameObject(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	made := world.Got(world.Clientset(t, world.Config(t)).AppsV1().ControllerRevisions(ns).Create(ctx, revision("seen"), metav1.CreateOptions{}))(t)
	for _, version := range []string{"v1", "v1beta1"} {
		resource := schema.GroupVersionResource{Group: "annals.dev", Version: version, Resource: "controllerrevisions"}
		client := world.Got(metadata.NewForConfig(world.Config(t)))(t).Resource(resource).Namespace(ns)
		read := world.Got(client.Get(ctx, "seen", metav1.GetOptions{}))(t)
		if read.UID != made.UID || read.ResourceVersion != made.ResourceVersion {
			t.Errorf("%s: %+v", version, read.ObjectMeta)
		}
	}
}
