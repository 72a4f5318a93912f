package main

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// scale creates b.large objects through the API, opens b.watchers watches, changes objects while all of them watch, restarts the
// server, and counts: nothing may fail or be missing.
func (b *bench) scale(s *subject) error {
	if err := s.addNamespace(growSpace); err != nil {
		return err
	}
	b.tell(s, "nothing stored, nobody there")
	for _, step := range []struct {
		what string
		run  func(*subject) error
	}{
		{fmt.Sprintf("%d objects of 1 KiB created", b.large), b.createAll},
		{"all read again in pages of 500", b.countAll},
		{fmt.Sprintf("%d watchers, each having seen %d events", b.watchers, b.events), b.watchAll},
		{"all objects there after a restart", b.restartAndCount},
	} {
		if err := step.run(s); err != nil {
			return fmt.Errorf("%s: not so: %w", step.what, err)
		}
		b.tell(s, step.what)
	}
	return nil
}

func (b *bench) tell(s *subject, what string) {
	b.settle()
	now, peak := memory(s.server.pid())
	fmt.Printf("%-50s %7.1f MiB now, %7.1f MiB at most, etcd %7.1f MiB\n", what, float64(now)/1024, float64(peak)/1024,
		float64(first(memory(s.etcd.pid())))/1024)
}

func first(a, _ int64) int64 { return a }

func (b *bench) createAll(s *subject) error {
	const connections = 64
	all, err := dialMany(s, connections)
	if err != nil {
		return err
	}
	defer all.close()
	var next atomic.Int64
	out := closedLoop(s, all, 0, forever, func(w int, c *client) (int, error) {
		i := int(next.Add(1)) - 1
		if i >= b.large {
			return 0, errNothingLeft
		}
		f := fields{name: nameOf(i), group: groupOf(i), seq: "0"}
		body, err := c.must(201, &request{method: "POST", path: s.collection(growSpace),
			body: s.kind.appendObject(nil, growSpace, &f, data1k)})
		return len(body), err
	})
	fmt.Fprintf(os.Stderr, "creating: %.0f a second, p99 %.0f µs\n", out.Values[rate], out.Values[p99])
	return out.err()
}

func (s *sample) err() error {
	if s.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%d errors, the first: %s", s.Errors, s.FirstErr)
}

func (b *bench) countAll(s *subject) error {
	c, err := dial(s)
	if err != nil {
		return err
	}
	defer c.close()
	seen := 0
	for next, isFirst := "", true; isFirst || next != ""; isFirst = false {
		path := s.collection(growSpace) + "?limit=500"
		if next != "" {
			path += "&continue=" + next
		}
		body, err := c.must(200, &request{method: "GET", path: path})
		if err != nil {
			return err
		}
		next = member(body, "continue")
		seen += strings.Count(string(body), mark)
	}
	if seen < b.large {
		return fmt.Errorf("%d of %d objects were listed", seen, b.large)
	}
	return nil
}

func (b *bench) watchAll(s *subject) error {
	ws, err := openWatches(s, growSpace, b.watchers)
	defer ws.close()
	if err != nil {
		return err
	}
	b.tell(s, fmt.Sprintf("%d watchers, idle", b.watchers))
	out, err := ws.deliver(s, growSpace, b.events, 20)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "watching: p50 %.0f µs, p99 %.0f µs from before the write\n", out.Values[p50], out.Values[p99])
	return out.err()
}

func (b *bench) restartAndCount(s *subject) error {
	s.server.stop()
	if _, err := s.start("/readyz"); err != nil {
		return err
	}
	return b.countAll(s)
}
