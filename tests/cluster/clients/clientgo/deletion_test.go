package clientgo

import (
	"slices"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// The namespace controller empties a namespace of every kind, as soon as finalizers allow it.
func TestDelete_namespaceGoesWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	crowd(t, clients, ns, 5)
	world.Got(clients.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c")}, metav1.CreateOptions{}))(t)
	held := revision("held")
	held.Finalizers = []string{"clients.test/hold"}
	world.Got(clients.AppsV1().ControllerRevisions(ns).Create(ctx, held, metav1.CreateOptions{}))(t)
	world.Check(t, clients.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}))
	world.Eventually(t, "only what is held is left, and a condition says so", func() bool {
		list := world.Got(clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{}))(t)
		present, err := clients.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("gone with an object in it: %v", err)
		}
		remaining := slices.ContainsFunc(present.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceFinalizersRemaining && c.Status == corev1.ConditionTrue
		})
		return len(list.Items) == 1 && remaining
	})
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	world.Got(clients.AppsV1().ControllerRevisions(ns).Patch(ctx, "held", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	world.Eventually(t, "it is gone", func() bool {
		_, err := clients.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// The garbage collector does what the propagation policy of a deletion says.
func TestDelete_dependents(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	owners, dependents := clients.AppsV1().ControllerRevisions(ns), clients.CoreV1().ConfigMaps(ns)
	isGone := func(_ any, err error) bool { return apierrors.IsNotFound(err) }
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		owner := world.Got(owners.Create(ctx, revision("owner"), metav1.CreateOptions{}))(t)
		dependent := &corev1.ConfigMap{ObjectMeta: named("dependent")}
		dependent.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))}
		dependent.Finalizers = []string{"clients.test/hold"}
		world.Got(dependents.Create(ctx, dependent, metav1.CreateOptions{}))(t)
		// A collector that does not know of a dependent yet lets its owner go at once, kube's too. It sees ConfigMaps in their order:
		// once one without an owner has been collected, it knows of those before.
		canary := &corev1.ConfigMap{ObjectMeta: named("canary")}
		canary.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ControllerRevision", Name: "none", UID: "none"}}
		world.Got(dependents.Create(ctx, canary, metav1.CreateOptions{}))(t)
		world.Eventually(t, "what has no owner is collected", func() bool { return isGone(dependents.Get(ctx, "canary", metav1.GetOptions{})) })
		world.Check(t, owners.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &policy}))

		if policy == metav1.DeletePropagationForeground {
			world.Eventually(t, "the dependent is being deleted before its owner goes", func() bool {
				return world.Got(dependents.Get(ctx, "dependent", metav1.GetOptions{}))(t).DeletionTimestamp != nil
			})
			world.Got(owners.Get(ctx, "owner", metav1.GetOptions{}))(t)
		} else {
			world.Eventually(t, "the owner is gone", func() bool { return isGone(owners.Get(ctx, "owner", metav1.GetOptions{})) })
		}
		if policy == metav1.DeletePropagationOrphan {
			orphan := world.Got(dependents.Get(ctx, "dependent", metav1.GetOptions{}))(t)
			if len(orphan.OwnerReferences) != 0 || orphan.DeletionTimestamp != nil {
				t.Errorf("%+v", orphan.ObjectMeta)
			}
			continue
		}
		world.Eventually(t, "the dependent is being deleted", func() bool {
			return world.Got(dependents.Get(ctx, "dependent", metav1.GetOptions{}))(t).DeletionTimestamp != nil
		})
		world.Got(dependents.Patch(ctx, "dependent", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
		world.Eventually(t, "both are gone", func() bool {
			return isGone(dependents.Get(ctx, "dependent", metav1.GetOptions{})) && isGone(owners.Get(ctx, "owner", metav1.GetOptions{}))
		})
	}
}
