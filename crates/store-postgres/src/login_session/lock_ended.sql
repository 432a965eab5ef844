-- The next statement sees what was done to them before, as it begins when nobody else has them at hand.
SELECT s.sid FROM login_session AS s WHERE s.sid = ANY($1::uuid[]) ORDER BY s.sid FOR UPDATE
