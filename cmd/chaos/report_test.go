//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// maxTold bounds the breaches that are told in full.
const maxTold = 8

// print writes the summary, and fails the test if a promise was broken: which one, for which job, and how that came.
func (v *verdict) print() {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(t, "  %s\t%v\n", name, value) }
	kinds := map[kind]int{}
	for _, p := range v.load.accepted() {
		kinds[p.Kind]++
	}
	row("jobs accepted", len(v.load.accepted()))
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		row("- "+string(k), kinds[k])
	}
	row("attempts", v.tally.attempts)
	row("- lost", v.tally.lost)
	row("- given back", v.tally.released)
	faults := map[faultKind]int{}
	for _, s := range v.journal.all() {
		faults[s.fault]++
	}
	row("faults", len(v.journal.all()))
	for _, k := range slices.Sorted(maps.Keys(faults)) {
		row("- "+string(k), faults[k])
	}
	skewed := 0
	for i := range v.runners {
		if v.skewOf(i) != 0 {
			skewed++
		}
	}
	row("runners an hour ahead", skewed)
	row("calls that failed and were repeated", v.tally.retries)
	row("reports that had arrived before", v.tally.duplicates)
	row("stale writes refused", v.tally.refused())
	for _, tool := range slices.Sorted(maps.Keys(v.tally.stale)) {
		row("- "+tool, v.tally.stale[tool])
	}
	row("- of these by the saboteur", v.tally.replays)
	row("stale writes accepted", v.tally.acceptedStale)
	row("longest job", fmt.Sprintf("%s of %s (%s)", v.tally.oldest.Round(time.Millisecond), v.tally.oldestBound.Round(time.Millisecond), v.tally.oldestJob))
	row("promises broken", len(v.breaches))
	if err := t.Flush(); err != nil {
		v.Error(err)
	}
	v.Logf("seed %d\n%s", v.o.seed, b.String())
	if os.Getenv("CHAOS_KEEP") != "" {
		v.Logf("the longest job:\n%s", v.timeline(v.tally.oldestJob))
	}
	for i, x := range v.breaches {
		switch {
		case i < maxTold:
			v.Errorf("broken: %s\n    job %s: %s\n%s", x.promise, x.job, x.detail, v.timeline(x.job))
		case i == maxTold:
			v.Errorf("and %d more", len(v.breaches)-maxTold)
		}
	}
}
