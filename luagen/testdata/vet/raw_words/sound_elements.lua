if redis.call('incr', KEYS[1]) > tonumber(ARGV[2]) then
  return ARGV[3]
end
return ARGV[4]
