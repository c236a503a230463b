local taken = redis.call('GET', KEYS[1])
if taken and taken ~= '0' then
  taken = redis.call('DECRBY', KEYS[1], ARGV[1])
end
return taken
