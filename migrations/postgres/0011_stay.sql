-- +goose Up

-- How the live attempt failed whose topology is kept, and until when; NULL for every other job. Heartbeats write it, so it is in no index.
ALTER TABLE jobs ADD COLUMN held jsonb;
ALTER TABLE job_payloads
    ADD COLUMN hold_ns bigint NOT NULL DEFAULT 0, -- nanoseconds
    ADD COLUMN allows_exec boolean NOT NULL DEFAULT false;

-- What callers ask of the containers of a live attempt. Each is gone minutes after its end.
CREATE TABLE execs (
    id         text COLLATE "C" PRIMARY KEY, -- sorts by time
    job_id     text COLLATE "C" NOT NULL,
    open       boolean NOT NULL,             -- it has not ended
    revision   bigint NOT NULL,
    expires_at timestamptz NOT NULL,         -- of an open one its latest end, then when it is forgotten
    body       jsonb NOT NULL                -- the rest
);
CREATE INDEX execs_open ON execs (job_id, id) WHERE open;
CREATE INDEX execs_expiry ON execs (expires_at);

-- +goose Down
DROP TABLE execs;
ALTER TABLE job_payloads DROP COLUMN allows_exec, DROP COLUMN hold_ns;
ALTER TABLE jobs DROP COLUMN held;
