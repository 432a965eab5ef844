-- The columns that statements name and tables do not have, and the index that one names. Those of migrations 8 and 11 are left out: what
-- reads them does without, those of 8 unless something was imported.
WITH needed (name, columns) AS (VALUES
    ('network', '["one", "network_id"]'),
    ('node', '["node_id", "started_at"]'),
    ('client', '["client_id", "revision", "name", "owner", "document", "created_at", "updated_at"]'),
    ('oauth_grant', '["grant_id", "client_id", "subject", "sid", "scope", "audience", "claims", "authenticated_at", "consented_at",
        "expires_at", "redeemed_at", "revoked_at", "generation", "rotated_at", "attempt", "request"]'),
    ('consent', '["subject", "client_id", "scope", "audience", "claims", "decided_at", "expires_at"]'),
    ('login_session', '["sid", "subject", "authenticated_at", "last_seen_at", "expires_at", "remembered", "idle", "acr", "amr",
        "provider_session", "device", "network"]'),
    ('session_client', '["sid", "client_id", "shown_subject"]'),
    ('parked_flow', '["handle", "sealed", "expires_at"]'),
    ('identity', '["identity_id", "email", "login_name", "credential", "status", "created_at", "attempt", "username",
        "email_verified_at", "updated_at", "revision", "hardening_due", "factor_required"]'),
    ('login_name', '["name_hash", "identity_id"]'),
    ('signing_key', '["set_name", "kid", "algorithm", "sealed", "state", "created_at"]'),
    ('revocation', '["origin", "counter", "kind", "key", "at", "expires_at", "swept"]'),
    ('change', '["origin", "counter", "kind", "key", "at"]'),
    ('replay', '["kind", "id_hash", "expires_at"]'),
    ('outbox', '["id", "uri", "client_id", "subject", "sid", "due_at", "attempts", "dead"]'),
    ('device_code', '["user_code", "id", "client_id", "sealed", "created_at", "expires_at", "denied_at", "polled_at", "slower",
        "too_fast"]'),
    ('trusted_issuer', '["issuer", "key_id", "subject", "id", "scope", "jwk", "created_at", "expires_at"]'),
    ('covered_grant', '["grant_id"]'),
    ('identity_session', '["session_id", "identity_id", "authenticated_at", "last_seen_at", "expires_at", "generation", "rotated_at",
        "amr", "device", "network", "attempt"]'),
    ('factor', '["identity_id", "factor_id", "kind", "name", "sealed", "created_at", "last_used_at", "counter"]'),
    ('recovery_code', '["identity_id", "code_hash", "key_id"]'),
    ('mail_code', '["identity_id", "purpose", "code_hash", "email", "expires_at", "tries", "attempt", "taken_by"]'),
    ('mail', '["id", "sealed", "due_at", "attempts", "dead"]')
)
SELECT needed.name || '.' || needed_column.value
FROM needed, json_each(needed.columns) AS needed_column
WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(needed.name) AS found WHERE found.name = needed_column.value)
UNION ALL
SELECT 'outbox.outbox_client'
WHERE NOT EXISTS (SELECT 1 FROM pragma_index_info('outbox_client'))
