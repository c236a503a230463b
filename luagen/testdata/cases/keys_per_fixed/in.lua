---@key count string
---@key from list...
---@key to list... per from
---@return int n
for i = 1, #from do
  redis.call('rename', from[i], to[i])
end
return redis.call('incrby', count, #to)
