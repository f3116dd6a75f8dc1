-- +goose Up

-- Work that one hub does for all, which hub that is, and until when. One row a task, written every few seconds.
CREATE TABLE leaders (
    task       text COLLATE "C" PRIMARY KEY,
    holder     text NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The oldest schema that a program must know to work on this one. Migrations that only add leave it alone, so
-- that the hubs of the version before go on; one that takes away raises it, as CONTRIBUTING.md says.
INSERT INTO meta (key, value) VALUES ('needs_version', '5');

-- +goose Down
DELETE FROM meta WHERE key = 'needs_version';
DROP TABLE leaders;
