UPDATE login_session SET expires_at = $3, idle = CASE WHEN remembered THEN 0 ELSE idle END, remembered = FALSE
WHERE sid = $1 AND expires_at < $3 AND (NOT remembered OR expires_at < $2)
