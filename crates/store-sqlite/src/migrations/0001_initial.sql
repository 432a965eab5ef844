-- Times are milliseconds since the Unix epoch, ids the sixteen bytes of their UUID. No trigger, no foreign key, no default
-- that reads a clock. A table whose rows are found by their key is kept in the order of that key (WITHOUT ROWID).

CREATE TABLE network (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    network_id BLOB NOT NULL
) STRICT;

CREATE TABLE node (
    node_id BLOB PRIMARY KEY,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE client (
    client_id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    document TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- The one row of an ordinary login: inserted once, then updated in place, never in an indexed column.
CREATE TABLE oauth_grant (
    grant_id BLOB PRIMARY KEY,
    client_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    sid BLOB,
    scope TEXT NOT NULL,
    audience TEXT NOT NULL,
    claims TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    consented_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    redeemed_at INTEGER,
    revoked_at INTEGER,
    generation INTEGER NOT NULL,
    rotated_at INTEGER,
    attempt BLOB NOT NULL,
    request BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_grant_subject ON oauth_grant (subject, grant_id);

CREATE TABLE consent (
    subject TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    audience TEXT NOT NULL,
    claims TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (subject, client_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX consent_client ON consent (client_id);

CREATE TABLE login_session (
    sid BLOB PRIMARY KEY,
    subject TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    remembered INTEGER NOT NULL,
    idle INTEGER NOT NULL,
    acr TEXT,
    amr TEXT NOT NULL,
    provider_session TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX login_session_subject ON login_session (subject, sid);

CREATE TABLE session_client (
    sid BLOB NOT NULL,
    client_id TEXT NOT NULL,
    PRIMARY KEY (sid, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE parked_flow (
    handle BLOB PRIMARY KEY,
    sealed TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX parked_flow_expiry ON parked_flow (expires_at);

CREATE TABLE identity (
    identity_id BLOB PRIMARY KEY,
    email TEXT NOT NULL,
    login_name BLOB NOT NULL,
    password_hash TEXT NOT NULL,
    status INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    attempt BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE login_name (
    name_hash BLOB PRIMARY KEY,
    identity_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signing_key (
    set_name TEXT NOT NULL,
    kid TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    sealed TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (set_name, kid)
) STRICT;

CREATE TABLE revocation (
    origin BLOB NOT NULL,
    counter INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    swept INTEGER NOT NULL,
    PRIMARY KEY (origin, counter)
) STRICT, WITHOUT ROWID;

CREATE INDEX revocation_target ON revocation (kind, key, at);

CREATE TABLE change (
    origin BLOB NOT NULL,
    counter INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (origin, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE replay (
    kind INTEGER NOT NULL,
    id_hash BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX replay_expiry ON replay (expires_at);

CREATE TABLE outbox (
    id BLOB PRIMARY KEY,
    uri TEXT NOT NULL,
    client_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    sid BLOB NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    dead INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due ON outbox (dead, due_at);

-- The grants that a wide marker covers: session and subject by authentication, the other two by consent. Always asked for
-- one grant, or for few.
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
    );
