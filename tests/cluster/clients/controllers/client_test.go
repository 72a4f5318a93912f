package controllers

import (
	"fmt"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func TestClient_fieldIndex(t *testing.T) {
	t.Parallel()
	ns := world.Namespace(t)
	m := manager(t, ns)
	world.Check(t, m.GetFieldIndexer().IndexField(world.Context(t), &appsv1.ControllerRevision{}, "number", func(object client.Object) []string {
		return []string{fmt.Sprint(object.(*appsv1.ControllerRevision).Revision)}
	}))
	ctx, c := start(t, m), direct(t)
	for i := range 6 {
		made := revision(ns, fmt.Sprintf("r-%d", i), map[string]string{"even": fmt.Sprint(i%2 == 0)})
		made.Revision = int64(i % 3)
		world.Check(t, c.Create(ctx, made))
	}
	var found appsv1.ControllerRevisionList
	world.Eventually(t, "the index has both", func() bool {
		world.Check(t, m.GetClient().List(ctx, &found, client.InNamespace(ns), client.MatchingFields{"number": "2"}))
		return len(found.Items) == 2
	})
	world.Check(t, m.GetClient().List(ctx, &found, client.InNamespace(ns), client.MatchingFields{"number": "2"}, client.MatchingLabels{"even": "true"}))
	if len(found.Items) != 1 || found.Items[0].Name != "r-2" {
		t.Errorf("%v", found.Items)
	}
	var seen appsv1.ControllerRevision
	world.Check(t, m.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: ns, Name: "r-5"}, &seen))
}

func TestClient_patches(t *testing.T) {
	t.Parallel()
	ns, ctx, c := world.Namespace(t), world.Context(t), direct(t)
	object := revision(ns, "patched", nil)
	world.Check(t, c.Create(ctx, object))
	stale := object.DeepCopy()
	for name, patch := range map[string]func(client.Object) client.Patch{
		"merge": client.MergeFrom, "strategic": func(before client.Object) client.Patch { return client.StrategicMergeFrom(before) },
		"locked": func(before client.Object) client.Patch {
			return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		},
	} {
		before := object.DeepCopy()
		metav1.SetMetaDataLabel(&object.ObjectMeta, name, "yes")
		world.Check(t, c.Patch(ctx, object, patch(before)))
	}
	if len(object.Labels) != 3 {
		t.Errorf("labels %v", object.Labels)
	}
	late := stale.DeepCopy()
	late.Labels = map[string]string{"late": "yes"}
	if err := c.Patch(ctx, late, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("an optimistic patch of a stale object: %v", err)
	}
}

func TestClient_apply(t *testing.T) {
	t.Parallel()
	ns, ctx, c := world.Namespace(t), world.Context(t), direct(t)
	wanted := applyapps.ControllerRevision("applied", ns).WithRevision(1).WithLabels(map[string]string{"app": "web"}).
		WithData(runtime.RawExtension{Raw: []byte(`{"image":"nginx:1"}`)})
	world.Check(t, c.Apply(ctx, wanted, client.FieldOwner("one")))
	if wanted.UID == nil || wanted.ResourceVersion == nil {
		t.Error("what was applied has not been read back")
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ControllerRevision",
		"metadata": map[string]any{"name": "applied", "namespace": ns}, "revision": int64(2)}}
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("two"))
	if !apierrors.IsConflict(err) {
		t.Errorf("applied over another: %v", err)
	}
	world.Check(t, c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("two"), client.ForceOwnership))
	var got appsv1.ControllerRevision
	world.Check(t, c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "applied"}, &got))
	if got.Revision != 2 || got.Labels["app"] != "web" || len(got.ManagedFields) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestClient_statusIsApart(t *testing.T) {
	t.Parallel()
	ns, ctx, c := world.Namespace(t), world.Context(t), direct(t)
	var object corev1.Namespace
	world.Check(t, c.Get(ctx, client.ObjectKey{Name: ns}, &object))
	seen := corev1.NamespaceCondition{Type: "Seen", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	before := object.DeepCopy()
	object.Status.Conditions = []corev1.NamespaceCondition{seen}
	world.Check(t, c.Patch(ctx, &object, client.MergeFrom(before)))
	if len(object.Status.Conditions) != 0 {
		t.Errorf("the main resource has changed status: %+v", object.Status)
	}
	before = object.DeepCopy()
	object.Status.Conditions = []corev1.NamespaceCondition{seen}
	world.Check(t, c.Status().Patch(ctx, &object, client.MergeFrom(before)))
	object.Status.Conditions[0].Reason = "Looked"
	world.Check(t, c.Status().Update(ctx, &object))
	world.Check(t, c.Get(ctx, client.ObjectKey{Name: ns}, &object))
	if len(object.Status.Conditions) != 1 || object.Status.Conditions[0].Reason != "Looked" || object.Status.Phase != corev1.NamespaceActive {
		t.Errorf("%+v", object.Status)
	}
}

func TestClient_listsPagesAndDeletesAll(t *testing.T) {
	t.Parallel()
	ns, ctx, c := world.Namespace(t), world.Context(t), direct(t)
	for i := range 7 {
		world.Check(t, c.Create(ctx, revision(ns, fmt.Sprintf("r-%d", i), map[string]string{"even": fmt.Sprint(i%2 == 0)})))
	}
	var page appsv1.ControllerRevisionList
	n, pages := 0, 0
	for token, isFirst := "", true; isFirst || token != ""; isFirst = false {
		world.Check(t, c.List(ctx, &page, client.InNamespace(ns), client.Limit(3), client.Continue(token)))
		n, pages, token = n+len(page.Items), pages+1, page.Continue
	}
	if n != 7 || pages != 3 {
		t.Errorf("%d objects on %d pages", n, pages)
	}
	world.Check(t, c.DeleteAllOf(ctx, &appsv1.ControllerRevision{}, client.InNamespace(ns), client.MatchingLabels{"even": "true"}))
	world.Check(t, c.List(ctx, &page, client.InNamespace(ns)))
	if len(page.Items) != 3 {
		t.Errorf("%d left", len(page.Items))
	}
}

func TestClient_wrappers(t *testing.T) {
	t.Parallel()
	ns, ctx, c := world.Namespace(t), world.Context(t), direct(t)
	object := revision("", "inside", nil)
	world.Check(t, client.NewDryRunClient(client.NewNamespacedClient(c, ns)).Create(ctx, object))
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "inside"}, object); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
	object = revision(ns, "inside", nil)
	made := world.Got(controllerutil.CreateOrPatch(ctx, client.WithFieldOwner(c, "wrapped"), object, func() error { return nil }))(t)
	if made != controllerutil.OperationResultCreated || object.ManagedFields[0].Manager != "wrapped" {
		t.Errorf("%s by %v", made, object.ManagedFields)
	}
	free := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ControllerRevision",
		"metadata": map[string]any{"name": "strict", "namespace": ns}, "revision": int64(1), "data": map[string]any{}, "datum": "x"}}
	if err := client.WithFieldValidation(c, client.FieldValidation(metav1.FieldValidationStrict)).Create(ctx, free); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field under strict validation: %v", err)
	}
}
