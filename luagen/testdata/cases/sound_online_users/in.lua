--- Notes that a user is there, and returns how many were within the last minutes.
---@key online zset
---@arg user string
---@arg now seconds
---@return int users
local at = tonumber(now)
redis.call('zadd', online, at, user)
redis.call('zremrangebyscore', online, 0, at - 300)
redis.call('expire', online, 600)
return redis.call('zcount', online, at - 300, '+inf')
