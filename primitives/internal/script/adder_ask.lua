--- Asks all adders of a name for what they have counted, or to forget it, and returns how many hear that.
--- The keys for their answers end by themselves, in case that nobody takes these.
---
---@key counter string                      the sum
---@key semaphore string                    how many have answered
---@arg request string                      1 or 0, a colon, and the id in the names of the keys
---@arg ttl milliseconds                   of the keys
---@command publish publish|spublish
---@channel topic
---@return int(0..2147483647) asked
---@include rights.lua
may('set', counter)
may('del', counter)
local asked = redis.call(publish, topic, request)
redis.call('set', counter, '0', 'px', ttl)
redis.call('set', semaphore, '0', 'px', ttl)
return asked
