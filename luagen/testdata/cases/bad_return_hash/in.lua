---@key bucket hash level: int, at: unixmilli
---@key other hash level: int
---@key buckets hash... level: int
---@arg n int(1..9)
---@return bucket state
---@return bucket(at,level) two
---@return buckets[] three
---@readonly
if n == '1' then
  return {redis.call('hmget', bucket, 'level', 'at'), redis.call('hmget', bucket, 'level', 'at'), {redis.call('hgetall', bucket)}}
elseif n == '2' then
  return {redis.call('hgetall', other), redis.call('hgetall', bucket), redis.call('hgetall', buckets[1])}
elseif n == '3' then
  local two = redis.call('hmget', bucket, 'at')
  return {redis.call('hget', bucket, 'at'), two, {redis.call('hgetall', buckets[1])}}
end
return {redis.call('hgetall', bucket), redis.call('hmget', bucket, 'at', 'level'), {}}
