package follow

import (
	"encoding/base64"
	"fmt"
	"io"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Printer writes log lines: the job's standard output to Out, everything else to
// Err, a service's lines behind its name. A pipe gets a job's bytes as they are; a terminal gets
// what cannot steer it.
type Printer struct {
	IO         *iostreams.IOStreams
	Timestamps bool

	open map[int]string // where a piece of a line was written last → whose
}

// Places where lines go to.
const (
	toOut = iota
	toErr
)

// Print writes one line, or a piece of one.
func (p *Printer) Print(l mcp.LogLine) error {
	data := l.Text
	if l.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(l.Base64)
		if err != nil {
			return fmt.Errorf("the hub sent a log line that is not base64: %w", err)
		}
		data = string(raw)
	}
	w, tty, place := p.IO.Err, p.IO.ErrTTY, toErr
	if l.Stream == "stdout" && l.Service == "" {
		w, tty, place = p.IO.Out, p.IO.OutTTY, toOut
	}
	if p.IO.OutTTY && p.IO.ErrTTY {
		place = toErr // one screen
	}
	if tty {
		data = iostreams.Terminal(data, p.IO.Color)
	}
	_, err := io.WriteString(w, p.begin(l, place)+data+p.end(l, place))
	return err
}

func source(l mcp.LogLine) string { return l.Stream + "/" + l.Service + "/" + l.Step }

// begin is what stands before a piece: nothing where it goes on with a line.
func (p *Printer) begin(l mcp.LogLine, place int) string {
	before := ""
	switch p.open[place] {
	case source(l):
		return ""
	case "":
	default: // another one's line is not at its end
		before = "\n"
	}
	if p.Timestamps {
		before += l.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
	}
	switch {
	case l.Stream == "system":
		before += "# "
	case l.Service != "":
		before += iostreams.OneLine(l.Service) + " | "
	}
	return before
}

func (p *Printer) end(l mcp.LogLine, place int) string {
	if p.open == nil {
		p.open = map[int]string{}
	}
	if l.Partial {
		p.open[place] = source(l)
		return ""
	}
	delete(p.open, place)
	return "\n"
}
