-- +goose Up

-- Ids are compared byte by byte everywhere, also where they order a page.
CREATE TABLE users (
    id         text COLLATE "C" PRIMARY KEY,
    login      text COLLATE "C" NOT NULL UNIQUE CHECK (login <> ''),
    admin      boolean NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE workspaces (
    id         text COLLATE "C" PRIMARY KEY,
    slug       text COLLATE "C" NOT NULL UNIQUE CHECK (slug <> ''),
    created_at timestamptz NOT NULL
);

-- seq says which membership is older; a change of role keeps it.
CREATE TABLE members (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id),
    user_id      text COLLATE "C" NOT NULL REFERENCES users (id),
    role         text NOT NULL CHECK (role IN ('member', 'admin')),
    seq          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (user_id, workspace_id)
);

CREATE TABLE api_keys (
    id         text COLLATE "C" PRIMARY KEY,
    user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
    name       text NOT NULL,
    digest     bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX api_keys_user ON api_keys (user_id);

-- +goose Down
DROP TABLE api_keys;
DROP TABLE members;
DROP TABLE workspaces;
DROP TABLE users;
