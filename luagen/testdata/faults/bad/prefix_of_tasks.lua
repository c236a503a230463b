local ids = redis.call('LRANGE', KEYS[1], 0, 9)
for i, id in ipairs(ids) do
  local key = ARGV[1] .. id
  redis.call('HSET', key, 'state', 'pending')
end
return #ids
