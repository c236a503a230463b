--- Sets the next id and the size of blocks, unless one of them is set.
---
---@key ids string                          the next id
---@key allocation string                   the size of blocks
---@arg first int                           the next id
---@arg size int(1..9223372036854775807)
---@return bool set
---@include rights.lua
if redis.call('get', ids) or redis.call('get', allocation) then
  return 0
end
may('set', ids)
redis.call('set', allocation, size)
redis.call('set', ids, first)
return 1
