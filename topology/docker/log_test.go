package docker_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestLogKeepsAllBytes(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	// A line of 10 MB, then random bytes with their digest at the very end.
	script := `head -c 10000000 /dev/zero | tr '\0' x; echo
head -c 300000 /dev/urandom > /tmp/random; cat /tmp/random >&2; sha256sum </tmp/random`
	for name, spec := range map[string]*topology.Spec{
		"command": {Image: busybox, Command: sh(script)},
		"step":    {Image: busybox, Steps: []topology.Step{{Name: "a", Run: script}}},
	} {
		obs := &topologytest.Observer{}
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, obs)
		t.Log(name)
		wantResult(t, r, "succeeded 0")
		line, rest, _ := strings.Cut(obs.Text(topology.Stdout, ""), "\n")
		if line != strings.Repeat("x", 10000000) {
			t.Errorf("the long line has %d bytes", len(line))
		}
		sum := sha256.Sum256([]byte(obs.Text(topology.Stderr, "")))
		if want := hex.EncodeToString(sum[:]); !strings.HasPrefix(rest, want) {
			t.Errorf("digest %q of %d bytes, want %s", rest, len(obs.Text(topology.Stderr, "")), want)
		}
		for _, record := range obs.Records() {
			if len(record.Data) > 32<<10 {
				t.Fatalf("a record of %d bytes", len(record.Data))
			}
		}
	}
}

// TestLogSurvivesASlowObserver holds the observer up well beyond the 2 s after
// which engines throw away the output of a process that has ended. The sizes are
// those at which the process just ends while its last bytes are still in a pipe;
// with Docker 20.10 a reader that stands still loses 72 KiB at the second.
func TestLogSurvivesASlowObserver(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	var jobs sync.WaitGroup
	for i, size := range []int{2400 << 10, 2457600, 2500 << 10} {
		jobs.Go(func() {
			own, held := id, false
			own.Attempt += i
			obs := &topologytest.Observer{OnLog: func(r topology.Record) error {
				if r.Stream == topology.Stdout && !held {
					held = true
					<-time.After(5 * time.Second) // what is tested is that nothing happens meanwhile
				}
				return nil
			}}
			r := e.Run(t.Context(), topology.Work{Identity: own, Spec: &topology.Spec{
				Image: busybox, Network: topology.NetworkNone, Command: sh("yes 0123456789abcde | head -c " + itoa(size)),
			}}, obs)
			wantResult(t, r, "succeeded 0")
			if got := obs.Text(topology.Stdout, ""); len(got) != size || strings.Trim(got, "0123456789abcde\n") != "" {
				t.Errorf("%d bytes, want %d", len(got), size)
			}
		})
	}
	jobs.Wait()
}

func TestLogsOfServices(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Command: sh("echo job; wget -q -O /dev/null http://web:8080/"),
		Services: map[string]topology.Service{"web": {
			Image: busybox, Command: sh("echo starting; mkdir /www; echo hi > /www/index.html; exec httpd -f -v -p 8080 -h /www"),
			Healthcheck: &topology.Healthcheck{Test: []string{"CMD-SHELL", "wget -q -O /dev/null http://127.0.0.1:8080/"}},
		}},
	}}, obs)
	wantResult(t, r, "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); got != "job\n" {
		t.Errorf("job %q", got)
	}
	if got := obs.Text(topology.Stdout, "web"); got != "starting\n" {
		t.Errorf("web %q", got)
	}
	// The probes' requests and the job's last one, which it was killed right after.
	requests := obs.Text(topology.Stderr, "web")
	if n := bytes.Count([]byte(requests), []byte("response:200")); n < 2 {
		t.Errorf("web's log has %d requests: %q", n, requests)
	}
}
