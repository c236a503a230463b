--- Claims an account for the holder of a fencing token, and returns the balance, unless a holder with a higher
--- token has claimed the account.
---
---@include fence.lua
---@key account hash       balance; fence: the highest token that has claimed the account
---@arg token int
---@return bool claimed
---@return int number       the balance; if the account was not claimed, the token that forbids it
---@error NOACCOUNT there is no such account
local balance = redis.call('hget', account, 'balance')
if not balance then
  return redis.error_reply('NOACCOUNT there is no such account')
end
local fence = redis.call('hget', account, 'fence')
if not passes(token, fence) then
  return {0, fence}
end
redis.call('hset', account, 'fence', token)
return {1, balance}
