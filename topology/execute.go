package topology

import (
	"context"
	"sync"
)

// Execute carries out plan: every operation once, as soon as those that it comes
// after have succeeded, at most width at a time (0 is no limit). It returns when
// all that was begun has ended.
//
// The first error ends it: nothing is begun any more and the context that do got
// is ended with that error as its cause. An operation whose predecessor failed
// is never begun. With keepGoing the others are still carried out, and the first
// error is returned in the end.
func Execute(ctx context.Context, plan Plan, width int, keepGoing bool, do func(context.Context, Op) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if width <= 0 {
		width = len(plan)
	}
	slots := make(chan struct{}, max(width, 1))
	done := make([]chan struct{}, len(plan))
	failed := make([]bool, len(plan))
	for i := range plan {
		done[i] = make(chan struct{})
	}
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	fail := func(i int, err error) {
		failed[i] = true
		if err == nil {
			return
		}
		once.Do(func() { first = err })
		if !keepGoing {
			cancel(err)
		}
	}
	for i, op := range plan {
		wg.Go(func() {
			defer close(done[i])
			for _, before := range op.After {
				<-done[before]
				if failed[before] {
					fail(i, nil)
					return
				}
			}
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				fail(i, context.Cause(ctx))
				return
			}
			if err := do(ctx, op); err != nil {
				fail(i, err)
			}
		})
	}
	wg.Wait()
	return first
}
