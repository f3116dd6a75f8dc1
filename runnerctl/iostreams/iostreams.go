// Package iostreams is what commands read from and write to, so that a test can
// stand in for a person's terminal or for a pipe.
package iostreams

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IOStreams is one command's input and output. Data goes to Out and nothing else does;
// progress, warnings and errors go to Err.
type IOStreams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	Color                 bool
	Width                 int // of the terminal, 0 when Out is none
}

// System returns the process's own streams. NO_COLOR and TERM=dumb turn colour off.
func System() *IOStreams {
	s := &IOStreams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if s.OutTTY {
		if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			s.Width = w
		}
	}
	return s
}
