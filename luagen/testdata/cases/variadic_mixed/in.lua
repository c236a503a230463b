---@key i list...
---@arg owners string... per i
---@arg ids int(0..9)...
---@arg names string... per ids
for n, queue in ipairs(i) do
  redis.call('rpush', queue, owners[n], ids[1], names[1])
end
