package topology

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
)

// Limits on resources. The lower ones are what a container engine accepts.
const (
	MinCPUs   = 0.01
	MaxCPUs   = 1024
	MinMemory = 6 << 20 // bytes
	MaxMemory = 1 << 50 // bytes
	MaxPids   = 1 << 22 // what a Linux kernel can count
	MinDisk   = 1 << 20 // bytes
	MaxDisk   = 1 << 53 // bytes; what JSON numbers hold exactly
	// DefaultPids is the limit on processes where a spec sets none: plenty for any
	// honest job, and a fork bomb's end.
	DefaultPids = 4096
)

var (
	wholeNumber = regexp.MustCompile(`^[+-]?[0-9]+$`)
	realNumber  = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	sizeText    = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)? ?([kKmMgGtTpP]?[iI]?[bB]?)$`)
)

func (d *decoder) resources(v value) (r Resources) {
	d.object(v, fields{
		"cpus":   func(v value) { r.CPUs = d.cpus(v) },
		"memory": func(v value) { r.Memory = d.size(v, MinMemory, MaxMemory) },
		"pids":   func(v value) { r.Pids = d.pids(v) },
		"disk":   func(v value) { r.Disk = d.size(v, MinDisk, MaxDisk) },
	}, resourceStrangers)
	return r
}

// cpus is a number of cores, in quotes or not, as in Compose.
func (d *decoder) cpus(v value) float64 {
	s, ok := d.text(v)
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && realNumber.MatchString(s) && (f < MinCPUs || f > MaxCPUs):
		d.report(v.node, v.path, ProblemOutOfRange, "must be from 0.01 to 1024 cores", "leave it out for no limit")
	case err != nil, !realNumber.MatchString(s), math.IsNaN(f):
		d.report(v.node, v.path, ProblemInvalid, "not a number of cores: "+quote(s), `for example 0.5 or 2`)
	}
	return f
}

// size is an amount of memory or disk: bytes as a number, or text with a unit, which is a power
// of 1024 with or without the i.
func (d *decoder) size(v value, least, most int64) int64 {
	s, ok := d.text(v)
	if !ok {
		return 0
	}
	if v.class == numberClass {
		if n, err := whole(s); err == nil {
			s = strconv.FormatInt(n, 10)
		}
	}
	if !sizeText.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a size: "+quote(s), `for example "512MiB" or "4GiB"`)
		return 0
	}
	size, err := units.RAMInBytes(s)
	if err != nil || size < least || size > most {
		hint := "leave it out for no limit"
		if n, err := strconv.Atoi(s); err == nil && n > 0 && int64(n) < least {
			hint = "a number without a unit is bytes: write " + quote(s+"MiB") + " or " + quote(s+"GiB")
		}
		d.report(v.node, v.path, ProblemOutOfRange, "must be from "+units.BytesSize(float64(least))+" to "+units.BytesSize(float64(most)), hint)
		return 0
	}
	return size
}

func (d *decoder) pids(v value) int64 {
	if v.kind == scalarNode && strings.HasPrefix(v.text, "-") {
		d.report(v.node, v.path, ProblemOutOfRange, fmt.Sprintf("must be from 1 to %d", MaxPids), "leave it out for no limit")
		return 0
	}
	return d.integer(v, 1, MaxPids)
}

func (d *decoder) integer(v value, least, most int64) int64 {
	n, err := whole(v.text)
	switch isText := v.kind == scalarNode && v.class == textClass; {
	case v.kind != scalarNode || errors.Is(err, strconv.ErrSyntax) || isText:
		hint := ""
		if isText && err == nil {
			hint = "write it without quotes"
		}
		d.report(v.node, v.path, ProblemType, "must be a whole number", hint)
	case err != nil || n < least || n > most:
		d.report(v.node, v.path, ProblemOutOfRange, fmt.Sprintf("must be from %d to %d", least, most), "")
	default:
		return n
	}
	return 0
}

// whole reads a whole number. Programs that know floating point only write
// 4096 as 4.096e+03: that is accepted as long as it is exact.
func whole(s string) (int64, error) {
	if wholeNumber.MatchString(s) {
		return strconv.ParseInt(s, 10, 64)
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case !realNumber.MatchString(s), err == nil && f != math.Trunc(f):
		return 0, strconv.ErrSyntax
	case err != nil || f > exact || f < -exact:
		return 0, strconv.ErrRange
	}
	return int64(f), nil
}

func (d *decoder) boolean(v value) bool {
	if v.kind != scalarNode || v.class != boolClass {
		d.report(v.node, v.path, ProblemType, "must be true or false", "")
		return false
	}
	return strings.EqualFold(v.text, "true")
}

// duration reads Go's and Compose's form, a number with a unit.
func (d *decoder) duration(v value, least, most time.Duration) Duration {
	s, ok := d.text(v)
	if !ok {
		return 0
	}
	t, err := time.ParseDuration(s)
	switch {
	case err != nil && wholeNumber.MatchString(s):
		d.report(v.node, v.path, ProblemInvalid, "a duration needs a unit", "write "+quote(s+"s")+" for seconds")
	case err != nil:
		d.report(v.node, v.path, ProblemInvalid, "not a duration: "+quote(s), `for example "90s", "30m" or "1h30m"; the units are ms, s, m and h`)
	case t < least || t > most:
		d.report(v.node, v.path, ProblemOutOfRange,
			"must be from "+Duration(least).String()+" to "+Duration(most).String(), "")
	}
	return Duration(t)
}
