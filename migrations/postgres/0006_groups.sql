-- +goose Up

-- The jobs of one concurrency group and workspace run one at a time; '' is no group. A hub of the version before
-- knows neither column: the jobs that it stores are in no group, and the index refuses a lease of its that would be the
-- second of a group.
ALTER TABLE jobs ADD COLUMN concurrency_group text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE job_payloads ADD COLUMN cancel_running boolean NOT NULL DEFAULT false;

-- Who holds a group, and the arbiter when two leases of one are written at once.
CREATE UNIQUE INDEX jobs_group ON jobs (workspace_id, concurrency_group)
    WHERE state IN ('leased', 'running') AND concurrency_group <> '';
-- Who waits for a group, in whichever queues.
CREATE INDEX jobs_group_queue ON jobs (workspace_id, concurrency_group, rank, id)
    WHERE state = 'queued' AND concurrency_group <> '';

-- +goose Down
DROP INDEX jobs_group_queue;
DROP INDEX jobs_group;
ALTER TABLE job_payloads DROP COLUMN cancel_running;
ALTER TABLE jobs DROP COLUMN concurrency_group;
