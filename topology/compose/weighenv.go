package compose

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
)

// maxEnvText is how many bytes the variables of an env file may have, filled in.
const maxEnvText = 4 << 20

var (
	errEnvText = errors.New("its variables, filled in, have more than 4 MiB")
	errEnvOdd  = errors.New("it has too many variables in quoted values; write those without line feeds and backslashes in them")

	assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z0-9_.\-\[\]]+)\s*[=:](.*)$`)
	// dollar is one, also as an octal escape.
	dollar = regexp.MustCompile(`\$|\\0?44`)
)

// weighEnv refuses an env file that a few lines make too large when each names another
// twice. sizeOf is the size of a variable that is known before.
//
// What d of them can do at most is known without reading it: the product of numbers
// with the sum d is largest when each is 3. Beyond that lines are added up, which holds
// where a line is an assignment, and so where no quotes or escapes carry one on.
func weighEnv(text []byte, sizeOf func(name string) int64) error {
	found := float64(len(dollar.FindAll(text, -1)))
	largest := float64(len(text)) + float64(sizeOf(""))
	if largest*math.Pow(3, found/3) <= maxEnvText {
		return nil
	}
	sizes, total := map[string]int64{}, int64(0)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if strings.Count(line, `"`)%2+strings.Count(line, `'`)%2 > 0 || strings.Contains(line, `\`) {
			return errEnvOdd
		}
		parts := assignment.FindStringSubmatch(line)
		if parts == nil {
			continue // a name alone
		}
		size := int64(len(parts[2]))
		for _, ref := range reference.FindAllStringSubmatch(parts[2], -1) {
			own, known := sizes[ref[1]]
			switch {
			case known:
				size += own
			case ref[1] != "": // else it is none, as the first of two $ is
				size += sizeOf(ref[1])
			}
			if size > maxEnvText {
				return errEnvText
			}
		}
		sizes[parts[1]] = max(size, sizes[parts[1]])
		if total += size; total > maxEnvText {
			return errEnvText
		}
	}
	return nil
}

// weighEnvFile is weighEnv for a file of the source that compose-go reads by itself.
func (p *project) weighEnvFile(name string) error {
	text, err := p.read(name)
	if err != nil {
		return nil //nolint:nilerr // compose-go reads none where none is
	}
	return weighEnv(bytes.ReplaceAll(text, []byte("\r"), nil), p.sizeOf)
}

// sizeOf is the size of a variable of the job's env; that of "" is the largest.
func (p *project) sizeOf(name string) int64 {
	if name != "" {
		return int64(len(p.env[name]))
	}
	largest := 0
	for _, v := range p.env {
		largest = max(largest, len(v))
	}
	return int64(largest)
}
