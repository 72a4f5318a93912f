package main

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sample is one measurement of one workload on one subject.
type sample struct {
	Workload string             `json:"workload"`
	Subject  string             `json:"subject"`
	Ops      int64              `json:"ops"`
	Errors   int64              `json:"errors"`
	FirstErr string             `json:"first_error,omitempty"`
	Values   map[string]float64 `json:"values"`
}

// Names of values. Workloads about starts and memory have some of their own.
const (
	rate      = "ops/s"
	p50       = "p50 µs"
	p99       = "p99 µs"
	serverCPU = "server µs"
	etcdCPU   = "etcd µs"
	proxyCPU  = "proxy µs"
	clientCPU = "client %" // of one core: near 100 the client is the limit
	otherCPU  = "other %"  // of one core, by processes that are not part of the run
	memoryNow = "MiB"
	memoryTop = "peak MiB"
	bytesEach = "bytes"
)

func newSample() *sample { return &sample{Values: map[string]float64{}} }

func (s *sample) fail(err error) {
	if s.Errors++; s.FirstErr == "" {
		s.FirstErr = err.Error()
	}
}

// probe reads clocks and memory around what is measured.
type probe struct {
	s      *subject
	child  int64 // CPU of a client that is another process
	before reading
	after  reading
}

type reading struct {
	at                time.Time
	server, etcd, own int64 // CPU
	proxy             int64
	busy, stolen      int64
	now, peak         int64 // the server's memory
}

func (p *probe) read() reading {
	r := reading{server: cpuTime(p.s.server.pid()), etcd: cpuTime(p.s.etcd.pid()), own: cpuTime(os.Getpid()),
		proxy: cpuTime(p.s.proxy.pid()), at: time.Now()}
	r.busy, r.stolen = busyTime()
	r.now, r.peak = memory(p.s.server.pid())
	return r
}

func startProbe(s *subject) *probe {
	resetPeak(s.server.pid())
	p := &probe{s: s}
	p.before = p.read()
	return p
}

func (p *probe) stop() { p.after = p.read() }

// fill says what the window's ops have cost.
func (p *probe) fill(into *sample) {
	after, before := p.after, p.before
	seconds := after.at.Sub(before.at).Seconds()
	server, etcd, proxy := after.server-before.server, after.etcd-before.etcd, after.proxy-before.proxy
	own := after.own - before.own + p.child
	other := after.busy - before.busy + after.stolen - before.stolen - server - etcd - proxy - own
	v := into.Values
	v[clientCPU] = float64(own) / 1e7 / seconds
	v[otherCPU] = max(0, float64(other)/1e7/seconds)
	v[memoryNow], v[memoryTop] = float64(after.now)/1024, float64(after.peak)/1024
	if into.Ops > 0 {
		v[rate] = float64(into.Ops) / seconds
		v[serverCPU] = float64(server) / 1e3 / float64(into.Ops)
		v[etcdCPU] = float64(etcd) / 1e3 / float64(into.Ops)
		if p.s.proxy != nil {
			v[proxyCPU] = float64(proxy) / 1e3 / float64(into.Ops)
		}
	}
}

func (s *sample) setLatencies(ns []int64) {
	if len(ns) == 0 {
		return
	}
	slices.Sort(ns)
	at := func(q float64) float64 { return float64(ns[min(len(ns)-1, int(q*float64(len(ns))))]) / 1e3 }
	s.Values[p50], s.Values[p99] = at(0.5), at(0.99)
}

// window is the time of a closed loop: what begins in it or before and ends in it counts.
const (
	warming int32 = iota
	measuring
	over
)

// worker is one client's part of a closed loop, written by its goroutine alone.
type worker struct {
	ops, bytes int64
	latencies  []int64
	failures   sample
	isDone     bool // there is nothing left to do
}

const forever = 24 * time.Hour

const failuresMax = 100 // of one worker: then it gives up

// closedLoop lets each client do step after step without pause. step returns the size of the answer.
func closedLoop(s *subject, all clients, warm, length time.Duration, step func(w int, c *client) (int, error)) *sample {
	var phase atomic.Int32
	var wg sync.WaitGroup
	workers := make([]worker, len(all))
	for i, c := range all {
		wg.Add(1)
		go func() {
			defer wg.Done()
			workers[i].run(&phase, func() (int, error) { return step(i, c) })
		}()
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	time.Sleep(warm)
	p := startProbe(s)
	phase.Store(measuring)
	select {
	case <-time.After(length):
	case <-ended:
	}
	phase.Store(over)
	p.stop()
	<-ended
	out := newSample()
	out.collect(workers)
	p.fill(out)
	return out
}

func (w *worker) run(phase *atomic.Int32, step func() (int, error)) {
	for phase.Load() != over && w.failures.Errors < failuresMax {
		began := time.Now()
		n, err := step()
		took := time.Since(began)
		if err == errNothingLeft {
			return
		}
		if err != nil {
			w.failures.fail(err)
		} else if phase.Load() == measuring {
			w.ops++
			w.bytes += int64(n)
			w.latencies = append(w.latencies, int64(took))
		}
	}
}

func (s *sample) collect(workers []worker) {
	var bytes int64
	var latencies []int64
	for i := range workers {
		w := &workers[i]
		s.Ops += w.ops
		s.Errors += w.failures.Errors
		if s.FirstErr == "" {
			s.FirstErr = w.failures.FirstErr
		}
		bytes += w.bytes
		latencies = append(latencies, w.latencies...)
	}
	if s.Ops > 0 {
		s.Values[bytesEach] = float64(bytes) / float64(s.Ops)
	}
	s.setLatencies(latencies)
}
