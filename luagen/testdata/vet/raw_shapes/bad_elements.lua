local now = redis.call('TIME')
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local head = redis.call('LRANGE', KEYS[2], 0, 0)
if head[2] == ARGV[1] then
  return { now[3], bucket[3] }
end
local last = redis.call('ZRANGE', KEYS[3], -1, -1)
local two = redis.call('ZPOPMIN', KEYS[3], 1)
local some = redis.call('ZRANGEBYSCORE', KEYS[3], 0, 9, 'LIMIT', 0, 3)
redis.call('PUBLISH', 'c', last[2] .. two[3] .. some[4])
for _, entry in ipairs(redis.call('XRANGE', KEYS[4], '-', '+')) do
  redis.call('XADD', KEYS[4], '*', 'd', entry[2].d)
end
local kind = redis.call('TYPE', KEYS[1])['OK']
local done = redis.pcall('INCR', KEYS[2])
if type(done) == 'table' then
  return done.error
end
return redis.call('LINDEX', KEYS[2], 0)[1] == kind
