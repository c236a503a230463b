if redis.call('GET', KEYS[1]) == ARGV[1] then
  return true
else
  return 0
end
