// Package framework stands in for upstream's: tests run against one server that is there already, so that each gets namespaces of its own.
package framework

import (
	"context"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controlplane"
)

type TearDownFunc func()

type TestServerSetup struct {
	ModifyServerConfig func(*controlplane.Config)
}

func EtcdMain(tests func() int) { os.Exit(tests()) }

func SharedEtcd() any { return nil }

func DefaultTestServerFlags() []string { return nil }

// StartTestServer is for tests that change the server from within.
func StartTestServer(_ context.Context, t testing.TB, _ TestServerSetup) (clientset.Interface, *restclient.Config, TearDownFunc) {
	t.Skip("puts a plugin into the server's process")
	return nil, nil, nil
}

func CreateNamespaceOrDie(c clientset.Interface, name string, t testing.TB) *v1.Namespace {
	made, err := c.CoreV1().Namespaces().Create(context.TODO(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create a namespace: %v", err)
	}
	return made
}

func DeleteNamespaceOrDie(c clientset.Interface, namespace *v1.Namespace, t testing.TB) {
	if err := c.CoreV1().Namespaces().Delete(context.TODO(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("cannot delete a namespace: %v", err)
	}
}
