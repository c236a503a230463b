local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if #head > 0 and tonumber(head[1]) < tonumber(ARGV[1]) then
  redis.call('PEXPIREAT', KEYS[1], head[1])
  redis.call('ZREM', KEYS[1], head[2])
end
local score, id = unpack(redis.call('ZPOPMIN', KEYS[1]))
redis.call('ZADD', KEYS[2], score, id)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'WITHSCORES')
for i = 1, #due, 2 do
  redis.call('HDEL', KEYS[2], due[i + 1])
end
for i = 1, #due do
  redis.call('ZADD', KEYS[2], due[i + 1], due[i])
end
local function oldest(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
end
local first = oldest(KEYS[1])
return first[1] + 1
