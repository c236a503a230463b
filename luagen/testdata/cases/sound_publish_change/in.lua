--- Sets a value and tells its watchers, if it is another.
---@key value string
---@channel changed
---@arg new string
---@return bool differs
if redis.call('get', value) == new then
  return 0
end
redis.call('set', value, new)
redis.call('publish', changed, new)
return 1
