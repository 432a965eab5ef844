-- Times are milliseconds since the Unix epoch. Texts that are compared or ordered have the C collation: bytes, as
-- everywhere else in Sluice. No SERIAL, no trigger, no foreign key, no default that reads a clock.

CREATE TABLE network (
    one smallint PRIMARY KEY CHECK (one = 1),
    network_id uuid NOT NULL
);

CREATE TABLE client (
    client_id text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    name text NOT NULL,
    owner text NOT NULL,
    document text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    attempt uuid NOT NULL
);

-- The one row of an ordinary login. It is updated once soon after it was inserted and then at each refresh, never in an
-- indexed column: half of every page is left free, so that the new version finds room beside the old one (HOT).
CREATE TABLE oauth_grant (
    authenticated_at bigint NOT NULL,
    consented_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    generation bigint NOT NULL,
    redeemed_at bigint,
    revoked_at bigint,
    rotated_at bigint,
    grant_id uuid PRIMARY KEY,
    attempt uuid NOT NULL,
    sid uuid,
    request uuid,
    client_id text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    scope text NOT NULL,
    audience text NOT NULL,
    claims text NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX oauth_grant_subject ON oauth_grant (subject, grant_id);

CREATE TABLE consent (
    subject text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    scope text NOT NULL,
    audience text NOT NULL,
    claims text NOT NULL,
    decided_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (subject, client_id)
);

CREATE INDEX consent_client ON consent (client_id);

CREATE TABLE login_session (
    authenticated_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    idle bigint NOT NULL,
    sid uuid PRIMARY KEY,
    remembered boolean NOT NULL,
    subject text COLLATE "C" NOT NULL,
    acr text,
    amr text NOT NULL,
    provider_session text
) WITH (fillfactor = 80);

CREATE INDEX login_session_subject ON login_session (subject, sid);

CREATE TABLE session_client (
    sid uuid NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (sid, client_id)
);

CREATE TABLE parked_flow (
    handle uuid PRIMARY KEY,
    sealed text NOT NULL,
    expires_at bigint NOT NULL
);

CREATE INDEX parked_flow_expiry ON parked_flow (expires_at);

CREATE TABLE identity (
    identity_id uuid PRIMARY KEY,
    attempt uuid NOT NULL,
    created_at bigint NOT NULL,
    status smallint NOT NULL,
    login_name bytea NOT NULL,
    email text NOT NULL,
    password_hash text NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE login_name (
    name_hash bytea PRIMARY KEY,
    identity_id uuid NOT NULL
);

CREATE TABLE signing_key (
    set_name text COLLATE "C" NOT NULL,
    kid text COLLATE "C" NOT NULL,
    algorithm text NOT NULL,
    sealed text NOT NULL,
    state text NOT NULL,
    created_at bigint NOT NULL,
    attempt uuid NOT NULL,
    PRIMARY KEY (set_name, kid)
);

-- One row per origin of feed entries. Its counters are raised in the transaction that appends, so the row's lock makes
-- the order of counters the order of commits.
CREATE TABLE node (
    node_id uuid PRIMARY KEY,
    revocation_counter bigint NOT NULL,
    change_counter bigint NOT NULL,
    appended_at bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE revocation (
    origin uuid NOT NULL,
    counter bigint NOT NULL,
    at bigint NOT NULL,
    expires_at bigint NOT NULL,
    kind smallint NOT NULL,
    swept boolean NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (origin, counter)
);

CREATE INDEX revocation_target ON revocation (kind, key);

CREATE TABLE change (
    origin uuid NOT NULL,
    counter bigint NOT NULL,
    at bigint NOT NULL,
    kind smallint NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (origin, counter)
);

CREATE TABLE replay (
    kind smallint NOT NULL,
    id_hash bytea NOT NULL,
    attempt uuid NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (kind, id_hash)
);

CREATE INDEX replay_expiry ON replay (expires_at);

CREATE TABLE outbox (
    id uuid PRIMARY KEY,
    sid uuid NOT NULL,
    due_at bigint NOT NULL,
    attempts integer NOT NULL,
    dead boolean NOT NULL,
    uri text NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL
);

CREATE INDEX outbox_due ON outbox (dead, due_at);
