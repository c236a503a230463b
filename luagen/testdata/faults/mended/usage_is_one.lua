local used = redis.call('incrby', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then
  redis.call('expire', KEYS[1], ARGV[2])
end
return used
