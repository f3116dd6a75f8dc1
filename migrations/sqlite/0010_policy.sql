-- +goose Up

-- An outline of what a runner's owner allows, JSON of package topology/policy; '' where the runner told none.
ALTER TABLE runners ADD COLUMN policy TEXT NOT NULL DEFAULT '';

-- What a job asks of the owner of its runner, JSON of the same package; '' for nothing, or where nobody looked.
ALTER TABLE job_payloads ADD COLUMN needs TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job_payloads DROP COLUMN needs;
ALTER TABLE runners DROP COLUMN policy;
