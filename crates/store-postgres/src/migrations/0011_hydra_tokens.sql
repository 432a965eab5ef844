-- Refresh tokens that a Hydra issued, by their MACs, and the grants that they stand for. Empty where none were imported, and read for such
-- tokens alone.
CREATE TABLE hydra_token (
    expires_at bigint NOT NULL,
    grant_id uuid NOT NULL,
    network uuid NOT NULL,
    mac bytea PRIMARY KEY
);

CREATE INDEX IF NOT EXISTS hydra_token_expiry ON hydra_token (expires_at);

-- What else was imported of it, for later imports alone.
CREATE TABLE hydra_mark (
    network uuid NOT NULL,
    at bigint NOT NULL,
    changed_at bigint NOT NULL,
    part smallint NOT NULL,
    is_going boolean NOT NULL,
    id text NOT NULL,
    PRIMARY KEY (network, part, id)
);
