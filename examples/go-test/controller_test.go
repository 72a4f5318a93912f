package digests

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"annals.dev/clients/go/annalstest"
)

// What envtest.Environment and annalstest.Environment have in common is all that a suite needs.
type environment interface {
	Start() (*rest.Config, error)
	Stop() error
}

// TEST_SERVER=envtest takes kube-apiserver and etcd from $KUBEBUILDER_ASSETS, anything else annals.
func newEnvironment() environment {
	if os.Getenv("TEST_SERVER") == "envtest" {
		return &envtest.Environment{}
	}
	return &annalstest.Environment{}
}

// With a server for the package, as envtest's suites have one.
var config *rest.Config

func TestMain(m *testing.M) {
	logf.SetLogger(zap.New())
	env := newEnvironment()
	var err error
	if config, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// startController runs the controller for one test, and returns a client.
func startController(t *testing.T) client.Client {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: mgr.GetClient()}
	if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: ptr.To(true)}); err != nil {
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
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func newSet(namespace string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Annotations: map[string]string{ConfigMapAnnotation: "settings"}},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: "web",
			Replicas:    ptr.To(int32(0)),
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1"}}},
			},
		},
	}
}

// eventually waits for a condition; a minute is far beyond what anything takes here.
func eventually(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, err := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func waitDigest(t *testing.T, c client.Client, set *appsv1.StatefulSet, m *corev1.ConfigMap) {
	t.Helper()
	wanted, err := Digest(m)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the digest of "+m.Name, func() (bool, error) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set)
		return err == nil && set.Spec.Template.Annotations[DigestAnnotation] == wanted, err
	})
}

func TestTemplateFollowsTheConfigMap(t *testing.T) {
	c := startController(t)
	namespace := newNamespace(t, c)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"limit": "100"}}
	set := newSet(namespace)
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	waitDigest(t, c, set, settings)

	settings.Data["limit"] = "1"
	if err := c.Update(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	waitDigest(t, c, set, settings)
	if set.Generation != 3 {
		t.Errorf("generation %d: one for the set, and one for each state of the ConfigMap", set.Generation)
	}
}

func TestOthersAreLeftAlone(t *testing.T) {
	c := startController(t)
	namespace := newNamespace(t, c)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}
	other, set := newSet(namespace), newSet(namespace)
	other.Name, other.Annotations = "other", nil
	for _, object := range []client.Object{settings, other, set} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	waitDigest(t, c, set, settings) // by then the other one has been seen, which was there before
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
		t.Fatal(err)
	}
	if other.Generation != 1 {
		t.Errorf("generation %d", other.Generation)
	}
}
