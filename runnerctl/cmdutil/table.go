package cmdutil

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Table prints rows: aligned with a header on a terminal, and tab-separated without one in a
// pipe, so that a script can cut it. Nothing is printed of a table without rows.
type Table struct {
	io     *iostreams.IOStreams
	header []string
	rows   [][]string
}

// NewTable starts a table.
func NewTable(io *iostreams.IOStreams, header ...string) *Table {
	return &Table{io: io, header: header}
}

// Row adds a row.
func (t *Table) Row(cells ...string) {
	clean := make([]string, len(cells))
	for i, c := range cells {
		clean[i] = iostreams.OneLine(c)
	}
	t.rows = append(t.rows, clean)
}

// Print writes the table.
func (t *Table) Print() error {
	if len(t.rows) == 0 {
		return nil
	}
	if !t.io.OutTTY {
		for _, r := range t.rows {
			if err := t.io.Say("%s\n", strings.Join(r, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	w := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	w.AppendHeader(cells(t.header))
	for _, r := range t.rows {
		w.AppendRow(cells(r))
	}
	return t.io.Say("%s\n", w.Render())
}

func cells(of []string) table.Row {
	r := make(table.Row, len(of))
	for i, c := range of {
		r[i] = c
	}
	return r
}
