-- Whether the table is there, and this role may do what is done with it.
SELECT COALESCE(bool_and(has_table_privilege(to_regclass('serving_node'), needed_right)), FALSE)
FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed_right
