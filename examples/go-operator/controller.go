// An operator that keeps what its applications need: as long as a StatefulSet says that it needs a Provider, a database say,
// nobody can delete that Provider.
//
// A StatefulSet names Providers in an annotation. The operator makes a Dependent for each, and annals does the rest: the
// deletion of a Provider begins, and ends when its last Dependent is gone.
package main

import (
	"context"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	annalsv1 "annals.dev/clients/go/api/annals/v1"
)

const (
	// NeedsAnnotation of a StatefulSet names the Providers that it needs, separated by commas.
	NeedsAnnotation = "example.test/needs"
	// SetLabel of a Dependent names the StatefulSet for which it was made.
	SetLabel = "example.test/set"
)

// Reconciler keeps a Dependent for each Provider that a StatefulSet needs.
type Reconciler struct {
	client.Client
}

// SetupWithManager makes the Reconciler follow StatefulSets, and Dependents that somebody else has deleted.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&appsv1.StatefulSet{}).
		Owns(&annalsv1.Dependent{}).
		Complete(r)
}

// needs has the names of Providers.
func needs(set *appsv1.StatefulSet) sets.Set[string] {
	names := sets.New[string]()
	for _, name := range strings.Split(set.Annotations[NeedsAnnotation], ",") {
		names.Insert(strings.TrimSpace(name))
	}
	return names.Delete("")
}

// Reconcile makes Dependents as the annotation says. A Dependent never refers to something else, so each has one Provider.
// When the StatefulSet is deleted the garbage collector deletes them: Providers stay until then, and no longer.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var set appsv1.StatefulSet
	if err := r.Get(ctx, request.NamespacedName, &set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !set.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var made annalsv1.DependentList
	if err := r.List(ctx, &made, client.InNamespace(set.Namespace), client.MatchingLabels{SetLabel: set.Name}); err != nil {
		return ctrl.Result{}, err
	}
	missing := needs(&set)
	var errs []error
	for _, dependent := range made.Items {
		provider := dependent.Spec.Providers[0].Name
		if !missing.Has(provider) && metav1.IsControlledBy(&dependent, &set) {
			errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, &dependent)))
		}
		missing.Delete(provider)
	}
	for provider := range missing {
		errs = append(errs, r.need(ctx, &set, provider))
	}
	return ctrl.Result{}, errors.Join(errs...)
}

func (r *Reconciler) need(ctx context.Context, set *appsv1.StatefulSet, provider string) error {
	dependent := &annalsv1.Dependent{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace,
			Name:      set.Name + "-" + provider,
			Labels:    map[string]string{SetLabel: set.Name},
		},
		Spec: annalsv1.DependentSpec{Providers: []annalsv1.DependentReference{{Kind: "Provider", Name: provider}}},
	}
	if err := controllerutil.SetControllerReference(set, dependent, r.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, dependent)) // the cache may be behind
}
