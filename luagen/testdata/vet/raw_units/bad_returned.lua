local count = redis.call('exists', KEYS[1])
local ttl = redis.call('ttl', KEYS[1])
if ttl == -1 then
  redis.call('expire', KEYS[1], ARGV[1])
  ttl = 1000 * ARGV[1]
end
if count == 1 then
  redis.call('set', KEYS[2], 'v', 'PX', ARGV[2])
  return {count, ARGV[2] * 1000}
end
return {count, redis.call('pttl', KEYS[2])}
