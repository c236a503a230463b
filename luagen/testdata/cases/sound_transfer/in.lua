--- Moves an amount from one account to another.
---@key from hash
---@key to hash
---@arg amount int(1..1000000000)
---@return bool done
---@error NOACCOUNT there is no such account
local balance = redis.call('hget', from, 'balance')
if not balance or redis.call('exists', to) == 0 then
  return redis.error_reply('NOACCOUNT there is no such account')
end
if tonumber(balance) < tonumber(amount) then
  return 0
end
redis.call('hincrby', from, 'balance', -amount)
redis.call('hincrby', to, 'balance', amount)
return 1
