SELECT origin, counter FROM revocation WHERE kind > 1 AND swept = 0
