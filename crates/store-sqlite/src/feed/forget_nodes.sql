DELETE FROM node WHERE node_id <> ?1 AND started_at < ?2
