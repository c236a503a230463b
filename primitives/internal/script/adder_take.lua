--- Takes the sum if all who were asked have answered, and deletes the keys of their answers. Keys that were lost, and
--- made again by another program, have no expiry: then the sum is that of some only.
---
---@key counter string                      the sum
---@key semaphore string                    how many have answered
---@arg asked int(0..2147483647)
---@return int(0..2147483647) answered
---@return string? sum                      nil: not all have answered
---@error NOTANUMBER the semaphore holds no count of answers
---@include permits.lua
local answered = count(redis.call('get', semaphore) or '0')
if not answered or answered < 0 then
  return redis.error_reply('NOTANUMBER the semaphore holds no count of answers')
end
if answered < tonumber(asked) or redis.call('pttl', semaphore) <= 0 then
  return {answered, false}
end
local sum = redis.call('get', counter) or '0'
redis.call('del', counter, semaphore)
return {answered, sum}
