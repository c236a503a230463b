--- Answers one who asks the adders of a name: adds what was counted to the sum, if that was asked for, and
--- counts the answer. A sum that cannot be added to, as one beyond the range, becomes the text "overflow":
--- the asker gets it at once, as an error.
---
---@key counter string                      the sum
---@key semaphore string                    how many have answered
---@arg long int?                           what was counted, by adders of whole numbers
---@arg double float?                       the same, by others; neither: it was forgotten
---@arg ttl milliseconds                   of the keys
---@command publish publish|spublish
---@channel answered
---@return int(1..2147483648) answers       how many have answered
---@error NOTANUMBER the semaphore holds no count of answers
---@include permits.lua
---@include float.lua
local before = count(redis.call('get', semaphore) or '0')
if not before or before < 0 then
  return redis.error_reply('NOTANUMBER the semaphore holds no count of answers')
end
local answers = string.format('%.0f', before + 1)
redis.call(publish, answered, answers)
local added = true
if long then
  redis.call('set', counter, '0', 'px', ttl, 'nx')
  added = type(redis.pcall('incrby', counter, long)) == 'number'
elseif double then
  redis.call('set', counter, '0', 'px', ttl, 'nx')
  local sum, more = number(redis.call('get', counter)), number(double)
  added = sum and more and sum + more - (sum + more) == 0
  if added then
    redis.call('incrbyfloat', counter, double)
  end
end
if not added then
  redis.call('set', counter, 'overflow', 'px', ttl)
end
redis.call('set', semaphore, answers, 'px', ttl)
return before + 1
