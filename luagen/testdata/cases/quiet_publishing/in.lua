--- It writes nothing, but publishes, which a read-only script may not.
---@key lock hash
---@channel released
---@return bool held
if redis.call('exists', lock) == 1 then
  return true
end
redis.call('publish', released, '0')
return false
