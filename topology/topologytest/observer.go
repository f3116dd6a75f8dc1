package topologytest

import (
	"bytes"
	"strings"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// Observer keeps everything that an attempt says. Its zero value is ready.
type Observer struct {
	// OnLog, where set, is called with every record before it is kept; its error is Log's.
	OnLog func(topology.Record) error
	// OnPhase, where set, is called with every phase.
	OnPhase func(topology.Phase, string)

	mu      sync.Mutex
	phases  []topology.Phase
	records []topology.Record
}

var _ topology.Observer = (*Observer)(nil)

// Phase keeps p.
func (o *Observer) Phase(p topology.Phase, step string) {
	o.mu.Lock()
	o.phases = append(o.phases, p)
	o.mu.Unlock()
	if o.OnPhase != nil {
		o.OnPhase(p, step)
	}
}

// Log keeps a copy of r.
func (o *Observer) Log(r topology.Record) error {
	if o.OnLog != nil {
		if err := o.OnLog(r); err != nil {
			return err
		}
	}
	r.Data = bytes.Clone(r.Data)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records = append(o.records, r)
	return nil
}

// Phases returns the phases so far, each once as it was entered.
func (o *Observer) Phases() []topology.Phase {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]topology.Phase(nil), o.phases...)
}

// Records returns the records so far.
func (o *Observer) Records() []topology.Record {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]topology.Record(nil), o.records...)
}

// Text returns what one stream of one container has written so far; service is
// empty for the job container.
func (o *Observer) Text(stream topology.Stream, service string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, r := range o.records {
		if r.Stream == stream && r.Service == service {
			b.Write(r.Data)
		}
	}
	return b.String()
}
