SELECT to_regclass('hydra_token') IS NOT NULL
