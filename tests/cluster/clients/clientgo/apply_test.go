package clientgo

import (
	"strings"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// applied is what one manager wants of a revision.
func applied(ns string, number int64, labels map[string]string) *applyapps.ControllerRevisionApplyConfiguration {
	return applyapps.ControllerRevision("applied", ns).WithRevision(number).WithLabels(labels).
		WithData(runtime.RawExtension{Raw: []byte(`{"image":"nginx:1"}`)})
}

func TestApply_extractGivesBackWhatWasApplied(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, client := world.Context(t), clients.AppsV1().ControllerRevisions(ns)
		sent := applied(ns, 3, map[string]string{"app": "web"})
		made := world.Got(client.Apply(ctx, sent, metav1.ApplyOptions{FieldManager: "one"}))(t)
		same(t, world.Got(applyapps.ExtractControllerRevision(made, "one"))(t), sent)

		made.Annotations = map[string]string{"note": "by another"}
		updated := world.Got(client.Update(ctx, made, metav1.UpdateOptions{FieldManager: "two"}))(t)
		same(t, world.Got(applyapps.ExtractControllerRevision(updated, "one"))(t), sent)
		same(t, world.Got(applyapps.ExtractControllerRevision(updated, "nobody"))(t), applyapps.ControllerRevision("applied", ns))

		extracted := world.Got(applyapps.ExtractControllerRevision(updated, "one"))(t).WithLabels(map[string]string{"tier": "front"})
		again := world.Got(client.Apply(ctx, extracted, metav1.ApplyOptions{FieldManager: "one"}))(t)
		same(t, again.Labels, map[string]string{"app": "web", "tier": "front"})
		delete(extracted.Labels, "app")
		same(t, world.Got(client.Apply(ctx, extracted, metav1.ApplyOptions{FieldManager: "one"}))(t).Labels, map[string]string{"tier": "front"})
	})
}

func TestApply_conflictsNameFieldsAndManagers(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	world.Got(client.Apply(ctx, applied(ns, 1, map[string]string{"app": "web"}), metav1.ApplyOptions{FieldManager: "one"}))(t)
	other := applied(ns, 2, map[string]string{"app": "db"})
	_, err := client.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Fatalf("applied over another manager: %v", err)
	}
	fields := []string{}
	for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
		if fields = append(fields, cause.Field); !strings.Contains(cause.Message, `conflict with "one"`) {
			t.Errorf("message: %s", cause.Message)
		}
	}
	if len(fields) != 2 {
		t.Errorf("fields: %v", fields)
	}
	forced := world.Got(client.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true}))(t)
	same(t, world.Got(applyapps.ExtractControllerRevision(forced, "two"))(t), other)
	shrunk := world.Got(applyapps.ExtractControllerRevision(forced, "one"))(t)
	if shrunk.Revision != nil || len(shrunk.Labels) != 0 {
		t.Errorf("the first still has %s", text(t, shrunk))
	}
}

func TestApply_dryRunChangesNothing(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	options := metav1.ApplyOptions{FieldManager: "one", DryRun: []string{metav1.DryRunAll}}
	if shown := world.Got(client.Apply(ctx, applied(ns, 1, nil), options))(t); shown.UID == "" {
		t.Error("no uid in what would be")
	}
	if _, err := client.Get(ctx, "applied", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the dry run: %v", err)
	}
}

// The parser that the extractor makes from /openapi/v2 has to know every type.
func TestApply_unstructuredExtract(t *testing.T) {
	t.Parallel()
	config, ctx, ns := world.Config(t), world.Context(t), world.Namespace(t)
	extractor := world.Got(applymeta.NewUnstructuredExtractor(world.Clientset(t, config).Discovery()))(t)
	client := world.Got(dynamic.NewForConfig(config))(t).Resource(revisionsResource).Namespace(ns)
	sent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": map[string]any{"name": "free", "namespace": ns, "labels": map[string]any{"a": "b"}},
		"revision": int64(7), "data": map[string]any{"list": []any{int64(1), "two", nil, 2.5}, "nested": map[string]any{"x": true}}}}
	made := world.Got(client.Apply(ctx, "free", sent, metav1.ApplyOptions{FieldManager: "dynamic"}))(t)
	same(t, world.Got(extractor.Extract(made, "dynamic"))(t), sent)
}

func TestApply_namespaceStatusIsApart(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	sent := applycore.Namespace(ns).WithLabels(map[string]string{"team": "a"})
	world.Got(clients.CoreV1().Namespaces().Apply(ctx, sent, metav1.ApplyOptions{FieldManager: "one"}))(t)
	condition := applycore.Namespace(ns).WithStatus(applycore.NamespaceStatus().WithConditions(
		applycore.NamespaceCondition().WithType("Seen").WithStatus("True").WithReason("Looked")))
	made := world.Got(clients.CoreV1().Namespaces().ApplyStatus(ctx, condition, metav1.ApplyOptions{FieldManager: "one"}))(t)
	if len(made.Status.Conditions) != 1 || made.Status.Conditions[0].Type != "Seen" || made.Labels["team"] != "a" {
		t.Errorf("conditions %v, labels %v", made.Status.Conditions, made.Labels)
	}
	same(t, world.Got(applycore.ExtractNamespace(made, "one"))(t), sent)
	same(t, world.Got(applycore.ExtractNamespaceStatus(made, "one"))(t).Status, condition.Status)
	for _, entry := range made.ManagedFields {
		if entry.Manager == "one" && entry.Subresource == "status" && entry.Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("entry %v", entry)
		}
	}
}

// A resourceVersion in what is applied is a precondition.
func TestApply_toAVersionThatIsGone(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	made := world.Got(client.Apply(ctx, applied(ns, 1, nil), metav1.ApplyOptions{FieldManager: "one"}))(t)
	world.Got(client.Apply(ctx, applied(ns, 2, nil), metav1.ApplyOptions{FieldManager: "one"}))(t)
	stale := applied(ns, 3, nil).WithResourceVersion(made.ResourceVersion)
	if _, err := client.Apply(ctx, stale, metav1.ApplyOptions{FieldManager: "one"}); !apierrors.IsConflict(err) {
		t.Errorf("applied to a version that is gone: %v", err)
	}
}

func TestApply_dataCannotChange(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	world.Got(client.Apply(ctx, applied(ns, 1, nil), metav1.ApplyOptions{FieldManager: "one"}))(t)
	changed := applied(ns, 1, nil).WithData(runtime.RawExtension{Raw: []byte(`{"image":"nginx:2"}`)})
	_, err := client.Apply(ctx, changed, metav1.ApplyOptions{FieldManager: "one", Force: true})
	if !apierrors.IsInvalid(err) || err.(apierrors.APIStatus).Status().Details.Causes[0].Field != "data" {
		t.Errorf("data was changed: %v", err)
	}
	if got := world.Got(client.Get(ctx, "applied", metav1.GetOptions{}))(t); string(got.Data.Raw) != `{"image":"nginx:1"}` {
		t.Errorf("data is %s", got.Data.Raw)
	}
}
