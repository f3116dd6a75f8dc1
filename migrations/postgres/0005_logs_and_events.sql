-- +goose Up

-- Where the runs of an attempt's log are in the bucket. They do not overlap; dropped ones leave a gap.
CREATE TABLE log_chunks (
    job_id       text COLLATE "C" NOT NULL,
    attempt      integer NOT NULL,
    start_offset bigint NOT NULL CHECK (start_offset >= 0),
    size         bigint NOT NULL CHECK (size > 0),
    digest       bytea NOT NULL,
    bucket_key   text NOT NULL,
    PRIMARY KEY (job_id, attempt, start_offset)
);

-- The audit log: who did what, for whom and from where. Only ever added to.
CREATE TABLE events (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    actor        text NOT NULL,
    on_behalf_of text NOT NULL DEFAULT '',
    action       text NOT NULL CHECK (action <> ''),
    address      text NOT NULL DEFAULT '',
    owner        text COLLATE "C" NOT NULL DEFAULT '',
    workspace_id text COLLATE "C" NOT NULL DEFAULT '',
    job_id       text COLLATE "C" NOT NULL DEFAULT '',
    attempt      integer NOT NULL DEFAULT 0,
    runner_id    text COLLATE "C" NOT NULL DEFAULT '',
    detail       jsonb -- an object of strings; NULL: none
);
CREATE INDEX events_job ON events (job_id, id) WHERE job_id <> '';

-- +goose StatementBegin
CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are never changed';
END $$;
-- +goose StatementEnd

-- By statement, so that it costs nothing but to those who try.
CREATE TRIGGER events_append_only BEFORE UPDATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_append_only();

-- +goose Down
DROP TABLE events;
DROP FUNCTION events_append_only();
DROP TABLE log_chunks;
