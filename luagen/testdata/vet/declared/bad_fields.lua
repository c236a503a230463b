---@key k hash at: unixmilli, ttl: milliseconds
---@return bool late
redis.call('hset', k, 'at', redis.call('time')[1])
redis.call('expire', k, redis.call('hget', k, 'ttl') or 1)
return tonumber(redis.call('time')[1]) > tonumber(redis.call('hget', k, 'at') or 0)
