package cmdutil

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// AddJSON gives a command the flag --json and lists in its help the fields that each
// object has, which a test pins. sample is what the command prints, or one element of it.
func AddJSON(c *cobra.Command, on *bool, sample any) {
	c.Flags().BoolVar(on, "json", false, "print JSON instead of text")
	fields := JSONFields(sample)
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Long += "\n\nJSON fields: " + strings.Join(fields, ", ")
}

// JSONFields lists the fields that a struct marshals to, in order, those of embedded structs too.
func JSONFields(sample any) []string {
	return jsonFields(reflect.TypeOf(sample))
}

func jsonFields(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, jsonFields(f.Type)...)
		case name != "" && name != "-":
			out = append(out, name)
		}
	}
	return out
}

// PrintJSON writes v, indented.
func PrintJSON(io *iostreams.IOStreams, v any) error {
	enc := json.NewEncoder(io.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Table prints rows: aligned with a header on a terminal, and tab-separated without one in a
// pipe, so that a script can cut it.
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
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Print writes the table.
func (t *Table) Print() error {
	if !t.io.OutTTY {
		for _, r := range t.rows {
			clean := make([]string, len(r))
			for i, c := range r {
				clean[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(Printable(c))
			}
			if _, err := fmt.Fprintln(t.io.Out, strings.Join(clean, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	w := table.NewWriter()
	w.SetOutputMirror(t.io.Out)
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	w.SetStyle(style)
	if t.io.Width > 0 {
		w.SuppressTrailingSpaces()
	}
	w.AppendHeader(row(t.header))
	for _, r := range t.rows {
		w.AppendRow(row(r))
	}
	w.Render()
	return nil
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = Printable(c)
	}
	return r
}

// Printable replaces control characters, so that what others wrote (names, reasons) cannot
// steer the terminal. Tabs and line ends stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\t' && r != '\n') || (r >= 0x7f && r < 0xa0) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Ago says how long ago t was, in one unit.
func Ago(now time.Time, t *time.Time) string {
	if t == nil || t.IsZero() {
		return "never"
	}
	d := now.Sub(*t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

// Millis shows a duration given in milliseconds.
func Millis(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d >= 10*time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}
