package main

// What a start is judged by.
const (
	firstAnswer = "first answer ms"
	cacheReady  = "cache ready ms"
	startCPU    = "start CPU ms"
)

// start stops the server and starts it again, with what etcd holds at that time: until it answers a read, and until it answers one
// from its cache.
func (b *bench) start(s *subject) (*sample, error) {
	s.server.stop()
	first := s.collection(growSpace) + "?limit=1"
	ms, err := s.start(first, s.collection(growSpace)+"?labelSelector=group%3Dg000000&resourceVersion=0")
	if err != nil {
		return nil, err
	}
	out := newSample()
	out.Values[startCPU] = float64(cpuTime(s.server.pid())) / 1e6
	b.settle()
	now, peak := memory(s.server.pid())
	out.Values[firstAnswer], out.Values[cacheReady] = ms[0], ms[1]
	out.Values[memoryNow], out.Values[memoryTop] = float64(now)/1024, float64(peak)/1024
	return out, nil
}

// emptyOut removes all objects, so that what follows begins with nothing stored.
func (b *bench) emptyOut(s *subject) error {
	if s.prefix == "" { // nothing was made yet: learn where it would be
		if err := s.fill(growSpace, 0, 1, false); err != nil {
			return err
		}
	}
	return s.clear("")
}

func (b *bench) grow(s *subject) error { return s.fillWith(growSpace, 0, b.large, true, dataText(b.size, "1")) }
