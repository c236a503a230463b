if redis.call('set', KEYS[1], ARGV[1]) == 'OK' then
  return 1
end
return 0
