package iostreams

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/term"
)

// maxLine bounds a line of input, in bytes; keys and tokens are far shorter.
const maxLine = 4096

// ErrNoInput says that a line was asked for and there is none.
var ErrNoInput = errors.New("standard input holds nothing")

// ReadLine reads the first line of In, without the space around it. It ends early with ctx.
func (s *IOStreams) ReadLine(ctx context.Context) (string, error) {
	line, err := await(ctx, func() (string, error) {
		return bufio.NewReader(io.LimitReader(s.In, maxLine)).ReadString('\n')
	})
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrNoInput
	}
	return "", err
}

// ReadAll reads In up to limit bytes. It ends early with ctx.
func (s *IOStreams) ReadAll(ctx context.Context, limit int64) ([]byte, error) {
	return await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(s.In, limit)) })
}

func secretFrom(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	raw, err := await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil { // the read still waits, and would leave the terminal without an echo
		err = errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
	return strings.TrimSpace(string(raw)), err
}

// await returns what read does, or ctx's cause: a read of a terminal or a pipe cannot be interrupted. It then stays
// behind until the program ends, which is soon.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := read()
		got <- answer{v, err}
	}()
	select {
	case a := <-got:
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
