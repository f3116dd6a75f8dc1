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

// hubRows and topologyRows are how many lines the tables have.
const (
	hubRows      = 13
	topologyRows = 5
)

var (
	write      = flag.String("write", "", "document to put the tables into; each whose rows were all measured")
	measured   report.Report
	topologies report.Report
)

func TestMain(m *testing.M) {
	if code, isHub := hubproc.Main(os.Stdin, os.Stdout, os.Stderr); isHub {
		os.Exit(code)
	}
	code := m.Run()
	measured.Print(os.Stdout)
	topologies.Print(os.Stdout)
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
	hubs, engines := measured.Len(), topologies.Len()
	if hubs != hubRows && engines != topologyRows {
		return fmt.Errorf("%d of %d and %d of %d rows were measured: the tables stay as they are", hubs, hubRows, engines, topologyRows)
	}
	ctx := context.Background()
	if engines == topologyRows {
		engine, err := describeEngine(ctx)
		if err != nil {
			return err
		}
		if err := topologies.Write(*write, report.Topologies, report.Machine(ctx, "runner and engine", engine)); err != nil {
			return err
		}
	}
	if hubs != hubRows {
		return nil
	}
	server, err := describeServer(ctx)
	if err != nil {
		return err
	}
	return measured.Write(*write, report.Hubs, report.Machine(ctx, "clients, hub and database", server))
}

// atLeast records a row that is one ratio, of which more is better.
func atLeast(b *testing.B, place int, what string, ratio, goal float64) {
	b.Helper()
	b.ReportMetric(ratio, "ratio")
	measured.Add(report.Row{
		Place: place, What: what, Measured: fmt.Sprintf("%.2f", ratio), Goal: fmt.Sprintf("at least %.2g", goal), Met: ratio >= goal,
	})
}
