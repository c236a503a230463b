--- Answers a request to the adders of a name: adds the count of this process to the sum, if the request asks for it,
--- and counts the answer. If a count would take the sum out of range, the script appends it, and all later counts, to
--- the sum: the asking process adds them, and the total may be in range again. If the sum is not a number, it becomes
--- "overflow", an error for the asking process. If keys are missing that should exist, the request came from another
--- logical database (channels belong to the whole server): then the script publishes that no answer comes.
---
---@key counter string                      the sum
---@key semaphore string                    the number of answers
---@arg long int?                           the count, of adders of whole numbers
---@arg double float?                       the same, of other adders; neither: the request was to reset
---@arg ttl milliseconds                   of the keys
---@command publish publish|spublish
---@channel answered
---@channel topic                           of the requests
---@arg elsewhere string                    the message to publish there if the keys are missing; empty: they may be missing
---@return int(0..2147483648) answers       the number of answers; 0: the keys are missing
---@error NOTANUMBER the semaphore holds no count of answers
---@include permits.lua
---@include float_plus.lua
---@include rights.lua
if elsewhere ~= '' and redis.call('pttl', semaphore) <= 0 then
  redis.call(publish, topic, elsewhere)
  return 0
end
local before = count(redis.call('get', semaphore) or '0')
if not before or before < 0 then
  return redis.error_reply('NOTANUMBER the semaphore holds no count of answers')
end
local answers = string.format('%.0f', before + 1)
may('set', counter)
may(long and 'incrby' or 'incrbyfloat', counter)
redis.call(publish, answered, answers)
local addend = long or double
if addend then
  redis.call('set', counter, '0', 'px', ttl, 'nx')
  local sum, added = redis.pcall('get', counter), nil
  if long then
    added = type(redis.pcall('incrby', counter, long)) == 'number'
  elseif type(sum) == 'string' and number(sum) and number(double) then
    added = plus(counter, number(sum), double)
  end
  if not added then
    sum = type(sum) == 'string' and sum .. ' ' .. addend or 'overflow'
    redis.call('set', counter, sum, 'px', ttl)
  end
end
redis.call('set', semaphore, answers, 'px', ttl)
return before + 1
