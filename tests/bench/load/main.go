// Measures annals beside kube-apiserver: each on an etcd of its own, workload by workload in turn, in one run on one machine. See
// docs/performance.md. `load scale` instead holds many objects and watchers in one annals and looks whether all is well.
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
	"slices"
	"syscall"
	"time"
)

type bench struct {
	folder           *folder
	subjects         []*subject
	script           string // for wrk
	rounds           int
	warm, length     time.Duration
	rest             time.Duration
	watchers, events int
	large            int // objects
	only             *regexp.Regexp
	samples          []*sample
	spaces           int
}

// nextSpace numbers namespaces: each write workload has its own.
func (b *bench) nextSpace() int {
	b.spaces++
	return b.spaces
}

func (b *bench) runStage(st *stage) error {
	var wanted []workload
	for _, w := range st.workloads {
		if b.only.MatchString(w.name) {
			wanted = append(wanted, w)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, s := range b.subjects {
		if st.prepare == nil {
			break
		}
		if err := st.prepare(s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, w := range wanted {
		if err := b.runWorkload(&w); err != nil {
			return err
		}
	}
	return nil
}

// runWorkload lets the subjects take turns: A B, B A, A B.
func (b *bench) runWorkload(w *workload) error {
	for round := 0; round < b.rounds; round++ {
		order := slices.Clone(b.subjects)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			out, err := w.run(s)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", w.name, s.name, err)
			}
			out.Workload, out.Subject = w.name, s.name
			b.samples = append(b.samples, out)
			progress(out)
		}
	}
	return nil
}

func (b *bench) run() error {
	for _, st := range b.plan() {
		if err := b.runStage(&st); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) stop() {
	for _, s := range b.subjects {
		s.stop()
	}
	b.folder.remove()
}

// programs are the executables of a run. kube and before may be "".
type programs struct{ annals, etcd, kube, before string }

func (b *bench) startSubjects(p *programs) error {
	for _, of := range []struct {
		name, executable string
		arguments        arguments
	}{
		{"annals", p.annals, annalsArguments},
		{"before", p.before, annalsArguments},
		{"kube-apiserver", p.kube, kubeArguments},
	} {
		if of.executable == "" {
			continue
		}
		s, err := newSubject(b.folder, of.name, of.executable, p.etcd, of.arguments)
		if err != nil {
			return err
		}
		b.subjects = append(b.subjects, s)
	}
	return nil
}

func (p *programs) resolve() error {
	for _, path := range []*string{&p.annals, &p.etcd, &p.kube, &p.before} {
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
	flag.StringVar(&p.before, "before", "", "another build of annals, to see what a change is worth")
	flag.StringVar(&b.script, "script", "tests/bench/paths.lua", "wrk's script")
	flag.IntVar(&b.rounds, "rounds", 1, "measurements of each workload, of which the median counts")
	flag.DurationVar(&b.length, "length", time.Second, "time of one")
	flag.DurationVar(&b.rest, "rest", time.Second, "rest before memory is looked at")
	flag.IntVar(&b.watchers, "watchers", 1000, "watches at once")
	flag.IntVar(&b.events, "events", 50, "events for each of them")
	flag.IntVar(&b.large, "objects", 100000, "objects of 1 KiB stored in the workloads that are about many")
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
		p.kube, p.before = "", ""
	}
	if err = b.startSubjects(&p); err != nil {
		return b.withLog(err)
	}
	if *scale {
		return b.withLog(b.scale(b.subjects[0]))
	}
	if err = b.run(); err != nil {
		return b.withLog(err)
	}
	b.printRatios(os.Stdout)
	b.printDetails(os.Stdout)
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
