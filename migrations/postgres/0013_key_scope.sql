-- +goose Up

-- What a key may be used for, beyond who it belongs to.
ALTER TABLE api_keys
    ADD COLUMN read_only boolean NOT NULL DEFAULT false,
    ADD COLUMN toolsets text NOT NULL DEFAULT ''; -- names with commas between them, '' for all

-- +goose Down
ALTER TABLE api_keys DROP COLUMN toolsets, DROP COLUMN read_only;
