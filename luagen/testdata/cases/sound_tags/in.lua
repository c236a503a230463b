--- Replaces the tags of an item, and keeps the sets of each tag's items.
---@key item set
---@key index set prefix
---@arg id string
---@arg tags string...
---@return int count
for _, tag in ipairs(redis.call('smembers', item)) do
  redis.call('srem', index .. ':' .. tag, id)
end
redis.call('del', item)
for _, tag in ipairs(tags) do
  redis.call('sadd', item, tag)
  redis.call('sadd', index .. ':' .. tag, id)
end
return redis.call('scard', item)
