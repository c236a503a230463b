if redis.call('scard', KEYS[2]) >= tonumber(ARGV[1]) then return false end
local id = redis.call('rpop', KEYS[1])
if not id then return false end
if redis.call('sismember', KEYS[3], id) == 1 then return false end
redis.call('sadd', KEYS[2], id)
for i = 1, 9 do
  local owner = redis.call('get', KEYS[4] .. i)
  if not owner then
    redis.call('set', KEYS[4] .. i, id, 'EX', 60)
    return i
  end
end
return id
