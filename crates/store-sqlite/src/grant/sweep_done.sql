-- Not of a subject whose sessions are not all deleted: whoever deletes them, and tells of them, looks for them by their markers.
UPDATE revocation SET swept = 1
WHERE origin = ?1 AND counter = ?2
  AND NOT (kind = 3 AND EXISTS (
      SELECT 1 FROM login_session AS s WHERE s.subject = revocation.key AND s.authenticated_at <= revocation.at
  ))
