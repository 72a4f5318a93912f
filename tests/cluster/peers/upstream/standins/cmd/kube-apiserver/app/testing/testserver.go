// Package testing stands in for upstream's, which starts a kube-apiserver within the test's process: this one takes the server of $KUBECONFIG.
package testing

import (
	"os"
	"testing"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type TearDownFunc func()

type TestServer struct {
	ClientConfig *restclient.Config
	TearDownFn   TearDownFunc
}

// StartTestServerOrDie starts nothing: options and flags are those of a server that is not there.
func StartTestServerOrDie(t testing.TB, _ any, _ []string, _ any) *TestServer {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 1000, 2000
	return &TestServer{ClientConfig: config, TearDownFn: func() {}}
}
