--- Sets the number if it has the expected value. The key keeps its expiry.
---
---@key counter string
---@arg old float
---@arg new float
---@return bool set
---@error NOTANUMBER the key holds a text that is no number
---@include float.lua
local value = number(redis.call('get', counter) or '0')
if not value then
  return redis.error_reply('NOTANUMBER the key holds no number')
end
if value ~= number(old) then
  return 0
end
redis.call('set', counter, new, 'keepttl')
return 1
