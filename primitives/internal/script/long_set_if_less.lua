--- Sets the number if it is less than another. The key keeps its expiry.
---
---@key number string
---@arg than int
---@arg new int
---@return bool set
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
local value = redis.call('get', number) or '0'
if not integer(value) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
if not less(value, than) then
  return 0
end
redis.call('set', number, new, 'keepttl')
return 1
