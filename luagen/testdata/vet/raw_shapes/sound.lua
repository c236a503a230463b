-- KEYS[1]: the members
-- KEYS[2], KEYS[3], KEYS[4]: others
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if #head > 0 and tonumber(head[2]) < tonumber(ARGV[1]) then
  redis.call('PEXPIREAT', KEYS[1], head[2])
  redis.call('ZREM', KEYS[1], head[1])
end
local id, score = unpack(redis.call('ZPOPMIN', KEYS[1]))
redis.call('ZADD', KEYS[2], score, id)
local all = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  redis.call('ZADD', KEYS[2], all[i + 1], all[i])
end
for i = 2, #all, 2 do
  redis.call('ZADD', KEYS[2], all[i], all[i - 1])
end
for i = 1, #all do
  if i % 2 == 1 then
    redis.call('HSET', KEYS[3], all[i], all[i + 1])
  end
end
local entry = redis.call('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
if entry then
  redis.call('XDEL', KEYS[4], entry[1])
  redis.call('XADD', KEYS[4], '*', unpack(entry[2]))
end
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
  local reply = redis.pcall('ZCARD', KEYS[1])
  if type(reply) == 'table' and reply.err then
    return redis.error_reply(reply.err)
  end
end
local cursor, found = '0', {}
repeat
  local page = redis.call('SSCAN', KEYS[3], cursor)
  cursor = page[1]
  if #page[2] > 0 then
    found[#found + 1] = page[2][1]
  end
until cursor == '0'
local job = { state = ARGV[1], status = ARGV[2], count1 = 1 }
local last = redis.call('LRANGE', KEYS[9], -2, -1)[2]
return { job.state, job.status, job.count1, last or '', #found }
