package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/runnerhub/runnerhub/bench/hubproc"
	"github.com/runnerhub/runnerhub/bench/report"
)

// rows is how many lines the whole table has.
const rows = 12

var (
	write    = flag.String("write", "", "document to put the table into; every row must have been measured")
	measured report.Report
)

func TestMain(m *testing.M) {
	if code, isHub := hubproc.Main(os.Stdin, os.Stdout, os.Stderr); isHub {
		os.Exit(code)
	}
	code := m.Run()
	measured.Print(os.Stdout)
	if err := writeTable(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func writeTable() error {
	if *write == "" {
		return nil
	}
	if n := measured.Len(); n != rows {
		return fmt.Errorf("%d of %d rows were measured: the table stays as it is", n, rows)
	}
	ctx := context.Background()
	server, err := describeServer(ctx)
	if err != nil {
		return err
	}
	return measured.Write(*write, report.Machine(ctx, server))
}

// atLeast records a row that is one ratio, of which more is better.
func atLeast(b *testing.B, place int, what string, ratio, goal float64) {
	b.Helper()
	b.ReportMetric(ratio, "ratio")
	measured.Add(report.Row{
		Place: place, What: what, Measured: fmt.Sprintf("%.2f", ratio), Goal: fmt.Sprintf("at least %.2g", goal), Met: ratio >= goal,
	})
}
