-- +goose Up

-- The jobs of one concurrency group and workspace run one at a time; '' is no group.
ALTER TABLE jobs ADD COLUMN concurrency_group TEXT NOT NULL DEFAULT '';
ALTER TABLE job_payloads ADD COLUMN cancel_running INTEGER NOT NULL DEFAULT 0;

-- Who holds a group; never two at once.
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
