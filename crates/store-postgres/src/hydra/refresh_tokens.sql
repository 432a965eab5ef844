SELECT r.signature,
    (to_jsonb(r) - 'form_data')
    || jsonb_build_object(
        'consent_handled_at', f.consent_handled_at, 'consent_skip', f.consent_skip,
        'login_session_id', f.login_session_id, 'has_flow', f.login_challenge IS NOT NULL
    )
FROM hydra_oauth2_refresh AS r
LEFT JOIN hydra_oauth2_flow AS f ON f.consent_challenge_id = r.challenge_id
WHERE r.signature = ANY($1::text[]) AND r.active
  AND r.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
