--- Moves a session's end if it is there, and returns its user.
---@key session hash
---@arg idle seconds
---@arg now unixmilli
---@return string? user
local user = redis.call('HGET', session, 'user')
if user then
  redis.call('HSET', session, 'seen', now)
  redis.call('EXPIRE', session, idle)
end
return user
