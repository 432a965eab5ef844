-- The time of a marker is in the index by its target: whoever looks for one of a subject or of a session that is late enough finds it at
-- once, however many there are of it. Under a name of its own, so that it can be made before, while nodes run.
CREATE INDEX IF NOT EXISTS revocation_target_time ON revocation (kind, key, at);

-- Markers of subjects whose sessions may not all be deleted, in the order in which these are looked for.
CREATE INDEX IF NOT EXISTS revocation_left_over ON revocation (key, at) WHERE kind = 3 AND NOT swept;
