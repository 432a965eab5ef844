-- Refresh tokens that a Hydra issued, by their MACs, and the grants that they stand for. Empty where none were imported, and read for such
-- tokens alone.
CREATE TABLE hydra_token (
    mac BLOB PRIMARY KEY,
    grant_id BLOB NOT NULL,
    network BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX hydra_token_expiry ON hydra_token (expires_at);

-- What else was imported of it, for later imports alone.
CREATE TABLE hydra_mark (
    network BLOB NOT NULL,
    part INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    is_going INTEGER NOT NULL,
    PRIMARY KEY (network, part, id)
) STRICT, WITHOUT ROWID;
