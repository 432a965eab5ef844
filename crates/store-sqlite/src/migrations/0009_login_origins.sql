-- Where somebody logged in to applications; unknown of logins from before, and of users whom another page logs in.
ALTER TABLE login_session ADD COLUMN device TEXT;
ALTER TABLE login_session ADD COLUMN network TEXT;
