package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Where the objects are that reads ask for.
const (
	manySpace, manyObjects = "bench-many", 5000
	fewSpace, fewObjects   = "bench-few", 500
	growSpace              = "bench-grow"
)

const pathsEach = 1000 // different paths that a workload asks for

// readWith asks for paths with wrk, whose CPU is nobody's business here.
func (b *bench) readWith(s *subject, connections int, accept string, gzip bool, paths []string) (*sample, error) {
	list := b.folder.file("paths")
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	seconds := max(1, int(b.length.Seconds()+0.5))
	argv := []string{"-t1", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(seconds) + "s", "--latency", "--timeout", "20s",
		"-s", b.script, "-H", "Accept: " + accept}
	for _, header := range s.headers {
		argv = append(argv, "-H", header)
	}
	if gzip {
		argv = append(argv, "-H", "Accept-Encoding: gzip")
	}
	cmd := exec.Command("wrk", append(argv, "https://"+s.host+"/", "--", list)...)
	p := startProbe(s)
	out, err := cmd.CombinedOutput()
	p.stop()
	if err != nil {
		return nil, fmt.Errorf("wrk: %v: %s", err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	p.child = syscall.TimevalToNsec(usage.Utime) + syscall.TimevalToNsec(usage.Stime)
	return readResult(p, out)
}

// readResult takes the line that paths.lua prints.
func readResult(p *probe, out []byte) (*sample, error) {
	_, text, _ := strings.Cut(string(out), "JSON:")
	var r struct{ Requests, Bytes, P50, P99, Status, Connect, Read, Write, Timeout float64 }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("wrk: %v: %s", err, out)
	}
	s := newSample()
	s.Ops = int64(r.Requests)
	s.Errors = int64(r.Status + r.Connect + r.Read + r.Write + r.Timeout)
	if s.Errors > 0 {
		s.FirstErr = strings.TrimSpace(text)
	}
	p.fill(s)
	s.Values[p50], s.Values[p99] = r.P50, r.P99
	if s.Ops > 0 {
		s.Values[bytesEach] = r.Bytes / r.Requests
	}
	return s, nil
}

func someOf(n int, path func(i int) string) []string {
	random := rand.New(rand.NewSource(1))
	var out []string
	for i := 0; i < pathsEach; i++ {
		out = append(out, path(random.Intn(n)))
	}
	return out
}

func (b *bench) get(connections int, query string) action {
	return func(s *subject) (*sample, error) {
		paths := someOf(manyObjects, func(i int) string { return s.path(manySpace, i) + query })
		return b.readWith(s, connections, "application/json", false, paths)
	}
}

func (b *bench) list(query string, gzip bool) action {
	return func(s *subject) (*sample, error) {
		return b.readWith(s, 4, "application/json", gzip, []string{s.collection(fewSpace) + query})
	}
}

// selectTen asks for the ten objects of one group.
func (b *bench) selectTen(ns string, n int, query string) action {
	return func(s *subject) (*sample, error) {
		paths := someOf(n, func(i int) string {
			return s.collection(ns) + "?labelSelector=group%3D" + groupOf(i) + query
		})
		return b.readWith(s, 4, "application/json", false, paths)
	}
}

func (b *bench) discover(s *subject) (*sample, error) {
	return b.readWith(s, 4, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", false,
		[]string{"/apis"})
}

// chunks reads page after page of 100 of many objects, and begins again.
func (b *bench) chunks(s *subject) (*sample, error) {
	all, err := dialMany(s, 4)
	if err != nil {
		return nil, err
	}
	defer all.close()
	next := make([]string, len(all))
	first := s.collection(manySpace) + "?limit=100"
	return closedLoop(s, all, b.warm, b.length, func(w int, c *client) (int, error) {
		path := first
		if next[w] != "" {
			path += "&continue=" + next[w]
		}
		body, err := c.must(200, &request{method: "GET", path: path})
		next[w] = member(body, "continue")
		return len(body), err
	}), nil
}

// gzipFirst reads compressed pages of 500 of objects that nobody has listed before.
func (b *bench) gzipFirst(s *subject) (*sample, error) {
	ns := fmt.Sprintf("bench-gzip-%d", b.nextSpace())
	if err := s.fill(ns, 0, manyObjects, true); err != nil {
		return nil, err
	}
	all, err := dialMany(s, 1)
	if err != nil {
		return nil, err
	}
	defer all.close()
	first := s.collection(ns) + "?limit=500"
	next := ""
	out := closedLoop(s, all, 0, time.Minute, func(w int, c *client) (int, error) {
		path := first + next
		if path == "" {
			return 0, errNothingLeft
		}
		body, err := c.must(200, &request{method: "GET", path: path, gzip: true})
		if err != nil {
			return 0, err
		}
		text, err := inflate(body)
		if token := member(text, "continue"); token != "" {
			next = "&continue=" + token
		} else {
			first, next = "", ""
		}
		return len(body), err
	})
	return out, s.clear(ns)
}

func inflate(text []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (b *bench) fillForReads(s *subject) error {
	if err := s.fill(manySpace, 0, manyObjects, true); err != nil {
		return err
	}
	return s.fill(fewSpace, 0, fewObjects, true)
}

// settle gives garbage collectors and caches time to come to rest.
func (b *bench) settle() { time.Sleep(b.rest) }
