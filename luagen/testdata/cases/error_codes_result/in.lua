---@key lock hash
---@arg owner string
---@return bool released
---@error NOTOWNER the lock is another's
if redis.call('hdel', lock, owner) == 0 then
  return redis.error_reply('NOTOWNER not yours')
end
return true
