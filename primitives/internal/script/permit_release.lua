--- Releases permits, and publishes how many are free then.
---
---@key permits string      free permits
---@key leases zset         id -> when its lease ends
---@arg owner string        the ids, 16 bytes each
---@arg whole bool          release no permit if a lease has ended
---@command publish publish|spublish
---@channel released
---@return bool released    false: a lease had ended
---@error NOTANUMBER the key holds no count of permits
---@include permit_give_back.lua
local text = redis.call('get', permits)
if not text then
  return 0
end
local free = count(text)
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
local function tell(n)
  redis.call(publish, released, n)
end
local now = clock()
return give_back(permits, leases, owner, whole, now, free, tell)
