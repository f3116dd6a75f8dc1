-- +goose Up

-- Facts about this installation, one a row.
CREATE TABLE meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

-- Made here, so that it is made exactly once however many hubs start at once.
INSERT INTO meta (key, value) VALUES ('hub_id', 'hub_' || gen_random_uuid());

-- +goose Down
DROP TABLE meta;
