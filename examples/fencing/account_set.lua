--- Sets the balance of an account, unless a holder with a higher fencing token has written before.
---
---@include fence.lua
---@key account hash       balance; fence: the highest token that has written
---@arg token int
---@arg balance int
---@return int? highest    nil: it was set; else the token that forbids it
---@error NOACCOUNT there is no such account
if redis.call('exists', account) == 0 then
  return redis.error_reply('NOACCOUNT there is no such account')
end
local highest = redis.call('hget', account, 'fence')
if not passes(token, highest) then
  return highest
end
redis.call('hset', account, 'balance', balance, 'fence', token)
return nil
