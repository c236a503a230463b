--- Makes a member arrive in the present generation of a barrier. If as many wait as there are parties,
--- this one included, the generation is over: the next one begins with nobody, and each waiter gets a
--- message. A member whose lease has ended by the server's clock does not count, and leaves.
---
---@key barrier hash   generation: the number of the present one, from 1; member -> when its lease ends, in ms
---@arg member string   used for this arrival alone
---@arg parties int(1..10000)
---@arg lease int(1..1000000000000)   in milliseconds
---@command publish publish|spublish
---@channel passed
---@return int generation   that the member waits for the end of; 0: it was the last, and waits for nothing
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state = redis.call('hgetall', barrier)
local generation, live, gone = 1, {}, {}
for i = 1, #state, 2 do
  if state[i] == 'generation' then
    generation = tonumber(state[i + 1])
  elseif tonumber(state[i + 1]) > now then
    live[#live + 1] = state[i]
  else
    gone[#gone + 1] = state[i]
  end
end
local over = #live + 1 >= tonumber(parties)
-- All that may be refused comes before the first write. HDEL finds nothing yet, and neither does PEXPIRE
-- where there is no barrier.
if over then
  redis.call(publish, passed, generation)
end
redis.call('hdel', barrier, member)
redis.call('pexpire', barrier, lease + 3600000)
if over then
  redis.call('hset', barrier, 'generation', generation + 1)
  generation = 0
  for _, other in ipairs(live) do
    redis.call('hdel', barrier, other)
  end
else
  redis.call('hset', barrier, 'generation', generation, member, now + lease)
end
redis.call('pexpire', barrier, lease + 3600000)
for _, other in ipairs(gone) do
  redis.call('hdel', barrier, other)
end
return generation
