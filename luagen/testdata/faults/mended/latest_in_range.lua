local from, to = '-inf', '+inf'
local latest = redis.call('zrevrangebyscore', KEYS[1], to, from, 'WITHSCORES')
return latest[1] or 'none'
