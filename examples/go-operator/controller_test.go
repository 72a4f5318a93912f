package main

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// start runs the operator on a server of the test's own.
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

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func newProvider(name string) *annalsv1.Provider {
	return &annalsv1.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newSet(name, needs string) *appsv1.StatefulSet {
	labels, none := map[string]string{"app": name}, int32(0)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{NeedsAnnotation: needs}},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: name,
			Replicas:    &none,
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
			},
		},
	}
}

func await(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isSo(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func isThere(t *testing.T, c client.Client, object client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// awaitImplemented waits until the server has found the Provider of a Dependent.
func awaitImplemented(t *testing.T, c client.Client, name string) {
	t.Helper()
	dependent := &annalsv1.Dependent{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	await(t, "the Dependent is implemented", func() bool { return isThere(t, c, dependent) && dependent.Status.Phase == "Implemented" })
}

// remove begins a deletion. The Provider is needed, so it stays.
func remove(t *testing.T, c client.Client, provider *annalsv1.Provider) {
	t.Helper()
	if err := c.Delete(t.Context(), provider); err != nil {
		t.Fatal(err)
	}
	if !isThere(t, c, provider) || provider.DeletionTimestamp.IsZero() {
		t.Fatal("the Provider is gone, and is needed")
	}
}

func TestProviderStaysWhileItIsNeeded(t *testing.T) {
	c := start(t)
	database, web := newProvider("database"), newSet("web", "database, cache, database")
	create(t, c, database, newProvider("cache"), web)
	awaitImplemented(t, c, "web-database")
	awaitImplemented(t, c, "web-cache")
	remove(t, c, database)

	before := web.DeepCopy()
	web.Annotations[NeedsAnnotation] = "cache"
	if err := c.Patch(t.Context(), web, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	await(t, "the Provider goes when nobody needs it", func() bool { return !isThere(t, c, database) })
}

func TestProviderGoesWithTheLastWhoNeedsIt(t *testing.T) {
	c := start(t)
	database, web, shop := newProvider("database"), newSet("web", "database"), newSet("shop", "database")
	create(t, c, database, web, shop)
	awaitImplemented(t, c, "web-database")
	awaitImplemented(t, c, "shop-database")
	remove(t, c, database)

	before := shop.DeepCopy()
	delete(shop.Annotations, NeedsAnnotation)
	if err := c.Patch(t.Context(), shop, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	dependent := &annalsv1.Dependent{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop-database"}}
	await(t, "the Dependent of who needs nothing goes", func() bool { return !isThere(t, c, dependent) })
	if !isThere(t, c, database) {
		t.Fatal("the Provider is gone, and web needs it")
	}
	if err := c.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	await(t, "the Provider goes", func() bool { return !isThere(t, c, database) })
}
