package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
)

// maxMessage is the most bytes of a failure's texts that a job's row keeps; the
// report itself keeps all.
const maxMessage = 4 << 10

// Settle ends an attempt by its runner's report; the first report wins and a
// repeat of it is told so. Errors: StaleLease, AlreadySettled, InvalidArgument, TooLarge, NotFound.
func (s *Service) Settle(ctx context.Context, p hub.Principal, r SettleRequest) (SettleResult, error) {
	if err := s.machine(p); err != nil {
		return SettleResult{}, err
	}
	s.presence.beat(p.Runner, s.clock.now())
	report, err := s.report(r)
	if err != nil {
		return SettleResult{}, err
	}
	d, err := s.decide(ctx, r.JobID, p, func(j hub.Job, pl hub.JobPayload) (hub.Decision, error) {
		if err := holds(p.Runner, j); err != nil {
			return hub.Decision{}, err
		}
		return hub.Settle(j, pl, r.Proof, report, s.clock.now())
	})
	if c := hub.CodeOf(err); c == hub.StaleLease || c == hub.AlreadySettled {
		return s.again(ctx, p, r, report, err)
	}
	if err != nil {
		return SettleResult{}, err
	}
	return SettleResult{Accepted: true, Requeued: d.Requeued}, nil
}

// again answers a report of an attempt that has ended: the same one is a duplicate.
func (s *Service) again(ctx context.Context, p hub.Principal, r SettleRequest, report hub.Report, stale error) (SettleResult, error) {
	j, err := s.store.GetJob(ctx, r.JobID)
	if err != nil {
		return SettleResult{}, err
	}
	if j.Owner != p.Runner.Owner {
		return SettleResult{}, noJob(r.JobID)
	}
	a, err := s.store.GetAttempt(ctx, r.JobID, r.Proof.Attempt)
	if hub.CodeOf(err) == hub.NotFound {
		return SettleResult{}, stale
	}
	if err != nil {
		return SettleResult{}, err
	}
	if a.State.Live() || a.RunnerID != p.Runner.ID { // it is the proof that is wrong
		return SettleResult{}, stale
	}
	if err := hub.Repeat(a, r.Proof, report.Digest); err != nil {
		return SettleResult{}, err
	}
	return SettleResult{Accepted: true, Duplicate: true, Requeued: j.Attempt == a.Number && j.State == hub.JobQueued || j.Attempt > a.Number}, nil
}

// report checks a report and makes its digest.
func (s *Service) report(r SettleRequest) (hub.Report, error) {
	if n := int64(len(r.Result)); n > s.policy.MaxResultBytes {
		return hub.Report{}, hub.Errorf(hub.TooLarge, "the result has %d bytes and may have %d", n, s.policy.MaxResultBytes).
			WithHint("move data from the outputs into the log").
			WithDetail("limit", "max_result_bytes").WithDetail("max", s.policy.MaxResultBytes)
	}
	n := 0
	for k, v := range r.Outputs {
		n += len(k) + len(v)
	}
	if n > MaxOutputBytes {
		return hub.Report{}, hub.Errorf(hub.TooLarge, "the outputs have %d bytes and may have %d", n, MaxOutputBytes).
			WithDetail("limit", "max_output_bytes").WithDetail("max", MaxOutputBytes)
	}
	f, err := failureOf(r)
	if err != nil {
		return hub.Report{}, err
	}
	// Of the report as it was sent, not as it is kept: the kept form may change with a release.
	sent, err := json.Marshal(struct {
		State   hub.JobState
		Failure *hub.Failure
		Result  []byte
	}{r.State, r.Failure, r.Result})
	if err != nil {
		return hub.Report{}, err
	}
	digest := sha256.Sum256(sent)
	return hub.Report{State: r.State, Failure: f, Note: bound(r.Note, maxReason), Digest: digest[:], Result: r.Result}, nil
}

// failureOf fills in what a report may leave out, and bounds what the row keeps.
func failureOf(r SettleRequest) (*hub.Failure, error) {
	if r.Failure == nil {
		switch r.State {
		case hub.JobCanceled:
			return &hub.Failure{Class: hub.ClassCanceled, Message: "its runner stopped it"}, nil
		case hub.JobTimedOut:
			return &hub.Failure{Class: hub.ClassTimeout, Message: "the attempt took longer than its timeout"}, nil
		}
		return nil, nil
	}
	f := *r.Failure
	if !f.Class.Known() {
		return nil, hub.Errorf(hub.InvalidArgument, "failure class %q is not known", clip(string(f.Class), 40)).
			WithHint("send one of the classes of the protocol, internal when none fits")
	}
	if f.Message == "" {
		return nil, hub.Errorf(hub.InvalidArgument, "a failure needs a message")
	}
	f.Message, f.Hint, f.Container = bound(f.Message, maxMessage), bound(f.Hint, maxMessage), bound(f.Container, maxStep)
	return &f, nil
}

// bound cuts text that a row keeps, and says so. Text that is not UTF-8 or holds a zero byte could
// not be stored everywhere.
func bound(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= n {
		return s
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more in the result)", s[:cut], len(s)-cut)
}

// Release gives a lease back, at no cost to the job. A repeat is accepted. Errors: StaleLease, AlreadySettled, NotFound.
func (s *Service) Release(ctx context.Context, p hub.Principal, r ReleaseRequest) error {
	if err := s.machine(p); err != nil {
		return err
	}
	if len(r.Reason) > maxReason {
		return hub.Errorf(hub.InvalidArgument, "the reason has %d bytes and may have %d", len(r.Reason), maxReason)
	}
	_, err := s.decide(ctx, r.JobID, p, func(j hub.Job, _ hub.JobPayload) (hub.Decision, error) {
		if err := holds(p.Runner, j); err != nil {
			return hub.Decision{}, err
		}
		return hub.Release(j, r.Proof, bound(r.Reason, maxReason), s.clock.now())
	})
	if c := hub.CodeOf(err); c != hub.StaleLease && c != hub.AlreadySettled {
		return err
	}
	a, aerr := s.store.GetAttempt(ctx, r.JobID, r.Proof.Attempt)
	if aerr != nil && hub.CodeOf(aerr) != hub.NotFound {
		return errors.Join(err, aerr)
	}
	if aerr == nil && a.State == hub.AttemptReleased && hub.FenceAttempt(a, r.Proof) == nil {
		return nil
	}
	return err
}
