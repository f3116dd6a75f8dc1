-- +goose Up

-- Work that one hub does for all, which hub that is, and until when. One row a task, written every few seconds.
CREATE TABLE leaders (
    task       text COLLATE "C" PRIMARY KEY,
    holder     text NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- When a runner said that it ends. A hub of the version before does not know the column; what it hears later is
-- told by seen_at, which makes this word an old one.
ALTER TABLE runner_presence ADD COLUMN left_at timestamptz;

-- The oldest schema that a program must know to work on this one. Migrations that only add leave it alone, so
-- that the hubs of the version before go on; one that takes away raises it, as CONTRIBUTING.md says.
INSERT INTO meta (key, value) VALUES ('needs_version', '5');

-- The planner shall know nothing of what is in these columns. Of a million jobs a hundred are live, so that a sample
-- finds none of them: the planner then takes any index of live jobs to hold one row, and picks one that has to be read
-- from end to end. Without a sample it takes them for more, and picks the index that finds an owner or a runner.
ALTER TABLE jobs
    ALTER COLUMN state SET STATISTICS 0,
    ALTER COLUMN owner SET STATISTICS 0,
    ALTER COLUMN workspace_id SET STATISTICS 0,
    ALTER COLUMN queue_key SET STATISTICS 0,
    ALTER COLUMN lease_runner_id SET STATISTICS 0,
    ALTER COLUMN concurrency_group SET STATISTICS 0;

-- +goose Down
ALTER TABLE jobs
    ALTER COLUMN state SET STATISTICS -1,
    ALTER COLUMN owner SET STATISTICS -1,
    ALTER COLUMN workspace_id SET STATISTICS -1,
    ALTER COLUMN queue_key SET STATISTICS -1,
    ALTER COLUMN lease_runner_id SET STATISTICS -1,
    ALTER COLUMN concurrency_group SET STATISTICS -1;
DELETE FROM meta WHERE key = 'needs_version';
ALTER TABLE runner_presence DROP COLUMN left_at;
DROP TABLE leaders;
