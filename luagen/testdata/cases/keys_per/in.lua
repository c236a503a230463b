--- Moves the last element of each list.
---@key from list...
---@key to list... per from
---@key done string... per from  1 for each that was moved
---@arg ids string... per to
---@arg flags bool... per from
---@return int n
local n = 0
for i, source in ipairs(from) do
  if flags[i] and redis.call('lmove', source, to[i], 'right', 'left') then
    redis.call('set', done[i], ids[i])
    n = n + 1
  end
end
return n
