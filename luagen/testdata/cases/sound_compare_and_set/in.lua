--- Sets a value if it is the expected one.
---@key value string
---@arg expected string
---@arg new string
---@return bool done
if redis.call('get', value) == expected then
  redis.call('set', value, new)
  return 1
end
return 0
