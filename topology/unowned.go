package topology

import "context"

// Cleaner is an Executor that can also be asked about what is not its own.
type Cleaner interface {
	// Survey lists all resources on the engine that carry our labels, whoever's.
	Survey(ctx context.Context) (Snapshot, error)
	// Remove removes what is in s as far as it can; the error is the first.
	Remove(ctx context.Context, s Snapshot) error
}

// Unowned returns the part of observed whose owners live no more, but for networks
// and volumes that a container uses which stays.
func Unowned(observed Snapshot, dead func(Identity) bool) Snapshot {
	return unused(observed, nil, func(labels map[string]string) bool {
		id := IdentityOf(labels)
		return id.Runner != "" && dead(id)
	})
}
