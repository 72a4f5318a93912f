package clientgo

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestErrors_areTyped(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx, client := world.Context(t), clients.AppsV1().ControllerRevisions(ns)
		get := func(name string) error { return second(client.Get(ctx, name, metav1.GetOptions{})) }
		create := func(ns, name string) error {
			return second(clients.AppsV1().ControllerRevisions(ns).Create(ctx, revision(name), metav1.CreateOptions{}))
		}
		list := func(options metav1.ListOptions) error { return second(client.List(ctx, options)) }
		patch := func(kind types.PatchType, text string) error {
			return second(client.Patch(ctx, "there", kind, []byte(text), metav1.PatchOptions{}))
		}
		world.Check(t, create(ns, "there"))
		for _, c := range []struct {
			what string
			err  error
			is   func(error) bool
		}{
			{"an object that is not there", get("none"), apierrors.IsNotFound},
			{"a namespace that is not there", create("none", "a"), apierrors.IsNotFound},
			{"a name that is there", create(ns, "there"), apierrors.IsAlreadyExists},
			{"a bad name", create(ns, "Not_A_Name"), apierrors.IsInvalid},
			{"no name", create(ns, ""), apierrors.IsInvalid},
			{"a bad version", list(metav1.ListOptions{ResourceVersion: "x"}), apierrors.IsBadRequest},
			{"a bad selector", list(metav1.ListOptions{LabelSelector: "a b"}), apierrors.IsBadRequest},
			{"a bad token", list(metav1.ListOptions{Continue: "x"}), apierrors.IsBadRequest},
			{"a bad patch", patch(types.JSONPatchType, "{"), apierrors.IsBadRequest},
			{"a patch that fails", patch(types.JSONPatchType, `[{"op":"test","path":"/revision","value":7}]`), apierrors.IsInvalid},
			{"an unknown type of patch", patch("application/json", "{}"), apierrors.IsUnsupportedMediaType},
			{"a verb that is not there", clients.CoreV1().RESTClient().Delete().Resource("namespaces").Do(ctx).Error(), apierrors.IsMethodNotSupported},
		} {
			if !c.is(c.err) {
				t.Errorf("%s: %v (%s)", c.what, c.err, apierrors.ReasonForError(c.err))
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestErrors_invalidNamesEveryField(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		object := revision("Bad_Name")
		object.Revision = -1
		object.Labels = map[string]string{"not a key": "x"}
		_, err := clients.AppsV1().ControllerRevisions(ns).Create(world.Context(t), object, metav1.CreateOptions{})
		var status *apierrors.StatusError
		if !errors.As(err, &status) || status.ErrStatus.Details == nil {
			t.Fatalf("%v", err)
		}
		fields := map[string]bool{}
		for _, cause := range status.ErrStatus.Details.Causes {
			fields[cause.Field] = cause.Type == metav1.CauseTypeFieldValueInvalid
		}
		same(t, fields, map[string]bool{"metadata.name": true, "metadata.labels": true, "revision": true})
		if details := status.ErrStatus.Details; details.Kind != "ControllerRevision" || details.Group != "apps" || details.Name != "Bad_Name" {
			t.Errorf("details %+v", details)
		}
	})
}

// warnings remembers those that the server sends along.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { *w = append(*w, text) }

func TestErrors_fieldValidation(t *testing.T) {
	t.Parallel()
	ctx, ns, config, heard := world.Context(t), world.Namespace(t), world.Config(t), warnings{}
	config.WarningHandler = &heard
	client := world.Clientset(t, config).AppsV1().RESTClient()
	create := func(name, validation string) error {
		return client.Post().Namespace(ns).Resource("controllerrevisions").Param("fieldValidation", validation).SetHeader("Content-Type", "application/json").
			Body([]byte(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"` + name + `"},"data":{},"spec":1,"revision":1,"revision":2}`)).Do(ctx).Error()
	}
	if err := create("ignored", metav1.FieldValidationIgnore); err != nil || len(heard) != 0 {
		t.Errorf("ignored: %v %q", err, heard)
	}
	if err := create("warned", metav1.FieldValidationWarn); err != nil || strings.Join(heard, "; ") != `unknown field "spec"; duplicate field "revision"` {
		t.Errorf("warned: %v %q", err, heard)
	}
	if err := create("strict", metav1.FieldValidationStrict); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "strict decoding error") {
		t.Errorf("strict: %v", err)
	}
}

func TestErrors_whoIsNobody(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	anonymous := rest.AnonymousClientConfig(world.Config(t))
	if _, err := world.Clientset(t, anonymous).AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("anonymous: %v", err)
	}
	anonymous.BearerToken = "wrong"
	if _, err := world.Clientset(t, anonymous).AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("with a wrong token: %v", err)
	}
	impersonating := world.Config(t)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "mallory", Groups: []string{"guests"}}
	_, err := world.Clientset(t, impersonating).AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "mallory" cannot list resource "controllerrevisions" in API group "apps"`) {
		t.Errorf("as somebody without rights: %v", err)
	}
	impersonating.Impersonate.Groups = []string{"system:masters"}
	world.Got(world.Clientset(t, impersonating).AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{}))(t)
}

// client-go waits and tries again by itself when Retry-After says so.
func TestErrors_retryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	clients, ctx := world.Clientset(t, world.Config(t)), world.Context(t)
	_, err := clients.AppsV1().RESTClient().Get().Resource("controllerrevisions").Param("resourceVersion", "999999999").MaxRetries(0).Do(ctx).Get()
	seconds, isSuggested := apierrors.SuggestsClientDelay(err)
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || !isSuggested || seconds != 1 {
		t.Errorf("%v, %d s", err, seconds)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusGatewayTimeout {
		t.Errorf("%v", err)
	}
}
