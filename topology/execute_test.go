package topology

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

// diamond is 1 → 2,3 → 4.
func diamond() Plan {
	return Plan{{Target: "1"}, {Target: "2", After: []int{0}}, {Target: "3", After: []int{0}}, {Target: "4", After: []int{1, 2}}}
}

func TestExecuteInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	both := make(chan struct{}, 1)
	err := Execute(t.Context(), diamond(), 0, false, func(_ context.Context, op Op) error {
		switch op.Target { // 2 and 3 run at the same time
		case "2":
			both <- struct{}{}
		case "3":
			<-both
		}
		mu.Lock()
		defer mu.Unlock()
		order = append(order, op.Target)
		return nil
	})
	if err != nil || order[0] != "1" || order[3] != "4" {
		t.Errorf("%v, %v", order, err)
	}
}

func TestExecuteStopsAtAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var cause error
	begun := make(chan struct{})
	err := Execute(t.Context(), diamond(), 0, false, func(ctx context.Context, op Op) error {
		switch op.Target {
		case "2":
			<-begun
			return broken
		case "3":
			close(begun)
			<-ctx.Done()
			cause = context.Cause(ctx)
		case "4":
			t.Error("4 was begun")
		}
		return nil
	})
	if !errors.Is(err, broken) || !errors.Is(cause, broken) {
		t.Errorf("error %v, cause %v", err, cause)
	}
}

func TestExecuteKeepsGoing(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var mu sync.Mutex
	var done []string
	err := Execute(t.Context(), diamond(), 1, true, func(_ context.Context, op Op) error {
		if op.Target == "2" {
			return broken
		}
		mu.Lock()
		defer mu.Unlock()
		done = append(done, op.Target)
		return nil
	})
	slices.Sort(done)
	if !errors.Is(err, broken) || strings.Join(done, "") != "13" {
		t.Errorf("%v, %v", done, err)
	}
}

func TestExecuteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStale)
	err := Execute(ctx, diamond(), 0, false, func(context.Context, Op) error {
		t.Error("begun")
		return nil
	})
	if !errors.Is(err, ErrStale) {
		t.Error(err)
	}
	if err := Execute(t.Context(), nil, 0, false, nil); err != nil {
		t.Error(err)
	}
}
