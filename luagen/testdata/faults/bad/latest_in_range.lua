local from, to = '-inf', '+inf'
local latest = redis.call('zrevrangebyscore', KEYS[1], from, to, 'WITHSCORES')
return latest[1] or 'none'
