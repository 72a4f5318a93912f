// Package controllers holds what controller-runtime does with annals. Every test runs by itself in a namespace of its own.
package controllers

import (
	"context"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func init() { log.SetLogger(logr.Discard()) }

// direct reads and writes without a cache.
func direct(t *testing.T) client.Client {
	t.Helper()
	return world.Got(client.New(world.Config(t), client.Options{}))(t)
}

// manager looks at one namespace.
func manager(t *testing.T, ns string, change ...func(*ctrl.Options)) ctrl.Manager {
	t.Helper()
	options := ctrl.Options{Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}}
	for _, c := range change {
		c(&options)
	}
	return world.Got(ctrl.NewManager(world.Config(t), options))(t)
}

// start runs a manager until the test is over; the context lives as long.
func start(t *testing.T, m ctrl.Manager) context.Context {
	t.Helper()
	ctx, stopped := world.Context(t), make(chan error)
	running, stop := context.WithCancel(ctx)
	go func() { stopped <- m.Start(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("caches are not synchronised")
	}
	return ctx
}

func revision(ns, name string, labels map[string]string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}, Revision: 1,
		Data: runtime.RawExtension{Raw: []byte(`{"image":"nginx:1"}`)}}
}
