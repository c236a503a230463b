if redis.call('exists', KEYS[1]) == 1 then
  if ARGV[1] == '1' then return redis.call('get', KEYS[1]) end
else
end
