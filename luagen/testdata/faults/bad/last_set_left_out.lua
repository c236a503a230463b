local all = redis.call('SUNION', unpack(KEYS), KEYS[1])
return #all
