local ids = redis.call('SMEMBERS', KEYS[1])
for i = 2, #ids do redis.call('SREM', KEYS[2], ids[i]) end
local jobs = redis.call('LRANGE', KEYS[3], 0, 9)
for i = 1, #jobs - 1 do redis.call('LPUSH', KEYS[4], jobs[i]) end
local due = redis.call('ZRANGE', KEYS[5], 0, 9)
for i = 1, #due + 1 do redis.call('LPUSH', KEYS[4], due[i]) end
local all, state = redis.call('HGETALL', KEYS[6]), {}
for i = 2, #all, 2 do state[all[i]] = all[i + 1] end
local more = redis.call('HGETALL', KEYS[6])
local length = #more
for i = 1, length, 2 do state[more[i]] = more[i + 2] end
local late = redis.call('HGETALL', KEYS[7])
for i = 3, #late, 2 do state[late[i]] = late[i + 1] end
local job = redis.call('HMGET', KEYS[8], 'queue', 'state', 'tries')
if job[1] and tonumber(job[3]) > 3 then redis.call('LPUSH', KEYS[3], job[1]) end
local now = redis.call('TIME')
state.at = now[1] * 1000 + math.floor(now[1] / 1000)
local first = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
if #first > 2 then state.first = first[1] end
if #first == 1 then state.first = first[1] end
if 4 <= #first then state.first = first[2] end
local last = redis.call('LRANGE', KEYS[3], 0, 0)
if #last == 2 then state.last = last[1] end
return cjson.encode(state)
