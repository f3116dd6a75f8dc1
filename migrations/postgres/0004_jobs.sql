-- +goose Up

-- The narrow row that the lease machine decides on; what never changes is in
-- job_payloads. Room is left in each page so that a heartbeat is a HOT update: none of the
-- columns that it writes (lease_expires_at above all) may be indexed or stand in an index's predicate.
--
-- There is no foreign key from or to the hot tables (jobs, job_payloads, attempts, results,
-- events): each would lock its parent row at every insert. One transaction writes what belongs together.
CREATE TABLE jobs (
    id                  text COLLATE "C" PRIMARY KEY,
    workspace_id        text COLLATE "C" NOT NULL,
    owner               text COLLATE "C" NOT NULL CHECK (owner <> ''),
    runner_id           text COLLATE "C" NOT NULL DEFAULT '', -- '' is the pool
    queue_key           text COLLATE "C" NOT NULL,
    state               text NOT NULL CHECK (state IN
        ('queued', 'leased', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'rejected')),
    revision            bigint NOT NULL DEFAULT 0,
    priority            integer NOT NULL DEFAULT 0,
    rank                integer NOT NULL DEFAULT 0,

    attempt             integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    epoch               bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    losses              integer NOT NULL DEFAULT 0 CHECK (losses >= 0),
    max_attempts        integer NOT NULL DEFAULT 0,

    lease_runner_id     text COLLATE "C" NOT NULL DEFAULT '', -- stays after the end: who ran it
    lease_digest        bytea,
    lease_request_id    text NOT NULL DEFAULT '',
    lease_expires_at    timestamptz,
    deadline_at         timestamptz,

    phase               text NOT NULL DEFAULT '',
    step                text NOT NULL DEFAULT '',
    progress            text NOT NULL DEFAULT '',

    cancel_requested_at timestamptz,
    cancel_reason       text NOT NULL DEFAULT '',

    failure_class       text, -- NULL: no failure
    failure_message     text,
    failure_hint        text,
    failure_container   text,

    created_at          timestamptz NOT NULL,
    queued_at           timestamptz NOT NULL,
    started_at          timestamptz,
    ended_at            timestamptz,

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
        ELSE true END)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- The claim: one queue in order. rank stands before id, or the planner walks the primary key.
CREATE INDEX jobs_claim ON jobs (queue_key, rank, id) WHERE state = 'queued';
-- What runners hold: all of it by id (sweeps), by runner, by owner (caps).
CREATE INDEX jobs_live ON jobs (id) WHERE state IN ('leased', 'running');
CREATE INDEX jobs_live_runner ON jobs (lease_runner_id) WHERE state IN ('leased', 'running');
CREATE INDEX jobs_live_owner ON jobs (owner, lease_runner_id) WHERE state IN ('leased', 'running');
-- Lists, the newest first.
CREATE INDEX jobs_list ON jobs (owner, id DESC);

-- What never changes after enqueue: insert-only.
CREATE TABLE job_payloads (
    job_id       text COLLATE "C" PRIMARY KEY,
    name         text NOT NULL DEFAULT '',
    spec         bytea NOT NULL,              -- canonical JSON, byte by byte as it came
    requires     text[] NOT NULL DEFAULT '{}',
    labels       text[] NOT NULL DEFAULT '{}',
    timeout_ns   bigint NOT NULL DEFAULT 0,   -- nanoseconds
    grace_ns     bigint NOT NULL DEFAULT 0,   -- nanoseconds
    retry_on     text[] NOT NULL DEFAULT '{}',
    submitted_by text COLLATE "C" NOT NULL DEFAULT '',
    retry_of     text COLLATE "C" NOT NULL DEFAULT ''
);

-- One execution each. log_size grows with the log.
CREATE TABLE attempts (
    job_id            text COLLATE "C" NOT NULL,
    number            integer NOT NULL CHECK (number > 0),
    runner_id         text COLLATE "C" NOT NULL CHECK (runner_id <> ''),
    epoch             bigint NOT NULL CHECK (epoch > 0),
    state             text NOT NULL CHECK (state IN
        ('leased', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'lost', 'released')),
    lease_digest      bytea NOT NULL,
    log_digest        bytea,
    leased_at         timestamptz NOT NULL,
    started_at        timestamptz,
    ended_at          timestamptz,
    failure_class     text, -- NULL: no failure
    failure_message   text,
    failure_hint      text,
    failure_container text,
    report_digest     bytea,
    log_size          bigint NOT NULL DEFAULT 0 CHECK (log_size >= 0),
    PRIMARY KEY (job_id, number),
    CONSTRAINT attempts_ended CHECK ((state IN ('leased', 'running')) = (ended_at IS NULL)),
    CONSTRAINT attempts_report CHECK (report_digest IS NULL OR ended_at IS NOT NULL)
) WITH (fillfactor = 80);
-- A job has at most one live attempt.
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE state IN ('leased', 'running');
CREATE UNIQUE INDEX attempts_log ON attempts (log_digest) WHERE log_digest IS NOT NULL;

-- The report that settled an attempt: append-only, apart from the row.
CREATE TABLE results (
    job_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    result bytea NOT NULL, -- JSON of the wire contract
    PRIMARY KEY (job_id, number)
);

-- The key by which a client may repeat an enqueue; scope is who submitted.
CREATE TABLE idempotency_keys (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL CHECK (key <> ''),
    fingerprint bytea NOT NULL,
    job_id      text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE results;
DROP TABLE attempts;
DROP TABLE job_payloads;
DROP TABLE jobs;
