-- A flow that was in flight when a marker was made ends in a grant that is revoked from the start, so that no sweep has to
-- come back for it. ?16 to ?19: the keys of the markers of the grant, its session, its subject, and subject and client.
INSERT INTO oauth_grant (
    grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
    redeemed_at, revoked_at, generation, rotated_at, attempt
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
    coalesce(
        ?12,
        (SELECT m.at FROM revocation AS m WHERE m.kind = 1 AND m.key = ?16 LIMIT 1),
        (SELECT m.at FROM revocation AS m WHERE m.kind = 2 AND m.key = ?17 AND m.at >= ?8 LIMIT 1),
        (SELECT m.at FROM revocation AS m WHERE m.kind = 3 AND m.key = ?18 AND m.at >= ?8 LIMIT 1),
        (SELECT m.at FROM revocation AS m WHERE m.kind = 4 AND m.key = ?19 AND m.at >= ?9 LIMIT 1),
        (SELECT m.at FROM revocation AS m WHERE m.kind = 5 AND m.key = ?2 AND m.at >= ?9 LIMIT 1),
        (SELECT m.at FROM revocation AS m WHERE m.kind = 6 AND m.key = ?18 AND m.at >= ?9 LIMIT 1)
    ),
    ?13, ?14, ?15
WHERE true
ON CONFLICT (grant_id) DO NOTHING
