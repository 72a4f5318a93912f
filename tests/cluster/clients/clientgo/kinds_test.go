package clientgo

import (
	"testing"
	"time"

	"annals.dev/tests/cluster/clients/world"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestTyped_configMaps(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client, ctx := clients.CoreV1().ConfigMaps(ns), world.Context(t)
		sample := &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"a": "1", "text": "x\ny"},
			BinaryData: map[string][]byte{"b": {0, 255, 128}}}
		lifecycle(t, client, sample)
		sample.Immutable = ptr.To(true)
		made := world.Got(client.Create(ctx, sample, metav1.CreateOptions{}))(t)
		same(t, []any{made.Data, made.BinaryData}, []any{sample.Data, sample.BinaryData})
		made.Data["a"] = "2"
		if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("an immutable one was changed: %v", err)
		}
	})
}

func TestTyped_secrets(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client, ctx := clients.CoreV1().Secrets(ns), world.Context(t)
		lifecycle(t, client, &corev1.Secret{ObjectMeta: named("secret"), Data: map[string][]byte{"b": {0, 255, 128}}})
		made := world.Got(client.Create(ctx, &corev1.Secret{ObjectMeta: named("written"), StringData: map[string]string{"a": "text"}}, metav1.CreateOptions{}))(t)
		if made.Type != corev1.SecretTypeOpaque || string(made.Data["a"]) != "text" || made.StringData != nil {
			t.Errorf("%+v", made)
		}
		made.Type = corev1.SecretTypeBasicAuth
		if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("its type was changed: %v", err)
		}
		if list := world.Got(client.List(ctx, metav1.ListOptions{FieldSelector: "type=Opaque"}))(t); len(list.Items) != 1 {
			t.Errorf("%d secrets of type Opaque", len(list.Items))
		}
		wrong := &corev1.Secret{ObjectMeta: named("wrong"), Type: corev1.SecretTypeTLS}
		if _, err := client.Create(ctx, wrong, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("tls without a certificate: %v", err)
		}
	})
}

func TestTyped_serviceAccounts(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		lifecycle(t, clients.CoreV1().ServiceAccounts(ns), &corev1.ServiceAccount{ObjectMeta: named("robot"),
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}})
	})
}

func TestTyped_leases(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client, now := clients.CoordinationV1().Leases(ns), metav1.NewMicroTime(time.Unix(1700000000, 123456000))
		sample := &coordinationv1.Lease{ObjectMeta: named("lease"), Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("me"),
			LeaseDurationSeconds: ptr.To(int32(15)), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To(int32(0))}}
		lifecycle(t, client, sample)
		made := world.Got(client.Create(world.Context(t), sample, metav1.CreateOptions{}))(t)
		if !made.Spec.RenewTime.Equal(&now) || *made.Spec.LeaseTransitions != 0 {
			t.Errorf("%+v", made.Spec)
		}
	})
}

func TestTyped_podTemplates(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client := clients.CoreV1().PodTemplates(ns)
		sample := &corev1.PodTemplate{ObjectMeta: named("template"), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: podSpec()}}
		made := world.Got(client.Create(world.Context(t), sample, metav1.CreateOptions{}))(t)
		defaults(t, made.Template.Spec)
		world.Check(t, client.Delete(world.Context(t), "template", metav1.DeleteOptions{}))
		lifecycle(t, client, sample)
	})
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
		Env:       []corev1.EnvVar{{Name: "A", Value: "1"}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}}}}}
}

// defaults are those that every client counts on.
func defaults(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	main := spec.Containers[0]
	if spec.RestartPolicy != corev1.RestartPolicyAlways || spec.DNSPolicy != corev1.DNSClusterFirst || *spec.TerminationGracePeriodSeconds != 30 ||
		main.ImagePullPolicy != corev1.PullIfNotPresent || main.Ports[0].Protocol != corev1.ProtocolTCP || main.TerminationMessagePath == "" {
		t.Errorf("%s", text(t, spec))
	}
}

func TestTyped_pods(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client, ctx := clients.CoreV1().Pods(ns), world.Context(t)
		lifecycle(t, client, &corev1.Pod{ObjectMeta: named("web-0"), Spec: podSpec()})

		made := world.Got(client.Create(ctx, &corev1.Pod{ObjectMeta: named("web-1"), Spec: podSpec()}, metav1.CreateOptions{}))(t)
		defaults(t, made.Spec)
		if made.Status.Phase != corev1.PodPending {
			t.Errorf("phase %s", made.Status.Phase)
		}
		made.Status.Phase = corev1.PodRunning
		made.Status.Conditions = append(made.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		running := world.Got(client.UpdateStatus(ctx, made, metav1.UpdateOptions{}))(t)
		ready := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Tested"},{"type":"Initialized","status":"True"}]}}`
		patched := world.Got(client.Patch(ctx, "web-1", types.StrategicMergePatchType, []byte(ready), metav1.PatchOptions{}, "status"))(t)
		if n := len(patched.Status.Conditions); n != 2 || patched.Status.Phase != corev1.PodRunning {
			t.Errorf("phase %s, %d conditions", patched.Status.Phase, n)
		}
		running.Spec.Containers[0].Name = "renamed"
		running.ResourceVersion = ""
		if _, err := client.Update(ctx, running, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("a container was renamed: %v", err)
		}
		for selector, n := range map[string]int{"status.phase=Running": 1, "status.phase=Pending": 0, "spec.nodeName=": 1, "spec.restartPolicy=Always": 1} {
			if list := world.Got(client.List(ctx, metav1.ListOptions{FieldSelector: selector}))(t); len(list.Items) != n {
				t.Errorf("%d pods with %s", len(list.Items), selector)
			}
		}
	})
}

func TestTyped_persistentVolumeClaims(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		client, ctx := clients.CoreV1().PersistentVolumeClaims(ns), world.Context(t)
		sample := &corev1.PersistentVolumeClaim{ObjectMeta: named("data-web-0"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}}
		made := world.Got(client.Create(ctx, sample, metav1.CreateOptions{}))(t)
		if made.Status.Phase != corev1.ClaimPending || *made.Spec.VolumeMode != corev1.PersistentVolumeFilesystem {
			t.Errorf("%s", text(t, made))
		}
		made.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("access modes were changed: %v", err)
		}
	})
}
