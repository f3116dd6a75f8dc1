package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// Start is when the tests' world begins: a time that microseconds can tell.
func Start() time.Time { return time.Date(2026, 3, 1, 12, 30, 15, 123456000, time.UTC) }

// NewID makes an id whose text sorts by the time it was made, like the hub's own.
func NewID(prefix string) string { return prefix + uuid.Must(uuid.NewV7()).String() }

// NewDigest makes the digest of a secret that nobody has.
func NewDigest() []byte { return hub.Digest(rand.Text()) }

// NewEvent makes an event of the system's.
func NewEvent(a hub.Action) hub.Event {
	return hub.Event{Time: Start(), Actor: "system", Action: a, Address: "127.0.0.1"}
}

// NewUser makes a user with a login of its own.
func NewUser() hub.User {
	id := NewID("usr_")
	return hub.User{ID: id, Login: "u-" + id[len(id)-12:], CreatedAt: Start()}
}

// NewWorkspace makes a workspace with a slug of its own.
func NewWorkspace() hub.Workspace {
	id := NewID("wsp_")
	return hub.Workspace{ID: id, Slug: "w-" + id[len(id)-12:], CreatedAt: Start()}
}

// NewKey makes a valid API key of a user's.
func NewKey(userID string) hub.APIKey {
	return hub.APIKey{ID: NewID("key_"), UserID: userID, Name: "test", Digest: NewDigest(), CreatedAt: Start()}
}

// NewRunner makes a runner with a label of its own.
func NewRunner(o hub.Owner) hub.Runner {
	id := NewID("rnr-")
	return hub.Runner{
		ID: id, Owner: o, Label: "r-" + id[len(id)-12:], TokenDigest: NewDigest(),
		Hostname: "host", PairedBy: "usr_someone", PairedAt: Start(),
	}
}

// NewPairing makes a pending request with a code.
func NewPairing() hub.Pairing {
	return hub.Pairing{
		ID: NewID("prq_"), State: hub.PairingPending, CodeDigest: NewDigest(), Hostname: "host",
		CreatedAt: Start(), ExpiresAt: Start().Add(hub.PairingTTL),
	}
}

// NewJob makes a queued job for an owner's runner or, with "", for its pool.
func NewJob(o hub.Owner, runnerID string) hub.EnqueueParams {
	id := NewID("job_")
	e := NewEvent(hub.ActJobSubmitted)
	e.JobID, e.Owner, e.RunnerID = id, o, runnerID
	return hub.EnqueueParams{
		Job: hub.Job{
			ID: id, WorkspaceID: "wsp_some", Owner: o, RunnerID: runnerID, State: hub.JobQueued, Revision: 1,
			MaxAttempts: 3, Rank: hub.RankOf(0, Start(), hub.DefaultPolicy()), CreatedAt: Start(), QueuedAt: Start(),
		},
		Payload: hub.JobPayload{
			JobID: id, Spec: []byte(`{"image":"busybox"}`), Timeout: time.Hour, Grace: 10 * time.Second,
			SubmittedBy: "usr_someone",
		},
		Event: e,
	}
}

// AddRunner pairs a runner the way the hub does it, which is the only way there is.
func AddRunner(tb testing.TB, s hub.Store, r hub.Runner) {
	tb.Helper()
	p := NewPairing()
	p.CodeDigest, p.TokenDigest = nil, NewDigest()
	p.State, p.Owner, p.Label, p.Labels = hub.PairingApproved, r.Owner, r.Label, r.Labels
	if err := s.CreatePairing(tb.Context(), p, NewEvent(hub.ActPairingApproved)); err != nil {
		tb.Fatalf("CreatePairing: %v", err)
	}
	p.State, p.RunnerID = hub.PairingRedeemed, r.ID
	if err := s.RedeemPairing(tb.Context(), p, r, NewEvent(hub.ActRunnerPaired)); err != nil {
		tb.Fatalf("RedeemPairing: %v", err)
	}
}
