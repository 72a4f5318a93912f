package clientgo

import (
	"context"
	"fmt"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
)

var metaExtract = meta.ExtractList

// crowd makes n revisions; every third has the label odd=yes.
func crowd(t *testing.T, clients kubernetes.Interface, ns string, n int) {
	t.Helper()
	for i := range n {
		object := revision(fmt.Sprintf("crowd-%03d", i))
		if i%3 == 0 {
			object.Labels = map[string]string{"third": "yes"}
		}
		world.Got(clients.AppsV1().ControllerRevisions(ns).Create(world.Context(t), object, metav1.CreateOptions{}))(t)
	}
}

func listRevisions(clients kubernetes.Interface, ns string) pager.ListPageFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return clients.AppsV1().ControllerRevisions(ns).List(ctx, options)
	}
}

func TestList_pagerSeesEachObjectOnce(t *testing.T) {
	t.Parallel()
	clients, ns := world.Clientset(t, world.Config(t)), world.Namespace(t)
	crowd(t, clients, ns, 25)
	pages := pager.New(listRevisions(clients, ns))
	pages.PageSize = 7
	seen := []string{}
	world.Check(t, pages.EachListItem(world.Context(t), metav1.ListOptions{}, func(object runtime.Object) error {
		seen = append(seen, object.(*appsv1.ControllerRevision).Name)
		return nil
	}))
	if len(seen) != 25 || seen[0] != "crowd-000" || seen[24] != "crowd-024" {
		t.Errorf("seen: %v", seen)
	}
	whole, isPaged, err := pages.List(world.Context(t), metav1.ListOptions{LabelSelector: "third"})
	if err != nil || !isPaged || len(items(t, whole)) != 9 {
		t.Errorf("%v, paged %v, %v", whole, isPaged, err)
	}
}

func TestList_selectors(t *testing.T) {
	t.Parallel()
	clients, ns, ctx := world.Clientset(t, world.Config(t)), world.Namespace(t), world.Context(t)
	crowd(t, clients, ns, 6)
	for _, c := range []struct {
		options metav1.ListOptions
		n       int
	}{
		{metav1.ListOptions{LabelSelector: "third=yes"}, 2},
		{metav1.ListOptions{LabelSelector: "!third"}, 4},
		{metav1.ListOptions{LabelSelector: "third in (yes,no)"}, 2},
		{metav1.ListOptions{FieldSelector: "metadata.name=crowd-001"}, 1},
		{metav1.ListOptions{FieldSelector: "metadata.name!=crowd-001"}, 5},
		{metav1.ListOptions{FieldSelector: "metadata.name=crowd-001", LabelSelector: "third"}, 0},
		{metav1.ListOptions{ResourceVersion: "0"}, 6},
	} {
		// The cache may be older than what has just been written: ask it for at least that.
		if c.options.ResourceVersion == "0" {
			c.options.ResourceVersion = world.Got(clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{}))(t).ResourceVersion
		}
		list := world.Got(clients.AppsV1().ControllerRevisions(ns).List(ctx, c.options))(t)
		if len(list.Items) != c.n {
			t.Errorf("%d objects for %+v", len(list.Items), c.options)
		}
	}
	_, err := clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{FieldSelector: "revision=1"})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("a field that cannot be selected: %v", err)
	}
}
