--- Is read_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key keys any...         in threes: the lock, the prefix of its readers' side keys, and the places of writers
---@command publish publish|spublish
---@arg owners string...    one per three
---@arg channels string... per owners   the channel of the waiters of each
---@return int[] status     per owner: 1 released, 0 not held, -1 not a lock, -2 refused
---@include readers.lua
---@include readers_keep.lua
---@include fault.lua
local status = {}
ask(keys[1])
for i, owner in ipairs(owners) do
  local lock, side, waiting = keys[3 * i - 2], keys[3 * i - 1], keys[3 * i]
  local field = redis.pcall('hexists', lock, owner)
  if field == 1 then
    local hold = side .. ':' .. owner .. ':rwlock_timeout:1'
    status[i] = redis.call('exists', hold) ---@allow key a list has no prefixes
    local mode, longest, gone = survey(lock, side, owner) ---@allow key a list has no prefixes
    if mode == 'read' and longest == 0 then
      local sent = redis.pcall(publish, channels[i], '0') ---@allow channel one for each lock
      if type(sent) == 'number' then
        redis.call('del', lock, hold) ---@allow key a list has no prefixes
        redis.call('pexpire', waiting, 200)
      else
        status[i] = -2
      end
    else
      redis.call('del', hold) ---@allow key a list has no prefixes
      keep(lock, gone, mode == 'read' and longest or 0)
    end
  elseif field == 0 then
    status[i] = 0
    if redis.call('exists', lock) == 0 and type(redis.pcall(publish, channels[i], '0')) ~= 'number' then ---@allow channel one for each lock
      status[i] = -2
    end
  else
    status[i] = fault(field)
  end
end
return status
