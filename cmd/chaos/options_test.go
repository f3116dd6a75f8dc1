//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// options is one run. The short form is what `make test` runs; `make chaos` sets the environment for the long one.
type options struct {
	seed     uint64
	duration time.Duration // of the faults
	hubs     int
	runners  int
	slots    int
	people   int           // who submit jobs, each one after the other
	think    time.Duration // between a job's end and a person's next one, on average
	gap      time.Duration // between two faults, on average

	// Programs, where they are not this test's own binary in another role.
	hubProgram, runnerProgram string
	// skewed says that runnerProgram can have a calendar of its own.
	skewed bool
}

// The clocks of the hubs, short enough that whatever depends on them happens often.
const (
	leaseTTL       = 4 * time.Second
	heartbeat      = time.Second
	firstHeartbeat = 3 * time.Second
	sweep          = 300 * time.Millisecond
	deadlineMargin = 20 * time.Second
	cancelMargin   = 10 * time.Second
)

func newOptions(t *testing.T) options {
	t.Helper()
	o := options{
		seed: rand.Uint64N(1_000_000), duration: 20 * time.Second, hubs: 3, runners: 8, slots: 1,
		people: 16, think: time.Second, gap: 800 * time.Millisecond,
	}
	if s := os.Getenv("CHAOS_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
		o.seed = seed
	}
	if s := os.Getenv("CHAOS_DURATION"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("CHAOS_DURATION: %v", err)
		}
		o.duration, o.runners, o.people, o.think, o.gap = d, 40, 60, 3*time.Second, 1200*time.Millisecond
	}
	o.hubProgram, o.runnerProgram = os.Getenv("CHAOS_HUB"), os.Getenv("CHAOS_RUNNER")
	o.skewed = o.runnerProgram != ""
	return o
}
