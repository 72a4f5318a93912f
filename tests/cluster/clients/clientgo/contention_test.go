package clientgo

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals.dev/tests/cluster/clients/world"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

func TestContention_noUpdateIsLost(t *testing.T) {
	t.Parallel()
	clients, ctx, ns := world.Clientset(t, world.Config(t)), world.Context(t), world.Namespace(t)
	client := clients.AppsV1().ControllerRevisions(ns)
	world.Got(client.Create(ctx, revision("counter"), metav1.CreateOptions{}))(t)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 10 {
				patient := retry.DefaultBackoff
				patient.Steps = 100
				err := retry.RetryOnConflict(patient, func() error {
					present, err := client.Get(ctx, "counter", metav1.GetOptions{})
					if err == nil {
						present.Revision++
						_, err = client.Update(ctx, present, metav1.UpdateOptions{})
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if n := world.Got(client.Get(ctx, "counter", metav1.GetOptions{}))(t).Revision; n != 81 {
		t.Errorf("%d", n)
	}
}

// Three candidates, of which each leader is killed in turn: it neither renews nor gives its lease up.
func TestContention_leaderElection(t *testing.T) {
	t.Parallel()
	ctx, ns := world.Context(t), world.Namespace(t)
	clients := world.Clientset(t, world.Protobuf(t))
	var leaders atomic.Int32
	elected := make(chan int, 3)
	kill := [3]context.CancelFunc{}
	for i := range kill {
		life, cancel := context.WithCancel(ctx)
		kill[i] = cancel
		elector := world.Got(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: ns}, Client: clients.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("candidate-%d", i)}},
			LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					if leaders.Add(1) != 1 {
						t.Error("two leaders")
					}
					elected <- i
				},
				OnStoppedLeading: func() {},
			},
		}))(t)
		go elector.Run(life)
	}
	for term := range kill {
		leader := <-elected
		lease := world.Got(clients.CoordinationV1().Leases(ns).Get(ctx, "leader", metav1.GetOptions{}))(t)
		if *lease.Spec.HolderIdentity != fmt.Sprintf("candidate-%d", leader) || int(*lease.Spec.LeaseTransitions) != term {
			t.Errorf("term %d of candidate %d: %s", term, leader, text(t, lease.Spec))
		}
		leaders.Add(-1)
		kill[leader]()
	}
}
