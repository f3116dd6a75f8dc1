package attempt

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/topology"
)

// maxOutputs is the most bytes of a job's output file.
const maxOutputs = 64 << 10

// outputs reads the file that the job wrote its outputs to, if it did.
func (x *execution) outputs(ctx context.Context) (map[string]string, error) {
	stream, err := x.e.engine.CopyFrom(ctx, x.names.Job, topology.OutputFile)
	if topology.KindOf(err) == topology.KindNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	t := tar.NewReader(stream)
	h, err := t.Next()
	if err != nil {
		return nil, fmt.Errorf("read the job's outputs: %w", err)
	}
	const hint = "Write lines NAME=value to the file that $" + topology.OutputVariable + " names; larger things are artifacts."
	if h.Typeflag != tar.TypeReg {
		return nil, faultf(hint, "The job's outputs are no file.")
	}
	if h.Size > maxOutputs {
		return nil, faultf(hint, "The job's outputs have %d bytes and may have %d.", h.Size, maxOutputs)
	}
	text, err := io.ReadAll(t)
	if err != nil {
		return nil, fmt.Errorf("read the job's outputs: %w", err)
	}
	return parseOutputs(string(text))
}

var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// parseOutputs reads lines NAME=value, and NAME<<END, the lines of a value, END. Of a name that is there twice the last one counts.
func parseOutputs(text string) (map[string]string, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, faultf("Encode what is no text, for example with base64.", "The job's outputs are not text in UTF-8.")
	}
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSuffix(lines[i], "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		at := strings.IndexAny(line, "=<")
		if at < 0 || line[at] == '<' && !strings.HasPrefix(line[at:], "<<") || !outputName.MatchString(line[:at]) {
			return nil, faultf("A line is NAME=value; a name has letters, digits, _, . and -. For a value of several lines write NAME<<END, the lines, and END.",
				"Line %d of the job's outputs is no output: %q.", i+1, clipName(line))
		}
		name := line[:at]
		if line[at] == '=' {
			out[name] = line[at+1:]
			continue
		}
		end := line[at+2:]
		if strings.TrimSpace(end) == "" {
			return nil, faultf("Write NAME<<END, the lines of the value, and END on a line of its own.", "Line %d of the job's outputs has no word behind <<.", i+1)
		}
		first := i + 1
		for i++; i < len(lines) && strings.TrimSuffix(lines[i], "\r") != end; i++ {
		}
		if i == len(lines) {
			return nil, faultf("Write "+end+" on a line of its own behind the value.", "The output %s of line %d has no end.", name, first)
		}
		out[name] = strings.Join(lines[first:i], "\n")
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}
