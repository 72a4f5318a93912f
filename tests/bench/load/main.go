// Measures annals beside kube-apiserver, and behind it beside sample-apiserver: each on an etcd of its own, workload by workload in
// turn, in one run on one machine. See docs/explanation/performance.md. `load scale` instead holds many objects and watchers in one annals and
// looks whether all is well.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

type bench struct {
	folder           *folder
	cluster          *subject   // the kube-apiserver that the subjects are behind, if any
	subjects         []*subject // of the contest that is on
	bare             *subject   // what beside is measured with, if any
	script           string     // for wrk
	rounds           int
	warm, length     time.Duration
	rest             time.Duration
	watchers, events int
	large, size      int // objects of the workloads about many, and bytes of data in each
	only             *regexp.Regexp
	samples          []*sample
	spaces           int
}

func (p *programs) resolve() error {
	for _, path := range []*string{&p.annals, &p.etcd, &p.kube, &p.sample, &p.before, &p.bare} {
		if *path == "" {
			continue
		}
		found, err := exec.LookPath(*path)
		if err != nil {
			return err
		}
		if *path, err = filepath.Abs(found); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := mainErr(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func mainErr() (err error) {
	var p programs
	b := &bench{warm: 200 * time.Millisecond}
	flag.StringVar(&p.annals, "annals", "build/annals", "annals")
	flag.StringVar(&p.etcd, "etcd", "etcd", "etcd, for each server one")
	flag.StringVar(&p.kube, "kube", "", "kube-apiserver to compare with")
	flag.StringVar(&p.sample, "sample", "", "sample-apiserver to compare with behind it")
	flag.StringVar(&p.before, "before", "", "another build of annals, to see what a change is worth")
	flag.StringVar(&p.bare, "bare", "", "a server that does nothing but answer, to compare the runs of different days")
	flag.StringVar(&b.script, "script", "tests/bench/paths.lua", "wrk's script")
	flag.IntVar(&b.rounds, "rounds", 1, "measurements of each workload, of which the median counts")
	flag.DurationVar(&b.length, "length", time.Second, "time of one")
	flag.DurationVar(&b.rest, "rest", time.Second, "rest before memory is looked at")
	flag.IntVar(&b.watchers, "watchers", 1000, "watches at once")
	flag.IntVar(&b.events, "events", 50, "events for each of them")
	flag.IntVar(&b.large, "objects", 100000, "objects stored in the workloads that are about many")
	flag.IntVar(&b.size, "size", 1024, "bytes of data in each of them")
	only := flag.String("only", "", "regular expression: workloads to run")
	result := flag.String("json", "", "file for all measurements")
	scale := flag.Bool("scale", false, "hold -objects and -watchers in annals, and check them")
	flag.Parse()

	if b.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if err = p.resolve(); err != nil {
		return err
	}
	if b.script, err = filepath.Abs(b.script); err != nil {
		return err
	}
	if b.folder, err = newFolder(); err != nil {
		return err
	}
	defer b.stop()
	b.stopOnSignal()
	fmt.Fprintf(os.Stderr, "etcd %s, folder %s\n", etcdVersion(p.etcd), b.folder.path)
	if *scale {
		p.kube, p.before, p.bare = "", "", ""
		if err = b.startBeside(&p); err == nil {
			err = b.scale(b.subjects[0])
		}
		return b.withLog(err)
	}
	for _, c := range contests {
		if err = b.hold(&c, &p); err != nil {
			return b.withLog(err)
		}
	}
	if *result != "" {
		err = b.writeJSON(*result)
	}
	if n := b.printErrors(os.Stdout); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests failed", n))
	}
	return err
}

func (b *bench) stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		b.stop()
		os.Exit(130)
	}()
}

// withLog shows what the servers have said last before their folder goes.
func (b *bench) withLog(err error) error {
	if err == nil {
		return nil
	}
	logs, _ := filepath.Glob(b.folder.file("*.log"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		fmt.Fprintf(os.Stderr, "-- %s\n%s\n", filepath.Base(log), text[max(0, len(text)-2000):])
	}
	return err
}
