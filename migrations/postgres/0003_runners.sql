-- +goose Up

-- Who a runner is. owner is "user:<id>" or "ws:<id>".
CREATE TABLE runners (
    id           text COLLATE "C" PRIMARY KEY,
    owner        text COLLATE "C" NOT NULL CHECK (owner <> ''),
    label        text COLLATE "C" NOT NULL,
    labels       text[] NOT NULL DEFAULT '{}',
    token_digest bytea NOT NULL UNIQUE,
    hostname     text NOT NULL DEFAULT '',
    paired_by    text NOT NULL DEFAULT '',
    paired_at    timestamptz NOT NULL,
    revoked_at   timestamptz
);
CREATE INDEX runners_owner ON runners (owner, id);
-- A label is free again once its runner is revoked.
CREATE UNIQUE INDEX runners_label ON runners (owner, label) WHERE revoked_at IS NULL;

-- What a runner last told of itself: written all the time, so apart from its
-- identity, with room in each page and no index but the key (HOT updates).
CREATE TABLE runner_presence (
    runner_id    text COLLATE "C" PRIMARY KEY REFERENCES runners (id) ON DELETE CASCADE,
    os           text NOT NULL DEFAULT '',
    arch         text NOT NULL DEFAULT '',
    version      text NOT NULL DEFAULT '',
    protocol     integer NOT NULL DEFAULT 0,
    capabilities text[] NOT NULL DEFAULT '{}',
    slots        integer NOT NULL DEFAULT 0,
    free_slots   integer NOT NULL DEFAULT 0,
    draining     boolean NOT NULL DEFAULT false,
    status_text  text NOT NULL DEFAULT '',
    status_level text NOT NULL DEFAULT '',
    seen_at      timestamptz
) WITH (fillfactor = 50);

-- Requests to become a runner. A request carries the digest of a code that a person
-- types or of a pair_ token, never the plaintext.
CREATE TABLE pairings (
    id           text COLLATE "C" PRIMARY KEY,
    state        text NOT NULL CHECK (state IN ('pending', 'approved', 'redeemed', 'denied')),
    code_digest  bytea,
    token_digest bytea,
    public_key   bytea,
    owner        text COLLATE "C" NOT NULL DEFAULT '',
    workspace    text COLLATE "C" NOT NULL DEFAULT '',
    hostname     text NOT NULL DEFAULT '',
    os           text NOT NULL DEFAULT '',
    arch         text NOT NULL DEFAULT '',
    version      text NOT NULL DEFAULT '',
    address      text NOT NULL DEFAULT '',
    label        text NOT NULL DEFAULT '',
    labels       text[] NOT NULL DEFAULT '{}',
    approved_by  text NOT NULL DEFAULT '',
    runner_id    text COLLATE "C" NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT pairings_credential CHECK (code_digest IS NOT NULL OR token_digest IS NOT NULL),
    CONSTRAINT pairings_owner CHECK (owner <> '' OR state IN ('pending', 'denied')),
    CONSTRAINT pairings_redeemed CHECK ((state = 'redeemed') = (runner_id <> ''))
);
CREATE UNIQUE INDEX pairings_code ON pairings (code_digest) WHERE code_digest IS NOT NULL;
CREATE UNIQUE INDEX pairings_token ON pairings (token_digest) WHERE token_digest IS NOT NULL;
CREATE INDEX pairings_expiry ON pairings (expires_at);

-- +goose Down
DROP TABLE pairings;
DROP TABLE runner_presence;
DROP TABLE runners;
