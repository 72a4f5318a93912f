package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The same requests over HTTP/2, where a client has few connections with many requests at once on each: h2load asks, and Go's own
// client watches. A name's c4s16 is 4 connections with 16 streams each.

// h2load is what a workload over HTTP/2 sends.
type h2load struct {
	connections, streams int
	paths                []string
	body                 []byte // nil: GET, else POST
}

var (
	h2loadRate   = regexp.MustCompile(`requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored`)
	h2loadStatus = regexp.MustCompile(`status codes: (\d+) 2xx`)
	h2loadBytes  = regexp.MustCompile(`\((\d+)\) data`)
)

// hasH2load is false where nghttp2's client is not installed: then there is nothing to compare over HTTP/2.
func hasH2load() bool {
	_, err := exec.LookPath("h2load")
	return err == nil
}

func (b *bench) loadHTTP2(s *subject, l *h2load) (*sample, error) {
	list := b.folder.file("urls")
	var urls strings.Builder
	for _, path := range l.paths {
		fmt.Fprintf(&urls, "https://%s%s\n", s.host, path)
	}
	if err := os.WriteFile(list, []byte(urls.String()), 0o600); err != nil {
		return nil, err
	}
	seconds := max(1, int(b.length.Seconds()+0.5))
	argv := []string{"-t1", "-c" + strconv.Itoa(l.connections), "-m" + strconv.Itoa(l.streams), "-D" + strconv.Itoa(seconds), "-i", list,
		"-H", "accept: application/json"}
	for _, header := range s.headers {
		argv = append(argv, "-H", header)
	}
	if l.body != nil {
		file := b.folder.file("body")
		if err := os.WriteFile(file, l.body, 0o600); err != nil {
			return nil, err
		}
		argv = append(argv, "-d", file, "-H", "content-type: application/json")
	}
	cmd := exec.Command("h2load", argv...)
	p := startProbe(s)
	out, err := cmd.CombinedOutput()
	p.stop()
	if err != nil {
		return nil, fmt.Errorf("h2load: %v: %s", err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	p.child = syscall.TimevalToNsec(usage.Utime) + syscall.TimevalToNsec(usage.Stime)
	return h2loadResult(p, string(out))
}

func h2loadResult(p *probe, out string) (*sample, error) {
	counts, status, size := h2loadRate.FindStringSubmatch(out), h2loadStatus.FindStringSubmatch(out), h2loadBytes.FindStringSubmatch(out)
	if counts == nil || status == nil || size == nil || !strings.Contains(out, "Application protocol: h2") {
		return nil, fmt.Errorf("h2load says something else: %s", out)
	}
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	s := newSample()
	s.Ops = number(counts[1])
	s.Errors = s.Ops - number(status[1])
	if s.Errors != 0 {
		s.FirstErr = strings.TrimSpace(out)
	}
	p.fill(s)
	if s.Ops > 0 {
		s.Values[bytesEach] = float64(number(size[1])) / float64(s.Ops)
	}
	return s, nil
}

func (b *bench) getHTTP2(connections, streams int, query string) action {
	return func(s *subject) (*sample, error) {
		paths := someOf(manyObjects, func(i int) string { return s.path(manySpace, i) + query })
		return b.loadHTTP2(s, &h2load{connections: connections, streams: streams, paths: paths})
	}
}

func (b *bench) listHTTP2(connections, streams int, query string) action {
	return func(s *subject) (*sample, error) {
		return b.loadHTTP2(s, &h2load{connections: connections, streams: streams, paths: []string{s.collection(fewSpace) + query}})
	}
}

// createHTTP2 lets the server name the objects, since h2load sends one body.
func (b *bench) createHTTP2(connections, streams int) action {
	return func(s *subject) (*sample, error) {
		ns := fmt.Sprintf("bench-create-%d", b.nextSpace())
		if err := s.fill(ns, 0, 1, false); err != nil {
			return nil, err
		}
		f := fields{name: "new", group: groupOf(0), seq: "0"}
		body := strings.Replace(string(s.kind.appendObject(nil, ns, &f, data1k)), `"name":"new"`, `"generateName":"new-"`, 1)
		out, err := b.loadHTTP2(s, &h2load{connections: connections, streams: streams, paths: []string{s.collection(ns)}, body: []byte(body)})
		return out, errors.Join(err, s.clear(ns))
	}
}

// openWatchesHTTP2 has n watches, the same number on each connection.
func openWatchesHTTP2(s *subject, ns string, n, connections int) (*watching, error) {
	ws := &watching{watchers: make([]*watcher, n)}
	body, err := s.one(200, &request{method: "GET", path: s.collection(ns) + "?limit=1"})
	if err != nil {
		return ws, err
	}
	url := "https://" + s.host + s.collection(ns) + "?watch=1&resourceVersion=" + member(body, "resourceVersion")
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for k := 0; k < connections; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			transport := &http.Transport{TLSClientConfig: s.tls.Clone(), ForceAttemptHTTP2: true, DisableCompression: true}
			for i := k; i < n && errs[k] == nil; i += connections {
				ws.watchers[i], errs[k] = openWatchHTTP2(s, ws, transport, url)
			}
		}()
	}
	wg.Wait()
	return ws, errors.Join(errs...)
}

func openWatchHTTP2(s *subject, ws *watching, transport *http.Transport, url string) (*watcher, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	for _, header := range append([]string{"Accept: application/json"}, s.headers...) {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	answer, err := transport.RoundTrip(r)
	if err == nil && (answer.StatusCode != 200 || answer.ProtoMajor != 2) {
		answer.Body.Close()
		err = fmt.Errorf("watch: status %d over %s", answer.StatusCode, answer.Proto)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	w := &watcher{of: ws, from: answer.Body, end: func() { cancel(); answer.Body.Close(); transport.CloseIdleConnections() }}
	go w.follow()
	return w, nil
}

// bareHTTP2 asks the bare server for answers as long as those, over the same connections and streams.
func (b *bench) bareHTTP2(name string, of *sample) (*sample, error) {
	found := regexp.MustCompile(`\.c(\d+)s(\d+)`).FindStringSubmatch(name)
	if found == nil {
		return nil, nil
	}
	l := &h2load{paths: []string{fmt.Sprintf("/%.0f", of.Values[bytesEach])}}
	l.connections, _ = strconv.Atoi(found[1])
	l.streams, _ = strconv.Atoi(found[2])
	if strings.Contains(name, "create") {
		l.body = make([]byte, len(data1k)+300)
	}
	return b.loadHTTP2(b.bare, l)
}

func (b *bench) watchHTTP2(n, connections, events int) action {
	return b.watchBy(n, events, 20, func(s *subject, ns string) (*watching, error) { return openWatchesHTTP2(s, ns, n, connections) })
}

func (b *bench) planHTTP2() stage {
	if !hasH2load() {
		fmt.Fprintln(os.Stderr, "There is no h2load (Debian: nghttp2-client): nothing is measured over HTTP/2.")
		return stage{}
	}
	const cached = "?resourceVersion=0"
	return stage{b.fillForReads, []workload{
		{"h2.get1k.rv0.c1s64", b.getHTTP2(1, 64, cached)},
		{"h2.get1k.rv0.c4s16", b.getHTTP2(4, 16, cached)},
		{"h2.get1k.rv0.c64s1", b.getHTTP2(64, 1, cached)},
		{"h2.get1k.c1s64", b.getHTTP2(1, 64, "")},
		{"h2.list500.rv0.c4s1", b.listHTTP2(4, 1, cached)},
		{"h2.create1k.c1s64", b.createHTTP2(1, 64)},
		{fmt.Sprintf("h2.watch%d.c10", b.watchers), b.watchHTTP2(b.watchers, 10, b.events)},
	}}
}

func (b *bench) rowsHTTP2() []row {
	watch := fmt.Sprintf("h2.watch%d.c10", b.watchers)
	return []row{
		{"h2.get1k.rv0.c1s64", serverCPU, 8, 16},
		{"h2.get1k.rv0.c4s16", serverCPU, 8, 16},
		{"h2.get1k.rv0.c64s1", serverCPU, 8, 14},
		{"h2.get1k.c1s64", serverCPU, 8, 12},
		{"h2.list500.rv0.c4s1", serverCPU, 8, 14},
		{"h2.create1k.c1s64", serverCPU, 6, 14},
		{watch, serverCPU, 2, 8},
		{watch, idleWatcher, 0, 3.5},
	}
}
