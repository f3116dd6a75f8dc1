-- +goose Up

-- Facts about this installation, one a row.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Made here, so that it is made exactly once however many hubs start at once.
-- The pieces are those of a random (version 4) UUID.
INSERT INTO meta (key, value) VALUES ('hub_id', 'hub_'
    || lower(hex(randomblob(4))) || '-'
    || lower(hex(randomblob(2))) || '-4'
    || substr(lower(hex(randomblob(2))), 2) || '-'
    || substr('89ab', 1 + (abs(random()) % 4), 1)
    || substr(lower(hex(randomblob(2))), 2) || '-'
    || lower(hex(randomblob(6))));

-- +goose Down
DROP TABLE meta;
