package clientgo

import (
	"slices"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
)

func TestDelete_collection(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, client := world.Context(t), clients.AppsV1().ControllerRevisions(ns)
		crowd(t, clients, ns, 9)
		world.Check(t, client.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ListOptions{}))
		for _, step := range []struct {
			options metav1.ListOptions
			left    int
		}{{metav1.ListOptions{LabelSelector: "third=yes"}, 6}, {metav1.ListOptions{FieldSelector: "metadata.name=crowd-001"}, 5}, {metav1.ListOptions{}, 0}} {
			world.Check(t, client.DeleteCollection(ctx, metav1.DeleteOptions{}, step.options))
			if list := world.Got(client.List(ctx, metav1.ListOptions{}))(t); len(list.Items) != step.left {
				t.Errorf("%d left after %+v", len(list.Items), step.options)
			}
		}
	})
}

// A propagation policy leaves its finalizer, which the garbage collector takes away; here we do.
func TestDelete_propagationPolicies(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	for policy, finalizer := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents, metav1.DeletePropagationOrphan: metav1.FinalizerOrphanDependents} {
		object := revision("owner")
		object.Finalizers = []string{"clients.test/hold"}
		world.Got(client.Create(ctx, object, metav1.CreateOptions{}))(t)
		world.Check(t, client.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &policy}))
		held := world.Got(client.Get(ctx, "owner", metav1.GetOptions{}))(t)
		if held.DeletionTimestamp == nil || !slices.Contains(held.Finalizers, "clients.test/hold") {
			t.Errorf("%s: %+v", policy, held.ObjectMeta)
		}
		if events := held.Finalizers; len(events) == 2 && !slices.Contains(events, finalizer) {
			t.Errorf("%s: finalizers %v", policy, events)
		}
		world.Got(client.Patch(ctx, "owner", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
		if _, err := client.Get(ctx, "owner", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s, without finalizers: %v", policy, err)
		}
	}
}

func TestDelete_finalizerHoldsUntilItIsRemoved(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, client := world.Context(t), clients.AppsV1().ControllerRevisions(ns)
		object := revision("held")
		object.Finalizers = []string{"clients.test/hold"}
		made := world.Got(client.Create(ctx, object, metav1.CreateOptions{}))(t)
		events := world.Got(client.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion}))(t)
		world.Check(t, client.Delete(ctx, "held", metav1.DeleteOptions{}))
		held := world.Got(client.Get(ctx, "held", metav1.GetOptions{}))(t)
		held.Finalizers = append(held.Finalizers, "clients.test/late")
		if _, err := client.Update(ctx, held, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			t.Errorf("a finalizer added to what is being deleted: %v", err)
		}
		held.Finalizers = nil
		world.Got(client.Update(ctx, held, metav1.UpdateOptions{}))(t)
		last := world.Got(watchtools.UntilWithoutRetry(ctx, events, func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil }))(t)
		if gone := last.Object.(*appsv1.ControllerRevision); gone.DeletionTimestamp == nil || gone.UID != made.UID {
			t.Errorf("deleted: %+v", gone.ObjectMeta)
		}
	})
}
