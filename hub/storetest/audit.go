package storetest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
)

// Audit checks that all that a store says about jobs agrees: row, payload, attempts, events, queue, what is live, and the
// index of the logs. The jobs must not change meanwhile. The error names the first thing that does not.
func Audit(ctx context.Context, s hub.Store, jobIDs ...string) error {
	for _, id := range jobIDs {
		j, err := s.GetJob(ctx, id)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		attempts, err := s.ListAttempts(ctx, id)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		err = auditAttempts(j, attempts)
		for _, check := range []func(context.Context, hub.Store, hub.Job, []hub.Attempt) error{auditEvents, auditQueue, auditLive, auditLogs} {
			if err == nil {
				err = check(ctx, s, j, attempts)
			}
		}
		if err != nil {
			return fmt.Errorf("%s, which is %s at revision %d: %w", id, j.State, j.Revision, err)
		}
		if p, err := s.GetPayload(ctx, id); err != nil || p.JobID != id || len(p.Spec) == 0 {
			return fmt.Errorf("the payload of %s is %+v, error %w", id, p, err)
		}
	}
	return nil
}

// auditAttempts: numbered without a gap, epochs only grow, the last one alone may live, and it does with the job.
func auditAttempts(j hub.Job, attempts []hub.Attempt) error {
	if len(attempts) != j.Attempt {
		return fmt.Errorf("there are %d attempts, and the latest is number %d", len(attempts), j.Attempt)
	}
	var epoch int64
	for i, a := range attempts {
		last := i == len(attempts)-1
		switch {
		case a.Number != i+1 || a.Epoch <= epoch:
			return fmt.Errorf("attempt %d with epoch %d is at place %d after epoch %d", a.Number, a.Epoch, i+1, epoch)
		case a.State.Live() && !last, last && a.State.Live() != j.State.Live():
			return fmt.Errorf("attempt %d of %d is %s", a.Number, len(attempts), a.State)
		case a.State.Live() != a.EndedAt.IsZero():
			return fmt.Errorf("attempt %d is %s and ended at %v", a.Number, a.State, a.EndedAt)
		case j.State.Live() && last && (a.RunnerID != j.LeaseRunnerID || a.Epoch != j.Epoch || string(a.State) != string(j.State) || !bytes.Equal(a.LeaseDigest, j.LeaseDigest)):
			return fmt.Errorf("the lease is of runner %s with epoch %d, and the live attempt is %+v", j.LeaseRunnerID, j.Epoch, a)
		case a.State == hub.AttemptSucceeded && j.State != hub.JobSucceeded:
			return fmt.Errorf("attempt %d succeeded", a.Number)
		}
		epoch = a.Epoch
	}
	return nil
}

// auditEvents: one for the submit, one for each lease and each start, one for the job's end, and one for each attempt
// that ended before.
func auditEvents(ctx context.Context, s hub.Store, j hub.Job, attempts []hub.Attempt) error {
	events, err := s.ListEvents(ctx, j.ID)
	if err != nil {
		return err
	}
	n := map[hub.Action]int{}
	ends := 0
	for _, e := range events {
		n[e.Action]++
		switch e.Action {
		case hub.ActJobSucceeded, hub.ActJobFailed, hub.ActJobCanceled, hub.ActJobTimedOut, hub.ActJobRejected:
			ends++
		}
	}
	started, over := 0, 0
	for _, a := range attempts {
		if !a.StartedAt.IsZero() {
			started++
		}
		if !a.State.Live() {
			over++
		}
	}
	requeues := n[hub.ActJobRequeued] + n[hub.ActJobReleased]
	switch {
	case n[hub.ActJobSubmitted] != 1 || n[hub.ActJobLeased] != len(attempts) || n[hub.ActJobStarted] != started:
		return fmt.Errorf("of %d attempts %d had started, and the events are %v", len(attempts), started, n)
	case j.State.Ended() != (ends == 1) || ends > 1 || j.State.Ended() && n[hub.Action("job."+string(j.State))] != 1:
		return fmt.Errorf("it ended in %d events: %v", ends, n)
	case requeues != over && (!j.State.Ended() || requeues != over-1): // the last one may have ended the job
		return fmt.Errorf("%d attempts are over, and the events are %v", over, n)
	case !j.State.Ended() && !j.CancelRequestedAt.IsZero() && n[hub.ActCancelRequested] != 1, n[hub.ActCancelRequested] > 1:
		return fmt.Errorf("a cancel was asked for at %v, and the events are %v", j.CancelRequestedAt, n)
	}
	return nil
}

// auditQueue: a job is in its queue exactly while it is queued, and once.
func auditQueue(ctx context.Context, s hub.Store, j hub.Job, _ []hub.Attempt) error {
	const page = 100
	found := 0
	for after := (*hub.QueuePos)(nil); ; {
		jobs, err := s.ListQueued(ctx, j.QueueKey(), after, page)
		if err != nil {
			return err
		}
		for _, q := range jobs {
			if q.Job.ID == j.ID {
				found++
			}
		}
		if len(jobs) < page {
			break
		}
		after = &hub.QueuePos{Rank: jobs[page-1].Job.Rank, ID: jobs[page-1].Job.ID}
	}
	if want := j.State == hub.JobQueued; found > 1 || want != (found == 1) {
		return fmt.Errorf("it is %d times in its queue", found)
	}
	return nil
}

// auditLive: a job is among what its runner holds, and among what the sweep looks at, exactly while it is live.
func auditLive(ctx context.Context, s hub.Store, j hub.Job, _ []hub.Attempt) error {
	const page = 100
	swept := 0
	for after := ""; ; {
		jobs, err := s.ListLive(ctx, after, page)
		if err != nil {
			return err
		}
		for _, l := range jobs {
			if l.Job.ID == j.ID {
				swept++
			}
		}
		if len(jobs) < page {
			break
		}
		after = jobs[page-1].Job.ID
	}
	want := 0
	if j.State.Live() {
		want = 1
	}
	if swept != want {
		return fmt.Errorf("it is %d times among all live jobs", swept)
	}
	if j.LeaseRunnerID == "" {
		return nil
	}
	held, err := s.LiveOfRunner(ctx, j.LeaseRunnerID)
	if err != nil {
		return err
	}
	holds := 0
	for _, h := range held {
		if h.ID == j.ID {
			holds++
		}
	}
	counts, err := s.CountLive(ctx, j.Owner)
	if err != nil {
		return err
	}
	if holds != want || counts[j.LeaseRunnerID] != len(held) {
		return fmt.Errorf("it is %d times among the %d jobs of runner %s, which are counted as %d", holds, len(held), j.LeaseRunnerID, counts[j.LeaseRunnerID])
	}
	return nil
}

// auditLogs: chunks follow each other up to the log's size. Dropped ones leave a gap, but never at the end.
func auditLogs(ctx context.Context, s hub.Store, j hub.Job, attempts []hub.Attempt) error {
	for _, a := range attempts {
		var end int64
		for end < a.LogSize {
			chunks, err := s.LogChunks(ctx, j.ID, a.Number, end, 100)
			if err != nil {
				return err
			}
			if len(chunks) == 0 {
				return fmt.Errorf("the log of attempt %d has %d bytes, and its chunks end at %d", a.Number, a.LogSize, end)
			}
			for _, c := range chunks {
				if c.Start < end || c.Size <= 0 || c.Start+c.Size > a.LogSize {
					return fmt.Errorf("the log of attempt %d has %d bytes, and after %d of them the chunk %+v", a.Number, a.LogSize, end, c)
				}
				end = c.Start + c.Size
			}
		}
		full, err := s.GetAttempt(ctx, j.ID, a.Number)
		if err != nil || full.State != a.State || full.LogSize != a.LogSize || len(full.Result) > 0 && len(full.ReportDigest) == 0 {
			return fmt.Errorf("attempt %d by itself is %+v, error %w", a.Number, full, err)
		}
	}
	return nil
}
