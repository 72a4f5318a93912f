// Servers measures what test servers cost: annals in memory, annals on an etcd, and kube-apiserver with etcd by
// controller-runtime's envtest. servers.sh runs it; docs/explanation/performance.md has a run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"annals.dev/clients/go/annalstest"
)

const timeout = 5 * time.Minute // of a start or an end: twenty share the machine

type environment interface {
	Start() (*rest.Config, error)
	Stop() error
}

type kind struct {
	name string
	make func() environment
}

func annals(store string) func() environment {
	return func() environment {
		return &annalstest.Environment{Options: annalstest.Options{Store: store, StartTimeout: timeout, StopTimeout: timeout}}
	}
}

var kinds = []kind{
	{"annals in memory", annals("memory")},
	{"annals on etcd", annals("etcd")},
	{"envtest", func() environment {
		return &envtest.Environment{ControlPlaneStartTimeout: timeout, ControlPlaneStopTimeout: timeout}
	}},
}

// result of one round, in seconds and MiB.
type result struct {
	start, cpu, memory, stop float64
}

// firstList is when a test can begin.
func firstList(config *rest.Config) error {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = c.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	return err
}

// A kube-apiserver of envtest's outlives this program: an end is waited for, and stops those that have been started.
var interrupted, _ = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

func start(env environment) error {
	if interrupted.Err() != nil {
		return errors.New("interrupted")
	}
	config, err := env.Start()
	if err != nil {
		return err
	}
	return firstList(config)
}

// each does something with all of them, as many at once as the machine has processors.
func each(all []environment, do func(environment) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	slots := make(chan struct{}, runtime.NumCPU())
	for i, env := range all {
		wg.Go(func() {
			slots <- struct{}{}
			errs[i] = do(env)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func measure(k kind, n int) (result, error) {
	all := make([]environment, n)
	for i := range all {
		all[i] = k.make()
	}
	var r result
	begin := time.Now()
	err := each(all, start)
	if err == nil {
		r.start = time.Since(begin).Seconds()
		r.memory, r.cpu = footprint()
	}
	begin = time.Now()
	if stopErr := each(all, environment.Stop); err == nil {
		err = stopErr
	}
	r.stop = time.Since(begin).Seconds()
	return r, err
}

// footprint of all our descendants: proportional set size, so that pages which several share count once, and CPU until now.
func footprint() (mib, cpu float64) {
	parents := map[int]int{}
	stats := map[int][]string{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		stats[pid] = fields
	}
	for pid := range parents {
		ancestor := pid
		for ancestor > 1 && ancestor != os.Getpid() {
			ancestor = parents[ancestor]
		}
		if ancestor == os.Getpid() && pid != ancestor {
			mib += pss(pid)
			user, _ := strconv.ParseFloat(stats[pid][11], 64)
			system, _ := strconv.ParseFloat(stats[pid][12], 64)
			cpu += (user + system) / 100 // USER_HZ
		}
	}
	return mib, cpu
}

func pss(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == "Pss:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / 1024
		}
	}
	return 0
}

func median(of []result, value func(result) float64) float64 {
	values := make([]float64, len(of))
	for i, r := range of {
		values[i] = value(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func numbers(text string) (found []int, err error) {
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		found = append(found, n)
	}
	return found, nil
}

func main() {
	counts := flag.String("servers", "1,20", "how many servers")
	rounds := flag.Int("rounds", 3, "rounds of which the median counts")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	ns, err := numbers(*counts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println("| | servers | ready after, s | CPU, s | memory, MiB | stopped after, s |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, n := range ns {
		results := make([][]result, len(kinds))
		for range *rounds { // they take turns
			for i, k := range kinds {
				r, err := measure(k, n)
				if err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", k.name, err)
					os.Exit(1)
				}
				results[i] = append(results[i], r)
			}
		}
		for i, k := range kinds {
			fmt.Printf("| %s | %d | %.2f | %.2f | %.0f | %.2f |\n", k.name, n,
				median(results[i], func(r result) float64 { return r.start }), median(results[i], func(r result) float64 { return r.cpu }),
				median(results[i], func(r result) float64 { return r.memory }), median(results[i], func(r result) float64 { return r.stop }))
		}
	}
}
