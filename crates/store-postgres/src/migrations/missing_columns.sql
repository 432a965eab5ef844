-- The columns that statements name and tables do not have. Asked of the catalog, so that it waits for no lock; as these statements would, it
-- finds tables by the search path. Those of migrations 11 and 14 are left out: what reads them does without, those of 11 unless something was
-- imported.
SELECT needed.name || '.' || needed_column
FROM (VALUES
    ('network', 'one network_id'),
    ('client', 'client_id revision name owner document created_at updated_at attempt'),
    ('oauth_grant', 'authenticated_at consented_at expires_at generation redeemed_at revoked_at rotated_at grant_id attempt sid request '
        'client_id subject scope audience claims'),
    ('consent', 'subject client_id scope audience claims decided_at expires_at'),
    ('login_session', 'authenticated_at last_seen_at expires_at idle sid remembered subject acr amr provider_session '
        'device network'),
    ('session_client', 'sid client_id shown_subject'),
    ('parked_flow', 'handle sealed expires_at'),
    ('identity', 'identity_id attempt created_at status login_name email credential username email_verified_at updated_at revision '
        'hardening_due factor_required'),
    ('login_name', 'name_hash identity_id'),
    ('signing_key', 'set_name kid algorithm sealed state created_at attempt'),
    ('node', 'node_id revocation_counter change_counter appended_at'),
    ('revocation', 'origin counter at expires_at kind swept key'),
    ('change', 'origin counter at kind key'),
    ('replay', 'kind id_hash attempt expires_at'),
    ('outbox', 'id sid due_at attempts dead uri client_id subject'),
    ('device_code', 'created_at expires_at polled_at slower id polled_by denied_by too_fast user_code client_id sealed'),
    ('trusted_issuer', 'issuer key_id subject id scope jwk created_at expires_at'),
    ('identity_session', 'authenticated_at last_seen_at expires_at generation rotated_at session_id identity_id attempt amr device network'),
    ('factor', 'created_at last_used_at counter identity_id factor_id used_by kind name sealed'),
    ('recovery_code', 'identity_id spent_by code_hash key_id'),
    ('mail_code', 'expires_at identity_id attempt taken_by tried_by tries purpose code_hash email'),
    ('mail', 'due_at id attempts dead sealed')
) AS needed (name, columns)
CROSS JOIN LATERAL unnest(string_to_array(needed.columns, ' ')) AS needed_column
WHERE NOT EXISTS (
    SELECT 1 FROM pg_attribute AS found
    WHERE found.attrelid = to_regclass(needed.name) AND found.attname = needed_column AND NOT found.attisdropped
)
