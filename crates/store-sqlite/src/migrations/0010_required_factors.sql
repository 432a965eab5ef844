-- Of whom an administrator said that they must have a second factor.
ALTER TABLE identity ADD COLUMN factor_required INTEGER NOT NULL DEFAULT 0;
