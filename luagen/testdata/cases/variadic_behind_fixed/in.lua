---@key counter string
---@key queues list...
---@arg ids string...
---@arg scores float... per ids
---@arg flags bool... per ids
for i, id in ipairs(ids) do
  redis.call('rpush', queues[1], id, scores[i], flags[i] and 1 or 0)
end
return redis.call('incr', counter)
