local function touch(key)
  if redis.call('exists', key) == 0 then
    redis.call('hset', key, 'n', 1)
    return
  end
  redis.call('expire', key, ARGV[1])
end
touch(KEYS[1])
redis.call('expire', KEYS[1], ARGV[1], 'NX')
