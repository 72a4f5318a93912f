package main

import "fmt"

// action measures one subject once.
type action func(s *subject) (*sample, error)

// stage is a group of workloads and what has to be there for them.
type stage struct {
	prepare   func(s *subject) error // may be nil
	workloads []workload
}

type workload struct {
	name string
	run  action
}

func (b *bench) planBeside() []stage {
	return []stage{b.planStart(), b.planReads(), b.planWrites(), b.planWatches(), b.planHTTP2(), b.planGrowth()}
}

func (b *bench) planStart() stage {
	return stage{b.emptyOut, []workload{{"start.0", b.start}}}
}

func (b *bench) planReads() stage {
	const cached = "?resourceVersion=0"
	return stage{b.fillForReads, []workload{
		{"get1k.rv0.c64", b.get(64, cached)},
		{"get1k.rv0.c1", b.get(1, cached)},
		{"get1k.c16", b.get(16, "")},
		{"get1k.c64", b.get(64, "")},
		{"list500.rv0", b.list(cached, false)},
		{"list500.rv0.gzip", b.list(cached, true)},
		{"list500.gzip.first", b.gzipFirst},
		{"list500", b.list("", false)},
		{"select10.5000.rv0", b.selectTen(manySpace, manyObjects, "&resourceVersion=0")},
		{"select10.5000", b.selectTen(manySpace, manyObjects, "")},
		{"chunk100", b.chunks},
		{"discovery", b.discover},
	}}
}

func (b *bench) planWrites() stage {
	return stage{nil, []workload{
		{"create1k.c1", b.write("create", writing{connections: 1, step: create(data1k)})},
		{"create1k.c16", b.write("create", writing{connections: 16, step: create(data1k)})},
		{"create1k.c64", b.write("create", writing{connections: 64, step: create(data1k)})},
		{"create10k.c16", b.write("create", writing{connections: 16, step: create(data10k)})},
		{"put.c16", b.write("put", writing{connections: 16, step: put})},
		{"patch.c16", b.write("patch", writing{connections: 16, step: patch})},
		{"refused.c16", b.write("refused", writing{connections: 16, step: refused})},
		{"delete.c16", b.remove},
	}}
}

func (b *bench) planWatches() stage {
	return stage{nil, []workload{{fmt.Sprintf("watch%d", b.watchers), b.watch(b.watchers, b.events, 20)}}}
}

func (b *bench) planGrowth() stage {
	large := fmt.Sprint(b.large)
	return stage{b.grow, []workload{
		{"start." + large, b.start},
		{"select10." + large + ".rv0", b.selectTen(growSpace, b.large, "&resourceVersion=0")},
		{"create1k.c16." + large, b.write("create", writing{connections: 16, step: create(data1k)})},
		{"watch100." + large, b.watch(100, b.events, 20)},
	}}
}

// row is one line of the comparison: a value of a workload. aim is what the design had to show it can reach, goal where it is to
// get: both as "one N-th of the other's", or of rates as "N times the other's"; 0: none.
type row struct {
	workload, value string
	aim, goal       float64
}

func (b *bench) rowsBeside() []row {
	large := fmt.Sprint(b.large)
	watch := fmt.Sprintf("watch%d", b.watchers)
	return append([]row{
		{"get1k.rv0.c64", serverCPU, 8, 12},
		{"get1k.rv0.c1", serverCPU, 8, 12},
		{"get1k.c16", serverCPU, 8, 12},
		{"get1k.c16", etcdCPU, 0, 4},
		{"get1k.c64", serverCPU, 8, 12},
		{"get1k.c64", etcdCPU, 0, 16},
		{"list500.rv0", serverCPU, 8, 14},
		{"list500.rv0.gzip", serverCPU, 8, 80},
		{"list500.gzip.first", serverCPU, 8, 9},
		{"list500", serverCPU, 8, 14},
		{"select10.5000.rv0", serverCPU, 8, 45},
		{"select10.5000", serverCPU, 8, 45},
		{"select10." + large + ".rv0", serverCPU, 8, 1000},
		{"chunk100", serverCPU, 8, 12},
		{"discovery", serverCPU, 8, 15},
		{"create1k.c1", serverCPU, 6, 11},
		{"create1k.c16", serverCPU, 6, 11},
		{"create1k.c64", serverCPU, 6, 11},
		{"create10k.c16", serverCPU, 6, 20},
		{"create1k.c16." + large, serverCPU, 6, 11},
		{"put.c16", serverCPU, 6, 18},
		{"patch.c16", serverCPU, 6, 18},
		{"refused.c16", serverCPU, 6, 30},
		{"delete.c16", serverCPU, 6, 12},
		{watch, serverCPU, 2, 2.5},
		{watch, connectCPU, 0, 4},
		{watch, idleWatcher, 0, 3.5},
		{"start.0", firstAnswer, 20, 40},
		{"start.0", memoryNow, 10, 15},
		{"start." + large, cacheReady, 0, 5},
		{"start." + large, memoryNow, 0, 4},
		{"watch100." + large, serverCPU, 0, 0},
	}, b.rowsHTTP2()...)
}
