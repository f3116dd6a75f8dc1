package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/bench/hubproc"
	"github.com/runnerhub/runnerhub/bench/load"
	"github.com/runnerhub/runnerhub/bench/report"
)

// BenchmarkWaitingAgents has 1,000 agents wait for a job's end with wait_job, each on a connection of its own, in both eras of MCP.
func BenchmarkWaitingAgents(b *testing.B) {
	each := map[load.Era]float64{}
	for _, era := range []load.Era{load.Legacy, load.Modern} {
		each[era] = waitingAgents(b, era)
	}
	worst := max(each[load.Legacy], each[load.Modern])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst, "KB-each")
	measured.Add(report.Row{
		Place: 13, What: "1,000 agents that wait for a job (wait_job): memory that the hub's process gains for each, its connection included, in both eras of MCP",
		Measured: fmt.Sprintf("%.0f KB each (%s), %.0f KB each (%s)", each[load.Legacy], load.Legacy, each[load.Modern], load.Modern),
		Goal:     "at most 60 KB each", Met: worst <= 60,
	})
}

// waitingAgents returns how many kilobytes one costs.
func waitingAgents(b *testing.B, era load.Era) float64 {
	b.Helper()
	const agents = 1000
	h := hubproc.Start(b, hubproc.SQLite, "", nil)
	people := load.NewConnIn(era, h.Addr, h.Key)
	defer people.Close()
	job, err := people.Call("submit_job", []byte(`{"spec":{"image":"busybox","command":["true"]}}`))
	must(b, err)
	id := text(b, job, "id")
	now, err := people.Call("wait_job", fmt.Appendf(nil, `{"job_id":%q}`, id))
	must(b, err)
	args := fmt.Appendf(nil, `{"job_id":%q,"cursor":%q,"wait_ms":25000,"follow":"end"}`, id, text(b, now, "next_cursor"))
	for range 20 { // what the first calls need is no agent's
		_, err = people.Call("wait_job", bytes.Replace(args, []byte("25000"), []byte("1"), 1))
		must(b, err)
	}

	before, err := h.Usage()
	must(b, err)
	answers := make(chan error, agents)
	for range agents {
		c := load.NewConnIn(era, h.Addr, h.Key)
		b.Cleanup(func() { _ = c.Close() })
		go func() {
			for {
				answer, err := c.Call("wait_job", args)
				if err != nil || bytes.Contains(answer, []byte(`"done":true`)) {
					answers <- err
					return
				}
			}
		}()
	}
	must(b, h.UntilConnections(agents, time.Minute))
	after := settled(b, h, before.Goroutines+2*agents)
	b.Logf("%s: heap %d and stack %d bytes each, resident %d bytes each", era,
		(after.Heap-before.Heap)/agents, (after.Stack-before.Stack)/agents, (after.Resident-before.Resident)/agents)

	// One cancel ends all waits, and each agent hears of it.
	_, err = people.Call("cancel_job", fmt.Appendf(nil, `{"job_id":%q}`, id))
	must(b, err)
	for range agents {
		must(b, <-answers)
	}
	return float64(after.Resident-before.Resident) / agents / 1000
}

// settled is what a hub uses once it has so many goroutines and starts no more: one reads a call and another answers it.
func settled(b *testing.B, h *hubproc.Hub, goroutines int) hubproc.Usage {
	b.Helper()
	for last := 0; ; {
		now, err := h.Usage()
		must(b, err)
		if now.Goroutines >= goroutines && now.Goroutines == last {
			return now
		}
		last = now.Goroutines
		pause(b.Context(), 100*time.Millisecond)
	}
}

// text is the first member of an answer that has that name and a text.
func text(b *testing.B, answer []byte, name string) (value string) {
	b.Helper()
	_, rest, found := bytes.Cut(answer, []byte(`"structuredContent":`))
	_, rest, named := bytes.Cut(rest, []byte(`"`+name+`":`))
	if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&value); !found || !named || err != nil {
		b.Fatalf("no %s in %s", name, answer)
	}
	return value
}
