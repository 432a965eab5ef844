-- The only unique constraint on codes is that of what users type, so it is the key, as it would be the shard's. An id is
-- given once because it is random. A poll updates no indexed column (HOT).
CREATE TABLE device_code (
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    polled_at bigint,
    slower bigint NOT NULL,
    id uuid NOT NULL,
    polled_by uuid,
    denied_by uuid,
    too_fast boolean NOT NULL,
    user_code bytea PRIMARY KEY,
    client_id text COLLATE "C" NOT NULL,
    sealed text NOT NULL
) WITH (fillfactor = 80);

CREATE INDEX device_code_id ON device_code (id);
CREATE INDEX device_code_expiry ON device_code (expires_at);

-- The same: unique is what is trusted. An empty subject stands for any.
CREATE TABLE trusted_issuer (
    issuer text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    scope text NOT NULL,
    jwk text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (issuer, key_id, subject)
);

CREATE INDEX trusted_issuer_id ON trusted_issuer (id);
CREATE INDEX trusted_issuer_expiry ON trusted_issuer (expires_at);

-- Whose session it is as this client sees it, if that is another than the subject.
ALTER TABLE session_client ADD COLUMN shown_subject text;
