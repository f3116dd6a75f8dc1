package logtext

import "bytes"

// Weight is how much a line says about a failure.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota
	Place          // where: a frame of a stack, a position in a file
	Failure        // that something failed, and what
	Cause          // why
)

// maxWeighed is how many bytes of a line are looked at.
const maxWeighed = 1 << 10

// Weigh says how much a line, cleaned, says about a failure of a program.
func Weigh(line []byte) Weight {
	line = line[:min(len(line), maxWeighed)]
	var most Weight
	for i := range matchers {
		m := &matchers[i]
		if m.weight > most && m.has(line) && m.pattern.Match(line) {
			most = m.weight
		}
	}
	return most
}

// Telling chooses the at most n lines that say most about a failure, in their order: causes before what merely
// failed, and the earlier of those that weigh the same, since what comes first often brings the rest about.
// Places are not among them. Each line is given by its text, cleaned; the answer is their indexes.
func Telling(lines [][]byte, n int) []int {
	weights := make([]Weight, len(lines))
	for i, l := range lines {
		weights[i] = Weigh(l)
	}
	chosen := make([]bool, len(lines))
	left := n
	for _, w := range []Weight{Cause, Failure} {
		for i := range lines {
			if left > 0 && weights[i] == w && !said(lines, chosen, lines[i]) {
				chosen[i] = true
				left--
			}
		}
	}
	out := make([]int, 0, n)
	for i, yes := range chosen {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

// said says whether a line is among those that were chosen already, or a part of one.
func said(lines [][]byte, chosen []bool, line []byte) bool {
	line = bytes.TrimSpace(line)
	for i, yes := range chosen {
		if yes && bytes.Contains(lines[i], line) {
			return true
		}
	}
	return false
}
