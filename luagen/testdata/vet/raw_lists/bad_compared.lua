-- A comparison of elements, and that there are more than some, are no bound.
local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1])
for _, id in ipairs(due) do
  local score = tonumber(redis.call('ZSCORE', KEYS[1], id) or 0)
  if score <= tonumber(ARGV[2]) then redis.call('RPUSH', KEYS[2], id) end
end
if #due > tonumber(ARGV[3]) then redis.call('ZREM', KEYS[1], unpack(due)) end
return #due
