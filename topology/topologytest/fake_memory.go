package topologytest

import (
	"context"
	"time"
)

// fakeKill is the end of a process for want of memory.
type fakeKill struct {
	container string
	at        time.Time
}

// KillChild tells that a process of the container was killed for want of memory, and not the main one.
func (p *FakeProcess) KillChild() {
	f := p.container.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kills = append(f.kills, fakeKill{p.container.spec.Name, time.Now()})
	close(f.oneMore)
	f.oneMore = make(chan struct{})
}

// WatchMemory tells of every KillChild.
func (f *Fake) WatchMemory(ctx context.Context, since time.Time, killed func(container string)) error {
	if err := f.enter(ctx, "WatchMemory", ""); err != nil {
		return err
	}
	for told := 0; ; {
		f.mu.Lock()
		kills, oneMore := f.kills[told:], f.oneMore
		f.mu.Unlock()
		for _, k := range kills {
			if !k.at.Before(since) {
				killed(k.container)
			}
		}
		told += len(kills)
		select {
		case <-oneMore:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
