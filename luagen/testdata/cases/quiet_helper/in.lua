--- A key that is passed to a helper stays a key.
---@key lock hash
---@key token string
---@arg lease milliseconds
---@return milliseconds left
local function renew(key, ms)
  if redis.call('exists', key) == 0 then
    return -2
  end
  redis.call('pexpire', key, ms)
  return redis.call('pttl', key)
end
local left = renew(lock, lease)
if left < 0 then
  return left
end
return renew(token, lease * 2)
