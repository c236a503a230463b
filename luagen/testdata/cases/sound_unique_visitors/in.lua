--- Counts the visitors of a day, about.
---@key visitors string
---@arg visitor string
---@arg keep seconds
---@return int about
if redis.call('pfadd', visitors, visitor) == 1 and redis.call('ttl', visitors) < 0 then
  redis.call('expire', visitors, keep)
end
return redis.call('pfcount', visitors)
