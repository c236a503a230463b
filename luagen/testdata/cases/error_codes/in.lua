--- Releases.
---@key lock hash
---@arg owner string
---@error NOTOWNER the lock is another's
---@error GONE
if redis.call('exists', lock) == 0 then return redis.error_reply('GONE no lock') end
if redis.call('hdel', lock, owner) == 0 then
  return redis.error_reply('NOTOWNER not yours')
end
