// Package clientgo holds what client-go does with annals. Every test runs by itself in a namespace of its own.
package clientgo

import (
	"context"
	"encoding/json"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// typed is what all typed clients of client-go have in common.
type typed[T, L any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

type object interface {
	metav1.Object
	runtime.Object
}

// inBothForms runs a test with bodies in JSON and in protobuf.
func inBothForms(t *testing.T, run func(t *testing.T, clients *kubernetes.Clientset, ns string)) {
	t.Parallel()
	for name, config := range map[string]*rest.Config{"json": world.Config(t), "protobuf": world.Protobuf(t)} {
		t.Run(name, func(t *testing.T) { run(t, world.Clientset(t, config), world.Namespace(t)) })
	}
}

// lifecycle takes one object through everything that happens to objects of every kind; a watch must tell all of it.
func lifecycle[T object, L runtime.Object](t *testing.T, client typed[T, L], sample T) {
	t.Helper()
	ctx, name := world.Context(t), sample.GetName()
	before := world.Got(client.List(ctx, metav1.ListOptions{}))(t)
	events := world.Got(client.Watch(ctx, metav1.ListOptions{ResourceVersion: versionOf(t, before), FieldSelector: "metadata.name=" + name}))(t)
	defer events.Stop()

	made := world.Got(client.Create(ctx, sample, metav1.CreateOptions{}))(t)
	created := made.GetCreationTimestamp()
	if made.GetUID() == "" || made.GetResourceVersion() == "" || created.IsZero() {
		t.Errorf("created without uid, version or time: %+v", made)
	}
	if _, err := client.Create(ctx, sample, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created twice: %v", err)
	}
	read := world.Got(client.Get(ctx, name, metav1.GetOptions{}))(t)
	same(t, read, made)

	read.SetLabels(map[string]string{"step": "updated", "of": name})
	updated := world.Got(client.Update(ctx, read, metav1.UpdateOptions{}))(t)
	if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a stale update: %v", err)
	}
	for _, patch := range []struct {
		kind types.PatchType
		text string
	}{
		{types.MergePatchType, `{"metadata":{"annotations":{"merge":"yes"}}}`},
		{types.StrategicMergePatchType, `{"metadata":{"annotations":{"strategic":"yes"}}}`},
		{types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations/json","value":"yes"}]`},
	} {
		updated = world.Got(client.Patch(ctx, name, patch.kind, []byte(patch.text), metav1.PatchOptions{}))(t)
	}
	if got := updated.GetAnnotations(); got["merge"] != "yes" || got["strategic"] != "yes" || got["json"] != "yes" {
		t.Errorf("annotations after three patches: %v", got)
	}
	same(t, world.Got(client.Get(ctx, name, metav1.GetOptions{}))(t), updated)
	for selector, n := range map[string]int{"step=updated,of=" + name: 1, "step notin (updated),of=" + name: 0} {
		if found := items(t, world.Got(client.List(ctx, metav1.ListOptions{LabelSelector: selector}))(t)); len(found) != n {
			t.Errorf("%d objects with %s", len(found), selector)
		}
	}
	deletion(t, client, updated)
	if _, err := client.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}

	for _, expected := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Deleted} {
		event := <-events.ResultChan()
		for event.Type == watch.Modified && event.Object.(object).GetDeletionTimestamp() != nil {
			event = <-events.ResultChan() // some kinds go in two steps
		}
		if event.Type != expected {
			t.Fatalf("%s instead of %s: %+v", event.Type, expected, event.Object)
		}
	}
}

// deletion tries what must not delete before what must.
func deletion[T object, L any](t *testing.T, client typed[T, L], present T) {
	t.Helper()
	ctx, name, foreign, now := world.Context(t), present.GetName(), types.UID("another"), int64(0)
	if err := client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &foreign}}); !apierrors.IsConflict(err) {
		t.Errorf("deleted with another uid: %v", err)
	}
	world.Check(t, client.Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	same(t, world.Got(client.Get(ctx, name, metav1.GetOptions{}))(t), present)
	uid, version := present.GetUID(), present.GetResourceVersion()
	world.Check(t, client.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}))
}

func same(t *testing.T, got, expected any) {
	t.Helper()
	if a, b := text(t, got), text(t, expected); a != b {
		t.Errorf("got      %s\nexpected %s", a, b)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	return string(world.Got(json.Marshal(value))(t))
}

func versionOf(t *testing.T, list runtime.Object) string {
	t.Helper()
	return list.(metav1.ListInterface).GetResourceVersion()
}

func items(t *testing.T, list runtime.Object) []runtime.Object {
	t.Helper()
	return world.Got(metaExtract(list))(t)
}

func revision(name string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Revision: 1,
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"image":"nginx:1","size":1e3}}`)}}
}

func TestTyped_controllerRevisions(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		lifecycle(t, clients.AppsV1().ControllerRevisions(ns), revision("web-1"))
	})
}

func TestTyped_namespaces(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]*rest.Config{"json": world.Config(t), "protobuf": world.Protobuf(t)} {
		t.Run(name, func(t *testing.T) {
			clients, ctx, ns := world.Clientset(t, config), world.Context(t), "typed-"+world.Namespace(t)
			made := world.Got(clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}))(t)
			if made.Labels[corev1.LabelMetadataName] != ns || made.Status.Phase != corev1.NamespaceActive {
				t.Errorf("labels %v, phase %s", made.Labels, made.Status.Phase)
			}
			world.Check(t, clients.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}))
			_, err := clients.AppsV1().ControllerRevisions(ns).Create(ctx, revision("late"), metav1.CreateOptions{})
			if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && !apierrors.IsNotFound(err) {
				t.Errorf("created in a namespace that is being deleted: %v", err)
			}
		})
	}
}
