local count = redis.call('exists', KEYS[1])
local ttl, left = redis.call('pttl', KEYS[1]), redis.call('ttl', KEYS[2])
if ttl < 0 then
  redis.call('expire', KEYS[1], ARGV[1])
  ttl = 1000 * ARGV[1]
end
if left > 0 then
  left = left * 1000
end
if count == 1 then
  return {left, ttl, redis.call('time')[1]}
elseif ARGV[2] == 'seconds' then
  return {count, redis.call('ttl', KEYS[2])}
end
return {count, redis.call('pttl', KEYS[2])}
