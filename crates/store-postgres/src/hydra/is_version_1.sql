SELECT to_regclass('networks') IS NULL AND to_regclass('hydra_client') IS NOT NULL
