DELETE FROM node AS n
WHERE n.appended_at < $1
  AND NOT EXISTS (SELECT 1 FROM revocation AS r WHERE r.origin = n.node_id)
  AND NOT EXISTS (SELECT 1 FROM change AS c WHERE c.origin = n.node_id)
