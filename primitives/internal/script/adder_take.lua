--- Takes the sum if all answers have come, and deletes their keys. If keys were lost, and created again by another
--- program, they have no expiry: then the sum has only some of the answers.
---
---@key answers string...                  in pairs: the sum, and the number of answers
---@arg asked int(0..2147483647)
---@return int(0..2147483647) answered
---@return string? sum                      the sums of all pairs, separated by spaces; nil: answers are missing
---@error NOTANUMBER the semaphore holds no count of answers
---@include permits.lua
local answered, lost, sums = 0, false, {}
for i = 2, #answers, 2 do
  local here = count(redis.call('get', answers[i]) or '0')
  if not here or here < 0 then
    return redis.error_reply('NOTANUMBER the semaphore holds no count of answers')
  end
  answered = answered + here
  lost = lost or redis.call('pttl', answers[i]) <= 0
  sums[i / 2] = redis.call('get', answers[i - 1]) or '0'
end
if answered < tonumber(asked) or lost then
  return {answered, false}
end
for _, key in ipairs(answers) do
  redis.call('del', key)
end
return {answered, table.concat(sums, ' ')}
