-- +goose Up

-- Times are integers: microseconds since 1970 in UTC; NULL is the zero time.
CREATE TABLE users (
    id         TEXT PRIMARY KEY,
    login      TEXT NOT NULL UNIQUE CHECK (login <> ''),
    admin      INTEGER NOT NULL CHECK (admin IN (0, 1)),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE CHECK (slug <> ''),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- seq says which membership is older; a change of role keeps it.
CREATE TABLE members (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    role         TEXT NOT NULL CHECK (role IN ('member', 'admin')),
    UNIQUE (user_id, workspace_id)
) STRICT;

CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    digest     BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_user ON api_keys (user_id);

-- +goose Down
DROP TABLE api_keys;
DROP TABLE members;
DROP TABLE workspaces;
DROP TABLE users;
