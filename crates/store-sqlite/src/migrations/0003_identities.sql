-- What a person's record says beside e-mail address and status. `credential` holds provisional, hardened and foreign ones.
ALTER TABLE identity RENAME COLUMN password_hash TO credential;
ALTER TABLE identity ADD COLUMN username TEXT NOT NULL DEFAULT '';
ALTER TABLE identity ADD COLUMN email_verified_at INTEGER;
ALTER TABLE identity ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE identity ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
-- Due to be hardened, or leased until; the largest number: given up. The index holds what waits, nothing else.
ALTER TABLE identity ADD COLUMN hardening_due INTEGER;
CREATE INDEX identity_hardening ON identity (hardening_due) WHERE hardening_due IS NOT NULL;

CREATE TABLE identity_session (
    session_id BLOB PRIMARY KEY,
    identity_id BLOB NOT NULL,
    authenticated_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    rotated_at INTEGER NOT NULL,
    amr TEXT NOT NULL,
    device TEXT NOT NULL,
    network TEXT NOT NULL,
    attempt BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX identity_session_identity ON identity_session (identity_id, session_id);

CREATE TABLE factor (
    identity_id BLOB NOT NULL,
    factor_id BLOB NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    counter INTEGER NOT NULL,
    PRIMARY KEY (identity_id, factor_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_code (
    identity_id BLOB NOT NULL,
    code_hash BLOB NOT NULL,
    PRIMARY KEY (identity_id, code_hash)
) STRICT, WITHOUT ROWID;

-- One code of each purpose for a person. `taken_by`: the attempt that found it right; nobody else does afterwards.
CREATE TABLE mail_code (
    identity_id BLOB NOT NULL,
    purpose INTEGER NOT NULL,
    code_hash BLOB NOT NULL,
    email TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    attempt BLOB NOT NULL,
    taken_by BLOB,
    PRIMARY KEY (identity_id, purpose)
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_code_expiry ON mail_code (expires_at);

CREATE TABLE mail (
    id BLOB PRIMARY KEY,
    sealed TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    dead INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_due ON mail (dead, due_at);
