-- +goose Up

-- Bytes that were announced and arrive in parts. The last columns are an artifact's; job_id is '' for others.
CREATE TABLE uploads (
    id           text COLLATE "C" PRIMARY KEY,
    kind         text COLLATE "C" NOT NULL CHECK (kind <> ''),
    owner        text COLLATE "C" NOT NULL CHECK (owner <> ''),
    created_by   text COLLATE "C" NOT NULL,
    token_digest bytea NOT NULL UNIQUE,
    size         bigint NOT NULL CHECK (size >= 0),
    digest       bytea NOT NULL CHECK (length(digest) = 32),
    received     bigint NOT NULL DEFAULT 0 CHECK (received >= 0 AND received <= size),
    state        text NOT NULL CHECK (state IN ('open', 'done', 'dropped')),
    blob_id      text COLLATE "C" NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    job_id       text COLLATE "C" NOT NULL DEFAULT '',
    attempt      integer NOT NULL DEFAULT 0,
    name         text NOT NULL DEFAULT '',
    path         text COLLATE "C" NOT NULL DEFAULT '',
    executable   boolean NOT NULL DEFAULT false,
    CONSTRAINT uploads_done CHECK ((state = 'done') = (blob_id <> ''))
);
CREATE INDEX uploads_expired ON uploads (expires_at);
-- What is under way: for an owner (the same bytes again, and the cap), for an attempt (the caps).
CREATE INDEX uploads_open ON uploads (owner, digest) WHERE state = 'open';
CREATE INDEX uploads_attempt ON uploads (job_id, attempt) WHERE state = 'open' AND job_id <> '';

CREATE TABLE upload_parts (
    upload_id    text COLLATE "C" NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    start_offset bigint NOT NULL CHECK (start_offset >= 0),
    size         bigint NOT NULL CHECK (size > 0),
    bucket_key   text NOT NULL,
    PRIMARY KEY (upload_id, start_offset)
);

-- Checked bytes. A condemned one is about to be deleted, and as good as gone.
CREATE TABLE blobs (
    id         text COLLATE "C" PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL CHECK (owner <> ''),
    digest     bytea NOT NULL CHECK (length(digest) = 32),
    size       bigint NOT NULL CHECK (size >= 0),
    bucket_key text NOT NULL,
    created_at timestamptz NOT NULL,
    keep_until timestamptz NOT NULL,
    condemned  boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX blobs_content ON blobs (owner, digest) WHERE NOT condemned;
CREATE INDEX blobs_old ON blobs (keep_until);

-- Files that attempts left.
CREATE TABLE artifacts (
    job_id     text COLLATE "C" NOT NULL,
    attempt    integer NOT NULL,
    path       text COLLATE "C" NOT NULL CHECK (path <> ''),
    name       text NOT NULL,
    executable boolean NOT NULL DEFAULT false,
    size       bigint NOT NULL CHECK (size >= 0),
    digest     bytea NOT NULL,
    blob_id    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, attempt, path)
);
CREATE INDEX artifacts_expired ON artifacts (expires_at);

-- +goose Down
DROP TABLE artifacts;
DROP TABLE blobs;
DROP TABLE upload_parts;
DROP TABLE uploads;
