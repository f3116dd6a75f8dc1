-- +goose Up

-- Deleting a job looks for its key by this.
CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);

-- When a runner said that it ends.
ALTER TABLE runner_presence ADD COLUMN left_at INTEGER;

-- The oldest schema that a program must know to work on this one. Migrations that only add leave it alone, so
-- that an older program still opens the file; one that takes away raises it, as CONTRIBUTING.md says.
INSERT INTO meta (key, value) VALUES ('needs_version', '5');

-- +goose Down
DELETE FROM meta WHERE key = 'needs_version';
ALTER TABLE runner_presence DROP COLUMN left_at;
DROP INDEX idempotency_keys_job;
