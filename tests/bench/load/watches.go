package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var epoch = time.Now()

func sinceEpoch() int64 { return int64(time.Since(epoch)) }

// watcher reads one watch and takes the times of sending out of the events' objects, without parsing them.
type watcher struct {
	from      io.Reader
	end       func()
	tail      []byte // the beginning of a mark that the last read has cut off
	latencies []int64
	bytes     int64
	of        *watching
}

// watching is a number of watches on one namespace.
type watching struct {
	watchers []*watcher
	seen     atomic.Int64 // events, by all
	isClosed atomic.Bool
	broken   atomic.Int64
	first    atomic.Value // error
}

func (ws *watching) close() {
	ws.isClosed.Store(true)
	for _, w := range ws.watchers {
		if w != nil {
			w.end()
		}
	}
}

func (w *watcher) take(text []byte) {
	w.bytes += int64(len(text))
	if len(w.tail) > 0 {
		text = append(w.tail, text...)
	}
	for {
		_, rest, ok := bytes.Cut(text, []byte(mark))
		if !ok {
			w.tail = append([]byte(nil), text[max(0, len(text)-len(mark)+1):]...)
			return
		}
		if len(rest) < markSize {
			w.tail = append([]byte(mark), rest...)
			return
		}
		if sent, err := strconv.ParseInt(string(rest[:markSize]), 10, 64); err == nil {
			w.latencies = append(w.latencies, sinceEpoch()-(sent-1e18))
			w.of.seen.Add(1)
		}
		text = rest[markSize:]
	}
}

func (w *watcher) follow() {
	buffer := make([]byte, 16<<10)
	for {
		n, err := w.from.Read(buffer)
		w.take(buffer[:n])
		if err != nil {
			if err == io.EOF {
				err = errors.New("watch ended by the server")
			}
			if !w.of.isClosed.Load() {
				w.of.broken.Add(1)
				w.of.first.CompareAndSwap(nil, err)
			}
			return
		}
	}
}

func openWatch(s *subject, ws *watching, path string) (*watcher, error) {
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	if err = c.send(&request{method: "GET", path: path}); err == nil {
		var status int
		if status, _, err = c.readHead(); err == nil && status != 200 {
			err = fmt.Errorf("watch: status %d", status)
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return &watcher{from: c.reader, end: c.close, of: ws}, nil
}

const (
	opening     = 16               // watches at once
	deliveryMax = 20 * time.Second // then an event counts as lost
)

func openWatches(s *subject, ns string, n int) (*watching, error) {
	ws := &watching{watchers: make([]*watcher, n)}
	body, err := s.one(200, &request{method: "GET", path: s.collection(ns) + "?limit=1"})
	if err != nil {
		return ws, err
	}
	path := s.collection(ns) + "?watch=1&resourceVersion=" + member(body, "resourceVersion")
	errs := make([]error, opening)
	var next atomic.Int64
	var wg sync.WaitGroup
	for k := 0; k < opening; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := int(next.Add(1)) - 1; i < n && errs[k] == nil; i = int(next.Add(1)) - 1 {
				if ws.watchers[i], errs[k] = openWatch(s, ws, path); errs[k] == nil {
					go ws.watchers[i].follow()
				}
			}
		}()
	}
	wg.Wait()
	return ws, errors.Join(errs...)
}

// deliver creates n objects at a steady rate and waits until every watcher has seen them all.
func (ws *watching) deliver(s *subject, ns string, n int, perSecond float64) (*sample, error) {
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer c.close()
	out := newSample()
	p := startProbe(s)
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for i := 0; i < n; i++ {
		<-tick.C
		f := fields{name: fmt.Sprintf("event-%x", names.Add(1)), group: "g0", seq: "0", sent: sinceEpoch()}
		if _, err := c.must(201, &request{method: "POST", path: s.collection(ns), body: s.kind.appendObject(nil, ns, &f, data1k)}); err != nil {
			out.fail(err)
		}
	}
	want := int64(n * len(ws.watchers))
	for deadline := time.Now().Add(deliveryMax); ws.seen.Load() < want && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	p.stop()
	out.Ops = ws.seen.Load()
	p.fill(out)
	ws.report(out, want)
	return out, nil
}

func (ws *watching) report(out *sample, want int64) {
	if out.Ops != want {
		out.fail(fmt.Errorf("%d of %d events were delivered", out.Ops, want))
	}
	if n := ws.broken.Load(); n > 0 {
		out.fail(fmt.Errorf("%d watches broke: %v", n, ws.first.Load()))
	}
	var all []int64
	var bytes int64
	for _, w := range ws.watchers {
		all = append(all, w.latencies...)
		bytes += w.bytes
	}
	out.setLatencies(all)
	if out.Ops > 0 {
		out.Values[bytesEach] = float64(bytes) / float64(out.Ops)
	}
}

const (
	connectCPU  = "connect µs"
	idleWatcher = "KiB/watcher"
)

// watch opens n watches, and then makes events for all of them. Latency counts from before the write is sent.
func (b *bench) watch(n, events int, perSecond float64) action {
	return b.watchBy(n, events, perSecond, func(s *subject, ns string) (*watching, error) { return openWatches(s, ns, n) })
}

func (b *bench) watchBy(n, events int, perSecond float64, open func(s *subject, ns string) (*watching, error)) action {
	return func(s *subject) (*sample, error) {
		ns := fmt.Sprintf("bench-watch-%d", b.nextSpace())
		if err := s.fill(ns, 0, 1, false); err != nil {
			return nil, err
		}
		b.settle()
		before, _ := memory(s.server.pid())
		p := startProbe(s)
		ws, err := open(s, ns)
		defer ws.close()
		if err != nil {
			return nil, err
		}
		p.stop()
		connecting := newSample()
		connecting.Ops = int64(n)
		p.fill(connecting)
		b.settle()
		idle, _ := memory(s.server.pid())
		out, err := ws.deliver(s, ns, events, perSecond)
		if err != nil {
			return nil, err
		}
		out.Values[connectCPU] = connecting.Values[serverCPU]
		out.Values[idleWatcher] = float64(idle-before) / float64(n)
		ws.close()
		return out, s.clear(ns)
	}
}
