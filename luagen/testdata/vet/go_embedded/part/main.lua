local n = get(KEYS[1])
return n == nill
