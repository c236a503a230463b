local members = redis.call('smembers', KEYS[1])
redis.call('set', KEYS[2], 'all ' .. table.concat(members, ','))
redis.call('set', KEYS[3], 'same ' .. (ARGV[1] == ARGV[2] and 1 or 0))
redis.call('set', KEYS[4], 'done ' .. redis.call('set', KEYS[5], 1).ok)
local length = #tostring(redis.call('incr', KEYS[6]))
if tonumber(redis.call('get', KEYS[7]) or '') then
  return #members + 1
end
return length
