-- The marker of the subject covers these too; it expires, and they must not revive.
DELETE FROM identity_session WHERE identity_id = $1 AND authenticated_at <= $2
