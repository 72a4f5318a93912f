// Package world is what all tests here share: the server that the suite has started for them, and namespaces in it.
package world

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Patience is far beyond what anything takes: a deadline is there so that a broken test ends.
const Patience = 60 * time.Second

// Config leads to the server, as an administrator, in JSON, without a client-side rate limit.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.ContentType = "application/json"
	config.UserAgent = "clients"
	return doorOf(config)
}

// Protobuf is Config as typed clients have it by default: bodies in protobuf, and answers where the server has them. They cannot be led
// through another door.
func Protobuf(t testing.TB) *rest.Config {
	t.Helper()
	config := Config(t)
	if isLed() {
		return config
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// Clientset is the typed clients of one configuration.
func Clientset(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// Context ends with the test, or when patience does.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Namespace makes one for the test alone.
func Namespace(t testing.TB) string {
	t.Helper()
	made, err := Clientset(t, Config(t)).CoreV1().Namespaces().Create(Context(t),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// Eventually waits for what nothing announces.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Control asks whoever runs the server to do something to it: restart, compact, cut, pause, resume.
func Control(t testing.TB, action string) {
	t.Helper()
	answer, err := http.Post(os.Getenv("ANNALS_CONTROL")+"/"+action, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %s", action, body))
	}
}

// Check fails the test at once where there is an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Got is the value of a call that must succeed: world.Got(client.Get(...))(t).
func Got[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Check(t, err)
		return value
	}
}
