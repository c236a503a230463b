local n = redis.call('incr', KEYS[1])
if redis.call('ttl', KEYS[1]) == -1 then
  redis.call('expire', KEYS[1], ARGV[2])
end
if n > tonumber(ARGV[1]) then
  redis.call('expire', KEYS[1], ARGV[3])
  return 0
end
local m = redis.call('incr', KEYS[2])
if m == tonumber(ARGV[4]) then
  redis.call('expire', KEYS[2], ARGV[2])
end
if m <= tonumber(ARGV[1]) then
  return 1
end
return redis.call('sadd', KEYS[3], n) == 1 and 2 or 3
