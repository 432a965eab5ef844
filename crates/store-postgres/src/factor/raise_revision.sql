-- The last statement of its transaction: those before it go by the revision that was looked at.
UPDATE identity SET revision = revision + 1, attempt = $3
WHERE identity_id = $1 AND revision = $2
