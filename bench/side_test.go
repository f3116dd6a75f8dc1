package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// repeats is how often each side of a comparison is measured, by turns; odd, so that the median is a measured value.
const repeats = 5

// window is how long one measurement takes.
const window = 2500 * time.Millisecond

// side is one of the things that are compared. measure returns a rate: more is better.
type side struct {
	name    string
	measure func() (float64, error)
}

// compare measures two sides by turns and returns the median of the ratios of neighbours, first to second. What else the
// machine does hits both alike.
func compare(b *testing.B, a, z side) float64 {
	b.Helper()
	ratios := make([]float64, 0, repeats)
	for i := range repeats {
		pair := []side{a, z}
		if i%2 == 1 { // neither always follows the other
			slices.Reverse(pair)
		}
		rate := map[string]float64{}
		for _, s := range pair {
			v, err := s.measure()
			must(b, err)
			rate[s.name] = v
		}
		b.Logf("%s %.0f/s, %s %.0f/s, ratio %.2f", a.name, rate[a.name], z.name, rate[z.name], rate[a.name]/rate[z.name])
		ratios = append(ratios, rate[a.name]/rate[z.name])
	}
	b.ReportMetric(0, "ns/op")
	return median(ratios)
}

func median(v []float64) float64 { return quantile(v, 0.5) }

// quantile is the nearest value of those that were measured.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// spec is a job of about a kilobyte, the size that all sides carry.
func spec() []byte {
	note := make([]byte, 900)
	for i := range note {
		note[i] = "0123456789abcdef"[i*7%16]
	}
	return fmt.Appendf(nil, `{"image":"busybox","command":["true"],"env":{"NOTE":"%s"}}`, note)
}

// pause lets time pass: the length of a measurement is what it is about.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
