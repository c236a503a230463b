--- Deletes the fields of a hash whose value is less than a limit.
---@key counts hash
---@arg least int(0..1000000)
---@return int deleted
local flat = redis.call('hgetall', counts)
local gone = {}
for i = 1, #flat, 2 do
  if tonumber(flat[i + 1]) < tonumber(least) then
    table.insert(gone, flat[i])
  end
end
if #gone > 0 then
  redis.call('hdel', counts, unpack(gone))
end
return #gone
