if redis.call('exists', KEYS[1]) == 1 then
  if ARGV[1] == '1' then return redis.call('get', KEYS[1]) end
else
end
if redis.call('exists', KEYS[2]) == 1 then
  -- It is kept.
elseif redis.call('exists', KEYS[3]) == 1 then
  redis.call('del', KEYS[3])
end
