package clientgo

import (
	"testing"

	"annals.dev/tests/cluster/clients/world"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestReviews_whoCanDoWhat(t *testing.T) {
	inBothForms(t, func(t *testing.T, clients *kubernetes.Clientset, ns string) {
		ctx := world.Context(t)
		attributes := &authorizationv1.ResourceAttributes{Namespace: ns, Verb: "create", Group: "apps", Resource: "controllerrevisions"}
		mine := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		if answer := world.Got(clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, mine, metav1.CreateOptions{}))(t); !answer.Status.Allowed {
			t.Errorf("the administrator: %+v", answer.Status)
		}
		for group, isAllowed := range map[string]bool{"system:masters": true, "guests": false} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "somebody", Groups: []string{group}, ResourceAttributes: attributes}}
			if answer := world.Got(clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}))(t); answer.Status.Allowed != isAllowed {
				t.Errorf("%s: %+v", group, answer.Status)
			}
			local := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: ns}, Spec: review.Spec}
			if answer := world.Got(clients.AuthorizationV1().LocalSubjectAccessReviews(ns).Create(ctx, local, metav1.CreateOptions{}))(t); answer.Status.Allowed != isAllowed {
				t.Errorf("%s, locally: %+v", group, answer.Status)
			}
		}
		rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: ns}}
		if answer := world.Got(clients.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, rules, metav1.CreateOptions{}))(t); len(answer.Status.ResourceRules) == 0 {
			t.Errorf("no rules: %+v", answer.Status)
		}
	})
}

func TestReviews_whoIsWho(t *testing.T) {
	t.Parallel()
	ctx, config := world.Context(t), world.Protobuf(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: "alice", UID: "u-1", Groups: []string{"dev"}, Extra: map[string][]string{"scope": {"a", "b"}}}
	clients := world.Clientset(t, world.Protobuf(t))
	wrong := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "wrong"}}
	if answer := world.Got(clients.AuthenticationV1().TokenReviews().Create(ctx, wrong, metav1.CreateOptions{}))(t); answer.Status.Authenticated {
		t.Errorf("a wrong token: %+v", answer.Status)
	}
	me := world.Got(clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t)
	if me.Status.UserInfo.Username != "admin" {
		t.Errorf("%+v", me.Status.UserInfo)
	}
	other := world.Got(world.Clientset(t, config).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t)
	same(t, other.Status.UserInfo, authenticationv1.UserInfo{Username: "alice", UID: "u-1", Groups: []string{"dev", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{"scope": {"a", "b"}}})
}
