DELETE FROM change WHERE at < $1
