package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/runnerhub/runnerhub/hub"
)

// event writes a line of the audit log in the transaction of what it tells of.
func (t *tx) event(e hub.Event) error {
	_, err := t.exec(insertEvent, stamp(e.Time), e.Actor, e.OnBehalfOf, string(e.Action), e.Address, string(e.Owner), e.WorkspaceID,
		e.JobID, e.Attempt, e.RunnerID, detail(e.Detail))
	return err
}

// ListEvents implements hub.JobStore.
func (s *Store) ListEvents(ctx context.Context, jobID string) ([]hub.Event, error) {
	return readAll(ctx, s, "list events", listEvents, []any{jobID}, func(r rowScanner) (e hub.Event, err error) {
		var detail sql.NullString
		err = r.Scan(&e.ID, at(&e.Time), &e.Actor, &e.OnBehalfOf, &e.Action, &e.Address, &e.Owner, &e.WorkspaceID,
			&e.JobID, &e.Attempt, &e.RunnerID, &detail)
		if err == nil && detail.Valid {
			err = json.Unmarshal([]byte(detail.String), &e.Detail)
		}
		return e, err
	})
}
