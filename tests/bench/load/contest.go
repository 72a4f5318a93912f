package main

import (
	"fmt"
	"os"
	"slices"
)

// programs are the executables of a run. All but annals and etcd may be "".
type programs struct{ annals, etcd, kube, sample, before, bare string }

// contest is a comparison of annals with another subject.
type contest struct {
	title string
	other string
	start func(b *bench, p *programs) error // the subjects; none: there is nothing to compare
	plan  func(b *bench) []stage
	rows  func(b *bench) []row
}

var contests = []contest{
	{"Beside kube-apiserver", "kube-apiserver", (*bench).startBeside, (*bench).planBeside, (*bench).rowsBeside},
	{"Behind kube-apiserver", "sample-apiserver", (*bench).startBehind, (*bench).planBehind, (*bench).rowsBehind},
}

// hold runs a contest, if any of its workloads is wanted, and tells how it went.
func (b *bench) hold(c *contest, p *programs) error {
	stages := b.wanted(c.plan(b))
	if len(stages) == 0 {
		return nil
	}
	defer b.stopSubjects()
	if err := c.start(b, p); err != nil || len(b.subjects) == 0 {
		return err
	}
	from := len(b.samples)
	for _, st := range stages {
		if err := b.runStage(&st); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "\n%s: ratios within this run\n\n", c.title)
	b.printRatios(os.Stdout, c)
	fmt.Fprintf(os.Stdout, "\nAll of it (%%: of one core)\n\n")
	b.printDetails(os.Stdout, b.samples[from:])
	return nil
}

// wanted are the stages that have workloads to be run, with these alone.
func (b *bench) wanted(stages []stage) (out []stage) {
	for _, st := range stages {
		st.workloads = slices.DeleteFunc(st.workloads, func(w workload) bool { return !b.only.MatchString(w.name) })
		if len(st.workloads) > 0 {
			out = append(out, st)
		}
	}
	return out
}

func (b *bench) runStage(st *stage) error {
	for _, s := range b.subjects {
		if st.prepare == nil {
			break
		}
		if err := st.prepare(s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, w := range st.workloads {
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
			if err := b.runBare(w, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextSpace numbers namespaces: each write workload has its own.
func (b *bench) nextSpace() int {
	b.spaces++
	return b.spaces
}

func (b *bench) stopSubjects() {
	for _, s := range b.subjects {
		s.stop()
	}
	b.cluster.stop()
	b.bare.stop()
	b.subjects, b.cluster, b.bare = nil, nil, nil
}

func (b *bench) stop() {
	b.stopSubjects()
	b.folder.remove()
}

func (b *bench) startBeside(p *programs) error {
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
		s, err := newSubject(b.folder, of.name, of.executable, p.etcd, of.arguments, nil)
		if err != nil {
			return err
		}
		b.subjects = append(b.subjects, s)
	}
	if p.bare == "" {
		return nil
	}
	return b.startBare(p.bare)
}
