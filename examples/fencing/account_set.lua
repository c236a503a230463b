--- Sets the balance of an account, if the last claim of the account is the token's.
---
---@key account hash       balance; fence: the highest token that has claimed the account
---@arg token int
---@arg balance int
---@return int? fence      nil: it was set; else the token of the last claim, 0 if there was none
---@error NOACCOUNT there is no such account
if redis.call('exists', account) == 0 then
  return redis.error_reply('NOACCOUNT there is no such account')
end
local fence = redis.call('hget', account, 'fence')
if fence ~= token then
  return fence or 0
end
redis.call('hset', account, 'balance', balance)
return nil
