package main

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"annals.dev/clients/go/annalstest"
	annalsv1 "annals.dev/clients/go/api/annals/v1"
)

const patience = 30 * time.Second

// start runs the controller on a server of the test's own.
func start(t *testing.T) client.Client {
	t.Helper()
	ctrl.SetLogger(zap.New())
	server := annalstest.Start(t)
	skip := true // several tests of one process have a controller of that name
	mgr, err := newManager(server.Config, ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(server.Config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newSettings(level string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Labels: map[string]string{Label: ""}},
		Data:       map[string]string{"level": level},
	}
}

// await waits until the settings are so.
func await(t *testing.T, c client.Client, what string, isSo func(*corev1.ConfigMap) bool) *corev1.ConfigMap {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		settings := newSettings("")
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(settings), settings); err == nil && isSo(settings) {
			return settings
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
	return nil
}

func awaitRevision(t *testing.T, c client.Client, number string) *corev1.ConfigMap {
	t.Helper()
	return await(t, c, "revision "+number, func(m *corev1.ConfigMap) bool { return m.Annotations[RevisionAnnotation] == number })
}

func change(t *testing.T, c client.Client, settings *corev1.ConfigMap, how func(*corev1.ConfigMap)) {
	t.Helper()
	before := settings.DeepCopy()
	how(settings)
	if err := c.Patch(t.Context(), settings, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func revisionsOf(t *testing.T, c client.Client, owner *corev1.ConfigMap) map[int64]string {
	t.Helper()
	var list annalsv1.ControllerRevisionList
	if err := c.List(t.Context(), &list, client.InNamespace(owner.Namespace), client.MatchingFields{"controller.uid": string(owner.UID)}); err != nil {
		t.Fatal(err)
	}
	found := map[int64]string{}
	for _, revision := range list.Items {
		found[revision.Revision] = string(revision.Data.Raw)
	}
	return found
}

func expect(t *testing.T, got, want map[int64]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("revisions are %v, and should be %v", got, want)
	}
}

const one, two = `{"data":{"level":"1"}}`, `{"data":{"level":"2"}}`

func TestKeepsEachStateAndGoesBack(t *testing.T) {
	c := start(t)
	settings := newSettings("1")
	if err := c.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	settings = awaitRevision(t, c, "1")
	change(t, c, settings, func(m *corev1.ConfigMap) { m.Data["level"] = "2" })
	settings = awaitRevision(t, c, "2")
	expect(t, revisionsOf(t, c, settings), map[int64]string{1: one, 2: two})

	// The state of revision 1 again: it is the same revision, which has the highest number now.
	change(t, c, settings, func(m *corev1.ConfigMap) { m.Annotations[RollBackAnnotation] = "1" })
	settings = awaitRevision(t, c, "3")
	if settings.Data["level"] != "1" || settings.Annotations[RollBackAnnotation] != "" {
		t.Errorf("it was not rolled back: %v", settings)
	}
	expect(t, revisionsOf(t, c, settings), map[int64]string{2: two, 3: one})
}

func TestKeepsNoMoreThanTheLimit(t *testing.T) {
	c := start(t)
	settings := newSettings("1")
	if err := c.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	settings = awaitRevision(t, c, "1")
	for _, level := range []string{"2", "3", "4", "5", "6", "7", "8"} {
		change(t, c, settings, func(m *corev1.ConfigMap) { m.Data["level"] = level })
		settings = awaitRevision(t, c, level)
	}
	if found := revisionsOf(t, c, settings); len(found) != historyLimit+1 || found[1] != "" {
		t.Errorf("the history was not trimmed: %v", found)
	}
}

func TestSaysWhenThereIsNoSuchRevision(t *testing.T) {
	c := start(t)
	settings := newSettings("1")
	settings.Annotations = map[string]string{RollBackAnnotation: "7"}
	if err := c.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	settings = awaitRevision(t, c, "1")
	if settings.Data["level"] != "1" || settings.Annotations[RollBackAnnotation] != "" {
		t.Errorf("something else has changed: %v", settings)
	}
}
