-- Whatever has become of it: see consents.sql.
SELECT m.id
FROM UNNEST($1::text[]) AS m (id)
WHERE EXISTS (
    SELECT 1
    FROM hydra_oauth2_flow AS f
    WHERE f.client_id = split_part(m.id, E'\n', 1) AND f.subject = split_part(m.id, E'\n', 2)
      AND f.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
      AND f.consent_remember AND NOT f.consent_skip AND f.consent_error = '{}' AND f.state IN (5, 6)
)
