---@key lock hash
---@arg owner string
local t = redis.call('time')
return {t[1], redis.call('hget', lock, owner)}
