-- What a person's record says beside e-mail address and status. `credential` holds provisional, hardened and foreign ones.
ALTER TABLE identity RENAME COLUMN password_hash TO credential;
ALTER TABLE identity ADD COLUMN username text NOT NULL DEFAULT '';
ALTER TABLE identity ADD COLUMN email_verified_at bigint;
ALTER TABLE identity ADD COLUMN updated_at bigint NOT NULL DEFAULT 0;
ALTER TABLE identity ADD COLUMN revision bigint NOT NULL DEFAULT 1;
-- Due to be hardened, or leased until; the largest number: given up. The index holds what waits, nothing else.
ALTER TABLE identity ADD COLUMN hardening_due bigint;
CREATE INDEX identity_hardening ON identity (hardening_due) WHERE hardening_due IS NOT NULL;

CREATE TABLE identity_session (
    authenticated_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    generation bigint NOT NULL,
    rotated_at bigint NOT NULL,
    session_id uuid PRIMARY KEY,
    identity_id uuid NOT NULL,
    attempt uuid NOT NULL,
    amr text NOT NULL,
    device text NOT NULL,
    network text NOT NULL
) WITH (fillfactor = 80);

CREATE INDEX identity_session_identity ON identity_session (identity_id, session_id);

-- `used_by`, `spent_by`, `tried_by`: the statement that did it last, so that one that was sent again knows its own work.
CREATE TABLE factor (
    created_at bigint NOT NULL,
    last_used_at bigint,
    counter bigint NOT NULL,
    identity_id uuid NOT NULL,
    factor_id uuid NOT NULL,
    used_by uuid,
    kind smallint NOT NULL,
    name text NOT NULL,
    sealed text NOT NULL,
    PRIMARY KEY (identity_id, factor_id)
) WITH (fillfactor = 80);

CREATE TABLE recovery_code (
    identity_id uuid NOT NULL,
    spent_by uuid,
    code_hash bytea NOT NULL,
    PRIMARY KEY (identity_id, code_hash)
);

-- One code of each purpose for a person. `taken_by`: the attempt that found it right; nobody else does afterwards.
CREATE TABLE mail_code (
    expires_at bigint NOT NULL,
    identity_id uuid NOT NULL,
    attempt uuid NOT NULL,
    taken_by uuid,
    tried_by uuid,
    tries integer NOT NULL,
    purpose smallint NOT NULL,
    code_hash bytea NOT NULL,
    email text NOT NULL,
    PRIMARY KEY (identity_id, purpose)
);

CREATE INDEX mail_code_expiry ON mail_code (expires_at);

CREATE TABLE mail (
    due_at bigint NOT NULL,
    id uuid PRIMARY KEY,
    attempts integer NOT NULL,
    dead boolean NOT NULL,
    sealed text NOT NULL
);

CREATE INDEX mail_due ON mail (dead, due_at);
