-- The only unique constraint on codes is that of what users type, so it is the key, as it would be the shard's. An id is
-- given once because it is random.
CREATE TABLE device_code (
    user_code BLOB PRIMARY KEY,
    id BLOB NOT NULL,
    client_id TEXT NOT NULL,
    sealed TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    denied_at INTEGER,
    polled_at INTEGER,
    slower INTEGER NOT NULL,
    too_fast INTEGER NOT NULL
) STRICT;

CREATE INDEX device_code_id ON device_code (id);
CREATE INDEX device_code_expiry ON device_code (expires_at);

-- The same: unique is what is trusted. An empty subject stands for any.
CREATE TABLE trusted_issuer (
    issuer TEXT NOT NULL,
    key_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    id BLOB NOT NULL,
    scope TEXT NOT NULL,
    jwk TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, key_id, subject)
) STRICT;

CREATE INDEX trusted_issuer_id ON trusted_issuer (id);
CREATE INDEX trusted_issuer_expiry ON trusted_issuer (expires_at);

-- As before, and with markers of kind 6: the consents of a subject. Whoever asks the view needs not know of them.
DROP VIEW covered_grant;

CREATE VIEW covered_grant (grant_id) AS
SELECT g.grant_id
FROM oauth_grant AS g
WHERE EXISTS (
        SELECT 1 FROM revocation AS m
        WHERE m.kind = 2 AND m.at >= g.authenticated_at
          AND m.key = lower(
              substr(hex(g.sid), 1, 8) || '-' || substr(hex(g.sid), 9, 4) || '-' || substr(hex(g.sid), 13, 4)
              || '-' || substr(hex(g.sid), 17, 4) || '-' || substr(hex(g.sid), 21)
          )
    )
   OR EXISTS (
        SELECT 1 FROM revocation AS m
        WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at
    )
   OR EXISTS (
        SELECT 1 FROM revocation AS m
        WHERE m.kind = 4 AND m.key = g.client_id || char(10) || g.subject AND m.at >= g.consented_at
    )
   OR EXISTS (
        SELECT 1 FROM revocation AS m
        WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at
    )
   OR EXISTS (
        SELECT 1 FROM revocation AS m
        WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at
    );

-- Whose session it is as this client sees it, if that is another than the subject.
ALTER TABLE session_client ADD COLUMN shown_subject text;
