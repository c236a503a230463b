local n = redis.call('incr', KEYS[1])
if n > tonumber(ARGV[2]) then
  return 0
end
if n == 1 then
  redis.call('expire', KEYS[1], ARGV[1])
end
if n > 1 and redis.call('ttl', KEYS[1]) == -1 then
  redis.call('expire', KEYS[1], ARGV[1])
end
return n
