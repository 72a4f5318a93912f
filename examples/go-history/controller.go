// A controller that keeps every state of its objects, and takes them back to any of them.
//
// Its objects are ConfigMaps with the label example.test/history. It asks annals by a Snapshot to keep each state as a
// ControllerRevision, and shows its number in an annotation. Another annotation asks to go back.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	annalsv1 "annals.dev/clients/go/api/annals/v1"
)

const (
	// Label of ConfigMaps whose history is kept.
	Label = "example.test/history"
	// RevisionAnnotation has the number of the present state.
	RevisionAnnotation = "example.test/revision"
	// RollBackAnnotation is set by whoever wants the state of that number again.
	RollBackAnnotation = "example.test/roll-back-to"

	historyLimit = 5 // old states
)

// Reconciler keeps the history.
type Reconciler struct {
	client.Client
	Live   client.Reader // asks the server, so that revisions need no cache
	Events events.EventRecorder
}

// SetupWithManager makes the Reconciler follow ConfigMaps with the label.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	labelled := predicate.NewPredicateFuncs(func(o client.Object) bool {
		_, has := o.GetLabels()[Label]
		return has
	})
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}, builder.WithPredicates(labelled)).
		Complete(r)
}

// Reconcile keeps the state of a ConfigMap, or first takes it back to an earlier one.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // its revisions go with it: they are owned by it
	}
	if number := object.Annotations[RollBackAnnotation]; number != "" {
		return ctrl.Result{}, r.rollBack(ctx, &object, number)
	}
	return ctrl.Result{}, r.keep(ctx, &object)
}

// state is what of a ConfigMap has a history. Labels and annotations are not part of it.
type state struct {
	Data map[string]string `json:"data,omitempty"`
}

// keep needs no look at what is there already. One request makes a revision, or finds the one that has this state, numbers
// it as the newest, and trims the history. It may be sent any number of times.
func (r *Reconciler) keep(ctx context.Context, object *corev1.ConfigMap) error {
	data, err := json.Marshal(state{object.Data})
	if err != nil {
		return err
	}
	limit := int32(historyLimit)
	snapshot := &annalsv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace},
		Spec: annalsv1.SnapshotSpec{
			Owner:        *metav1.NewControllerRef(object, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
			Data:         runtime.RawExtension{Raw: data},
			HistoryLimit: &limit,
			Live:         []string{}, // nothing runs from a state of a ConfigMap
		},
	}
	if err := r.Create(ctx, snapshot); err != nil {
		return err
	}
	kept := snapshot.Status
	if kept.Result != "Unchanged" {
		r.Events.Eventf(object, nil, corev1.EventTypeNormal, kept.Result, "Snapshot", "the state is revision %d, %s", kept.Revision.Revision, kept.Revision.Name)
	}
	return r.annotate(ctx, object, RevisionAnnotation, fmt.Sprint(kept.Revision.Revision))
}

// rollBack writes the state of an earlier revision into the object. That is a change like any other: the next
// Reconcile keeps it, and annals finds that the old revision has it.
func (r *Reconciler) rollBack(ctx context.Context, object *corev1.ConfigMap, number string) error {
	var revisions annalsv1.ControllerRevisionList
	if err := r.Live.List(ctx, &revisions, client.InNamespace(object.Namespace),
		client.MatchingFields{"controller.uid": string(object.UID), "revision": number}); err != nil {
		return err
	}
	if len(revisions.Items) == 0 {
		r.Events.Eventf(object, nil, corev1.EventTypeWarning, "NoSuchRevision", "RollBack", "there is no revision %s", number)
		return r.annotate(ctx, object, RollBackAnnotation, "")
	}
	var earlier state
	if err := json.Unmarshal(revisions.Items[0].Data.Raw, &earlier); err != nil {
		return err
	}
	before := object.DeepCopy()
	object.Data = earlier.Data
	delete(object.Annotations, RollBackAnnotation)
	return r.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// annotate sets an annotation, or takes it off.
func (r *Reconciler) annotate(ctx context.Context, object *corev1.ConfigMap, name, value string) error {
	if object.Annotations[name] == value {
		return nil
	}
	before := object.DeepCopy()
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	if object.Annotations[name] = value; value == "" {
		delete(object.Annotations, name)
	}
	return r.Patch(ctx, object, client.MergeFrom(before))
}
