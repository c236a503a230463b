---@key k list
---@key d list
---@key h hash at: unixmilli, ttl: milliseconds
---@key z zset
---@arg a int(1..100)
---@arg b int(60..100)
---@return scores x
redis.call('sort', k, 'STORE', d)
redis.call('expire', d, b - 50)
if tonumber(a) > 50 then
  redis.call('expire', k, a - 50)
end
redis.call('hset', h, 'at', redis.call('time')[1] * 1000)
redis.call('pexpire', h, redis.call('hget', h, 'ttl') or 1)
return redis.call('zrange', z, 0, -1, 'WITHSCORES')
