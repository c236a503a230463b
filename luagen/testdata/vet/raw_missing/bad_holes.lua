-- What HMGET does not find ends the reply.
local state = redis.call('hmget', KEYS[1], 'at', 'rate')
return {tonumber(state[1]), tonumber(state[2])}
