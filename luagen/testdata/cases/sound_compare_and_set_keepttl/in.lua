--- Sets a value if it is the expected one, or absent; the time that it still has stays.
---@key value string
---@arg expected bytes
---@arg new bytes
---@return bytes? found        what was there instead
local found = redis.call('GET', value)
if found and found ~= expected then
  return found
end
redis.call('SET', value, new, 'KEEPTTL')
return nil
