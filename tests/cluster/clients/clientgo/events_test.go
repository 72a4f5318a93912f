package clientgo

import (
	"testing"

	"annals.dev/tests/cluster/clients/world"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// about is what events are recorded of.
func about(t *testing.T, clients *kubernetes.Clientset, ns string) *corev1.ObjectReference {
	t.Helper()
	made := world.Got(clients.AppsV1().ControllerRevisions(ns).Create(world.Context(t), revision("subject"), metav1.CreateOptions{}))(t)
	return &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: ns, Name: made.Name, UID: made.UID}
}

// The recorder of core events counts repetitions by a strategic patch.
func TestEvents_recorder(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, subject := world.Context(t), about(t, clients, ns)
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: clients.CoreV1().Events(ns)})
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clients"})
		for range 3 {
			recorder.Eventf(subject, corev1.EventTypeWarning, "Seen", "number %d", 7)
		}
		world.Eventually(t, "the event has been counted three times", func() bool {
			list := world.Got(clients.CoreV1().Events(ns).List(ctx, metav1.ListOptions{
				FieldSelector: "involvedObject.name=subject,reason=Seen,type=Warning,involvedObject.kind=ControllerRevision"}))(t)
			return len(list.Items) == 1 && list.Items[0].Count == 3 && list.Items[0].Message == "number 7"
		})
		found := world.Got(clients.CoreV1().Events(ns).SearchWithContext(ctx, scheme.Scheme, subject))(t)
		if len(found.Items) != 1 || found.Items[0].Source.Component != "clients" {
			t.Errorf("%+v", found)
		}
	})
}

// Components that have moved to events.k8s.io write core events where that group is not served.
func TestEvents_newRecorderFallsBack(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, subject := world.Context(t), about(t, clients, ns)
		broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, clients)
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(ctx.Done())
		broadcaster.NewRecorder("clients").Eventf(subject, nil, corev1.EventTypeNormal, "Seen", "Looking", "number %d", 7)
		world.Eventually(t, "the event is there", func() bool {
			list := world.Got(clients.CoreV1().Events(ns).List(ctx, metav1.ListOptions{}))(t)
			return len(list.Items) == 1 && list.Items[0].Message == "number 7" && list.Items[0].InvolvedObject.UID == subject.UID
		})
	})
}
