--- Answers one who asks the adders of a name: adds what was counted to the sum, if that was asked for, and
--- counts the answer. What would bring the sum beyond the range is kept beside it, and all that comes after:
--- the asker adds it, for whom the sum may be in the range again. A sum that is no number becomes the text
--- "overflow": the asker gets it as an error. A request whose keys should be there, and are not, came from another
--- logical database, for channels belong to the whole server: then who asks hears that it gets no answer.
---
---@key counter string                      the sum
---@key semaphore string                    how many have answered
---@arg long int?                           what was counted, by adders of whole numbers
---@arg double float?                       the same, by others; neither: it was forgotten
---@arg ttl milliseconds                   of the keys
---@command publish publish|spublish
---@channel answered
---@channel topic                           of the requests
---@arg elsewhere string                    what to publish there if the keys are missing; empty: they may be
---@return int(0..2147483648) answers       how many have answered; 0: the keys are missing
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
