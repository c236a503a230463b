-- What one call shows, or the calls around it.
local z, l, h = KEYS[1], KEYS[2], KEYS[3]
local top = redis.call('zrevrangebyscore', z, '-inf', ARGV[1], 'LIMIT', 0, 10)
local low = redis.call('ZRANGEBYSCORE', z, '+inf', 0)
redis.call('zremrangebyscore', z, ARGV[1], '-inf')
local now = tonumber(ARGV[2])
redis.call('zadd', z, now, now)
redis.call('zadd', z, ARGV[2], tonumber(ARGV[2]))
redis.call('rename', KEYS[5], KEYS[6])
local names = redis.call('lrange', l, 0, 99)
redis.call('hdel', h, unpack(names))
redis.call('sadd', KEYS[7], unpack(redis.call('zrange', KEYS[8], 0, 9)))
local field = KEYS[9]
redis.call('hincrby', h, field, 1)
redis.call('hset', h, KEYS[10], tonumber(KEYS[11]) + 1)
for _, entry in ipairs(redis.call('lrange', KEYS[12], 0, 99)) do
  if string.find(entry, ARGV[3]) or entry:match(ARGV[4]) then redis.call('lrem', KEYS[12], 1, entry) end
  redis.call('rpush', KEYS[13], (string.gsub(entry, ARGV[3], '')))
end
redis.call('expireat', KEYS[7], ARGV[5] * 60)
redis.call('pexpireat', KEYS[13], 86400000 * tonumber(ARGV[5]))
return {top, low, redis.call('zcard', z)}
