package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// The limits of a batch besides MaxBatch.
const (
	batchIDPrefix = "bat_"
	maxBatchKey   = maxKey - len("#99")
	maxBatchBytes = 16 << 20 // of the specs of all of its jobs
)

// SubmitBatch stores a job for each entry of a matrix. All specs are checked before the first one is stored; what stops it
// later (a full queue, say) is in the result and leaves stored what was, unless nothing was. Errors: those of
// Submit, where problems name the entry.
func (s *Service) SubmitBatch(ctx context.Context, p hub.Principal, r BatchRequest) (BatchResult, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return BatchResult{}, err
	}
	if err := checkBatch(r); err != nil {
		return BatchResult{}, err
	}
	plans, err := s.batchPlans(r)
	if err != nil {
		return BatchResult{}, err
	}
	to, err := s.place(ctx, c, r.Target, r.Workspace)
	if err != nil {
		return BatchResult{}, err
	}
	for i, pl := range plans {
		problem, err := s.keepArchive(ctx, to.tenant.ID, pl.payload.Spec)
		if err != nil {
			return BatchResult{}, err
		}
		if problem != nil {
			return BatchResult{}, badSpec(inMatrix(i, []SpecProblem{*problem}))
		}
	}
	return s.enqueueBatch(ctx, c, to, plans, r)
}

func checkBatch(r BatchRequest) error {
	if err := checkSubmit(r.JobRequest, r.IdempotencyKey); err != nil {
		return err
	}
	switch n := len(r.Matrix); {
	case len(r.IdempotencyKey) > maxBatchKey:
		return hub.Errorf(hub.InvalidArgument, "the idempotency key of a batch has at most %d bytes", maxBatchKey).
			WithHint("send a UUID, or a digest of what makes the batch unique")
	case n == 0:
		return hub.Errorf(hub.InvalidArgument, "matrix has no entries, and each entry is a job").
			WithHint(`send for each job what is different in it, such as [{"env": {"GO": "1.25"}}, {"env": {"GO": "1.26"}}]`)
	case n > MaxBatch:
		return hub.Errorf(hub.InvalidArgument, "matrix has %d entries and may have %d", n, MaxBatch).
			WithHint("submit several batches")
	}
	return nil
}

// batchPlans parses the spec of each entry. It looks at all of them, so that one call tells of all mistakes.
func (s *Service) batchPlans(r BatchRequest) ([]plan, error) {
	spec := r.Spec
	if len(bytes.TrimSpace(spec)) == 0 {
		spec = []byte("{}")
	}
	draft, err := s.draft(spec)
	if err != nil {
		return nil, err
	}
	plans := make([]plan, len(r.Matrix))
	wrong := make([][]SpecProblem, len(r.Matrix))
	bad := false
	size := 0
	for i, changes := range r.Matrix {
		pl, problems, err := s.parseChanged(draft, changes)
		if err != nil {
			return nil, err
		}
		wrong[i], bad = problems, bad || len(problems) > 0
		pl.batch = len(r.Matrix)
		plans[i] = pl
		if size += len(pl.payload.Spec); size > maxBatchBytes {
			return nil, hub.Errorf(hub.TooLarge, "the specs of the batch have more than %d bytes together", maxBatchBytes).
				WithHint("keep files and data out of the spec, or submit several batches")
		}
	}
	if bad {
		return nil, badMatrix(wrong)
	}
	return plans, nil
}

// badMatrix is the error for entries with problems. What is wrong with each of them alike is told once: the spec that they share has it.
func badMatrix(wrong [][]SpecProblem) error {
	shared := func(p SpecProblem) bool {
		return !slices.ContainsFunc(wrong, func(of []SpecProblem) bool { return !slices.Contains(of, p) })
	}
	var all []SpecProblem
	for i, problems := range wrong {
		for _, p := range problems {
			switch {
			case len(all) == topology.MaxProblems:
			case !shared(p):
				all = append(all, inMatrix(i, []SpecProblem{p})...)
			case i == 0:
				all = append(all, p)
			}
		}
	}
	err := badSpec(all)
	if e, ok := errors.AsType[*hub.Error](err); ok && all[0].Hint == "" {
		return e.WithHint("change what is named, and submit it again; no job was stored")
	}
	return err
}

// inMatrix says in which entry's spec problems are.
func inMatrix(i int, problems []SpecProblem) []SpecProblem {
	for k := range problems {
		problems[k].Field = strings.TrimSuffix(fmt.Sprintf("matrix[%d].%s", i, problems[k].Field), ".")
	}
	return problems
}

// enqueueBatch stores the jobs one by one: their ids sort in the matrix's order, and the first of them settles
// which batch it is when two calls come with the same key.
func (s *Service) enqueueBatch(ctx context.Context, c caller, to place, plans []plan, r BatchRequest) (BatchResult, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return BatchResult{}, err
	}
	out := BatchResult{ID: batchIDPrefix + id.String(), Key: r.IdempotencyKey}
	if out.Key == "" {
		out.Key = out.ID
	}
	noticed := map[hub.ReasonCode]bool{}
	for i, pl := range plans {
		pl.payload.BatchID = out.ID
		got, err := s.enqueue(ctx, c, to, pl, r.Priority, out.Key+"#"+strconv.Itoa(i))
		if err != nil && i == 0 {
			return BatchResult{}, err
		}
		if err != nil { // the jobs so far are stored: an answer without their ids would lose them
			s.log.Warn("a batch was cut short", "batch", out.ID, "jobs", i, "error", err)
			out.Err = err
			break
		}
		if got.existing {
			if got.Payload, err = s.store.GetPayload(ctx, got.Job.ID); err != nil {
				return out, err
			}
			out.Existing++
		}
		if i == 0 {
			out.ID = got.Payload.BatchID
		}
		got.Payload.Spec = nil
		out.Jobs = append(out.Jobs, got.QueuedJob)
		for _, n := range got.notices {
			if !noticed[n.Code] {
				noticed[n.Code] = true
				out.Notices = append(out.Notices, n)
			}
		}
	}
	return out, nil
}
