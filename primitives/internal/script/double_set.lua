--- Sets the number, and removes its expiry.
---
---@key counter string
---@arg value float
---@return string ok
---@error NOTANUMBER the key holds a text that is no number
---@include float.lua
if not number(redis.call('get', counter) or '0') then
  return redis.error_reply('NOTANUMBER the key holds no number')
end
return redis.call('set', counter, value)
