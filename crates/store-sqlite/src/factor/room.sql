-- No row: there is no such person, or the record is another one.
SELECT (SELECT count(*) FROM factor AS f WHERE f.identity_id = i.identity_id)
FROM identity AS i
WHERE i.identity_id = ?1 AND i.revision = ?2
