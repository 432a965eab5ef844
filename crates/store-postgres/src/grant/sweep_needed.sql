-- `kind + 0 <> 1` and the order leave but one index to look into.
SELECT 1
WHERE EXISTS (SELECT 1 FROM revocation WHERE NOT swept)
   OR (SELECT expires_at FROM revocation WHERE kind + 0 <> 1 ORDER BY expires_at LIMIT 1) <= $1
