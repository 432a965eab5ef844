-- Grants of a subject, found by when they were made. The first seven digits of an id (UUIDv7) are its time in units of 2^20 ms,
-- some 17 minutes. Ordered by these before the subject, what is inserted falls on few pages, however many grants there are; ordered by
-- the subject alone, each insert falls on a page that nothing else touches, of which the log holds a whole image after each checkpoint.
-- It has a name of its own, so that it can be made before, while nodes run.
DROP INDEX IF EXISTS oauth_grant_subject;

CREATE INDEX IF NOT EXISTS oauth_grant_time ON oauth_grant ((left(grant_id::text, 7)) COLLATE "C", subject);
