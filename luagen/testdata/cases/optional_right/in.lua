--- Tests absent arguments as they should be, and texts that may be empty.
---@key lock string
---@arg owner string
---@arg limit int(0..9)?
if owner == '' then return end
if limit then
  redis.call('set', lock, limit)
elseif limit == nil then
  redis.call('set', lock, owner)
end
