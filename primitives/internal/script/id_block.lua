--- Takes the next block of ids. A generator that was not initialized begins at 1, with blocks of 5000. After the last
--- block, the next id is one more than the last id of all.
---
---@key ids string                          the next id
---@key allocation string                   the size of blocks
---@return int first                        the first id of the block
---@return int(1..9223372036854775807) size
---@error NOTANUMBER the next id, or the size of blocks, is no such number
---@error OVERFLOW no whole block is left
---@include decimal.lua
---@include rights.lua
local past = '9223372036854775808'

-- last_of returns the first id of the last block, for a size of blocks.
local function last_of(size)
  local digits, borrow = {}, 0
  size = string.rep('0', #past - #size) .. size
  for at = #past, 1, -1 do
    local digit = string.byte(past, at) - string.byte(size, at) - borrow
    borrow = digit < 0 and 1 or 0
    digits[at] = digit + 10 * borrow
  end
  return (string.gsub(table.concat(digits), '^0+(.)', '%1'))
end

local first, size = redis.call('get', ids), redis.call('get', allocation)
if first == past then
  return redis.error_reply('OVERFLOW no block is left')
end
if not integer(first or '1') then
  return redis.error_reply('NOTANUMBER the next id is no whole number')
end
if not integer(size or '5000') or not less('0', size or '5000') then
  return redis.error_reply('NOTANUMBER the size of blocks is no whole number over 0')
end
local last = last_of(size or '5000')
if first and less(last, first) then
  return redis.error_reply('OVERFLOW no whole block is left')
end
may('incrby', ids)
if not size then
  size = '5000'
  redis.call('set', allocation, size)
end
if not first then
  first = '1'
  redis.call('set', ids, first)
end
if first == last then
  redis.call('set', ids, past, 'keepttl')
else
  redis.call('incrby', ids, size)
end
return {first, size}
