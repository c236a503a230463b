--- The command that publishes is chosen when the script is called.
---@key lock hash
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return bool done
if redis.call('hdel', lock, owner) == 0 then
  return false
end
redis.call(publish, released, redis.call('hlen', lock))
return true
