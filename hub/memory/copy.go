package memory

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// stored is t as a database gives it back: UTC, whole microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func copyFailure(f *hub.Failure) *hub.Failure {
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

func copyJob(j hub.Job) hub.Job {
	j.LeaseDigest, j.Failure, j.Held = bytes.Clone(j.LeaseDigest), copyFailure(j.Failure), copyHeld(j.Held)
	return j
}

func copyHeld(h *hub.Held) *hub.Held {
	if h == nil {
		return nil
	}
	c := *h
	c.Until = stored(c.Until)
	if c.ExitCode != nil {
		code := *c.ExitCode
		c.ExitCode = &code
	}
	return &c
}

// storedJob is a job as it comes back.
func storedJob(j hub.Job) hub.Job {
	for _, t := range []*time.Time{
		&j.LeaseExpiresAt, &j.DeadlineAt, &j.CancelRequestedAt, &j.CreatedAt, &j.QueuedAt, &j.StartedAt, &j.EndedAt,
	} {
		*t = stored(*t)
	}
	return copyJob(j)
}

func copyPayload(p hub.JobPayload) hub.JobPayload {
	p.Spec = bytes.Clone(p.Spec)
	p.Requires, p.Labels, p.RetryOn = slices.Clone(p.Requires), slices.Clone(p.Labels), slices.Clone(p.RetryOn)
	return p
}

func copyAttempt(a hub.Attempt) hub.Attempt {
	a.LeaseDigest, a.LogDigest, a.ReportDigest = bytes.Clone(a.LeaseDigest), bytes.Clone(a.LogDigest), bytes.Clone(a.ReportDigest)
	a.Result, a.Failure = bytes.Clone(a.Result), copyFailure(a.Failure)
	return a
}

func copyEvent(e hub.Event) hub.Event {
	e.Detail = maps.Clone(e.Detail)
	return e
}

func storedEvent(e hub.Event) hub.Event {
	e.Time = stored(e.Time)
	return copyEvent(e)
}

func copyChunk(c hub.LogChunk) hub.LogChunk {
	c.Digest = bytes.Clone(c.Digest)
	return c
}

func copyRunner(r hub.Runner) hub.Runner {
	r.Labels, r.TokenDigest = slices.Clone(r.Labels), bytes.Clone(r.TokenDigest)
	r.Presence.Capabilities = slices.Clone(r.Presence.Capabilities)
	return r
}

func storedPresence(p hub.Presence) hub.Presence {
	p.Capabilities, p.SeenAt, p.LeftAt = slices.Clone(p.Capabilities), stored(p.SeenAt), stored(p.LeftAt)
	return p
}

func copyPairing(p hub.Pairing) hub.Pairing {
	p.CodeDigest, p.TokenDigest, p.PublicKey = bytes.Clone(p.CodeDigest), bytes.Clone(p.TokenDigest), bytes.Clone(p.PublicKey)
	p.Labels = slices.Clone(p.Labels)
	return p
}

func copyKey(k hub.APIKey) hub.APIKey {
	k.Digest = bytes.Clone(k.Digest)
	return k
}
