-- +goose Up

-- What a key may be used for, beyond who it belongs to.
ALTER TABLE api_keys ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN toolsets TEXT NOT NULL DEFAULT ''; -- names with commas between them, '' for all

-- +goose Down
ALTER TABLE api_keys DROP COLUMN toolsets;
ALTER TABLE api_keys DROP COLUMN read_only;
