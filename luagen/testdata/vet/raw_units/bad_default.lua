local rest = redis.call('ttl', KEYS[1])
if not rest then
  rest = 0
end
redis.call('pexpire', KEYS[1], rest + ARGV[1])
local left = redis.call('pttl', KEYS[2])
if left < 0 then
  left = 60
end
redis.call('expire', KEYS[3], left)
