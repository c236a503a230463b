--- Deletes the fields of a hash whose value is less than a limit.
---@key counts hash
---@arg least int(0..1000000)
---@return int deleted
local flat = redis.call('hgetall', counts)
local gone = 0
for i = 1, #flat, 2 do
  if tonumber(flat[i + 1]) < tonumber(least) then
    gone = gone + redis.call('hdel', counts, flat[i])
  end
end
return gone
