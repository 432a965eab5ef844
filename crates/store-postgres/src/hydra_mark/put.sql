INSERT INTO hydra_mark AS h (network, part, id, at, changed_at, is_going)
SELECT DISTINCT ON (m.id) $1::uuid, $2::smallint, m.id, m.at, m.changed_at, m.is_going
FROM UNNEST($3::text[], $4::bigint[], $5::bigint[], $6::boolean[]) AS m (id, at, changed_at, is_going)
ORDER BY m.id, m.at DESC
ON CONFLICT (network, part, id) DO UPDATE
SET at = EXCLUDED.at, changed_at = EXCLUDED.changed_at, is_going = EXCLUDED.is_going
WHERE (h.at, h.changed_at, h.is_going) <> (EXCLUDED.at, EXCLUDED.changed_at, EXCLUDED.is_going)
