--- Moves the jobs that are due from a sorted set to a list.
---@key delayed zset
---@key ready list
---@arg now unixmilli
---@arg most int(1..1000)
---@return int moved
local due = redis.call('zrangebyscore', delayed, '-inf', now, 'limit', 0, most)
for _, job in ipairs(due) do
  redis.call('zrem', delayed, job)
  redis.call('rpush', ready, job)
end
return #due
