-- Conditions that do not guard what is encoded, and bounds of other lists.
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1])
if #due > 0 then
  redis.call('zrem', KEYS[1], due[1])
end
for _, id in ipairs(due) do redis.call('sadd', KEYS[2], id) end
redis.call('publish', KEYS[3], cjson.encode(due))
local members, answer, names, sent = redis.call('smembers', KEYS[4]), {of = ARGV[2]}, {}, 0
answer.members = members
redis.call('publish', KEYS[3], cjson.encode(answer))
for i = 1, #members do names[i] = true; names[#names + 1] = 'name:' .. members[i] end
local ids = {}
for _, id in ipairs(members) do ids[#ids + 1] = KEYS[5] .. id end
while sent < #ids do
  redis.call('del', unpack(ids))
  sent = sent + 1000
end
if tonumber(ARGV[3]) > 5000 then return 0 end
redis.call('srem', KEYS[4], unpack(members))
local data = cjson.decode(ARGV[4])
data.left = due
return cjson.encode({data = data})
