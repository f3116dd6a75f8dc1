package postgres

import (
	"context"
	"encoding/json"

	"github.com/runnerhub/runnerhub/hub"
)

// channel is the one channel of hints. Channels belong to a database, so that
// two installations on one server do not hear each other.
const channel = "runnerhub_hints"

// maxPayload is what a notification holds: PostgreSQL refuses 8000 bytes.
const maxPayload = 7999

// note is a notification: who sent it, and hints as pairs of queue and job.
type note struct {
	From  string      `json:"s"`
	Hints [][2]string `json:"h"`
}

// Notify implements hub.Store. One statement sends all of it: every commit that notifies takes a
// lock of the whole server.
func (s *Store) Notify(ctx context.Context, hints []hub.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	return s.write(ctx, "notify other hubs", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, selectNotify, channel, payloads(s.id, hints))
		return err
	})
}

// payloads packs hints into as few notifications as hold them. A hint that is
// too long for any becomes the zero hint, which makes its hearers look at everything.
func payloads(from string, hints []hub.Hint) []string {
	// Encoding strings cannot fail.
	frame, _ := json.Marshal(note{From: from, Hints: [][2]string{}})
	head, tail := string(frame[:len(frame)-2]), "]}"
	var out []string
	body := ""
	flush := func() {
		if body != "" {
			out = append(out, head+body+tail)
			body = ""
		}
	}
	for _, h := range hints {
		pair, _ := json.Marshal([2]string{string(h.Queue), h.JobID})
		if len(head)+len(pair)+len(tail) > maxPayload {
			pair = []byte(`["",""]`)
		}
		if len(head)+len(body)+1+len(pair)+len(tail) > maxPayload {
			flush()
		}
		if body != "" {
			body += ","
		}
		body += string(pair)
	}
	flush()
	return out
}

// hear calls f for the hints of a notification that another store has sent. One
// that cannot be read comes from a hub of another version: anything may have happened.
func (s *Store) hear(payload string, f func(hub.Hint)) {
	var n note
	if err := json.Unmarshal([]byte(payload), &n); err != nil {
		f(hub.Hint{})
		return
	}
	if n.From == s.id {
		return
	}
	for _, h := range n.Hints {
		f(hub.Hint{Queue: hub.QueueKey(h[0]), JobID: h[1]})
	}
}
