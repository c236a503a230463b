--- Nothing returned is nil, which these results may be.
---@key lock hash
---@arg owner string
---@return string? text
if redis.call('hexists', lock, owner) == 0 then
  return
end
if redis.call('hlen', lock) > 5 then
  redis.call('del', lock)
  return nil
end
if redis.call('hlen', lock) > 4 then
  return redis.call('hget', lock, owner)
end
