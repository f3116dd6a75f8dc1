package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// eventArgs are the first parameters of every statement that writes an event.
func eventArgs(e hub.Event) []any {
	return []any{
		stamp(e.Time), text(e.Actor), text(e.OnBehalfOf), text(e.Action), text(e.Address), text(e.Owner),
		text(e.WorkspaceID), text(e.JobID), e.Attempt, text(e.RunnerID), detail(e.Detail),
	}
}

// detail is the JSON object of an event's detail, nil for none.
func detail(d map[string]string) []byte {
	if len(d) == 0 {
		return nil
	}
	clean := make(map[string]string, len(d))
	for k, v := range d {
		clean[text(k)] = text(v)
	}
	b, _ := json.Marshal(clean) // strings cannot fail
	return b
}

// ListEvents implements hub.JobStore.
func (s *Store) ListEvents(ctx context.Context, jobID string) (list []hub.Event, err error) {
	err = s.read(ctx, "list events", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, selectEvents, jobID)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanEvent)
		return err
	})
	return list, err
}

func scanEvent(row pgx.CollectableRow) (hub.Event, error) {
	var e hub.Event
	var d []byte
	err := row.Scan(&e.ID, (*stamp)(&e.Time), &e.Actor, &e.OnBehalfOf, (*string)(&e.Action), &e.Address,
		(*string)(&e.Owner), &e.WorkspaceID, &e.JobID, &e.Attempt, &e.RunnerID, &d)
	if err == nil && len(d) > 0 {
		err = json.Unmarshal(d, &e.Detail)
	}
	return e, err
}
