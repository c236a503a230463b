--- Gives one permit a new lease, from now on, if its lease has not ended.
---
---@key permits string      free permits
---@key leases zset         id -> when its lease ends
---@arg id string
---@arg lease milliseconds
---@return bool updated     false: there is no such permit, or its lease has ended
---@error NOTANUMBER the key holds no count of permits
---@include permit_store.lua
local text, now = redis.call('get', permits), clock()
if not text then
  return 0
end
if not count(text) then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
return renew(leases, id, now, now + lease)
