-- +goose Up

-- The narrow row that the lease machine decides on; what never changes is in
-- job_payloads. None of the columns that a heartbeat writes (lease_expires_at above all) is indexed.
CREATE TABLE jobs (
    id                  TEXT PRIMARY KEY,
    workspace_id        TEXT NOT NULL,
    owner               TEXT NOT NULL CHECK (owner <> ''),
    runner_id           TEXT NOT NULL DEFAULT '', -- '' is the pool
    queue_key           TEXT NOT NULL,
    state               TEXT NOT NULL CHECK (state IN
        ('queued', 'leased', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'rejected')),
    revision            INTEGER NOT NULL DEFAULT 0,
    priority            INTEGER NOT NULL DEFAULT 0,
    rank                INTEGER NOT NULL DEFAULT 0,

    attempt             INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    epoch               INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    losses              INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0),
    max_attempts        INTEGER NOT NULL DEFAULT 0,

    lease_runner_id     TEXT NOT NULL DEFAULT '', -- stays after the end: who ran it
    lease_digest        BLOB,
    lease_request_id    TEXT NOT NULL DEFAULT '',
    lease_expires_at    INTEGER,
    deadline_at         INTEGER,

    phase               TEXT NOT NULL DEFAULT '',
    step                TEXT NOT NULL DEFAULT '',
    progress            TEXT NOT NULL DEFAULT '',

    cancel_requested_at INTEGER,
    cancel_reason       TEXT NOT NULL DEFAULT '',

    failure_class       TEXT, -- NULL: no failure
    failure_message     TEXT,
    failure_hint        TEXT,
    failure_container   TEXT,

    created_at          INTEGER NOT NULL,
    queued_at           INTEGER NOT NULL,
    started_at          INTEGER,
    ended_at            INTEGER,

    CONSTRAINT jobs_queue_key CHECK (queue_key = owner || '/' || CASE runner_id WHEN '' THEN '*' ELSE runner_id END),
    CONSTRAINT jobs_lease CHECK (CASE WHEN state IN ('leased', 'running')
        THEN lease_runner_id <> '' AND lease_digest IS NOT NULL AND attempt > 0 AND epoch > 0
            AND lease_expires_at IS NOT NULL AND deadline_at IS NOT NULL AND lease_expires_at <= deadline_at
        ELSE lease_digest IS NULL AND lease_expires_at IS NULL AND deadline_at IS NULL END),
    CONSTRAINT jobs_running CHECK (state <> 'running' OR started_at IS NOT NULL),
    CONSTRAINT jobs_ended CHECK ((state IN ('queued', 'leased', 'running')) = (ended_at IS NULL)),
    CONSTRAINT jobs_failure CHECK (CASE
        WHEN state = 'succeeded' THEN failure_class IS NULL
        WHEN state IN ('failed', 'canceled', 'timed_out', 'rejected') THEN failure_class IS NOT NULL
        ELSE 1 END)
) STRICT, WITHOUT ROWID;

-- The claim: one queue in order.
CREATE INDEX jobs_claim ON jobs (queue_key, rank, id) WHERE state = 'queued';
-- What runners hold: all of it by id (sweeps), by runner, by owner (caps).
CREATE INDEX jobs_live ON jobs (id) WHERE state IN ('leased', 'running');
CREATE INDEX jobs_live_runner ON jobs (lease_runner_id) WHERE state IN ('leased', 'running');
CREATE INDEX jobs_live_owner ON jobs (owner, lease_runner_id) WHERE state IN ('leased', 'running');
-- Lists, the newest first.
CREATE INDEX jobs_list ON jobs (owner, id DESC);

-- What never changes after enqueue: insert-only. Lists are JSON arrays.
CREATE TABLE job_payloads (
    job_id       TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    name         TEXT NOT NULL DEFAULT '',
    requires     TEXT NOT NULL DEFAULT '[]',
    labels       TEXT NOT NULL DEFAULT '[]',
    timeout_ns   INTEGER NOT NULL DEFAULT 0, -- nanoseconds
    grace_ns     INTEGER NOT NULL DEFAULT 0, -- nanoseconds
    retry_on     TEXT NOT NULL DEFAULT '[]',
    submitted_by TEXT NOT NULL DEFAULT '',
    retry_of     TEXT NOT NULL DEFAULT '',
    spec         BLOB NOT NULL               -- canonical JSON; last, so that reading the rest skips its pages
) STRICT;

-- One execution each. log_size grows with the log.
CREATE TABLE attempts (
    job_id            TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number            INTEGER NOT NULL CHECK (number > 0),
    runner_id         TEXT NOT NULL CHECK (runner_id <> ''),
    epoch             INTEGER NOT NULL CHECK (epoch > 0),
    state             TEXT NOT NULL CHECK (state IN
        ('leased', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'lost', 'released')),
    lease_digest      BLOB NOT NULL,
    log_digest        BLOB,
    leased_at         INTEGER NOT NULL,
    started_at        INTEGER,
    ended_at          INTEGER,
    failure_class     TEXT, -- NULL: no failure
    failure_message   TEXT,
    failure_hint      TEXT,
    failure_container TEXT,
    report_digest     BLOB,
    log_size          INTEGER NOT NULL DEFAULT 0 CHECK (log_size >= 0),
    PRIMARY KEY (job_id, number),
    CONSTRAINT attempts_ended CHECK ((state IN ('leased', 'running')) = (ended_at IS NULL)),
    CONSTRAINT attempts_report CHECK (report_digest IS NULL OR ended_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
-- A job has at most one live attempt.
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE state IN ('leased', 'running');
CREATE UNIQUE INDEX attempts_log ON attempts (log_digest) WHERE log_digest IS NOT NULL;

-- The report that settled an attempt: append-only, apart from the row.
CREATE TABLE results (
    job_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    result BLOB NOT NULL, -- JSON of the wire contract
    PRIMARY KEY (job_id, number),
    FOREIGN KEY (job_id, number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;

-- The key by which a client may repeat an enqueue; scope is who submitted.
CREATE TABLE idempotency_keys (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL CHECK (key <> ''),
    fingerprint BLOB NOT NULL,
    job_id      TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE results;
DROP TABLE attempts;
DROP TABLE job_payloads;
DROP TABLE jobs;
