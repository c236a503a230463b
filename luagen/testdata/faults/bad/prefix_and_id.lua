local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[2])
if not id then
  return false
end
local key = ARGV[1] .. id
redis.call('HSET', key, 'state', 'active')
return id
