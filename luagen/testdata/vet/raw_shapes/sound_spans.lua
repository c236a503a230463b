-- Loops over a part of a list on purpose, or with a look at the neighbour; replies of which not all is used.
local ids = redis.call('SMEMBERS', KEYS[1])
local least = ids[1]
for i = 2, #ids do if ids[i] < least then least = ids[i] end end
local jobs = redis.call('LRANGE', KEYS[3], 0, 10)
local more = #jobs > 10
for i = 1, #jobs - 1 do redis.call('LPUSH', KEYS[4], jobs[i]) end
local due = redis.call('ZRANGE', KEYS[5], 0, 9)
for i = 1, #due do
  if i < #due then redis.call('HSET', KEYS[6], due[i], due[i + 1]) end
end
for i = 0, #due - 1 do redis.call('LPUSH', KEYS[4], due[i + 1]) end
local all, state = redis.call('HGETALL', KEYS[6]), {}
for i = 1, #all - 1, 2 do state[all[i]] = all[i + 1] end
local page = redis.call('LRANGE', KEYS[3], 0, 9)
local length = #page
page = redis.call('LRANGE', KEYS[4], 0, 9)
for i = 1, length + 1 do if page[i] == ARGV[1] then state.found = true end end
local names = redis.call('HGETALL', KEYS[7])
for i = 1, #names, 2 do
  if names[i] ~= 'mode' then state.owner = names[i] end
end
local values = redis.call('HGETALL', KEYS[6])
for i = 2, #values, 2 do state[values[i]] = true end
local counts = redis.call('HGETALL', KEYS[6])
for i = 2, #counts, 2 do state[counts[i - 1]] = counts[i] end
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
local gaps = {}
for i = 1, #gaps + 1 do if not gaps[i] then gaps[i] = least end end
local job = redis.call('HMGET', KEYS[9], 'queue', 'state', 'tries')
if job[1] and tonumber(job[3] or 0) > 3 then redis.call('LPUSH', KEYS[3], job[2] or '') end
local now = redis.call('TIME')
state.at = now[1]
state.later = now[1] + 60
local first = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
if #first == 2 or #first > 1 and more then state.first = first[2] end
return cjson.encode(state)
