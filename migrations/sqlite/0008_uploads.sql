-- +goose Up

-- Bytes that were announced and arrive in parts. The last columns are an artifact's; job_id is '' for others.
CREATE TABLE uploads (
    id           TEXT NOT NULL PRIMARY KEY,
    kind         TEXT NOT NULL CHECK (kind <> ''),
    owner        TEXT NOT NULL CHECK (owner <> ''),
    created_by   TEXT NOT NULL,
    token_digest BLOB NOT NULL UNIQUE,
    size         INTEGER NOT NULL CHECK (size >= 0),
    digest       BLOB NOT NULL CHECK (length(digest) = 32),
    received     INTEGER NOT NULL DEFAULT 0 CHECK (received >= 0 AND received <= size),
    state        TEXT NOT NULL CHECK (state IN ('open', 'done', 'dropped')),
    blob_id      TEXT NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    job_id       TEXT NOT NULL DEFAULT '',
    attempt      INTEGER NOT NULL DEFAULT 0,
    name         TEXT NOT NULL DEFAULT '',
    path         TEXT NOT NULL DEFAULT '',
    executable   INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT uploads_done CHECK ((state = 'done') = (blob_id <> ''))
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_expired ON uploads (expires_at);
-- What is under way: for an owner (the same bytes again, and the cap), for an attempt (the caps).
CREATE INDEX uploads_open ON uploads (owner, digest) WHERE state = 'open';
CREATE INDEX uploads_attempt ON uploads (job_id, attempt) WHERE state = 'open' AND job_id <> '';

CREATE TABLE upload_parts (
    upload_id    TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    start_offset INTEGER NOT NULL CHECK (start_offset >= 0),
    size         INTEGER NOT NULL CHECK (size > 0),
    bucket_key   TEXT NOT NULL,
    PRIMARY KEY (upload_id, start_offset)
) STRICT, WITHOUT ROWID;

-- Checked bytes. A condemned one is about to be deleted, and as good as gone.
CREATE TABLE blobs (
    id         TEXT NOT NULL PRIMARY KEY,
    owner      TEXT NOT NULL CHECK (owner <> ''),
    digest     BLOB NOT NULL CHECK (length(digest) = 32),
    size       INTEGER NOT NULL CHECK (size >= 0),
    bucket_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    keep_until INTEGER NOT NULL,
    condemned  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX blobs_content ON blobs (owner, digest) WHERE NOT condemned;
CREATE INDEX blobs_old ON blobs (keep_until);

-- Files that attempts left.
CREATE TABLE artifacts (
    job_id     TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    path       TEXT NOT NULL CHECK (path <> ''),
    name       TEXT NOT NULL,
    executable INTEGER NOT NULL DEFAULT 0,
    size       INTEGER NOT NULL CHECK (size >= 0),
    digest     BLOB NOT NULL,
    blob_id    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, attempt, path),
    FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_expired ON artifacts (expires_at);

-- +goose Down
DROP TABLE artifacts;
DROP TABLE blobs;
DROP TABLE upload_parts;
DROP TABLE uploads;
