//go:build clients

package clients_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

// TestWaitingAgentsCost has a thousand agents wait for a job, each on a connection of its own, and bounds what the hub holds for each.
// The benchmark WaitingAgents measures the same in a process of the hub's own. It must be alone in its process: no t.Parallel.
func TestWaitingAgentsCost(t *testing.T) {
	const agents, bound = 1000, 60_000 // bytes each, with this end of the connection
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			h := servertest.Start(t, nil)
			f := newFront(t, &hub{url: h.URL}, "")
			r := &raw{front: f, key: h.AdminKey(t), revision: revision}
			r.submit(t)
			request := r.wire(t, strings.TrimPrefix(h.URL, "http://"))
			http.DefaultClient.CloseIdleConnections()

			before, goroutines := inUse(), runtime.NumGoroutine()
			conns := make([]net.Conn, agents)
			for i := range conns {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.Write(request); err != nil {
					t.Fatal(err)
				}
				conns[i] = conn
			}
			each := atRest(t, before, goroutines+2*agents, agents, bound) // one goroutine reads a connection, and one waits
			t.Logf("%d bytes each", each)
			if each > bound {
				t.Errorf("an agent that waits costs the hub %d bytes, want at most %d", each, bound)
			}
			for i, conn := range conns { // each is still held: it was measured whole
				if err := conn.SetReadDeadline(time.Now().Add(time.Microsecond)); err != nil {
					t.Fatal(err)
				}
				if n, _ := conn.Read(make([]byte, 1)); n > 0 {
					t.Fatalf("agent %d was answered before its time", i)
				}
			}
		})
	}
}

// inUse is what live objects and stacks take, after collections enough for stacks to shrink to what is used of them.
func inUse() uint64 {
	for range 4 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// atRest is what each of n agents has added to what was in use before, once there are so many goroutines: the first measurement that is
// within the bound, or else the last one. Agents look now and then, and all of them must have come.
func atRest(t *testing.T, before uint64, goroutines, n int, bound int64) (each int64) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		if runtime.NumGoroutine() < goroutines {
			continue
		}
		each = (int64(inUse()) - int64(before)) / int64(n)
		if each <= bound && runtime.NumGoroutine() >= goroutines {
			return each
		}
	}
	if each == 0 {
		t.Fatalf("there are %d goroutines, want %d", runtime.NumGoroutine(), goroutines)
	}
	return each
}

// wire is a wait for the job's end as it goes over a connection.
func (r *raw) wire(t *testing.T, host string) []byte {
	t.Helper()
	args := fmt.Sprintf(`{"job_id":%q,"cursor":%q,"wait_ms":%d,"follow":"end"}`, r.job, r.cursor, mcp.MaxWait)
	req, err := r.request(context.Background(), "tools/call", mcp.ToolWaitJob, r.message(mcp.ToolWaitJob, args))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	var b strings.Builder
	if err := req.Write(&b); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}
