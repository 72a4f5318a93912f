package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// value is the median over the rounds.
func (b *bench) value(subject, workload, name string) (float64, bool) {
	var all []float64
	for _, s := range b.samples {
		if v, ok := s.Values[name]; ok && s.Subject == subject && s.Workload == workload {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

func number(v float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func fraction(n float64) string {
	switch {
	case n == 0:
		return "-"
	case n >= 10 || n == float64(int(n)):
		return fmt.Sprintf("1/%.0f", n)
	default:
		return fmt.Sprintf("1/%.1f", n)
	}
}

func multiple(n float64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", n)
}

// verdict says which of aim and goal a ratio has reached.
func (r *row) verdict(times float64) string {
	switch {
	case times == 0:
		return ""
	case r.goal > 0 && times >= r.goal:
		return "goal"
	case r.aim > 0 && times >= r.aim:
		return "aim"
	case r.aim > 0:
		return "below"
	default:
		return ""
	}
}

// times is how much better mine is, and how to write such ratios.
func (r *row) times(mine, theirs float64) (times float64, write func(float64) string) {
	if r.value == rate {
		return mine / theirs, multiple
	}
	return theirs / mine, fraction
}

// printRatios compares annals with the other, if that is there.
func (b *bench) printRatios(out io.Writer, c *contest) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "workload\tvalue\tannals\t%s\tratio\taim\tgoal\treached\t\n", c.other)
	for _, r := range c.rows(b) {
		mine, ok := b.value("annals", r.workload, r.value)
		theirs, isThere := b.value(c.other, r.workload, r.value)
		if !ok {
			continue
		}
		times, write := 0.0, fraction
		if isThere && mine > 0 && theirs > 0 {
			times, write = r.times(mine, theirs)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.workload, r.value, number(mine, true), number(theirs, isThere),
			write(times), write(r.aim), write(r.goal), r.verdict(times))
	}
	w.Flush()
}

var details = []string{rate, p50, p99, serverCPU, etcdCPU, proxyCPU, memoryNow, memoryTop, bytesEach, clientCPU, otherCPU}

func (b *bench) printDetails(out io.Writer, samples []*sample) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "workload\tserver\t%s\t\n", strings.Join(details, "\t"))
	seen := map[string]bool{}
	for _, s := range samples {
		key := s.Workload + " " + s.Subject
		if seen[key] || s.Values[rate] == 0 {
			continue
		}
		seen[key] = true
		fmt.Fprintf(w, "%s\t%s\t", s.Workload, s.Subject)
		for _, name := range details {
			fmt.Fprintf(w, "%s\t", number(b.value(s.Subject, s.Workload, name)))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// printErrors returns how many there were.
func (b *bench) printErrors(out io.Writer) (n int64) {
	for _, s := range b.samples {
		if s.Errors > 0 {
			fmt.Fprintf(out, "\n%s on %s: %d errors, the first: %s\n", s.Workload, s.Subject, s.Errors, s.FirstErr)
			n += s.Errors
		}
	}
	return n
}

func (b *bench) writeJSON(path string) error {
	text, err := json.MarshalIndent(map[string]any{"cpus": runtime.NumCPU(), "samples": b.samples}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// progress is a line for each sample, while the run goes on.
func progress(s *sample) {
	var parts []string
	for _, name := range append([]string{firstAnswer, cacheReady, connectCPU, idleWatcher}, details...) {
		if v, ok := s.Values[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", name, number(v, true)))
		}
	}
	fmt.Fprintf(os.Stderr, "%5.0fs %-20s %-14s %s\n", float64(sinceEpoch())/1e9, s.Workload, s.Subject, strings.Join(parts, ", "))
	if s.Errors > 0 {
		fmt.Fprintf(os.Stderr, "       %d errors: %s\n", s.Errors, s.FirstErr)
	}
}
