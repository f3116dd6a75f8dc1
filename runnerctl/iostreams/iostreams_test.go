package iostreams_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ü 日本 👩‍🚀\tx\ny": "plain ü 日本 👩‍🚀\tx\ny",
		"\x1b[2J\x07\r\x00":    "�[2J���",
		"a\u009b31mb":          "a�31mb", // CSI as one character
		"a\x9b31mb":            "a�31mb", // and as a byte
		"exe\u202etxt":         "exe�txt",
	} {
		if got := iostreams.Printable(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := iostreams.OneLine("a\tb\nc"); got != "a b c" {
		t.Errorf("a cell became %q", got)
	}
}

func TestTerminalShowsColoursAndNothingElse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{ // with and without colour
		"plain\r":                   {"plain", "plain"},
		"\x1b[1;31mred\x1b[0m text": {"\x1b[1;31mred\x1b[0m text\x1b[0m", "red text"},
		"\x1b]0;title\x07":          {"�]0;title�", "�]0;title�"},
		"\x1b[31m\x1b[2Jx":          {"\x1b[31m�[2Jx\x1b[0m", "�[2Jx"},
		"50%\r100%":                 {"50%�100%", "50%�100%"},
	} {
		for i, color := range []bool{true, false} {
			if got := iostreams.Terminal(in, color); got != want[i] {
				t.Errorf("%q (colour %v) became %q, want %q", in, color, got, want[i])
			}
		}
	}
}

// Whatever comes in, what is left besides colours has no control characters.
func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[31mx\x1b[\x1b[m0m", true)
	f.Add("\x1b\x1b[31m[2J", false)
	f.Fuzz(func(t *testing.T, line string, color bool) {
		got := iostreams.Terminal(line, color)
		if color {
			for _, sgr := range strings.SplitAfter(got, "m") {
				if i := strings.IndexByte(sgr, 0x1b); i >= 0 && strings.Trim(sgr[i:], "\x1b[0123456789;:m") == "" {
					got = strings.Replace(got, sgr[i:], "", 1)
				}
			}
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' }); i >= 0 {
			t.Errorf("%q became %q", line, got)
		}
	})
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"ak_1\n": "ak_1", " ak_1 \r\nmore": "ak_1", "ak_1": "ak_1"} {
		s := &iostreams.IOStreams{In: strings.NewReader(in)}
		if got, err := s.ReadLine(t.Context()); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "\n", "  "} {
		s := &iostreams.IOStreams{In: strings.NewReader(in)}
		if _, err := s.ReadLine(t.Context()); !errors.Is(err, iostreams.ErrNoInput) {
			t.Errorf("%q: %v, want ErrNoInput", in, err)
		}
	}
}

// A person who presses Ctrl-C at a prompt is not kept until they press Enter, too.
func TestAReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	s := &iostreams.IOStreams{In: r}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ReadLine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadLine: %v, want canceled", err)
	}
	if _, err := s.ReadAll(ctx, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAll: %v, want canceled", err)
	}
}

func TestAllTo(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := (&iostreams.IOStreams{Out: io.Discard, Err: io.Discard, OutTTY: true}).AllTo(&b, false)
	s.Note("a\x1b")
	if err := s.Say("%s", "b\x1b"); err != nil || b.String() != "a�b�" || s.OutTTY {
		t.Errorf("got %q, %v, terminal %v", &b, err, s.OutTTY)
	}
}
