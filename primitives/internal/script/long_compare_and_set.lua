--- Sets the number if it has the expected value. The key keeps its expiry.
---
---@key number string
---@arg old int
---@arg new int
---@return bool set
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
local value = redis.call('get', number) or '0'
if not integer(value) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
if value ~= old then
  return 0
end
redis.call('set', number, new, 'keepttl')
return 1
