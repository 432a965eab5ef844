-- ?4: whether ?5 is said. ?12: by how much the revision is raised. A credential that is set is due to be hardened at ?9, or, without one, not at all.
UPDATE identity
SET email = coalesce(?2, email),
    login_name = coalesce(?3, login_name),
    email_verified_at = iif(?4, ?5, email_verified_at),
    username = coalesce(?6, username),
    status = coalesce(?7, status),
    credential = coalesce(?8, credential),
    hardening_due = iif(?8 IS NULL, hardening_due, ?9),
    updated_at = ?10,
    attempt = ?11,
    revision = revision + ?12
WHERE identity_id = ?1
