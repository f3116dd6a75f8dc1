-- +goose Up

-- The batch that a job was submitted in, '' for none.
ALTER TABLE job_payloads ADD COLUMN batch_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX job_payloads_batch ON job_payloads (batch_id, job_id) WHERE batch_id <> '';

-- +goose Down
DROP INDEX job_payloads_batch;
ALTER TABLE job_payloads DROP COLUMN batch_id;
