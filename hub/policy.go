package hub

import "time"

// Policy holds the clocks and caps of a hub. DefaultPolicy has the defaults;
// every field can be set in the hub's configuration.
type Policy struct {
	LeaseTTL        time.Duration // a lease ends this long after its last heartbeat
	Heartbeat       time.Duration // how often a runner is asked to send one
	FirstHeartbeat  time.Duration // a fresh lease that is not acknowledged within this is queued again, at no cost
	NoRunnerTimeout time.Duration // a queued job is rejected after this long without an eligible runner online
	Timeout         time.Duration // of an attempt whose spec names none
	MaxTimeout      time.Duration // the most that a spec may ask for
	MaxHold         time.Duration // the most that a spec may ask to be held after a failure
	DeadlineMargin  time.Duration // between the timeout that the runner keeps and the hub's deadline: stop, upload, report
	CancelGrace     time.Duration // SIGTERM to SIGKILL where the spec names none
	CancelMargin    time.Duration // a canceled attempt that its runner has not reported by grace plus this is settled by the hub
	MaxAttempts     int           // attempts of a job that its spec says nothing about
	PriorityAge     time.Duration // a point of priority is worth having been submitted this much earlier, in whole seconds
	Sweep           time.Duration // how often lost leases, deadlines and parked jobs are looked for
	BackupPoll      time.Duration // how long a lost wake-up can cost a held call

	StaleAfter    time.Duration // a runner not heard from for this long is stale
	OfflineAfter  time.Duration // and after this long offline
	PresenceWrite time.Duration // the most often that one runner's presence is written
	MinProtocol   int           // runners that speak an older protocol get no work

	MaxQueued              int // jobs queued per queue key
	MaxRunning             int // live attempts per owner: per workspace, and per user for personal runners
	MaxRunningPerWorkspace int // of these, of one workspace's jobs: a user's runners serve all of the user's; 0: no such cap

	MaxSpecBytes   int64         // of a job spec
	MaxResultBytes int64         // of a result report
	MaxLogBytes    int64         // of one attempt's log; beyond it the middle is dropped
	MaxExecBytes   int64         // of a command's output that is kept, both streams together
	MaxCopyBytes   int64         // of an archive that is copied into or out of a job
	LogGrace       time.Duration // how long after an attempt's end its log may still arrive
	Retention      time.Duration // how long after its end a job is kept, with its events and log; 0 keeps all

	MaxArtifacts      int           // files of one attempt
	MaxArtifactBytes  int64         // of an attempt's files together
	ArtifactRetention time.Duration // how long an artifact is kept, from when it was stored
	MaxSourceBytes    int64         // of one source archive
	MaxUploads        int           // of sources, under way for one owner
	UploadTTL         time.Duration // from an upload's announcement until it takes no more bytes
}

// DefaultPolicy returns the defaults.
func DefaultPolicy() Policy {
	return Policy{
		LeaseTTL:        60 * time.Second,
		Heartbeat:       15 * time.Second,
		FirstHeartbeat:  15 * time.Second,
		NoRunnerTimeout: 5 * time.Minute,
		Timeout:         time.Hour,
		MaxTimeout:      24 * time.Hour,
		MaxHold:         time.Hour,
		DeadlineMargin:  30 * time.Second,
		CancelGrace:     10 * time.Second,
		CancelMargin:    30 * time.Second,
		MaxAttempts:     3,
		PriorityAge:     time.Minute,
		Sweep:           time.Second,
		BackupPoll:      5 * time.Second,
		StaleAfter:      45 * time.Second,
		OfflineAfter:    3 * time.Minute,
		PresenceWrite:   10 * time.Second,
		MinProtocol:     1,
		MaxQueued:       1000,
		MaxRunning:      100,
		MaxSpecBytes:    1 << 20,
		MaxResultBytes:  256 << 10,
		MaxLogBytes:     64 << 20,
		MaxExecBytes:    8 << 20,
		MaxCopyBytes:    64 << 20,
		LogGrace:        24 * time.Hour,
		Retention:       30 * 24 * time.Hour,

		MaxArtifacts:      1000,
		MaxArtifactBytes:  2 << 30,
		ArtifactRetention: 14 * 24 * time.Hour,
		MaxSourceBytes:    1 << 30,
		MaxUploads:        20,
		UploadTTL:         24 * time.Hour,
	}
}
