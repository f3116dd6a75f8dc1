package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// TestCopies holds that nobody can change what is stored through what went in or came out.
func TestCopies(t *testing.T) {
	t.Parallel()
	s := memory.New()
	defer s.Close()
	p := storetest.NewJob("user:1", "")
	p.Payload.Requires, p.Event.Detail = []string{"docker"}, map[string]string{"a": "b"}
	if _, _, err := s.Enqueue(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := p.Payload
	want.Spec, want.Requires = []byte(string(p.Payload.Spec)), []string{"docker"}
	spoil := func(p hub.JobPayload, e hub.Event) {
		p.Spec[0], p.Requires[0], e.Detail["a"] = 'X', "gpu", "c"
	}
	spoil(p.Payload, p.Event)
	for range 2 { // the second time after the answers were spoilt
		got, err := s.GetPayload(t.Context(), p.Job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the payload was changed from outside (-want +got):\n%s", diff)
		}
		events, err := s.ListEvents(t.Context(), p.Job.ID)
		if err != nil || len(events) != 1 || events[0].Detail["a"] != "b" {
			t.Fatalf("the event was changed from outside: %v, %v", events, err)
		}
		queued, err := s.ListQueued(t.Context(), p.Job.QueueKey(), nil, 1)
		if err != nil || len(queued) != 1 || queued[0].Payload.Requires[0] != "docker" {
			t.Fatalf("the queue was changed from outside: %v, %v", queued, err)
		}
		spoil(got, events[0])
		queued[0].Payload.Requires[0] = "gpu"
	}
}
