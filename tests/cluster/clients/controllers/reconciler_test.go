package controllers

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "clients.test/rendered"

// renderer keeps a ConfigMap with the data of each ControllerRevision, and a finalizer on the revision as long as there is one.
type renderer struct {
	client.Client
}

func (r *renderer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var revision appsv1.ControllerRevision
	if err := r.Get(ctx, request.NamespacedName, &revision); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !revision.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, &revision)
	}
	if controllerutil.AddFinalizer(&revision, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &revision)
	}
	rendered := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: revision.Namespace, Name: revision.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, rendered, func() error {
		rendered.Data = map[string]string{}
		if err := json.Unmarshal(revision.Data.Raw, &rendered.Data); err != nil {
			return err
		}
		return controllerutil.SetControllerReference(&revision, rendered, r.Scheme())
	})
	return ctrl.Result{}, err
}

func (r *renderer) finalize(ctx context.Context, revision *appsv1.ControllerRevision) error {
	rendered := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: revision.Namespace, Name: revision.Name}}
	if err := client.IgnoreNotFound(r.Delete(ctx, rendered)); err != nil {
		return err
	}
	before := revision.DeepCopy()
	controllerutil.RemoveFinalizer(revision, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, revision, client.MergeFrom(before)))
}

func TestReconciler_keepsWhatItOwns(t *testing.T) {
	t.Parallel()
	ns, c := world.Namespace(t), direct(t)
	m := manager(t, ns)
	world.Check(t, ctrl.NewControllerManagedBy(m).For(&appsv1.ControllerRevision{}).Owns(&corev1.ConfigMap{}).Complete(&renderer{m.GetClient()}))
	ctx := start(t, m)

	owner := revision(ns, "web", nil)
	world.Check(t, c.Create(ctx, owner))
	rendered := &corev1.ConfigMap{}
	isThere := func() bool {
		return c.Get(ctx, client.ObjectKeyFromObject(owner), rendered) == nil && rendered.Data["image"] == "nginx:1"
	}
	world.Eventually(t, "it is rendered", isThere)
	if !metav1.IsControlledBy(rendered, owner) {
		t.Errorf("owned by %v", rendered.OwnerReferences)
	}
	rendered.Data["image"] = "fixed by hand"
	world.Check(t, c.Update(ctx, rendered))
	world.Eventually(t, "the change is undone", isThere)
	first := rendered.UID
	world.Check(t, c.Delete(ctx, rendered))
	world.Eventually(t, "it is recreated", func() bool { return isThere() && rendered.UID != first })

	world.Check(t, c.Delete(ctx, owner))
	world.Eventually(t, "both are gone", func() bool {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(owner), owner)) && apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(owner), rendered))
	})
}

// Only metadata are watched and cached; their names come on a channel.
func TestReconciler_watchesMetadataOnly(t *testing.T) {
	t.Parallel()
	ns, c, seen := world.Namespace(t), direct(t), make(chan string, 10)
	m := manager(t, ns)
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	world.Check(t, ctrl.NewControllerManagedBy(m).For(partial).Complete(reconcileFunc(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		found := partial.DeepCopy()
		err := m.GetClient().Get(ctx, request.NamespacedName, found)
		if err == nil {
			seen <- found.Labels["app"]
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	})))
	ctx := start(t, m)
	world.Check(t, c.Create(ctx, revision(ns, "light", map[string]string{"app": "web"})))
	if got := <-seen; got != "web" {
		t.Errorf("label %q", got)
	}
}

type reconcileFunc func(context.Context, ctrl.Request) (ctrl.Result, error)

func (f reconcileFunc) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return f(ctx, request)
}

// The second manager reconciles only once the first has gone.
func TestReconciler_onlyTheLeaderWorks(t *testing.T) {
	t.Parallel()
	ns, c, seen := world.Namespace(t), direct(t), make(chan string, 100)
	stop := map[string]context.CancelFunc{}
	stopped := make(chan error)
	for _, name := range []string{"first", "second"} {
		m := manager(t, ns, func(options *ctrl.Options) {
			options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, "leader", ns
			options.LeaderElectionReleaseOnCancel = true
			duration, deadline, period := 20*time.Second, 15*time.Second, 100*time.Millisecond
			options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &duration, &deadline, &period
		})
		world.Check(t, ctrl.NewControllerManagedBy(m).For(&appsv1.ControllerRevision{}).Complete(
			reconcileFunc(func(context.Context, ctrl.Request) (ctrl.Result, error) { seen <- name; return ctrl.Result{}, nil })))
		ctx, cancel := context.WithCancel(world.Context(t))
		stop[name] = cancel
		go func() { stopped <- m.Start(ctx) }()
		if name == "first" {
			<-m.Elected()
		}
	}
	world.Check(t, c.Create(world.Context(t), revision(ns, "a", nil)))
	if got := <-seen; got != "first" {
		t.Errorf("%s has reconciled", got)
	}
	stop["first"]()
	world.Check(t, <-stopped)
	if got := <-seen; got != "second" {
		t.Errorf("%s has reconciled after the first", got)
	}
	stop["second"]()
	world.Check(t, <-stopped)
}
