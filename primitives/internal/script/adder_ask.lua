--- Asks all adders of a name for their counts, or to reset them, and returns the number of receivers, on both topics.
--- The keys for their answers expire, because the answers may never be taken.
---
---@key answers string...                  in pairs: the sum, and the number of answers
---@arg request string                      1 or 0, a colon, and the id in the names of the keys
---@arg ttl milliseconds                   of the keys
---@command publish publish|spublish
---@channel topic
---@channel former                         topic, of Redisson before 3.38
---@return int(0..2147483647) asked
---@include rights.lua
may('set', answers[1])
may('del', answers[1])
local asked = redis.call(publish, topic, request) + redis.call(publish, former, request)
for _, key in ipairs(answers) do
  redis.call('set', key, '0', 'px', ttl)
end
return asked
