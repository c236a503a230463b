--- Takes the sum if all who were asked have answered, and deletes the keys of their answers.
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
if answered < tonumber(asked) then
  return {answered, false}
end
local sum = redis.call('get', counter) or '0'
redis.call('del', counter, semaphore)
return {answered, sum}
