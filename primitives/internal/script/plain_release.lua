--- Frees the lock if owner holds it, and wakes one waiter per client by PUBLISH, on the channel of a key that has no braces.
--- A message that is refused does not keep the lock: waiters poll, too. To make the channel here costs the server less than
--- to get it, and so does a local name for the call.
---
---@key lock string         owner
---@arg owner string
---@return int released     0: owner does not hold the lock; else 1 plus the number of clients that receive the message; in a cluster, only the clients of one node
local call = redis.call
if call('get', lock) ~= owner then
  return 0
end
local listeners = redis.pcall('publish', 'hasp_plain_lock:{' .. lock .. '}', '0') ---@allow channel it is the key's
call('del', lock)
return (listeners == 0 or type(listeners) ~= 'number') and 1 or 1 + listeners
