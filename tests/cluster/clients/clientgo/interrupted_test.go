package clientgo

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"annals.dev/tests/cluster/clients/world"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

// Tests here have the server to themselves: they restart it, compact its history and cut its connections.

// writer goes on with work until it is stopped, whatever becomes of single requests. more waits for that many successful writes.
func writer(t *testing.T, clients kubernetes.Interface, ns string) (more func(n int64), stop func()) {
	ctx, cancel := context.WithCancel(world.Context(t))
	var done sync.WaitGroup
	var written atomic.Int64
	done.Go(func() {
		client := clients.AppsV1().ControllerRevisions(ns)
		for i := 0; ctx.Err() == nil; i++ {
			name := "busy-" + strconv.Itoa(i%7)
			_, err := client.Create(ctx, revision(name), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				err = client.Delete(ctx, name, metav1.DeleteOptions{})
			} else if present, failure := client.Get(ctx, name, metav1.GetOptions{}); failure == nil {
				present.Revision = int64(i)
				_, err = client.Update(ctx, present, metav1.UpdateOptions{})
			}
			if err == nil {
				written.Add(1)
			}
		}
	})
	more = func(n int64) {
		t.Helper()
		target := written.Load() + n
		world.Eventually(t, "writes succeed", func() bool { return written.Load() >= target })
	}
	return more, func() { cancel(); done.Wait() }
}

func TestInterrupted_informersMissNothing(t *testing.T) {
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	typed := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(ns)).Apps().V1().ControllerRevisions().Informer()
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(world.Got(dynamic.NewForConfig(world.Config(t)))(t), 0, ns, nil).
		ForResource(revisionsResource).Informer()
	ledgers := []*ledger{}
	for _, informer := range []cache.SharedIndexInformer{typed, untyped} {
		seen := follow(t, informer)
		seen.listsAgain = true
		ledgers = append(ledgers, seen)
		go informer.RunWithContext(ctx)
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	}
	for _, action := range []string{"cut", "restart", "compact", "restart"} {
		more, stop := writer(t, clients, ns)
		more(5)
		world.Control(t, action)
		more(5)
		stop()
		for _, ledger := range ledgers {
			ledger.settles(t, clients, ns)
		}
	}
}

// A watch that is resumed where it broke off, without a list in between, tells every change once.
func TestInterrupted_retryWatcherMissesNothing(t *testing.T) {
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	start := world.Got(client.List(ctx, metav1.ListOptions{}))(t).ResourceVersion
	watcher := world.Got(watchtools.NewRetryWatcherWithContext(ctx, start, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}))(t)
	world.Got(client.Create(ctx, revision("counted"), metav1.CreateOptions{}))(t)
	for n := int64(2); n <= 40; n++ {
		if n%10 == 5 {
			world.Control(t, "cut")
		}
		// An update whose connection was cut is made, or not: look before trying again.
		world.Eventually(t, "the revision is set", func() bool {
			present, err := client.Get(ctx, "counted", metav1.GetOptions{})
			if err == nil && present.Revision != n {
				present.Revision = n
				present, err = client.Update(ctx, present, metav1.UpdateOptions{})
			}
			return err == nil && present.Revision == n
		})
	}
	for expected := int64(1); expected <= 40; expected++ {
		event := <-watcher.ResultChan()
		if got, isRevision := event.Object.(*appsv1.ControllerRevision); !isRevision || got.Revision != expected {
			t.Fatalf("revision %d expected: %s %s", expected, event.Type, text(t, event.Object))
		}
	}
}

func TestInterrupted_staleWatchIsExpired(t *testing.T) {
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	old := world.Got(client.Create(ctx, revision("old"), metav1.CreateOptions{}))(t).ResourceVersion
	work(t, clients, ns, "more", 2)
	world.Control(t, "compact")
	world.Control(t, "restart")
	events, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: old})
	if err == nil {
		event := <-events.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before the compaction: %v", err)
	}
	_, err = client.List(ctx, metav1.ListOptions{ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a list at a compacted version: %v", err)
	}
}

// client-go's pager lists everything at once where its token has expired; and who prefers to go on has a token for that.
func TestInterrupted_pagesExpire(t *testing.T) {
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	crowd(t, clients, ns, 12)
	n := 0
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
		if n++; n == 2 {
			work(t, clients, ns, "more", 1)
			world.Control(t, "compact")
		}
		return clients.AppsV1().ControllerRevisions(ns).List(ctx, options)
	})
	pages.PageSize = 5
	whole, isPaged, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil || !isPaged || len(items(t, whole)) != 12 || n != 3 {
		t.Errorf("paged %v, %d calls, %v", isPaged, n, err)
	}

	first := world.Got(clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{Limit: 5}))(t)
	work(t, clients, ns, "again", 1)
	world.Control(t, "compact")
	_, err = clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{Limit: 5, Continue: first.Continue})
	status, isStatus := err.(apierrors.APIStatus)
	if !apierrors.IsResourceExpired(err) || !isStatus || status.Status().ListMeta.Continue == "" {
		t.Fatalf("an expired token: %v", err)
	}
	rest := world.Got(clients.AppsV1().ControllerRevisions(ns).List(ctx, metav1.ListOptions{Continue: status.Status().ListMeta.Continue}))(t)
	if len(rest.Items) != 7 || rest.Items[0].Name != "crowd-005" {
		t.Errorf("%d objects in the inconsistent rest", len(rest.Items))
	}
}

// The server takes one write at a time here, and etcd stands still: of two writes one waits, and the other is sent away.
func TestInterrupted_tooManyRequests(t *testing.T) {
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	world.Control(t, "pause")
	outcomes := make(chan error)
	for _, name := range []string{"a", "b"} {
		go func() {
			outcomes <- clients.AppsV1().RESTClient().Post().Namespace(ns).Resource("controllerrevisions").MaxRetries(0).Body(revision(name)).Do(ctx).Error()
		}()
	}
	err := <-outcomes
	if seconds, isSuggested := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !isSuggested || seconds != 1 {
		t.Errorf("%v, %d s", err, seconds)
	}
	world.Control(t, "resume")
	if err := <-outcomes; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
}
