package api

import (
	"context"

	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// Parking is where a call that is held may wait, see dispatch.Parking.
type Parking = dispatch.Parking

// WithParking is ctx for a call that may be parked: its answer then counts for nothing, and it is made again after Await.
func WithParking(ctx context.Context) (context.Context, *Parking) { return dispatch.WithParking(ctx) }
