package main

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
)

var errNothingLeft = errors.New("nothing left")

// writer is one client of a write workload and the object it works on.
type writer struct {
	fields
	path string // of its object
	made int    // requests so far
}

// writing is a workload of writes in a namespace of its own.
type writing struct {
	connections int
	objects     int // there from the beginning; 0: one for each connection
	step        func(b *bench, s *subject, ns string, w *writer, c *client) (int, error)
}

func (b *bench) write(name string, wl writing) action {
	return func(s *subject) (*sample, error) {
		ns := fmt.Sprintf("bench-%s-%d", name, b.nextSpace())
		n := max(wl.objects, wl.connections)
		if err := s.fill(ns, 0, n, false); err != nil {
			return nil, err
		}
		all, err := dialMany(s, wl.connections)
		if err != nil {
			return nil, err
		}
		defer all.close()
		writers := make([]writer, len(all))
		for i, c := range all {
			if err := writers[i].init(s, ns, i, c); err != nil {
				return nil, err
			}
		}
		out := closedLoop(s, all, b.warm, b.length, func(i int, c *client) (int, error) {
			writers[i].made++
			return wl.step(b, s, ns, &writers[i], c)
		})
		return out, s.clear(ns)
	}
}

func (w *writer) init(s *subject, ns string, i int, c *client) error {
	w.name, w.path = nameOf(i), s.path(ns, i)
	body, err := c.must(200, &request{method: "GET", path: w.path})
	w.version = member(body, "resourceVersion")
	return err
}

// change makes the next version of a writer's labels.
func (w *writer) change() {
	w.seq = strconv.Itoa(w.made)
	w.group = groupOf(w.made)
}

var names atomic.Int64

func create(data string) func(*bench, *subject, string, *writer, *client) (int, error) {
	return func(b *bench, s *subject, ns string, w *writer, c *client) (int, error) {
		f := fields{name: fmt.Sprintf("new-%x", names.Add(1)), group: groupOf(w.made), seq: strconv.Itoa(w.made)}
		body, err := c.must(201, &request{method: "POST", path: s.collection(ns), body: s.kind.appendObject(nil, ns, &f, data)})
		return len(body), err
	}
}

func put(b *bench, s *subject, ns string, w *writer, c *client) (int, error) {
	w.change()
	body, err := c.must(200, &request{method: "PUT", path: w.path, body: s.kind.appendObject(nil, ns, &w.fields, data1k)})
	w.version = member(body, "resourceVersion")
	return len(body), err
}

func patch(b *bench, s *subject, ns string, w *writer, c *client) (int, error) {
	body, err := c.must(200, &request{method: "PATCH", path: w.path, contentType: "application/merge-patch+json",
		body: []byte(`{"metadata":{"labels":{"seq":"` + strconv.Itoa(w.made) + `"}}}`)})
	return len(body), err
}

// refused asks for what both servers forbid: another data.
func refused(b *bench, s *subject, ns string, w *writer, c *client) (int, error) {
	w.change()
	body, err := c.must(422, &request{method: "PUT", path: w.path, body: s.kind.appendObject(nil, ns, &w.fields, changedData)})
	return len(body), err
}

// remove deletes one object after the other, until there is none left.
func (b *bench) remove(s *subject) (*sample, error) {
	var next atomic.Int64
	n := int(8000 * (b.length + b.warm).Seconds())
	return b.write("delete", writing{connections: 16, objects: n,
		step: func(b *bench, s *subject, ns string, w *writer, c *client) (int, error) {
			i := int(next.Add(1)) - 1
			if i >= n {
				return 0, errNothingLeft
			}
			body, err := c.must(200, &request{method: "DELETE", path: s.path(ns, i)})
			return len(body), err
		}})(s)
}
