-- +goose Up

-- Attempts whose source was taken: the ticket for it works once.
CREATE TABLE source_tickets (
    job_id   text COLLATE "C" NOT NULL,
    attempt  integer NOT NULL,
    taken_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, attempt)
);

-- +goose Down
DROP TABLE source_tickets;
