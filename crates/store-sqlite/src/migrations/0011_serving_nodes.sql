-- What each node says of itself, once a minute: that it serves, and its settings that all nodes must have alike. Of secrets there are
-- fingerprints of sixteen bits.
CREATE TABLE serving_node (
    node_id BLOB PRIMARY KEY,
    host TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    is_serving INTEGER NOT NULL,
    settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;
