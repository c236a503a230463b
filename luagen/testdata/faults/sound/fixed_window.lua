local n = redis.call('INCR', KEYS[1])
if n == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
if n > tonumber(ARGV[2]) then
  return {0, redis.call('PTTL', KEYS[1])}
end
return {1, tonumber(ARGV[2]) - n}
