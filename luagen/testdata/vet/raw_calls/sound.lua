-- The same, to be on the safe side.
local z, l, h = KEYS[1], KEYS[2], KEYS[3]
local top = redis.call('zrevrangebyscore', z, '+inf', ARGV[1], 'LIMIT', 0, 10)
local low = redis.call('ZRANGEBYSCORE', z, '-inf', '+inf')
redis.call('zremrangebyscore', z, '-inf', '(' .. ARGV[1])
redis.call('zremrangebylex', KEYS[4], '-', '+')
local now = tonumber(ARGV[2])
redis.call('zadd', z, now, now .. ':' .. ARGV[6])
redis.call('zadd', KEYS[5], now, now) -- which nobody counts
redis.call('zadd', z, 0, ARGV[6])
local count = redis.call('zcard', z)
local popped = redis.call('zpopmax', z)
if #popped > 0 then redis.call('zadd', KEYS[6], popped[2], popped[1]) end
local pairs_of = {}
for i = 1, #top do pairs_of[#pairs_of + 1] = i pairs_of[#pairs_of + 1] = top[i] end
if #pairs_of > 0 then redis.call('zadd', KEYS[6], unpack(pairs_of)) end
if redis.call('exists', KEYS[7]) == 1 then redis.call('rename', KEYS[7], KEYS[8]) end
redis.call('rpush', KEYS[9], 'x')
redis.call('rename', KEYS[9], KEYS[10])
redis.pcall('rename', KEYS[11], KEYS[12])
local names = redis.call('lrange', l, 0, 99)
if #names > 0 then redis.call('hdel', h, unpack(names)) end
local ids = redis.call('zrange', KEYS[13], 0, 9)
if ids[1] then redis.call('sadd', KEYS[14], unpack(ids)) end
local some = redis.call('lrange', KEYS[15], 0, 9)
if next(some) then redis.call('sadd', KEYS[14], unpack(some)) end
redis.call('rpush', KEYS[15], 'end', unpack(some))
redis.call('hset', h, 'of', KEYS[13]) -- a key as a value
redis.call('hincrby', KEYS[16], ARGV[7], 1)
for _, entry in ipairs(redis.call('lrange', KEYS[17], 0, 99)) do
  local pattern = ARGV[3]
  if string.find(entry, pattern) or string.find(entry, ARGV[4], 1, true) then redis.call('lrem', KEYS[17], 1, entry) end
  if entry:match('^%d+$') then count = count + 1 end
end
redis.call('expireat', KEYS[14], ARGV[5])
redis.call('pexpireat', KEYS[18], now * 1000)
local members = redis.call('smembers', KEYS[19])
if not members or #members == 0 then return 0 end
local all = redis.call('hgetall', KEYS[20])
if all then for i = 1, #all, 2 do redis.call('hset', KEYS[21], all[i], all[i + 1]) end end
local out = {}
out.count = count
if ARGV[8] == 'json' then return cjson.encode(out) end
local reply = {}
reply[1], reply[2] = count, #low
return reply
