-- What each node says of itself, once a minute: that it serves, and its settings that all nodes must have alike. Of secrets there are
-- fingerprints of sixteen bits.
CREATE TABLE serving_node (
    seen_at bigint NOT NULL,
    is_serving boolean NOT NULL,
    node_id uuid PRIMARY KEY,
    host text NOT NULL,
    settings text NOT NULL
);
