// Package digests has a controller that rolls a StatefulSet out when a ConfigMap changes that its pods use: it keeps the
// ConfigMap's digest in an annotation of the pod template.
package digests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// ConfigMapAnnotation of a StatefulSet names the ConfigMap.
	ConfigMapAnnotation = "example.test/configmap"
	// DigestAnnotation of its pod template is the digest.
	DigestAnnotation = "example.test/digest"
)

// Reconciler keeps the annotation.
type Reconciler struct {
	client.Client
}

// SetupWithManager makes the Reconciler follow StatefulSets and ConfigMaps.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&appsv1.StatefulSet{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.setsOf)).
		WithOptions(options).
		Complete(r)
}

func (r *Reconciler) setsOf(ctx context.Context, configMap client.Object) []reconcile.Request {
	var sets appsv1.StatefulSetList
	if err := r.List(ctx, &sets, client.InNamespace(configMap.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list StatefulSets")
		return nil
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		if sets.Items[i].Annotations[ConfigMapAnnotation] == configMap.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
		}
	}
	return requests
}

// Digest of a ConfigMap's data.
func Digest(m *corev1.ConfigMap) (string, error) {
	text, err := json.Marshal([]any{m.Data, m.BinaryData}) // members of maps are sorted
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Reconcile brings the annotation up to date. A ConfigMap that is not there changes nothing: its pods would not start.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var set appsv1.StatefulSet
	if err := r.Get(ctx, request.NamespacedName, &set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := set.Annotations[ConfigMapAnnotation]
	if name == "" || !set.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var configMap corev1.ConfigMap
	if err := r.Get(ctx, types.NamespacedName{Namespace: set.Namespace, Name: name}, &configMap); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	digest, err := Digest(&configMap)
	if err != nil || set.Spec.Template.Annotations[DigestAnnotation] == digest {
		return ctrl.Result{}, err
	}
	before := set.DeepCopy()
	if set.Spec.Template.Annotations == nil {
		set.Spec.Template.Annotations = map[string]string{}
	}
	set.Spec.Template.Annotations[DigestAnnotation] = digest
	err = r.Patch(ctx, &set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) { // somebody was quicker; their change brings us here again
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}
