package cmdutil

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// AddJSON gives a command the flag --json and lists in its help the fields that each
// object has, which a test pins. sample is what the command prints, or one element of it.
func AddJSON(c *cobra.Command, on *bool, sample any) {
	c.Flags().BoolVar(on, "json", false, "print JSON instead of text")
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Long += "\n\nJSON fields: " + strings.Join(JSONFields(sample), ", ")
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

// Bytes shows a size in one unit.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n), "KMGTPE"
	at := -1
	for value >= unit {
		value /= unit
		at++
	}
	return fmt.Sprintf("%.1f %ciB", value, units[at])
}
