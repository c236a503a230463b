--- Sets the number, and removes its expiry.
---
---@key number string
---@arg value int
---@return string ok
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
if not integer(redis.call('get', number) or '0') then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
return redis.call('set', number, value)
