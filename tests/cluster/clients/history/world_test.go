// Package history holds what k8s.io/kubernetes' pkg/controller/history, by which StatefulSet and DaemonSet controllers keep their revisions,
// does with annals. Every test runs by itself in a namespace of its own.
package history

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appsclients "k8s.io/client-go/kubernetes/typed/apps/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/history"
)

var (
	parentKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	web        = labels.Set{"app": "web"}
)

// controller has what a controller has: clients, an informer's lister and index, and history over both.
type controller struct {
	history.Interface
	ctx       context.Context
	clients   *kubernetes.Clientset
	revisions appsclients.ControllerRevisionInterface
	lister    appslisters.ControllerRevisionNamespaceLister
	unindexed history.Interface
	ns        string
}

// inBothForms runs a test with bodies in JSON and in protobuf, which is what controllers use.
func inBothForms(t *testing.T, run func(t *testing.T, c *controller)) {
	t.Parallel()
	for name, config := range map[string]*rest.Config{"json": world.Config(t), "protobuf": world.Protobuf(t)} {
		t.Run(name, func(t *testing.T) { run(t, controllerOf(t, config)) })
	}
}

func controllerOf(t *testing.T, config *rest.Config) *controller {
	t.Helper()
	ctx, clients, ns := world.Context(t), world.Clientset(t, config), world.Namespace(t)
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(ns))
	found := factory.Apps().V1().ControllerRevisions()
	world.Check(t, history.AddControllerRevisionControllerIndexer(found.Informer()))
	factory.StartWithContext(ctx)
	world.Check(t, factory.WaitForCacheSyncWithContext(ctx).AsError())
	return &controller{
		Interface: history.NewHistory(clients, found.Lister(), found.Informer().GetIndexer()),
		unindexed: history.NewHistory(clients, found.Lister(), nil),
		ctx:       ctx, clients: clients, ns: ns,
		revisions: clients.AppsV1().ControllerRevisions(ns),
		lister:    found.Lister().ControllerRevisions(ns),
	}
}

// parent makes an object that revisions can be of.
func (c *controller) parent(t *testing.T, name string) metav1.Object {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return world.Got(c.clients.CoreV1().ConfigMaps(c.ns).Create(c.ctx, object, metav1.CreateOptions{}))(t)
}

// cached waits until the informer has revisions as they are here.
func (c *controller) cached(t *testing.T, revisions ...*appsv1.ControllerRevision) {
	t.Helper()
	for _, revision := range revisions {
		world.Eventually(t, "the informer has "+revision.Name, func() bool {
			seen, err := c.lister.Get(revision.Name)
			return err == nil && seen.ResourceVersion == revision.ResourceVersion
		})
	}
}

// read is the server's copy.
func (c *controller) read(t *testing.T, name string) *appsv1.ControllerRevision {
	t.Helper()
	return world.Got(c.revisions.Get(c.ctx, name, metav1.GetOptions{}))(t)
}

// made is a revision that a parent has on the server.
func (c *controller) made(t *testing.T, parent metav1.Object, number int64, data []byte) *appsv1.ControllerRevision {
	t.Helper()
	return world.Got(c.CreateControllerRevision(parent, wanted(t, parent, number, data), new(int32)))(t)
}

// orphan is a revision that nobody controls.
func (c *controller) orphan(t *testing.T, name string) *appsv1.ControllerRevision {
	t.Helper()
	object := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: web}, Revision: 7, Data: runtime.RawExtension{Raw: template(t, name)}}
	return world.Got(c.revisions.Create(c.ctx, object, metav1.CreateOptions{}))(t)
}

// listed is names and numbers of what belongs to a parent or to nobody, in order, by index and without: for when the informer has everything.
func (c *controller) listed(t *testing.T, parent metav1.Object, selector labels.Set) string {
	t.Helper()
	found := listed(t, c, parent, selector)
	if slowly := listed(t, c.unindexed, parent, selector); slowly != found {
		t.Errorf("%s by index, %s without", found, slowly)
	}
	return found
}

// waits until the informer has everything: that is when a parent has these revisions and no others.
func (c *controller) waits(t *testing.T, parent metav1.Object, expected string) {
	t.Helper()
	world.Eventually(t, "the informer has "+expected, func() bool { return listed(t, c, parent, web) == expected })
	c.listed(t, parent, web)
}

func listed(t *testing.T, past history.Interface, parent metav1.Object, selector labels.Set) string {
	t.Helper()
	return numbers(world.Got(past.ListControllerRevisions(parent, parentKind, selector.AsSelector()))(t))
}

func numbers(revisions []*appsv1.ControllerRevision) string {
	history.SortControllerRevisions(revisions)
	text := ""
	for _, revision := range revisions {
		text += fmt.Sprintf("%d:%s ", revision.Revision, revision.Name)
	}
	return text
}

func wanted(t *testing.T, parent metav1.Object, number int64, data []byte) *appsv1.ControllerRevision {
	t.Helper()
	return world.Got(history.NewControllerRevision(parent, parentKind, web, runtime.RawExtension{Raw: data}, number, new(int32)))(t)
}

// template is what controllers keep of a workload: a patch that puts its template back, as Go writes it.
func template(t testing.TB, image string) []byte {
	t.Helper()
	return world.Got(json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
		"$patch":   "replace",
		"metadata": map[string]any{"creationTimestamp": nil, "labels": web, "annotations": map[string]any{"note": "<a> & \"b\" é\u2028"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image, "resources": struct{}{}}}, "ratio": 1e21},
	}}}))(t)
}
