package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// BenchmarkGroupCommit measures durable jobs (enqueue, lease, settle) of callers at once against a store that commits each write
// alone. x-alone is the median of ratios of neighbouring measurements, more is better: with one caller 1 is the most there is.
func BenchmarkGroupCommit(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ctx := b.Context()
			stores := map[int]*Store{}
			for _, most := range []int{1, maxGroup} {
				s, err := Open(ctx, filepath.Join(b.TempDir(), "hub.db"), Options{maxGroup: most})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				stores[most] = s
			}
			var ratios []float64
			for range max(5, b.N) {
				took := map[int]time.Duration{}
				for most, s := range stores { // in any order, as a map is
					began := time.Now()
					if err := jobs(ctx, s, callers, 256); err != nil {
						b.Fatal(err)
					}
					took[most] = time.Since(began)
				}
				ratios = append(ratios, float64(took[1])/float64(took[maxGroup]))
			}
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ratios[len(ratios)/2], "x-alone")
		})
	}
}

// jobs takes jobs through their lives, shared out between callers.
func jobs(ctx context.Context, s *Store, callers, total int) error {
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for range total / callers {
				errs[i] = errors.Join(errs[i], job(ctx, s, hub.UserOwner(fmt.Sprint(i))))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func job(ctx context.Context, s *Store, owner hub.Owner) error {
	p, pol, now := storetest.NewJob(owner, ""), hub.DefaultPolicy(), storetest.Start().Add(time.Second)
	j, _, err := s.Enqueue(ctx, p)
	if err != nil {
		return err
	}
	write := func(d hub.Decision, err error) (hub.Job, error) {
		if err == nil {
			err = s.Apply(ctx, hub.Change{Decision: d, Event: storetest.NewEvent(d.Action), MaxRunning: pol.MaxRunning})
		}
		return d.Job, err
	}
	g := hub.LeaseGrant{Runner: storetest.NewRunner(owner), RequestID: "r", Digest: hub.Digest("n"), LogDigest: storetest.NewDigest()}
	if j, err = write(hub.Lease(j, p.Payload, g, now, pol)); err != nil {
		return err
	}
	proof := hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: "n"}
	_, err = write(hub.Settle(j, p.Payload, proof, hub.Report{State: hub.JobSucceeded, Digest: hub.Digest(j.ID), Result: []byte(`{}`)}, now))
	return err
}
