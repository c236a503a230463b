--- Takes the next block of ids. A generator that was not initialized begins at 1, with blocks of 5000.
--- What is written before the block is taken does no harm if that fails: it is what others would write.
---
---@key ids string                          the next id
---@key allocation string                   the size of blocks
---@return int first                        the first id of the block
---@return int(1..9223372036854775807) size
---@error NOTANUMBER the next id, or the size of blocks, is no such number
---@include decimal.lua
local first, size = redis.call('get', ids), redis.call('get', allocation)
if not integer(first or '1') then
  return redis.error_reply('NOTANUMBER the next id is no whole number')
end
if not integer(size or '5000') or not less('0', size or '5000') then
  return redis.error_reply('NOTANUMBER the size of blocks is no whole number over 0')
end
if not size then
  size = '5000'
  redis.call('set', allocation, size)
end
if not first then
  first = '1'
  redis.call('set', ids, first)
end
redis.call('incrby', ids, size)
return {first, size}
