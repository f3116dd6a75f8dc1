-- +goose Up

-- Where the runs of an attempt's log are in the bucket. They do not overlap; dropped ones leave a gap.
CREATE TABLE log_chunks (
    job_id       TEXT NOT NULL,
    attempt      INTEGER NOT NULL,
    start_offset INTEGER NOT NULL CHECK (start_offset >= 0),
    size         INTEGER NOT NULL CHECK (size > 0),
    digest       BLOB NOT NULL,
    bucket_key   TEXT NOT NULL,
    PRIMARY KEY (job_id, attempt, start_offset),
    FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The audit log: who did what, for whom and from where. Only ever added to.
CREATE TABLE events (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    on_behalf_of TEXT NOT NULL DEFAULT '',
    action       TEXT NOT NULL CHECK (action <> ''),
    address      TEXT NOT NULL DEFAULT '',
    owner        TEXT NOT NULL DEFAULT '',
    workspace_id TEXT NOT NULL DEFAULT '',
    job_id       TEXT NOT NULL DEFAULT '',
    attempt      INTEGER NOT NULL DEFAULT 0,
    runner_id    TEXT NOT NULL DEFAULT '',
    detail       TEXT -- a JSON object of strings; NULL: none
) STRICT;
CREATE INDEX events_job ON events (job_id, id) WHERE job_id <> '';

-- +goose StatementBegin
CREATE TRIGGER events_append_only BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE events;
DROP TABLE log_chunks;
