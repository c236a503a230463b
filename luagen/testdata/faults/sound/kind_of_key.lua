local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'list' then
  return redis.call('LLEN', KEYS[1])
elseif kind == 'zset' then
  return redis.call('ZCARD', KEYS[1])
end
return 0
