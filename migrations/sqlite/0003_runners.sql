-- +goose Up

-- Who a runner is. owner is "user:<id>" or "ws:<id>"; labels is a JSON array.
CREATE TABLE runners (
    id           TEXT PRIMARY KEY,
    owner        TEXT NOT NULL CHECK (owner <> ''),
    label        TEXT NOT NULL,
    labels       TEXT NOT NULL DEFAULT '[]',
    token_digest BLOB NOT NULL UNIQUE,
    hostname     TEXT NOT NULL DEFAULT '',
    paired_by    TEXT NOT NULL DEFAULT '',
    paired_at    INTEGER NOT NULL,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX runners_owner ON runners (owner, id);
-- A label is free again once its runner is revoked.
CREATE UNIQUE INDEX runners_label ON runners (owner, label) WHERE revoked_at IS NULL;

-- What a runner last told of itself: written all the time, so apart from its
-- identity and with no index but the key. capabilities is a JSON array.
CREATE TABLE runner_presence (
    runner_id    TEXT PRIMARY KEY REFERENCES runners (id) ON DELETE CASCADE,
    os           TEXT NOT NULL DEFAULT '',
    arch         TEXT NOT NULL DEFAULT '',
    version      TEXT NOT NULL DEFAULT '',
    protocol     INTEGER NOT NULL DEFAULT 0,
    capabilities TEXT NOT NULL DEFAULT '[]',
    slots        INTEGER NOT NULL DEFAULT 0,
    free_slots   INTEGER NOT NULL DEFAULT 0,
    draining     INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1)),
    status_text  TEXT NOT NULL DEFAULT '',
    status_level TEXT NOT NULL DEFAULT '',
    seen_at      INTEGER
) STRICT, WITHOUT ROWID;

-- Requests to become a runner. A request carries the digest of a code that a person
-- types or of a pair_ token, never the plaintext.
CREATE TABLE pairings (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'redeemed', 'denied')),
    code_digest  BLOB,
    token_digest BLOB,
    public_key   BLOB,
    owner        TEXT NOT NULL DEFAULT '',
    workspace    TEXT NOT NULL DEFAULT '',
    hostname     TEXT NOT NULL DEFAULT '',
    os           TEXT NOT NULL DEFAULT '',
    arch         TEXT NOT NULL DEFAULT '',
    version      TEXT NOT NULL DEFAULT '',
    address      TEXT NOT NULL DEFAULT '',
    label        TEXT NOT NULL DEFAULT '',
    labels       TEXT NOT NULL DEFAULT '[]',
    approved_by  TEXT NOT NULL DEFAULT '',
    runner_id    TEXT NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    CONSTRAINT pairings_credential CHECK (code_digest IS NOT NULL OR token_digest IS NOT NULL),
    CONSTRAINT pairings_owner CHECK (owner <> '' OR state IN ('pending', 'denied')),
    CONSTRAINT pairings_redeemed CHECK ((state = 'redeemed') = (runner_id <> ''))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX pairings_code ON pairings (code_digest) WHERE code_digest IS NOT NULL;
CREATE UNIQUE INDEX pairings_token ON pairings (token_digest) WHERE token_digest IS NOT NULL;
CREATE INDEX pairings_expiry ON pairings (expires_at);

-- +goose Down
DROP TABLE pairings;
DROP TABLE runner_presence;
DROP TABLE runners;
