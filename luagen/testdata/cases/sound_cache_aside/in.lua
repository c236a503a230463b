--- Returns a cached value, or notes that the caller loads it; others get nothing meanwhile.
---@key value string
---@key loading string
---@arg patience milliseconds
---@return bytes? cached
---@return bool load
local cached = redis.call('get', value)
if cached then
  return {cached, 0}
end
local mine = redis.call('set', loading, '1', 'nx', 'px', patience)
return {false, mine and 1 or 0}
