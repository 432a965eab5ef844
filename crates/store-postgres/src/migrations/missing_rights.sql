-- The rights that statements of a node need and this role does not have: those of all that it does, whoever asks for it. A right on some columns
-- counts as one on the table. Where the server only reads, nothing else is needed. Tables are found by the search path, and those of
-- migrations 11 and 14 left out, as for missing_columns.sql.
SELECT string_agg(needed_right, ', ' ORDER BY place) || ' ON ' || needed.name
FROM (VALUES
    ('network', 'SELECT'),
    ('client', 'SELECT INSERT UPDATE DELETE'),
    ('oauth_grant', 'SELECT INSERT UPDATE DELETE'),
    ('consent', 'SELECT INSERT UPDATE DELETE'),
    ('login_session', 'SELECT INSERT UPDATE DELETE'),
    ('session_client', 'SELECT INSERT DELETE'),
    ('parked_flow', 'SELECT INSERT UPDATE DELETE'),
    ('identity', 'SELECT INSERT UPDATE DELETE'),
    ('login_name', 'SELECT INSERT DELETE'),
    ('signing_key', 'SELECT INSERT UPDATE DELETE'),
    ('node', 'SELECT INSERT UPDATE DELETE'),
    ('revocation', 'SELECT INSERT UPDATE DELETE'),
    ('change', 'SELECT INSERT DELETE'),
    ('replay', 'SELECT INSERT UPDATE DELETE'),
    ('outbox', 'SELECT INSERT UPDATE DELETE'),
    ('device_code', 'SELECT INSERT UPDATE DELETE'),
    ('trusted_issuer', 'SELECT INSERT UPDATE DELETE'),
    ('identity_session', 'SELECT INSERT UPDATE DELETE'),
    ('factor', 'SELECT INSERT UPDATE DELETE'),
    ('recovery_code', 'SELECT INSERT UPDATE DELETE'),
    ('mail_code', 'SELECT INSERT UPDATE DELETE'),
    ('mail', 'SELECT INSERT UPDATE DELETE')
) AS needed (name, rights)
CROSS JOIN LATERAL unnest(string_to_array(needed.rights, ' ')) WITH ORDINALITY AS a_right (needed_right, place)
WHERE to_regclass(needed.name) IS NOT NULL
    AND (needed_right = 'SELECT' OR current_setting('transaction_read_only') = 'off')
    AND NOT CASE needed_right
        WHEN 'DELETE' THEN has_table_privilege(to_regclass(needed.name), needed_right)
        ELSE has_any_column_privilege(to_regclass(needed.name), needed_right)
    END
GROUP BY needed.name
ORDER BY needed.name
