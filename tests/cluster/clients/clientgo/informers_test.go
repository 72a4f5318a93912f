package clientgo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var revisionsResource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")

// requests remembers what has been asked.
type requests struct {
	http.RoundTripper
	mutex sync.Mutex
	seen  []*http.Request
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mutex.Lock()
	r.seen = append(r.seen, request)
	r.mutex.Unlock()
	return r.RoundTripper.RoundTrip(request)
}

// count is how many had the query parameter.
func (r *requests) count(parameter, value string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	n := 0
	for _, request := range r.seen {
		if request.URL.Query().Get(parameter) == value {
			n++
		}
	}
	return n
}

func (r *requests) over(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.RoundTripper = next
		return r
	})
	return config
}

// ledger has the calls of an informer's handlers, object by object. Nothing may be reported twice, out of order, or of an object that is
// gone; only after a new list client-go reports unchanged objects again.
type ledger struct {
	listsAgain bool

	mutex    sync.Mutex
	versions map[string]uint64
	faults   []string
}

func follow(t *testing.T, informer cache.SharedInformer) *ledger {
	t.Helper()
	l := &ledger{versions: map[string]uint64{}}
	world.Got(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { l.told("added", object, false) },
		UpdateFunc: func(_, object any) { l.told("updated", object, true) },
		DeleteFunc: l.deleted,
	}))(t)
	return l
}

func (l *ledger) told(what string, object any, mustBeKnown bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	accessor, _ := meta.Accessor(object)
	version, _ := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	before, isKnown := l.versions[accessor.GetName()]
	if l.listsAgain && isKnown && mustBeKnown && version == before {
		return
	}
	if isKnown != mustBeKnown || version <= before {
		l.faults = append(l.faults, fmt.Sprintf("%s %s at %d after %d, known: %v", what, accessor.GetName(), version, before, isKnown))
	}
	l.versions[accessor.GetName()] = version
}

func (l *ledger) known() map[string]uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return maps.Clone(l.versions)
}

func (l *ledger) deleted(object any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key, _ := cache.DeletionHandlingObjectToName(object)
	if _, isKnown := l.versions[key.Name]; !isKnown {
		l.faults = append(l.faults, fmt.Sprintf("deleted %s, which is not known", key.Name))
	}
	delete(l.versions, key.Name)
}

// settles waits until handlers know exactly what a list shows, and says what went wrong on the way. The list is made anew each time: a
// write whose connection was cut may still be carried out.
func (l *ledger) settles(t *testing.T, clients kubernetes.Interface, ns string) {
	t.Helper()
	for deadline := time.Now().Add(world.Patience); ; time.Sleep(10 * time.Millisecond) {
		list := world.Got(clients.AppsV1().ControllerRevisions(ns).List(world.Context(t), metav1.ListOptions{}))(t)
		expected := map[string]uint64{}
		for _, item := range list.Items {
			expected[item.Name], _ = strconv.ParseUint(item.ResourceVersion, 10, 64)
		}
		known := l.known()
		if maps.Equal(known, expected) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("handlers know of %v; there are %v", known, expected)
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, fault := range l.faults {
		t.Error(fault)
	}
}

// work creates, changes and deletes revisions; some stay.
func work(t *testing.T, clients kubernetes.Interface, ns, prefix string, n int) {
	t.Helper()
	ctx, client := world.Context(t), clients.AppsV1().ControllerRevisions(ns)
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		world.Got(client.Create(ctx, revision(name), metav1.CreateOptions{}))(t)
		for step := range 3 {
			patch := world.Got(json.Marshal(map[string]int{"revision": step + 2}))(t)
			world.Got(client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
		}
		if i%2 == 0 {
			world.Check(t, client.Delete(ctx, name, metav1.DeleteOptions{}))
		}
	}
}

// informs runs one kind of informer from a namespace with objects in it through changes, and looks how it got its first objects.
func informs(t *testing.T, start func(ctx context.Context, config *rest.Config, ns string) cache.SharedIndexInformer) {
	t.Helper()
	asked, ctx, ns := &requests{}, world.Context(t), world.Namespace(t)
	clients := world.Clientset(t, world.Config(t))
	work(t, clients, ns, "before", 4)

	informer := start(ctx, asked.over(world.Config(t)), ns)
	seen := follow(t, informer)
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("not synchronised")
	}
	if n := len(informer.GetStore().List()); n != 2 {
		t.Errorf("%d objects when synchronised", n)
	}
	work(t, clients, ns, "after", 10)
	seen.settles(t, clients, ns)

	streams := asked.count("sendInitialEvents", "true")
	if isOn := features.FeatureGates().Enabled(features.WatchListClient); isOn != (streams == 1) {
		t.Errorf("WatchListClient %v, %d watches with sendInitialEvents", isOn, streams)
	}
}

func TestInformer_typed(t *testing.T) {
	t.Parallel()
	informs(t, func(_ context.Context, config *rest.Config, ns string) cache.SharedIndexInformer {
		factory := informers.NewSharedInformerFactoryWithOptions(world.Clientset(t, config), 0, informers.WithNamespace(ns))
		return factory.Apps().V1().ControllerRevisions().Informer()
	})
}

func TestInformer_typedInProtobuf(t *testing.T) {
	t.Parallel()
	informs(t, func(_ context.Context, config *rest.Config, ns string) cache.SharedIndexInformer {
		config.ContentConfig = world.Protobuf(t).ContentConfig
		factory := informers.NewSharedInformerFactoryWithOptions(world.Clientset(t, config), 0, informers.WithNamespace(ns))
		return factory.Apps().V1().ControllerRevisions().Informer()
	})
}

func TestInformer_dynamic(t *testing.T) {
	t.Parallel()
	informs(t, func(_ context.Context, config *rest.Config, ns string) cache.SharedIndexInformer {
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(world.Got(dynamic.NewForConfig(config))(t), 0, ns, nil)
		return factory.ForResource(revisionsResource).Informer()
	})
}

func TestInformer_metadata(t *testing.T) {
	t.Parallel()
	informs(t, func(_ context.Context, config *rest.Config, ns string) cache.SharedIndexInformer {
		factory := metadatainformer.NewFilteredSharedInformerFactory(world.Got(metadata.NewForConfig(config))(t), 0, ns, nil)
		return factory.ForResource(revisionsResource).Informer()
	})
}

// Two selectors, two informers: an object that passes from one to the other is deleted here and added there.
func TestInformer_selectors(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	stores := map[string]cache.Store{}
	for _, tier := range []string{"front", "back"} {
		factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(ns),
			informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "tier=" + tier }))
		informer := factory.Apps().V1().ControllerRevisions().Informer()
		stores[tier] = informer.GetStore()
		factory.StartWithContext(ctx)
		factory.WaitForCacheSync(ctx.Done())
	}
	object := revision("mover")
	for _, tier := range []string{"front", "back", "front"} {
		object.Labels = map[string]string{"tier": tier}
		if object.ResourceVersion == "" {
			object = world.Got(clients.AppsV1().ControllerRevisions(ns).Create(ctx, object, metav1.CreateOptions{}))(t)
		} else {
			object = world.Got(clients.AppsV1().ControllerRevisions(ns).Update(ctx, object, metav1.UpdateOptions{}))(t)
		}
		world.Eventually(t, "the object is where it belongs", func() bool {
			for name, store := range stores {
				if _, isThere, _ := store.GetByKey(ns + "/mover"); isThere != (name == tier) {
					return false
				}
			}
			return true
		})
	}
}
