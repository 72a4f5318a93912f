package annalstest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"annals.dev/clients/go/annalstest"
)

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func names(t *testing.T, c *kubernetes.Clientset) string {
	t.Helper()
	list, err := c.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	return strings.Join(found, " ")
}

func create(t *testing.T, c *kubernetes.Clientset, name string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().ConfigMaps("default").Create(context.Background(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clientOf(t, config).AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

func TestStartServesAnAdministrator(t *testing.T) {
	s := annalstest.Start(t)
	if who := whoAmI(t, s.Config); !strings.Contains(strings.Join(who.Groups, " "), "system:masters") {
		t.Errorf("we are %v", who)
	}
	byFile, err := clientcmd.BuildConfigFromFlags("", s.KubeConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	create(t, clientOf(t, byFile), "by-file")
	if got := names(t, clientOf(t, s.Config)); got != "by-file" {
		t.Errorf("there is %q", got)
	}
}

func TestServersInParallelHaveNothingInCommon(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := clientOf(t, annalstest.Start(t).Config)
			create(t, c, fmt.Sprintf("of-%d", i))
			if got := names(t, c); got != fmt.Sprintf("of-%d", i) {
				t.Errorf("there is %q", got)
			}
		})
	}
}

func TestNothingIsLeftAfterTheTest(t *testing.T) {
	var folder string
	var config *rest.Config
	t.Run("inner", func(t *testing.T) {
		s := annalstest.Start(t)
		folder, config = filepath.Dir(s.KubeConfigPath), s.Config
	})
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s: %v", folder, err)
	}
	if _, err := clientOf(t, config).Discovery().ServerVersion(); err == nil {
		t.Error("it still answers")
	}
}

func TestFlagsAreHandedOn(t *testing.T) {
	s := annalstest.Start(t, annalstest.Options{Args: []string{"--fake-nodes=1", "-v=1"}})
	c := clientOf(t, s.Config)
	w, err := c.CoreV1().Nodes().Watch(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if event := <-w.ResultChan(); event.Type != "ADDED" {
		t.Errorf("no node: %v", event)
	}
	for range 3000 { // it is copied as it comes
		if strings.Contains(s.Log(), "ready") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the log says %q", s.Log())
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	_, err := annalstest.New(annalstest.Options{Args: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Error(err)
	}
	_, err = annalstest.New(annalstest.Options{Binary: "/nowhere/annals"})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/annals: no such file") {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv(annalstest.BinaryVariable, "")
	_, err = annalstest.New(annalstest.Options{})
	if err == nil || !strings.Contains(err.Error(), "annals is not in $PATH") {
		t.Error(err)
	}
}

func TestServerThatIsNeverReadyIsKilled(t *testing.T) {
	stuck := filepath.Join(t.TempDir(), "stuck")
	if err := os.WriteFile(stuck, []byte("#!/bin/sh\necho waiting >&2\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := annalstest.New(annalstest.Options{Binary: stuck, StartTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "annals is not ready after 1s") {
		t.Error(err)
	}
}

func TestStopTwiceIsStopOnce(t *testing.T) {
	s, err := annalstest.New(annalstest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first, second := s.Stop(), s.Stop(); first != nil || second != nil {
		t.Error(first, second)
	}
}

// ---- Environment ----

func TestEnvironmentStartsAndStopsAgain(t *testing.T) {
	var output bytes.Buffer
	env := &annalstest.Environment{Options: annalstest.Options{Output: &output, Args: []string{"-v=1"}}}
	for range 2 {
		config, err := env.Start()
		if err != nil {
			t.Fatal(err)
		}
		if env.Config != config || len(env.KubeConfig) == 0 {
			t.Error("Config and KubeConfig are not set")
		}
		create(t, clientOf(t, config), "one")
		if _, err := env.Start(); err == nil {
			t.Error("it has started twice")
		}
		if err := env.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(output.String(), "ready") {
		t.Errorf("the log says %q", output.String())
	}
}

func TestEnvironmentRefusesWhatAnnalsHasNot(t *testing.T) {
	crd := []*apiextensionsv1.CustomResourceDefinition{{}}
	hook := annalstest.WebhookInstallOptions{ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{}}}
	for why, environments := range map[string][]*annalstest.Environment{
		"annals has no CustomResourceDefinitions": {
			{CRDs: crd}, {CRDDirectoryPaths: []string{"config/crd"}}, {CRDInstallOptions: annalstest.CRDInstallOptions{CRDs: crd}},
			{CRDInstallOptions: annalstest.CRDInstallOptions{Paths: []string{"config/crd"}}}},
		"annals alone calls no webhooks": {{WebhookInstallOptions: hook}, {CRDInstallOptions: annalstest.CRDInstallOptions{WebhookOptions: hook}}},
		"annals is not downloaded":       {{DownloadBinaryAssets: true}},
	} {
		for _, env := range environments {
			if _, err := env.Start(); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%v, and not: %s", err, why)
			}
			if err := env.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestEnvironmentFindsTheBinaryInAFolder(t *testing.T) {
	binary := os.Getenv(annalstest.BinaryVariable)
	folder := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(folder, "annals")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(annalstest.BinaryVariable, "")
	t.Setenv("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT", "1m")
	env := &annalstest.Environment{BinaryAssetsDirectory: folder}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	if env.ControlPlaneStartTimeout != time.Minute {
		t.Error(env.ControlPlaneStartTimeout)
	}
	if err := env.Stop(); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentUsesAServerThatIsThere(t *testing.T) {
	s := annalstest.Start(t)
	t.Setenv("KUBECONFIG", s.KubeConfigPath)
	t.Setenv("USE_EXISTING_CLUSTER", "true")
	env := &annalstest.Environment{}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	create(t, clientOf(t, config), "there")
	if got := names(t, clientOf(t, s.Config)); got != "there" {
		t.Errorf("there is %q", got)
	}
	if err := env.Stop(); err != nil {
		t.Error(err)
	}
	names(t, clientOf(t, s.Config)) // it goes on
}

func TestEnvironmentAddsUsers(t *testing.T) {
	env := &annalstest.Environment{}
	if _, err := env.AddUser(annalstest.User{Name: "alice"}, nil); err == nil {
		t.Error("before it has started")
	}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	defer env.Stop()
	alice, err := env.AddUser(annalstest.User{Name: "alice", Groups: []string{"dev"}}, &rest.Config{QPS: 5, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	text, err := alice.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	byFile, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []*rest.Config{alice.Config(), byFile} {
		if who := whoAmI(t, config); who.Username != "alice" || !strings.Contains(strings.Join(who.Groups, " "), "dev") {
			t.Errorf("we are %v", who)
		}
	}
	if alice.Config().QPS != 5 {
		t.Error(alice.Config().QPS)
	}
}
