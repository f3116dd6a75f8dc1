package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/runnerhub/runnerhub/hub"
)

// BenchmarkThroughput compares jobs a second of the store with those of the same transitions as bare statements, each side
// alone for a moment by turns, with as many callers as given.
func BenchmarkThroughput(b *testing.B) {
	for _, workers := range []int{1, 32, 128} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			url := newDatabase(b)
			s := openAt(b, url, Options{LockTimeout: time.Minute, StatementTimeout: time.Minute})
			plain, err := pgxpool.New(b.Context(), url+fmt.Sprintf("&pool_max_conns=%d", min(workers, 32)))
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			rate := func(f func(w int) error) float64 {
				const span = time.Second
				var wg sync.WaitGroup
				var mu sync.Mutex
				n := 0
				start := time.Now()
				for w := range workers {
					wg.Go(func() {
						for time.Since(start) < span {
							if err := f(w); err != nil {
								b.Error(err)
								return
							}
							mu.Lock()
							n++
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				return float64(n) / time.Since(start).Seconds()
			}
			var ours, bare float64
			for b.Loop() {
				for range 3 {
					ours = max(ours, rate(func(w int) error { return storeJob(b.Context(), s, hub.Owner(fmt.Sprintf("user:%d", w%4)), 1000) }))
					bare = max(bare, rate(func(int) error { return bareJob(b.Context(), plain) }))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ours/bare, "x-bare")
			b.ReportMetric(ours, "jobs/s")
		})
	}
}
