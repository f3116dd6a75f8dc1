// Package report keeps what was measured, and shows it as the table of docs/performance.md.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// Row is one line of the table.
type Row struct {
	Place    int    // from 1
	What     string // is measured
	Measured string
	Goal     string
	Met      bool
}

// Report is the rows of one run. It is safe for concurrent use.
type Report struct {
	mu   sync.Mutex
	rows []Row
}

// Add adds a row, or replaces the one at its place.
func (r *Report) Add(row Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = slices.DeleteFunc(r.rows, func(old Row) bool { return old.Place == row.Place })
	r.rows = append(r.rows, row)
	slices.SortFunc(r.rows, func(a, b Row) int { return cmp.Compare(a.Place, b.Place) })
}

// Len is how many rows there are.
func (r *Report) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.rows)
}

// Print writes the rows for a person at a terminal.
func (r *Report) Print(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		verdict := "MISSED"
		if row.Met {
			verdict = "met"
		}
		fmt.Fprintf(w, "%-6s %s\n       %s (goal: %s)\n", verdict, row.What, row.Measured, row.Goal)
	}
}

// markdown is the table.
func (r *Report) markdown() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	b.WriteString("| | measured on the same machine in one run | reached | goal | |\n|---|---|---|---|---|\n")
	for _, row := range r.rows {
		verdict := "**missed**"
		if row.Met {
			verdict = "met"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", row.Place, row.What, row.Measured, row.Goal, verdict)
	}
	return b.String()
}

// Table is the lines of a document between which a table stands.
type Table struct{ Begin, End string }

// The tables of docs/performance.md.
var (
	Hubs       = Table{"<!-- bench:begin, written by `make bench` -->", "<!-- bench:end -->"}
	Topologies = Table{"<!-- bench:topologies:begin, written by `make bench` -->", "<!-- bench:topologies:end -->"}
)

// Write puts the table and what it was measured on into a document.
func (r *Report) Write(path string, table Table, machine string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), table.Begin+"\n")
	_, after, ended := strings.Cut(rest, table.End)
	if !found || !ended {
		return errors.New(path + " lacks the lines between which the table stands")
	}
	return os.WriteFile(path, []byte(before+table.Begin+"\n\n"+machine+"\n\n"+r.markdown()+"\n"+table.End+after), 0o644) //nolint:gosec // a document
}
