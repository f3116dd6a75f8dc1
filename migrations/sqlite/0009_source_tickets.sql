-- +goose Up

-- Attempts whose source was taken: the ticket for it works once.
CREATE TABLE source_tickets (
    job_id   TEXT NOT NULL,
    attempt  INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, attempt),
    FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE source_tickets;
