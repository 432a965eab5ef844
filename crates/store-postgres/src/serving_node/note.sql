-- Others that were not seen for long go with it; what another node deletes already is left to it.
WITH forgotten AS (
    DELETE FROM serving_node
    WHERE node_id = ANY(ARRAY(
        SELECT node_id FROM serving_node WHERE seen_at < $6 AND node_id <> $1 FOR UPDATE SKIP LOCKED
      ))
)
INSERT INTO serving_node (node_id, host, seen_at, is_serving, settings) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (node_id) DO UPDATE
SET host = excluded.host, seen_at = excluded.seen_at, is_serving = excluded.is_serving, settings = excluded.settings
