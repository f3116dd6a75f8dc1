package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// planEnv is the variable of a job's environment that carries its plan.
const planEnv = "CHAOS_PLAN"

// kind is how a job is meant to end.
type kind string

const (
	succeeds kind = "succeeds"
	fails    kind = "fails"     // by its own fault, so that it is not tried again
	flaky    kind = "flaky"     // its first attempts fail by the machine's fault
	canceled kind = "canceled"  // it runs until somebody cancels it
	timesOut kind = "times out" // it runs until its timeout
)

// plan is a job with a known answer. Whoever runs it, and however often, comes to the same one.
type plan struct {
	Key   string `json:"key"` // idempotency key and name
	Kind  kind   `json:"kind"`
	Seed  uint64 `json:"seed"`
	Lines int    `json:"lines"`  // of log, beside the first and the last
	RunMS int64  `json:"run_ms"` // how long an attempt takes
	Exit  int    `json:"exit"`
	Flaky int    `json:"flaky"` // attempts that fail first
}

// newPlan is the nth job of a seed.
func newPlan(seed uint64, n int) plan {
	r := rand.New(rand.NewPCG(seed, uint64(n)+1))
	p := plan{
		Key: fmt.Sprintf("%d-%05d", seed, n), Kind: succeeds, Seed: r.Uint64(),
		Lines: r.IntN(60), RunMS: 20 + r.Int64N(700),
	}
	switch r.IntN(20) {
	case 0, 1, 2:
		p.Kind, p.Exit = fails, 1+r.IntN(100)
	case 3, 4:
		p.Kind, p.Flaky = flaky, 1+r.IntN(2)
	case 5, 6:
		p.Kind = canceled
	case 7:
		p.Kind = timesOut
	case 8: // outlasts a lease, so that renewals matter
		p.RunMS = 4000 + r.Int64N(3000)
	case 9: // more than one chunk of log
		p.Lines = 4000
	}
	return p
}

// spec is the job's spec. A job that must end by itself has time for the longest outage.
func (p plan) spec() (json.RawMessage, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	timeout := time.Minute
	if p.Kind == timesOut {
		timeout = topology.MinTimeout
	}
	return json.Marshal(map[string]any{
		"name": p.Key, "image": "chaos/none", "env": map[string]string{planEnv: string(text)},
		"timeout": timeout.String(), "grace": "1s",
	})
}

// planOf reads the plan of a spec.
func planOf(s *topology.Spec) (plan, error) {
	var p plan
	if err := json.Unmarshal([]byte(s.Env[planEnv]), &p); err != nil {
		return p, fmt.Errorf("this job is none of ours: %w", err)
	}
	return p, nil
}

// outcome is the state that the job must end in.
func (p plan) outcome() string {
	switch p.Kind {
	case fails:
		return "failed"
	case canceled:
		return "canceled"
	case timesOut:
		return "timed_out"
	default:
		return "succeeded"
	}
}

// whole says whether the job's end waits for all of its log, so that its length is known.
func (p plan) whole() bool { return p.Kind != canceled && p.Kind != timesOut }

// output is what the job computes: it stands in the result beside the exit code.
func (p plan) output(attempt int) map[string]string {
	sum := sha256.Sum256([]byte(p.Key))
	return map[string]string{
		"chaos/answer":  "sha256:" + hex.EncodeToString(sum[:]),
		"chaos/attempt": fmt.Sprint(attempt),
	}
}

// lines are all the records of one attempt's log. They differ by attempt, and some are not text.
func (p plan) lines(attempt int) []topology.Record {
	r := rand.New(rand.NewPCG(p.Seed, uint64(attempt)))
	out := make([]topology.Record, 0, p.Lines+2)
	add := func(stream topology.Stream, data []byte) {
		out = append(out, topology.Record{Stream: stream, Data: data})
	}
	add(topology.Stdout, fmt.Appendf(nil, "%s attempt %d begins\n", p.Key, attempt))
	for i := range p.Lines {
		switch r.IntN(10) {
		case 0:
			junk := make([]byte, 2+r.IntN(80))
			for j := range junk {
				if junk[j] = byte(r.Uint32()); junk[j] == '\n' {
					junk[j] = 0xff
				}
			}
			junk[len(junk)-1] = '\n'
			add(topology.Stderr, junk)
		default:
			add(topology.Stdout, fmt.Appendf(nil, "%d %x\n", i, r.Uint64()))
		}
	}
	add(topology.Stdout, fmt.Appendf(nil, "%s attempt %d ends\n", p.Key, attempt))
	return out
}
