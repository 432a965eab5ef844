-- What an earlier try of this attempt wrote counts as well.
SELECT kid FROM signing_key WHERE set_name = $1 AND kid = $2 AND attempt = $3
