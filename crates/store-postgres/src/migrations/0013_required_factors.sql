-- Of whom an administrator said that they must have a second factor.
ALTER TABLE identity ADD COLUMN IF NOT EXISTS factor_required boolean NOT NULL DEFAULT FALSE;
