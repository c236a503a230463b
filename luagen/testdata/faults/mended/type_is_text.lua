if redis.call('TYPE', KEYS[1]).ok == 'list' then
  return redis.call('LLEN', KEYS[1])
end
return redis.call('ZCARD', KEYS[1])
