if tonumber(redis.call('get', KEYS[1]) or '0') > 0 then
  redis.call('decr', KEYS[1])
end
return 0
