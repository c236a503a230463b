--- Adds a job to a delayed queue, with what it holds in a hash.
---@key delayed zset
---@key jobs hash
---@arg id string
---@arg payload bytes
---@arg due unixmilli
---@return bool added
if redis.call('hsetnx', jobs, id, payload) == 0 then
  return 0
end
redis.call('zadd', delayed, due, id)
return 1
