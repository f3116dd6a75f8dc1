-- +goose Up

-- How the live attempt failed whose topology is kept, and until when; NULL for every other job. Heartbeats write it, so it is in no index.
ALTER TABLE jobs ADD COLUMN held TEXT;
ALTER TABLE job_payloads ADD COLUMN hold_ns INTEGER NOT NULL DEFAULT 0; -- nanoseconds
ALTER TABLE job_payloads ADD COLUMN allows_exec INTEGER NOT NULL DEFAULT 0;

-- What callers ask of the containers of a live attempt. Each is gone minutes after its end.
CREATE TABLE execs (
    id         TEXT NOT NULL PRIMARY KEY, -- sorts by time
    job_id     TEXT NOT NULL,
    open       INTEGER NOT NULL,          -- it has not ended
    revision   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,          -- of an open one its latest end, then when it is forgotten
    body       TEXT NOT NULL              -- JSON of the rest
) STRICT, WITHOUT ROWID;
CREATE INDEX execs_open ON execs (job_id, id) WHERE open;
CREATE INDEX execs_expiry ON execs (expires_at);

-- +goose Down
DROP TABLE execs;
ALTER TABLE job_payloads DROP COLUMN allows_exec;
ALTER TABLE job_payloads DROP COLUMN hold_ns;
ALTER TABLE jobs DROP COLUMN held;
