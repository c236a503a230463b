local key = redis.call('get', KEYS[1])
if not key then return 0 end
if ARGV[3] == 'drop' then
  return redis.call('del', key, KEYS[1])
end
redis.call('set', key, ARGV[1])
redis.call('set', KEYS[1], key, 'px', ARGV[2])
return 1
