local all = redis.call('SUNION', KEYS[1], unpack(KEYS))
return #all
