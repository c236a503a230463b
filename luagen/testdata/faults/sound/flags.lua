local old = redis.call('SETBIT', KEYS[1], ARGV[1], 1)
if old == 0 then
  redis.call('INCR', KEYS[2])
end
return old
