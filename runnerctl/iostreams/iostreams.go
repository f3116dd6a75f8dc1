// Package iostreams is what commands read from and write to, so that a test can
// stand in for a person's terminal or for a pipe.
package iostreams

import (
	"context"
	"fmt"
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
	Color                 bool // a terminal may show colours

	// Secret reads a line from the terminal that In is, without showing it.
	Secret func(context.Context) (string, error)
}

// System returns the process's own streams. NO_COLOR and TERM=dumb turn colour off.
func System() *IOStreams {
	in := int(os.Stdin.Fd())
	return &IOStreams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(in),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Color:  os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Secret: func(ctx context.Context) (string, error) { return secretFrom(ctx, in) },
	}
}

// Say writes to Out for a person: what others wrote cannot steer the terminal.
func (s *IOStreams) Say(format string, args ...any) error {
	_, err := io.WriteString(s.Out, Printable(fmt.Sprintf(format, args...)))
	return err
}

// Note writes to Err in the same way. A failure has nobody to be told to.
func (s *IOStreams) Note(format string, args ...any) {
	_, _ = io.WriteString(s.Err, Printable(fmt.Sprintf(format, args...)))
}

// AllTo returns the streams with Out and Err both at one of them.
func (s *IOStreams) AllTo(w io.Writer, tty bool) *IOStreams {
	one := *s
	one.Out, one.Err, one.OutTTY, one.ErrTTY = w, w, tty, tty
	return &one
}
