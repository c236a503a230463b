--- Is write_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key keys any...         in threes: the lock, the prefix of its readers' side keys, and the places of writers
---@command publish publish|spublish
---@arg owners string...    one per three
---@arg channels string... per owners   the channel of the waiters of each
---@return int[] status     per owner: 1 released, 0 not held, -1 not a lock, -2 refused
---@include readers.lua
---@include readers_keep.lua
---@include writers.lua
---@include fault.lua
local status = {}
ask(keys[1])
may('hset', keys[1])
for i, owner in ipairs(owners) do
  local lock, side, waiting = keys[3 * i - 2], keys[3 * i - 1], keys[3 * i]
  local field = redis.pcall('hexists', lock, owner .. ':write')
  if field == 1 then
    local _, longest, gone = survey(lock, side) ---@allow key a list has no prefixes
    local sent = redis.pcall(publish, channels[i], '1') ---@allow channel one for each lock
    status[i] = 1
    if type(sent) ~= 'number' then
      status[i] = -2
    elseif longest == 0 then
      redis.call('del', lock)
    else
      redis.call('hdel', lock, owner .. ':write')
      redis.call('hset', lock, 'mode', 'read')
      keep(lock, gone, longest)
    end
  elseif field == 0 then
    local free = function()
      return type(redis.pcall(publish, channels[i], '0')) == 'number' ---@allow channel one for each lock
    end
    status[i] = give_back(waiting, owner, free) and 0 or -2
  else
    status[i] = fault(field)
  end
end
return status
